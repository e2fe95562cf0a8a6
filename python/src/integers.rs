//! Integers that Python gives, with errors that name the parameter and its range.

use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;

macro_rules! integers {
    ($($(#[$doc:meta])* $name:ident($of:ty): $range:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub(crate) struct $name(pub(crate) $of);

        impl<'py> FromPyObject<'_, 'py> for $name {
            type Error = PyErr;

            fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
                let says = || Ok::<_, PyErr>(format!(concat!($range, ", not {}"), value.repr()?));
                match value.extract() {
                    Ok(number) => Ok(Self(number)),
                    Err(error) if error.is_instance_of::<PyOverflowError>(value.py()) => {
                        Err(PyValueError::new_err(says()?))
                    }
                    Err(error) if error.is_instance_of::<PyTypeError>(value.py()) => {
                        Err(PyTypeError::new_err(says()?))
                    }
                    Err(error) => Err(error),
                }
            }
        }
    )*};
}

integers! {
    /// The seed of random words.
    Seed(u64): "seed must be an integer in 0..2**64";
    /// How many bits of a random word stochastic rounding takes.
    RandomBitCount(u32): "random_bits must be an integer in 1..=32";
    /// The number of an array's first element in its stream of random words.
    FirstElement(u64): "first_element must be an integer in 0..2**64";
    /// How many threads may work.
    Threads(usize): "threads must be at least 1 and less than 2**64, or None for one a core";
}

impl Threads {
    /// The number, checked.
    pub(crate) fn check(threads: Option<Self>) -> PyResult<Option<usize>> {
        match threads {
            Some(Self(0)) => Err(PyValueError::new_err("threads must be at least 1, or None for one a core")),
            // What a slip of the keyboard asks for would take minutes to start.
            threads => Ok(threads.map(|Self(threads)| threads.min(1 << 10))),
        }
    }
}
