//! Quantizing in shards.

pub(crate) mod apply;
pub(crate) mod finalize;
pub(crate) mod plan;
