//! How quantized tensors lie in a file: schemes by name, conventions of other programs, the native
//! container's records, packing of narrow codes and their shapes, the grid of groups, and FP8 codes
//! in place of CFloat8's.

pub(crate) mod blocks;
pub(crate) mod codebook;
pub(crate) mod configured;
pub(crate) mod container;
pub(crate) mod convention;
pub(crate) mod fp8_remap;
pub(crate) mod grid;
pub(crate) mod packing;
pub(crate) mod quark;
pub(crate) mod scheme;
pub(crate) mod share;
pub(crate) mod stored_shape;
