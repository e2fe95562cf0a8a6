//! What experiments share: tensors to start from, arithmetic of a given format, orders of sums,
//! counts of what rounding does to a tensor, and tables and series as findings.

pub(crate) mod data;
pub(crate) mod findings;
pub(crate) mod survey;
pub(crate) mod tree;
pub(crate) mod unit;
