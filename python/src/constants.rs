//! `KernelConstants`: a conversion as plain integers, and the portable algorithm over them.

use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use smallfloat::Flags;

use crate::format::format_of;
use crate::integers::RandomBitCount;
use crate::{policy, value_error};

/// The constants of a conversion between binary32 and a format of up to 16 bits, for
/// `smallfloat.kernel`, and the algorithm that kernels on devices have, in Rust.
#[pyclass(frozen, module = "smallfloat._core")]
pub(crate) struct KernelConstants(smallfloat_kernels::KernelConstants);

#[pymethods]
impl KernelConstants {
    #[new]
    #[pyo3(signature = (fmt, preset=None, rounding=None, saturation=None, random_bits=RandomBitCount(32)),
        text_signature = "(fmt, preset=None, rounding=None, saturation=None, random_bits=32)")]
    fn new(
        fmt: &Bound<'_, PyAny>,
        preset: Option<&str>,
        rounding: Option<&str>,
        saturation: Option<&str>,
        random_bits: RandomBitCount,
    ) -> PyResult<Self> {
        let format = format_of(fmt)?;
        let rounding = rounding.map(|text| policy::rounding(text, random_bits.0)).transpose()?;
        let projection = policy::projection(&format, preset, rounding, saturation)?;
        smallfloat_kernels::KernelConstants::new(&format, &projection).map(Self).map_err(value_error)
    }

    /// All constants by name.
    fn parameters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let c = &self.0;
        let all = PyDict::new(py);
        for (name, number) in [
            ("width", c.width),
            ("trailing", c.trailing),
            ("largest", c.largest),
            ("first_normal", c.first_normal),
            ("lowest_index", c.lowest_index),
            ("steps", c.steps),
        ] {
            all.set_item(name, number)?;
        }
        all.set_item("lowest", c.lowest)?;
        all.set_item("highest", c.highest)?;
        for (name, is) in [
            ("signed", c.signed),
            ("has_zero", c.has_zero),
            ("nan_is_negative_zero", c.nan_is_negative_zero),
            ("has_gap", c.has_gap),
        ] {
            all.set_item(name, is)?;
        }
        all.set_item("subnormals", c.subnormals.name())?;
        all.set_item("rounding", c.rounding.name())?;
        all.set_item("infinity_index", c.infinity_index.map_or(-1, i64::from))?;
        for (name, codes) in
            [("zero", c.zero), ("overflow", c.overflow), ("infinity", c.infinity), ("nan", c.nan)]
        {
            all.set_item(name, (codes[0], codes[1]))?;
        }
        let flags = c.flags.map(|pair| pair.map(Flags::bits));
        all.set_item("flags", flags.map(|[positive, negative]| (positive, negative)))?;
        Ok(all)
    }

    /// Codes of binary32 numbers times 2**shift, given by their bits.
    #[pyo3(signature = (bits, shift=0, words=None))]
    fn encode<'py>(
        &self,
        py: Python<'py>,
        bits: PyReadonlyArray1<'py, u32>,
        shift: i32,
        words: Option<PyReadonlyArray1<'py, u32>>,
    ) -> PyResult<Bound<'py, PyArray1<u32>>> {
        let bits = bits.as_slice()?;
        check_shift(shift)?;
        let words = words.as_ref().map(PyReadonlyArray1::as_slice).transpose()?;
        if (self.0.random_bits > 0 && words.is_none()) || words.is_some_and(|words| words.len() != bits.len())
        {
            return Err(PyValueError::new_err("stochastic rounding takes one word for each element"));
        }
        let word = |i: usize| words.map_or(0, |words| words[i]);
        let codes = bits.iter().enumerate().map(|(i, &bits)| self.0.encode(bits, shift, word(i)));
        Ok(PyArray1::from_iter(py, codes))
    }

    /// Bits of the values of codes times 2**shift.
    #[pyo3(signature = (codes, shift=0))]
    fn decode<'py>(
        &self,
        py: Python<'py>,
        codes: PyReadonlyArray1<'py, u32>,
        shift: i32,
    ) -> PyResult<Bound<'py, PyArray1<u32>>> {
        check_shift(shift)?;
        let bits = codes.as_slice()?.iter().map(|&code| self.0.decode(code, shift));
        Ok(PyArray1::from_iter(py, bits))
    }
}

fn check_shift(shift: i32) -> PyResult<()> {
    const MOST: u32 = 1 << 20;
    if shift.unsigned_abs() <= MOST {
        return Ok(());
    }
    Err(PyValueError::new_err(format!("shift is an integer in -{MOST}..={MOST}, not {shift}")))
}
