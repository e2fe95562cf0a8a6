//! Integers and numbers that Python gives, with errors that name the parameter and its range.

use std::num::NonZeroU64;

use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyString};

/// The text of a value, or what it is: Python has none for an integer of thousands of digits.
pub(crate) fn told(value: Borrowed<'_, '_, PyAny>, text: PyResult<Bound<'_, PyString>>) -> PyResult<String> {
    match text {
        Err(error) if value.is_instance_of::<PyInt>() && error.is_instance_of::<PyValueError>(value.py()) => {
            let bits: u64 = value.call_method0("bit_length")?.extract()?;
            Ok(format!("an integer of {bits} bits"))
        }
        Err(error) if error.is_instance_of::<PyValueError>(value.py()) => {
            Ok(format!("a {} with an integer of thousands of digits", value.get_type().name()?))
        }
        text => Ok(text?.to_string()),
    }
}

macro_rules! integers {
    ($($(#[$doc:meta])* $name:ident($of:ty): $range:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub(crate) struct $name(pub(crate) $of);

        impl<'py> FromPyObject<'_, 'py> for $name {
            type Error = PyErr;

            fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
                let says = || Ok::<_, PyErr>(format!(concat!($range, ", not {}"), told(value, value.repr())?));
                match value.extract() {
                    Ok(number) => Ok(Self(number)),
                    Err(error)
                        if error.is_instance_of::<PyOverflowError>(value.py())
                            || error.is_instance_of::<PyValueError>(value.py()) =>
                    {
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
    /// The number of a stream of random words.
    Stream(u64): "stream must be an integer in 0..2**64, or the name of a tensor, from which it follows";
    /// The width of a format's codes; formats say more exactly which widths they have.
    Width(u32): "k, the width of a code in bits, must be an integer in 2..=32";
    /// The precision of a format; formats say more exactly which precisions they have.
    Precision(u32): "p, the precision in bits, must be an integer in 1..=k";
    /// The bias of a format; formats say more exactly which biases they have.
    Bias(i32): "bias must be an integer in -2**31..2**31";
    /// The code of a value; formats say more exactly which codes they have.
    CodeOfValue(u64): "code must be an integer in 0..2**width";
    /// How many shards there are to be.
    Shards(NonZeroU64): "shards must be an integer in 1..2**64";
    /// How many bytes a shard may have.
    ShardBytes(NonZeroU64): "shard_bytes must be an integer in 1..2**64";
    /// The number of a shard.
    Shard(usize): "shard must be an integer in 0..shards of the plan";
    /// The numbers of a CodeUse.
    CodeUses((u64, u64, u64, u64)): "code_use must be four integers in 0..2**64";
    /// The largest magnitude of a tensor.
    Amax(f64): "amax must be a number that float64 can hold";
    /// The slope of a loss.
    Slope(f64): "slope must be a number that float64 can hold";
    /// The numbers of an EventCounts.
    EventNumbers([u64; 7]): "counts must be seven integers in 0..2**64";
    /// Flags as bits.
    FlagBits(u8): "flags must be an integer in 0..2**8";
    /// How many random operands are tried.
    RandomOperands(u64): "random must be an integer in 0..2**64";
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
