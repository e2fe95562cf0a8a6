//! Operations on slices of codes.

pub(crate) mod elementwise;
mod entries;
mod operands;
pub(crate) mod simd;
