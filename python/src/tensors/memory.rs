//! Arrays in memory: quantize and dequantize.

use numpy::{PyArray1, PyUntypedArray};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use smallfloat::{Codebook, Format};
use smallfloat_tensor::{self as tensor, Options, Packing, Quantizer, ScaleRule, ScaleSpec};

use crate::array::{Input, Output, with_kind};
use crate::cache::PIECE;
use crate::convert::{check_threads, detached, number_dtype};
use crate::format::spec_of;
use crate::tensors::files::{QuantizeKeywords, file_error, json};
use crate::value_error;

/// Runs work on so many elements, without the interpreter where that is worth it. What is beyond a
/// piece may ask for threads, of which ours survive a fork.
fn work<R: Send>(
    py: Python<'_>,
    threads: Option<usize>,
    length: usize,
    run: impl FnOnce() -> tensor::Result<R> + Send,
) -> PyResult<R> {
    let threads = check_threads(threads)?;
    if threads == Some(1) {
        // A pool of one would be another thread.
        return py.detach(|| smallfloat_kernels::on_this_thread(run)).map_err(|e| file_error(&e));
    }
    let length = if length < PIECE / 2 { length } else { usize::MAX };
    detached(py, threads, length, run)?.map_err(|e| file_error(&e))
}

/// Codes as they are stored, in bytes; biases or the codes of scales, in bytes, and their shape;
/// what divides them; the native container's entry and the report as JSON.
type Parts<'py> = (Bound<'py, PyAny>, Bound<'py, PyUntypedArray>, Vec<u64>, f32, String, Option<String>);

/// Quantizes an array.
#[pyfunction]
pub(crate) fn quantize_array<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    name: &str,
    recipe: QuantizeKeywords<'_>,
    report: bool,
    threads: Option<usize>,
) -> PyResult<Parts<'py>> {
    let refused = |e: tensor::Error| file_error(&e);
    let options = recipe.options()?;
    let (x, kind) = Input::numbers(x, "x")?;
    let shape: Vec<u64> = x.shape().iter().map(|&n| n as u64).collect();
    let entry = options.entry(&shape, kind.dtype().name()).map_err(refused)?;
    let packing = options.packing;
    let mut quantizer = Quantizer::new(options).map_err(refused)?;
    if report {
        quantizer = quantizer.with_report();
    }
    let lengths = quantizer.lengths(&shape).map_err(refused)?;
    let bytes = |length| Output::new(py, None, &[length], numpy::dtype::<u8>(py), &[]);
    let (mut codes, mut scales) = (bytes(lengths.0)?, bytes(lengths.1)?);
    let quantized = with_kind!(kind, T => {
        let (x, codes, scales) = (x.slice::<T>()?, codes.slice::<u8>()?, scales.slice::<u8>()?);
        work(py, threads, x.len(), || quantizer.quantize_into(name, &shape, x, codes, scales))?
    });
    let (global, scale_shape) = (quantized.global_scale(), quantized.scale_shape());
    let report = quantized.report().map(json).transpose()?;
    let packed = match packing {
        Packing::Bytes => None,
        packing => Some(work(py, Some(1), quantized.len(), || quantized.packed(packing))?),
    };
    let codes = match packed {
        None => codes.into_array().into_any(),
        Some(packed) => PyArray1::from_vec(py, packed).into_any(),
    };
    Ok((codes, scales.into_array(), scale_shape, global, json(&entry)?, report))
}

/// The values of codes and scales as `quantize_array` gives them.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the parts of a tensor")]
pub(crate) fn dequantize_array<'py>(
    py: Python<'py>,
    codes: &Bound<'py, PyAny>,
    scales: &Bound<'py, PyAny>,
    global_scale: f32,
    shape: Vec<u64>,
    fmt: &Bound<'py, PyAny>,
    scale_format: Option<&str>,
    granularity: &str,
    packing: &str,
    dtype: Option<&Bound<'py, PyAny>>,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyUntypedArray>> {
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
    let packing: Packing = packing.parse().map_err(refused)?;
    let (codes, scales) = (Input::bytes(codes)?, Input::bytes(scales)?);
    let (codes, scales) = (codes.slice::<u8>()?, scales.slice::<u8>()?);
    let sizes = shape.iter().map(|&n| usize::try_from(n)).collect::<Result<Vec<_>, _>>();
    let sizes = sizes.map_err(|_| PyValueError::new_err("the shape is too large"))?;
    let (dtype, kind) = number_dtype(py, dtype)?;
    let mut output = Output::new(py, None, &sizes, dtype, &[])?;
    with_kind!(kind, T => {
        let values = output.slice::<T>()?;
        work(py, threads, values.len(), || {
            let unpacked;
            let codes = if packing == Packing::Bytes {
                codes
            } else {
                unpacked = quantizer.unpacked(&shape, packing, codes)?;
                &unpacked
            };
            quantizer.restore(&shape, codes, scales, global_scale)?.decode_into(values)
        })?;
    });
    Ok(output.into_array())
}
