//! [`Operation::evaluate`]: operands decoded, one exact result, rounded once.

#[cfg(feature = "math")]
pub(crate) mod table;

use crate::format::Format;
use crate::format::datum::Datum;
use crate::ops::operation::{Operand, Operation, OperationOptions};
use crate::ops::{Outcome, Semantics};
use crate::projection::exact::Exact;
use crate::projection::flag_policy::FlagPolicy;
use crate::projection::flags::{Flags, Rounded};
use crate::projection::{MissingNan, NegativeZero, Projection, project};

impl Operation {
    /// Returns the exact result for data; operands beyond the operation's own are ignored.
    ///
    /// A result that is not exact has at least 120 bits. Of the operations that need the feature
    /// `math` it has 128, the first of them 1, and their exact results have an odd significand: so
    /// equal results are equal values.
    ///
    /// # Panics
    /// If the operand of Sin, Cos or Tan is 2^1048576 or more, far beyond every format.
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
    /// Flags and the code of a NaN result are those of [`OperationOptions::flags`]. Negate, Abs and
    /// CopySign raise what rounding raises and nothing for their operands. In ieee semantics they
    /// leave a NaN of the result's format as it is, but for its sign, where that is a bit.
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
    operation: Operation,
    operands: &'a [Operand<'a>],
    data: [Datum; 3],
    /// Facts of the operands, and what they raise before there is a result.
    raised: Flags,
    policy: FlagPolicy,
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
        operands: &'a [Operand<'a>],
        to: &'a Format,
        projection: &Projection,
        arithmetic: OperationOptions,
    ) -> Self {
        // Decoded in place: copies of data just written are slow to read.
        let data = match operands {
            [] => [Datum::ZERO; 3],
            [x] => [x.datum(), Datum::ZERO, Datum::ZERO],
            [x, y] => [x.datum(), y.datum(), Datum::ZERO],
            [x, y, z, ..] => [x.datum(), y.datum(), z.datum()],
        };
        let mut raised = Flags::NONE;
        let mut special = None;
        let mut is_tesla = FlagPolicy::is_tesla(to);
        let mut i = 0;
        while i < operands.len() && i < 3 {
            let operand = &operands[i];
            raised = raised.union(operand.format.facts(operand.code, &data[i]));
            is_tesla = is_tesla || FlagPolicy::is_tesla(operand.format);
            match data[i] {
                Datum::Nan { .. } => special = Some(data[i]),
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
        let policy = match arithmetic.flags {
            Some(policy) => policy,
            None => FlagPolicy::default_where(is_tesla),
        };
        match operation {
            Operation::Convert if !operands.is_empty() => {
                raised = policy.facts_of_conversion(raised, operands[0].format, to);
            }
            Operation::Fma if data[2].is_nan() => {
                raised = raised.union(policy.flags_of_product(&data[0], &data[1]));
            }
            _ => {}
        }
        Self { operation, operands, data, raised, policy, special, quiet, to, projection, arithmetic }
    }

    /// The result: clamped where an infinite or NaN operand does so, else the exact one, rounded.
    const fn result(&self, outcome: Outcome) -> Rounded<u64> {
        let clamps = self.arithmetic.operand_clamp && !self.to.has_infinity() && !self.quiet;
        match self.special {
            Some(special) if clamps => {
                let clamped = clamp_to_max(special, &outcome.exact, self.to, &self.projection);
                let flags = self.raise(outcome.flags, &outcome.exact, clamped.flags);
                // A NaN that becomes a number is invalid by every policy.
                let invalid = clamped.flags.intersection(Flags::INVALID);
                Rounded { value: clamped.value, flags: flags.union(invalid) }
            }
            _ => self.rounded(outcome),
        }
    }

    /// The exact result, rounded, with all flags.
    const fn rounded(&self, outcome: Outcome) -> Rounded<u64> {
        let Outcome { exact, flags: raised } = outcome;
        let exact = exact.scaled(self.arithmetic.scale);
        let result = project(exact, self.to, &self.projection);
        if self.quiet {
            if let Some(value) = self.nan_with_sign() {
                return Rounded { value, flags: Flags::NONE };
            }
            let invalid = exact.is_nan() && self.to.has_nan();
            let kept = if invalid { result.flags.without(Flags::INVALID) } else { result.flags };
            let rounding = self.projection.rounding;
            let flags = self.policy.raise(Flags::NONE, &exact, kept, self.to, rounding);
            return Rounded { value: result.value, flags };
        }
        let flags = self.raise(raised, &exact, result.flags);
        if exact.is_nan() && matches!(self.arithmetic.semantics, Semantics::Ieee) {
            let code = self.policy.nan_code(self.operands, self.raised, self.to, &self.projection);
            if let Some(value) = code {
                return Rounded { value, flags };
            }
        }
        Rounded { value: result.value, flags }
    }

    /// The flags of a result, with those of the operation and of its rounding.
    const fn raise(&self, of_operation: Flags, exact: &Exact, projected: Flags) -> Flags {
        let raised = self.raised.union(of_operation);
        self.policy.raise(raised, exact, projected, self.to, self.projection.rounding)
    }

    /// A NaN operand with the sign that an operation on signs gives it, and nothing else changed,
    /// where the result has its format and the sign is a bit.
    const fn nan_with_sign(&self) -> Option<u64> {
        let [x, y, _] = &self.data;
        if !x.is_nan() || !matches!(self.arithmetic.semantics, Semantics::Ieee) {
            return None;
        }
        let Operand { code, format } = self.operands[0];
        if !format.sign_is_a_bit() || !format.has_codes_of(self.to) {
            return None;
        }
        let sign = 1 << (format.width() - 1);
        let code = code & format.max_code();
        Some(match self.operation {
            Operation::Negate => code ^ sign,
            Operation::CopySign if y.is_negative() => code | sign,
            _ => code & !sign,
        })
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
