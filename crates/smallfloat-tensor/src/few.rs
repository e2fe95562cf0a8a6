//! [`Few`]: the bias of a few elements that are at hand, in `f64`.
//!
//! The general choice (`bias.rs`) works on classes of elements and asks the core what each rounds to. A group of 32
//! elements has hardly two in one class, so here the elements themselves are rounded, by a few f64 operations that
//! are exact: x − q is a multiple of the last place of x or q and no larger than x. Sums of squares decide where they are
//! clear; where they are close, the sum of what the elements lose at one bias and not at the other. What that can't tell
//! either is left to the general way, which has exact sums.
//!
//! Ties among values do not matter here: both ways they are equally far.

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

/// Sums this close may be equal.
const NEAR: f64 = 1.0 + 1e-6;

/// A difference this small, as a part of the sum of its terms' magnitudes, may be one of roundings: 2^20 terms give less.
const CERTAIN: f64 = 1e-9;

/// Beyond the largest value by so much, differences may be rounded.
const FAR: f64 = 1_048_576.0;

/// Elements whose errors are added up before the sum is looked at.
const AT_ONCE: usize = 16;

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

    /// Σ (x − q)², or infinity once it exceeds the limit.
    fn error(&self, magnitudes: &[f64], limit: f64) -> f64 {
        let mut sum = 0.0;
        for some in magnitudes.chunks(AT_ONCE) {
            sum += some.iter().map(|&x| self.distance(x)).map(|error| error * error).sum::<f64>();
            if sum > limit {
                return f64::INFINITY;
            }
        }
        sum
    }
}

impl Few {
    /// `None` for policies and formats for which this is not made.
    pub(crate) fn new(spec: &FormatSpec, policy: BiasPolicy) -> Option<Self> {
        let least_error = policy == BiasPolicy::LeastError;
        let suits = spec.has_free_bias() && (least_error || policy == BiasPolicy::Amax);
        let formats = (0..=63).filter_map(|bias| spec.with_bias(bias).ok());
        suits.then(|| Self {
            candidates: formats.map(|format| Candidate::new(&format)).collect(),
            least_error,
        })
    }

    /// The bias for these elements; `None` where the general choice must decide.
    pub(crate) fn choose(&self, values: impl Iterator<Item = f64>) -> Option<i32> {
        let nonzero = values.filter(|x| x.is_finite() && *x != 0.0);
        let magnitudes: Vec<f64> = nonzero.map(|x| x.abs().clamp(SMALLEST, LARGEST)).collect();
        let amax = magnitudes.iter().fold(0.0, |a, &b| if b > a { b } else { a });
        if amax == 0.0 {
            return None;
        }
        let holds = self.candidates.partition_point(|candidate| candidate.max >= amax);
        let likely = holds.saturating_sub(1);
        if !self.least_error {
            return self.candidates.get(likely).map(|candidate| candidate.bias);
        }
        let (mut least, mut errors) = (f64::INFINITY, Vec::new());
        // From the likeliest bias outwards: others soon exceed the best so far.
        for distance in 0..self.candidates.len() {
            let above = likely.checked_add(distance).filter(|_| distance > 0);
            for i in [likely.checked_sub(distance), above].into_iter().flatten() {
                let Some(candidate) = self.candidates.get(i) else { continue };
                let largest = candidate.distance(amax);
                if largest * largest > least * NEAR {
                    continue;
                }
                let error = candidate.error(&magnitudes, least * NEAR);
                least = least.min(error);
                errors.push((candidate, error));
            }
        }
        let close = errors.into_iter().filter(|(_, error)| *error <= least * NEAR);
        let mut close: Vec<&Candidate> = close.map(|(candidate, _)| candidate).collect();
        close.sort_by_key(|candidate| -candidate.bias);
        let (mut best, others) = close.split_first()?;
        for other in others {
            if is_better(other, best, &magnitudes, amax)? {
                best = other;
            }
        }
        Some(best.bias)
    }
}

/// Is the error of one bias less than that of another, for certain? `None` if f64 can't tell.
///
/// Distances are exact, so each term (a − b)(a + b) of the difference is off by a few parts in 2^53, and terms of
/// elements that round alike are zero.
fn is_better(one: &Candidate, other: &Candidate, magnitudes: &[f64], amax: f64) -> Option<bool> {
    if amax > FAR * one.max.min(other.max) {
        return None;
    }
    let (mut difference, mut total) = (0.0, 0.0);
    for &x in magnitudes {
        let (a, b) = (one.distance(x), other.distance(x));
        let term: f64 = (a - b) * (a + b);
        difference += term;
        total += term.abs();
    }
    if total > 0.0 && difference.abs() <= total * CERTAIN { None } else { Some(difference < 0.0) }
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
            for policy in [BiasPolicy::LeastError, BiasPolicy::Amax] {
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
                    let general = policy.choose_values(&spec, values.iter().copied()).unwrap().bias();
                    match few.choose(values.iter().copied()) {
                        Some(bias) => assert_eq!(bias, general, "{name} {policy} {values:?}"),
                        None => left += 1,
                    }
                }
            }
        }
        assert!(left < 100, "{left} of 3200 groups are left to the general way");
    }

    #[test]
    fn groups_of_zeros_and_other_policies_are_left_to_the_general_way() {
        let spec: FormatSpec = "cfloat8_1_4_3".parse().unwrap();
        let few = Few::new(&spec, BiasPolicy::LeastError).unwrap();
        for zeros in [&[][..], &[0.0, -0.0], &[f64::NAN, f64::INFINITY]] {
            assert_eq!(few.choose(zeros.iter().copied()), None);
        }
        assert!(Few::new(&spec, BiasPolicy::Percentile(99.0)).is_none());
        assert!(Few::new(&spec, BiasPolicy::Fixed(7)).is_none());
        assert!(Few::new(&"e4m3fn".parse().unwrap(), BiasPolicy::LeastError).is_none());
    }
}
