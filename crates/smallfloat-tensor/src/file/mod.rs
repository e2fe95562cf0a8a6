//! Files of tensors. `formats/` reads safetensors, npy and GGUF, `write/` writes them; here are
//! what both need (element types, bytes at positions, durable files, folders) and the loop that
//! reads and writes on all threads.

pub(crate) mod dtype;
pub(crate) mod durable;
pub(crate) mod folder;
pub(crate) mod formats;
pub(crate) mod input;
pub(crate) mod pipeline;
pub(crate) mod side;
pub(crate) mod stream;
pub(crate) mod temporaries;
pub(crate) mod write;
