//! `smallfloat` alone: the main job on the built-in sample checkpoint.

use std::io::Write as _;

use anyhow::{Context, Result};
use serde_json::json;
use smallfloat::FormatSpec;
use smallfloat_tensor::{BiasPolicy, Options, Report, Tensors, quantize, verify};

use crate::arguments::files::check_outputs;
use crate::arguments::results::ResultArgs;
use crate::render::output::Output;
use crate::render::progress::Bar;
use crate::render::{report, text as words};
use crate::sample;

const FORMAT: &str = "cfloat8_1_4_3";
/// The bias that equals IEEE 754's for four exponent bits: what a format without a configurable
/// bias would have.
const FIXED: i32 = 7;

pub(crate) fn run(results: &ResultArgs, out: &mut Output) -> Result<()> {
    check_outputs(&results.outputs(), [], results.overwrite)?;
    // Removed at the end, and on errors.
    let folder = tempfile::tempdir().context("a temporary folder for the sample checkpoint")?;
    let input = folder.path().join("sample.safetensors");
    sample::write(&input)?;

    let format: FormatSpec = FORMAT.parse()?;
    let options = |bias: BiasPolicy| Options { bias, tensors: Tensors::Matrices, ..Options::new(format) };
    let job = |options: &Options, name: &str| -> Result<Report> {
        let bar = Bar::new();
        let mut update = |progress: smallfloat_tensor::Progress<'_>| bar.update(progress);
        Ok(quantize(&input, folder.path().join(name), options, &|_| true, &mut update)?)
    };
    let chosen = Options { histograms: results.has_plot(), ..options(BiasPolicy::LeastError) };
    let auto = job(&chosen, "auto.safetensors")?;
    let fixed = job(&options(BiasPolicy::Fixed(FIXED)), "fixed.safetensors")?;
    results.write(&input, FORMAT, &chosen, &auto)?;
    let verified = verify(folder.path().join("auto.safetensors"))?;

    if results.json {
        let object = json!({ "format": FORMAT, "auto": auto, "bias_7": fixed });
        serde_json::to_writer_pretty(&mut *out, &object)?;
        writeln!(out)?;
        return Ok(());
    }
    let heading = format!("smallfloat {}: small floating-point formats, exactly", env!("CARGO_PKG_VERSION"));
    writeln!(out, "{}\n", out.bold(heading))?;
    writeln!(
        out,
        "A sample checkpoint, its layers of very different scale, is quantized to Tesla's CFloat8"
    )?;
    writeln!(out, "(1 sign, 4 exponent, 3 significand bits). The bias of the exponent is free: each tensor")?;
    writeln!(
        out,
        "gets the one with the least squared error. Beside it, what the fixed bias {FIXED} gives.\n"
    )?;

    let header = ["tensor", "", "shape", "largest", "bias", "SQNR dB", "at bias 7"];
    let rows: Vec<_> = auto
        .tensors
        .iter()
        .zip(&fixed.tensors)
        .map(|(auto, fixed)| {
            let (shape, what) = (words::shape(&auto.shape), sample::description(&auto.name).to_owned());
            let cells = if auto.format.is_none() {
                vec![what, shape, String::new(), String::new(), "copied".into(), "copied".into()]
            } else {
                let bias = auto.biases.first().map_or_else(String::new, i32::to_string);
                let largest = auto.amax.map_or_else(String::new, words::rough);
                let [chosen, other] = [auto.sqnr_db, fixed.sqnr_db].map(words::decibels);
                vec![what, shape, largest, bias, chosen, other]
            };
            (&*auto.name, cells)
        })
        .collect();
    report::rows_of_names(&header, &[3, 4, 5, 6], &rows, out)?;

    let totals = &auto.totals;
    let lost = |report: &Report| report.totals.underflowed + report.totals.saturated;
    writeln!(out, "\nsize      {}", report::sizes(&auto))?;
    writeln!(
        out,
        "lost      {} of {} elements saturated or became zero; {} at bias {FIXED}",
        words::count(lost(&auto)),
        words::count(totals.elements),
        words::count(lost(&fixed))
    )?;
    let (tensors, codes) = (words::plural(verified.tensors, "digest"), words::plural(verified.codes, "code"));
    writeln!(out, "verified  {codes} and {tensors}, read back from the file")?;
    writeln!(out, "time      {:.2} s, nothing is left behind\n", auto.seconds + fixed.seconds)?;
    writeln!(out, "Try next:")?;
    for (command, what) in [
        ("smallfloat quantize model.safetensors -o small.safetensors", "your own checkpoint"),
        ("smallfloat formats", "all formats"),
        ("smallfloat show cfloat8_1_4_3:bias=7 1.1", "one code, explained"),
        ("smallfloat --help", "all commands"),
    ] {
        writeln!(out, "  {command:<60}  {}", out.dim(what))?;
    }
    Ok(())
}
