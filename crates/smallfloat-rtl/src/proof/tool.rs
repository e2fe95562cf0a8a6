//! Running Yosys, Z3 and Verilator.

use std::io::{self, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::Error;

/// What a tool printed and how it ended.
#[derive(Debug)]
pub(super) struct Run {
    /// Standard output, then standard error.
    pub(super) text: String,
    pub(super) succeeded: bool,
    /// Whether it was stopped because its time was over.
    pub(super) timed_out: bool,
    pub(super) took: Duration,
}

/// A tool of Debian's.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tool {
    pub(super) name: &'static str,
    pub(super) package: &'static str,
}

pub(super) const YOSYS: Tool = Tool { name: "yosys", package: "yosys" };
pub(super) const Z3: Tool = Tool { name: "z3", package: "z3" };
pub(super) const VERILATOR: Tool = Tool { name: "verilator", package: "verilator" };

impl Tool {
    /// Runs the tool in a folder; one that takes longer is killed.
    pub(super) fn run(
        self,
        folder: &Path,
        arguments: &[String],
        limit: Option<Duration>,
    ) -> Result<Run, Error> {
        let mut command = Command::new(self.name);
        command.args(arguments).current_dir(folder);
        run(command, limit).map_err(|cause| Error::Tool { tool: self.name, cause, package: self.package })
    }
}

/// How often a process is looked at.
const PATIENCE: Duration = Duration::from_millis(10);

pub(super) fn run(mut command: Command, limit: Option<Duration>) -> io::Result<Run> {
    let start = Instant::now();
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let read = |stream: Option<Box<dyn Read + Send>>| {
        thread::spawn(move || {
            let mut bytes = Vec::new();
            if let Some(mut stream) = stream {
                // What was read before an error is still worth a message.
                let _ = stream.read_to_end(&mut bytes);
            }
            String::from_utf8_lossy(&bytes).into_owned()
        })
    };
    let out = read(child.stdout.take().map(|stream| Box::new(stream) as Box<dyn Read + Send>));
    let err = read(child.stderr.take().map(|stream| Box::new(stream) as Box<dyn Read + Send>));
    let mut timed_out = false;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if limit.is_some_and(|limit| start.elapsed() >= limit) {
            timed_out = true;
            child.kill()?;
            break child.wait()?;
        }
        thread::sleep(PATIENCE);
    };
    let text = |stream: thread::JoinHandle<String>| stream.join().expect("a reader of text does not panic");
    let mut printed = text(out);
    printed += &text(err);
    Ok(Run { text: printed, succeeded: status.success(), timed_out, took: start.elapsed() })
}

impl Run {
    /// The first error that Yosys names, without the word; the last lines where there is none.
    pub(super) fn error(&self) -> String {
        let found = self.text.lines().find(|line| line.contains("ERROR: "));
        found.map_or_else(|| self.last_lines(), |line| line.replacen("ERROR: ", "", 1))
    }

    /// The last lines that were printed.
    pub(super) fn last_lines(&self) -> String {
        let lines: Vec<&str> = self.text.lines().filter(|line| !line.trim().is_empty()).collect();
        lines[lines.len().saturating_sub(3)..].join("\n")
    }
}
