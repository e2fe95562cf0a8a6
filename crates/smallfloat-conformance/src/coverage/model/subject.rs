//! [`Subject`]: a unit as coverage sees it.

use std::fmt::Debug;

use crate::coverage::model::cross::Cross;
use crate::coverage::model::reach::Witnesses;
use crate::coverage::model::search::Search;
use crate::error::Error;
use crate::vectors::VectorUnit;

/// A unit whose vectors have features, in crosses of which its coverage is counted.
pub(crate) trait Subject: Debug + Send + Sync {
    /// The unit.
    fn unit(&self) -> &VectorUnit;

    /// Its crosses.
    fn crosses(&self) -> &[Cross];

    /// Computes the features of a vector; returns whether the unit takes these operands.
    fn values(&self, operands: &[u64], values: &mut Vec<i32>) -> bool;

    /// Looks for operands that reach bins, where there are too many to try all.
    ///
    /// # Errors
    /// What the unit's vectors refuse.
    fn search(&self, search: &mut Search<'_>) -> Result<(), Error>;

    /// Returns of bins, by cross and number, that the search did not reach, whether they may be
    /// reachable; those that are proved not to be are not.
    fn possible<'a>(&'a self, found: &Witnesses) -> Box<dyn Fn(usize, usize) -> bool + 'a>;
}

impl dyn Subject + '_ {
    /// Calls with cross and bin of each bin that these operands reach. Operands that the unit
    /// refuses reach none.
    pub(crate) fn bins(&self, operands: &[u64], values: &mut Vec<i32>, mut each: impl FnMut(usize, usize)) {
        if !self.values(operands, values) {
            return;
        }
        for (at, cross) in self.crosses().iter().enumerate() {
            cross.bins(values).for_each(|bin| each(at, bin));
        }
    }

    /// How many operands a vector has.
    pub(crate) fn width(&self) -> usize {
        self.unit().operands().len()
    }

    /// A number for each bin of each cross.
    pub(crate) fn counts<T: Clone>(&self, of: T) -> Vec<Vec<T>> {
        self.crosses().iter().map(|cross| vec![of.clone(); cross.size()]).collect()
    }
}
