//! [`Profile`]: the worst κ along an operand, for a picture.

use smallfloat::Format;

use crate::kappa::Kappa;
use crate::kappa::line::ValueLine;

/// The worst κ in each of equally long runs of an operand's finite values.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Profile {
    line: ValueLine,
    lowest: i64,
    highest: i64,
    worst: Vec<Kappa>,
}

impl Profile {
    /// Returns a profile with so many runs, at least 1, over a format's finite values.
    pub fn new(format: &Format, runs: usize) -> Self {
        let line = ValueLine::new(format);
        let (lowest, highest) = (line.rank_of(format.min_finite()), line.rank_of(format.max_finite()));
        let values =
            usize::try_from(highest.abs_diff(lowest)).map_or(usize::MAX, |span| span.saturating_add(1));
        Self { line, lowest, highest, worst: vec![Kappa::Steps(0); runs.clamp(1, values)] }
    }

    /// Returns the worst κ of each run, in ascending order of the operand.
    pub fn worst(&self) -> &[Kappa] {
        &self.worst
    }

    /// Returns the run of a rank of the operand's [`ValueLine`]; `None` for an infinity.
    pub fn run_of(&self, rank: i64) -> Option<usize> {
        if !(self.lowest..=self.highest).contains(&rank) {
            return None;
        }
        let (below, all) = (rank.abs_diff(self.lowest), u128::from(self.highest.abs_diff(self.lowest)) + 1);
        usize::try_from(u128::from(below) * self.worst.len() as u128 / all).ok()
    }

    /// Returns the ranks of the runs' line.
    pub fn line(&self) -> &ValueLine {
        &self.line
    }

    pub(super) fn add(&mut self, rank: Option<i64>, kappa: Kappa) {
        if let Some(run) = rank.and_then(|rank| self.run_of(rank)) {
            self.worst[run] = self.worst[run].max(kappa);
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.worst.iter_mut().zip(&other.worst) {
            *mine = (*mine).max(*theirs);
        }
    }
}

#[cfg(test)]
mod tests {
    use smallfloat::formats::{BINARY64, E4M3FN};

    use super::*;

    #[test]
    fn runs_are_equally_long_and_cover_all_values() {
        // E4M3FN has 253 finite values: −126..=126.
        let mut profile = Profile::new(&E4M3FN, 23);
        let mut counts = [0; 23];
        for rank in -126..=126 {
            counts[profile.run_of(rank).expect("a finite value")] += 1;
        }
        assert_eq!(counts, [11; 23]);
        assert_eq!((profile.run_of(127), profile.run_of(i64::MIN)), (None, None));
        profile.add(Some(-126), Kappa::Steps(3));
        profile.add(None, Kappa::Nan);
        assert_eq!((profile.worst()[0], profile.worst()[1]), (Kappa::Steps(3), Kappa::Steps(0)));
        assert_eq!(Profile::new(&E4M3FN, 1000).worst().len(), 253);
        let wide = Profile::new(&BINARY64, 700);
        assert_eq!((wide.run_of(0), wide.run_of(wide.highest)), (Some(349), Some(699)));
    }
}
