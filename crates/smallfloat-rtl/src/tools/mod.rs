//! Running Yosys, Z3 and Verilator, and ending them: none outlives the process that runs it, unless
//! that is killed.

mod running;

use std::io::{self, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::Error;

pub use running::stop;
pub(crate) use running::{Folder, Process};

/// What a tool printed and how it ended.
#[derive(Debug)]
pub(crate) struct Run {
    /// Standard output, then standard error.
    pub(crate) text: String,
    pub(crate) succeeded: bool,
    /// Whether it was stopped because its time was over.
    pub(crate) timed_out: bool,
}

/// A tool of Debian's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    pub(crate) package: &'static str,
}

pub(crate) const YOSYS: Tool = Tool { name: "yosys", package: "yosys" };
pub(crate) const Z3: Tool = Tool { name: "z3", package: "z3" };
pub(crate) const VERILATOR: Tool = Tool { name: "verilator", package: "verilator" };

impl Tool {
    /// Runs the tool in a folder; one that takes longer is killed.
    pub(crate) fn run(
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

pub(crate) fn run(mut command: Command, limit: Option<Duration>) -> io::Result<Run> {
    let start = Instant::now();
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut process = Process::spawn(&mut command)?;
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
    let out = read(process.child.stdout.take().map(|stream| Box::new(stream) as Box<dyn Read + Send>));
    let err = read(process.child.stderr.take().map(|stream| Box::new(stream) as Box<dyn Read + Send>));
    let mut timed_out = false;
    let status = loop {
        if let Some(status) = process.child.try_wait()? {
            break status;
        }
        if limit.is_some_and(|limit| start.elapsed() >= limit) {
            timed_out = true;
            process.kill();
            break process.child.wait()?;
        }
        thread::sleep(PATIENCE);
    };
    let text = |stream: thread::JoinHandle<String>| stream.join().expect("a reader of text does not panic");
    let mut printed = text(out);
    printed += &text(err);
    Ok(Run { text: printed, succeeded: status.success(), timed_out })
}

impl Run {
    /// The first error that Yosys names, without the word; the last lines where there is none.
    pub(crate) fn error(&self) -> String {
        let found = self.text.lines().find(|line| line.contains("ERROR: "));
        found.map_or_else(|| self.last_lines(), |line| line.replacen("ERROR: ", "", 1))
    }

    /// The last lines that were printed.
    pub(crate) fn last_lines(&self) -> String {
        let lines: Vec<&str> = self.text.lines().filter(|line| !line.trim().is_empty()).collect();
        lines[lines.len().saturating_sub(3)..].join("\n")
    }
}
