//! Dot and matrix products of codes.

use pyo3::prelude::*;
use rayon::prelude::*;
use smallfloat::formats::BINARY32;
use smallfloat::{Exact, Format, Projection, Rounded, project};
use smallfloat_kernels::{Accumulate, Code, Dot, Scales};

use crate::array::{Input, Output, result_dtype};
use crate::convert::{check_codes, detached};
use crate::format::format_of;
use crate::integers::Threads;
use crate::{policy, value_error};

/// How a product is accumulated: a name, or a format.
fn accumulator(accumulate: &Bound<'_, PyAny>) -> PyResult<Accumulate> {
    if let Ok(text) = accumulate.extract::<String>() {
        return match text.parse() {
            // A name that is none, and a format that needs a bias, have the format's error.
            Err(error @ smallfloat_kernels::Error::Accumulate) => match format_of(accumulate) {
                Ok(format) => Ok(Accumulate::Rounded(format, format.default_projection())),
                Err(_) if !text.contains("bias") => Err(value_error(error)),
                Err(error) => Err(error),
            },
            found => found.map_err(value_error),
        };
    }
    let format = format_of(accumulate)?;
    Ok(Accumulate::Rounded(format, format.default_projection()))
}

/// What the results of a product are.
struct Results {
    to: Format,
    projection: Projection,
    length: usize,
    columns: usize,
}

impl Results {
    /// Row r of `a` times row c of `b` for all r and c.
    fn fill<C: Code, R: Code>(&self, dot: &Dot, a: &[C], b: &[C], results: &mut [R]) {
        let is_unit = matches!(dot.accumulate(), Accumulate::Unit(_) | Accumulate::Fused(_));
        if is_unit && self.length > 0 {
            // Matrix units have kernels for whole products.
            let mut sums = vec![0.0_f32; results.len()];
            dot.matmul_f32([a, b], self.length, [Scales::Tensor(1.0); 2], &mut sums);
            results.par_iter_mut().zip(sums).for_each(|(result, sum)| {
                let sum = Exact::from_datum(BINARY32.decode(sum.to_bits().into()));
                *result = R::truncate(project(sum, &self.to, &self.projection).value);
            });
            return;
        }
        results.par_iter_mut().enumerate().for_each(|(i, result)| {
            let row = |matrix: &'_ [C], i: usize| i * self.length..((i + 1) * self.length).min(matrix.len());
            let (x, y) = (&a[row(a, i / self.columns)], &b[row(b, i % self.columns)]);
            let Rounded { value, .. } = dot.dot(x, y, &self.to, &self.projection);
            *result = R::truncate(value);
        });
    }
}

/// The products of all rows of `a` with all rows of `b`, both of codes in two dimensions: `matmul`
/// in `_products.py` is its face.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "Python's keyword arguments")]
pub(crate) fn row_products<'py>(
    py: Python<'py>,
    a: &Bound<'py, PyAny>,
    b: &Bound<'py, PyAny>,
    formats: (Bound<'py, PyAny>, Bound<'py, PyAny>),
    to: &Bound<'py, PyAny>,
    accumulate: &Bound<'py, PyAny>,
    preset: Option<&str>,
    rounding: Option<&str>,
    saturation: Option<&str>,
    threads: Option<Threads>,
) -> PyResult<Bound<'py, PyAny>> {
    let (x_format, y_format) = (format_of(&formats.0)?, format_of(&formats.1)?);
    let dot = Dot::new(&x_format, &y_format, accumulator(accumulate)?).map_err(value_error)?;
    let (to, threads) = (format_of(to)?, Threads::check(threads)?);
    let rounding = rounding.map(|text| policy::rounding(text, 32)).transpose()?;
    let projection = policy::projection(&to, preset, rounding, saturation)?;
    policy::words(projection.rounding, None, None, "philox", 0)?;
    let widths = [x_format.width(), y_format.width()];
    let (a, b) = (Input::codes(a, &formats.0, widths[0])?, Input::codes(b, &formats.1, widths[1])?);
    let shape = [a.shape()[0], b.shape()[0]];
    let results = Results { to, projection, length: a.shape()[1], columns: shape[1] };
    let mut output = Output::new(py, None, &shape, result_dtype(py, Some(&to)), &[])?;
    macro_rules! fill {
        ($type:ty) => {{
            if widths.iter().all(|width| *width <= 8) {
                let (x, y) = (a.slice::<u8>()?, b.slice::<u8>()?);
                check_codes(&x_format, x)?;
                check_codes(&y_format, y)?;
                let products = output.slice::<$type>()?;
                detached(py, threads, usize::MAX, || results.fill(&dot, x, y, products))?;
            } else {
                let (x, y) = (halves(&a, &x_format)?, halves(&b, &y_format)?);
                let products = output.slice::<$type>()?;
                detached(py, threads, usize::MAX, || results.fill(&dot, &x, &y, products))?;
            }
        }};
    }
    match to.width() {
        ..=8 => fill!(u8),
        9..=16 => fill!(u16),
        17..=32 => fill!(u32),
        _ => fill!(u64),
    }
    output.finish(&a)
}

/// Codes as half-words, whatever they came as.
fn halves(codes: &Input<'_>, format: &Format) -> PyResult<Vec<u16>> {
    if format.width() > 8 {
        let codes = codes.slice::<u16>()?;
        check_codes(format, codes)?;
        return Ok(codes.to_vec());
    }
    let codes = codes.slice::<u8>()?;
    check_codes(format, codes)?;
    Ok(codes.iter().map(|code| u16::from(*code)).collect())
}
