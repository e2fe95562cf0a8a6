//! The `smallfloat` command: [`main_with`] is all of it.
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

use std::ffi::OsString;
use std::io;

use anyhow::Error;

use crate::render::output::{Message, Output, message};

/// The exit status of what was done, or of an answer that is yes.
const DONE: u8 = 0;
/// The exit status of an input or a run that failed, or of an answer that is no.
const FAILED: u8 = 1;
/// The exit status of arguments that are wrong, as clap has it.
const WRONG_USAGE: u8 = 2;

/// Runs the command with these arguments, the first of which is its own name, and returns its exit
/// status. Standard streams, signals and limits of the process are the command's from then on.
pub fn main_with(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    #[cfg(unix)]
    {
        survive_file_size_limits();
        allow_many_files();
        signals::remove_temporaries_when_told_to_stop();
    }
    let cli = match cli::parse(arguments) {
        Ok(cli) => cli,
        Err(answer) => {
            if let Some(error) = cli::wrong_format(&answer) {
                message(Message::Error, &format!("{error:#}{}", hint(&error)));
                return FAILED;
            }
            return match cli::print(&answer) {
                _ if answer.use_stderr() => WRONG_USAGE,
                // Whoever closed the stream does not want it.
                Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                    message(Message::Error, &format!("standard output: {error}"));
                    FAILED
                }
                _ => DONE,
            };
        }
    };
    let status_of_errors = cli.status_of_errors();
    let mut out = Output::stdout();
    let result = cli.run(&mut out);
    // Lines printed before an error are still good ones.
    let flushed = out.finish();
    match result.and_then(|yes| Ok(flushed.map(|()| yes)?)) {
        Ok(true) => DONE,
        Ok(false) => FAILED,
        // Whoever reads us has read enough.
        Err(error) if is_broken_pipe(&error) => DONE,
        Err(error) => {
            // What, where, and why, from the outermost cause inward.
            message(Message::Error, &format!("{error:#}{}", hint(&error)));
            status_of_errors
        }
    }
}

/// What the command can do about an error of the library.
fn hint(error: &Error) -> &'static str {
    let kinds = error.chain().filter_map(|cause| Some(cause.downcast_ref::<smallfloat::Error>()?.kind()));
    let unknown = |kind| matches!(kind, smallfloat::ErrorKind::UnknownFormat { suggestion: None, .. });
    if kinds.into_iter().any(unknown) { "; `smallfloat formats` lists them" } else { "" }
}

/// A limit on file sizes (`ulimit -f`) kills a process by a signal. With a handler in place the
/// write fails instead, so that the temporary is removed and the message says why.
#[cfg(unix)]
fn survive_file_size_limits() {
    let seen = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    // Without the handler the old file is whole all the same.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, seen);
}

/// The shards of a large checkpoint are open all together, on both sides: takes as many open files
/// as the system lets the process have.
#[cfg(unix)]
fn allow_many_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    // Where it is refused, a checkpoint of too many files says so.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

/// Returns whether the reader of a stream has gone. An error of `serde_json` has its cause inside,
/// where the chain of causes does not show it.
fn is_broken_pipe(error: &Error) -> bool {
    error.chain().any(|cause| {
        let of_file =
            cause.downcast_ref::<smallfloat_tensor::Error>().and_then(smallfloat_tensor::Error::io_error);
        let kind = of_file.or(cause.downcast_ref::<io::Error>()).map(io::Error::kind);
        let inside = cause.downcast_ref::<serde_json::Error>().and_then(serde_json::Error::io_error_kind);
        kind.or(inside) == Some(io::ErrorKind::BrokenPipe)
    })
}
