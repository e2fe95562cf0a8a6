//! [`CoverageLevel`]: how much is tried.

use crate::named::by_name;

/// The effort of a test: how many operands are tried.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CoverageLevel {
    /// Every combination of operands, up to 2^32.
    Exhaustive,
    /// Boundaries and 10,000 weighted random lines: some 10^5 lines, as TestFloat's level 1 a quick
    /// look.
    One,
    /// More of both: some 10^6 lines.
    Two,
}

impl CoverageLevel {
    /// All levels with their names.
    pub const NAMED: &'static [(&'static str, Self)] =
        &[("exhaustive", Self::Exhaustive), ("1", Self::One), ("2", Self::Two)];
}

by_name!(CoverageLevel, Level);
