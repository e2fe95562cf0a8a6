//! `smallfloat prove` and `smallfloat rtl`: designs in SystemVerilog.

use anyhow::Result;
use clap::Subcommand;

use crate::render::output::Output;

mod cost;
mod generate;
pub(crate) mod prove;
mod spec;

const AFTER_HELP: &str = "\
Examples:
  smallfloat rtl spec --op convert --from binary32 --to cfloat8_1_4_3:bias=7 -o spec.sv
  smallfloat rtl gen --op Multiply --format e4m3fn -o mul.sv
  smallfloat rtl cost e4m3fn e5m2 cfloat8_1_4_3:bias=7

`smallfloat rtl COMMAND --help` has more.";

/// Write SystemVerilog units and specifications, and count gates.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP, subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Cost(Box<cost::Args>),
    Gen(Box<generate::Args>),
    Spec(Box<spec::Args>),
}

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<()> {
    match &args.command {
        Command::Cost(args) => cost::run(args, out),
        Command::Gen(args) => generate::run(args, out),
        Command::Spec(args) => spec::run(args, out),
    }
}
