//! [`PowerScales`] and [`Row`]: what kernels for blocks of elements know of scales.

use smallfloat::Rounding;

/// The most codes of magnitudes other than zero that are found by comparison.
pub(crate) const MAGNITUDES: usize = 7;

/// What magnitudes are compared with under a scale: their codes are how many places they reach.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Row {
    /// The bits of the least magnitudes that have at least the codes 1 to 7, ascending; the last is
    /// that of no code.
    pub(crate) places: [i32; MAGNITUDES + 1],
    /// Places for a search that looks them up by what was not reached before: by −1 or 0 the places
    /// 1 and 5, in between the place 3.
    pub(crate) odd: [i32; 4],
    /// By what twice that and the second answer add up to, −3 to 0, the places 0, 2, 4 and 6.
    pub(crate) even: [i32; 4],
}

impl Row {
    /// With the bits of the places.
    pub(crate) fn new(places: [i32; MAGNITUDES]) -> Self {
        let [a, b, c, d, e, f, g] = places;
        let never = f32::INFINITY.to_bits().cast_signed();
        Self { places: [a, b, c, d, e, f, g, never], odd: [f, d, d, b], even: [g, a, c, e] }
    }
}

/// How codes of E8M0 follow from the largest magnitudes of groups.
///
/// With amax = 2^e · (1 + f) a scale is 2^(e − exponent), or twice that where f reaches a
/// threshold: its code is the exponent field of amax, plus one if adding 1 − threshold to the
/// fraction carries, less the exponent, and at least 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PowerScales {
    /// What is subtracted.
    pub(crate) exponent: u32,
    /// What carries from fractions that reach the threshold, in 23 bits.
    pub(crate) carry: u32,
}

impl PowerScales {
    /// Returns the plan for elements whose largest value is in 2^exponent..2^(exponent + 1), with a
    /// threshold in 1..=2^23; `None` for exponents other than 2 to 63: with these no scale is
    /// beyond E8M0, no inverse is subnormal, and no quotient is beyond the element's next binade.
    pub const fn new(exponent: i32, threshold: u32) -> Option<Self> {
        if exponent < 2 || exponent >= 64 || threshold < 1 || threshold > 1 << 23 {
            return None;
        }
        Some(Self { exponent: exponent.unsigned_abs(), carry: (1 << 23) - threshold })
    }

    /// Returns the code of the scale for the largest magnitude, which these are the bits of.
    #[inline(always)]
    pub fn code(self, amax: u32) -> u8 {
        // NaN and infinities are refused by their magnitude.
        let field = amax.wrapping_add(self.carry) >> 23;
        field.saturating_sub(self.exponent).to_le_bytes()[0]
    }

    /// Returns what elements are multiplied by under a scale's code.
    #[inline(always)]
    pub(crate) fn inverse(code: u8) -> f32 {
        f32::from_bits((254 - u32::from(code)) << 23)
    }

    /// Puts the quotients of a group by its scale into place: exact, or where they underflow on the
    /// side of zero that they are on.
    #[inline(always)]
    pub fn divide(code: u8, rounding: Rounding, values: &[f32], quotients: &mut [f32]) {
        let inverse = Self::inverse(code);
        if matches!(rounding, Rounding::NearestEven | Rounding::NearestAway) {
            // What underflows is next to zero even so, and has its sign.
            return by_lanes(values, quotients, |x| x * inverse);
        }
        // Not by lanes, of which compilers make no vectors here; in integers, of which they do.
        for (quotient, &x) in quotients.iter_mut().zip(values) {
            let least = if x == 0.0 { 0 } else { f32::MIN_POSITIVE.to_bits() };
            let magnitude = ((x * inverse).to_bits() & MAGNITUDE).max(least);
            *quotient = f32::from_bits(magnitude | x.to_bits() & !MAGNITUDE);
        }
    }
}

/// The bits of a number without its sign.
const MAGNITUDE: u32 = u32::MAX >> 1;

/// Puts a function of each value into place, a vector at once.
#[inline(always)]
fn by_lanes(values: &[f32], results: &mut [f32], f: impl Fn(f32) -> f32) {
    const LANES: usize = 8;
    let ((values, rest), (results, others)) = (values.as_chunks::<LANES>(), results.as_chunks_mut());
    for (results, values) in results.iter_mut().zip(values) {
        *results = values.map(&f);
    }
    for (result, &x) in others.iter_mut().zip(rest) {
        *result = f(x);
    }
}
