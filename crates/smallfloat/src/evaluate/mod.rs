//! [`Operation::evaluate`]: operands decoded, one exact result, rounded once.

#[cfg(feature = "math")]
pub(crate) mod table;

use crate::format::Format;
use crate::format::datum::Datum;
use crate::ops::operation::{Operand, Operation, OperationOptions};
use crate::ops::{Outcome, Semantics};
use crate::projection::exact::Exact;
use crate::projection::flags::{Flags, Rounded};
use crate::projection::{MissingNan, NegativeZero, Projection, project};

impl Operation {
    /// The exact result for data; operands beyond the operation's own are ignored.
    ///
    /// A result that is not exact has at least 120 bits. Of the operations that need the feature
    /// `math` it has 128, the first of them 1, and their exact results have an odd significand: so
    /// equal results are equal values.
    pub fn exact(self, data: [Datum; 3], semantics: Semantics) -> Outcome {
        #[cfg(feature = "math")]
        let computed = || {
            let outcome =
                crate::math::evaluate(self, &data.map(crate::math::wide::Wide::from), semantics, 128);
            Outcome { exact: outcome.value.to_exact(), flags: outcome.flags }
        };
        // Without the feature every operation is a basic one.
        #[cfg(not(feature = "math"))]
        let computed = || Outcome::NAN;
        self.basic(data, semantics).unwrap_or_else(computed)
    }

    /// Decodes the operands, computes exactly, and rounds once to a code of `to`.
    ///
    /// Flags: those of the projection; "denormal" for an operand that is subnormal in its format;
    /// "invalid" for a NaN operand, also where the result is a number. Negate, Abs and CopySign
    /// raise what rounding raises and nothing for their operands.
    ///
    /// ```
    /// use smallfloat::{Format, ops::{OperationOptions, Operand, Operation}};
    /// // Tesla's hole: the smallest normal value times one half is not representable.
    /// let f = Format::cfloat8_1_4_3(7)?;
    /// let operands = [Operand::new(0x08, &f), Operand::new(0x30, &f)];
    /// let r = Operation::Multiply.evaluate(&operands, &f, &f.default_projection(), OperationOptions::IEEE);
    /// assert_eq!((r.value, r.flags.tesla().to_string().as_str()), (0x07, "U"));
    /// # Ok::<(), smallfloat::Error>(())
    /// ```
    ///
    /// # Panics
    /// If there are fewer operands than [`arity`](Self::arity).
    pub fn evaluate(
        self,
        operands: &[Operand<'_>],
        to: &Format,
        projection: &Projection,
        arithmetic: OperationOptions,
    ) -> Rounded<u64> {
        self.evaluate_with(operands, to, projection, arithmetic, |data| {
            self.exact(data, arithmetic.semantics)
        })
    }

    /// Evaluates with an exact result of the caller's.
    pub(crate) fn evaluate_with(
        self,
        operands: &[Operand<'_>],
        to: &Format,
        projection: &Projection,
        arithmetic: OperationOptions,
        exact: impl FnOnce([Datum; 3]) -> Outcome,
    ) -> Rounded<u64> {
        let call = Call::new(self, operands, to, projection, arithmetic);
        call.result(exact(call.data))
    }

    /// Evaluates the basic operations, in constants too; `None` for others.
    pub(crate) const fn evaluate_basic(
        self,
        operands: &[Operand<'_>],
        to: &Format,
        projection: &Projection,
        arithmetic: OperationOptions,
    ) -> Option<Rounded<u64>> {
        let call = Call::new(self, operands, to, projection, arithmetic);
        match self.basic(call.data, arithmetic.semantics) {
            Some(outcome) => Some(call.result(outcome)),
            None => None,
        }
    }
}

/// An evaluation before and after its exact result.
struct Call<'a> {
    data: [Datum; 3],
    /// What the operands raise.
    flags: Flags,
    /// A NaN operand, or else an infinite one.
    special: Option<Datum>,
    /// Whether the operation touches nothing but signs.
    quiet: bool,
    to: &'a Format,
    projection: Projection,
    arithmetic: OperationOptions,
}

impl<'a> Call<'a> {
    const fn new(
        operation: Operation,
        operands: &[Operand<'_>],
        to: &'a Format,
        projection: &Projection,
        arithmetic: OperationOptions,
    ) -> Self {
        let mut data = [Datum::ZERO; 3];
        let mut flags = Flags::NONE;
        let mut special = None;
        let mut i = 0;
        while i < operands.len() && i < 3 {
            let operand = &operands[i];
            data[i] = operand.datum();
            flags = flags.union(operand.format.denormal_flag(operand.code));
            match data[i] {
                Datum::Nan { .. } => {
                    flags = flags.union(Flags::INVALID);
                    special = Some(data[i]);
                }
                Datum::Infinite { .. } if special.is_none() => special = Some(data[i]),
                _ => {}
            }
            i += 1;
        }
        let projection = match arithmetic.semantics {
            Semantics::P3109 => projection.with_negative_zero(NegativeZero::Positive),
            Semantics::Ieee => *projection,
        };
        let quiet = matches!(operation, Operation::Negate | Operation::Abs | Operation::CopySign);
        Self { data, flags, special, quiet, to, projection, arithmetic }
    }

    /// The result: clamped where an infinite or NaN operand does so, else the exact one, rounded.
    const fn result(&self, outcome: Outcome) -> Rounded<u64> {
        let clamps = self.arithmetic.operand_clamp && !self.to.has_infinity() && !self.quiet;
        match self.special {
            Some(special) if clamps => {
                let clamped = clamp_to_max(special, &outcome.exact, self.to, &self.projection);
                Rounded { value: clamped.value, flags: clamped.flags.union(outcome.flags).union(self.flags) }
            }
            _ => self.rounded(outcome),
        }
    }

    /// The exact result, rounded, with all flags.
    const fn rounded(&self, outcome: Outcome) -> Rounded<u64> {
        let Outcome { exact, flags: raised } = outcome;
        let result = project(exact.scaled(self.arithmetic.scale), self.to, &self.projection);
        if self.quiet {
            let invalid = matches!(exact, Exact::Nan { .. }) && self.to.has_nan();
            let kept = if invalid { result.flags.without(Flags::INVALID) } else { result.flags };
            return Rounded { value: result.value, flags: kept };
        }
        Rounded { value: result.value, flags: result.flags.union(raised).union(self.flags) }
    }
}

/// What an infinite or NaN operand clamps to: the largest value, with the sign of the exact result,
/// and "overflow". A NaN operand, and infinite ones that have no defined result, give what a NaN
/// gives: the positive one, unless the projection keeps a NaN's sign, and "invalid".
const fn clamp_to_max(special: Datum, exact: &Exact, to: &Format, projection: &Projection) -> Rounded<u64> {
    let nan = match (special, *exact) {
        (Datum::Nan { negative }, _) | (_, Exact::Nan { negative }) => Some(negative),
        _ => None,
    };
    let (negative, flag) = match nan {
        Some(negative) => (
            negative && matches!(projection.unrepresentable.missing_nan, MissingNan::SignMax),
            Flags::INVALID,
        ),
        None => (exact.is_negative(), Flags::OVERFLOW.union(Flags::INEXACT)),
    };
    let max = if negative { to.min_finite() } else { to.max_finite() };
    Rounded { value: project(Exact::from_datum(max), to, projection).value, flags: flag }
}
