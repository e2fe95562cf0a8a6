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
//! * *A product with the reciprocal of the scale is enough*: it is off by 2^−52 at most, so that
//!   rounded to 50 bits it is p if x = p·s, and on the same side of p as x / s if not.
//!
//! So short operands are divided by a power of two in f32, by other scales in f64 and rounded to
//! odd to f32, and the encoder of f32 has vector kernels. Everything else takes [`Divisor::apply`]
//! and the encoder of f64.

use std::ops::Range;

use smallfloat::{Codebook, Format, Projection};
use smallfloat_kernels::{Element, Encoder, EventCounts, RandomWords, to_odd};

use crate::error::{Result, refuse};
use crate::file::stream::StoredCode;
use crate::quantize::per_tensor::encoded;
use crate::scale::rule::{Divisor, is_far_from_places, times_power};

/// How the elements of a tensor are divided and encoded.
#[derive(Debug)]
pub(crate) enum Quotients {
    /// Operands of at most 24 bits, elements of at most 8, no random words.
    Short(Encoder<f32>),
    /// All others, with the bits below those of places where rounding changes.
    Long(Encoder<f64>, u64),
    /// Elements that are values in a list.
    List(ListEncoder),
}

/// An encoder to the nearest of values in a list. The middles between neighbours are numbers of f64
/// with an even last bit, as the values have 24 bits and lie within 28 binades, so that quotients
/// that are rounded to odd lie on the same side of them as the exact ones.
///
/// How many limits a quotient has reached is looked up: the line is cut into pieces of one width,
/// so that none has two limits. Whatever is rounded where a piece is found, a larger quotient is in
/// no lower piece. So limits of lower pieces are below the quotient, those of higher ones above it,
/// and one comparison decides.
#[derive(Debug)]
pub(crate) struct ListEncoder {
    /// The least quotients that have the next value, ascending, and a NaN.
    limits: Vec<f64>,
    /// The codes of values, ascending.
    codes: Vec<u8>,
    /// For each piece the number of limits in lower ones.
    below: Vec<u8>,
    /// How many pieces a unit has.
    pieces: f64,
    /// The bits below those of the middles.
    low_bits: u64,
}

impl ListEncoder {
    pub(crate) fn new(codebook: Codebook) -> Self {
        let codes: Vec<u32> = codebook.ascending().collect();
        let value = |code: u32| f64::from(codebook.value(code));
        let limit = |(rank, pair): (usize, &[u32])| {
            let middle = f64::midpoint(value(pair[0]), value(pair[1]));
            if codebook.is_tie_up(rank) { middle } else { middle.next_up() }
        };
        let mut limits: Vec<f64> = codes.windows(2).enumerate().map(limit).collect();
        let (lowest, highest) = (limits[0], limits[limits.len() - 1]);
        let middles = codes.windows(2).map(|pair| f64::midpoint(value(pair[0]), value(pair[1])));
        let zeros = middles.filter(|&x| x != 0.0).map(|x| x.to_bits().trailing_zeros()).min().unwrap_or(0);
        // Middles around 1 have bits up to the 52nd.
        let low_bits = (1 << zeros.min(52)) - 1;
        let mut count = limits.len();
        let (pieces, below) = loop {
            let pieces = f64::from(u32::try_from(count).expect("pieces are few")) / (highest - lowest);
            let places: Vec<usize> =
                limits.iter().map(|&limit| piece(limit, lowest, pieces, count)).collect();
            if places.windows(2).all(|pair| pair[0] < pair[1]) {
                let lower = |at: usize| places.partition_point(|&place| place < at);
                let below = (0..count).map(|at| u8::try_from(lower(at)).expect("at most 255 limits"));
                break (pieces, below.collect());
            }
            count *= 2;
        };
        limits.push(f64::NAN);
        let codes = codes.iter().map(|code| code.to_le_bytes()[0]).collect();
        Self { limits, codes, below, pieces, low_bits }
    }

    fn encode<C: StoredCode>(&self, quotients: &[f64], codes: &mut [C]) {
        let (lowest, count) = (self.limits[0], self.below.len());
        for (place, &q) in codes.iter_mut().zip(quotients) {
            let below = usize::from(self.below[piece(q, lowest, self.pieces, count)]);
            let rank = below + usize::from(self.limits[below] <= q);
            *place = C::from_code(self.codes[rank].into());
        }
    }
}

/// The piece of the line that a number is in, of so many; a NaN is in the first.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "casts stop at the ends")]
fn piece(x: f64, lowest: f64, pieces: f64, count: usize) -> usize {
    (((x - lowest) * pieces) as u32 as usize).min(count - 1)
}

/// Quotients on their way to the encoder, and its codes.
#[derive(Debug, Default)]
pub(crate) struct Division {
    short: Vec<f32>,
    long: Vec<f64>,
}

impl Quotients {
    /// For an element format and a projection; `is_short` says that elements have at most 24
    /// significant bits, at exponents of f32.
    pub(crate) fn new(
        element: &Format,
        projection: &Projection,
        length: usize,
        is_short: bool,
    ) -> Result<Self> {
        let (lowest, highest) = element.exponent_range();
        let inside = lowest - element.precision().cast_signed() > -120 && highest < 120;
        if is_short && inside && element.width() <= 8 && !projection.rounding.is_stochastic() {
            return Encoder::for_length(element, projection, length).map(Self::Short).map_err(refuse);
        }
        // Random words may round anywhere, so that no quotient is far from where that changes.
        let low_bits = if projection.rounding.is_stochastic() { 0 } else { (1 << PLACE_ZEROS) - 1 };
        let encoder = Encoder::for_length(element, projection, length).map_err(refuse)?;
        Ok(Self::Long(encoder, low_bits))
    }

    /// Makes room for so many quotients.
    pub(crate) fn begin(&self, division: &mut Division, count: usize) {
        match self {
            Self::Short(_) => division.short.resize(count, 0.0),
            Self::Long(..) | Self::List(_) => division.long.resize(count, 0.0),
        }
    }

    /// Puts the quotients of these values at these places.
    #[inline(always)]
    pub(crate) fn divide<T: Element>(
        &self,
        division: &mut Division,
        places: Range<usize>,
        values: &[T],
        divisor: Divisor,
    ) {
        match self {
            Self::Short(_) => divide_short(values, divisor, &mut division.short[places]),
            &Self::Long(_, low_bits) => divide_long(values, divisor, low_bits, &mut division.long[places]),
            Self::List(list) => divide_long(values, divisor, list.low_bits, &mut division.long[places]),
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
            Self::List(encoder) => {
                encoder.encode(&division.long[places], codes);
                EventCounts::default()
            }
        }
    }
}

/// Zeros at the end of the places in f64 where rounding to at most 11 bits changes.
const PLACE_ZEROS: u32 = 40;

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
const RUN: usize = 32;

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

    /// Every limit of every list and its neighbours, what lies between and beyond, NaN: the look-up
    /// counts the limits that are reached. Of products of limits and scales, and their neighbours,
    /// the code is that of the quotient rounded to odd.
    #[test]
    fn lists_are_looked_up_as_counted() {
        for &list in Codebook::ALL {
            let encoder = ListEncoder::new(list);
            let limits = &encoder.limits[..encoder.limits.len() - 1];
            assert!(limits.is_sorted() && limits.len() + 1 == list.len());
            let counted = |q: f64| encoder.codes[limits.iter().filter(|&&limit| limit <= q).count()];
            let coded = |q: &[f64]| {
                let mut codes = vec![0_u8; q.len()];
                encoder.encode(q, &mut codes);
                codes
            };
            let mut quotients = vec![0.0, -0.0, 1e300, -1e300, f64::INFINITY, -f64::INFINITY, f64::NAN];
            quotients.extend(limits.iter().flat_map(|&x| [x.next_down(), x, x.next_up()]));
            quotients.extend((-40_000..40_000).map(|i| f64::from(i) / 299.0));
            quotients.extend((-40_000..40_000).map(|i| f64::from(i) / 29_999.0));
            let expected: Vec<u8> = quotients.iter().map(|&q| counted(q)).collect();
            assert_eq!(coded(&quotients), expected, "{list}");

            let quotients = Quotients::List(ListEncoder::new(list));
            for scale in [0.3_f32, 1.0 / 3.0, 7.0, 1e-30, 1.999_999_9, 0.001_234].map(f64::from) {
                let near = |&x: &f64| {
                    let x = x * scale;
                    let down = x.next_down().next_down();
                    [down, x.next_down(), x, x.next_up(), x.next_up().next_up()]
                };
                let values: Vec<f64> = limits.iter().flat_map(near).chain([0.0, -0.0]).collect();
                let divisor = Divisor::new(scale);
                let expected: Vec<u8> = values.iter().map(|&x| counted(divisor.apply(x))).collect();
                let (mut division, mut codes) = (Division::default(), vec![0_u8; values.len()]);
                quotients.begin(&mut division, values.len());
                quotients.divide(&mut division, 0..values.len(), &values, divisor);
                let generator = smallfloat::random::Philox { seed: 0, stream: 0 }.into();
                let words = RandomWords { generator, first_element: 0 };
                quotients.encode(&division, 0, &mut codes, words, false);
                assert_eq!(codes, expected, "{list} {scale:e}");
            }
        }
    }

    /// Of x = p·s and its neighbours in f32, where rounding changes, and of extreme operands: the
    /// short way and the long one give the codes of `Divisor::apply`, which is proved.
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
        for format in [E4M3FN, E5M2, E2M1FN, Format::cfloat8_1_4_3(0).unwrap()] {
            for &rounding in Rounding::DETERMINISTIC {
                let projection = format.default_projection().with_rounding(rounding);
                let projection = projection.with_saturation(Saturation::SatFinite);
                let short = Quotients::new(&format, &projection, usize::MAX, true).unwrap();
                let long = Quotients::new(&format, &projection, usize::MAX, false).unwrap();
                let (Quotients::Short(_), Quotients::Long(encoder, _)) = (&short, &long) else {
                    panic!("{format} {rounding:?}")
                };
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
                    let coded = |quotients: &Quotients, values: &[f64]| {
                        let (mut division, mut codes) = (Division::default(), vec![0_u16; values.len()]);
                        quotients.begin(&mut division, values.len());
                        quotients.divide(&mut division, 0..values.len(), values, divisor);
                        let generator = smallfloat::random::Philox { seed: 0, stream: 0 }.into();
                        let words = RandomWords { generator, first_element: 0 };
                        quotients.encode(&division, 0, &mut codes, words, true);
                        codes
                    };
                    let expected = |values: &[f64]| {
                        let exact: Vec<f64> = values.iter().map(|&x| divisor.apply(x)).collect();
                        let mut expected = vec![0_u16; values.len()];
                        encoder.encode_uncounted(&exact, &mut expected);
                        expected
                    };
                    let short = coded(&short, &values);
                    assert_eq!(short, expected(&values), "{format} {rounding:?} {scale:e}");
                    // Neighbours in f64, where rounded quotients are wrong.
                    for code in 0..=format.max_code() {
                        let place = format.decode_f64(code).value;
                        for x in [place * scale, place * 1.0625 * scale, place * 1.125 * scale] {
                            values.extend([x.next_down(), x, x.next_up()]);
                        }
                    }
                    let long = coded(&long, &values);
                    assert_eq!(long, expected(&values), "{format} {rounding:?} {scale:e}");
                }
            }
        }
    }
}
