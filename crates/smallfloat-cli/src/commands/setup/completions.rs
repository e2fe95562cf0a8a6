//! `smallfloat completions`: what a shell reads to complete commands, options and their values.

use std::io::Write as _;

use anyhow::Result;
use clap::Command;
use clap_complete::{Shell, generate};

use crate::render::output::Output;

const AFTER_HELP: &str = "\
Examples:
  smallfloat completions bash > ~/.local/share/bash-completion/completions/smallfloat
  smallfloat completions fish > ~/.config/fish/completions/smallfloat.fish
  smallfloat completions zsh > _smallfloat      # in a folder of $fpath";

/// Print what your shell needs to complete this command.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

/// Prints the script for a command line.
pub(crate) fn run(args: &Args, mut command: Command, out: &mut Output) -> Result<()> {
    // The generator panics where it can't write.
    let mut script = Vec::new();
    let name = command.get_name().to_owned();
    generate(args.shell, &mut command, name, &mut script);
    Ok(out.write_all(&script)?)
}
