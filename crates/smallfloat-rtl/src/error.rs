//! The crate's error.

use std::io;
use std::path::PathBuf;

/// The error of a specification or a proof, with what would be right.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A format or an operation that the core refuses.
    #[error(transparent)]
    Core(#[from] smallfloat::Error),
    /// A unit that the vectors' code refuses.
    #[error(transparent)]
    Unit(#[from] smallfloat_conformance::Error),
    /// What is no name of a module, a port or a parameter.
    #[error("`{name}` is no name in SystemVerilog: {reason}")]
    Name {
        /// The text as given.
        name: String,
        /// What would be right, or what it is.
        reason: &'static str,
    },
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
    /// No such solver.
    #[error("solver `{text}` is not known: write auto, sat, z3 or simulation")]
    Solver {
        /// The name as given.
        text: String,
    },
    /// A port that the specification does not have.
    #[error("the specification has no port `{port}`; it has {known}")]
    UnknownPort {
        /// The port.
        port: String,
        /// Those that there are.
        known: String,
    },
    /// A tool that can't be run.
    #[error("`{tool}` can't be run ({cause}); Debian has it in the package {package}")]
    Tool {
        /// The command.
        tool: &'static str,
        /// What the system says.
        cause: io::Error,
        /// Where Debian has it.
        package: &'static str,
    },
    /// A file that can't be read or written.
    #[error("`{}`: {cause}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        cause: io::Error,
    },
    /// A path that no script of Yosys can name.
    #[error("`{}`: a path with a quotation mark, a backslash or a control character can't be handed to Yosys", path.display())]
    Path {
        /// The path.
        path: PathBuf,
    },
    /// What a tool says of files that it refuses.
    #[error("{tool} refuses the design: {message}")]
    Refused {
        /// The command.
        tool: &'static str,
        /// Its message, with file and line where it names them.
        message: String,
    },
    /// A tool that ended otherwise than it does.
    #[error("{tool} ended without an answer: {message}")]
    NoAnswer {
        /// The command.
        tool: &'static str,
        /// The last lines that it printed.
        message: String,
    },
    /// A module that is not in the files.
    #[error("the design has no module `{top}`; it has {modules}")]
    Top {
        /// The module.
        top: String,
        /// Those that there are.
        modules: String,
    },
    /// A parameter that the design lacks.
    #[error("module {top} has no parameter `{name}`")]
    Parameter {
        /// The module.
        top: String,
        /// The parameter.
        name: String,
    },
    /// A port that the design lacks.
    #[error(
        "module {top} has no {direction} `{name}` for `{port}`: it has {known}; --ports {port}=NAME names another"
    )]
    MissingPort {
        /// The module.
        top: String,
        /// `input` or `output`.
        direction: &'static str,
        /// What was looked for.
        name: String,
        /// The specification's name of it.
        port: String,
        /// Those that there are.
        known: String,
    },
    /// A port of another width.
    #[error("port `{name}` of module {top} has {given} bits, {what} has {expected}")]
    PortWidth {
        /// The module.
        top: String,
        /// The port.
        name: String,
        /// Its width.
        given: u32,
        /// What the specification has there.
        what: String,
        /// Its width.
        expected: u32,
    },
    /// An input of the design that nothing drives.
    #[error(
        "input `{name}` of module {top} is none of the specification's: give it a constant with --tie {name}=VALUE, or another name with --ports"
    )]
    FreeInput {
        /// The module.
        top: String,
        /// The port.
        name: String,
    },
    /// A constant for what is no input, or too wide for it.
    #[error("--tie {name}={value}: {problem}")]
    Tie {
        /// The port.
        name: String,
        /// The constant.
        value: u64,
        /// What is wrong.
        problem: String,
    },
    /// Registers in a design that was said to be combinational.
    #[error(
        "module {top} has registers ({registers}): say with --latency after how many clock edges the result is there"
    )]
    Sequential {
        /// The module.
        top: String,
        /// Some of them.
        registers: String,
    },
    /// Registers of another clock, or of the other edge.
    #[error(
        "module {top} has registers ({registers}) that are not clocked by the same edge of `{clock}` as the rest: one edge of one input must clock all of them"
    )]
    Clocks {
        /// The module.
        top: String,
        /// Some of them.
        registers: String,
        /// The input that is the clock.
        clock: String,
    },
    /// Latches.
    #[error("module {top} has latches ({latches}): some branch leaves them without a value")]
    Latch {
        /// The module.
        top: String,
        /// Some of them.
        latches: String,
    },
}
