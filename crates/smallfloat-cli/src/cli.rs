//! The command line: which commands there are. Each command's arguments live in its own file.

use std::process::ExitCode;

use clap::builder::Styles;
use clap::builder::styling::AnsiColor;
use clap::{Parser, Subcommand};

use crate::commands::{convert, formats, show, table};
use crate::output::Output;

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

const AFTER_HELP: &str = "\
Example:
  smallfloat show cfloat8_1_4_3:bias=7 =1.1

Formats are named as `smallfloat formats` lists them: e4m3fn, cfloat8_1_4_3:bias=7,
binary8p3se, Binary{8, 3, Signed, Extended}, minifloat:k=8,p=4,bias=7. Case does not
matter. `smallfloat COMMAND --help` has examples of each command.

Exit status: 0 done; 1 the input or the run failed, and standard error says what, where
and what would be right; 2 wrong usage.";

/// Small floating-point formats of machine learning, exactly.
#[derive(Parser)]
#[command(name = "smallfloat", version, styles = STYLES, max_term_width = 100, after_help = AFTER_HELP)]
#[command(arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    Formats(formats::Args),
    Table(table::Args),
    Show(show::Args),
    Convert(convert::Args),
}

impl Command {
    pub(crate) fn run(self, out: &mut Output) -> anyhow::Result<ExitCode> {
        match self {
            Self::Formats(args) => formats::run(&args, out),
            Self::Table(args) => table::run(&args, out),
            Self::Show(args) => show::run(&args, out),
            Self::Convert(args) => convert::run(&args, out),
        }?;
        Ok(ExitCode::SUCCESS)
    }
}
