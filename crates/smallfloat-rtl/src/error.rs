//! The crate's error.

/// Why nothing is specified or proved, and what would be right.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A format or an operation that the core refuses.
    #[error(transparent)]
    Core(#[from] smallfloat::Error),
    /// A unit that the vectors' code refuses.
    #[error(transparent)]
    Unit(#[from] smallfloat_conformance::Error),
    /// A unit that the generator does not write.
    #[error("{operation} is not generated: {reason}")]
    NotGenerated {
        /// The operation with its formats.
        operation: String,
        /// What is.
        reason: String,
    },
    /// A unit that has no specification in SystemVerilog.
    #[error("{operation} has no specification in SystemVerilog: {reason}")]
    NotSpecified {
        /// The operation with its formats.
        operation: String,
        /// Why.
        reason: String,
    },
    /// A text that is no map of ports.
    #[error(
        "ports `{text}` are not understood: write PORT=NAME,…, as in result=code,x=f32; PORT is one of {known}"
    )]
    Ports {
        /// The text as given.
        text: String,
        /// What can stand on the left.
        known: &'static str,
    },
}
