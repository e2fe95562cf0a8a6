//! The command line: which commands there are. Each command's arguments live in its own file.

use std::error::Error as _;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::{self, Write as _};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::arguments::results::ResultArgs;
use crate::commands::checkpoint::{clean, compare, dequantize, doctor, inspect, quantize, sample, verify};
use crate::commands::conformance::{kappa, vectors};
use crate::commands::numbers::{convert, eval, formats, show, supports, table};
use crate::commands::rtl::prove;
use crate::commands::setup::{about, completions, man};
use crate::commands::{lab, rtl, shard};
use crate::render::output::Output;

#[cfg(feature = "explore")]
use crate::commands::explore;
#[cfg(feature = "train")]
use crate::commands::train;

/// What the command is called.
const NAME: &str = "smallfloat";

/// The commands as the help groups them: each is in one group.
const GROUPS: [(&str, &[&str]); 6] = [
    ("Look at formats", &["explore", "formats", "show", "table"]),
    ("Compute", &["convert", "eval", "supports"]),
    (
        "Quantize files",
        &["quantize", "dequantize", "inspect", "compare", "verify", "doctor", "clean", "shard"],
    ),
    ("Test hardware", &["vectors", "kappa", "prove", "rtl"]),
    ("Experiment", &["lab", "train"]),
    ("Set up", &["completions", "man"]),
];

const AFTER_HELP: &str = "\
Examples:
  smallfloat
  smallfloat quantize model.safetensors -o model.cf8.safetensors
  smallfloat show cfloat8_1_4_3:bias=7 1.1

Without a command, a built-in sample checkpoint is quantized, reported and verified;
--plot, --report and --json are of its results.

Formats are named as `smallfloat formats` lists them: e4m3fn, cfloat8_1_4_3:bias=7,
binary8p3se, Binary{8, 3, Signed, Extended}, minifloat:k=8,p=4,bias=7. Case does not
matter. `smallfloat COMMAND --help` has examples of each command.

Exit status: 0 done; 1 the input or the run failed, and standard error says what, where
and what would be right; 2 wrong usage.";

/// Small floating-point formats of machine learning, exactly.
#[derive(Parser)]
#[command(name = NAME, version, max_term_width = 100, after_help = AFTER_HELP)]
#[command(args_conflicts_with_subcommands = true, disable_version_flag = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Option<Command>,

    #[command(flatten)]
    results: ResultArgs,

    /// Print the version
    #[arg(short = 'V', long)]
    version: bool,

    /// Print the version, the licences, and the notices of what is linked and built in
    #[arg(long, alias = "licenses")]
    licences: bool,
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
    Dequantize(dequantize::Args),
    Inspect(inspect::Args),
    Compare(compare::Args),
    Verify(verify::Args),
    Doctor(doctor::Args),
    Clean(clean::Args),
    Shard(shard::Args),
    Vectors(vectors::Args),
    Prove(Box<prove::Args>),
    Rtl(rtl::Args),
    #[cfg(feature = "train")]
    Train(Box<train::Args>),
    Completions(completions::Args),
    Man(man::Args),
}

/// The whole command line, with the groups in its help.
fn command() -> clap::Command {
    let command = Cli::command();
    let help = help_template(&command);
    command.help_template(help)
}

/// The arguments as parsed; else help, the version, or what is wrong with them.
pub(crate) fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
    let mut command = command();
    let matches = command.try_get_matches_from_mut(options_first(arguments));
    let matches = matches.map_err(|error| plain_number(with_group(error, &command), &command))?;
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// What is wrong with a format that clap itself read: told as commands tell it that read their own.
pub(crate) fn wrong_format(answer: &clap::Error) -> Option<anyhow::Error> {
    let error = *std::error::Error::source(answer)?.downcast_ref::<smallfloat::Error>()?;
    let Some(ContextValue::String(option)) = answer.get(ContextKind::InvalidArg) else { return None };
    let option = option.split(' ').next().unwrap_or_default().to_owned();
    Some(anyhow::Error::new(error).context(option))
}

/// Prints a help or a complaint. A complaint begins as all our errors do.
pub(crate) fn print(answer: &clap::Error) -> io::Result<()> {
    if answer.use_stderr() && answer.kind() != ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        let _ = write!(io::stderr(), "{NAME}: ");
    }
    answer.print()
}

/// The help's template: clap itself knows no groups of commands.
fn help_template(command: &clap::Command) -> String {
    let mut help = "{about-with-newline}\n{usage-heading} {usage}\n\n".to_owned();
    // Writing to a string can't fail.
    for (group, names) in GROUPS {
        let _ = writeln!(help, "{group}:");
        for name in names {
            // Some commands are features.
            let Some(below) = command.find_subcommand(name) else { continue };
            let about = below.get_about().map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(help, "  {name:<12}{about}");
        }
        help.push('\n');
    }
    help.push_str("Options:\n{options}{after-help}");
    help
}

/// An unknown command that is known below another gets a hint: `shard plan` for `plan`.
fn with_group(mut error: clap::Error, command: &clap::Command) -> clap::Error {
    if error.kind() == ErrorKind::InvalidSubcommand
        && let Some(ContextValue::String(name)) = error.get(ContextKind::InvalidSubcommand)
        && let Some(group) = command.get_subcommands().find(|group| group.find_subcommand(name).is_some())
    {
        let full = format!("{} {name}", group.get_name());
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(vec![full]));
    }
    error
}

/// What std says of a number that it can't read ("invalid digit found in string", "number would be
/// zero for non-zero type") becomes what would be right.
fn plain_number(error: clap::Error, command: &clap::Command) -> clap::Error {
    use std::num::{IntErrorKind, ParseFloatError, ParseIntError};
    let right = match error.source() {
        Some(cause) if cause.is::<ParseFloatError>() => "write a number",
        Some(cause) => match cause.downcast_ref::<ParseIntError>().map(ParseIntError::kind) {
            Some(IntErrorKind::Zero) => "write a whole number from 1 on",
            Some(IntErrorKind::PosOverflow | IntErrorKind::NegOverflow) => "it is beyond 64 bits",
            Some(_) => "write a whole number",
            None => return error,
        },
        None => return error,
    };
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => text.as_str(),
        _ => "",
    };
    let (value, option) = (text(ContextKind::InvalidValue), text(ContextKind::InvalidArg));
    let hint = "For more information, try '--help'.";
    let message = format!("invalid value '{value}' for '{option}': {right}\n\n{hint}\n");
    clap::Error::raw(ErrorKind::ValueValidation, message).with_cmd(command)
}

/// Commands whose operands may start with a hyphen, as -0.3 does.
const WITH_OPERANDS: [&str; 3] = ["show", "convert", "eval"];

/// The arguments with the options of such a command before `--` and its operands behind it, so that
/// both may be typed in any order: an option starts with two hyphens.
fn options_first(arguments: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut all: Vec<OsString> = arguments.into_iter().collect();
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
    /// The exit status of an error: where 1 is an answer, another one.
    pub(crate) fn status_of_errors(&self) -> u8 {
        if matches!(self.command, Some(Command::Prove(_))) { prove::NO_ANSWER } else { crate::FAILED }
    }

    /// Returns whether the answer is yes, for commands that are a question.
    pub(crate) fn run(self, out: &mut Output) -> anyhow::Result<bool> {
        match self.command {
            None if self.licences => about::licences(out),
            None if self.version => about::version(out),
            None => sample::run(&self.results, out),
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
            Some(Command::Dequantize(args)) => dequantize::run(&args, out),
            Some(Command::Inspect(args)) => inspect::run(&args, out),
            Some(Command::Doctor(args)) => doctor::run(&args, out),
            Some(Command::Compare(args)) => compare::run(&args, out),
            Some(Command::Clean(args)) => clean::run(&args, out),
            Some(Command::Shard(args)) => shard::run(&args, out),
            Some(Command::Vectors(args)) => return vectors::run(&args, out),
            Some(Command::Prove(args)) => return prove::run(&args, out),
            Some(Command::Rtl(args)) => rtl::run(&args, out),
            Some(Command::Verify(args)) => verify::run(&args, out),
            #[cfg(feature = "train")]
            Some(Command::Train(args)) => train::run(&args, out),
            Some(Command::Completions(args)) => completions::run(&args, command(), out),
            Some(Command::Man(args)) => man::run(&args, command(), out),
        }?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_command_is_in_one_group_and_its_line_fits() {
        let command = Cli::command();
        let names: BTreeSet<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
        let grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let once: BTreeSet<&str> = grouped.iter().copied().collect();
        assert_eq!(grouped.len(), once.len(), "a command is in two groups");
        if cfg!(all(feature = "explore", feature = "train")) {
            assert_eq!(names, once);
        }
        assert!(names.is_subset(&once));
        for below in command.get_subcommands() {
            let about = below.get_about().map(ToString::to_string).unwrap_or_default();
            assert!(!about.is_empty() && about.chars().count() <= 80 - 14, "{}: {about}", below.get_name());
            assert!(!about.contains('{'), "a brace is a tag in a help template: {about}");
        }
    }

    /// Help is at most 100 columns wide; lines that are broken anew are no examples to copy.
    #[test]
    fn lines_of_help_fit() {
        fn check(command: &clap::Command) {
            let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            for line in text.lines().filter(|line| !line.starts_with(' ') || line.contains("smallfloat ")) {
                assert!(line.chars().count() <= 100, "{}: {line}", command.get_name());
            }
            command.get_subcommands().for_each(check);
        }
        check(&Cli::command());
    }

    #[test]
    fn the_command_line_is_consistent() {
        command().debug_assert();
    }
}
