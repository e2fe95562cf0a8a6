//! `EventCounts`: what happened while an array was encoded.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyString;
use smallfloat::{Flags, Format};
use smallfloat_kernels::Code;

use crate::integers::{EventNumbers, FlagBits};

/// Flags and counts of one call, asked for with ``return_flags=True``.
///
/// Attributes
/// ----------
/// flags : Flags
///     All flags that an element raised.
/// elements, overflowed, underflowed, zeros, nans, infinities, nan_results : int
///     How many elements there were, raised the overflow flag, became zero without being zero,
///     became zero, were NaN, were infinite, became NaN.
///
/// Examples
/// --------
/// >>> import smallfloat as sf
/// >>> codes, events = sf.encode([1.0, 1e9, 1e-9], "e4m3fn", preset="ocp-saturate", return_flags=True)
/// >>> events.overflowed, events.underflowed
/// (1, 1)
/// >>> events.flags
/// <Flags.INEXACT|UNDERFLOW|OVERFLOW: 7>
/// >>> codes, events = sf.encode([1.0, 1e9], "e4m3fn", preset="ocp-nosaturate", return_flags=True)
/// >>> events.overflowed, events.nan_results
/// (1, 1)
#[pyclass(frozen, eq, module = "smallfloat")]
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct EventCounts(pub(crate) Counts);

/// What a caller wants to know beside results.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    Nothing,
    /// All flags together, and counts.
    Together,
    /// The flags of each element.
    Each,
}

impl Wanted {
    /// From the keyword `return_flags`.
    pub(crate) fn of(keyword: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let Some(keyword) = keyword else { return Ok(Self::Nothing) };
        if keyword.cast::<PyString>().is_ok_and(|word| word == "each") {
            return Ok(Self::Each);
        }
        match keyword.extract() {
            Ok(true) => Ok(Self::Together),
            Ok(false) => Ok(Self::Nothing),
            Err(_) => Err(PyValueError::new_err(
                "return_flags must be True, False, or 'each' for an array with the flags of each element",
            )),
        }
    }
}

/// What a call counted.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Counts {
    /// What the kernels counted.
    pub(crate) events: smallfloat_kernels::EventCounts,
    /// How many results are NaN.
    nan_results: u64,
}

impl Counts {
    /// From the numbers in the order of the attributes.
    fn new(flags: Flags, counts: [u64; 7]) -> Self {
        let [elements, overflowed, underflowed, zeros, nans, infinities, nan_results] = counts;
        let mut events = smallfloat_kernels::EventCounts::new(elements);
        events.flags = flags;
        (events.overflowed, events.underflowed, events.zeros) = (overflowed, underflowed, zeros);
        (events.nans, events.infinities) = (nans, infinities);
        Self { events, nan_results }
    }

    /// Of the codes that elements became.
    pub(crate) fn of<C: Code>(events: smallfloat_kernels::EventCounts, format: &Format, codes: &[C]) -> Self {
        // Every NaN result comes from one of them, or raises a flag.
        let any = events.nans + events.infinities > 0
            || events.flags.contains(Flags::INVALID)
            || events.flags.contains(Flags::OVERFLOW);
        let is_nan = |code: &&C| format.decode(code.widen()).is_nan();
        let nan_results =
            if format.has_nan() && any { codes.iter().filter(is_nan).count() as u64 } else { 0 };
        Self { events, nan_results }
    }

    /// Both together.
    pub(crate) fn merge(self, other: Self) -> Self {
        Self { events: self.events.merge(other.events), nan_results: self.nan_results + other.nan_results }
    }

    fn nan_results(&self) -> u64 {
        self.nan_results
    }
}

/// The Python class of sets of flags.
fn flags_class(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static CLASS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    CLASS
        .get_or_try_init(py, || Ok(py.import("smallfloat._flags")?.getattr("Flags")?.unbind()))
        .map(|c| c.bind(py))
}

/// A set of flags as Python has it.
pub(crate) fn flags(py: Python<'_>, flags: Flags) -> PyResult<Bound<'_, PyAny>> {
    flags_class(py)?.call1((flags.bits(),))
}

macro_rules! counts {
    ($($name:ident: $of:expr;)*) => {
        #[pymethods]
        impl EventCounts {
            #[new]
            fn new(flags: FlagBits, counts: EventNumbers) -> Self {
                Self(Counts::new(Flags::from_bits_truncate(flags.0), counts.0))
            }

            fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyAny>, (u8, [u64; 7])) {
                let this = slf.get();
                (slf.get_type().into_any(), (this.0.events.flags.bits(), [$(this.$name()),*]))
            }

            #[getter]
            fn flags<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
                flags(py, self.0.events.flags)
            }

            $(#[getter]
            fn $name(&self) -> u64 {
                ($of)(&self.0)
            })*

            fn __repr__(&self) -> String {
                let mut text = format!("EventCounts(flags={}", self.0.events.flags);
                $(text += &format!(concat!(", ", stringify!($name), "={}"), self.$name());)*
                text + ")"
            }
        }
    };
}

counts! {
    elements: |counts: &Counts| counts.events.elements;
    overflowed: |counts: &Counts| counts.events.overflowed;
    underflowed: |counts: &Counts| counts.events.underflowed;
    zeros: |counts: &Counts| counts.events.zeros;
    nans: |counts: &Counts| counts.events.nans;
    infinities: |counts: &Counts| counts.events.infinities;
    nan_results: Counts::nan_results;
}
