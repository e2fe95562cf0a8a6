//! [`Measurement`]: what comparing many results has found.

use crate::kappa::Kappa;

/// One call: the operands' codes, the defined results and the given ones.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Case {
    /// The operands' codes.
    pub operands: Vec<u64>,
    /// The defined result, or results.
    pub defined: Vec<u64>,
    /// What the implementation gives.
    pub given: Vec<u64>,
}

/// A bar of the histogram: how many calls are `from` to `to` steps off.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HistogramBar {
    /// The least number of steps.
    pub from: u64,
    /// The greatest number of steps.
    pub to: u64,
    /// How many calls.
    pub count: u64,
}

/// Numbers of steps up to this one have a bar each; above, each power of two begins a bar.
const SINGLE: u64 = 16;
const BARS: usize = 16 + 60;

/// The outcome of comparing many results. The worst case is the first of those with the largest κ.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Measurement {
    worst: Option<(Kappa, Case)>,
    compared: u64,
    nan_mismatches: u64,
    infinity_mismatches: u64,
    largest_steps: u64,
    /// Calls by steps; those without difference are counted nowhere.
    bars: Vec<u64>,
}

impl Measurement {
    /// Returns κ over all calls; 0 if there were none.
    pub fn kappa(&self) -> Kappa {
        self.worst.as_ref().map_or(Kappa::Steps(0), |(kappa, _)| *kappa)
    }

    /// Returns how many calls were compared.
    pub fn compared(&self) -> u64 {
        self.compared
    }

    /// Returns how many calls gave another value than the defined one.
    pub fn differing(&self) -> u64 {
        self.bars.iter().sum::<u64>() + self.nan_mismatches + self.infinity_mismatches
    }

    /// Returns how many calls had NaN on one side only.
    pub fn nan_mismatches(&self) -> u64 {
        self.nan_mismatches
    }

    /// Returns how many calls had an infinity that does not match, and no NaN on one side.
    pub fn infinity_mismatches(&self) -> u64 {
        self.infinity_mismatches
    }

    /// Returns the largest number of steps among the calls whose NaNs and infinities match.
    pub fn largest_steps(&self) -> u64 {
        self.largest_steps
    }

    /// Returns the first call with the largest κ, if any call differs.
    pub fn worst(&self) -> Option<&Case> {
        self.worst.as_ref().map(|(_, case)| case)
    }

    /// Calls by their number of steps, without those that agree and those whose NaNs or infinities
    /// do not match.
    pub fn histogram(&self) -> impl Iterator<Item = HistogramBar> {
        self.bars.iter().zip(0_u64..).filter(|(count, _)| **count > 0).map(|(&count, i)| {
            let (from, to) = match i.checked_sub(SINGLE) {
                None => (i + 1, i + 1),
                Some(0) => (SINGLE + 1, 2 * SINGLE - 1),
                Some(power) => (SINGLE << power, (SINGLE << power) + ((SINGLE << power) - 1)),
            };
            HistogramBar { from, to, count }
        })
    }

    /// The bar of a number of steps, at least 1.
    fn bar(steps: u64) -> usize {
        let bar = if steps <= SINGLE { steps - 1 } else { SINGLE + u64::from((steps / SINGLE).ilog2()) };
        usize::try_from(bar).expect("at most 76 bars")
    }

    /// Counts a call that agrees.
    pub(super) fn agree(&mut self) {
        self.compared += 1;
    }

    /// Counts a call that differs.
    pub(super) fn differ(&mut self, kappa: Kappa, operands: &[u64], defined: &[u64], given: &[u64]) {
        self.compared += 1;
        match kappa {
            Kappa::Nan => self.nan_mismatches += 1,
            Kappa::Infinite => self.infinity_mismatches += 1,
            Kappa::Steps(steps) => {
                self.largest_steps = self.largest_steps.max(steps);
                self.bars.resize(BARS, 0);
                self.bars[Self::bar(steps)] += 1;
            }
        }
        if kappa > self.kappa() {
            let case = Case { operands: operands.to_vec(), defined: defined.to_vec(), given: given.to_vec() };
            self.worst = Some((kappa, case));
        }
    }

    /// Joins the findings of later calls.
    pub(super) fn merge(&mut self, later: Self) {
        self.compared += later.compared;
        self.nan_mismatches += later.nan_mismatches;
        self.infinity_mismatches += later.infinity_mismatches;
        self.largest_steps = self.largest_steps.max(later.largest_steps);
        if later.kappa() > self.kappa() {
            self.worst = later.worst;
        }
        if self.bars.is_empty() {
            self.bars = later.bars;
        } else {
            self.bars.iter_mut().zip(later.bars).for_each(|(bar, count)| *bar += count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_hold_what_their_ends_say() {
        for steps in (1..2000).chain([u64::MAX / 2, (1 << 63) - 1, 1 << 40]) {
            let mut found = Measurement::default();
            found.differ(Kappa::Steps(steps), &[1], &[2], &[3]);
            let bars: Vec<_> = found.histogram().collect();
            assert!(
                matches!(bars[..], [HistogramBar { from, to, count: 1 }] if (from..=to).contains(&steps)),
                "{steps}"
            );
            assert_eq!(
                (found.kappa(), found.differing(), found.largest_steps()),
                (Kappa::Steps(steps), 1, steps)
            );
        }
    }

    #[test]
    fn the_first_of_equal_cases_stays() {
        let mut early = Measurement::default();
        early.differ(Kappa::Steps(2), &[1], &[0], &[2]);
        let mut late = Measurement::default();
        late.agree();
        late.differ(Kappa::Steps(2), &[7], &[0], &[2]);
        early.merge(late.clone());
        assert_eq!(early.worst().map(|case| case.operands[0]), Some(1));
        assert_eq!((early.compared(), early.differing()), (3, 2));
        late.differ(Kappa::Infinite, &[9], &[0], &[2]);
        early.merge(late);
        assert_eq!((early.kappa(), early.largest_steps()), (Kappa::Infinite, 2));
        assert_eq!(early.worst().map(|case| case.operands[0]), Some(9));
    }
}
