//! Operations on slices of codes.

pub(crate) mod elementwise;
pub(crate) mod simd;
