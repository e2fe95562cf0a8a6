//! Solvers: the one in Yosys, and Z3.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use super::elaborate::write;
use super::miter::{self, MITER};
use super::{Bound, Design, Solver};
use crate::error::Error;
use crate::specification::Specification;
use crate::tools::{Run, YOSYS, Z3};

/// A solver's answer.
pub(super) enum Answer {
    /// No input is a counterexample.
    Equal,
    /// The values of the miter's ports for one that is.
    Differ(BTreeMap<String, u64>),
    /// Its time was over.
    TimedOut,
}

/// Asks a solver about the miter in a folder.
pub(super) fn solve(
    design: &Design,
    specification: &Specification,
    bound: &Bound,
    solver: Solver,
    timeout: Duration,
    folder: &Path,
) -> Result<Answer, Error> {
    let inputs: Vec<String> = specification.inputs().into_iter().map(|port| port.name).collect();
    let outputs: Vec<String> = miter::outputs(specification, bound)
        .into_iter()
        .flat_map(|port| [format!("given_{}", port.name), format!("expected_{}", port.name)])
        .collect();
    let seconds = timeout.as_secs().max(1);
    let prepared = prepare(design)?;
    if solver == Solver::Z3 {
        write(&folder.join("prove.ys"), &format!("{prepared}write_smt2 -wires miter.smt2\n"))?;
        let run = yosys(folder, Some(timeout))?;
        if run.timed_out {
            return Ok(Answer::TimedOut);
        }
        return with_z3(design.latency, &inputs, &outputs, seconds, folder);
    }
    let show: Vec<String> = inputs.iter().chain(&outputs).map(|name| format!(" -show {name}")).collect();
    let sequence = match design.latency {
        0 => String::new(),
        // Step 1 has any state; after so many edges the result of its inputs is there.
        latency => format!(" -seq {} -prove-skip {latency}", latency + 1),
    };
    let show = show.concat();
    let script =
        format!("{prepared}{}sat{sequence} -timeout {seconds} -prove equal 1{show} {MITER}\n", merged());
    write(&folder.join("prove.ys"), &script)?;
    let run = yosys(folder, Some(timeout + Duration::from_secs(5)))?;
    let says = |what: &str| run.text.contains(what);
    if says("no model found: SUCCESS!") {
        Ok(Answer::Equal)
    } else if says("model found: FAIL!") {
        Ok(Answer::Differ(model(&run.text, &inputs, &outputs)))
    } else if run.timed_out || says("TIMEOUT!") {
        Ok(Answer::TimedOut)
    } else {
        Err(Error::NoAnswer { tool: YOSYS.name, message: run.error() })
    }
}

/// Gates, of which ABC merges those that it knows to be equal: what design and specification have
/// in common is not proved twice.
fn merged() -> String {
    format!("opt_expr\nopt_merge -share_all\nopt_clean\n{GATES}abc -g AND\nopt_clean\n")
}

/// The commands that make one module of plain registers and cells. Registers may start with any
/// value, so that what is proved of their first results holds for all. Unknown bits (x) are inputs
/// that nobody has chosen, so that a design whose result depends on them is wrong.
pub(super) const FLAT: &str = "proc -noopt\nflatten\nsetattr -unset init w:*\nsetundef -undriven -anyseq\n\
    opt_clean\nmemory_collect\nmemory_map\nasync2sync\ndffunmap\nopt_clean\n";

/// The commands that make gates of cells; some cells have unknown bits that show only then.
pub(super) const GATES: &str = "techmap\nsetundef -undriven -anyseq\n";

/// The commands that lead to the flat miter.
fn prepare(design: &Design) -> Result<String, Error> {
    Ok(format!(
        "{}\nread_verilog -sv specification.sv miter.sv\nhierarchy -check -top {MITER}\n{FLAT}",
        design.read_command()?
    ))
}

fn yosys(folder: &Path, limit: Option<Duration>) -> Result<Run, Error> {
    let run = YOSYS.run(folder, &["-s", "prove.ys"].map(str::to_owned), limit)?;
    if run.succeeded || run.timed_out {
        return Ok(run);
    }
    Err(Error::Refused { tool: YOSYS.name, message: run.error() })
}

/// The values in the table that `sat` prints: a row a signal, its bits in the last column. Of
/// several time steps, the inputs of the first and the outputs of the last.
fn model(text: &str, inputs: &[String], outputs: &[String]) -> BTreeMap<String, u64> {
    let mut values = BTreeMap::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        // Name, decimal, hexadecimal, binary; lines of several steps begin with the step.
        let [.., name, _, _, bits] = words[..] else { continue };
        let Some(name) = name.strip_prefix('\\') else { continue };
        let Ok(value) = u64::from_str_radix(bits, 2) else { continue };
        if inputs.iter().any(|input| input == name) {
            values.entry(name.to_owned()).or_insert(value);
        } else if outputs.iter().any(|output| output == name) {
            values.insert(name.to_owned(), value);
        }
    }
    values
}

/// Asks Z3 whether some state of the miter differs, after as many steps as the design takes.
fn with_z3(
    latency: u32,
    inputs: &[String],
    outputs: &[String],
    seconds: u64,
    folder: &Path,
) -> Result<Answer, Error> {
    use std::fmt::Write as _;
    let path = folder.join("miter.smt2");
    let mut query =
        std::fs::read_to_string(&path).map_err(|cause| Error::File { path: path.clone(), cause })?;
    for step in 0..=latency {
        let _ = writeln!(query, "(declare-fun s{step} () |{MITER}_s|)");
        let _ = writeln!(query, "(assert (|{MITER}_h| s{step}))");
        if step > 0 {
            let _ = writeln!(query, "(assert (|{MITER}_t| s{} s{step}))", step - 1);
        }
    }
    let _ = writeln!(query, "(assert (not (|{MITER}_n equal| s{latency})))\n(check-sat)");
    let term = |name: &String, step: u32| format!("(|{MITER}_n {name}| s{step})");
    let asked: Vec<(&String, u32)> =
        inputs.iter().map(|name| (name, 0)).chain(outputs.iter().map(|name| (name, latency))).collect();
    for (name, step) in &asked {
        let _ = writeln!(query, "(get-value ({}))", term(name, *step));
    }
    write(&path, &query)?;
    let arguments = [format!("-T:{seconds}"), "miter.smt2".to_owned()];
    let run = Z3.run(folder, &arguments, Some(Duration::from_secs(seconds + 10)))?;
    let mut lines = run.text.lines().map(str::trim);
    match lines.find(|line| ["sat", "unsat", "timeout", "unknown"].contains(line)) {
        Some("unsat") => Ok(Answer::Equal),
        Some("sat") => {
            let mut values = BTreeMap::new();
            for (name, _) in &asked {
                let value = lines.find(|line| line.contains(&format!("_n {name}|"))).and_then(smt_value);
                let Some(value) = value else {
                    return Err(Error::NoAnswer { tool: Z3.name, message: format!("no value of {name}") });
                };
                values.insert((*name).clone(), value);
            }
            Ok(Answer::Differ(values))
        }
        Some(_) => Ok(Answer::TimedOut),
        None if run.timed_out => Ok(Answer::TimedOut),
        None => Err(Error::NoAnswer { tool: Z3.name, message: run.last_lines() }),
    }
}

/// The value in `(((|…| s0) #x1f))`.
fn smt_value(line: &str) -> Option<u64> {
    let word = line.rsplit(' ').next()?.trim_end_matches(')');
    match word {
        "true" => Some(1),
        "false" => Some(0),
        _ => match word.strip_prefix("#x") {
            Some(hex) => u64::from_str_radix(hex, 16).ok(),
            None => u64::from_str_radix(word.strip_prefix("#b")?, 2).ok(),
        },
    }
}
