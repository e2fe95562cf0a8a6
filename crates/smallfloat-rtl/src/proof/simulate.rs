//! Simulation of all inputs: design and specification compiled together by Verilator.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use super::elaborate::write;
use super::miter::{self, MITER};
use super::{Bound, Design, ProofOptions};
use crate::error::Error;
use crate::specification::{Port, Specification};
use crate::tools::{Process, VERILATOR};

/// The values of the miter's ports by their names.
type Values = Vec<(String, u64)>;

/// More inputs than 2 to this are not simulated.
pub(super) const MAX_BITS: u32 = 32;

/// Up to 2 to this inputs take less time than to optimize the program for them.
const QUICK_BITS: u32 = 16;

/// Compiling takes no longer than this.
const LIMIT: Duration = Duration::from_secs(600);

/// The values of the miter's ports for an input that is a counterexample, if one is.
pub(super) fn simulate(
    design: &Design,
    specification: &Specification,
    bound: &Bound,
    options: &ProofOptions,
    folder: &Path,
) -> Result<Option<Values>, Error> {
    let inputs = specification.inputs();
    let outputs = miter::outputs(specification, bound);
    write(&folder.join("simulate.cpp"), &driver(&inputs, &outputs))?;
    let mut arguments: Vec<String> =
        ["--cc", "--exe", "--build", "-O3", "--x-assign", "unique", "-Wno-fatal", "-Wno-lint"]
            .map(str::to_owned)
            .to_vec();
    let bits: u32 = inputs.iter().map(|port| port.bits).sum();
    // Given last, where they replace what Verilator would choose.
    let level = if bits <= QUICK_BITS { "-O0" } else { "-O2" };
    let levels = ["OPT_FAST", "OPT_SLOW", "OPT_GLOBAL"].map(|part| format!("{part}={level}"));
    arguments.extend(levels.into_iter().flat_map(|level| ["-MAKEFLAGS".to_owned(), level]));
    arguments.extend(["--top-module", MITER, "--Mdir", "simulation", "-o", "simulate"].map(str::to_owned));
    for include in &design.includes {
        let found = include.canonicalize().map_err(|cause| Error::File { path: include.clone(), cause })?;
        arguments.push(format!("-I{}", found.display()));
    }
    arguments.extend(design.absolute_files()?.iter().map(|file| file.display().to_string()));
    arguments.extend(["specification.sv", "miter.sv", "simulate.cpp"].map(str::to_owned));
    let run = VERILATOR.run(folder, &arguments, Some(LIMIT))?;
    if !run.succeeded {
        let error = run.text.lines().find(|line| line.starts_with("%Error"));
        let message = error.map_or_else(|| run.last_lines(), str::to_owned);
        return Err(design.refused(VERILATOR.name, &message));
    }
    on_all_cores(folder, 1 << bits, options)
}

/// Runs the program on a part of the inputs for each core.
fn on_all_cores(folder: &Path, count: u64, options: &ProofOptions) -> Result<Option<Values>, Error> {
    let cores = thread::available_parallelism().map_or(1, |cores| cores.get() as u64);
    let parts = cores.min(count.div_ceil(1 << 16));
    let program = folder.join("simulation").join("simulate");
    let failed = |cause| Error::File { path: program.clone(), cause };
    let mut children = Vec::new();
    for part in 0..parts {
        let [start, end] = [part, part + 1].map(|i| {
            u64::try_from(u128::from(count) * u128::from(i) / u128::from(parts)).expect("below the count")
        });
        let mut command = Command::new(&program);
        command.args([start.to_string(), end.to_string()]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        children.push(Process::spawn(&mut command).map_err(failed)?);
    }
    let (sender, receiver) = std::sync::mpsc::channel();
    for process in &mut children {
        let (sender, out) = (sender.clone(), process.child.stdout.take().expect("it is piped"));
        thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
    }
    drop(sender);
    let (mut done, mut found) = (0_u64, None);
    for line in receiver {
        let mut words = line.split(' ');
        match words.next() {
            Some("done") => {
                done += words.next().and_then(|count| count.parse().ok()).unwrap_or(0_u64);
                if let Some(progress) = options.progress {
                    progress(done, count);
                }
            }
            Some("differ") => {
                let pair = |word: &str| {
                    let (name, value) = word.split_once('=')?;
                    Some((name.to_owned(), value.parse().ok()?))
                };
                found = Some(words.filter_map(pair).collect());
                break;
            }
            _ => {}
        }
    }
    for process in &mut children {
        if found.is_some() {
            process.kill();
        }
        process.child.wait().map_err(failed)?;
    }
    if found.is_none() && done != count {
        let message = format!("{done} of {count} inputs were simulated");
        return Err(Error::NoAnswer { tool: VERILATOR.name, message });
    }
    Ok(found)
}

/// The program: all inputs from one number to another, until one differs.
fn driver(inputs: &[Port], outputs: &[Port]) -> String {
    let mut text = format!(
        "// Tries all inputs from one number to another, until one differs.\n\
         #include \"V{MITER}.h\"\n#include <cinttypes>\n#include <cstdio>\n#include <cstdlib>\n\n\
         int main(int, char **argv) {{\n    const uint64_t start = strtoull(argv[1], nullptr, 10);\n    \
         const uint64_t end = strtoull(argv[2], nullptr, 10);\n    V{MITER} miter;\n    \
         uint64_t reported = start;\n    for (uint64_t i = start; i < end; i++) {{\n"
    );
    let mut low = 0;
    for port in inputs.iter().rev() {
        let _ = writeln!(
            text,
            "        miter.{} = i >> {low} & {:#x}u;",
            port.name,
            u64::MAX >> (64 - port.bits)
        );
        low += port.bits;
    }
    text.push_str("        miter.eval();\n        if (!miter.equal) {\n            printf(\"differ");
    let names: Vec<String> = inputs
        .iter()
        .map(|port| port.name.clone())
        .chain(
            outputs
                .iter()
                .flat_map(|port| [format!("given_{}", port.name), format!("expected_{}", port.name)]),
        )
        .collect();
    for name in &names {
        let _ = write!(text, " {name}=%\" PRIu64 \"");
    }
    text.push_str("\\n\"");
    for name in &names {
        let _ = write!(text, ", (uint64_t)miter.{name}");
    }
    text.push_str(
        ");\n            return 1;\n        }\n        if (((i + 1) & 0xffffff) == 0 || i + 1 == end) {\n            \
         printf(\"done %\" PRIu64 \"\\n\", i + 1 - reported);\n            fflush(stdout);\n            \
         reported = i + 1;\n        }\n    }\n    return 0;\n}\n",
    );
    text
}
