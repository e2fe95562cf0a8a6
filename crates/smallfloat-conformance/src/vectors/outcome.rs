//! [`CallOutcome`]: results and flags of one call.

use std::ops::Deref;

use smallfloat::Flags;

/// What counts as a difference.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Compared {
    /// The flags that are compared.
    pub(crate) mask: Flags,
    /// Any NaN is as good as another.
    pub(crate) any_nan: bool,
}

/// The results of a unit for one line of operands, and its flags. A single result, the usual case,
/// takes no memory of its own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CallOutcome {
    results: Results,
    /// The flags; of sequences and blocks those of all elements together.
    pub flags: Flags,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Results {
    One([u64; 1]),
    Many(Vec<u64>),
}

impl CallOutcome {
    /// Returns an outcome with a single result.
    pub fn one(result: u64, flags: Flags) -> Self {
        Self { results: Results::One([result]), flags }
    }

    /// Returns an outcome with any number of results.
    pub fn many(results: Vec<u64>, flags: Flags) -> Self {
        match results[..] {
            [result] => Self::one(result, flags),
            _ => Self { results: Results::Many(results), flags },
        }
    }

    /// Returns the results.
    pub fn results(&self) -> &[u64] {
        match &self.results {
            Results::One(result) => result,
            Results::Many(results) => results,
        }
    }

    /// Returns these results with other flags.
    #[must_use]
    pub fn with_flags(self, flags: Flags) -> Self {
        Self { flags, ..self }
    }
}

impl Deref for CallOutcome {
    type Target = [u64];

    fn deref(&self) -> &[u64] {
        self.results()
    }
}
