//! Files of tensors: readers of safetensors and npy, durable writers, and the loop that reads and
//! writes on all threads.

pub(crate) mod dtype;
pub(crate) mod durable;
pub(crate) mod folder;
pub(crate) mod gguf;
pub(crate) mod gguf_header;
pub(crate) mod header;
pub(crate) mod input;
pub(crate) mod npy;
pub(crate) mod npy_header;
pub(crate) mod pipeline;
pub(crate) mod safetensors;
pub(crate) mod side;
pub(crate) mod sink;
pub(crate) mod source;
pub(crate) mod spool;
pub(crate) mod stream;
pub(crate) mod temporaries;
