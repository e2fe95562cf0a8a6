//! [`ListEncoder`] and [`IntegerEncoder`]: codes that stand for values in a list.
//!
//! *A short list is compared*, not divided. Let m be the middle between two neighbours and s the
//! scale of a group: x / s passes m where x passes m · s, which is exact in f64, since m has at
//! most 25 bits and s at most 24. For each middle the least number of the elements' type that is
//! beyond it is found once for the group, and how many of these an element reaches is the rank of
//! its value.
//!
//! *Integers are rounded* as numbers of f32: the middles between them have at most nine bits, so
//! that a quotient rounded to odd lies on the same side of them as the exact one (`divide.rs`).

use smallfloat::Codebook;
use smallfloat_kernels::{Element, Lanes, Level};

use crate::file::stream::StoredCode;
use crate::scale::rule::Divisor;

/// The most values of a list that is compared.
const VALUES: usize = 16;

/// Elements that are compared side by side.
const LANES: usize = 32;

/// A type whose numbers are compared.
trait Limit: Copy + PartialOrd {
    /// The least number of the type that is above a number of f64; or `at` it, where that is 1 and
    /// not 0. Without branches, so that compilers make vectors of several.
    fn least_above(x: f64, at: u8) -> Self;
}

/// What bits of signs and magnitudes are in the order of their numbers, and back again.
macro_rules! ordered {
    ($bits:expr, $signed:ty) => {
        $bits ^ (($bits >> (<$signed>::BITS - 1)) & <$signed>::MAX)
    };
}

impl Limit for f32 {
    #[inline(always)]
    fn least_above(x: f64, at: u8) -> Self {
        // Only the positive zero is the number before the least positive one.
        #[expect(clippy::cast_possible_truncation, reason = "mended right below")]
        let near = x as Self + 0.0;
        let back = f64::from(near);
        // 1 below the number, and `1 - at` at it.
        let step = i32::from(back < x) | (i32::from(back <= x) & i32::from(1 - at));
        let ordered = ordered!(near.to_bits().cast_signed(), i32) + step;
        Self::from_bits(ordered!(ordered, i32).cast_unsigned())
    }
}

impl Limit for f64 {
    #[inline(always)]
    fn least_above(x: f64, at: u8) -> Self {
        let ordered = ordered!((x + 0.0).to_bits().cast_signed(), i64);
        let ordered = ordered.wrapping_add(i64::from(1 - at));
        Self::from_bits(ordered!(ordered, i64).cast_unsigned())
    }
}

/// An encoder to the nearest of at most 16 values.
#[derive(Debug)]
pub(crate) struct ListEncoder {
    /// The middles between neighbours, ascending; NaN after them.
    middles: [f64; VALUES],
    /// 1 where a number in a middle becomes the value above it, else 0.
    up: [u8; VALUES],
    /// The codes of values, ascending.
    codes: [u8; VALUES],
    /// Whether each code is the rank of its value.
    are_ranks: bool,
}

impl ListEncoder {
    /// `None` for longer lists.
    pub(crate) fn new(codebook: Codebook) -> Option<Self> {
        if codebook.len() > VALUES {
            return None;
        }
        let mut encoder =
            Self { middles: [f64::NAN; VALUES], up: [1; VALUES], codes: [0; VALUES], are_ranks: true };
        let value = |rank: usize| f64::from(codebook.value(codebook.code_at(rank)));
        for rank in 0..codebook.len() {
            let [code, ..] = codebook.code_at(rank).to_le_bytes();
            encoder.codes[rank] = code;
            encoder.are_ranks &= usize::from(code) == rank;
            if rank + 1 < codebook.len() {
                encoder.middles[rank] = f64::midpoint(value(rank), value(rank + 1));
                encoder.up[rank] = codebook.is_tie_up(rank).into();
            }
        }
        Some(encoder)
    }

    /// Encodes the elements of a group.
    #[inline(always)]
    pub(crate) fn encode<T: Element, C: StoredCode>(&self, divisor: Divisor, values: &[T], codes: &mut [C]) {
        let scale = match divisor {
            Divisor::Value(scale) => Some(scale),
            // Powers of two are as exact the other way round.
            Divisor::Power(inverse) => Some(1.0 / inverse),
            _ => None,
        };
        match (scale, T::lanes(values)) {
            (Some(scale), Lanes::F32(values)) => self.compare(scale, values, codes),
            (Some(scale), Lanes::F64(values)) => self.compare(scale, values, codes),
            _ => self.encode_quotients(divisor, values, codes),
        }
    }

    /// Encodes quotients that are exact or rounded to odd: the middles between values are numbers
    /// of f64 with an even last bit.
    #[cold]
    fn encode_quotients<T: Element, C: StoredCode>(&self, divisor: Divisor, values: &[T], codes: &mut [C]) {
        for (x, code) in values.iter().zip(codes) {
            self.compare(1.0, &[divisor.apply(x.to_f64())], std::slice::from_mut(code));
        }
    }

    #[inline(always)]
    fn compare<T: Limit, C: StoredCode>(&self, scale: f64, values: &[T], codes: &mut [C]) {
        let mut limits = [T::least_above(0.0, 1); VALUES];
        for ((limit, middle), &up) in limits.iter_mut().zip(&self.middles).zip(&self.up) {
            *limit = T::least_above(middle * scale, up);
        }
        let (whole, rest) = values.as_chunks::<LANES>();
        let (whole_codes, rest_codes) = codes.as_chunks_mut::<LANES>();
        for (values, codes) in whole.iter().zip(whole_codes) {
            self.compare_lanes(&limits, values, codes);
        }
        for (value, code) in rest.iter().zip(rest_codes) {
            self.compare_lanes(&limits, std::array::from_ref(value), std::array::from_mut(code));
        }
    }

    #[inline(always)]
    fn compare_lanes<T: Limit, C: StoredCode, const N: usize>(
        &self,
        limits: &[T; VALUES],
        values: &[T; N],
        codes: &mut [C; N],
    ) {
        let mut ranks = [0; N];
        for limit in &limits[..VALUES - 1] {
            for (rank, x) in ranks.iter_mut().zip(values) {
                *rank += u32::from(x >= limit);
            }
        }
        if self.are_ranks {
            codes.iter_mut().zip(ranks).for_each(|(code, rank)| *code = C::from_code(rank));
            return;
        }
        for (code, rank) in codes.iter_mut().zip(ranks) {
            *code = C::from_code(self.codes[rank as usize % VALUES].into());
        }
    }
}

/// An encoder to the nearest of integers times a power of two, ties to even.
#[derive(Debug)]
pub(crate) struct IntegerEncoder {
    /// What makes integers of the values.
    factor: f32,
    lowest: f32,
    highest: f32,
    /// The bits of a code.
    mask: u32,
}

impl IntegerEncoder {
    /// `None` where the values are no such integers, or their codes not in two's complement.
    pub(crate) fn new(codebook: Codebook) -> Option<Self> {
        let zero = (0..codebook.len()).find(|&rank| codebook.code_at(rank) == 0)?;
        let factor = 1.0 / codebook.value(1);
        let mask = codebook.max_code();
        let integer =
            |rank: usize| i32::try_from(rank).ok().zip(i32::try_from(zero).ok()).map(|(a, b)| a - b);
        for rank in 0..codebook.len() {
            let (code, integer) = (codebook.code_at(rank), integer(rank)?);
            #[expect(clippy::cast_precision_loss, reason = "integers of at most eight bits")]
            let is_integer = (codebook.value(code) * factor).to_bits() == (integer as f32).to_bits();
            let is_even = rank + 1 == codebook.len() || codebook.is_tie_up(rank) == (integer % 2 != 0);
            if !(is_integer && is_even && code == integer.cast_unsigned() & mask) {
                return None;
            }
        }
        let value = |rank: usize| codebook.value(codebook.code_at(rank)) * factor;
        Some(Self { factor, lowest: value(0), highest: value(codebook.len() - 1), mask })
    }

    /// Encodes quotients that are exact or rounded to odd.
    pub(crate) fn encode<C: StoredCode>(&self, quotients: &[f32], codes: &mut [C]) {
        /// 1.5 · 2^23, whose last bit is 1: a sum with it is rounded to an integer, which its last
        /// bits are.
        const LAST_BIT: f32 = 12_582_912.0;
        Level::detected().vectorize(
            #[inline(always)]
            || {
                for (code, q) in codes.iter_mut().zip(quotients) {
                    let q = q * self.factor;
                    let q = if q > self.lowest { q } else { self.lowest };
                    let q = if q < self.highest { q } else { self.highest };
                    *code = C::from_code((q + LAST_BIT).to_bits() & self.mask);
                }
            },
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quantize::divide::{Division, Quotients};
    use smallfloat_kernels::RandomWords;

    /// Every middle of every list and its neighbours, what lies between and beyond: the codes are
    /// those of the core. So are those of products of middles and scales, and of their neighbours,
    /// of f64 and of f32, by quotients that are exact or rounded to odd.
    #[test]
    fn codes_are_those_of_the_nearest_values() {
        for &list in Codebook::ALL {
            let middles: Vec<f64> =
                (1..list.len()).map(|rank| list.midpoint(rank - 1).to_f64().unwrap()).collect();
            let mut quotients =
                vec![0.0, -0.0, 1e300, -1e300, 1e-300, -1e-300, f64::INFINITY, -f64::INFINITY];
            quotients.extend(middles.iter().flat_map(|&x| [x.next_down(), x, x.next_up()]));
            quotients.extend((-40_000..40_000).map(|i| f64::from(i) / 299.0));
            quotients.extend((-40_000..40_000).map(|i| f64::from(i) / 29_999.0));
            assert_coded(list, Divisor::new(1.0), &quotients);
            let powers = [-126, -30, -1, 1, 90].map(|exponent| 2.0_f64.powi(exponent));
            let scales =
                [0.3_f32, 1.0 / 3.0, 7.0, 1e-30, 1.999_999_9, 0.001_234, f32::MIN_POSITIVE, f32::MAX];
            let ratios = [448.0, 0.1015625].map(|unit| Divisor::Ratio { unit, over: f64::from(0.3_f32) });
            let divisors = scales.map(f64::from).into_iter().chain(powers).map(Divisor::new).chain(ratios);
            let others = [Divisor::Silent, Divisor::Zero, Divisor::Infinite];
            for divisor in divisors.chain(others) {
                let scale = match divisor {
                    Divisor::Value(scale) => scale,
                    Divisor::Power(inverse) => 1.0 / inverse,
                    Divisor::Ratio { unit, over } => unit / over,
                    _ => 1.0,
                };
                let near = |&x: &f64| {
                    let x = x * scale;
                    let down = x.next_down().next_down();
                    [down, x.next_down(), x, x.next_up(), x.next_up().next_up()]
                };
                let mut values: Vec<f64> = middles.iter().flat_map(near).chain([0.0, -0.0]).collect();
                assert_coded(list, divisor, &values);
                #[expect(clippy::cast_possible_truncation, reason = "near them")]
                let short = |&x: &f64| x as f32;
                let mut short: Vec<f32> = values.iter().map(short).collect();
                short.extend(short.clone().iter().flat_map(|x| [x.next_down(), x.next_up()]));
                short.extend([f32::MAX, f32::MIN, f32::from_bits(1), f32::INFINITY, f32::NEG_INFINITY]);
                short.retain(|x| x.is_finite() || !matches!(divisor, Divisor::Infinite | Divisor::Zero));
                assert_coded(list, divisor, &short);
                values.truncate(37);
                assert_coded(list, divisor, &values);
            }
        }
    }

    #[track_caller]
    fn assert_coded<T: Element>(list: Codebook, divisor: Divisor, values: &[T]) {
        let exact = |x: &T| list.encode_f64(divisor.apply(x.to_f64())).unwrap();
        let expected: Vec<u32> = values.iter().map(exact).collect();
        let quotients = Quotients::of_list(list);
        let (mut division, mut bytes) = (Division::default(), vec![0_u8; values.len()]);
        quotients.begin(&mut division, values.len());
        quotients.divide(&mut division, 0..values.len(), values, divisor, &mut bytes);
        let generator = smallfloat::random::Philox { seed: 0, stream: 0 }.into();
        let words = RandomWords { generator, first_element: 0 };
        quotients.encode(&division, 0, &mut bytes, words, false);
        let found: Vec<u32> = bytes.into_iter().map(u32::from).collect();
        assert_eq!(found, expected, "{list} {divisor:?}");
    }

    #[test]
    fn which_lists_are_integers() {
        for &list in Codebook::ALL {
            let is_integer = ["int4", "int8", "mxint8"].contains(&list.name());
            assert_eq!(IntegerEncoder::new(list).is_some(), is_integer, "{list}");
            assert!(is_integer || ListEncoder::new(list).is_some(), "{list}");
        }
    }
}
