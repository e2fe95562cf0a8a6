//! [`Few`]: the bias of a few elements that are at hand, in `f64`.
//!
//! The general choice (`bias.rs`) works on classes of elements and asks the core what each rounds to. A group of 32
//! elements has hardly two in one class, so here the elements themselves are rounded, by a few f64 operations that
//! are exact: x − q is a multiple of the last place of x or q and no larger than x. Biases are compared by what elements
//! lose at one and not at the other, which is nothing for most elements. What that can't tell for certain is left
//! to the general way, which has exact sums.
//!
//! Ties among values do not matter here: both ways they are equally far.

use std::cmp::Ordering;

use smallfloat::{Datum, Format, FormatSpec};

use crate::BiasPolicy;
use crate::scale::{magnitude, power};

/// The choice of a bias for a format, prepared for many groups.
#[derive(Debug)]
pub(crate) struct Few {
    /// By ascending bias.
    candidates: Vec<Candidate>,
    least_error: bool,
}

/// The grid of a format at one bias.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    bias: i32,
    max: f64,
    min_normal: f64,
    /// The distance of subnormal values and its inverse.
    step: f64,
    inverse: f64,
    /// The largest subnormal value; Tesla's formats have a hole between it and the smallest normal one.
    top: f64,
    /// Bits of an f64 below the format's precision.
    shift: u32,
}

/// Magnitudes beyond these make no difference to any bias and count as these, as in the general choice.
const SMALLEST: f64 = f64::from_bits((1023 - 150) << 52);
const LARGEST: f64 = f64::from_bits((1023 + 128) << 52);

/// More than the roundings in a sum of squares.
const NEAR: f64 = 1.0 + 1e-6;

/// A difference this small, as a part of the sum of its terms' magnitudes, may be one of roundings: 2^20 terms give less.
const CERTAIN: f64 = 1e-9;

/// Beyond the largest value by so much, differences may be rounded.
const FAR: f64 = 1_048_576.0;

impl Candidate {
    fn new(format: &Format) -> Self {
        let value = |datum: Datum| datum.to_f64().unwrap_or(0.0);
        let (lowest, _) = format.exponent_range();
        let subnormals = format.max_subnormal().map_or(0.0, value);
        let step = if subnormals > 0.0 { value(format.min_positive()) } else { power(lowest) };
        Self {
            bias: format.bias(),
            max: magnitude(format),
            min_normal: value(format.min_normal()),
            step,
            inverse: 1.0 / step,
            top: subnormals,
            shift: 52 - format.trailing_bits(),
        }
    }

    /// |x − q| of a positive x. Adding and taking off 1.5 · 2^52 rounds to an integer.
    #[inline]
    fn distance(&self, x: f64) -> f64 {
        const MAGIC: f64 = 6_755_399_441_055_744.0;
        let half = 1 << (self.shift - 1);
        let normal = f64::from_bits((x.to_bits() + half) >> self.shift << self.shift);
        let normal = if normal > self.max { self.max } else { normal };
        let subnormal = ((x * self.inverse + MAGIC) - MAGIC) * self.step;
        let subnormal = if subnormal > self.top { self.top } else { subnormal };
        // In the hole, or between the largest subnormal and the smallest normal value, the nearer one.
        let (below, above) = ((x - subnormal).abs(), self.min_normal - x);
        let below = if above < below { above } else { below };
        if x < self.min_normal { below } else { (x - normal).abs() }
    }

    /// What the error is more than that of another bias: Σ (x − q)² − Σ (x − r)², and the sum of the terms' magnitudes;
    /// `None` if its own error is beyond a limit.
    ///
    /// Elements in the normal range of both round alike, so that only the ends of the sorted magnitudes count. Distances
    /// are exact, so that a term (a − b)(a + b) is off by a few parts in 2^53.
    fn excess(&self, other: &Self, magnitudes: &[f64], limit: f64) -> Option<Excess> {
        let low = if self.min_normal > other.min_normal { self.min_normal } else { other.min_normal };
        let high = if self.max < other.max { self.max } else { other.max };
        let below = magnitudes.partition_point(|x| *x < low);
        let above = magnitudes.partition_point(|x| *x <= high).max(below);
        let (mut excess, mut own) = (Excess::default(), 0.0);
        // The largest first: they soon exceed the limit.
        for &x in magnitudes[above..].iter().rev().chain(magnitudes[..below].iter().rev()) {
            let (a, b) = (self.distance(x), other.distance(x));
            own += a * a;
            if own > limit {
                return None;
            }
            let term: f64 = (a - b) * (a + b);
            excess.sum += term;
            excess.terms += term.abs();
        }
        Some(excess)
    }
}

/// A difference of errors, and how far the roundings in it may reach.
#[derive(Clone, Copy, Debug, Default)]
struct Excess {
    sum: f64,
    terms: f64,
}

impl Few {
    /// `None` for policies and formats for which this is not made.
    pub(crate) fn new(spec: &FormatSpec, policy: BiasPolicy) -> Option<Self> {
        let least_error = policy == BiasPolicy::LeastError;
        let suits = spec.has_free_bias() && (least_error || policy == BiasPolicy::Amax { margin: 0 });
        let formats = (0..=63).filter_map(|bias| spec.with_bias(bias).ok());
        suits.then(|| Self {
            candidates: formats.map(|format| Candidate::new(&format)).collect(),
            least_error,
        })
    }

    /// The bias for these elements; `None` where the general choice must decide. The vector is room for the magnitudes.
    pub(crate) fn choose<'a>(
        &self,
        room: &mut Vec<f64>,
        parts: impl Iterator<Item = &'a [f64]>,
    ) -> Option<i32> {
        room.clear();
        for part in parts {
            let nonzero = part.iter().filter(|x| x.is_finite() && **x != 0.0);
            room.extend(nonzero.map(|x| x.abs().clamp(SMALLEST, LARGEST)));
        }
        let amax = room.iter().copied().reduce(f64::max)?;
        let holds = self.candidates.partition_point(|candidate| candidate.max >= amax);
        let likely = holds.saturating_sub(1);
        if !self.least_error {
            return self.candidates.get(likely).map(|candidate| candidate.bias);
        }
        // The bits of positive numbers sort as the numbers do.
        room.sort_unstable_by_key(|x| x.to_bits());
        let magnitudes = &room[..];
        let base = &self.candidates[likely];
        let error: f64 =
            magnitudes.iter().map(|&x| base.distance(x)).map(|distance| distance * distance).sum();
        let limit = error * NEAR;
        let mut best = (base, Excess::default());
        // By descending bias, so that of equals the largest comes first.
        for (i, candidate) in self.candidates.iter().enumerate().rev() {
            // A lower bias with all elements in its normal range rounds all of them alike.
            if i < likely && amax <= base.max && candidate.min_normal <= magnitudes[0] {
                continue;
            }
            // What the largest element alone loses already decides against most biases.
            let largest = candidate.distance(amax);
            if i == likely || largest * largest > limit {
                continue;
            }
            if amax > FAR * candidate.max {
                return None;
            }
            let Some(excess) = candidate.excess(base, magnitudes, limit) else { continue };
            let better = if let Some(order) = certain(best.1.sum - excess.sum, best.1.terms + excess.terms) {
                order
            } else {
                // Both may have the same terms: then the direct comparison has none.
                let direct = candidate.excess(best.0, magnitudes, f64::INFINITY)?;
                certain(-direct.sum, direct.terms)?
            };
            // Where both are equal, the larger bias is better.
            if better.is_gt() || (better.is_eq() && candidate.bias > best.0.bias) {
                best = (candidate, excess);
            }
        }
        Some(best.0.bias)
    }
}

/// The sign of a difference of sums with terms of so much; `None` if it may be one of roundings.
fn certain(difference: f64, terms: f64) -> Option<Ordering> {
    let doubt = CERTAIN * terms;
    if doubt > 0.0 && difference.abs() <= doubt { None } else { difference.partial_cmp(&0.0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use smallfloat::random::Philox;

    /// Elements from tight to wide, with zeros, at many scales: where this way decides, it decides as the general one.
    #[test]
    #[expect(clippy::cast_possible_truncation, reason = "small numbers")]
    fn the_choice_is_that_of_the_general_way() {
        let words = Philox { seed: 5, stream: 6 };
        let unit = |i: u64| f64::from(words.word(i)) / f64::from(u32::MAX);
        let mut left = 0;
        for name in ["cfloat8_1_4_3", "cfloat8_1_5_2", "shp", "cfloat8_1_4_3:subnormals=gradual"] {
            let spec: FormatSpec = name.parse().unwrap();
            for policy in [BiasPolicy::LeastError, BiasPolicy::Amax { margin: 0 }] {
                let few = Few::new(&spec, policy).unwrap();
                for group in 0..400_u64 {
                    let (spread, scale) = (group as u32 % 20, group as i32 % 90 - 50);
                    let count = 1 + group % 33;
                    let element = |i: u64| {
                        let exponent = scale - (unit(2 * i) * f64::from(spread)) as i32;
                        let fraction = if group % 3 == 0 { 0.0 } else { unit(2 * i + 1) };
                        let x = (1.0 + fraction) * 2.0_f64.powi(exponent);
                        if i % 11 == 10 {
                            0.0
                        } else if i.is_multiple_of(2) {
                            x
                        } else {
                            -x
                        }
                    };
                    let values: Vec<f64> = (group * 40..group * 40 + count).map(element).collect();
                    let general = policy.choose_for(&spec, &values).unwrap().bias();
                    match few.choose(&mut Vec::new(), values.chunks(7)) {
                        Some(bias) => assert_eq!(bias, general, "{name} {policy} {values:?}"),
                        None => left += 1,
                    }
                }
            }
        }
        assert!(left < 240, "{left} of 3200 groups are left to the general way");
    }

    #[test]
    fn groups_of_zeros_and_other_policies_are_left_to_the_general_way() {
        let spec: FormatSpec = "cfloat8_1_4_3".parse().unwrap();
        let few = Few::new(&spec, BiasPolicy::LeastError).unwrap();
        for zeros in [&[][..], &[0.0, -0.0], &[f64::NAN, f64::INFINITY]] {
            assert_eq!(few.choose(&mut Vec::new(), std::iter::once(zeros)), None);
        }
        assert!(Few::new(&spec, BiasPolicy::Percentile(99.0)).is_none());
        assert!(Few::new(&spec, BiasPolicy::Fixed(7)).is_none());
        assert!(Few::new(&"e4m3fn".parse().unwrap(), BiasPolicy::LeastError).is_none());
    }
}
