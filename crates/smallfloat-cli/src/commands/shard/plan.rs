//! `smallfloat shard plan`: a quantization in shards, for schedulers and clusters.

use std::io::Write as _;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use smallfloat_tensor::{Plan, Sharding, plan, write_file_durably};

use crate::arguments::files::{check_outputs, note_not_copied};
use crate::arguments::quantize::check_patterns;
use crate::arguments::quantize::{RecipeArgs, has_histograms};
use crate::render::output::{Message, Output, message};
use crate::render::text as words;

const AFTER_HELP: &str = "\
Examples:
  smallfloat shard plan checkpoint/ -o checkpoint-fp8/ --scheme fp8 --plan plan.json
  smallfloat shard plan model.safetensors -o small/ --shards 16 > plan.json
  smallfloat shard plan model.safetensors -o small/ --shard-bytes 5GB --rounding stochastic-a \\
      > plan.json
  smallfloat shard apply plan.json --shard 0      # each shard, anywhere, in any order
  smallfloat shard finalize plan.json

Only headers are read, and nothing but the plan is written. The plan is JSON with all options
that decide bytes, the inputs with their sizes and the digests of their headers, and every
tensor with its shard. The folders in it are absolute: all machines must see them under the
same names.

Without --shards and --shard-bytes there is a shard for each file of the input. Tensors are
never cut, so a shard may be larger than asked for. Tensors that share a scale stay in one
shard, or, where the input's files are kept, each shard reads the others' values too. The
tensors that come out are those of `quantize`, however they are parted.";

/// Plan the work of `quantize` in shards.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Args {
    /// The file with the tensors, or a folder with .safetensors files
    #[arg(value_name = "IN")]
    input: PathBuf,

    /// The folder of the outputs; `shard apply` makes it
    #[arg(short, long, value_name = "OUT_DIR")]
    output: PathBuf,

    /// At most this many shards, about equal in bytes
    #[arg(long, value_name = "N", conflicts_with = "shard_bytes")]
    shards: Option<NonZeroU64>,

    /// Output files with at most this many bytes of tensors, such as 5GB or 512MiB
    #[arg(long, value_name = "SIZE", value_parser = size)]
    shard_bytes: Option<NonZeroU64>,

    /// Write the plan to this file [default: standard output]
    #[arg(long, value_name = "FILE.json")]
    plan: Option<PathBuf>,

    /// Count exponents, so that `shard finalize --plot` can draw them; costs a look at the data
    /// where the bias is given
    #[arg(long)]
    histograms: bool,

    /// Make `shard apply` refuse a shard if any value would change, and say which tensors and why
    #[arg(long)]
    lossless: bool,

    /// Replace files that exist, the plan and what is in the output folder
    #[arg(long, visible_alias = "force")]
    overwrite: bool,

    #[command(flatten)]
    recipe: RecipeArgs,
}

pub(super) fn run(args: &Args, out: &mut Output) -> Result<()> {
    ensure!(
        args.input != Path::new("-"),
        "a plan is for files that stay; standard input is gone when `shard apply` runs"
    );
    let mut options = args.recipe.options()?;
    options.overwrite = args.overwrite;
    options.histograms = args.histograms;
    if args.lossless {
        args.recipe.keep_all(&mut options);
    }
    ensure!(
        !args.histograms || has_histograms(&options),
        "--histograms are counted for tensors with one bias each; leave it out for channels, blocks and scales, \
         `finalize --plot` draws their ranges"
    );
    let patterns = args.recipe.patterns()?;
    check_outputs(&[("--plan", args.plan.as_deref())], [&*args.input], args.overwrite)?;
    check_patterns(&patterns, &args.input)?;
    let sharding = match (args.shards, args.shard_bytes) {
        (Some(count), _) => Sharding::Count(count),
        (_, Some(bytes)) => Sharding::Bytes(bytes),
        (None, None) => Sharding::Files,
    };
    let plan = plan(&args.input, &args.output, &options, &|name| patterns.select(name), sharding)?;
    let json = plan.to_json()?;
    match &args.plan {
        Some(path) => write_file_durably(path, &json, args.overwrite).context("--plan")?,
        None => out.write_all(&json)?,
    }
    message(Message::Plain, &in_words(&plan));
    note_not_copied(plan.not_copied());
    Ok(())
}

/// Standard output may be the plan, so this is for standard error.
fn in_words(plan: &Plan) -> String {
    let shards = plan.shards();
    let (smallest, largest) =
        plan.shard_bytes().fold((u64::MAX, 0), |(low, high), bytes| (low.min(bytes), high.max(bytes)));
    format!(
        "{} of {} -> {} of {} to {}, --shard 0 to {}",
        words::plural(plan.tensors() as u64, "tensor"),
        words::bytes(plan.bytes_in()),
        words::plural(shards as u64, "shard"),
        words::bytes(smallest),
        words::bytes(largest),
        shards.saturating_sub(1)
    )
}

/// A number of bytes with a unit.
fn size(text: &str) -> Result<NonZeroU64> {
    const UNITS: [(&str, u64); 9] = [
        ("kib", 1 << 10),
        ("mib", 1 << 20),
        ("gib", 1 << 30),
        ("tib", 1 << 40),
        ("kb", 1000),
        ("mb", 1_000_000),
        ("gb", 1_000_000_000),
        ("tb", 1_000_000_000_000),
        ("b", 1),
    ];
    let lower = text.trim().to_lowercase();
    let split = UNITS.iter().find_map(|(unit, factor)| Some((lower.strip_suffix(unit)?, *factor)));
    let (digits, factor) = split.unwrap_or((&lower, 1));
    let bytes = digits.trim().parse::<u64>().ok().and_then(|n| n.checked_mul(factor));
    match bytes.and_then(NonZeroU64::new) {
        Some(bytes) => Ok(bytes),
        None => bail!("write a whole number of bytes above 0, or with a unit: 5GB, 512MiB"),
    }
}
