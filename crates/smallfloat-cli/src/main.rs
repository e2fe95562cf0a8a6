//! The `smallfloat` command.
//!
//! | folder | what |
//! | --- | --- |
//! | `commands/` | one file per command: its arguments, its examples, and `run` |
//! | `arguments/` | arguments that several commands share, and what they make of them |
//! | `render/` | tables, JSON, progress, and text for formats, codes and numbers |
//! | `charts/` | pictures of reports, as SVG |
//! | `explore/` | the server of the explorer's page |
//!
//! There are no numerics here: every number comes from the library crates.

mod arguments;
mod charts;
mod cli;
mod commands;
#[cfg(feature = "explore")]
mod explore;
mod render;
mod sample;
#[cfg(unix)]
mod signals;

use std::io;
use std::process::ExitCode;

use anyhow::Error;

use crate::cli::Cli;
use crate::render::output::{Message, Output, message};

fn main() -> ExitCode {
    #[cfg(unix)]
    {
        survive_file_size_limits();
        allow_many_files();
        signals::remove_temporaries_when_told_to_stop();
    }
    match run() {
        Ok(code) => code,
        // Whoever reads us has read enough.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            // What, where, and why, from the outermost cause inward.
            message(Message::Error, &format!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// A limit on file sizes (`ulimit -f`) kills a process by a signal. With a handler in place the
/// write fails instead, so that the temporary is removed and the message says why.
#[cfg(unix)]
fn survive_file_size_limits() {
    let seen = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    // Without the handler the old file is whole all the same.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, seen);
}

/// The shards of a large checkpoint are open all together, on both sides: takes as many open files as
/// the system lets the process have.
#[cfg(unix)]
fn allow_many_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    // Where it is refused, a checkpoint of too many files says so.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

fn run() -> anyhow::Result<ExitCode> {
    let cli = Cli::from_arguments();
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
