//! Implementations under test.

pub(crate) mod kappa;
pub(crate) mod vectors;
pub(crate) mod vectors_check;
pub(crate) mod vectors_cover;
mod vectors_pack;
