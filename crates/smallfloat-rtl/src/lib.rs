//! Small floating-point formats in SystemVerilog.
//!
//! | module | what |
//! | --- | --- |
//! | [`specification`] | what a unit has to compute, as readable SystemVerilog |
//! | [`proof`] | whether a design computes it, for all inputs |
//!
//! The text of a specification depends neither on the machine nor on the tools that are there.
#![forbid(unsafe_code)]

mod error;
pub mod proof;
pub mod specification;

pub use error::Error;
pub use proof::{Design, PortMap, Proof, ProofOptions, Solver, Verdict, prove};
pub use specification::Specification;
