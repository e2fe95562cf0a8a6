//! Tensors as codes: encoders and decoders that are built once, biases that follow the tensors, and
//! the loss's slope along a bias.

pub(crate) mod blocks;
pub(crate) mod coder;
pub(crate) mod quantizer;
pub(crate) mod scale;
mod slope;
