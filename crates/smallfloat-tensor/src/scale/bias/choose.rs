//! [`BiasLadder`]: how the bias of a tensor or of a group is chosen, rung by rung.
//!
//! Both engines, per tensor and per group, climb the same ladder. A rung that can't decide hands
//! over to the next one, which reads more. Every rung gives the bias that the last one would give.
//!
//! | rung | taken when | reads | why it is exact |
//! | --- | --- | --- | --- |
//! | [`Given`](Rung::Given) | the policy needs no data, or the format has no free bias | nothing | the bias is named |
//! | [`WeightedClassSums`](Rung::WeightedClassSums) | errors have weights (calibration) | all elements once, in order | integer sums per rounding class and weight |
//! | [`Elements`](Rung::Elements) | at most [`AT_HAND`] elements | the elements themselves | as a group's; where that is undecided, each of at most [`MANY`] is a class of its own |
//! | [`Range`](Rung::Range) | groups always; tensors whose class table has more than [`MOST_CLASSES`] entries | the least and greatest magnitude, then the small magnitudes, at most [`MOST_SMALL`] of them | the argument in [`small_group`](crate::scale::bias::small_group) |
//! | [`ClassSums`](Rung::ClassSums) | all else, and wherever a rung above is undecided | all elements once | elements of one rounding class round alike at every bias, so count, Σx and Σx² per class give every bias's squared error |
//!
//! The last three end in [`BiasPolicy::choose`], which compares exact sums. A group is at hand in
//! memory, so `Range` costs one pass over it and decides most groups. A tensor has to be read again
//! for its small magnitudes, which pays only where every thread's class table would leave the
//! cache.

use std::iter;

use smallfloat::{Format, FormatSpec};
use smallfloat_kernels::{ClassSums, Element};

use crate::error::Result;
use crate::scale::bias::magnitudes::{MANY, Magnitudes, WeightedClassSums};
use crate::scale::bias::policy::{BiasPolicy, candidates};
use crate::scale::bias::small_group::SmallGroupBias;
use crate::scale::range::{MagnitudeRange, Scan};

/// The largest class table that each thread fills for a tensor; 8-bit formats have smaller ones.
pub(crate) const MOST_CLASSES: usize = 1 << 15;

/// The most elements of a tensor that are held to choose its bias as that of a group.
const AT_HAND: usize = 1 << 15;

/// The most small magnitudes of a tensor that are held to decide its bias.
pub(crate) const MOST_SMALL: usize = 1 << 18;

/// Where the choice of a bias begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Rung {
    Given,
    WeightedClassSums,
    Elements,
    Range,
    ClassSums,
}

/// The choice of biases for one format under one policy.
#[derive(Debug)]
pub(crate) struct BiasLadder {
    format: FormatSpec,
    policy: BiasPolicy,
    weighted: bool,
    small: Option<SmallGroupBias>,
}

impl BiasLadder {
    /// Prepares the choice; `weighted` says that errors have weights.
    pub(crate) fn new(format: &FormatSpec, policy: BiasPolicy, weighted: bool) -> Self {
        let small = if weighted { None } else { SmallGroupBias::new(format, policy) };
        Self { format: *format, policy, weighted, small }
    }

    /// Returns the rung for a tensor of so many elements; `classes` counts the entries of its class
    /// table.
    pub(crate) fn rung(&self, elements: u64, classes: impl FnOnce() -> Result<usize>) -> Result<Rung> {
        Ok(if !self.format.has_free_bias() || !self.policy.needs_statistics() {
            Rung::Given
        } else if self.weighted {
            Rung::WeightedClassSums
        } else if elements <= AT_HAND as u64 {
            Rung::Elements
        } else if self.small.is_some() && classes()? > MOST_CLASSES {
            Rung::Range
        } else {
            Rung::ClassSums
        })
    }

    /// Returns the choice by ranges and small magnitudes, if there is one for this format and
    /// policy.
    pub(crate) fn small(&self) -> Option<&SmallGroupBias> {
        self.small.as_ref()
    }

    /// Returns the format with the bias that needs no data.
    ///
    /// # Errors
    /// A policy that needs data, and a bias out of range.
    pub(crate) fn given(&self) -> Result<Format> {
        if self.format.has_free_bias() {
            return self.policy.choose(&self.format, None);
        }
        self.format.format().map_err(crate::error::refuse)
    }

    /// Returns the format with the bias for data with these statistics.
    ///
    /// # Errors
    /// As for [`BiasPolicy::choose`].
    pub(crate) fn by_magnitudes(&self, magnitudes: &Magnitudes) -> Result<Format> {
        self.policy.choose(&self.format, Some(magnitudes))
    }

    /// Returns the format with the bias for elements that are at hand.
    ///
    /// # Errors
    /// As for [`BiasPolicy::choose`].
    pub(crate) fn of_elements<T: Scan>(&self, values: &[T]) -> Result<Format> {
        let weighed = || values.iter().map(|x| (x.to_f64(), 1));
        let bias = self.group(&T::range(values), &mut Vec::new(), || iter::once(values), weighed)?;
        self.format.with_bias(bias).map_err(crate::error::refuse)
    }

    /// Returns the bias of a group that is at hand: its range, a closure that iterates over its
    /// parts, and one that iterates over its elements with their weights. `room` is reused between
    /// groups.
    ///
    /// # Errors
    /// As for [`BiasPolicy::choose`].
    pub(crate) fn group<'a, T, I, J>(
        &self,
        range: &MagnitudeRange,
        room: &mut Vec<f64>,
        parts: impl Fn() -> I,
        weighed: impl Fn() -> J,
    ) -> Result<i32>
    where
        T: Scan + Element,
        I: Iterator<Item = &'a [T]>,
        J: Iterator<Item = (f64, u32)>,
    {
        if let Some(bias) = self.small.as_ref().and_then(|small| small.choose(range, room, &parts)) {
            return Ok(bias);
        }
        let many = parts().map(<[T]>::len).sum::<usize>() > MANY;
        let magnitudes = if !many {
            Magnitudes::of_few(weighed())
        } else if self.weighted {
            let mut sums = WeightedClassSums::new(self.precision()?);
            weighed().for_each(|(x, weight)| sums.add(x, weight));
            sums.magnitudes()
        } else {
            let mut sums = ClassSums::<T>::new(self.precision()?);
            parts().for_each(|part| sums.add(part));
            Magnitudes::from(&sums)
        };
        Ok(self.by_magnitudes(&magnitudes)?.bias())
    }

    /// Returns the format's precision, which does not depend on its bias.
    pub(crate) fn precision(&self) -> Result<u32> {
        let bias = self.format.bias().unwrap_or(0);
        Ok(self.format.with_bias(bias).map_err(crate::error::refuse)?.precision())
    }
}

impl BiasPolicy {
    /// Like [`choose`](Self::choose), for values that are at hand.
    ///
    /// # Errors
    /// As for [`choose`](Self::choose).
    ///
    /// ```
    /// use smallfloat_tensor::BiasPolicy;
    /// let spec = "cfloat8_1_4_3".parse().unwrap();
    /// assert_eq!(BiasPolicy::Amax { margin: 0 }.choose_for(&spec, &[0.1_f32, -1.75])?.bias(), 15);
    /// # Ok::<(), smallfloat_tensor::Error>(())
    /// ```
    pub fn choose_for<T: Element>(self, spec: &FormatSpec, values: &[T]) -> Result<Format> {
        if !self.needs_statistics() {
            return self.choose(spec, None);
        }
        if values.len() <= AT_HAND && spec.has_free_bias() {
            let values: Vec<f64> = values.iter().map(|x| x.to_f64()).collect();
            return BiasLadder::new(spec, self, false).of_elements(&values);
        }
        let precision = candidates(spec).first().map_or(1, Format::precision);
        self.choose(spec, Some(&Magnitudes::of(values, precision)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use smallfloat::random::Philox;

    /// Elements at hand, of narrow and wide spreads, with zeros and numbers of few bits: the choice
    /// is that of exact sums over classes.
    #[test]
    #[expect(clippy::cast_possible_truncation, reason = "small numbers")]
    fn elements_at_hand_give_the_choice_of_classes() {
        let words = Philox { seed: 11, stream: 12 };
        let unit = |i: u64| f64::from(words.word(i)) / f64::from(u32::MAX);
        let mut at = 0;
        for name in ["cfloat8_1_4_3", "cfloat8_1_4_3:subnormals=gradual", "cfloat8_1_5_2", "shp"] {
            let spec: FormatSpec = name.parse().unwrap();
            let precision = candidates(&spec)[0].precision();
            for (length, spread, scale) in [
                (1, 0, 3),
                (200, 4, -3),
                (900, 12, -20),
                (900, 40, 9),
                (2500, 17, -6),
                (9000, 25, 0),
                (30_000, 15, -1),
            ] {
                let element = |i: u64| {
                    let exponent = scale - (unit(3 * (at + i)).powi(3) * f64::from(spread)) as i32;
                    let fraction = if i.is_multiple_of(3) { 0.5 } else { unit(3 * (at + i) + 1) };
                    let x = (1.0 + fraction) * 2.0_f64.powi(exponent);
                    [x, -x, x, 0.0][(words.word(3 * (at + i) + 2) % 4) as usize] as f32
                };
                let values: Vec<f32> = (0..length).map(element).collect();
                at += length;
                for policy in [BiasPolicy::LeastError, BiasPolicy::Amax { margin: 0 }] {
                    let by_classes = policy.choose(&spec, Some(&Magnitudes::of(&values, precision))).unwrap();
                    let at_hand = policy.choose_for(&spec, &values).unwrap();
                    assert_eq!(at_hand, by_classes, "{name} {policy} {length} {spread} {scale}");
                }
            }
        }
    }
}
