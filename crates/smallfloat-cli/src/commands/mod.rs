//! One file per command, grouped by what they work on.

pub(crate) mod checkpoint;
pub(crate) mod conformance;
#[cfg(feature = "explore")]
pub(crate) mod explore;
pub(crate) mod lab;
pub(crate) mod numbers;
pub(crate) mod rtl;
pub(crate) mod setup;
pub(crate) mod shard;
#[cfg(feature = "train")]
pub(crate) mod train;
