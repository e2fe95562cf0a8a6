//! Kernels with AVX2, 32 bytes at a time.

pub(super) mod block;
pub(super) mod decode;
pub(super) mod dot;
pub(super) mod elementwise;
pub(super) mod encode;
pub(super) mod exact;
pub(super) mod gemm;
pub(super) mod gemv;
pub(super) mod lanes;
pub(super) mod nibbles;
pub(super) mod packing;
pub(super) mod random;
pub(super) mod recode;
pub(super) mod statistics;
