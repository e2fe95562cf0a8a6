//! The `smallfloat` command: small floating-point formats of machine learning, exactly.
//!
//! One file a command under `commands/`; what they share is in `options` (arguments), `recipe` (what is quantized and how), `files`, `output` (writing), `report`
//! and `picture` (what quantizing did), `cost_picture` (what biases would cost), `kappa_picture` (steps along an operand),
//! `lab_picture` (experiments), `train_picture` (losses and biases of training), `explore` (the server of a page) and
//! `words` (formats, codes and numbers in
//! words). No numerics here: every number comes from the library crates.

mod cli;
mod commands;
mod cost_picture;
mod declaration;
#[cfg(feature = "explore")]
mod explore;
mod files;
mod input;
mod json;
mod kappa_picture;
mod lab_picture;
mod options;
mod output;
mod picture;
mod progress;
mod recipe;
mod report;
mod sample;
mod schemes;
#[cfg(feature = "train")]
mod train_picture;
mod words;

use std::io::{self, IsTerminal};
use std::process::ExitCode;

use anyhow::Error;
use clap::Parser;

use crate::cli::Cli;
use crate::output::Output;

fn main() -> ExitCode {
    #[cfg(unix)]
    survive_file_size_limits();
    match run() {
        Ok(code) => code,
        // Whoever reads us has read enough.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            report(&error);
            ExitCode::FAILURE
        }
    }
}

/// A limit on file sizes (`ulimit -f`) kills a process by a signal. With a handler in place the write fails instead, so
/// that the temporary is removed and the message says why.
#[cfg(unix)]
fn survive_file_size_limits() {
    let seen = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    // Without the handler the old file is whole all the same.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, seen);
}

fn run() -> anyhow::Result<ExitCode> {
    let cli = Cli::parse();
    let mut out = Output::stdout();
    let result = cli.run(&mut out);
    // Lines printed before an error are still good ones.
    let flushed = out.finish();
    let code = result?;
    flushed?;
    Ok(code)
}

fn is_broken_pipe(error: &Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}

/// One line on standard error: what, where, and why, from the outermost cause inward.
fn report(error: &Error) {
    let (red, plain) =
        if output::wants_colour(io::stderr().is_terminal()) { ("\x1b[1;31m", "\x1b[0m") } else { ("", "") };
    eprintln!("smallfloat: {red}error:{plain} {error:#}");
}
