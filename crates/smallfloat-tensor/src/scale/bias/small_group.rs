//! [`SmallGroupBias`]: the bias of elements that are at hand, in `f64`.
//!
//! The general choice (`bias.rs`) works on classes of elements and asks the core what each rounds
//! to. Most groups need far less. Let G be the values that a format would have with unbounded
//! exponents. The values at every bias are some of G's and zero, so that no bias has a smaller
//! error than G, and a bias that rounds every element as G does is one of the best.
//!
//! * The largest bias that holds the greatest element, or is as near to it as G, is of those the
//!   only one that may be: a larger one clips. If the least element is normal there, it is the
//!   choice ([`SmallGroupBias::by_range`]).
//! * Else some elements are below its normal range, seldom many. What they and no others lose
//!   decides between this bias and those below it ([`SmallGroupBias::by_small`]). The values at a
//!   much lower bias are multiples of so large a step that these few elements lose more already;
//!   and a larger bias loses more by clipping the greatest element.
//! * What that leaves open is decided between all biases by all elements, sorted (`sorted.rs`).
//!
//! Elements are rounded by a few f64 operations that are exact: x − q is a multiple of the last
//! place of x or q and no larger than x. What sums of squares can't tell for certain is left to the
//! general way, which has exact sums. Ties among values do not matter here: both ways they are
//! equally far.

use std::cmp::Ordering;

use crate::scale::bias::candidate::Candidate;
use crate::scale::bias::sorted;
use smallfloat::FormatSpec;

use crate::scale::bias::magnitudes::{LARGEST, SMALLEST};
use crate::scale::bias::policy::BiasPolicy;
use crate::scale::range::{MagnitudeRange, Scan, gather_below};

/// The choice of a bias for a format, prepared for many groups.
#[derive(Debug)]
pub(crate) struct SmallGroupBias {
    /// By ascending bias, each one more than the one before.
    candidates: Vec<Candidate>,
    least_error: bool,
}

/// What the ends of the elements decide.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum BiasDecision {
    /// This is the bias.
    Decided(i32),
    /// Magnitudes below this power of two decide.
    NeedsSmall(f64),
    /// Nothing.
    Undecided,
}

/// More than the roundings in a sum of squares.
pub(crate) const NEAR: f64 = 1.0 + 1e-6;

/// A difference this small, as a part of the sum of its terms' magnitudes, may be one of roundings:
/// 2^20 terms give less.
const CERTAIN: f64 = 1e-9;

/// So many biases below the likely one are compared by all that they lose, and so many at all.
const COMPARED: usize = 3;
const LOOKED_AT: usize = 8;

/// The greatest n with x · 2^n ≤ bound, for positive normal numbers: their bits are in the order of
/// their exponents first.
fn doublings(bound: f64, x: f64) -> i64 {
    (bound.to_bits().cast_signed() - x.to_bits().cast_signed()) >> 52
}

/// The sign of a difference of sums with terms of so much; `None` if it may be one of roundings.
pub(crate) fn certain(difference: f64, terms: f64) -> Option<Ordering> {
    let doubt = CERTAIN * terms;
    if doubt > 0.0 && difference.abs() <= doubt { None } else { difference.partial_cmp(&0.0) }
}

impl SmallGroupBias {
    /// `None` for policies and formats for which this is not made.
    pub(crate) fn new(spec: &FormatSpec, policy: BiasPolicy) -> Option<Self> {
        let least_error = policy == BiasPolicy::LeastError;
        let suits = spec.has_free_bias() && (least_error || policy == BiasPolicy::Amax { margin: 0 });
        let formats = (0..=63).filter_map(|bias| spec.with_bias(bias).ok());
        let candidates: Vec<Candidate> = formats.map(|format| Candidate::new(&format)).collect();
        let rises = candidates.windows(2).all(|pair| pair[1].bias == pair[0].bias + 1);
        (suits && rises && !candidates.is_empty()).then_some(Self { candidates, least_error })
    }

    /// The place of the candidate that so many doublings above the first one lead to, or the
    /// nearest end.
    fn place(&self, doublings: i64) -> usize {
        usize::try_from(doublings).unwrap_or(0).min(self.candidates.len() - 1)
    }

    /// The place of the largest bias that rounds the greatest element as a format without a largest
    /// exponent would.
    fn likely(&self, greatest: f64) -> Option<usize> {
        let doublings = doublings(self.candidates[0].reach(), greatest);
        (doublings >= 0).then(|| self.place(doublings))
    }

    /// What can be told from the ends alone.
    #[inline]
    pub(crate) fn by_range(&self, range: &MagnitudeRange) -> BiasDecision {
        if range.greatest == 0.0 {
            return BiasDecision::Undecided;
        }
        let (least, greatest) = (range.least.max(SMALLEST), range.greatest.clamp(SMALLEST, LARGEST));
        if !self.least_error {
            let place = self.place(doublings(self.candidates[0].max, greatest));
            return BiasDecision::Decided(self.candidates[place].bias);
        }
        let Some(likely) = self.likely(greatest) else { return BiasDecision::Undecided };
        if least >= self.candidates[likely].min_normal {
            return BiasDecision::Decided(self.candidates[likely].bias);
        }
        BiasDecision::NeedsSmall(self.candidates[likely.saturating_sub(COMPARED)].min_normal)
    }

    /// The bias where [`by_range`](Self::by_range) asks for low magnitudes, from all of these;
    /// `None` where they leave it open.
    pub(crate) fn by_small(&self, range: &MagnitudeRange, low: &[f64]) -> Option<i32> {
        let greatest = range.greatest.clamp(SMALLEST, LARGEST);
        let likely = self.likely(greatest)?;
        let base = &self.candidates[likely];
        let (compared, looked_at) = (likely.saturating_sub(COMPARED), likely.saturating_sub(LOOKED_AT));
        let mut best = base;
        // By descending bias, so that of equals the largest comes first.
        for candidate in self.candidates[compared..likely].iter().rev() {
            let excess = candidate.excess(best, low.iter(), f64::INFINITY)?;
            if certain(excess.sum, excess.terms)?.is_lt() {
                best = candidate;
            }
        }
        let limit = best.error(low) * NEAR;
        // Elements that are not low lose at least as much at any other bias.
        let mut lower = self.candidates[looked_at..compared].iter();
        if lower.any(|candidate| candidate.error(low) <= limit) {
            return None;
        }
        if looked_at > 0 && self.candidates[looked_at - 1].least_error_below(low) <= limit {
            return None;
        }
        if let Some(next) = self.candidates.get(likely + 1) {
            let (clipped, rounded) = (greatest - next.max, base.distance(greatest));
            if (clipped - rounded) * (clipped + rounded) <= limit {
                return None;
            }
        }
        Some(best.bias)
    }

    /// The bias for these elements, whose ends are known and mostly enough; `None` where the
    /// general choice must decide. The vector is room for magnitudes.
    pub(crate) fn choose<'a, T: Scan, I: Iterator<Item = &'a [T]>>(
        &self,
        range: &MagnitudeRange,
        room: &mut Vec<f64>,
        parts: impl Fn() -> I,
    ) -> Option<i32> {
        let clamped = |x: &mut f64| *x = x.clamp(SMALLEST, LARGEST);
        room.clear();
        match self.by_range(range) {
            BiasDecision::Decided(bias) => return Some(bias),
            BiasDecision::NeedsSmall(limit) => {
                parts().for_each(|part| gather_below(part, limit, room));
                room.iter_mut().for_each(clamped);
                let bias = self.by_small(range, room);
                if bias.is_some() {
                    return bias;
                }
            }
            BiasDecision::Undecided if range.greatest == 0.0 => return None,
            BiasDecision::Undecided => {}
        }
        room.clear();
        let magnitudes = parts().flatten().map(|x| x.to_f64().abs());
        room.extend(magnitudes.filter(|x| x.is_finite() && *x != 0.0));
        room.iter_mut().for_each(clamped);
        // The bits of positive numbers sort as the numbers do.
        room.sort_unstable_by_key(|x| x.to_bits());
        let likely = self.place(doublings(self.candidates[0].max, *room.last()?));
        sorted::choose(&self.candidates, likely, room)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scale::bias::magnitudes::Magnitudes;
    use smallfloat::random::Philox;

    const FORMATS: [&str; 6] = [
        "cfloat8_1_4_3",
        "cfloat8_1_4_3:subnormals=gradual",
        "cfloat8_1_5_2",
        "cfloat8_1_5_2:subnormals=gradual",
        "shp",
        "shp:subnormals=gradual",
    ];

    /// How far apart the largest and the smallest normal value of a format are, in binades.
    fn binades(name: &str) -> i32 {
        if name.starts_with("cfloat8_1_4") { 14 } else { 30 }
    }

    /// The choice by a class for each element.
    fn general(policy: BiasPolicy, spec: &FormatSpec, values: &[f64]) -> i32 {
        let magnitudes = Magnitudes::of_few(values.iter().map(|x| (*x, 1)));
        policy.choose(spec, Some(&magnitudes)).unwrap().bias()
    }

    /// Elements from tight to wide, with zeros, at many scales: where this way decides, it decides
    /// as the general one.
    #[test]
    #[expect(clippy::cast_possible_truncation, reason = "small numbers")]
    fn the_choice_is_that_of_the_general_way() {
        let words = Philox { seed: 5, stream: 6 };
        let unit = |i: u64| f64::from(words.word(i)) / f64::from(u32::MAX);
        let mut left = 0;
        for name in FORMATS {
            let spec: FormatSpec = name.parse().unwrap();
            for policy in [BiasPolicy::LeastError, BiasPolicy::Amax { margin: 0 }] {
                let small = SmallGroupBias::new(&spec, policy).unwrap();
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
                    let general = general(policy, &spec, &values);
                    match small.choose(&<f64 as Scan>::range(&values), &mut Vec::new(), || values.chunks(7)) {
                        Some(bias) => assert_eq!(bias, general, "{name} {policy} {values:?}"),
                        None => left += 1,
                    }
                }
            }
        }
        assert!(left < 360, "{left} of 4800 groups are left to the general way");
    }

    /// One large element and some in the subnormal binades under it, in and beside the hole, with
    /// few bits and with many: what the low elements decide, the general way decides too.
    #[test]
    fn low_elements_decide_as_the_general_way() {
        let words = Philox { seed: 7, stream: 8 };
        for name in FORMATS {
            let spec: FormatSpec = name.parse().unwrap();
            let small = SmallGroupBias::new(&spec, BiasPolicy::LeastError).unwrap();
            let (mut at, mut decided, mut lowered) = (0, 0, 0);
            let mut next = |count: u32| {
                at += 1;
                words.word(at) % count
            };
            for _ in 0..1500 {
                let top = f64::from(16 + next(16)) / 16.0;
                let mut values = vec![top * 2.0_f64.powi(-3 - next(5).cast_signed())];
                let below = binades(name) + next(6).cast_signed() - 4;
                for _ in 0..=next(6) {
                    let significand = f64::from(8 + next(8)) + if next(2) == 0 { 0.0 } else { 0.37 };
                    values.push(values[0] / significand * 2.0_f64.powi(next(5).cast_signed() - below));
                }
                let range = <f64 as Scan>::range(&values);
                let BiasDecision::NeedsSmall(limit) = small.by_range(&range) else { continue };
                let mut low = Vec::new();
                gather_below(&values, limit, &mut low);
                let Some(bias) = small.by_small(&range, &low) else { continue };
                let general = general(BiasPolicy::LeastError, &spec, &values);
                assert_eq!(bias, general, "{name} {values:?}");
                decided += 1;
                lowered +=
                    u32::from(small.likely(values[0]).is_some_and(|i| small.candidates[i].bias > bias));
            }
            assert!(decided > 300, "{name}: {decided} decided");
            // Without a hole the larger bias loses less, always.
            assert_eq!(lowered > 20, !name.contains("gradual"), "{name}: {lowered} of {decided} lowered");
        }
    }

    #[test]
    fn groups_of_zeros_and_other_policies_are_left_to_the_general_way() {
        let spec: FormatSpec = "cfloat8_1_4_3".parse().unwrap();
        let small = SmallGroupBias::new(&spec, BiasPolicy::LeastError).unwrap();
        for zeros in [&[][..], &[0.0, -0.0], &[f64::NAN, f64::INFINITY]] {
            let range = <f64 as Scan>::range(zeros);
            assert_eq!(small.choose(&range, &mut Vec::new(), || std::iter::once(zeros)), None);
        }
        assert!(SmallGroupBias::new(&spec, BiasPolicy::Percentile(99.0)).is_none());
        assert!(SmallGroupBias::new(&spec, BiasPolicy::Fixed(7)).is_none());
        assert!(SmallGroupBias::new(&"e4m3fn".parse().unwrap(), BiasPolicy::LeastError).is_none());
    }
}
