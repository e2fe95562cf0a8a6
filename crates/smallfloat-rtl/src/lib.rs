//! Small floating-point formats in SystemVerilog.
//!
//! | module | what |
//! | --- | --- |
//! | [`specification`] | what a unit has to compute, as readable SystemVerilog |
//! | [`cost`](mod@cost) | gates and depth of a unit, by Yosys |
//! | [`generate`](mod@generate) | readable units: conversions, sums, products and FMA |
//! | [`proof`] | whether a design computes it, for all inputs |
//!
//! The text of a specification depends neither on the machine nor on the tools that are there.
#![forbid(unsafe_code)]

pub mod cost;
mod error;
pub mod generate;
mod names;
pub mod proof;
pub mod specification;
mod tools;

pub use cost::{Cost, cost};
pub use error::Error;
pub use generate::{Generated, generate};
pub use names::check_name;
pub use proof::{Counterexample, Design, Method, PortMap, Proof, ProofOptions, Solver, Verdict, prove};
pub use specification::{Port, Specification};
pub use tools::stop;
