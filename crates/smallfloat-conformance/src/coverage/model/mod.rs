//! What the coverage of any unit is counted in: crosses of features, what is known of their bins,
//! and the search for operands that reach them.

pub(super) mod codes;
pub(super) mod cross;
pub(super) mod crosses;
pub(super) mod reach;
pub(super) mod search;
pub(super) mod subject;
