//! The mistakes that are made, and what the diagnosis has to say of each.

use super::datapath::Bug::{self, *};
use super::datapath::{D, Datapath, Denormal, Effect, Fields, FlagRules, I, Kind, NanKind, O, Operand, U, X};

/// A unit under test: what vectors are made for, and how it is built.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Base {
    /// 8-bit multiplier of 4 exponent bits, all pairs.
    Multiply8,
    /// 8-bit adder of 4 exponent bits, all pairs.
    Add8,
    /// binary16 adder, boundaries and random operands.
    Add16,
    /// binary16 to E4M3 that saturates, all codes.
    Convert16,
    /// binary32 to an 8-bit format of 5 exponent bits with infinities.
    Convert32,
    /// binary32 to the same with x86's flags.
    Convert32X86,
    /// binary16 to E4M3, 8 random bits.
    Stochastic,
}

/// What the diagnosis has to say.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Truth {
    /// These mistakes; several if they are made together.
    Mistakes(&'static [&'static str]),
    /// No known mistake, but what differs is where all of this holds.
    Where(&'static [&'static str]),
}

pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) bugs: &'static [Bug],
    pub(crate) truth: Truth,
}

const E4M3: Fields = Fields { exponent: 4, trailing: 3, bias: 7, is_ieee: true };
const E4M3FN: Fields = Fields { is_ieee: false, ..E4M3 };
const E5M2: Fields = Fields { exponent: 5, trailing: 2, bias: 15, is_ieee: true };
const HALF: Fields = Fields { exponent: 5, trailing: 10, bias: 15, is_ieee: true };
const BFLOAT: Fields = Fields { exponent: 8, trailing: 7, bias: 127, is_ieee: true };
const SINGLE: Fields = Fields { exponent: 8, trailing: 23, bias: 127, is_ieee: true };

pub(crate) const BEFORE: FlagRules =
    FlagRules { any_nan: false, tiny_after: false, denormal: Denormal::Never, infinity_is_silent: false };
pub(crate) const AFTER: FlagRules = FlagRules { tiny_after: true, ..BEFORE };
pub(crate) const X86: FlagRules = FlagRules { denormal: Denormal::X86, ..AFTER };
pub(crate) const RISCV: FlagRules = FlagRules { infinity_is_silent: true, ..AFTER };
pub(crate) const TESLA: FlagRules = FlagRules { any_nan: true, denormal: Denormal::Raised, ..BEFORE };

impl Base {
    /// The operation, the preset if it is not the operation's own, and the policy for flags.
    pub(crate) fn unit(self) -> (&'static str, Option<&'static str>, &'static str) {
        match self {
            Self::Multiply8 => ("Multiply<ieee:k=8,p=4, semantics=ieee>", None, "ieee-before"),
            Self::Add8 => ("Add<ieee:k=8,p=4, semantics=ieee>", None, "ieee-before"),
            Self::Add16 => ("Add<binary16, semantics=ieee>", None, "ieee-before"),
            Self::Convert16 => (
                "Convert<binary16, e4m3fn, (NearestTiesToEven, SatFinite), semantics=ieee>",
                Some("ocp-saturate"),
                "ieee-before",
            ),
            Self::Convert32 => ("Convert<binary32, ieee:k=8,p=3, semantics=ieee>", None, "ieee-before"),
            Self::Convert32X86 => ("Convert<binary32, ieee:k=8,p=3, semantics=ieee>", None, "x86"),
            Self::Stochastic => (
                "Convert<binary16, e4m3fn, (StochasticA<8>, SatFinite), semantics=ieee>",
                Some("ocp-saturate"),
                "ieee-before",
            ),
        }
    }

    /// The unit without mistakes.
    pub(crate) fn datapath(self) -> Datapath {
        let (kind, from, to) = match self {
            Self::Multiply8 => (Kind::Multiply, E4M3, E4M3),
            Self::Add8 => (Kind::Add, E4M3, E4M3),
            Self::Add16 => (Kind::Add, HALF, HALF),
            Self::Convert16 | Self::Stochastic => (Kind::Convert, HALF, E4M3FN),
            Self::Convert32 | Self::Convert32X86 => (Kind::Convert, SINGLE, E5M2),
        };
        Datapath {
            kind,
            from,
            to,
            random_bits: (self == Self::Stochastic).then_some(8),
            clamps: !to.is_ieee,
            nan: if self == Self::Convert32X86 { NanKind::X86 } else { NanKind::Canonical },
            rules: if self == Self::Convert32X86 { X86 } else { BEFORE },
            bugs: Vec::new(),
        }
    }
}

const fn one(name: &'static str, bugs: &'static [Bug], truth: &'static [&'static str]) -> Case {
    Case { name, bugs, truth: Truth::Mistakes(truth) }
}

const fn local(name: &'static str, bugs: &'static [Bug], truth: &'static [&'static str]) -> Case {
    Case { name, bugs, truth: Truth::Where(truth) }
}

const TRUNCATES: &str = "truncates: rounds toward zero";
const NO_INCREMENT: &str = "truncates: rounds toward zero, overflow apart";
const AWAY: &str = "ties go away from zero";
const NO_STICKY: &str = "ignores the bits beyond the guard bit (no sticky bit)";
const FLUSHES: &str = "flushes subnormal results to zero";
const TAKES_ZERO: &str = "takes subnormal operands for zero";
const CLAMPS: &str = "overflow clamps to the largest value, infinities stay";
const EARLY: &str = "overflows above the largest value, before it is rounded";
const TWICE: &str = "rounds subnormal results twice: first to the precision of normal ones";
const WRAPS: &str = "overflow wraps around: the exponent's highest bits are lost";
const CARRY: &str = "the carry of a rounded significand does not reach the exponent";
const ALL_ONES: &str = "a significand of all ones is not rounded up";
const NO_ZERO_SIGN: &str = "zeros have no sign: −0 becomes +0";

/// The mistakes of each unit.
pub(crate) const CASES: [(Base, &[Case]); 7] = [
    (Base::Multiply8, MULTIPLY8),
    (Base::Add8, ADD8),
    (Base::Add16, ADD16),
    (Base::Convert16, CONVERT16),
    (Base::Convert32, CONVERT32),
    (Base::Convert32X86, CONVERT32_X86),
    (Base::Stochastic, STOCHASTIC),
];

const MULTIPLY8: &[Case] = &[
    one("truncates", &[Truncates], &[NO_INCREMENT]),
    one("ties away", &[TiesAway], &[AWAY]),
    one("ties toward zero", &[TiesTowardZero], &["ties go toward zero"]),
    one("ties up", &[TiesUp], &["ties go toward +∞"]),
    one("toward +∞", &[TowardPositive], &["rounds toward +∞, overflow apart"]),
    one("toward −∞", &[TowardNegative], &["rounds toward −∞, overflow apart"]),
    one("to odd", &[ToOdd], &["rounds to odd"]),
    one("no sticky bit", &[StickyBelow(1)], &[NO_STICKY]),
    one("short sticky", &[StickyBelow(2)], &["ignores what lies more than 2 bits below the last place"]),
    one("flushes results", &[FlushesResults], &[FLUSHES]),
    one(
        "flushes before rounding",
        &[FlushesBeforeRounding],
        &["flushes results below the normal ones, before they are rounded"],
    ),
    one("zero for subnormals", &[ZeroForSubnormal(Operand::Both)], &[TAKES_ZERO]),
    one("zero for subnormal y", &[ZeroForSubnormal(Operand::Y)], &["takes a subnormal y for zero"]),
    one(
        "hidden bit of subnormals",
        &[HiddenBitOfSubnormal(Operand::Both)],
        &["the operands' format has no subnormals (2^−bias × 1.m)"],
    ),
    one(
        "hidden bit of subnormal x",
        &[HiddenBitOfSubnormal(Operand::X)],
        &["x's format has no subnormals (2^−bias × 1.m)"],
    ),
    one(
        "exponent of subnormals",
        &[ExponentOfSubnormal(Operand::Both)],
        &["the operands' format has tesla subnormals (2^−bias × 0.m)"],
    ),
    one("bias too large", &[Bias(1)], &["the result's format has a bias one too large (8)"]),
    one("bias too small", &[Bias(-1)], &["the result's format has a bias one too small (6)"]),
    one("operands' bias", &[BiasOfOperands(1)], &["the operands' format has a bias one too large (8)"]),
    one(
        "specials are numbers",
        &[SpecialsAreNumbers],
        &["the operands' format has no special codes: those of infinities and NaNs are numbers"],
    ),
    one("no check of overflow", &[NoOverflowCheck], &[WRAPS]),
    one("clamps overflow", &[ClampsOverflow], &[CLAMPS]),
    one("early overflow", &[EarlyOverflow], &[EARLY]),
    one("loses the carry", &[LosesCarry], &[CARRY]),
    one("keeps all ones", &[KeepsAllOnes], &[ALL_ONES]),
    one("rounds subnormals twice", &[RoundsSubnormalTwice], &[TWICE]),
    one("never zero", &[NeverZero], &["what rounds to zero becomes the smallest value"]),
    one("sign by or", &[SignOr], &["the result is negative if an operand is"]),
    one("sign of x", &[SignOfX], &["the sign is that of x"]),
    one("no sign", &[SignLost], &["the sign is lost: all results are positive"]),
    one("no sign of zero", &[ZeroPositive], &[NO_ZERO_SIGN]),
    one("negative NaN", &[NanNegative], &["NaNs have the opposite sign"]),
    one("0 · ∞ = 0", &[InvalidIsZero], &["an operation without a defined result gives 0"]),
    one("0 · ∞ = ∞", &[InvalidIsInfinity], &["an operation without a defined result gives infinity"]),
    one("truncates and flushes", &[Truncates, FlushesResults], &[NO_INCREMENT, FLUSHES]),
    one("away and zero for subnormals", &[TiesAway, ZeroForSubnormal(Operand::Both)], &[AWAY, TAKES_ZERO]),
    one("truncates, NaN negative", &[Truncates, NanNegative], &[NO_INCREMENT, "NaNs have the opposite sign"]),
    one("clamps and loses the carry", &[ClampsOverflow, LosesCarry], &[CLAMPS, CARRY]),
    one("no invalid", &[NeverRaises(I)], &["the invalid flag is never raised"]),
    one("no underflow", &[NeverRaises(U)], &["the underflow flag is never raised"]),
    one("no inexact", &[NeverRaises(X)], &["the inexact flag is never raised"]),
    one("no overflow", &[NeverRaises(O)], &["the overflow flag is never raised"]),
    one("exact underflow", &[ExactUnderflows], &["underflow is raised for exact subnormal results too"]),
    one("exact overflow", &[OverflowIsExact], &["inexact is not raised with overflow"]),
    one("inexact invalid", &[InvalidIsInexact], &["inexact is raised with invalid"]),
    local(
        "negative, one binade",
        &[Local(|s| s.is_numeric && s.negative && s.leading == -4, Effect::Truncate)],
        &["negative", "exponent -4", "rounded up"],
    ),
    local(
        "all ones of y",
        &[Local(|s| s.is_numeric && s.y & 7 == 7 && !s.overflows && !s.subnormal, Effect::ClearLast)],
        &[],
    ),
    local(
        "NaN times zero",
        &[Local(|s| s.x_is_nan && s.y_is_zero, Effect::Zero)],
        &["x NaN or x signaling NaN", "y zero"],
    ),
    local(
        "sign of negative subnormals",
        &[Local(|s| s.is_numeric && s.negative && s.subnormal, Effect::FlipSign)],
        &[],
    ),
    local(
        "ties of long products",
        &[Local(|s| s.product_is_long && s.guard && !s.sticky && !s.odd, Effect::TiesAway)],
        &["tie", "product of 2 or more"],
    ),
    local(
        "no underflow where negative",
        &[Local(|s| s.negative, Effect::Drop(U))],
        &["negative", "underflow"],
    ),
    local(
        "subnormal y",
        &[Local(|s| s.is_numeric && s.y_is_subnormal && !s.x_is_subnormal && s.leading >= -6, Effect::Zero)],
        &[],
    ),
];

const ADD8: &[Case] = &[
    one("add: truncates", &[Truncates], &[NO_INCREMENT]),
    one("add: ties away", &[TiesAway], &[AWAY]),
    one("add: no guard bits", &[GuardBits(0)], &["aligns the smaller term without guard bits"]),
    one(
        "add: one guard bit",
        &[GuardBits(1)],
        &["aligns the smaller term with 1 guard bit and no sticky bit"],
    ),
    one(
        "add: two guard bits",
        &[GuardBits(2)],
        &["aligns the smaller term with 2 guard bits and no sticky bit"],
    ),
    one(
        "add: sticky for guard",
        &[StickyForGuard],
        &["aligns the smaller term with a sticky bit in the guard bit's place"],
    ),
    one("add: −0 from x − x", &[CancelsNegative], &["terms that cancel give −0"]),
    one("add: subtracts", &[Subtracts], &["computes Subtract"]),
    one("add: sign of x", &[SignOfX], &["the sign is that of x, but for infinite operands"]),
    one("add: ∞ − ∞ = ∞", &[InvalidIsInfinity], &["an operation without a defined result gives infinity"]),
    one("add: subnormals are zero", &[ZeroForSubnormal(Operand::Both)], &[TAKES_ZERO]),
    one("add: flushes both", &[ZeroForSubnormal(Operand::Both), FlushesResults], &[TAKES_ZERO, FLUSHES]),
    one("add: loses the carry", &[LosesCarry], &[CARRY]),
    one(
        "add: guard bit, ties away",
        &[GuardBits(1), TiesAway],
        &["aligns the smaller term with 1 guard bit and no sticky bit", AWAY],
    ),
    local(
        "add: ties of opposite terms",
        &[Local(|s| s.opposite && s.guard && !s.sticky && !s.odd, Effect::TiesAway)],
        &["tie", "even", "terms of opposite signs"],
    ),
    local(
        "add: alignment 4",
        &[Local(|s| s.alignment == 4, Effect::Truncate)],
        &["alignment 4", "rounded up"],
    ),
    local(
        "add: deep cancellation",
        &[Local(|s| s.is_numeric && s.cancelled >= 3 && s.odd, Effect::Decrement)],
        &["cancellation ≥ 3", "odd"],
    ),
    local(
        "add: −0 from x − x, x negative",
        &[Local(|s| s.cancelled == 99 && s.x >> 7 == 1, Effect::FlipSign)],
        &["terms that cancel to zero", "x negative"],
    ),
];

const ADD16: &[Case] = &[
    one(
        "add16: one guard bit",
        &[GuardBits(1)],
        &["aligns the smaller term with 1 guard bit and no sticky bit"],
    ),
    one(
        "add16: three guard bits",
        &[GuardBits(3)],
        &["aligns the smaller term with 3 guard bits and no sticky bit"],
    ),
    one("add16: truncates", &[Truncates], &[NO_INCREMENT]),
    one("add16: early overflow", &[EarlyOverflow], &[EARLY]),
    one("add16: clamps overflow", &[ClampsOverflow], &[CLAMPS]),
    local("add16: signaling x", &[Local(|s| s.x_is_signaling, Effect::Largest)], &["x signaling NaN"]),
    local(
        "add16: negative carries",
        &[Local(|s| s.carries && s.negative && !s.overflows, Effect::Decrement)],
        &[],
    ),
    local("add16: no inexact where ties", &[Local(|s| s.guard && !s.sticky, Effect::Drop(X))], &["tie"]),
];

const CONVERT16: &[Case] = &[
    one("convert: truncates", &[Truncates], &[TRUNCATES]),
    one("convert: ties away", &[TiesAway], &[AWAY]),
    one(
        "convert: does not clamp",
        &[NeverClamps],
        &["overflow gives infinity, or NaN where there is none, and does not clamp"],
    ),
    one("convert: 6 bits", &[Keeps(6)], &["keeps 6 bits of the operand's significand"]),
    one("convert: no subnormals", &[FlushesResults], &[FLUSHES]),
    one("convert: never zero", &[NeverZero], &["what rounds to zero becomes the smallest value"]),
    local(
        "convert: the example",
        &[Local(
            |s| s.is_numeric && s.negative && s.leading == -4 && s.guard && s.sticky && !s.odd,
            Effect::Truncate,
        )],
        &["negative", "exponent -4", "above half", "even"],
    ),
    local(
        "convert: negative ties",
        &[Local(|s| s.negative && s.guard && !s.sticky && !s.odd, Effect::TiesAway)],
        &["negative", "tie", "even", "not largest value"],
    ),
];

const CONVERT32: &[Case] = &[
    one("convert32: through binary16", &[Through(HALF)], &["rounds twice: first to binary16"]),
    one("convert32: through bfloat16", &[Through(BFLOAT)], &["rounds twice: first to bfloat16"]),
    one("convert32: 14 bits", &[Keeps(14)], &["keeps 14 bits of the operand's significand"]),
    one("convert32: 8 bits", &[Keeps(8)], &["keeps 8 bits of the operand's significand"]),
    one("convert32: subnormals twice", &[RoundsSubnormalTwice], &[TWICE]),
    one("convert32: bias", &[Bias(1)], &["the result's format has a bias one too large (16)"]),
    one("convert32: early overflow", &[EarlyOverflow], &[EARLY]),
    one("convert32: sign of zero", &[ZeroPositive], &[NO_ZERO_SIGN]),
    local(
        "convert32: carry in one binade",
        &[Local(|s| s.carries && s.leading == 3, Effect::Decrement)],
        &["carry out of the significand", "exponent 3"],
    ),
    local(
        "convert32: subnormals below half",
        &[Local(|s| s.is_numeric && s.subnormal && !s.guard && s.sticky, Effect::Increment)],
        &["result exponent field 0", "below half"],
    ),
    local(
        "convert32: U below half",
        &[Local(|s| s.is_numeric && !s.guard && s.sticky, Effect::Raise(U))],
        &[],
    ),
];

const CONVERT32_X86: &[Case] = &[
    one(
        "convert32: D without U",
        &[DenormalWithoutUnderflow],
        &["underflow is not raised for subnormal operands (D without U)"],
    ),
    one("convert32: no D", &[NeverRaises(D)], &["the denormal flag is never raised"]),
];

const STOCHASTIC: &[Case] = &[
    one("random: ignored", &[IgnoresRandom], &["truncates: the random word is ignored"]),
    one("random: all ones", &[AllOnesRandom], &["always rounds away: the random word is ignored"]),
    one("random: nearest", &[Nearest], &["rounds to nearest, ties to even, without the random word"]),
    one("random: subtracted", &[SubtractsRandom], &["the random word is subtracted, not added"]),
    one("random: reversed", &[ReversesRandom], &["the random word's bits are in reverse order"]),
    one("random: 6 highest bits", &[TopRandomBits(2)], &["uses 6 random bits, the highest of the word's 8"]),
    one("random: 4 lowest bits", &[LowRandomBits(4)], &["uses 4 random bits, the lowest of the word's 8"]),
    one("random: a place too high", &[RandomPlaceHigh], &["the random word lies one place too high"]),
    one("random: a place too low", &[RandomPlaceLow], &["the random word lies one place too low"]),
    one("random: mode B", &[RoundsRandomToNearest], &["is StochasticRounding mode B"]),
    local(
        "random: all ones are lost",
        &[Local(|s| s.word == 255, Effect::Truncate)],
        &["R all ones", "rounded up", "no overflow"],
    ),
];
