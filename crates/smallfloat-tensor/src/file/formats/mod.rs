//! Strict readers: one per format of files, and [`Source`](source::Source), which chooses between
//! them.

pub(crate) mod gguf;
pub(crate) mod npy;
mod npy_header;
pub(crate) mod safetensors;
pub(crate) mod safetensors_header;
pub(crate) mod source;
pub(crate) mod spool;
