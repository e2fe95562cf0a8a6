//! `smallfloat completions`: what a shell reads to complete commands, options and their values.

use std::io::Write as _;

use anyhow::Result;
use clap_complete::{Shell, generate};

use crate::cli;
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

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<()> {
    // The generator panics where it can't write.
    let mut script = Vec::new();
    generate(args.shell, &mut cli::command(), cli::NAME, &mut script);
    Ok(out.write_all(&script)?)
}
