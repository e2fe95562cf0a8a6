//! `Events`: what happened while an array was encoded.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// Flags and counts of one call, asked for with ``return_flags=True``.
///
/// Attributes ---------- flags : Flags All flags that an element raised. elements, overflowed,
/// underflowed, zeros, nans, infinities : int How many elements there were, raised the overflow
/// flag, became zero without being zero, became zero, were NaN, were infinite.
///
/// Examples
/// --------
/// >>> import smallfloat as sf
/// >>> codes, events = sf.encode([1.0, 1e9, 1e-9], "e4m3fn", preset="ocp-saturate", return_flags=True)
/// >>> events.overflowed, events.underflowed
/// (1, 1)
/// >>> events.flags
/// <Flags.INEXACT|UNDERFLOW|OVERFLOW: 7>
#[pyclass(frozen, eq, module = "smallfloat")]
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Events(pub(crate) smallfloat_kernels::EventCounts);

/// The Python class of sets of flags.
fn flags_class(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static CLASS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    CLASS
        .get_or_try_init(py, || Ok(py.import("smallfloat._flags")?.getattr("Flags")?.unbind()))
        .map(|c| c.bind(py))
}

/// A set of flags as Python has it.
pub(crate) fn flags(py: Python<'_>, flags: smallfloat::Flags) -> PyResult<Bound<'_, PyAny>> {
    flags_class(py)?.call1((flags.bits(),))
}

macro_rules! counts {
    ($($name:ident)*) => {
        #[pymethods]
        impl Events {
            #[getter]
            fn flags<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
                flags(py, self.0.flags)
            }

            $(#[getter]
            fn $name(&self) -> u64 {
                self.0.$name
            })*

            fn __repr__(&self) -> String {
                let mut text = format!("Events(flags={}", self.0.flags);
                $(text += &format!(concat!(", ", stringify!($name), "={}"), self.0.$name);)*
                text + ")"
            }
        }
    };
}

counts!(elements overflowed underflowed zeros nans infinities);
