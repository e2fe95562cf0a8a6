//! Arrays in memory: quantize and dequantize.

use numpy::PyUntypedArray;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use smallfloat::{Codebook, Format};
use smallfloat_tensor::{self as tensor, Options, Packing, Quantizer, ScaleRule, ScaleSpec};

use crate::array::{Input, Output, with_kind};
use crate::cache::PIECE;
use crate::convert::{detached, number_dtype};
use crate::format::spec_of;
use crate::integers::Threads;
use crate::tensors::files::{QuantizeKeywords, file_error, json};
use crate::value_error;

/// Runs work on so many elements, without the interpreter where that is worth it. What is beyond a
/// piece may ask for threads, of which ours survive a fork.
fn work<R: Send>(
    py: Python<'_>,
    threads: Option<Threads>,
    length: usize,
    run: impl FnOnce() -> tensor::Result<R> + Send,
) -> PyResult<R> {
    let threads = Threads::check(threads)?;
    if threads == Some(1) {
        // A pool of one would be another thread.
        return py.detach(|| smallfloat_kernels::on_this_thread(run)).map_err(|e| file_error(&e));
    }
    let length = if length < PIECE / 2 { length } else { usize::MAX };
    detached(py, threads, length, run)?.map_err(|e| file_error(&e))
}

/// Codes as they are stored, in bytes; biases or the codes of scales, in bytes, and their shape;
/// what divides them; the type of the numbers; the report as JSON.
type Parts<'py> =
    (Bound<'py, PyUntypedArray>, Bound<'py, PyUntypedArray>, Vec<u64>, f32, &'static str, Option<String>);

/// Quantizes arrays by one recipe.
#[pyclass(frozen, module = "smallfloat._core", name = "Quantizer")]
pub(crate) struct PyQuantizer {
    /// With the packing of a file's codes.
    options: Options,
    silent: Quantizer,
}

#[pymethods]
impl PyQuantizer {
    #[new]
    fn new(recipe: QuantizeKeywords<'_>) -> PyResult<Self> {
        let options = recipe.options()?;
        let silent = Quantizer::new(options.clone()).map_err(|e| file_error(&e))?;
        Ok(Self { options, silent })
    }

    /// The native container's entry of a tensor of this shape and type of numbers, as JSON.
    fn entry(&self, shape: Vec<u64>, dtype: &str) -> PyResult<String> {
        json(&self.options.entry(&shape, dtype).map_err(|e| file_error(&e))?)
    }

    /// Quantizes an array.
    fn quantize<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
        name: &str,
        report: bool,
        threads: Option<Threads>,
    ) -> PyResult<Parts<'py>> {
        let refused = |e: tensor::Error| file_error(&e);
        let (x, kind) = Input::numbers(x, "x")?;
        let shape: Vec<u64> = x.shape().iter().map(|&n| n as u64).collect();
        let reporting;
        let quantizer = if report {
            reporting = Quantizer::new(self.options.clone()).map_err(refused)?.with_report();
            &reporting
        } else {
            &self.silent
        };
        let packing = self.options.packing;
        let length = quantizer.packed_length(&shape, packing).map_err(refused)?;
        let scale_length = quantizer.lengths(&shape).map_err(refused)?.1;
        let bytes = |length| Output::new(py, None, &[length], numpy::dtype::<u8>(py), &[]);
        let (mut codes, mut scales) = (bytes(length)?, bytes(scale_length)?);
        let (global, found) = with_kind!(kind, T => {
            let (x, codes, scales) = (x.slice::<T>()?, codes.slice::<u8>()?, scales.slice::<u8>()?);
            work(py, threads, x.len(), || quantizer.quantize_packed(name, &shape, x, packing, codes, scales))?
        });
        let report = found.as_ref().map(json).transpose()?;
        let scale_shape = self.options.granularity.scale_shape(&shape);
        Ok((codes.into_array(), scales.into_array(), scale_shape, global, kind.dtype().name(), report))
    }
}

/// Makes arrays of codes and scales, as [`PyQuantizer`] gives them.
#[pyclass(frozen, module = "smallfloat._core", name = "Dequantizer")]
pub(crate) struct PyDequantizer {
    quantizer: Quantizer,
    packing: Packing,
}

#[pymethods]
impl PyDequantizer {
    #[new]
    fn new(
        fmt: &Bound<'_, PyAny>,
        scale_format: Option<&str>,
        granularity: &str,
        packing: &str,
    ) -> PyResult<Self> {
        let refused = |e: tensor::Error| file_error(&e);
        let scale = match scale_format {
            None => None,
            Some(name) => {
                let format: Format = name.parse().map_err(value_error)?;
                Some(ScaleSpec { format, rule: ScaleRule::Amax, global: None })
            }
        };
        let granularity = granularity.parse().map_err(refused)?;
        let name: Option<String> = fmt.extract().ok();
        let elements = match name.and_then(|name| name.parse::<Codebook>().ok()) {
            Some(list) => Options::of_codebook(list),
            None => Options::new(spec_of(fmt)?),
        };
        let quantizer = Quantizer::new(Options { scale, granularity, ..elements }).map_err(refused)?;
        Ok(Self { quantizer, packing: packing.parse().map_err(refused)? })
    }

    /// The values of codes and scales.
    #[expect(clippy::too_many_arguments, reason = "the parts of a tensor")]
    fn values<'py>(
        &self,
        py: Python<'py>,
        codes: &Bound<'py, PyAny>,
        scales: &Bound<'py, PyAny>,
        global_scale: f32,
        shape: Vec<u64>,
        dtype: Option<&Bound<'py, PyAny>>,
        threads: Option<Threads>,
    ) -> PyResult<Bound<'py, PyUntypedArray>> {
        let (codes, scales) = (Input::bytes(codes)?, Input::bytes(scales)?);
        let (codes, scales) = (codes.slice::<u8>()?, scales.slice::<u8>()?);
        let sizes = shape.iter().map(|&n| usize::try_from(n)).collect::<Result<Vec<_>, _>>();
        let sizes = sizes.map_err(|_| PyValueError::new_err("the shape is too large"))?;
        let (dtype, kind) = number_dtype(py, dtype)?;
        let mut output = Output::new(py, None, &sizes, dtype, &[])?;
        with_kind!(kind, T => {
            let values = output.slice::<T>()?;
            work(py, threads, values.len(), || {
                self.quantizer.decode_packed(&shape, self.packing, codes, scales, global_scale, values)
            })?;
        });
        Ok(output.into_array())
    }
}
