//! Tensors in files: read strictly, choose biases, quantize, verify, write durably.
//!
//! Data flows one way: a [`Source`] is opened and checked, its tensors are streamed in bounded memory, and a [`Sink`]
//! writes the results to a temporary file that replaces the output at the very end.
//!
//! * Reading: [`Source`] opens [`SafeTensors`] and [`Npy`] files by content. What their formats forbid is refused, with
//!   the name and the byte of the fault.
//! * Writing: [`Sink`] (safetensors), [`NpyWriter`], [`write_file_durably`] (reports, pictures). An output is either the
//!   old file or the new one, whole; see [`DurableFile`].
//! * Errors: one opaque [`Error`] that says what was wrong, where, and what would be right.
//!
//! All data is little-endian and in C order, in files and in the bytes handed to callers.

mod dtype;
mod durable;
mod error;
mod header;
mod input;
mod npy;
mod npy_header;
mod safetensors;
mod sink;
mod source;

pub use dtype::Dtype;
pub use durable::{DurableFile, check_output, leftovers, write_file_durably};
pub use error::{Error, Result};
pub use input::{CHUNK_BYTES, TensorInfo};
pub use npy::{Npy, NpyWriter};
pub use safetensors::{MAX_HEADER_BYTES, SafeTensors};
pub use sink::{Sealed, Sink, SinkOptions, TensorSpec};
pub use source::{Source, SourceKind};
