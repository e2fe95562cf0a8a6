//! The compiled part of the Python package `smallfloat`: NumPy arrays in, NumPy arrays out.
//!
//! Only what needs the kernels is here; what Python says as well stands in `package/smallfloat`. The interpreter is released
//! while kernels run.

mod array;
mod cache;
mod convert;
mod events;
mod format;
mod policy;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// An error of one of our crates as Python's `ValueError`.
fn value_error(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// The compiled part of smallfloat.
#[pymodule(gil_used = false)]
mod _core {
    #[pymodule_export]
    use super::cache::forget_after_fork;
    #[pymodule_export]
    use super::convert::{decode, encode, round};
    #[pymodule_export]
    use super::events::Events;
    #[pymodule_export]
    use super::format::{PyFormat, catalogue};
    #[pymodule_export]
    use super::policy::{generators, presets, roundings, saturations};

    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "Python's name for it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
