//! [`Tally`]: what a vector kernel counts, and how it becomes [`EventCounts`].

use smallfloat::Flags;

use crate::event_counts::EventCounts;
use crate::plan::encode::{EncodePlan, Special};

/// Counts of classes and properties of a slice.
#[expect(clippy::struct_excessive_bools, reason = "four independent findings")]
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Tally {
    pub(crate) nan: u64,
    pub(crate) infinite: u64,
    /// −∞; counted for unsigned formats only.
    pub(crate) negative_infinite: u64,
    /// Finite values beyond the range.
    pub(crate) overflow: u64,
    /// Negative finite values that an unsigned format refuses.
    pub(crate) refused: u64,
    /// Finite values that became zero, refused ones left out.
    pub(crate) zero: u64,
    /// Zeros in the source.
    pub(crate) exact_zero: u64,
    /// A subnormal in the source.
    pub(crate) denormal: bool,
    /// A finite value of the range is not exact, and one such is below the smallest normal value.
    /// Found only where asked for.
    pub(crate) inexact: bool,
    pub(crate) tiny: bool,
    /// A result at or below the smallest normal value, zeros left out.
    pub(crate) low: bool,
}

impl Tally {
    pub(crate) fn add(&mut self, other: &Self) {
        self.nan += other.nan;
        self.infinite += other.infinite;
        self.negative_infinite += other.negative_infinite;
        self.overflow += other.overflow;
        self.refused += other.refused;
        self.zero += other.zero;
        self.exact_zero += other.exact_zero;
        self.denormal |= other.denormal;
        self.inexact |= other.inexact;
        self.tiny |= other.tiny;
        self.low |= other.low;
    }

    fn underflowed(&self) -> u64 {
        self.zero - self.exact_zero
    }

    /// Returns whether the underflow flag is known to be raised.
    pub(crate) fn is_underflow_settled(&self) -> bool {
        self.tiny || self.underflowed() > 0
    }

    /// The events of `elements` elements.
    pub(crate) fn events(&self, plan: &EncodePlan, elements: usize) -> EventCounts {
        let mut flags = Flags::NONE;
        let mut raise = |when: bool, what: Flags| {
            if when {
                flags |= what;
            }
        };
        raise(self.denormal, Flags::DENORMAL);
        raise(self.inexact, Flags::INEXACT);
        raise(self.is_underflow_settled(), Flags::INEXACT | Flags::UNDERFLOW);
        let positive_infinite = self.infinite - self.negative_infinite;
        let (mut overflowed, mut zeros) = (0, self.zero);
        let mut class = |count: u64, special: &Special, sign: usize| {
            raise(count > 0, special.flags[sign]);
            overflowed += if special.flags[sign].contains(Flags::OVERFLOW) { count } else { 0 };
            zeros += if special.zero[sign] { count } else { 0 };
        };
        // Signs make a difference in unsigned formats only, and there negative values are refused.
        class(self.overflow, &plan.overflow, 0);
        class(self.refused, &plan.overflow, 1);
        class(positive_infinite, &plan.infinity, 0);
        class(self.negative_infinite, &plan.infinity, 1);
        class(self.nan, &plan.nan, 0);
        let refused_to_zero = if plan.overflow.zero[1] { self.refused } else { 0 };
        EventCounts {
            flags,
            elements: elements as u64,
            overflowed,
            underflowed: self.underflowed() + refused_to_zero,
            zeros,
            nans: self.nan,
            infinities: self.infinite,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Tally;

    /// What either slice found is found in both.
    #[test]
    fn tallies_add_up() {
        let counts = |n: u64| Tally {
            nan: n,
            infinite: 2 * n,
            negative_infinite: 3 * n,
            overflow: 4 * n,
            refused: 5 * n,
            zero: 6 * n,
            exact_zero: 7 * n,
            ..Tally::default()
        };
        let found =
            |i: usize| Tally { denormal: i == 0, inexact: i == 1, tiny: i == 2, low: i == 3, ..counts(10) };
        for i in 0..4 {
            for [first, second] in [[found(i), counts(1)], [counts(1), found(i)]] {
                let mut both = first;
                both.add(&second);
                assert_eq!([both.denormal, both.inexact, both.tiny, both.low], [0, 1, 2, 3].map(|j| i == j));
                let counts = [
                    both.nan,
                    both.infinite,
                    both.negative_infinite,
                    both.overflow,
                    both.refused,
                    both.zero,
                    both.exact_zero,
                ];
                assert_eq!(counts, [11, 22, 33, 44, 55, 66, 77]);
            }
        }
    }
}
