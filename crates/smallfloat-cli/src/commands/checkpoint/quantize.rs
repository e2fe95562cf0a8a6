//! `smallfloat quantize`: the tensors of a file into a small format.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

use anyhow::{Result, bail, ensure};
use smallfloat_tensor::{Options, quantize};

use crate::arguments::files::{Input, check_outputs, note_leftovers, note_not_copied};
use crate::arguments::quantize::{RecipeArgs, ThreadArgs, bias_in_words, has_histograms, rounding_in_words};
use crate::arguments::quantize::{check_patterns, write_certificate};
use crate::arguments::results::ResultArgs;
use crate::render::output::{Message, Output, message};
use crate::render::progress::Bar;
use crate::render::report;

const AFTER_HELP: &str = "\
Examples:
  smallfloat quantize model.safetensors -o model.cf8.safetensors
  smallfloat quantize model.safetensors -o out.safetensors --format cfloat8_1_5_2 \\
      --tensors weights --exclude '*router*' --report report.json --plot report.svg
  smallfloat quantize w.npy -o w.safetensors --format e4m3fn --rounding toward-zero
  smallfloat quantize model.safetensors -o out.safetensors --rounding stochastic-a
  smallfloat quantize model.safetensors -o out.safetensors --granularity channel
  smallfloat quantize model.safetensors -o out.safetensors --calibration activations.safetensors
  smallfloat quantize checkpoint/ -o checkpoint-mxfp4/ --scheme mxfp4-pack-quantized
  smallfloat quantize checkpoint/ -o model.gguf --scheme gguf-mxfp4
  smallfloat quantize checkpoint-fp8/ -o comfy/ --scheme comfy-fp8 --lossless \\
      --certificate certificate.json

F64, F32, F16 and BF16 tensors are quantized, and those that are quantized already, which
are decoded first; all others are copied. Of these --tensors takes

  weights   matrices named *.weight that are neither embeddings nor the output head
            (names with embed, wte, lm_head): linear layers and convolutions
  matrices  all with two or more dimensions: no biases, no norms
  all       all that the scheme can store

and --include and --exclude narrow the choice. The array of an .npy file is always taken.

The output is a safetensors file of codes with a bias or scales beside each tensor; it is read
back and verified, then it appears under its name as a whole. The same input and options give the
same bytes, whatever the number of threads. A checkpoint folder becomes a folder with config.json
and index.

Schemes with scales store tensors of two and more dimensions, those of other programs only
matrices named *.weight, by default those of `--tensors weights` (with --include: of
`--tensors matrices`).

Stochastic rounding takes its random words from Philox4x32-10 with --seed (0 by default).
The seed stands in the output, the report and the file.

With --bias auto each tensor gets the bias with the least squared error; amax: the largest
at which nothing saturates; percentile:P: the same for P % of the elements; N: this one.
With --calibration errors in a column weigh as much as the activations that it meets, Σx²
over the samples. `smallfloat inspect --bias-report` tells what each choice would cost.";

/// Quantize the tensors of a file, or of a checkpoint folder.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// The file with the tensors, or a folder with .safetensors files; `-` is standard input
    #[arg(value_name = "IN")]
    input: PathBuf,

    /// The file to write, or the folder for a folder; schemes of GGUF write one file
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,

    #[command(flatten)]
    threads: ThreadArgs,

    /// Don't read the output back
    #[arg(long)]
    no_verify: bool,

    /// Refuse the output if any value would change, and say which tensors and why
    #[arg(long)]
    lossless: bool,

    /// Write what became of every tensor: values that were rounded, errors, digests of both sides
    #[arg(long, value_name = "FILE.json")]
    certificate: Option<PathBuf>,

    #[command(flatten)]
    results: ResultArgs,

    #[command(flatten)]
    recipe: RecipeArgs,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<()> {
    let options = options(args)?;
    let patterns = args.recipe.patterns()?;
    let named =
        |extension| args.output.extension().is_some_and(|found| found.eq_ignore_ascii_case(extension));
    if named("npy") {
        bail!(
            "-o {}: an .npy file has no room for biases and formats; write a .safetensors file",
            args.output.display()
        );
    }
    let is_gguf = options.layout.is_gguf();
    let is_folder = args.input.is_dir() && !is_gguf;
    if is_gguf && named("safetensors") {
        bail!("-o {}: the scheme makes a GGUF file; write a .gguf file", args.output.display());
    }
    if !is_gguf && named("gguf") {
        bail!(
            "-o {}: GGUF has formats of its own; name --scheme gguf-mxfp4, gguf-nvfp4, gguf-q8_0, gguf-bf16 or gguf-f16",
            args.output.display()
        );
    }
    let output = (!is_folder).then_some(&*args.output);
    let [report, plot] = args.results.outputs();
    let inputs = [&*args.input].into_iter().chain(args.recipe.calibration());
    let certificate = ("--certificate", args.certificate.as_deref());
    check_outputs(&[("-o", output), report, plot, certificate], inputs, args.results.overwrite)?;
    if args.certificate.is_some() && fs::canonicalize(&args.input).ok() == fs::canonicalize(&args.output).ok()
    {
        ensure!(
            !args.input.exists(),
            "--certificate compares the output with its source, so that they can't be one file"
        );
    }
    if is_folder {
        note_leftovers(&args.output);
    }
    args.threads.take()?;
    let input = Input::open(&args.input)?;
    check_patterns(&patterns, input.path())?;

    let report = {
        let bar = Bar::new();
        let select = |name: &str| patterns.select(name);
        let mut update = |progress: smallfloat_tensor::Progress<'_>| bar.update(progress);
        input.named(quantize(input.path(), &args.output, &options, &select, &mut update))?
    };
    if let Some(path) = &args.certificate {
        input.named(write_certificate((input.path(), &args.output), path, args.results.overwrite))?;
    }
    args.results.write(&args.input, args.recipe.name(), &options, &report)?;
    if args.results.json {
        serde_json::to_writer_pretty(&mut *out, &report)?;
        writeln!(out)?;
    } else {
        let format = args.recipe.name();
        let (bias, rounding) = (bias_in_words(&options), rounding_in_words(&options));
        writeln!(out, "{}\n", out.bold(format!("{} as {format}{bias}{rounding}", args.input.display())))?;
        report::tensors(&report, out)?;
        writeln!(out)?;
        let checked = report::checked(options.verify, options.container, &options.layout);
        report::totals(&report, checked, out)?;
    }
    if report.totals.quantized == 0 {
        let what = if options.layout.is_native() {
            "F64, F32, F16 and BF16 are quantized, and vectors with --tensors all"
        } else {
            "this scheme takes matrices of F64, F32, F16 and BF16 whose names end in .weight"
        };
        message(Message::Note, &format!("no tensor was quantized, all were copied: {what}"));
    } else if report.quantization_config.is_some() && !args.input.is_dir() {
        let what = "readers need the quantization_config of --json in the model's config.json";
        message(Message::Note, what);
    }
    note_not_copied(&report.not_copied);
    Ok(())
}

fn options(args: &Args) -> Result<Options> {
    let mut options = args.recipe.options()?;
    options.overwrite = args.results.overwrite;
    options.verify = !args.no_verify;
    if args.lossless {
        args.recipe.keep_all(&mut options);
    }
    options.histograms = args.results.has_plot() && has_histograms(&options);
    Ok(options)
}
