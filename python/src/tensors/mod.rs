//! Tensors quantized and read: in files, and in memory.

pub(crate) mod files;
pub(crate) mod memory;
