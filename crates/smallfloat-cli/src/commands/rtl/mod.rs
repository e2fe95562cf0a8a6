//! `smallfloat prove` and `smallfloat rtl`: designs in SystemVerilog.

use anyhow::Result;
use clap::Subcommand;

use crate::render::output::Output;

pub(crate) mod prove;
mod spec;

const AFTER_HELP: &str = "\
Examples:
  smallfloat rtl spec --op convert --from binary32 --to cfloat8_1_4_3:bias=7 -o spec.sv

`smallfloat rtl COMMAND --help` has more.";

/// Write SystemVerilog: specifications of formats and operations.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP, subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Spec(Box<spec::Args>),
}

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<()> {
    match &args.command {
        Command::Spec(args) => spec::run(args, out),
    }
}
