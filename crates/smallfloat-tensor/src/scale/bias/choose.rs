//! [`BiasLadder`]: how the bias of a tensor or of a group is chosen, rung by rung.
//!
//! Both engines, per tensor and per group, climb the same ladder. A rung that can't decide hands
//! over to the next one, which reads more. Every rung gives the bias that the last one would give.
//!
//! | rung | taken when | reads | why it is exact |
//! | --- | --- | --- | --- |
//! | [`Given`](Rung::Given) | the policy needs no data, or the format has no free bias | nothing | the bias is named |
//! | [`WeightedClassSums`](Rung::WeightedClassSums) | errors have weights (calibration) | all elements once, in order | integer sums per rounding class and weight |
//! | [`Elements`](Rung::Elements) | at most [`MANY`] elements | the elements themselves | each is a class of its own |
//! | [`Range`](Rung::Range) | groups always; tensors whose class table has more than [`MOST_CLASSES`] entries | the least and greatest magnitude, then the small magnitudes, at most [`MOST_SMALL`] of them | the argument in [`small_group`](crate::scale::bias::small_group) |
//! | [`ClassSums`](Rung::ClassSums) | all else, and wherever a rung above is undecided | all elements once | elements of one rounding class round alike at every bias, so count, Σx and Σx² per class give every bias's squared error |
//!
//! The last three end in [`BiasPolicy::choose`], which compares exact sums. A group is at hand in
//! memory, so `Range` costs one pass over it and decides most groups. A tensor has to be read again
//! for its small magnitudes, which pays only where every thread's class table would leave the
//! cache.

use smallfloat::{Format, FormatSpec};
use smallfloat_kernels::{ClassSums, Element};

use crate::error::Result;
use crate::scale::bias::magnitudes::{MANY, Magnitudes, WeightedClassSums};
use crate::scale::bias::policy::BiasPolicy;
use crate::scale::bias::small_group::SmallGroupBias;
use crate::scale::range::{MagnitudeRange, Scan};

/// The largest class table that each thread fills for a tensor; 8-bit formats have smaller ones.
pub(crate) const MOST_CLASSES: usize = 1 << 15;

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
        } else if elements <= MANY as u64 {
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
