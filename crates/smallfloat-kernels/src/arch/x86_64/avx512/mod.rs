//! The kernels of the AVX2 level with vectors of 64 bytes.
//!
//! Comparisons give masks of one bit per element here, so that counts are population counts and
//! special codes masked moves.

pub(super) mod block;
pub(super) mod byte_lanes;
pub(super) mod decode;
pub(super) mod dot;
pub(super) mod elementwise;
pub(super) mod encode;
pub(super) mod exact;
pub(super) mod gemm;
pub(super) mod gemv;
pub(super) mod lanes;
pub(super) mod random;
pub(super) mod recode;
pub(super) mod stochastic;
