//! [`EncodePlan`]: the constants with which vector kernels encode into one format under one
//! projection.
//!
//! The kernels round |x| to nearest even with one addition: c + |x|, where c is a power of two so
//! much larger than |x| that the sum's last place is the destination's. In the lowest binade and
//! below c stays the same, so subnormals of the destination come out of the same addition. The
//! sum's bits are then the code: exponent field and the low bits of its significand, joined by one
//! multiplication. The other deterministic modes correct that sum by one last place, as (c + |x|) −
//! c is above, below or equal to |x|. Formats with the exponents of binary32 itself, such as
//! bfloat16, are rounded as integers: a code is the upper part of |x|. What is not a finite value
//! of the grid (overflow, ∞, NaN) is capped first and replaced by codes that the core gave.
//!
//! # A worked example
//!
//! `0.3_f32` into E4M3FN, to nearest even. E4M3FN stores m = 3 bits after the leading one; its
//! lowest normal exponent is −6, whose exponent field in binary32 is 121. So two constants are
//! known before any element is seen:
//!
//! ```text
//! lift = 23 − m = 20           what lies between binary32's last place and the destination's
//! base = (121 + 20) << 7       = 0x4680
//! ```
//!
//! 1. **Pick c.** The word of 0.3 is `0 01111101 00110011001100110011010`. Its exponent alone is
//!    2^−2, and c = 2^(−2 + 20) = 2^18. The last place of numbers in 2^18..2^19 is 2^(18 − 23) =
//!    2^−5, which is E4M3FN's last place in 2^−2..2^−1.
//! 2. **Add.** c + 0.3 is rounded by the processor to a multiple of 2^−5, to nearest even. 0.3 is
//!    9.6 of these steps, so the sum is c + 10 · 2^−5 = 262144.3125:
//!
//!    ```text
//!    c        0 10010001 00000000000000000000000   0x48800000
//!    c + 0.3  0 10010001 00000000000000000001010   0x4880000a
//!                                           ^^^^ 1010 = the leading one and three stored bits
//!    ```
//! 3. **Join.** The upper half-word, 0x4880, is the exponent field of c above seven zeros; the
//!    lower half-word, 0x000a, is the significand. One multiply-add of half-words (`pmaddwd`) with
//!    the weights 1 and 2^(7 − m) = 16 puts the significand right below the exponent field:
//!
//!    ```text
//!    0x4880 · 1 + 0x000a · 16 = 0x4920
//!    0x4920 − base            = 0x02a0
//!    0x02a0 >> (7 − m)        = 0x2a = 0 0101 010
//!    ```
//!
//!    The leading one of 1010 carries into the exponent field, which is why the base is one binade
//!    lower than the lowest normal exponent's code. 0x2a is 2^(5 − 7) · 1.010b = 0.3125.
//!
//! **Subnormals** need nothing of their own: below 2^−6, c stays 2^(−6 + 20) = 2^14, so the sum's
//! last place stays 2^−9, E4M3FN's smallest value. 0.005 is 2.56 of these; the sum's word is
//! 0x46800003, and 0x4680 + 3 · 16 − 0x4680 = 0x30, the code 3. No leading one, no carry, exponent
//! field 0.
//!
//! **Overflow into the next binade** works too: 0.49 rounds to 16 steps of 2^−5, and 10000b carries
//! once more, to 0x30, which is 0.5.
//!
//! **Other modes** ask where the sum landed. (c + 0.3) − c = 0.3125 is exact and above 0.3, so
//! toward zero the sum's word is one too large: 0x48800009 gives 0x29 = 0.28125. Words of positive
//! numbers are in the order of the numbers, so one step of the word is one step of the destination.
//!
//! **Tesla's hole**: the grid starts one binade lower than the format's lowest normal value, at
//! half its step. The codes of that binade are no values: the lower half of them joins the largest
//! subnormal, the upper half the smallest normal value, by two byte-wise minima and additions.

use smallfloat::formats::{BFLOAT16, BINARY16, BINARY32};
use smallfloat::{
    Class, Datum, FlagPolicy, Flags, Format, NegativeRule, Projection, RandomBits, Rounded, Rounding,
    Subnormals, convert_with,
};

use crate::plan::draw::Draw;

/// Magnitude bits of binary32's ∞.
pub(crate) const INFINITY: u32 = 0x7f80_0000;
const MIN_EXPONENT: i32 = -126;
const MAX_EXPONENT: i32 = 127;

/// What happens to codes below and at the smallest normal value after rounding on the gradual grid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SubnormalGrid {
    /// Nothing.
    Gradual,
    /// Tesla's denormals: the grid starts one binade lower, whose codes are no values and join
    /// their neighbours.
    Hole,
    /// Codes below the smallest normal value become zero.
    Flush,
}

/// How a value between two neighbours is rounded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    /// To nearest, ties to even.
    Even,
    /// To nearest, ties away.
    Away,
    /// Away from zero for the signs named, positive and negative; toward zero for the others.
    Directed([bool; 2]),
    /// To the odd neighbour.
    Odd,
    /// A stochastic rounding, by words that are StochasticA's ([`Draw`]).
    Random,
}

impl Mode {
    fn new(rounding: Rounding) -> Self {
        match rounding {
            Rounding::NearestEven => Self::Even,
            Rounding::NearestAway => Self::Away,
            Rounding::TowardZero => Self::Directed([false, false]),
            Rounding::TowardPositive => Self::Directed([true, false]),
            Rounding::TowardNegative => Self::Directed([false, true]),
            Rounding::ToOdd => Self::Odd,
            _ => Self::Random,
        }
    }
}

/// What the two signs of one class become.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Special {
    pub(crate) codes: [u16; 2],
    pub(crate) flags: [Flags; 2],
    /// The codes that are zeros.
    pub(crate) zero: [bool; 2],
}

impl Special {
    /// Returns whether both signs may be counted together.
    fn is_alike(self) -> bool {
        self.flags[0] == self.flags[1] && self.zero[0] == self.zero[1]
    }
}

/// Constants of a vector encoder. Magnitudes are bits of binary32.
#[expect(clippy::struct_excessive_bools, reason = "four independent properties")]
#[derive(Clone, Copy, Debug)]
pub(crate) struct EncodePlan {
    pub(crate) mode: Mode,
    /// P − 1, in 1..=13.
    pub(crate) trailing: u32,
    pub(crate) low: SubnormalGrid,
    /// The exponents are those of binary32, so that a code is the upper part of a magnitude.
    pub(crate) integer: bool,
    pub(crate) signed: bool,
    /// The sign bit of a code, or 0.
    pub(crate) sign_bit: u16,
    /// The code of −0.
    pub(crate) negative_zero: u16,
    /// The grid's first value beyond the largest finite one, and its index on the grid.
    pub(crate) cap: u32,
    pub(crate) top: u16,
    /// The lowest power of two with a binade of its own on the grid, as an exponent field.
    pub(crate) lowest_field: u32,
    /// The smallest normal value, and its index on the grid.
    pub(crate) min_normal: u32,
    pub(crate) first_normal: u16,
    /// Finite values beyond the range; in unsigned formats the negative one stands for all that do
    /// not round to zero.
    pub(crate) overflow: Special,
    pub(crate) infinity: Special,
    pub(crate) nan: Special,
    /// The signs of infinities differ in more than their codes, so that they are counted one by
    /// one.
    pub(crate) infinity_by_sign: bool,
    /// The format is binary16 or bfloat16 by name, with overflow to ∞, signs of zeros kept, and one
    /// NaN beside its sign: only NaN's code differs from what IEEE 754's conversion to nearest
    /// gives.
    pub(crate) is_ieee: bool,
}

fn field(exponent: i32) -> u32 {
    (exponent + MAX_EXPONENT).unsigned_abs()
}

impl EncodePlan {
    /// The constants, or `None` where the kernels can't do it: formats without subnormal grid or
    /// with a precision of 1 or more than 14, ranges that touch the ends of binary32's but do not
    /// match them, and rules that need more than a code for each class.
    pub(crate) fn new(from: &Format, format: &Format, projection: &Projection) -> Option<Self> {
        let mode = Mode::new(projection.rounding);
        let draw = Draw::new(projection.rounding, from);
        if mode == Mode::Random && draw.is_none() {
            return None;
        }
        let signed = format.is_signed();
        let trailing = format.trailing_bits();
        let least_trailing = if format.subnormals() == Subnormals::Tesla { 2 } else { 1 };
        let rule_fits = signed || projection.unrepresentable.negative != NegativeRule::Magnitude;
        if format.is_wide() || trailing < least_trailing || trailing > 13 || !rule_fits {
            return None;
        }
        let (lowest, _) = format.exponent_range();
        let (low, lowest) = match format.subnormals() {
            Subnormals::Gradual => (SubnormalGrid::Gradual, lowest),
            Subnormals::Tesla => (SubnormalGrid::Hole, lowest - 1),
            Subnormals::Flush => (SubnormalGrid::Flush, lowest),
            _ => return None,
        };
        let m = trailing.cast_signed();
        let joined = if low == SubnormalGrid::Hole { 1 << trailing } else { 0 };
        // On the grid, index = code but for the binade that Tesla's formats lack.
        let index = |code: Option<u64>| Some(u32::try_from(code?).ok()? + joined);
        let top = index(format.encode(format.max_finite()))? + 1;
        let first_normal = index(format.encode(format.min_normal()))?;
        let cap_exponent = lowest + (top >> trailing).cast_signed() - 1;
        let integer = low == SubnormalGrid::Gradual
            && signed
            && lowest == MIN_EXPONENT
            && cap_exponent <= MAX_EXPONENT + 1;
        // Half the smallest step must be normal, so that a host that flushes subnormals changes
        // nothing; and c finite, one binade higher too: where it is not, sums of magnitudes beyond
        // the range are ∞, whose index must be no less than the cap's.
        let in_range = integer || (lowest - m > MIN_EXPONENT && cap_exponent + 23 - m < MAX_EXPONENT);
        // In Tesla's formats the kernels compare what lies above the middle of the hole as signed
        // lanes.
        let (middle, largest) = if format.width() > 8 { (0x7ffe, 0xffff) } else { (0x7e, 0xff) };
        let most = if low == SubnormalGrid::Hole { middle + joined + joined / 2 } else { largest };
        // Subnormals of binary32 lie 2^-32 and more below the smallest step, where ν·2^32 is zero.
        let far_from_zero = mode != Mode::Random || integer || lowest - m >= MIN_EXPONENT + 32;
        // A wider source goes through binary32 rounded to odd, which is the one rounding as long as
        // what decides, cap and ⌊ν·2^N⌋ included, is a binary32 of fewer bits. In the hole ν is
        // compared with multiples of 2^-N of a place too.
        let wide = from.is_wide() && from.precision() > BINARY32.precision();
        let count = projection.rounding.random_bits().map_or(0, RandomBits::count);
        let random_bits = draw.map_or(0, |draw| draw.bits(count));
        // In the hole ν·2^32 is no integer, so that one less does not mean "exceeds".
        if draw == Some(Draw::C) && low == SubnormalGrid::Hole {
            return None;
        }
        let nu_fits = random_bits == 0 || trailing + 1 + random_bits < BINARY32.precision();
        let through_binary32 = !wide || (nu_fits && cap_exponent <= MAX_EXPONENT && !integer);
        if !in_range || !far_from_zero || !through_binary32 || top > most {
            return None;
        }
        let value = |index: u32| {
            let above = (index >> trailing) - 1;
            (field(lowest) + above) << 23 | (index & ((1 << trailing) - 1)) << (23 - trailing)
        };
        if value(top) > INFINITY {
            return None;
        }
        let special = |positive: u64| Self::special(positive, format, projection);
        let min_normal = value(first_normal);
        let (overflow, infinity, nan) =
            (special(u64::from(INFINITY - 1))?, special(u64::from(INFINITY))?, special(0x7fc0_0000)?);
        let infinity_by_sign = !signed || !infinity.is_alike();
        if signed && !(overflow.is_alike() && nan.is_alike()) {
            return None;
        }
        let negative_zero = special(0)?.codes[1];
        let sign_bit = if signed { 1 << (format.width() - 1) } else { 0 };
        let infinities = [false, true].map(|negative| Datum::Infinite { negative });
        let is_ieee = mode == Mode::Even
            && [BINARY16, BFLOAT16].contains(format)
            && negative_zero == sign_bit
            && overflow.codes == infinity.codes
            && infinity.codes.map(|code| format.decode(code.into())) == infinities
            && [0, sign_bit].contains(&(nan.codes[0] ^ nan.codes[1]));
        Some(Self {
            mode,
            trailing,
            low,
            integer,
            signed,
            sign_bit,
            negative_zero,
            cap: value(top),
            top: u16::try_from(top).ok()?,
            lowest_field: field(lowest),
            min_normal,
            first_normal: u16::try_from(first_normal).ok()?,
            overflow,
            infinity,
            nan,
            infinity_by_sign,
            is_ieee,
        })
    }

    fn special(positive: u64, format: &Format, projection: &Projection) -> Option<Special> {
        // Where the largest binary32 lies below the cap, all random bits must be set for it to go
        // beyond.
        let projection = match projection.rounding.random_bits() {
            Some(bits) => {
                let all = RandomBits::new(bits.count(), u64::MAX >> (u64::BITS - bits.count())).ok()?;
                &projection.with_rounding(projection.rounding.with_random_bits(all))
            }
            None => projection,
        };
        let of = |bits: u64| -> Option<(u16, Flags)> {
            let Rounded { value, flags } =
                convert_with(bits, &BINARY32, format, projection, FlagPolicy::TESLA);
            Some((u16::try_from(value).ok()?, flags.without(Flags::DENORMAL)))
        };
        let (positive, negative) = (of(positive)?, of(positive | 1 << 31)?);
        let codes = [positive.0, negative.0];
        let zero = codes.map(|code| format.classify(u64::from(code)) == Class::Zero);
        Some(Special { codes, flags: [positive.1, negative.1], zero })
    }
}

#[cfg(test)]
mod tests {
    use smallfloat::formats::E4M3FN;

    use super::{BINARY32, EncodePlan, INFINITY};

    /// The numbers of the worked example above, step by step.
    #[test]
    fn the_worked_example() {
        let plan = EncodePlan::new(&BINARY32, &E4M3FN, &E4M3FN.default_projection()).expect("a plan");
        assert_eq!((plan.trailing, plan.lowest_field), (3, 121));
        let lift = 23 - plan.trailing;
        let base = (plan.lowest_field + lift) << 7;
        assert_eq!((lift, base), (20, 0x4680));
        let joined = |word: u32| {
            ((word >> 16) + ((word & 0xffff) << (7 - plan.trailing)) - base) >> (7 - plan.trailing)
        };
        let steps = |x: f32| {
            let power = x.to_bits().max(plan.lowest_field << 23) & INFINITY;
            let c = power + (lift << 23);
            let sum = f32::from_bits(c) + x;
            (c, sum.to_bits(), joined(sum.to_bits()))
        };
        let by_core =
            |x: f32| u32::try_from(E4M3FN.encode_f32(x, &E4M3FN.default_projection()).value).expect("a byte");
        assert_eq!(0.3_f32.to_bits(), 0b0_01111101_00110011001100110011010);
        assert_eq!(steps(0.3), (0x4880_0000, 0x4880_000a, 0x2a));
        assert_eq!(0x4880 + 0x000a * 16, 0x4920);
        assert_eq!(
            (f32::from_bits(0x4880_000a) - f32::from_bits(0x4880_0000)).to_bits(),
            0.3125_f32.to_bits()
        );
        assert_eq!(joined(0x4880_0009), 0x29);
        assert_eq!(steps(0.005), (0x4680_0000, 0x4680_0003, 3));
        assert_eq!(steps(0.49).2, 0x30);
        for x in [0.3, 0.005, 0.49, 1.0, 447.0] {
            assert_eq!(steps(x).2, by_core(x), "{x}");
        }
    }
}
