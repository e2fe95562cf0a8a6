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
use crate::stored::view::View;

/// Quantizes the tensors of a `.safetensors` or `.npy` file, or of all `.safetensors` files of a
/// checkpoint folder, in which case the output is a folder too; `select` says which tensors. Those
/// that are quantized already are decoded first. All others are copied byte for byte.
///
/// An output appears under its name only when it is whole. The same input and options give the same
/// bytes.
///
/// # Errors
/// A source that is refused, values that are (NaN, infinities, negatives: see [`Options`]), an
/// output that exists, a disk that fills; the old output stays as it was.
pub fn quantize(
    input: &Path,
    output: &Path,
    options: &Options,
    select: &dyn Fn(&str) -> bool,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Report> {
    let start = Instant::now();
    options.check()?;
    if input.is_dir() {
        return folder::quantize(input, output, options, select, progress);
    }
    let views = [View::open(input)?];
    let mut checkpoint = Checkpoint::new(&views, options, select)?;
    let places = checkpoint.places_of(0);
    progress(Progress::Start(checkpoint.bytes(&places)));
    let (part, sealed) = checkpoint.write(&[0], &places, output, progress)?;
    sealed.commit()?;
    let mut report = Report::of(part.reports, &part.sums);
    report.seed = options.seed;
    (report.bytes_in, report.bytes_out) = (views[0].source().file_len(), part.bytes_out);
    // A native file needs no configuration; that of a folder only says what its files are.
    if !checkpoint.layout.is_native() {
        report.quantization_config = quantization_config(options, &checkpoint.layout, &checkpoint.ignored());
    }
    report.seconds = start.elapsed().as_secs_f64();
    Ok(report)
}
