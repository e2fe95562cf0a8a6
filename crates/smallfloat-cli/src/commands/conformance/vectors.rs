//! `smallfloat vectors`: test vectors for hardware and other implementations.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Subcommand;
use smallfloat::FlagOrder;
use smallfloat_conformance::vectors::{
    CoverageLevel, LineKind, LineLayout, Selection, Shard, VectorPlan, VectorSet, VectorUnit, WriteError,
};
use smallfloat_tensor::DurableFile;

use crate::arguments::files::check_outputs;
use crate::arguments::unit::PortedUnitArgs;
use crate::commands::conformance::{vectors_check, vectors_cover, vectors_pack};
use crate::render::output::Output;
use crate::render::text as words;

const AFTER_HELP: &str = "\
Examples:
  smallfloat vectors gen --op convert --from binary32 --to cfloat8_1_4_3:bias=7 > vectors.txt
    my-simulator vectors.txt | smallfloat vectors check -
  smallfloat vectors cover vectors.txt
  smallfloat vectors pack ofp8 -o ofp8

`smallfloat vectors gen --help`, `check --help`, `cover --help` and `pack --help` have more.";

/// Generate test vectors and packs, check answers, measure coverage
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP, subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Gen(Box<GenArgs>),
    Check(Box<vectors_check::Args>),
    Cover(Box<vectors_cover::Args>),
    Pack(vectors_pack::Args),
}

const GEN_HELP: &str = "\
Examples:
  smallfloat vectors gen --op convert --from binary32 --to e4m3fn --saturation satfinite
  smallfloat vectors gen --op Add --format e5m2 --rounding toward-zero --layout csv
  smallfloat vectors gen --op 'FMA<e4m3fn, e4m3fn, binary32, e4m3fn>' --level 2 --seed 7 -o fma.txt
  smallfloat vectors gen --op convert --from binary32 --to cfloat8_1_4_3:bias=7 \\
      --rounding stochastic-a --random-bits 8 --layout readmemh -o sr.hex
  smallfloat vectors gen --op 'BlockDotProduct<2, e8m0fnu, e2m1fn, e8m0fnu, e2m1fn, binary32>'
  smallfloat vectors gen --op dot --format e4m3fn --accumulate hopper --length 64
  smallfloat vectors gen --op dot --format e2m1fn --accumulate blackwell --scales e4m3fn
  smallfloat vectors gen --from bfloat16 --to nf4
  smallfloat vectors gen --op FMA --format binary16 --flags riscv
  smallfloat vectors gen --from binary16 --to cfloat8_1_4_3 --ports bias,rounding --count 1000000
  smallfloat vectors gen --op FMA --format binary32 --only random --count 1000000 --shard 2/8
  smallfloat vectors gen --close vectors.txt -o missing.txt

A line has the operands' codes, a random word where the rounding takes one, the result's code, and
flags: bit 0 inexact, 1 underflow, 2 overflow, 3 division by zero, 4 invalid, 5 denormal, or in
the order of another register (--flag-order). --flags names the unit's rules for them. --ports has
columns in front: the bias as a number, rounding as RISC-V's rm (0 nearest-even, 1 toward-zero, 2
toward-negative, 3 toward-positive, 4 nearest-away, 5 to-odd), saturation (0 satfinite, 1
satpropagate, 2 satnone, 3 satnone-v40); x_bias, y_bias, z_bias and result_bias are apart. Sums of
products (dot) have all x, all y, all scales of x and all of y if there are some (--scales), and
the accumulator that a matrix unit begins with. Blocks are a scale and its elements, one after the
other; their flags are those of all elements. The header names operation, formats, rules and
flags, seed and number of lines; the last line is a comment with the SHA-256 of the lines as the
testfloat layout has them.

Levels: exhaustive is every combination of operands, up to 2^32 (the default up to 2^24); 1 and 2
are extremes, binades and special significands, each with each, operands solved for so that
results lie on rounding boundaries and beside them or cancel, and weighted random lines.";

/// Write test vectors: operands with the defined result and its flags.
#[derive(clap::Args)]
#[command(after_help = GEN_HELP)]
pub(super) struct GenArgs {
    #[command(flatten)]
    unit: PortedUnitArgs,

    /// How much is tried: exhaustive, 1 or 2 [default: exhaustive up to 2^24 lines, else 1]
    #[arg(long, value_name = "LEVEL")]
    level: Option<CoverageLevel>,

    /// testfloat, readmemh, csv or jsonl
    #[arg(long, value_name = "LAYOUT", default_value = "testfloat")]
    layout: LineLayout,

    /// How many random lines [default: 10,000 at level 1, 1,000,000 at level 2]
    #[arg(long, value_name = "N")]
    random: Option<u64>,

    /// One part of N of the same lines, from 1/N to N/N
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,

    /// Lines of one kind only: directed or random
    #[arg(long, value_name = "KIND")]
    only: Option<LineKind>,

    /// How many lines: of more directed ones some evenly spread, of fewer these and random ones
    #[arg(long, value_name = "N", conflicts_with = "random")]
    count: Option<u64>,

    /// Instead of a level, vectors for the bins that these files leave out (see `vectors cover`)
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["level", "random", "only", "count"])]
    close: Vec<PathBuf>,

    /// The file to write; without it, or with `-`, standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Replace a file that exists
    #[arg(long, visible_alias = "force")]
    overwrite: bool,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<bool> {
    match &args.command {
        Command::Gen(args) => generate(args, out).map(|()| true),
        Command::Check(args) => vectors_check::run(args, out),
        Command::Cover(args) => vectors_cover::run(args, out),
        Command::Pack(args) => vectors_pack::run(args, out).map(|()| true),
    }
}

/// The vectors that the options name.
pub(super) fn set(args: &GenArgs) -> Result<VectorSet> {
    let (unit, plan) = plan(args)?;
    let plan = match args.shard {
        Some(shard) => plan.with_shard(shard),
        None => plan,
    };
    let order = args.unit.unit.flags.flag_order.unwrap_or(FlagOrder::Fflags);
    Ok(VectorSet::new(unit, plan, args.unit.unit.flags.set()).with_order(order))
}

/// What is under test, and its operands.
fn plan(args: &GenArgs) -> Result<(VectorUnit, VectorPlan)> {
    if !args.close.is_empty() {
        let coverage = vectors_cover::count(&args.close, &args.unit, None)?;
        let plan = coverage.closing_plan();
        let plan =
            plan.context("--close: nothing is missing, all bins that are known to be reachable are reached")?;
        return Ok((coverage.unit().clone(), plan));
    }
    let Some(unit) = args.unit.unit()? else {
        bail!("name what is under test: --op OPERATION, or --from FORMAT --to FORMAT");
    };
    let seed = args.unit.unit.projection.seed.unwrap_or(0);
    let selection = Selection { random: args.random, only: args.only, count: args.count };
    Ok((unit.clone(), VectorPlan::with_selection(&unit, args.level, seed, selection)?))
}

fn generate(args: &GenArgs, out: &mut Output) -> Result<()> {
    let set = set(args)?;
    let path = args.output.as_deref().filter(|path| *path != Path::new("-"));
    let Some(path) = path else {
        return set.write(args.layout, out).map_err(unwrapped);
    };
    check_outputs(&[("-o", Some(path))], [], args.overwrite)?;
    let mut file = DurableFile::create(path, args.overwrite)?;
    set.write(args.layout, &mut file).map_err(unwrapped)?;
    file.commit()?;
    let lines = words::plural(set.plan().lines(), "vector");
    let ports = set.unit().ports().map_or_else(String::new, |ports| format!("; ports {ports}"));
    writeln!(out, "{}: {lines} of {}{ports} ({})", path.display(), set.unit(), set.plan())?;
    Ok(())
}

/// An output's error as itself, so that a closed pipe is known for one.
pub(super) fn unwrapped(error: WriteError) -> anyhow::Error {
    match error {
        WriteError::Write(error) => error.into(),
        WriteError::UnitUnderTest(error) => error.into(),
    }
}
