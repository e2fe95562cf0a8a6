//! Operations on slices of codes.

pub(crate) mod elementwise;
mod entries;
pub(crate) mod simd;
