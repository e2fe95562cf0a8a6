//! `smallfloat shard`: quantizing in shards.

use anyhow::Result;
use clap::Subcommand;

use crate::render::output::Output;

mod apply;
mod finalize;
mod plan;

const AFTER_HELP: &str = "\
Examples:
  smallfloat shard plan checkpoint/ -o checkpoint-fp8/ --scheme fp8 --plan plan.json
  smallfloat shard apply plan.json --shard 0      # each shard, anywhere, in any order
  smallfloat shard finalize plan.json

The files are those that `smallfloat quantize` would write. `smallfloat shard COMMAND --help`
has more about each step.";

/// Quantize a large checkpoint in shards: plan, apply, finalize.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP, subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Plan(Box<plan::Args>),
    Apply(apply::Args),
    Finalize(finalize::Args),
}

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<()> {
    match &args.command {
        Command::Plan(args) => plan::run(args, out),
        Command::Apply(args) => apply::run(args, out),
        Command::Finalize(args) => finalize::run(args, out),
    }
}
