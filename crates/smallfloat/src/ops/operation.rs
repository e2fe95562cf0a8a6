//! [`Operation`]: operations by name, over codes of any formats.

use crate::format::datum::Datum;
use crate::format::formats::{BFLOAT16, BINARY16, BINARY32, BINARY64};
use crate::format::named::by_name;
pub use crate::format::operand::Operand;
use crate::format::{Family, Format};
use crate::ops;
use crate::ops::compare::Comparison;
#[cfg(feature = "math")]
use crate::ops::elementary::Elementary;
use crate::ops::extrema::Extremum;
use crate::ops::{Outcome, Semantics};
use crate::projection::exact::Exact;
use crate::projection::flag_policy::{FlagPolicy, InvalidRule};
use crate::projection::flags::{Flags, Rounded};
use crate::projection::rounding::Rounding;

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
    /// x with y's sign (IEEE 754, section 5.5.1; P3109, ωCopySign). In p3109 semantics y is
    /// negative where y < 0, so that a NaN y gives NaN, and x = 0 stays 0; in ieee semantics the
    /// sign bit decides.
    CopySign,
    /// x + y (IEEE 754, sections 5.4.1 and 6.3; P3109, ωAdd).
    ///
    /// | x \ y | −∞ | finite | +∞ |
    /// | --- | --- | --- | --- |
    /// | −∞ | −∞ | −∞ | NaN |
    /// | finite | −∞ | x + y | +∞ |
    /// | +∞ | NaN | +∞ | +∞ |
    ///
    /// In ieee semantics terms of opposite signs that cancel give +0, or −0 when rounding toward
    /// negative.
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
    /// x − n·y, n the integer nearest to x / y, even on a tie (IEEE 754, section 5.3.1; not
    /// P3109's). NaN for infinite x and for y = 0; x for infinite y.
    Remainder,
    /// x − n·y, n = x / y truncated (C's `fmod`; not P3109's). NaN and x as in
    /// [`Remainder`](Self::Remainder).
    Fmod,
    /// x · y + z, rounded once (IEEE 754, section 5.4.1; P3109, ωFMA): NaN for 0 · ∞, whatever z
    /// is, and for an infinite product and the opposite infinity.
    Fma,
    /// x + y + z, rounded once (P3109, ωFAA): NaN if both infinities are among the terms.
    Faa,
    /// √x (IEEE 754, section 5.4.1; P3109, ωSqrt).
    ///
    /// | x | −∞ | < 0 | 0 | +∞ |
    /// | --- | --- | --- | --- | --- |
    /// | √x | NaN | NaN | the zero | +∞ |
    Sqrt,
    /// 1 / x (P3109, ωRecip): [`Divide`](Self::Divide) of 1 and x, so that 0 gives ∞ and division
    /// by zero in ieee semantics, NaN in p3109 semantics, and ±∞ give 0.
    Recip,
    /// A minimum or maximum.
    Extremum(Extremum),
    /// min(max(x, lo), hi) (P3109, ωClamp): NaN if an operand is NaN or lo > hi. The bounds may
    /// have other formats, so a rounded result may lie outside them.
    Clamp,
    /// 1 / √x (IEEE 754, section 9.2; P3109, ωRSqrt): NaN for x < 0, 0 for +∞; at ±0 ±∞ and
    /// division by zero in ieee semantics, NaN in p3109 semantics.
    #[cfg(feature = "math")]
    RSqrt,
    /// √(x² + y²) (IEEE 754, section 9.2; P3109, ωHypot): +∞ if an operand is infinite, in ieee
    /// semantics even if the other is NaN.
    #[cfg(feature = "math")]
    Hypot,
    /// The angle of the point (x, y) in radians, from −π to π; the operands are y and x, in this
    /// order (IEEE 754, section 9.2; P3109, ωArcTan2).
    ///
    /// | y \ x | −∞ | < 0 | ±0 | > 0 | +∞ |
    /// | --- | --- | --- | --- | --- | --- |
    /// | +∞ | 3π/4 (NaN) | π/2 | π/2 | π/2 | π/4 (NaN) |
    /// | > 0 | π | arctan(y/x) + π | π/2 | arctan(y/x) | 0 |
    /// | +0 | π | π | π if x is −0, else 0 (NaN) | 0 | 0 |
    ///
    /// NaN in brackets: in p3109 semantics. Negative y give the negative angles, in ieee semantics
    /// −0 too.
    #[cfg(feature = "math")]
    ArcTan2,
    /// [`ArcTan2`](Self::ArcTan2) divided by π: from −1 to 1, exact on axes and diagonals.
    #[cfg(feature = "math")]
    ArcTan2Pi,
    /// A function of one operand.
    #[cfg(feature = "math")]
    Elementary(crate::ops::elementary::Elementary),
}

/// The options of an operation beside the projection.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct OperationOptions {
    /// Which special cases hold.
    pub semantics: Semantics,
    /// Multiply the exact result by 2^scale before it is rounded ([semantics](crate::semantics)
    /// S9); from −2^20 to 2^20, what a text may say.
    pub scale: i32,
    /// The literal reading of Tesla's "any Infinity or NaN operand will clamp the result": such an
    /// operand gives the largest value, with the overflow or invalid flag, where the destination
    /// has no infinity. Its sign is that of the exact result; where that is NaN, it is that of what
    /// a NaN becomes.
    pub operand_clamp: bool,
    /// When flags are raised, and which NaN a result is; nothing for what
    /// [`FlagPolicy::default_for`] says of the formats.
    pub flags: Option<FlagPolicy>,
}

impl OperationOptions {
    /// IEEE 754's special cases, no scale.
    pub const IEEE: Self = Self { semantics: Semantics::Ieee, scale: 0, operand_clamp: false, flags: None };
    /// P3109's special cases, no scale.
    pub const P3109: Self = Self { semantics: Semantics::P3109, ..Self::IEEE };

    /// Returns the options with a policy for flags.
    #[must_use]
    pub const fn with_flags(self, policy: FlagPolicy) -> Self {
        Self { flags: Some(policy), ..self }
    }

    /// Returns what holds for values of formats where nothing is said: P3109's if one format is
    /// P3109's and the others are too or are its external formats (binary16, binary32, binary64,
    /// bfloat16), IEEE's otherwise ([semantics](crate::semantics) S1).
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

    /// Returns what holds for a call by P3109's name where nothing is said: P3109's if every format
    /// is P3109's or external, so that a call among external formats alone is the draft's too;
    /// IEEE's otherwise ([semantics](crate::semantics) S1).
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

#[cfg(feature = "math")]
/// The operations that the basic ones leave to `math`, with P3109's names and their number of
/// operands.
const OPERATIONS: [(&str, Operation, usize); 4 + Elementary::NAMED.len()] = {
    let mut rows = [("RSqrt", Operation::RSqrt, 1); 4 + Elementary::NAMED.len()];
    rows[1] = ("Hypot", Operation::Hypot, 2);
    rows[2] = ("ArcTan2", Operation::ArcTan2, 2);
    rows[3] = ("ArcTan2Pi", Operation::ArcTan2Pi, 2);
    let mut i = 0;
    while i < Elementary::NAMED.len() {
        let (name, which) = Elementary::NAMED[i];
        rows[4 + i] = (name, Operation::Elementary(which), 1);
        i += 1;
    }
    rows
};

/// The operations of the feature `math` with their names.
#[cfg(feature = "math")]
static MORE: [(&str, Operation, usize); OPERATIONS.len()] = OPERATIONS;
#[cfg(not(feature = "math"))]
static MORE: [(&str, Operation, usize); 0] = [];

impl Operation {
    /// How many operations there are.
    #[cfg(feature = "math")]
    pub(crate) const COUNT: usize = NAMED.len() + OPERATIONS.len();

    /// The name and the operation at a place of [`all`](Self::all).
    #[cfg(feature = "math")]
    pub(crate) const fn numbered(place: usize) -> (&'static str, Self) {
        let row = if place < NAMED.len() { NAMED[place] } else { OPERATIONS[place - NAMED.len()] };
        (row.0, row.1)
    }

    fn rows() -> impl Iterator<Item = &'static (&'static str, Self, usize)> {
        NAMED.iter().chain(&MORE)
    }

    /// Returns all operations.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::rows().map(|row| row.1)
    }

    fn row(self) -> &'static (&'static str, Self, usize) {
        Self::rows().find(|row| row.1 == self).expect("every operation has a row")
    }

    /// Returns the name, in P3109's spelling.
    pub fn name(self) -> &'static str {
        self.row().0
    }

    /// Returns how many operands it takes, 1 to 3.
    pub fn arity(self) -> usize {
        self.row().2
    }

    /// Returns whether it needs no numbers of any size, so that it is there without the feature
    /// `math`.
    pub const fn is_basic(self) -> bool {
        self.basic([Datum::ZERO; 3], Semantics::Ieee).is_some()
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
}

/// A comparison of two codes of any formats, with its flags.
impl Comparison {
    /// All comparisons with P3109's names.
    pub const NAMED: &'static [(&'static str, Self)] = &[
        ("CompareLess", Self::Less),
        ("CompareLessEqual", Self::LessEqual),
        ("CompareEqual", Self::Equal),
        ("CompareGreater", Self::Greater),
        ("CompareGreaterEqual", Self::GreaterEqual),
    ];

    /// Compares. The flags are those of [`FlagPolicy::TESLA`] if one of the formats is Tesla's,
    /// else of [`FlagPolicy::IEEE_BEFORE`].
    pub const fn evaluate(self, x: Operand<'_>, y: Operand<'_>) -> Rounded<bool> {
        let is_tesla = FlagPolicy::is_tesla(x.format) || FlagPolicy::is_tesla(y.format);
        self.evaluate_with(x, y, FlagPolicy::default_where(is_tesla))
    }

    /// Compares, with flags by a policy: where signaling NaNs alone are invalid, the four
    /// comparisons of order are invalid for quiet ones too (IEEE 754, section 5.11).
    pub const fn evaluate_with(self, x: Operand<'_>, y: Operand<'_>, policy: FlagPolicy) -> Rounded<bool> {
        let (a, b) = (x.datum(), y.datum());
        let facts = x.format.facts(x.code, &a).union(y.format.facts(y.code, &b));
        let orders = matches!(policy.invalid, InvalidRule::Signaling) && !matches!(self, Self::Equal);
        let is_invalid = orders && facts.contains(Flags::NAN_OPERAND);
        let raised = if is_invalid { facts.union(Flags::INVALID) } else { facts };
        // A truth value is exact and not rounded.
        let exact = Exact::finite(false, 0, 0);
        let flags = policy.raise(raised, &exact, Flags::NONE, x.format, Rounding::NearestEven);
        Rounded { value: ops::compare(self, a, b), flags }
    }
}

by_name!(
    Operation,
    named: Self::rows().map(|row| (row.0, row.1)),
    "operation",
    "one of the P3109 draft, such as Add, FMA or Exp"
);
