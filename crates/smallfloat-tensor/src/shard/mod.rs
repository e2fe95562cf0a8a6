//! Quantizing in shards: a plan, each shard anywhere, and the end.

pub(crate) mod apply;
pub(crate) mod finalize;
pub(crate) mod partition;
pub(crate) mod plan;
