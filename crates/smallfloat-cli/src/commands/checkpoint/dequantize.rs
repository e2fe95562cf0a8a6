//! `smallfloat dequantize`: codes back to wide floats.

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::Result;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use smallfloat::Rounding;
use smallfloat_tensor::{Dtype, dequantize};

use crate::arguments::files::{Input, check_outputs, note_leftovers, note_not_copied};
use crate::arguments::rounding as options;
use crate::render::output::Output;
use crate::render::progress::Bar;
use crate::render::text as words;

const AFTER_HELP: &str = "\
Examples:
  smallfloat dequantize model.cf8.safetensors -o model.f32.safetensors
  smallfloat dequantize q.safetensors -o out.safetensors --dtype bf16 --rounding to-odd
  smallfloat dequantize w.safetensors -o w.npy
  smallfloat dequantize checkpoint-fp8/ -o checkpoint-bf16/ --dtype bf16

Tensors that were not quantized are copied. A value that the dtype can't hold is an error, unless
a rounding is given. Products with scales that are no powers of two are rounded to nearest even,
each once, and counted; so are quotients by NVFP4's F32 number, in f64 too. A checkpoint folder
becomes a folder, with its index, its config.json (less what that says of the quantization) and
its other files.";

/// Turn a quantized file back into wide floats.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// The quantized file or checkpoint folder; `-` is standard input
    #[arg(value_name = "IN")]
    input: PathBuf,

    /// The .safetensors file to write, or .npy for a single tensor, or the folder for a folder
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,

    /// f64, f32, f16 or bf16
    #[arg(long, default_value = "f32", value_parser = dtype(), ignore_case = true)]
    dtype: Dtype,

    /// The rounding of values that the dtype does not have [default: refuse them]
    #[arg(long, value_name = "MODE", value_parser = options::deterministic(), ignore_case = true)]
    rounding: Option<Rounding>,

    /// Replace an output that exists
    #[arg(long, visible_alias = "force")]
    overwrite: bool,
}

fn dtype() -> impl TypedValueParser<Value = Dtype> {
    PossibleValuesParser::new(["f32", "bf16", "f16", "f64"])
        .try_map(|name| name.to_ascii_uppercase().parse::<Dtype>().ok().ok_or("not a dtype"))
}

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<()> {
    let output = (!args.input.is_dir()).then_some(&*args.output);
    check_outputs(&[("-o", output)], [], args.overwrite)?;
    if args.input.is_dir() {
        note_leftovers(&args.output);
    }
    let input = Input::open(&args.input)?;
    let done = {
        let bar = Bar::new();
        let mut update = |progress: smallfloat_tensor::Progress<'_>| bar.update(progress);
        let (path, overwrite) = (input.path(), args.overwrite);
        input.named(dequantize(path, &args.output, args.dtype, args.rounding, overwrite, &mut update))?
    };
    writeln!(out, "{}: {}, {}", args.output.display(), args.dtype, words::bytes(done.bytes))?;
    if done.rounded > 0 {
        let (count, rounding) = (words::plural(done.rounded, "value"), args.rounding);
        let mode = rounding.unwrap_or(Rounding::NearestEven).name();
        writeln!(out, "{count} rounded to {} ({mode}), each once", args.dtype)?;
    }
    note_not_copied(&done.not_copied);
    Ok(())
}
