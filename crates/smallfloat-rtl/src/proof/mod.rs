//! Whether a design computes what a [`Specification`] says, for all inputs.

use std::path::PathBuf;
use std::time::Duration;

use smallfloat_conformance::vectors::CallOutcome;

use crate::error::Error;
use crate::specification::Specification;

mod ports;

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
    /// The SAT solver in Yosys.
    Sat,
    /// Z3.
    Z3,
}

/// How a proof is sought.
#[derive(Clone, Debug)]
pub struct ProofOptions {
    /// What decides.
    pub solver: Solver,
    /// How long the solver may take.
    pub timeout: Duration,
    /// Whether all inputs are simulated where the solver does not end.
    pub simulates: bool,
    /// Where the specification, the miter and the scripts are kept.
    pub keep: Option<PathBuf>,
}

/// What came of it.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// Design and specification are equal for all inputs, by a proof.
    Proved,
    /// They are equal for all inputs: each was simulated.
    Simulated,
    /// They differ.
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

/// A verdict and what it is about.
#[derive(Clone, Debug)]
pub struct Proof {
    /// The verdict.
    pub verdict: Verdict,
    /// How many bits the inputs have together.
    pub input_bits: u32,
    /// Whether flags were compared too.
    pub compares_flags: bool,
    /// How long the solver or the simulation took.
    pub took: Duration,
}

/// Proves that a design computes what the specification says for all inputs, or finds one for which
/// it does not.
///
/// # Errors
/// Tools that are missing, files that they refuse, ports that are missing or have another width.
pub fn prove(design: &Design, specification: &Specification, options: &ProofOptions) -> Result<Proof, Error> {
    let _ = (design, options);
    Err(Error::NotSpecified {
        operation: specification.unit().operation().to_string(),
        reason: "nothing is proved yet".into(),
    })
}
