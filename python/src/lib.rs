//! The compiled part of the Python package `smallfloat`: NumPy arrays in, NumPy arrays out.
//!
//! Only what needs the kernels is here; what Python says as well stands in `package/smallfloat`.
//! The interpreter is released while kernels run.
#![expect(clippy::needless_pass_by_value, reason = "arguments of Python functions are extracted by value")]
#![expect(clippy::doc_link_with_quotes, reason = "docstrings are Python's")]

mod arithmetic;
mod array;
mod cache;
mod command;
mod constants;
mod controller;
mod convert;
mod events;
mod format;
mod integers;
mod numerics;
mod policy;
#[cfg(target_os = "linux")]
mod pool;
mod tensors;

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
    use super::arithmetic::operations::{PyOperation, operation_names, operation_shape};
    #[pymodule_export]
    use super::arithmetic::products::row_products;
    #[pymodule_export]
    use super::cache::forget_after_fork;
    #[pymodule_export]
    use super::command::run_command;
    #[pymodule_export]
    use super::constants::KernelConstants;
    #[pymodule_export]
    use super::controller::{PyBiasController, amax};
    #[pymodule_export]
    use super::convert::{decode, encode, round};
    #[pymodule_export]
    use super::events::EventCounts;
    #[pymodule_export]
    use super::format::{PyFormat, catalogue};
    #[pymodule_export]
    use super::numerics::{choose_bias, kappa, variants};
    #[pymodule_export]
    use super::policy::{flag_policies, generators, presets, roundings, saturations};
    #[pymodule_export]
    use super::tensors::files::{
        apply_shard, dequantize_path, finalize_plan, plan_path, plan_summary, quantize_path, read_container,
        read_tensors, read_values, schemes, value_lists, verify, write_tensors,
    };
    #[pymodule_export]
    use super::tensors::memory::{PyDequantizer, PyQuantizer};

    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "Python's name for it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
