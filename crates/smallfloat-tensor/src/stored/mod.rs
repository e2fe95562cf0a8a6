//! Tensors as a file stores them, native or of another program, read as numbers.

pub(crate) mod blocks;
pub(crate) mod calibration;
pub(crate) mod codebook;
pub(crate) mod foreign;
pub(crate) mod numbers;
pub(crate) mod open;
pub(crate) mod quantized;
pub(crate) mod reader;
pub(crate) mod scaled;
pub(crate) mod short;
pub(crate) mod together;
pub(crate) mod transposed;
pub(crate) mod view;
