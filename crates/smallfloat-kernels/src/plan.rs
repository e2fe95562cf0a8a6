//! [`Plan`]: the constants with which vector kernels encode into one format under one projection.
//!
//! The kernels round |x| to nearest even with one addition: c + |x|, where c is a power of two so much larger than |x|
//! that the sum's last place is the destination's. In the lowest binade and below c stays the same, so subnormals of the
//! destination come out of the same addition. The sum's bits are then the code: exponent field and the low bits of its
//! significand, joined by one multiplication. What is not a finite value of the grid (overflow, ∞, NaN) is capped first and
//! replaced by codes that the core gave.

use smallfloat::{
    Class, Flags, Format, NegativeRule, Projection, Rounded, Rounding, Subnormals, convert, formats::BINARY32,
};

/// Magnitude bits of binary32's ∞.
pub(crate) const INFINITY: u32 = 0x7f80_0000;
const MIN_EXPONENT: i32 = -126;
const MAX_EXPONENT: i32 = 127;

/// What happens to codes below and at the smallest normal value after rounding on the gradual grid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Low {
    /// Nothing.
    Gradual,
    /// Tesla's denormals: the grid starts one binade lower, whose codes are no values and join their neighbours.
    Hole,
    /// Codes below the smallest normal value become zero.
    Flush,
}

/// What the two signs of one class become.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Special {
    pub(crate) codes: [u8; 2],
    pub(crate) flags: [Flags; 2],
    /// Is the code a zero?
    pub(crate) zero: [bool; 2],
}

/// Constants of a vector encoder. Magnitudes are bits of binary32.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// P − 1, in 1..=7.
    pub(crate) trailing: u32,
    pub(crate) low: Low,
    pub(crate) signed: bool,
    /// The sign bit of a code, or 0.
    pub(crate) sign_bit: u8,
    /// The code of −0.
    pub(crate) negative_zero: u8,
    /// The grid's first value beyond the largest finite one, and its index on the grid.
    pub(crate) cap: u32,
    pub(crate) top: u8,
    /// The lowest power of two with a binade of its own on the grid, as an exponent field.
    pub(crate) lowest_field: u32,
    /// The smallest normal value, and its index on the grid.
    pub(crate) min_normal: u32,
    pub(crate) first_normal: u8,
    /// The largest magnitude that rounds to zero (to nearest).
    pub(crate) to_zero: u32,
    /// Finite values beyond the range; in unsigned formats the negative one stands for all that do not round to zero.
    pub(crate) overflow: Special,
    pub(crate) infinity: Special,
    pub(crate) nan: Special,
}

fn field(exponent: i32) -> u32 {
    (exponent + MAX_EXPONENT).unsigned_abs()
}

impl Plan {
    /// The constants, or `None` where the kernels can't do it: formats wider than 8 bits, without subnormal grid or with a
    /// precision of 1, ranges that touch the ends of binary32's, and rules that need more than a code for each class.
    pub(crate) fn new(format: &Format, how: &Projection) -> Option<Self> {
        let nearest = matches!(how.rounding, Rounding::NearestEven);
        let stochastic = matches!(how.rounding, Rounding::StochasticA(_));
        let signed = format.is_signed();
        let trailing = format.trailing_bits();
        let least_trailing = if format.subnormals() == Subnormals::Tesla { 2 } else { 1 };
        let rule_fits = signed || (nearest && how.unrepresentable.negative != NegativeRule::Magnitude);
        if !(nearest || stochastic) || format.width() > 8 || trailing < least_trailing || !rule_fits {
            return None;
        }
        let (lowest, _) = format.exponent_range();
        let (low, lowest) = match format.subnormals() {
            Subnormals::Gradual => (Low::Gradual, lowest),
            Subnormals::Tesla => (Low::Hole, lowest - 1),
            Subnormals::Flush => (Low::Flush, lowest),
            Subnormals::None => return None,
        };
        let m = trailing.cast_signed();
        let joined = if low == Low::Hole { 1 << trailing } else { 0 };
        // On the grid, index = code but for the binade that Tesla's formats lack.
        let index = |code: Option<u64>| Some(u32::try_from(code?).ok()? + joined);
        let top = index(format.encode(format.max_finite()))? + 1;
        let first_normal = index(format.encode(format.min_normal()))?;
        let cap_exponent = lowest + (top >> trailing).cast_signed() - 1;
        // Half the smallest step must be normal, so that a host that flushes subnormals changes nothing; and c finite.
        let in_range = lowest - m > MIN_EXPONENT && cap_exponent + 23 - m <= MAX_EXPONENT;
        // In Tesla's formats the kernels compare what lies above the middle of the hole as signed bytes.
        let most = if low == Low::Hole { 126 + joined + joined / 2 } else { 255 };
        // Subnormals of binary32 lie 2^-32 and more below the smallest step, where ν·2^32 is zero.
        let far_from_zero = nearest || lowest - m >= MIN_EXPONENT + 32;
        if !in_range || !far_from_zero || top > most {
            return None;
        }
        let value = |index: u32| {
            let above = (index >> trailing) - 1;
            (field(lowest) + above) << 23 | (index & ((1 << trailing) - 1)) << (23 - trailing)
        };
        let to_zero = match low {
            // All below the midpoint under the smallest normal value, whose tie goes to the even code above.
            Low::Flush => (field(lowest) << 23) - (1 << (23 - trailing)) - 1,
            Low::Gradual | Low::Hole => field(lowest - m - 1) << 23,
        };
        let special = |positive: u64| Self::special(positive, format, how);
        Some(Self {
            trailing,
            low,
            signed,
            sign_bit: if signed { 1 << (format.width() - 1) } else { 0 },
            negative_zero: special(0)?.codes[1],
            cap: value(top),
            top: u8::try_from(top).ok()?,
            lowest_field: field(lowest),
            min_normal: value(first_normal),
            first_normal: u8::try_from(first_normal).ok()?,
            to_zero,
            overflow: special(u64::from(INFINITY - 1))?,
            infinity: special(u64::from(INFINITY))?,
            nan: special(0x7fc0_0000)?,
        })
    }

    fn special(positive: u64, format: &Format, how: &Projection) -> Option<Special> {
        let of = |bits: u64| -> Option<(u8, Flags)> {
            let Rounded { value, flags } = convert(bits, &BINARY32, format, how);
            Some((u8::try_from(value).ok()?, flags.without(Flags::DENORMAL)))
        };
        let (positive, negative) = (of(positive)?, of(positive | 1 << 31)?);
        let codes = [positive.0, negative.0];
        let zero = codes.map(|code| format.classify(u64::from(code)) == Class::Zero);
        Some(Special { codes, flags: [positive.1, negative.1], zero })
    }
}
