//! [`quantize`]: a file or a checkpoint folder → codes with biases or scales.
//!
//! One direction: source → statistics → scales → codes → sink → verified → renamed. Memory is a few
//! buffers of [`CHUNK_BYTES`] and the statistics, whatever the size of the tensors. The everyday
//! case, one bias per tensor, goes through the kernels for its element type ([`PerTensor`]);
//! everything else through [`PerGroup`].

pub(crate) mod checkpoint;
pub(crate) mod config;
pub(crate) mod divide;
pub(crate) mod floats;
pub(crate) mod folder;
pub(crate) mod global;
pub(crate) mod loader;
pub(crate) mod output;
pub(crate) mod per_group;
pub(crate) mod per_tensor;
pub(crate) mod powers;
pub(crate) mod quantizer;
pub(crate) mod search;

use std::path::Path;
use std::time::Instant;

use crate::error::Result;
use crate::options::Options;
use crate::progress::Progress;
use crate::quantize::checkpoint::Checkpoint;
use crate::quantize::config::quantization_config;
use crate::report::Report;
use crate::stored::open::open_checkpoint;

/// Quantizes the tensors of a `.safetensors`, `.npy` or `.gguf` file, or of all `.safetensors`
/// files of a checkpoint folder, in which case the output is a folder too, or one file in the
/// layouts of GGUF; `select` says which tensors. Those that are quantized already are decoded
/// first. All others are copied byte for byte.
///
/// An output appears under its name only when it is whole. The same input and options give the same
/// bytes.
///
/// # Errors
/// A source that is refused, values that are (NaN, infinities, negatives: see [`Options`]), an
/// output that exists, a disk that fills; the old output stays as it was.
pub fn quantize(
    input: impl AsRef<Path>,
    output: impl AsRef<Path>,
    options: &Options,
    select: &dyn Fn(&str) -> bool,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Report> {
    quantize_path(input.as_ref(), output.as_ref(), options, select, progress)
}

fn quantize_path(
    input: &Path,
    output: &Path,
    options: &Options,
    select: &dyn Fn(&str) -> bool,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Report> {
    let start = Instant::now();
    options.check()?;
    if input.is_dir() && !options.layout.is_gguf() {
        return folder::quantize(input, output, options, select, progress);
    }
    // A GGUF file has all tensors of a folder.
    let views = open_checkpoint(input)?;
    let mut checkpoint = Checkpoint::new(&views, options, select)?;
    let (files, places): (Vec<_>, _) = ((0..views.len()).collect(), checkpoint.places());
    progress(Progress::Start(checkpoint.bytes(&places)));
    let (part, sealed) = checkpoint.write(&files, &places, output, progress)?;
    sealed.commit()?;
    let mut report = Report::of(part.reports, &part.sums);
    report.seed = options.seed;
    report.bytes_in = views.iter().map(|view| view.source().file_len()).sum();
    report.bytes_out = part.bytes_out;
    // A native file needs no configuration; that of a folder only says what its files are.
    if !checkpoint.layout.is_native() {
        report.quantization_config = quantization_config(options, &checkpoint.layout, &checkpoint.ignored());
    }
    report.seconds = start.elapsed().as_secs_f64();
    Ok(report)
}
