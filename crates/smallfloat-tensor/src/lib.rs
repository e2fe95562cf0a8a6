//! Tensors in files: read strictly, choose biases, quantize, verify, write durably.
//!
//! Data flows one way: a [`Source`] is opened and checked, its tensors are streamed in bounded memory, and a [`Sink`]
//! writes the results to a temporary file that replaces the output at the very end.
//!
//! * Reading: [`Source`] opens [`SafeTensors`] and [`Npy`] files by content. What their formats forbid is refused, with
//!   the name and the byte of the fault.
//! * Writing: [`Sink`] (safetensors), [`NpyWriter`], [`write_file_durably`] (reports, pictures). An output is either the
//!   old file or the new one, whole; see [`DurableFile`].
//! * Quantizing: [`quantize`] in one process; [`plan`], [`apply`] and [`finalize`] do the same in shards, for schedulers.
//! * Errors: one opaque [`Error`] that says what was wrong, where, and what would be right.
//!
//! All data is little-endian and in C order, in files and in the bytes handed to callers.

mod against;
mod apply;
mod bias;
mod blocks;
mod calibration;
mod compare;
mod config;
mod container;
mod costs;
mod dequantize;
mod dtype;
mod durable;
mod ends;
mod error;
mod few;
mod finalize;
mod folder;
mod foreign;
mod granularity;
mod header;
mod input;
mod intervals;
mod judge;
mod loader;
mod npy;
mod npy_header;
mod options;
mod packing;
mod partition;
mod pipeline;
mod plain;
mod plan;
mod quantize;
mod quotients;
mod recipe;
mod relabel;
mod report;
mod safetensors;
mod scale;
mod scaled;
mod scheme;
mod search;
mod share;
mod sink;
mod source;
mod statistics;
mod stream;
mod verify;
mod view;

pub use against::{Agreement, Declared, Disagreement, verify_against};
pub use apply::{Applied, apply};
pub use bias::{BiasController, BiasPolicy, CodeUse, Magnitudes, Observation, headroom};
pub use calibration::Calibration;
pub use compare::{TensorComparison, compare};
pub use container::Entry;
pub use costs::{BiasChoice, BiasCost, BiasCosts, bias_costs};
pub use dequantize::{Dequantized, dequantize};
pub use dtype::Dtype;
pub use durable::{DurableFile, check_output, leftovers, write_file_durably};
pub use error::{Error, Result};
pub use finalize::finalize;
pub use folder::open_checkpoint;
pub use granularity::Granularity;
pub use input::{CHUNK_BYTES, TensorInfo};
pub use npy::{Npy, NpyWriter};
pub use options::{Container, Negative, Nonfinite, Options};
pub use packing::Packing;
pub use partition::Sharding;
pub use plan::{Plan, plan};
pub use quantize::{Progress, quantize, stream_of_name};
pub use report::{Report, ScaleReport, TensorReport, Totals};
pub use safetensors::{MAX_HEADER_BYTES, SafeTensors};
pub use scale::{GlobalScale, ScaleRule, ScaleSpec};
pub use scaled::Scaled;
pub use scheme::{Layout, Scheme};
pub use share::Share;
pub use sink::{Sealed, Sink, SinkOptions, TensorSpec};
pub use source::{Source, SourceKind};
pub use verify::{Verified, verify, verify_with};
pub use view::{Stored, TensorView, View};
