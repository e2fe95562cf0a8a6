//! The `smallfloat` command, for the package's entry point and `python -m smallfloat`.

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs the `smallfloat` command with these arguments, the first of which is its own name, and
/// returns its exit status. For a process of its own: signals end it as they end the command.
#[pyfunction]
pub(crate) fn run_command(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| smallfloat_cli::main_with(arguments))
}
