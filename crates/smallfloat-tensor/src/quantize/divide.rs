//! [`Quotients`]: x / scale as numbers whose rounding by an encoder is the one rounding of the
//! exact quotient.
//!
//! In every mode but the stochastic ones the places where the rounding of an element format of
//! precision P ≤ 11 changes have at most P + 1 ≤ 12 significant bits. Facts that make the everyday
//! case fast:
//!
//! * *Short operands need no care.* Let x and s have at most 24 significant bits (F32, F16, BF16;
//!   scales have no more), and p be such a place. If x ≠ p·s, both are multiples of a power of two
//!   that is at least 2^−37 times the larger, so that x / s and p differ by more than 2^−38 of it.
//!   An f64 quotient, off by 2^−53, is on the same side of p as x / s, and it is p only if x = p·s.
//! * *What is rounded to odd in f32 is as good*, since a place has fewer than 24 bits and an f32
//!   with an odd last bit is none. The places lie well inside f32's range, and what underflows or
//!   overflows stays on its side of them.
//! * *Two scales are no worse.* The scale of a block may itself be divided by one of the tensor. If
//!   that has at most 24 bits too, its product with x is an exact f64 of at most 48, and the first
//!   fact holds with 2^−48 and 2^−49.
//! * *Rounded to nearest, a quotient by one scale is as good*, if p · s has no more bits than the
//!   type of x. If x is not p · s, it is at least u away from it, one place of the type there, and
//!   x / s at least u / s from p. That is more than half a place around p: half of one times s is
//!   less than u, as s · 2^e(p) ≤ p · s < 2^(e(p · s) + 1). Below a power of two p · s it is u / 2,
//!   and then s · 2^e(p) < p · s = 2^e(p · s), unless s is a power of two too and x / s exact. So
//!   the quotient does not become p, nor a number beyond it. In f64 that holds for every x and
//!   scales of 24 bits, in f32 for those of 12, as long as the quotient is a normal number.
//! * *A product with the reciprocal of the scale is enough*: it is off by 2^−52 at most, so that
//!   rounded to 50 bits it is p if x = p·s, and on the same side of p as x / s if not.
//!
//! So short operands are divided in f32 by a power of two or a scale of few bits, by other scales
//! in f64; what is divided in f64 is rounded to odd to f32, and the encoder of f32 has vector
//! kernels. Everything else takes [`Divisor::apply`] and the encoder of f64.

pub(crate) mod lists;

use std::ops::Range;

use smallfloat::{Codebook, Format, Projection};
use smallfloat_kernels::{Element, Encoder, EventCounts, Lanes, Level, RandomWords, to_odd};

use crate::error::{Result, refuse};
use crate::file::stream::StoredCode;
use crate::quantize::divide::lists::{IntegerEncoder, ListEncoder};
use crate::quantize::per_tensor::encoded;
use crate::scale::rule::{Divisor, is_far_from_places, is_power_of_two, times_power};

/// How the elements of a tensor are divided and encoded.
#[derive(Debug)]
pub(crate) enum Quotients {
    /// Elements of at most 8 bits, no random words.
    Short(Encoder<f32>),
    /// All others, with the bits below those of places where rounding changes.
    Long(Encoder<f64>, u64),
    /// Integers in place of a format's elements.
    Integers(IntegerEncoder),
    /// Values in a list, which need no quotients.
    List(ListEncoder),
}

/// Quotients on their way to the encoder, and its codes.
#[derive(Debug, Default)]
pub(crate) struct Division {
    short: Vec<f32>,
    long: Vec<f64>,
    /// The scales of groups.
    short_scales: Vec<f32>,
    inverses: Vec<Inverse>,
}

impl Quotients {
    /// For an element format and a projection.
    pub(crate) fn new(element: &Format, projection: &Projection, length: usize) -> Result<Self> {
        let (lowest, highest) = element.exponent_range();
        let inside = lowest - element.precision().cast_signed() > -120 && highest < 120;
        if inside && element.width() <= 8 && !projection.rounding.is_stochastic() {
            return Encoder::for_length(element, projection, length).map(Self::Short).map_err(refuse);
        }
        // Random words may round anywhere, so that no quotient is far from where that changes.
        let low_bits = if projection.rounding.is_stochastic() { 0 } else { LOW_BITS };
        let encoder = Encoder::for_length(element, projection, length).map_err(refuse)?;
        Ok(Self::Long(encoder, low_bits))
    }

    /// For elements that are values in a list.
    pub(crate) fn of_list(codebook: Codebook) -> Self {
        let list = || ListEncoder::new(codebook).map(Self::List);
        IntegerEncoder::new(codebook).map(Self::Integers).or_else(list).expect("longer lists are integers")
    }

    /// Makes room for so many quotients.
    pub(crate) fn begin(&self, division: &mut Division, count: usize) {
        if matches!(self, Self::Short(_) | Self::Integers(_)) {
            division.short.resize(count, 0.0);
        }
        division.long.resize(count, 0.0);
    }

    /// Puts the quotients of these values at these places; the codes of values in a list, which
    /// need none, at once.
    #[inline(always)]
    pub(crate) fn divide<T: Element, C: StoredCode>(
        &self,
        division: &mut Division,
        places: Range<usize>,
        values: &[T],
        divisor: Divisor,
        codes: &mut [C],
    ) {
        match (self, T::lanes(values)) {
            // Short operands: those of f64 may have more bits.
            (Self::Short(_) | Self::Integers(_), Lanes::F64(_)) => {
                let (short, long) = (&mut division.short[places.clone()], &mut division.long[places]);
                divide_long(values, divisor, LOW_BITS, long);
                narrow_to_odd(long, short);
            }
            (Self::Short(_) | Self::Integers(_), _) => {
                divide_short(values, divisor, &mut division.short[places]);
            }
            (&Self::Long(_, low_bits), _) => {
                divide_long(values, divisor, low_bits, &mut division.long[places]);
            }
            (Self::List(list), _) => list.encode(divisor, values, codes),
        }
    }

    /// Divides groups of this length, which follow each other, by their scales, each a number or
    /// NaN, and returns `true`; or `false` where that needs more care.
    pub(crate) fn divide_groups<T: Element>(
        &self,
        division: &mut Division,
        length: usize,
        values: &[T],
        scales: &[f64],
    ) -> bool {
        match (self, T::lanes(values)) {
            (Self::Short(_) | Self::Integers(_), Lanes::F32(values)) => {
                if !scales.iter().fold(true, |all, &scale| all & has_few_bits(scale)) {
                    return false;
                }
                let short = &mut division.short_scales;
                short.clear();
                #[expect(clippy::cast_possible_truncation, reason = "numbers of f32")]
                short.extend(scales.iter().map(|&scale| scale as f32));
                divide_in_order(length, values, short, &mut division.short)
            }
            (Self::Short(_) | Self::Integers(_), Lanes::F64(values)) => {
                let inverses = &mut division.inverses;
                if !scales.iter().fold(true, |all, &scale| all & is_power_of_two(scale)) {
                    return divide_in_order(length, values, scales, &mut division.short);
                }
                inverses.clear();
                inverses.extend(scales.iter().map(|scale| Inverse(1.0 / scale)));
                divide_in_order(length, values, inverses, &mut division.short)
            }
            _ => false,
        }
    }

    /// Where quotients go, if they are short ones.
    #[inline(always)]
    pub(crate) fn short(division: &mut Division, places: Range<usize>) -> &mut [f32] {
        &mut division.short[places]
    }

    /// Encodes the quotients from `at` on; what happened is told if it is counted, which random
    /// words need.
    pub(crate) fn encode<C: StoredCode>(
        &self,
        division: &Division,
        at: usize,
        codes: &mut [C],
        words: RandomWords,
        counted: bool,
    ) -> EventCounts {
        let places = at..at + codes.len();
        match self {
            Self::Short(encoder) => encoded(encoder, &division.short[places], codes, words, counted),
            Self::Long(encoder, _) => encoded(encoder, &division.long[places], codes, words, counted),
            Self::Integers(encoder) => {
                encoder.encode(&division.short[places], codes);
                EventCounts::default()
            }
            // Codes were put in place of quotients.
            Self::List(_) => EventCounts::default(),
        }
    }
}

/// Whether this is a normal number of f32 with at most 12 significant bits.
fn has_few_bits(scale: f64) -> bool {
    const BITS: u32 = 12;
    let is_short = scale.to_bits() & ((1 << (53 - BITS)) - 1) == 0;
    // Without a branch, as are the loops over many scales.
    is_short & (scale >= f64::from(f32::MIN_POSITIVE)) & (scale <= f64::from(f32::MAX))
}

/// What elements of a type are divided by.
trait Divides<T>: Copy {
    /// The quotient rounded to nearest, and then to odd in f32; and 0 if that is a normal number,
    /// or zero as the element, else 1.
    fn quotient(self, x: T) -> (f32, u32);
}

impl Divides<Self> for f32 {
    #[inline(always)]
    fn quotient(self, x: Self) -> (Self, u32) {
        let q = x / self;
        // Comparisons with NaN do not hold.
        let is_normal = u32::from(q.abs() >= Self::MIN_POSITIVE) & u32::from(q.abs() <= Self::MAX);
        let is_zero = u32::from(x == 0.0) & u32::from(q == 0.0);
        (q, 1 ^ (is_normal | is_zero))
    }
}

impl Divides<Self> for f64 {
    #[inline(always)]
    fn quotient(self, x: Self) -> (f32, u32) {
        narrow_quotient(x, x / self)
    }
}

/// The inverse of a power of two.
#[derive(Clone, Copy, Debug)]
struct Inverse(f64);

impl Divides<f64> for Inverse {
    #[inline(always)]
    fn quotient(self, x: f64) -> (f32, u32) {
        narrow_quotient(x, x * self.0)
    }
}

#[inline(always)]
fn narrow_quotient(x: f64, q: f64) -> (f32, u32) {
    let (odd, is_other) = narrow(q);
    let is_zero = u32::from(x == 0.0) & u32::from(q == 0.0);
    (odd, is_other & (1 ^ is_zero))
}

/// Quotients of groups that follow each other; `false` if one is not among the normal numbers.
fn divide_in_order<T: Copy, S: Divides<T>>(
    length: usize,
    values: &[T],
    scales: &[S],
    quotients: &mut [f32],
) -> bool {
    /// Flags that do not wait for each other.
    const LANES: usize = 16;
    let mut others = [0; LANES];
    Level::detected().vectorize(
        #[inline(always)]
        || {
            // Loops of a known length stay in registers.
            if length == LANES {
                let groups = values.as_chunks::<LANES>().0.iter().zip(quotients.as_chunks_mut::<LANES>().0);
                for ((values, quotients), &scale) in groups.zip(scales) {
                    divide_lanes(values, scale, quotients, &mut others);
                }
                return;
            }
            let groups = values.chunks_exact(length).zip(quotients.chunks_exact_mut(length));
            for ((values, quotients), &scale) in groups.zip(scales) {
                let (whole, rest) = values.as_chunks::<LANES>();
                let (quotients, last) = quotients.as_chunks_mut::<LANES>();
                for (values, quotients) in whole.iter().zip(quotients) {
                    divide_lanes(values, scale, quotients, &mut others);
                }
                for (x, place) in rest.iter().zip(last) {
                    divide_lanes(
                        &[*x],
                        scale,
                        std::array::from_mut(place),
                        others.first_chunk_mut().expect("one"),
                    );
                }
            }
        },
    );
    others.iter().all(|&other| other == 0)
}

/// Divides elements, and marks what is not among the normal numbers.
#[inline(always)]
fn divide_lanes<T: Copy, S: Divides<T>, const N: usize>(
    values: &[T; N],
    scale: S,
    quotients: &mut [f32; N],
    others: &mut [u32; N],
) {
    for lane in 0..N {
        let (q, is_other) = scale.quotient(values[lane]);
        quotients[lane] = q;
        others[lane] |= is_other;
    }
}

/// Numbers of f64, rounded to odd.
#[inline(always)]
fn narrow_to_odd(long: &[f64], short: &mut [f32]) {
    for (short, long) in short.chunks_mut(RUN).zip(long.chunks(RUN)) {
        let mut others = 0;
        for (short, &long) in short.iter_mut().zip(long) {
            let (q, is_other) = narrow(long);
            *short = q;
            others |= is_other & u32::from(long != 0.0);
        }
        if others != 0 {
            short.iter_mut().zip(long).for_each(|(short, &long)| *short = to_odd(long));
        }
    }
}

/// A number of f64 rounded to odd; and 0 if it is among the normal numbers of f32, else 1, where it
/// may be anything. In lanes of one width, which [`to_odd`] has not.
#[inline(always)]
pub(crate) fn narrow(x: f64) -> (f32, u32) {
    /// Bits that f32 has not.
    const BELOW: u64 = (1 << 29) - 1;
    let bits = x.to_bits();
    let odd = f64::from_bits((bits | ((bits & BELOW) + BELOW)) & !BELOW);
    // Comparisons with NaN do not hold.
    let is_large = odd.abs() >= f64::from(f32::MIN_POSITIVE);
    let is_normal = u32::from(is_large) & u32::from(odd.abs() <= f64::from(f32::MAX));
    #[expect(clippy::cast_possible_truncation, reason = "f32 has all bits of normal numbers")]
    (odd as f32, 1 ^ is_normal)
}

/// The bits in f64 below those of places where rounding to at most 11 bits changes.
pub(crate) const LOW_BITS: u64 = (1 << 40) - 1;

/// Quotients x · over / unit, exact or rounded to odd near f64 numbers whose `low_bits` are all 0.
#[inline(always)]
fn divide_by_ratio<T: Element>(values: &[T], (unit, over): (f64, f64), low_bits: u64, quotients: &mut [f64]) {
    for (quotients, values) in quotients.chunks_mut(RUN).zip(values.chunks(RUN)) {
        let mut all_far = true;
        for (q, x) in quotients.iter_mut().zip(values) {
            let product = x.to_f64() * over;
            *q = product / unit;
            all_far &= is_far_from_places(product, *q, low_bits) | (x.to_f64() == 0.0);
        }
        if !all_far {
            let divisor = Divisor::Ratio { unit, over };
            for (q, x) in quotients.iter_mut().zip(values) {
                let x = x.to_f64();
                if !is_far_from_places(x * over, *q, low_bits) && x != 0.0 {
                    *q = divisor.apply(x);
                }
            }
        }
    }
}

/// Quotients that are looked at together.
pub(crate) const RUN: usize = 32;

/// Quotients, exact or rounded to odd where all `low_bits` are 0.
///
/// All others are rounded to nearest, which never passes a number of f64: where the quotient is no
/// place at which rounding changes, it is on the same side of all of them as x / scale.
#[inline(always)]
fn divide_long<T: Element>(values: &[T], divisor: Divisor, low_bits: u64, quotients: &mut [f64]) {
    let pairs = quotients.iter_mut().zip(values);
    let scale = match divisor {
        Divisor::Value(scale) => scale,
        // A loop for this divisor alone, which vector instructions can do.
        Divisor::Power(inverse) => return pairs.for_each(|(q, x)| *q = times_power(x.to_f64(), inverse)),
        Divisor::Ratio { unit, over } => return divide_by_ratio(values, (unit, over), low_bits, quotients),
        _ => return pairs.for_each(|(q, x)| *q = divisor.apply(x.to_f64())),
    };
    let may_be_place = |q: f64| q.to_bits() & low_bits == 0;
    for (quotients, values) in quotients.chunks_mut(RUN).zip(values.chunks(RUN)) {
        let mut any = false;
        for (q, x) in quotients.iter_mut().zip(values) {
            *q = x.to_f64() / scale;
            any |= may_be_place(*q);
        }
        if any {
            for (q, x) in quotients.iter_mut().zip(values).filter(|(q, _)| may_be_place(**q)) {
                *q = divisor.apply(x.to_f64());
            }
        }
    }
}

/// The quotients of short operands, which an encoder to a format of at most 8 bits rounds as the
/// exact ones.
#[inline(always)]
pub(crate) fn divide_short<T: Element>(values: &[T], divisor: Divisor, quotients: &mut [f32]) {
    #[expect(clippy::cast_possible_truncation, reason = "short operands are f32 numbers")]
    let short = |x: &T| x.to_f64() as f32;
    let pairs = quotients.iter_mut().zip(values);
    match divisor {
        Divisor::Power(inverse) if to_odd(inverse).is_normal() && inverse <= f64::from(f32::MAX) => {
            let inverse = to_odd(inverse);
            let in_range = |x: f32, product: f32| {
                let huge = (product.abs() > f32::MAX) & (x.abs() <= f32::MAX);
                if huge { f32::MAX.copysign(x) } else { product }
            };
            if inverse >= 1.0 {
                // Nothing gets smaller: so it is with biases.
                for (q, x) in pairs {
                    let x = short(x);
                    *q = in_range(x, x * inverse);
                }
                return;
            }
            for (q, x) in pairs {
                let x = short(x);
                let product = x * inverse;
                let tiny = product.abs() < f32::MIN_POSITIVE && x != 0.0;
                *q = in_range(x, if tiny { f32::MIN_POSITIVE.copysign(x) } else { product });
            }
        }
        Divisor::Value(scale) => divide_by_product(values, (scale, 1.0), quotients),
        Divisor::Ratio { unit, over } if f64::from(to_odd(over)).to_bits() == over.to_bits() => {
            divide_by_product(values, (unit, over), quotients);
        }
        _ => pairs.for_each(|(q, x)| *q = to_odd(divisor.apply(x.to_f64()))),
    }
}

/// Quotients x · over / unit, by products with 1 / unit.
#[inline(always)]
fn divide_by_product<T: Element>(values: &[T], (unit, over): (f64, f64), quotients: &mut [f32]) {
    /// Quotients that are looked at together.
    const RUN: usize = 128;
    /// Bits that rounding to 50 bits leaves out, and those that f32 has not.
    const CUT: u64 = (1 << 3) - 1;
    const BELOW: u64 = (1 << 29) - 1;
    let reciprocal = 1.0 / unit;
    for (quotients, values) in quotients.chunks_mut(RUN).zip(values.chunks(RUN)) {
        // Lanes of their own, which are put together once.
        let mut others = 0_u32;
        for (q, x) in quotients.iter_mut().zip(values) {
            let x = x.to_f64();
            // A NaN may wrap around.
            let near = (x * over * reciprocal).to_bits().wrapping_add(CUT.div_ceil(2)) & !CUT;
            let odd = f64::from_bits((near | ((near & BELOW) + BELOW)) & !BELOW);
            #[expect(clippy::cast_possible_truncation, reason = "f32 has all bits of normal numbers")]
            let short = odd as f32;
            *q = short;
            let is_other = (short.abs() < f32::MIN_POSITIVE) | !short.is_finite();
            others |= u32::from(is_other) & u32::from(x != 0.0);
        }
        if others != 0 {
            quotients.iter_mut().zip(values).for_each(|(q, x)| *q = to_odd(x.to_f64() * over / unit));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use smallfloat::formats::{E2M1FN, E4M3FN, E5M2};
    use smallfloat::{Rounding, Saturation};

    #[test]
    fn rounding_to_odd() {
        let ulp = 2.0_f64.powi(-23);
        for (x, odd) in [
            (1.0, 1.0),
            (-1.5, -1.5),
            (1.0 + ulp / 4.0, 1.0 + ulp),
            (1.0 + 0.9 * ulp, 1.0 + ulp),
            (1.0 + 1.1 * ulp, 1.0 + ulp),
            (-(1.0 + 1.9 * ulp), -(1.0 + ulp)),
            (1e300, f64::from(f32::MAX)),
            (-1e-300, -f64::from(f32::from_bits(1))),
            (f64::INFINITY, f64::INFINITY),
        ] {
            assert_eq!(f64::from(to_odd(x)).to_bits(), odd.to_bits(), "{x}");
        }
        assert!(to_odd(f64::NAN).is_nan());
        assert_eq!(to_odd(-0.0).to_bits(), (-0.0_f32).to_bits());
    }

    /// The codes of a group's quotients.
    fn coded<T: Element>(quotients: &Quotients, values: &[T], divisor: Divisor) -> Vec<u16> {
        let (mut division, mut codes) = (Division::default(), vec![0_u16; values.len()]);
        quotients.begin(&mut division, values.len());
        quotients.divide(&mut division, 0..values.len(), values, divisor, &mut codes);
        encode(quotients, &division, &mut codes);
        codes
    }

    fn encode(quotients: &Quotients, division: &Division, codes: &mut [u16]) {
        let generator = smallfloat::random::Philox { seed: 0, stream: 0 }.into();
        let words = RandomWords { generator, first_element: 0 };
        quotients.encode(division, 0, codes, words, true);
    }

    /// The codes of groups of a length with one scale, the last of which has fewer elements and is
    /// left out, if they are divided together.
    fn coded_together<T: Element>(
        quotients: &Quotients,
        values: &[T],
        length: usize,
        scale: f64,
    ) -> Option<Vec<u16>> {
        let values = &values[..values.len() / length * length];
        let (mut division, mut codes) = (Division::default(), vec![0_u16; values.len()]);
        quotients.begin(&mut division, values.len());
        let scales = vec![scale; values.len() / length];
        let is_divided = quotients.divide_groups(&mut division, length, values, &scales);
        encode(quotients, &division, &mut codes);
        is_divided.then_some(codes)
    }

    /// Of x = p·s and its neighbours, where rounding changes, and of extreme operands: all ways
    /// give the codes of `Divisor::apply`, which is proved.
    #[test]
    fn both_ways_round_once() {
        let mut scales: Vec<f64> =
            [1.0_f32, 0.3, 448.0, 1e-30, 1e30, 0.007_812_5, 3.0, f32::MIN_POSITIVE, f32::MAX]
                .map(f64::from)
                .into();
        scales.extend([2.0_f64.powi(-149), 2.0_f64.powi(140), 0.0, f64::NAN, f64::INFINITY]);
        let mut divisors: Vec<(f64, Divisor)> = scales.iter().map(|&s| (s, Divisor::new(s))).collect();
        for over in [0.3_f32, 2688.0, 1e-38, f32::MAX, f32::from_bits(1)].map(f64::from) {
            let ratio = |unit: f64| (unit / over, Divisor::Ratio { unit, over });
            divisors.extend([448.0, 1.0, 0.1015625, 15.0, 2.0_f64.powi(-9)].map(ratio));
        }
        let (mut together, mut short_together) = (0, 0);
        for format in [E4M3FN, E5M2, E2M1FN, Format::cfloat8_1_4_3(0).unwrap()] {
            for &rounding in Rounding::DETERMINISTIC {
                let projection = format.default_projection().with_rounding(rounding);
                let projection = projection.with_saturation(Saturation::SatFinite);
                let short = Quotients::new(&format, &projection, usize::MAX).unwrap();
                let encoder = Encoder::new(&format, &projection).unwrap();
                let long = Quotients::Long(encoder.clone(), LOW_BITS);
                assert!(matches!(short, Quotients::Short(_)), "{format} {rounding:?}");
                for &(scale, divisor) in &divisors {
                    let mut values = vec![0.0, -0.0, 1e-40, f64::from(f32::MAX), f64::NAN, f64::INFINITY];
                    for code in 0..=format.max_code() {
                        let place = format.decode_f64(code).value;
                        for place in [place, place * 1.0625, place * 1.125, place * 1.25, place * 1.5] {
                            #[expect(clippy::cast_possible_truncation, reason = "an f32 near p·s")]
                            let x = (place * scale) as f32;
                            values.extend([x.next_down(), x, x.next_up()].map(f64::from));
                        }
                    }
                    let expected = |values: &[f64]| {
                        let exact: Vec<f64> = values.iter().map(|&x| divisor.apply(x)).collect();
                        let mut expected = vec![0_u16; values.len()];
                        encoder.encode_uncounted(&exact, &mut expected);
                        expected
                    };
                    #[expect(clippy::cast_possible_truncation, reason = "numbers of f32")]
                    let narrow: Vec<f32> = values.iter().map(|&x| x as f32).collect();
                    let what = format!("{format} {rounding:?} {scale:e}");
                    assert_eq!(coded(&short, &narrow, divisor), expected(&values), "{what}");
                    // Neighbours in f64.
                    for code in 0..=format.max_code() {
                        let place = format.decode_f64(code).value;
                        for x in [place * scale, place * 1.0625 * scale, place * 1.125 * scale] {
                            values.extend([x.next_down(), x, x.next_up()]);
                        }
                    }
                    assert_eq!(coded(&short, &values, divisor), expected(&values), "{what}");
                    assert_eq!(coded(&long, &values, divisor), expected(&values), "{what}");
                    if matches!(divisor, Divisor::Ratio { .. }) {
                        continue;
                    }
                    // Together, without those that ask for more care: the others are then the most.
                    let is_usual = |x: f64| x == 0.0 || (1e-35..1e35).contains(&(x / scale).abs());
                    let usual: Vec<f64> = values.iter().copied().filter(|&x| is_usual(x)).collect();
                    let short_usual: Vec<f32> =
                        narrow.iter().copied().filter(|&x| is_usual(x.into())).collect();
                    for length in [16, 32, 21] {
                        for values in [&values, &usual] {
                            let found = coded_together(&short, values, length, scale);
                            together += usize::from(found.is_some());
                            let expected = expected(&values[..values.len() / length * length]);
                            assert!(found.is_none_or(|found| found == expected), "{what} {length}");
                        }
                        for values in [&narrow, &short_usual] {
                            let found = coded_together(&short, values, length, scale);
                            short_together += usize::from(found.is_some());
                            let values: Vec<f64> = values.iter().map(|&x| x.into()).collect();
                            let expected = expected(&values[..values.len() / length * length]);
                            assert!(found.is_none_or(|found| found == expected), "{what} {length}");
                        }
                    }
                }
            }
        }
        // Of eleven usual scales one is too small for the largest elements; seven have few bits.
        let ways = 4 * Rounding::DETERMINISTIC.len() * 3;
        assert!(together >= 8 * ways && short_together >= 5 * ways, "{together} {short_together} of {ways}");
    }
}
