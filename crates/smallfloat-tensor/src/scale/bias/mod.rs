//! The bias of a tensor or group: policies, the statistics they need, and the choice.

pub(crate) mod candidate;
pub(crate) mod choose;
pub(crate) mod controller;
pub(crate) mod least_error;
pub(crate) mod magnitudes;
pub(crate) mod policy;
pub(crate) mod small_group;
pub(crate) mod sorted;
