//! Whether a design computes what a [`Specification`] says, for all inputs.

mod circuit;
mod elaborate;
mod evaluate;
mod miter;
mod ports;
mod simulate;
mod solve;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::{Duration, Instant};

use smallfloat::Flags;
use smallfloat_conformance::explain::explain;
use smallfloat_conformance::vectors::CallOutcome;

use crate::error::Error;
use crate::proof::circuit::Circuit;
use crate::proof::elaborate::write;
use crate::proof::evaluate::{Evaluated, evaluate};
use crate::proof::solve::Answer;
use crate::specification::Specification;
use crate::tools::Folder;

pub use ports::PortMap;

/// A design in SystemVerilog.
#[derive(Clone, Debug, Default)]
pub struct Design {
    /// Its files.
    pub files: Vec<PathBuf>,
    /// The module that is held against the specification.
    pub top: String,
    /// Values of that module's parameters.
    pub parameters: Vec<(String, i64)>,
    /// Folders in which included files are looked for.
    pub includes: Vec<PathBuf>,
    /// What its ports are called.
    pub ports: PortMap,
    /// Constants for inputs that the specification does not have.
    pub ties: Vec<(String, u64)>,
    /// After how many clock edges a result is there; 0 for combinational designs.
    pub latency: u32,
}

/// What decides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Solver {
    /// Evaluation of the design for all inputs of up to 24 bits together, for chosen ones of more;
    /// and the SAT solver in Yosys where that leaves it open.
    Auto,
    /// The SAT solver in Yosys.
    Sat,
    /// Z3.
    Z3,
    /// None: all inputs are simulated by Verilator.
    Simulation,
}

impl Solver {
    /// All of them with their names.
    pub const NAMED: &'static [(&'static str, Self)] =
        &[("auto", Self::Auto), ("sat", Self::Sat), ("z3", Self::Z3), ("simulation", Self::Simulation)];

    /// Returns the name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Sat => "sat",
            Self::Z3 => "z3",
            Self::Simulation => "simulation",
        }
    }
}

impl FromStr for Solver {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let named = Self::NAMED.iter().find(|(name, _)| name.eq_ignore_ascii_case(text));
        named.map(|(_, solver)| *solver).ok_or_else(|| Error::Solver { text: text.to_owned() })
    }
}

/// How a proof is sought.
#[derive(Clone)]
pub struct ProofOptions<'a> {
    /// What decides.
    pub solver: Solver,
    /// How long the solver may take, and evaluation before it.
    pub timeout: Duration,
    /// Whether all inputs are simulated where the solver does not end, up to 2^32 of them.
    pub simulates: bool,
    /// A folder in which the specification, the miter and the scripts are kept.
    pub keep: Option<PathBuf>,
    /// A function called during simulation with the number of inputs done and of all inputs.
    pub progress: Option<&'a dyn Fn(u64, u64)>,
}

impl Default for ProofOptions<'_> {
    /// Evaluation, the SAT solver in Yosys for ten minutes, then simulation.
    fn default() -> Self {
        Self {
            solver: Solver::Auto,
            timeout: Duration::from_secs(600),
            simulates: true,
            keep: None,
            progress: None,
        }
    }
}

/// What came of it.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// The design is right for all inputs: by a solver's proof that it equals its specification, or
    /// because the circuit that Yosys makes of it was evaluated for each and gives what the library
    /// gives.
    Proved,
    /// Design and specification are equal for all inputs: each was simulated.
    Simulated,
    /// The design is wrong.
    Refuted(Box<Counterexample>),
    /// Neither was found.
    Undecided {
        /// Why not.
        reason: String,
    },
}

/// An input for which a design is wrong, as the core confirms.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Counterexample {
    /// The operands' codes, a random word among them.
    pub operands: Vec<u64>,
    /// The bias, where it is a port.
    pub bias: Option<i32>,
    /// What is right.
    pub expected: CallOutcome,
    /// What the design gives.
    pub given: CallOutcome,
    /// All of it in words, with the mistakes that would give the same.
    pub explanation: String,
}

/// What a verdict came from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    /// The design's circuit was evaluated, for each input or until one was wrong.
    Evaluation,
    /// A solver.
    Solver(Solver),
    /// Design and specification were simulated by Verilator.
    Simulation,
}

impl Method {
    /// Returns the name: that of a solver, `evaluation` or `simulation`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Evaluation => "evaluation",
            Self::Solver(solver) => solver.name(),
            Self::Simulation => "simulation",
        }
    }
}

/// A verdict and what it is about.
#[derive(Clone, Debug)]
pub struct Proof {
    /// The verdict.
    pub verdict: Verdict,
    /// What it came from.
    pub method: Method,
    /// How many bits the inputs have together.
    pub input_bits: u32,
    /// Whether flags were compared too.
    pub compares_flags: bool,
    /// How long all of it took, reading and compiling included.
    pub took: Duration,
}

/// How a design is connected.
#[derive(Debug, Default)]
struct Bound {
    /// The design's ports with what they are connected to in the miter.
    connections: Vec<(String, String)>,
    /// The width of the design's flags, if it has any.
    flag_bits: Option<u32>,
}

/// Proves that a design computes what the specification says for all inputs, or finds one for which
/// it does not. A design without a port for flags is compared in its results alone.
///
/// Unknown values (x) count as wrong. What a solver finds is confirmed by the core.
///
/// # Errors
/// Tools that are missing, files that they refuse, ports that are missing or have another width.
///
/// # Panics
/// If a solver's counterexample shows that the specification differs from the core.
pub fn prove(
    design: &Design,
    specification: &Specification,
    options: &ProofOptions<'_>,
) -> Result<Proof, Error> {
    let start = Instant::now();
    let text = specification.text(miter::SPECIFICATION)?;
    let temporary;
    let folder: &Path = if let Some(folder) = &options.keep {
        fs::create_dir_all(folder).map_err(|cause| Error::File { path: folder.clone(), cause })?;
        folder
    } else {
        temporary = Folder::new().map_err(|cause| Error::File { path: std::env::temp_dir(), cause })?;
        &temporary
    };
    write(&folder.join("specification.sv"), &text)?;
    let bound = design.bind(specification, folder)?;
    write(&folder.join("miter.sv"), &miter::text(design, specification, &bound))?;

    let input_bits = specification.inputs().iter().map(|port| port.bits).sum();
    let compares_flags = bound.flag_bits.is_some();
    let of = |verdict, method| Proof { verdict, method, input_bits, compares_flags, took: start.elapsed() };
    let found = |values: &BTreeMap<String, u64>| {
        counterexample(specification, &bound, values).map(|found| Verdict::Refuted(Box::new(found)))
    };
    if options.solver == Solver::Auto {
        let circuit = Circuit::read(design, specification, &bound, folder)?;
        match evaluate(&circuit, specification, &bound, options.timeout)? {
            Evaluated::Equal => return Ok(of(Verdict::Proved, Method::Evaluation)),
            Evaluated::Differ(values) => return Ok(of(found(&values)?, Method::Evaluation)),
            Evaluated::Open => {}
        }
    }
    let solver = if options.solver == Solver::Auto { Solver::Sat } else { options.solver };
    let method = Method::Solver(solver);
    let mut reason = String::new();
    if solver != Solver::Simulation {
        match solve::solve(design, specification, &bound, solver, options.timeout, folder)? {
            Answer::Equal => return Ok(of(Verdict::Proved, method)),
            Answer::Differ(values) => return Ok(of(found(&values)?, method)),
            Answer::TimedOut => {
                let seconds = options.timeout.as_secs();
                reason = format!("the solver {} did not end within {seconds} s", solver.name());
            }
        }
    }
    let mut why_not = |text: &str| {
        if !reason.is_empty() {
            reason += "; ";
        }
        reason += text;
    };
    if !options.simulates && solver != Solver::Simulation {
        why_not("simulation was not wanted");
    } else if design.latency > 0 {
        why_not("designs with registers are not simulated");
    } else if input_bits > simulate::MAX_BITS {
        why_not(&format!("2^{input_bits} inputs are too many to be simulated"));
    } else {
        let differs = simulate::simulate(design, specification, &bound, options, folder)?;
        let verdict = match differs {
            Some(values) => found(&values.into_iter().collect())?,
            None => Verdict::Simulated,
        };
        return Ok(of(verdict, Method::Simulation));
    }
    Ok(of(Verdict::Undecided { reason }, method))
}

/// The counterexample of a solver's values, confirmed by the core.
fn counterexample(
    specification: &Specification,
    bound: &Bound,
    values: &BTreeMap<String, u64>,
) -> Result<Counterexample, Error> {
    // An input that a solver leaves out can have any value.
    let input = |name: &str| values.get(name).copied().unwrap_or(0);
    let output = |name: &str| {
        let message = || format!("the counterexample has no value of {name}");
        values.get(name).copied().ok_or_else(|| Error::NoAnswer { tool: "the solver", message: message() })
    };
    let bias =
        specification.has_bias_port().then(|| i32::try_from(input("bias")).expect("a port of a few bits"));
    let unit = specification.unit_with(bias)?;
    let inputs = specification.inputs();
    let operands: Vec<u64> = inputs[..unit.operands().len()].iter().map(|port| input(&port.name)).collect();
    let expected = unit.evaluate(&operands)?;
    let (order, mask) = (specification.order(), specification.flags());
    let mask = if bound.flag_bits.is_some() { mask } else { Flags::NONE };
    let flag_bits = |name: &str| bound.flag_bits.map_or(Ok(0), |_| output(name));
    let flags = |bits: u64| Flags::from_bits_in(bits.to_le_bytes()[0], order) & mask;
    let specified = CallOutcome::one(output("expected_result")?, flags(flag_bits("expected_flags")?));
    assert!(
        specified.results() == expected.results() && specified.flags == expected.flags & mask,
        "the specification of {} differs from the core for {operands:x?}: {specified:?}, {expected:?}",
        unit.operation()
    );
    let given_flags = flag_bits("given_flags")?;
    let given = CallOutcome::one(output("given_result")?, flags(given_flags));
    let explanation = match explain(&unit, &operands, &given, mask)? {
        Some(text) => text,
        // Results and flags are right, so it is bits of the port that mean nothing.
        None => format!("{}\n  flags has bits set that mean nothing: {:#x}\n", unit.operation(), given_flags),
    };
    Ok(Counterexample {
        operands,
        bias,
        expected: expected.clone().with_flags(expected.flags & mask),
        given,
        explanation,
    })
}
