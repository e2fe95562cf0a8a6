//! [`Intervals`]: which numbers each code stands for, so that a code can be judged without encoding
//! anything.
//!
//! Rounding is monotone: if two numbers have one code, so has every number between them. The places
//! where the code may change are known (values of the format and the midpoints between neighbours),
//! and just inside of each interval between two such places the core is asked for the code at both
//! ends. A place that were missing here would leave an interval out, and what no interval holds is
//! put to the core itself: wrong answers can't come of it.

use std::cmp::Ordering;

use smallfloat::Format;

/// For each code the open interval of the numbers that surely have it.
#[derive(Debug)]
pub(crate) struct Intervals {
    of: Vec<(f64, f64)>,
    /// The smallest end of an interval that is not zero.
    smallest: f64,
}

/// No number lies in it.
const NONE: (f64, f64) = (f64::INFINITY, f64::NEG_INFINITY);

impl Intervals {
    /// No intervals, where a number alone does not decide.
    pub(crate) fn none() -> Self {
        Self { of: Vec::new(), smallest: f64::INFINITY }
    }

    /// For codes below `codes` and the rule `code_of`, which changes its mind at values of `format`
    /// and half-way between.
    pub(crate) fn new(format: &Format, codes: usize, code_of: impl Fn(f64) -> u64) -> Self {
        let values = (0..=format.max_code()).map(|code| format.decode_f64(code).value);
        let mut values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
        values.sort_unstable_by(f64::total_cmp);
        values.dedup_by(|a, b| a.partial_cmp(&b) == Some(Ordering::Equal));
        let mut places = vec![f64::NEG_INFINITY];
        let step = |i: usize, j: usize| values.get(j).zip(values.get(i)).map_or(0.0, |(b, a)| b - a);
        let (first, last) = (step(0, 1), step(values.len().wrapping_sub(2), values.len().wrapping_sub(1)));
        places.extend(values.first().iter().flat_map(|&least| [least - first, least - first / 2.0]));
        for pair in values.windows(2) {
            places.extend([pair[0], f64::midpoint(pair[0], pair[1])]);
        }
        places.extend(values.last().iter().flat_map(|&most| [*most, most + last / 2.0, most + last]));
        places.push(f64::INFINITY);
        let mut intervals = Self { of: vec![NONE; codes], smallest: f64::INFINITY };
        for pair in places.windows(2) {
            let (low, high) = (pair[0], pair[1]);
            let inside = (low.next_up(), high.next_down());
            if inside.0 > inside.1 {
                continue;
            }
            let code = code_of(inside.0);
            let Some(known) = usize::try_from(code).ok().and_then(|code| intervals.of.get_mut(code)) else {
                continue;
            };
            if code != code_of(inside.1) {
                continue;
            }
            if *known == NONE {
                *known = (low, high);
            } else if known.1.to_bits() == low.to_bits() && low != 0.0 && code_of(low) == code {
                known.1 = high;
            }
        }
        let range = intervals.of.iter().flat_map(|&(low, high)| [low.abs(), high.abs()]);
        intervals.smallest = range.filter(|end| *end > 0.0).fold(f64::INFINITY, f64::min);
        intervals
    }

    /// Returns whether all ends are exact in f64 when they are multiplied by a scale of at most 24
    /// bits.
    pub(crate) fn suit(&self, scale: f64) -> bool {
        scale.is_normal() && scale > 0.0 && self.smallest * scale >= f64::MIN_POSITIVE
    }

    /// Returns whether x / scale is known to have this code. The scale must be one that
    /// [`suit`](Self::suit)s; ends have few bits, so that products are exact and the comparison is
    /// that of the exact quotient.
    #[inline]
    pub(crate) fn hold(&self, code: u16, x: f64, scale: f64) -> bool {
        self.of.get(usize::from(code)).is_some_and(|(low, high)| low * scale < x && x < high * scale)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use smallfloat::Rounding;
    use smallfloat::formats::{E2M1FN, E4M3FN, E5M2, E8M0FNU};

    /// Around every value, midpoint and end of the range, of every mode: what an interval holds has
    /// the code.
    #[test]
    fn intervals_hold_numbers_of_their_code_and_most_of_them() {
        let named = |name: &str| name.parse::<Format>().unwrap();
        for format in [
            E4M3FN,
            E5M2,
            E2M1FN,
            E8M0FNU,
            named("cfloat8_1_4_3:bias=0"),
            named("cfloat8_1_5_2:bias=0,subnormals=gradual"),
            named("binary8p3se"),
            named("binary8p1ue"),
        ] {
            for &rounding in Rounding::DETERMINISTIC {
                for &saturation in smallfloat::Saturation::ALL {
                    let projection =
                        format.default_projection().with_rounding(rounding).with_saturation(saturation);
                    let code_of = |x: f64| format.encode_f64(x, &projection).value;
                    let intervals = Intervals::new(&format, 256, code_of);
                    let mut numbers = vec![1e30, 1e-30, f64::MAX];
                    for code in 0..=format.max_code() {
                        let value = format.decode_f64(code).value;
                        let parts = [1.0, 1.01, 1.0625, 1.125, 1.1875, 1.249, 1.25, 1.375, 1.49, 1.5, 1.7];
                        numbers.extend(parts.iter().flat_map(|part| {
                            let x = value * part;
                            [x.next_down(), x, x.next_up(), -x]
                        }));
                    }
                    let (mut held, mut finite) = (0_u32, 0_u32);
                    for &x in numbers.iter().filter(|x| x.is_finite() && **x != 0.0) {
                        let expected_code = code_of(x);
                        for code in 0..256_u16 {
                            if intervals.hold(code, x, 1.0) {
                                assert_eq!(u64::from(code), expected_code, "{format} {rounding:?} {x:e}");
                                held += 1;
                            }
                        }
                        finite += 1;
                    }
                    assert!(held > finite / 2, "{format} {rounding:?}: {held} of {finite}");
                }
            }
        }
    }

    #[test]
    fn scales_are_exact() {
        let projection = E4M3FN.default_projection();
        let intervals = Intervals::new(&E4M3FN, 256, |x| E4M3FN.encode_f64(x, &projection).value);
        // 0x38 is 1, its upper neighbour 1.125.
        let scale = f64::from(0.3_f32);
        let end = 1.0625 * scale;
        assert!(intervals.hold(0x38, end.next_down(), scale) && !intervals.hold(0x38, end.next_up(), scale));
        assert!(intervals.suit(scale) && intervals.suit(2.0_f64.powi(-149)));
        for scale in [0.0, -1.0, f64::NAN, f64::INFINITY, f64::MIN_POSITIVE] {
            assert!(!intervals.suit(scale), "{scale}");
        }
    }
}
