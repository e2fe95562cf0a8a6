//! Dot and matrix products of codes.

use pyo3::prelude::*;
use rayon::prelude::*;
use smallfloat::{Format, Projection, Rounded};
use smallfloat_kernels::{Accumulate, Code, Dot};

use crate::array::{Input, Output, result_dtype};
use crate::convert::{check_codes, check_threads, detached};
use crate::format::format_of;
use crate::{policy, value_error};

/// How a product is accumulated, by name: `f32`, `exact`, or a format.
fn accumulator(text: &Bound<'_, PyAny>) -> PyResult<Accumulate> {
    match text.extract::<String>().as_deref() {
        Ok("f32") => Ok(Accumulate::F32),
        Ok("exact") => Ok(Accumulate::Exact),
        _ => {
            let format = format_of(text)?;
            Ok(Accumulate::Rounded(format, format.default_projection()))
        }
    }
}

/// What the results of a product are.
struct Results {
    to: Format,
    projection: Projection,
    length: usize,
}

impl Results {
    /// Row r of `a` times row c of `b` for all r and c.
    fn fill<R: Code>(&self, dot: &Dot, a: &[u8], b: &[u8], results: &mut [R]) {
        let columns = b.len() / self.length.max(1);
        results.par_iter_mut().enumerate().for_each(|(i, result)| {
            let row = |matrix: &'_ [u8], i: usize| i * self.length..((i + 1) * self.length).min(matrix.len());
            let (x, y) = (&a[row(a, i / columns)], &b[row(b, i % columns)]);
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
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyAny>> {
    let (x_format, y_format) = (format_of(&formats.0)?, format_of(&formats.1)?);
    let dot = Dot::new(&x_format, &y_format, accumulator(accumulate)?).map_err(value_error)?;
    let (to, threads) = (format_of(to)?, check_threads(threads)?);
    let rounding = rounding.map(|text| policy::rounding(text, 32)).transpose()?;
    let projection = policy::projection(&to, preset, rounding, saturation)?;
    policy::words(projection.rounding, None, None, "philox", 0)?;
    let (a, b) = (Input::codes(a, &formats.0, 8)?, Input::codes(b, &formats.1, 8)?);
    let shape = [a.shape()[0], b.shape()[0]];
    let results = Results { to, projection, length: a.shape()[1] };
    let mut output = Output::new(py, None, &shape, result_dtype(py, Some(&to)), &[])?;
    let (x, y) = (a.slice::<u8>()?, b.slice::<u8>()?);
    check_codes(&x_format, x)?;
    check_codes(&y_format, y)?;
    macro_rules! fill {
        ($type:ty) => {{
            let products = output.slice::<$type>()?;
            detached(py, threads, usize::MAX, || results.fill(&dot, x, y, products))?;
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
