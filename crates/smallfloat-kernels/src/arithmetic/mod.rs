//! Operations on slices of codes.

mod call;
pub(crate) mod elementwise;
mod entries;
mod operands;
pub(crate) mod simd;
