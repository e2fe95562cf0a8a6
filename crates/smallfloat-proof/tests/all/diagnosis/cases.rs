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
    pub(crate) base: Base,
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

const fn one(name: &'static str, base: Base, bug: &'static [Bug], truth: &'static [&'static str]) -> Case {
    Case { name, base, bugs: bug, truth: Truth::Mistakes(truth) }
}

const fn local(name: &'static str, base: Base, bug: &'static [Bug], truth: &'static [&'static str]) -> Case {
    Case { name, base, bugs: bug, truth: Truth::Where(truth) }
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

pub(crate) const CASES: &[Case] = &[
    // The multiplier.
    one("truncates", Base::Multiply8, &[Truncates], &[NO_INCREMENT]),
    one("ties away", Base::Multiply8, &[TiesAway], &[AWAY]),
    one("ties toward zero", Base::Multiply8, &[TiesTowardZero], &["ties go toward zero"]),
    one("ties up", Base::Multiply8, &[TiesUp], &["ties go toward +∞"]),
    one("toward +∞", Base::Multiply8, &[TowardPositive], &["rounds toward +∞, overflow apart"]),
    one("toward −∞", Base::Multiply8, &[TowardNegative], &["rounds toward −∞, overflow apart"]),
    one("to odd", Base::Multiply8, &[ToOdd], &["rounds to odd"]),
    one("no sticky bit", Base::Multiply8, &[StickyBelow(1)], &[NO_STICKY]),
    one(
        "short sticky",
        Base::Multiply8,
        &[StickyBelow(2)],
        &["ignores what lies more than 2 bits below the last place"],
    ),
    one("flushes results", Base::Multiply8, &[FlushesResults], &[FLUSHES]),
    one(
        "flushes before rounding",
        Base::Multiply8,
        &[FlushesBeforeRounding],
        &["flushes results below the normal ones, before they are rounded"],
    ),
    one("zero for subnormals", Base::Multiply8, &[ZeroForSubnormal(Operand::Both)], &[TAKES_ZERO]),
    one(
        "zero for subnormal y",
        Base::Multiply8,
        &[ZeroForSubnormal(Operand::Y)],
        &["takes a subnormal y for zero"],
    ),
    one(
        "hidden bit of subnormals",
        Base::Multiply8,
        &[HiddenBitOfSubnormal(Operand::Both)],
        &["the operands' format has no subnormals (2^−bias × 1.m)"],
    ),
    one(
        "hidden bit of subnormal x",
        Base::Multiply8,
        &[HiddenBitOfSubnormal(Operand::X)],
        &["x's format has no subnormals (2^−bias × 1.m)"],
    ),
    one(
        "exponent of subnormals",
        Base::Multiply8,
        &[ExponentOfSubnormal(Operand::Both)],
        &["the operands' format has tesla subnormals (2^−bias × 0.m)"],
    ),
    one("bias too large", Base::Multiply8, &[Bias(1)], &["the result's format has a bias one too large (8)"]),
    one(
        "bias too small",
        Base::Multiply8,
        &[Bias(-1)],
        &["the result's format has a bias one too small (6)"],
    ),
    one(
        "operands' bias",
        Base::Multiply8,
        &[BiasOfOperands(1)],
        &["the operands' format has a bias one too large (8)"],
    ),
    one(
        "specials are numbers",
        Base::Multiply8,
        &[SpecialsAreNumbers],
        &["the operands' format has no special codes: those of infinities and NaNs are numbers"],
    ),
    one("no check of overflow", Base::Multiply8, &[NoOverflowCheck], &[WRAPS]),
    one("clamps overflow", Base::Multiply8, &[ClampsOverflow], &[CLAMPS]),
    one("early overflow", Base::Multiply8, &[EarlyOverflow], &[EARLY]),
    one("loses the carry", Base::Multiply8, &[LosesCarry], &[CARRY]),
    one("keeps all ones", Base::Multiply8, &[KeepsAllOnes], &[ALL_ONES]),
    one("rounds subnormals twice", Base::Multiply8, &[RoundsSubnormalTwice], &[TWICE]),
    one("never zero", Base::Multiply8, &[NeverZero], &["what rounds to zero becomes the smallest value"]),
    one("sign by or", Base::Multiply8, &[SignOr], &["the result is negative if an operand is"]),
    one("sign of x", Base::Multiply8, &[SignOfX], &["the sign is that of x"]),
    one("no sign", Base::Multiply8, &[SignLost], &["the sign is lost: all results are positive"]),
    one("no sign of zero", Base::Multiply8, &[ZeroPositive], &[NO_ZERO_SIGN]),
    one("negative NaN", Base::Multiply8, &[NanNegative], &["NaNs have the opposite sign"]),
    one("0 · ∞ = 0", Base::Multiply8, &[InvalidIsZero], &["an operation without a defined result gives 0"]),
    one(
        "0 · ∞ = ∞",
        Base::Multiply8,
        &[InvalidIsInfinity],
        &["an operation without a defined result gives infinity"],
    ),
    one("truncates and flushes", Base::Multiply8, &[Truncates, FlushesResults], &[NO_INCREMENT, FLUSHES]),
    one(
        "away and zero for subnormals",
        Base::Multiply8,
        &[TiesAway, ZeroForSubnormal(Operand::Both)],
        &[AWAY, TAKES_ZERO],
    ),
    one(
        "truncates, NaN negative",
        Base::Multiply8,
        &[Truncates, NanNegative],
        &[NO_INCREMENT, "NaNs have the opposite sign"],
    ),
    one("clamps and loses the carry", Base::Multiply8, &[ClampsOverflow, LosesCarry], &[CLAMPS, CARRY]),
    one("no invalid", Base::Multiply8, &[NeverRaises(I)], &["the invalid flag is never raised"]),
    one("no underflow", Base::Multiply8, &[NeverRaises(U)], &["the underflow flag is never raised"]),
    one("no inexact", Base::Multiply8, &[NeverRaises(X)], &["the inexact flag is never raised"]),
    one("no overflow", Base::Multiply8, &[NeverRaises(O)], &["the overflow flag is never raised"]),
    one(
        "exact underflow",
        Base::Multiply8,
        &[ExactUnderflows],
        &["underflow is raised for exact subnormal results too"],
    ),
    one("exact overflow", Base::Multiply8, &[OverflowIsExact], &["inexact is not raised with overflow"]),
    one("inexact invalid", Base::Multiply8, &[InvalidIsInexact], &["inexact is raised with invalid"]),
    local(
        "negative, one binade",
        Base::Multiply8,
        &[Local(|s| s.is_numeric && s.negative && s.leading == -4, Effect::Truncate)],
        &["negative", "exponent -4", "rounded up"],
    ),
    local(
        "all ones of y",
        Base::Multiply8,
        &[Local(|s| s.is_numeric && s.y & 7 == 7 && !s.overflows && !s.subnormal, Effect::ClearLast)],
        &[],
    ),
    local(
        "NaN times zero",
        Base::Multiply8,
        &[Local(|s| s.x_is_nan && s.y_is_zero, Effect::Zero)],
        &["x NaN or x signaling NaN", "y zero"],
    ),
    local(
        "sign of negative subnormals",
        Base::Multiply8,
        &[Local(|s| s.is_numeric && s.negative && s.subnormal, Effect::FlipSign)],
        &[],
    ),
    local(
        "ties of long products",
        Base::Multiply8,
        &[Local(|s| s.product_is_long && s.guard && !s.sticky && !s.odd, Effect::TiesAway)],
        &["tie", "product of 2 or more"],
    ),
    local(
        "no underflow where negative",
        Base::Multiply8,
        &[Local(|s| s.negative, Effect::Drop(U))],
        &["negative", "underflow"],
    ),
    local(
        "subnormal y",
        Base::Multiply8,
        &[Local(|s| s.is_numeric && s.y_is_subnormal && !s.x_is_subnormal && s.leading >= -6, Effect::Zero)],
        &[],
    ),
    // The adders.
    one("add: truncates", Base::Add8, &[Truncates], &[NO_INCREMENT]),
    one("add: ties away", Base::Add8, &[TiesAway], &[AWAY]),
    one("add: no guard bits", Base::Add8, &[GuardBits(0)], &["aligns the smaller term without guard bits"]),
    one(
        "add: one guard bit",
        Base::Add8,
        &[GuardBits(1)],
        &["aligns the smaller term with 1 guard bit and no sticky bit"],
    ),
    one(
        "add: two guard bits",
        Base::Add8,
        &[GuardBits(2)],
        &["aligns the smaller term with 2 guard bits and no sticky bit"],
    ),
    one(
        "add: sticky for guard",
        Base::Add8,
        &[StickyForGuard],
        &["aligns the smaller term with a sticky bit in the guard bit's place"],
    ),
    one("add: −0 from x − x", Base::Add8, &[CancelsNegative], &["terms that cancel give −0"]),
    one("add: subtracts", Base::Add8, &[Subtracts], &["computes Subtract"]),
    one("add: sign of x", Base::Add8, &[SignOfX], &["the sign is that of x, but for infinite operands"]),
    one(
        "add: ∞ − ∞ = ∞",
        Base::Add8,
        &[InvalidIsInfinity],
        &["an operation without a defined result gives infinity"],
    ),
    one("add: subnormals are zero", Base::Add8, &[ZeroForSubnormal(Operand::Both)], &[TAKES_ZERO]),
    one(
        "add: flushes both",
        Base::Add8,
        &[ZeroForSubnormal(Operand::Both), FlushesResults],
        &[TAKES_ZERO, FLUSHES],
    ),
    one("add: loses the carry", Base::Add8, &[LosesCarry], &[CARRY]),
    one(
        "add: guard bit, ties away",
        Base::Add8,
        &[GuardBits(1), TiesAway],
        &["aligns the smaller term with 1 guard bit and no sticky bit", AWAY],
    ),
    one(
        "add16: one guard bit",
        Base::Add16,
        &[GuardBits(1)],
        &["aligns the smaller term with 1 guard bit and no sticky bit"],
    ),
    one(
        "add16: three guard bits",
        Base::Add16,
        &[GuardBits(3)],
        &["aligns the smaller term with 3 guard bits and no sticky bit"],
    ),
    one("add16: truncates", Base::Add16, &[Truncates], &[NO_INCREMENT]),
    one("add16: early overflow", Base::Add16, &[EarlyOverflow], &[EARLY]),
    one("add16: clamps overflow", Base::Add16, &[ClampsOverflow], &[CLAMPS]),
    local(
        "add: ties of opposite terms",
        Base::Add8,
        &[Local(|s| s.opposite && s.guard && !s.sticky && !s.odd, Effect::TiesAway)],
        &["tie", "even", "terms of opposite signs"],
    ),
    local(
        "add: alignment 4",
        Base::Add8,
        &[Local(|s| s.alignment == 4, Effect::Truncate)],
        &["alignment 4", "rounded up"],
    ),
    local(
        "add: deep cancellation",
        Base::Add8,
        &[Local(|s| s.is_numeric && s.cancelled >= 3 && s.odd, Effect::Decrement)],
        &["cancellation ≥ 3", "odd"],
    ),
    local(
        "add: −0 from x − x, x negative",
        Base::Add8,
        &[Local(|s| s.cancelled == 99 && s.x >> 7 == 1, Effect::FlipSign)],
        &["terms that cancel to zero", "x negative"],
    ),
    local(
        "add16: signaling x",
        Base::Add16,
        &[Local(|s| s.x_is_signaling, Effect::Largest)],
        &["x signaling NaN"],
    ),
    local(
        "add16: negative carries",
        Base::Add16,
        &[Local(|s| s.carries && s.negative && !s.overflows, Effect::Decrement)],
        &[],
    ),
    local(
        "add16: no inexact where ties",
        Base::Add16,
        &[Local(|s| s.guard && !s.sticky, Effect::Drop(X))],
        &["tie"],
    ),
    // The converters.
    one("convert: truncates", Base::Convert16, &[Truncates], &[TRUNCATES]),
    one("convert: ties away", Base::Convert16, &[TiesAway], &[AWAY]),
    one(
        "convert: does not clamp",
        Base::Convert16,
        &[NeverClamps],
        &["overflow gives infinity, or NaN where there is none, and does not clamp"],
    ),
    one("convert: 6 bits", Base::Convert16, &[Keeps(6)], &["keeps 6 bits of the operand's significand"]),
    one("convert: no subnormals", Base::Convert16, &[FlushesResults], &[FLUSHES]),
    one(
        "convert: never zero",
        Base::Convert16,
        &[NeverZero],
        &["what rounds to zero becomes the smallest value"],
    ),
    one(
        "convert32: through binary16",
        Base::Convert32,
        &[Through(HALF)],
        &["rounds twice: first to binary16"],
    ),
    one(
        "convert32: through bfloat16",
        Base::Convert32,
        &[Through(BFLOAT)],
        &["rounds twice: first to bfloat16"],
    ),
    one("convert32: 14 bits", Base::Convert32, &[Keeps(14)], &["keeps 14 bits of the operand's significand"]),
    one("convert32: 8 bits", Base::Convert32, &[Keeps(8)], &["keeps 8 bits of the operand's significand"]),
    one("convert32: subnormals twice", Base::Convert32, &[RoundsSubnormalTwice], &[TWICE]),
    one(
        "convert32: bias",
        Base::Convert32,
        &[Bias(1)],
        &["the result's format has a bias one too large (16)"],
    ),
    one("convert32: early overflow", Base::Convert32, &[EarlyOverflow], &[EARLY]),
    one("convert32: sign of zero", Base::Convert32, &[ZeroPositive], &[NO_ZERO_SIGN]),
    one(
        "convert32: D without U",
        Base::Convert32X86,
        &[DenormalWithoutUnderflow],
        &["underflow is not raised for subnormal operands (D without U)"],
    ),
    one("convert32: no D", Base::Convert32X86, &[NeverRaises(D)], &["the denormal flag is never raised"]),
    local(
        "convert: the example",
        Base::Convert16,
        &[Local(
            |s| s.is_numeric && s.negative && s.leading == -4 && s.guard && s.sticky && !s.odd,
            Effect::Truncate,
        )],
        &["negative", "exponent -4", "above half", "even"],
    ),
    local(
        "convert: negative ties",
        Base::Convert16,
        &[Local(|s| s.negative && s.guard && !s.sticky && !s.odd, Effect::TiesAway)],
        &["negative", "tie", "even", "not largest value"],
    ),
    local(
        "convert32: carry in one binade",
        Base::Convert32,
        &[Local(|s| s.carries && s.leading == 3, Effect::Decrement)],
        &["carry out of the significand", "exponent 3"],
    ),
    local(
        "convert32: subnormals below half",
        Base::Convert32,
        &[Local(|s| s.is_numeric && s.subnormal && !s.guard && s.sticky, Effect::Increment)],
        &["result exponent field 0", "below half"],
    ),
    local(
        "convert32: U below half",
        Base::Convert32,
        &[Local(|s| s.is_numeric && !s.guard && s.sticky, Effect::Raise(U))],
        &[],
    ),
    one("random: ignored", Base::Stochastic, &[IgnoresRandom], &["truncates: the random word is ignored"]),
    one(
        "random: all ones",
        Base::Stochastic,
        &[AllOnesRandom],
        &["always rounds away: the random word is ignored"],
    ),
    one(
        "random: nearest",
        Base::Stochastic,
        &[Nearest],
        &["rounds to nearest, ties to even, without the random word"],
    ),
    one(
        "random: subtracted",
        Base::Stochastic,
        &[SubtractsRandom],
        &["the random word is subtracted, not added"],
    ),
    one(
        "random: reversed",
        Base::Stochastic,
        &[ReversesRandom],
        &["the random word's bits are in reverse order"],
    ),
    one(
        "random: 6 highest bits",
        Base::Stochastic,
        &[TopRandomBits(2)],
        &["uses 6 random bits, the highest of the word's 8"],
    ),
    one(
        "random: 4 lowest bits",
        Base::Stochastic,
        &[LowRandomBits(4)],
        &["uses 4 random bits, the lowest of the word's 8"],
    ),
    one(
        "random: a place too high",
        Base::Stochastic,
        &[RandomPlaceHigh],
        &["the random word lies one place too high"],
    ),
    one(
        "random: a place too low",
        Base::Stochastic,
        &[RandomPlaceLow],
        &["the random word lies one place too low"],
    ),
    one("random: mode B", Base::Stochastic, &[RoundsRandomToNearest], &["is StochasticRounding mode B"]),
    local(
        "random: all ones are lost",
        Base::Stochastic,
        &[Local(|s| s.word == 255, Effect::Truncate)],
        &["R all ones", "rounded up", "no overflow"],
    ),
];
