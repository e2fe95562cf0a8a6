//! The command line: which commands there are. Each command's arguments live in its own file.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::builder::Styles;
use clap::builder::styling::AnsiColor;
use clap::{CommandFactory as _, Parser, Subcommand};

use crate::commands::checkpoint::{clean, compare, dequantize, inspect, quantize, sample, verify};
use crate::commands::conformance::{kappa, vectors};
use crate::commands::lab;
use crate::commands::numbers::{convert, eval, formats, show, supports, table};
use crate::commands::shard::{apply, finalize, plan};
use crate::render::output::Output;

#[cfg(feature = "explore")]
use crate::commands::explore;
#[cfg(feature = "train")]
use crate::commands::train;

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

const AFTER_HELP: &str = "\
Examples:
  smallfloat
  smallfloat quantize model.safetensors -o model.cf8.safetensors
  smallfloat show cfloat8_1_4_3:bias=7 1.1

Without a command, a built-in sample checkpoint is quantized, reported and verified.

Formats are named as `smallfloat formats` lists them: e4m3fn, cfloat8_1_4_3:bias=7,
binary8p3se, Binary{8, 3, Signed, Extended}, minifloat:k=8,p=4,bias=7. Case does not
matter. `smallfloat COMMAND --help` has examples of each command.

Exit status: 0 done; 1 the input or the run failed, and standard error says what, where
and what would be right; 2 wrong usage.";

/// Small floating-point formats of machine learning, exactly.
#[derive(Parser)]
#[command(name = "smallfloat", version, styles = STYLES, max_term_width = 100, after_help = AFTER_HELP)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Option<Command>,

    /// Without a command: print the sample's reports as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Subcommand)]
enum Command {
    Formats(formats::Args),
    Table(table::Args),
    Show(show::Args),
    Convert(convert::Args),
    Eval(eval::Args),
    Supports(supports::Args),
    Kappa(kappa::Args),
    Lab(lab::Args),
    #[cfg(feature = "explore")]
    Explore(explore::Args),
    Quantize(Box<quantize::Args>),
    Plan(Box<plan::Args>),
    Apply(apply::Args),
    Finalize(finalize::Args),
    Dequantize(dequantize::Args),
    Inspect(inspect::Args),
    Compare(compare::Args),
    Verify(verify::Args),
    Clean(clean::Args),
    Vectors(vectors::Args),
    #[cfg(feature = "train")]
    Train(Box<train::Args>),
}

/// Commands whose operands may start with a hyphen, as -0.3 does.
const WITH_OPERANDS: [&str; 3] = ["show", "convert", "eval"];

/// The arguments with the options of such a command before `--` and its operands behind it, so that
/// both may be typed in any order: an option starts with two hyphens.
fn options_first(arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut all: Vec<OsString> = arguments.collect();
    let named = |name: &OsString| WITH_OPERANDS.iter().any(|known| name == known);
    if !all.get(1).is_some_and(named) {
        return all;
    }
    let command = Cli::command();
    let command = all[1].to_str().and_then(|name| command.find_subcommand(name)).expect("it is one");
    let takes_value = |option: &str| {
        command
            .get_arguments()
            .any(|argument| argument.get_long() == Some(option) && argument.get_action().takes_values())
    };
    let mut operands = Vec::new();
    let mut rest = all.split_off(2).into_iter();
    while let Some(argument) = rest.next() {
        match argument.to_str() {
            Some("--") => {
                operands.extend(rest.by_ref());
            }
            Some("-h") => all.push(argument),
            Some(text) if text.starts_with("--") => {
                let takes = takes_value(&text[2..]);
                all.push(argument);
                if takes {
                    all.extend(rest.next());
                }
            }
            _ => operands.push(argument),
        }
    }
    if !operands.is_empty() {
        all.push("--".into());
        all.extend(operands);
    }
    all
}

impl Cli {
    /// The command line of this process; wrong usage ends it.
    pub(crate) fn from_arguments() -> Self {
        Self::parse_from(options_first(std::env::args_os()))
    }

    pub(crate) fn run(self, out: &mut Output) -> anyhow::Result<ExitCode> {
        match self.command {
            None => sample::run(self.json, out),
            Some(Command::Formats(args)) => formats::run(&args, out),
            Some(Command::Table(args)) => table::run(&args, out),
            Some(Command::Show(args)) => show::run(&args, out),
            Some(Command::Convert(args)) => convert::run(&args, out),
            Some(Command::Eval(args)) => eval::run(&args, out),
            // The answer is the exit status too.
            Some(Command::Supports(args)) => return supports::run(&args, out),
            Some(Command::Kappa(args)) => kappa::run(&args, out),
            Some(Command::Lab(args)) => lab::run(&args, out),
            #[cfg(feature = "explore")]
            Some(Command::Explore(args)) => explore::run(&args, out),
            Some(Command::Quantize(args)) => quantize::run(&args, out),
            Some(Command::Plan(args)) => plan::run(&args, out),
            Some(Command::Apply(args)) => apply::run(&args, out),
            Some(Command::Finalize(args)) => finalize::run(&args, out),
            Some(Command::Dequantize(args)) => dequantize::run(&args, out),
            Some(Command::Inspect(args)) => inspect::run(&args, out),
            Some(Command::Compare(args)) => compare::run(&args, out),
            Some(Command::Clean(args)) => clean::run(&args, out),
            Some(Command::Vectors(args)) => return vectors::run(&args, out),
            Some(Command::Verify(args)) => verify::run(&args, out),
            #[cfg(feature = "train")]
            Some(Command::Train(args)) => train::run(&args, out),
        }?;
        Ok(ExitCode::SUCCESS)
    }
}
