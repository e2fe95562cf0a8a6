//! Writers of safetensors and GGUF files.

pub(crate) mod gguf;
pub(crate) mod sink;
