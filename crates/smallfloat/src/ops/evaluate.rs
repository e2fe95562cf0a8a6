//! [`Operation`]: operations by name, over codes of any formats.

use crate::formats::{BFLOAT16, BINARY16, BINARY32, BINARY64};
use crate::ops::{self, Comparison, Extremum, Outcome, Semantics};
use crate::projection::{MissingNan, NegativeZero, project};
use crate::{Datum, Exact, Family, Flags, Format, Projection, Rounded};

/// A code and the format it belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Operand<'a> {
    /// The code; bits above the format's width are ignored.
    pub code: u64,
    /// Its format.
    pub format: &'a Format,
}

impl<'a> Operand<'a> {
    /// A code of a format.
    pub const fn new(code: u64, format: &'a Format) -> Self {
        Self { code, format }
    }

    /// What the code means.
    pub const fn datum(&self) -> Datum {
        self.format.decode(self.code)
    }
}

/// A numeric operation with one to three operands, in P3109's names where it has one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Operation {
    /// The operand itself (IEEE 754, section 5.4.2; P3109, ωConvert). In p3109 semantics −0 is 0.
    Convert,
    /// −x (IEEE 754, section 5.5.1; P3109, ωNegate): ±∞ give ∓∞, and 0 gives 0 in p3109 semantics.
    Negate,
    /// |x| (IEEE 754, section 5.5.1; P3109, ωAbs): ±∞ give +∞.
    Abs,
    /// x with y's sign (IEEE 754, section 5.5.1; P3109, ωCopySign). In p3109 semantics y is negative where y < 0, so
    /// that a NaN y gives NaN, and x = 0 stays 0; in ieee semantics the sign bit decides.
    CopySign,
    /// x + y (IEEE 754, sections 5.4.1 and 6.3; P3109, ωAdd).
    ///
    /// | x \ y | −∞ | finite | +∞ |
    /// | --- | --- | --- | --- |
    /// | −∞ | −∞ | −∞ | NaN |
    /// | finite | −∞ | x + y | +∞ |
    /// | +∞ | NaN | +∞ | +∞ |
    ///
    /// In ieee semantics terms of opposite signs that cancel give +0, or −0 when rounding toward negative.
    Add,
    /// x − y: [`Add`](Self::Add) of x and −y (IEEE 754, section 5.4.1; P3109, ωSubtract).
    Subtract,
    /// x · y (IEEE 754, section 5.4.1; P3109, ωMultiply).
    ///
    /// | x \ y | 0 | finite | ±∞ |
    /// | --- | --- | --- | --- |
    /// | 0 | 0 | 0 | NaN |
    /// | finite | 0 | x · y | ∞ with the product's sign |
    /// | ±∞ | NaN | ∞ with the product's sign | ∞ with the product's sign |
    Multiply,
    /// x / y (IEEE 754, sections 5.4.1 and 7.3; P3109, ωDivide).
    ///
    /// | x \ y | 0 | finite | ±∞ |
    /// | --- | --- | --- | --- |
    /// | 0 | NaN | 0 | 0 |
    /// | finite | ieee: ∞ and division by zero; p3109: NaN | x / y | 0 |
    /// | ±∞ | ieee: ∞; p3109: NaN | ∞ with the quotient's sign | NaN |
    Divide,
    /// x − n·y, n the integer nearest to x / y, even on a tie (IEEE 754, section 5.3.1; not P3109's). NaN for infinite
    /// x and for y = 0; x for infinite y.
    Remainder,
    /// x − n·y, n = x / y truncated (C's `fmod`; not P3109's). NaN and x as in [`Remainder`](Self::Remainder).
    Fmod,
    /// x · y + z, rounded once (IEEE 754, section 5.4.1; P3109, ωFMA): NaN for 0 · ∞, whatever z is, and for an
    /// infinite product and the opposite infinity.
    Fma,
    /// x + y + z, rounded once (P3109, ωFAA): NaN if both infinities are among the terms.
    Faa,
    /// √x (IEEE 754, section 5.4.1; P3109, ωSqrt).
    ///
    /// | x | −∞ | < 0 | 0 | +∞ |
    /// | --- | --- | --- | --- | --- |
    /// | √x | NaN | NaN | the zero | +∞ |
    Sqrt,
    /// 1 / x (P3109, ωRecip): [`Divide`](Self::Divide) of 1 and x, so that 0 gives ∞ and division by zero in ieee
    /// semantics, NaN in p3109 semantics, and ±∞ give 0.
    Recip,
    /// A minimum or maximum.
    Extremum(Extremum),
    /// min(max(x, lo), hi) (P3109, ωClamp): NaN if an operand is NaN or lo > hi. The bounds may have other formats, so
    /// a rounded result may lie outside them.
    Clamp,
    /// 1 / √x (IEEE 754, section 9.2; P3109, ωRSqrt): NaN for x < 0, 0 for +∞; at ±0 ±∞ and division by zero in ieee
    /// semantics, NaN in p3109 semantics.
    #[cfg(feature = "math")]
    RSqrt,
    /// √(x² + y²) (IEEE 754, section 9.2; P3109, ωHypot): +∞ if an operand is infinite, in ieee semantics even if the
    /// other is NaN.
    #[cfg(feature = "math")]
    Hypot,
    /// The angle of the point (x, y) in radians, from −π to π; the operands are y and x, in this order (IEEE 754,
    /// section 9.2; P3109, ωArcTan2).
    ///
    /// | y \ x | −∞ | < 0 | ±0 | > 0 | +∞ |
    /// | --- | --- | --- | --- | --- | --- |
    /// | +∞ | 3π/4 (NaN) | π/2 | π/2 | π/2 | π/4 (NaN) |
    /// | > 0 | π | arctan(y/x) + π | π/2 | arctan(y/x) | 0 |
    /// | +0 | π | π | π if x is −0, else 0 (NaN) | 0 | 0 |
    ///
    /// NaN in brackets: in p3109 semantics. Negative y give the negative angles, in ieee semantics −0 too.
    #[cfg(feature = "math")]
    ArcTan2,
    /// [`ArcTan2`](Self::ArcTan2) divided by π: from −1 to 1, exact on axes and diagonals.
    #[cfg(feature = "math")]
    ArcTan2Pi,
    /// A function of one operand.
    #[cfg(feature = "math")]
    Elementary(crate::math::Elementary),
}

/// How operands become a result beside the projection.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct OperationOptions {
    /// Which special cases hold.
    pub semantics: Semantics,
    /// Multiply the exact result by 2^scale before it is rounded (`docs/semantics.md` S9); from −2^20 to 2^20, what a text may say.
    pub scale: i32,
    /// The literal reading of Tesla's "any Infinity or NaN operand will clamp the result": such an operand gives the
    /// largest value, with the overflow or invalid flag, where the destination has no infinity.
    pub operand_clamp: bool,
}

impl OperationOptions {
    /// IEEE 754's special cases, no scale.
    pub const IEEE: Self = Self { semantics: Semantics::Ieee, scale: 0, operand_clamp: false };
    /// P3109's special cases, no scale.
    pub const P3109: Self = Self { semantics: Semantics::P3109, scale: 0, operand_clamp: false };

    /// What holds for values of formats where nothing is said: P3109's if one format is P3109's and the others are too or
    /// are its external formats (binary16, binary32, binary64, bfloat16), IEEE's otherwise (`docs/semantics.md` S1).
    pub fn default_for<'a, I: IntoIterator<Item = &'a Format>>(formats: I) -> Self
    where
        I::IntoIter: Clone,
    {
        let formats = formats.into_iter();
        if formats.clone().any(|format| format.family() == Family::P3109) {
            Self::default_for_call(formats)
        } else {
            Self::IEEE
        }
    }

    /// What holds for a call by P3109's name where nothing is said: P3109's if every format is P3109's or external, so
    /// that a call among external formats alone is the draft's too; IEEE's otherwise (`docs/semantics.md` S1).
    pub fn default_for_call<'a>(formats: impl IntoIterator<Item = &'a Format>) -> Self {
        const EXTERNAL: [Format; 4] = [BINARY16, BINARY32, BINARY64, BFLOAT16];
        let is_p3109 = |format: &Format| format.family() == Family::P3109 || EXTERNAL.contains(format);
        if formats.into_iter().all(is_p3109) { Self::P3109 } else { Self::IEEE }
    }
}

/// The operations with their names, in the order of their declaration; extrema follow.
const NAMED: [(&str, Operation, usize); 25] = [
    ("Convert", Operation::Convert, 1),
    ("Negate", Operation::Negate, 1),
    ("Abs", Operation::Abs, 1),
    ("CopySign", Operation::CopySign, 2),
    ("Add", Operation::Add, 2),
    ("Subtract", Operation::Subtract, 2),
    ("Multiply", Operation::Multiply, 2),
    ("Divide", Operation::Divide, 2),
    ("Remainder", Operation::Remainder, 2),
    ("Fmod", Operation::Fmod, 2),
    ("FMA", Operation::Fma, 3),
    ("FAA", Operation::Faa, 3),
    ("Sqrt", Operation::Sqrt, 1),
    ("Recip", Operation::Recip, 1),
    ("Clamp", Operation::Clamp, 3),
    ("Minimum", Operation::Extremum(Extremum::Minimum), 2),
    ("Maximum", Operation::Extremum(Extremum::Maximum), 2),
    ("MinimumNumber", Operation::Extremum(Extremum::MinimumNumber), 2),
    ("MaximumNumber", Operation::Extremum(Extremum::MaximumNumber), 2),
    ("MinimumMagnitude", Operation::Extremum(Extremum::MinimumMagnitude), 2),
    ("MaximumMagnitude", Operation::Extremum(Extremum::MaximumMagnitude), 2),
    ("MinimumMagnitudeNumber", Operation::Extremum(Extremum::MinimumMagnitudeNumber), 2),
    ("MaximumMagnitudeNumber", Operation::Extremum(Extremum::MaximumMagnitudeNumber), 2),
    ("MinimumFinite", Operation::Extremum(Extremum::MinimumFinite), 2),
    ("MaximumFinite", Operation::Extremum(Extremum::MaximumFinite), 2),
];

/// The operations of the feature `math` with their names.
#[cfg(feature = "math")]
static MORE: [(&str, Operation, usize); crate::math::OPERATIONS.len()] = crate::math::OPERATIONS;
#[cfg(not(feature = "math"))]
static MORE: [(&str, Operation, usize); 0] = [];

impl Operation {
    fn rows() -> impl Iterator<Item = &'static (&'static str, Self, usize)> {
        NAMED.iter().chain(&MORE)
    }

    /// All operations.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::rows().map(|row| row.1)
    }

    /// The operation of this name, case ignored.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::rows().find(|row| row.0.eq_ignore_ascii_case(name)).map(|row| row.1)
    }

    fn row(self) -> &'static (&'static str, Self, usize) {
        // Every operation has a row; a test counts them.
        Self::rows().find(|row| row.1 == self).unwrap_or(&NAMED[0])
    }

    /// The name, in P3109's spelling.
    pub fn name(self) -> &'static str {
        self.row().0
    }

    /// How many operands it takes, 1 to 3.
    pub fn arity(self) -> usize {
        self.row().2
    }

    /// Does it need no numbers of any size, that is, is it there without the feature `math`?
    pub const fn is_basic(self) -> bool {
        self.basic([Datum::ZERO; 3], Semantics::Ieee).is_some()
    }

    /// The exact result for data; operands beyond the operation's own are ignored.
    ///
    /// A result that is not exact has at least 120 bits. Of the operations that need the feature `math` it has 128, the
    /// first of them 1, and their exact results have an odd significand: so equal results are equal values.
    pub fn exact(self, data: [Datum; 3], semantics: Semantics) -> Outcome {
        #[cfg(feature = "math")]
        let computed = || {
            let outcome = crate::math::evaluate(self, &data.map(crate::math::Wide::from), semantics, 128);
            Outcome { exact: outcome.value.to_exact(), flags: outcome.flags }
        };
        // Without the feature every operation is a basic one.
        #[cfg(not(feature = "math"))]
        let computed = || Outcome::NAN;
        self.basic(data, semantics).unwrap_or_else(computed)
    }

    /// The exact result of an operation that needs no numbers of any size; nothing for others.
    #[cfg_attr(
        not(feature = "math"),
        expect(
            clippy::unnecessary_wraps,
            reason = "only the feature `math` has operations that are not basic"
        )
    )]
    pub(crate) const fn basic(self, [x, y, z]: [Datum; 3], semantics: Semantics) -> Option<Outcome> {
        Some(match self {
            Self::Convert => Outcome::datum(semantics.operand(x)),
            Self::Negate => ops::negate(x, semantics),
            Self::Abs => ops::abs(x, semantics),
            Self::CopySign => ops::copy_sign(x, y, semantics),
            Self::Add => ops::add(x, y, semantics),
            Self::Subtract => ops::subtract(x, y, semantics),
            Self::Multiply => ops::multiply(x, y, semantics),
            Self::Divide => ops::divide(x, y, semantics),
            Self::Remainder => ops::remainder(x, y, semantics),
            Self::Fmod => ops::fmod(x, y, semantics),
            Self::Fma => ops::fma(x, y, z, semantics),
            Self::Faa => ops::add_add(x, y, z, semantics),
            Self::Sqrt => ops::sqrt(x, semantics),
            Self::Recip => ops::recip(x, semantics),
            Self::Extremum(which) => ops::extremum(which, x, y, semantics),
            Self::Clamp => ops::clamp(x, y, z, semantics),
            #[cfg(feature = "math")]
            Self::RSqrt | Self::Hypot | Self::ArcTan2 | Self::ArcTan2Pi | Self::Elementary(_) => {
                return None;
            }
        })
    }

    /// Decodes the operands, computes exactly, and rounds once to a code of `to`.
    ///
    /// Flags: those of the projection; "denormal" for an operand that is subnormal in its format; "invalid" for a NaN
    /// operand, also where the result is a number. Negate, Abs and CopySign raise what rounding raises and nothing for
    /// their operands.
    ///
    /// ```
    /// use smallfloat::{Format, ops::{Arithmetic, Operand, Operation}};
    /// // Tesla's hole: the smallest normal value times one half is not representable.
    /// let f = Format::cfloat8_1_4_3(7)?;
    /// let operands = [Operand::new(0x08, &f), Operand::new(0x30, &f)];
    /// let r = Operation::Multiply.evaluate(&operands, &f, &f.default_projection(), Arithmetic::IEEE);
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

    /// The same with an exact result of the caller's.
    pub(crate) fn evaluate_with(
        self,
        operands: &[Operand<'_>],
        to: &Format,
        projection: &Projection,
        arithmetic: OperationOptions,
        exact: impl FnOnce([Datum; 3]) -> Outcome,
    ) -> Rounded<u64> {
        let call = Call::new(self, operands, to, projection, arithmetic);
        call.clamped().unwrap_or_else(|| call.rounded(exact(call.data)))
    }

    /// The same for the basic operations, which constants can use; nothing for others.
    pub(crate) const fn evaluate_basic(
        self,
        operands: &[Operand<'_>],
        to: &Format,
        projection: &Projection,
        arithmetic: OperationOptions,
    ) -> Option<Rounded<u64>> {
        let call = Call::new(self, operands, to, projection, arithmetic);
        match (call.clamped(), self.basic(call.data, arithmetic.semantics)) {
            (Some(clamped), _) => Some(clamped),
            (None, Some(outcome)) => Some(call.rounded(outcome)),
            (None, None) => None,
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
    /// Does the operation touch nothing but signs?
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

    /// The result, if infinite and NaN operands clamp it.
    const fn clamped(&self) -> Option<Rounded<u64>> {
        let clamps = self.arithmetic.operand_clamp && !self.to.has_infinity() && !self.quiet;
        match self.special {
            Some(special) if clamps => {
                let clamped = clamp_to_max(special, self.to, &self.projection);
                Some(Rounded { value: clamped.value, flags: clamped.flags.union(self.flags) })
            }
            _ => None,
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

/// What an infinite or NaN operand clamps to: the largest value, a NaN the positive one.
const fn clamp_to_max(special: Datum, to: &Format, projection: &Projection) -> Rounded<u64> {
    let (negative, flag) = match special {
        Datum::Nan { negative } => (
            negative && matches!(projection.unrepresentable.missing_nan, MissingNan::SignMax),
            Flags::INVALID,
        ),
        _ => (special.is_negative(), Flags::OVERFLOW.union(Flags::INEXACT)),
    };
    let max = if negative { to.min_finite() } else { to.max_finite() };
    Rounded { value: project(Exact::from_datum(max), to, projection).value, flags: flag }
}

/// A comparison of two codes of any formats, with its flags: "invalid" for a NaN, "denormal" for a subnormal operand.
impl Comparison {
    /// All comparisons with P3109's names.
    pub const NAMED: [(&'static str, Self); 5] = [
        ("CompareLess", Self::Less),
        ("CompareLessEqual", Self::LessEqual),
        ("CompareEqual", Self::Equal),
        ("CompareGreater", Self::Greater),
        ("CompareGreaterEqual", Self::GreaterEqual),
    ];

    /// Compares.
    pub const fn evaluate(self, x: Operand<'_>, y: Operand<'_>) -> Rounded<bool> {
        let nan = x.datum().is_nan() || y.datum().is_nan();
        let invalid = if nan { Flags::INVALID } else { Flags::NONE };
        let denormal = x.format.denormal_flag(x.code).union(y.format.denormal_flag(y.code));
        Rounded { value: ops::compare(self, x.datum(), y.datum()), flags: invalid.union(denormal) }
    }
}
