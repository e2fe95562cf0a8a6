//! Tensors in memory and in files: choose biases and scales, quantize, read strictly, verify, write
//! durably.
//!
//! In memory a [`Quantizer`] makes codes and scales of slices, by any scheme or format:
//!
//! ```
//! use smallfloat_tensor::{Quantizer, Scheme};
//!
//! let x = vec![0.5_f32; 4096];
//! let quantizer = Quantizer::new("mxfp4".parse::<Scheme>()?.options())?;
//! let q = quantizer.quantize("x", &[64, 64], &x)?;
//! assert_eq!((q.codes().len(), q.scales().len()), (4096, 128));
//! assert_eq!(q.to_vec::<f32>(), x);
//! # Ok::<(), smallfloat_tensor::Error>(())
//! ```
//!
//! In files [`quantize`] does the same, and a [`View`] reads any tensor as numbers, quantized or
//! not:
//!
//! ```
//! # use smallfloat_tensor::{Dtype, Sink, SinkOptions, TensorSpec};
//! use smallfloat_tensor::{Options, View, quantize};
//!
//! # let dir = std::env::temp_dir().join(format!("smallfloat-tensor-{}", std::process::id()));
//! # std::fs::create_dir(&dir)?;
//! # let (model, small) = (dir.join("model.safetensors"), dir.join("small.safetensors"));
//! # let tensors = vec![TensorSpec::new("layer.weight", Dtype::BF16, [2, 2])];
//! # let sink = Sink::create(&model, tensors, Vec::new(), SinkOptions::default())?;
//! # sink.append(0, &[0x80, 0x3f, 0x8d, 0x3f, 0x9a, 0xbe, 0xe0, 0x43])?;
//! # sink.finish()?;
//! // Tesla's format, the bias chosen for each tensor; all tensors, and nobody watches the progress.
//! let options = Options::new("cfloat8_1_4_3".parse()?);
//! quantize(&model, &small, &options, &|_| true, &mut |_| {})?;
//! assert_eq!(View::open(&model)?.values("layer.weight")?, [1.0, 1.1015625, -0.30078125, 448.0]);
//! assert_eq!(View::open(&small)?.values("layer.weight")?, [1.0, 1.125, -0.3125, 448.0]);
//! # std::fs::remove_dir_all(dir)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Data flows one way: a [`Source`] is opened and checked, its tensors are streamed in bounded
//! memory, and a [`Sink`] writes the results to a temporary file that replaces the output at the
//! very end.
//!
//! * Reading: [`Source`] opens [`SafeTensors`] and [`Npy`] files by content. What their formats
//!   forbid is refused, with the name and the byte of the fault.
//! * Writing: [`Sink`] (safetensors), [`NpyWriter`], [`write_file_durably`] (reports, pictures). An
//!   output is either the old file or the new one, whole; see [`DurableFile`].
//! * Quantizing: [`quantize`] in one process, by the engines that a [`Quantizer`] has; [`plan`],
//!   [`apply`] and [`finalize`] do the same in shards, for schedulers.
//! * Errors: one opaque [`Error`] that says what was wrong, where, and what would be right.
//!
//! All data is little-endian and in C order, in files and in the bytes handed to callers.
#![expect(clippy::inline_always, reason = "loops must melt into those that are made vectors of")]

mod bias_report;
mod dequantize;
mod doctor;
mod error;
mod file;
mod layout;
mod options;
mod progress;
mod quantize;
mod report;
mod scale;
mod shard;
mod stored;
mod verify;

pub use bias_report::{BiasChoice, BiasCost, BiasReport, bias_costs};
pub use dequantize::{Dequantized, dequantize};
pub use doctor::{FileFinding, KINDS as FINDING_KINDS, Sure, examine};
pub use error::{Error, Result};
pub use file::dtype::Dtype;
pub use file::durable::{
    DurableFile, check_output, leftovers, write_file_durably, write_folder_durably, write_json_durably,
};
pub use file::folder::{CONFIG, INDEX};
pub use file::formats::npy::{Npy, NpyWriter};
pub use file::formats::safetensors::{MAX_HEADER_BYTES, SafeTensors};
pub use file::formats::source::{Source, SourceKind};
pub use file::formats::spool::Spool;
pub use file::input::{CHUNK_BYTES, TensorInfo};
pub use file::side::{SIDE_FILE_BYTES, open_regular, read_limited};
pub use file::temporaries::remove_temporaries;
pub use file::write::sink::{Sealed, Sink, SinkOptions, TensorSpec};
pub use layout::container::{Encoding, Entry};
pub use layout::grid::Granularity;
pub use layout::packing::Packing;
pub use layout::scheme::{Layout, Scheme};
pub use layout::share::Share;
pub use options::patterns::NamePatterns;
pub use options::tensors::Tensors;
pub use options::{Container, Negative, Nonfinite, Options};
pub use progress::{Progress, stream_of_name};
pub use quantize::quantize;
pub use quantize::quantizer::Quantizer;
pub use report::{BiasRange, Report, ScaleReport, TensorReport, Totals};
pub use scale::bias::controller::{BiasController, CodeUse, Observation};
pub use scale::bias::magnitudes::Magnitudes;
pub use scale::bias::policy::{BiasPolicy, headroom};
pub use scale::rule::{GlobalScale, ScaleRule, ScaleSpec};
pub use shard::apply::{Applied, apply};
pub use shard::finalize::finalize;
pub use shard::partition::Sharding;
pub use shard::plan::{Plan, plan};
pub use stored::calibration::Calibration;
pub use stored::numbers::Numbers;
pub use stored::open::open_checkpoint;
pub use stored::quantized::Quantized;
pub use stored::scaled::Scaled;
pub use stored::view::{Stored, TensorView, View};
pub use verify::certificate::{Certificate, CertifiedTensor, certify, check_certificate};
pub use verify::compare::{TensorComparison, compare, compare_checkpoints};
pub use verify::source::{Agreement, Disagreement, QuantizedAs, verify_against};
pub use verify::{Verified, verify, verify_with};
