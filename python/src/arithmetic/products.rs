//! Dot and matrix products of codes.

use pyo3::prelude::*;
use rayon::prelude::*;
use smallfloat::formats::BINARY32;
use smallfloat::{Exact, Format, Projection, Rounded, project};
use smallfloat_kernels::{Accumulate, Code, Decoder, Dot, Gpu, ScaledDot, Scales, divide_by_global_scales};

use crate::array::{Input, Output, result_dtype};
use crate::convert::{check_codes, detached};
use crate::format::format_of;
use crate::integers::Threads;
use crate::{policy, value_error};

/// How a product is accumulated: a name, or a format.
fn accumulator(accumulate: &Bound<'_, PyAny>) -> PyResult<Accumulate> {
    if let Ok(text) = accumulate.extract::<String>() {
        return text.parse().map_err(value_error);
    }
    let format = format_of(accumulate)?;
    Ok(Accumulate::Rounded(format, format.default_projection()))
}

/// The scales of an operand in Python: their codes and format, the block of a row's elements that
/// shares one, and what divides all of them. They are one for all rows, or one for each row or each
/// of its blocks.
type Given<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>, Option<usize>, f32);

/// The scales of an operand, as their format has them, and as numbers.
struct Factors {
    format: Format,
    codes: Vec<u8>,
    values: Vec<f32>,
    block: Option<usize>,
    is_one: bool,
    global: f32,
}

impl Factors {
    fn new((codes, fmt, block, global): Given<'_>) -> PyResult<Self> {
        let format = format_of(&fmt)?;
        let is_one = codes.getattr("ndim")?.extract::<usize>()? == 0;
        if format == BINARY32 {
            let values = Input::numbers(&codes, "scales")?.0.slice::<f32>()?.to_vec();
            return Ok(Self { format, codes: Vec::new(), values, block, is_one, global });
        }
        let input = Input::codes(&codes, &fmt, format.width())?;
        let inexact = |_| {
            value_error(format!(
                "scales in {format} have values that float32 can't hold, in which products are scaled: quantize with \
                 scale_format='e8m0fnu', 'e4m3fn' or 'binary32'"
            ))
        };
        let decoder = Decoder::<f32>::for_length(&format, None, input.len()).map_err(inexact)?;
        let mut values = vec![0.0; input.len()];
        let mut bytes = Vec::new();
        if format.width() <= 8 {
            let codes = input.slice::<u8>()?;
            check_codes(&format, codes)?;
            decoder.decode(codes, &mut values);
            bytes.extend_from_slice(codes);
        } else {
            let codes = input.slice::<u16>()?;
            check_codes(&format, codes)?;
            decoder.decode(codes, &mut values);
        }
        Ok(Self { format, codes: bytes, values, block, is_one, global })
    }

    fn scales(&self) -> Scales<'_> {
        match self.block {
            Some(block) => Scales::Blocks(block, &self.values),
            None if self.is_one => Scales::Tensor(self.values[0]),
            None => Scales::Rows(&self.values),
        }
    }
}

/// What multiplies codes.
enum Products {
    /// A sum at a time.
    Sums(Dot),
    /// Whole products, then their scales.
    Scaled(Dot, Option<[Factors; 2]>),
    /// Whole products with the scales of blocks inside the unit.
    Blocks(ScaledDot, [Factors; 2]),
}

impl Products {
    fn new(x: &Format, y: &Format, accumulate: Accumulate, scales: Option<[Factors; 2]>) -> PyResult<Self> {
        match (accumulate, scales) {
            (Accumulate::Unit(unit), Some(factors))
                if matches!(unit.gpu, Gpu::Blackwell | Gpu::RtxBlackwell)
                    && factors.iter().any(|factors| factors.block.is_some()) =>
            {
                let [a, b] = &factors;
                let (Some(block), true) = (a.block, (a.block, a.format) == (b.block, b.format)) else {
                    let text =
                        "takes one kind of block scales on both sides: quantize both with the same scheme";
                    return Err(value_error(format!("{accumulate} {text}")));
                };
                let outside =
                    "accumulate='fused:k=32,fraction=25' multiplies by other scales outside the unit";
                let error = |error| value_error(format!("{error}; {outside}"));
                Ok(Self::Blocks(unit.scaled_dot(x, y, &a.format, block).map_err(error)?, factors))
            }
            (accumulate, scales) => {
                let dot = Dot::new(x, y, accumulate).map_err(value_error)?;
                let is_unit = matches!(accumulate, Accumulate::Unit(_) | Accumulate::Fused(_));
                // Matrix units have kernels for whole products.
                let whole = is_unit || scales.is_some();
                Ok(if whole { Self::Scaled(dot, scales) } else { Self::Sums(dot) })
            }
        }
    }

    /// Whole products in binary32.
    fn write<C: Code>(&self, a: &[C], b: &[C], length: usize, products: &mut [f32]) {
        let factors = match self {
            Self::Sums(_) => unreachable!("sums are taken one by one"),
            Self::Scaled(dot, None) => {
                return dot.matmul_f32([a, b], length, [Scales::Tensor(1.0); 2], products);
            }
            Self::Scaled(dot, Some(factors)) => {
                dot.matmul_f32([a, b], length, [factors[0].scales(), factors[1].scales()], products);
                factors
            }
            Self::Blocks(dot, factors) => {
                dot.matmul([a, b], length, [&factors[0].codes, &factors[1].codes], products);
                factors
            }
        };
        divide_by_global_scales(products, [factors[0].global, factors[1].global]);
    }
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
    fn fill<C: Code, R: Code>(&self, products: &Products, a: &[C], b: &[C], results: &mut [R]) {
        let Products::Sums(dot) = products else {
            let mut sums = vec![0.0_f32; results.len()];
            if self.length > 0 {
                products.write(a, b, self.length, &mut sums);
            }
            results.par_iter_mut().zip(sums).for_each(|(result, sum)| {
                let sum = Exact::from_datum(BINARY32.decode(sum.to_bits().into()));
                *result = R::truncate(project(sum, &self.to, &self.projection).value);
            });
            return;
        };
        results.par_iter_mut().enumerate().for_each(|(i, result)| {
            let row = |matrix: &'_ [C], i: usize| i * self.length..((i + 1) * self.length).min(matrix.len());
            let (x, y) = (&a[row(a, i / self.columns)], &b[row(b, i % self.columns)]);
            let Rounded { value, .. } = dot.dot(x, y, &self.to, &self.projection);
            *result = R::truncate(value);
        });
    }
}

/// The products of all rows of `a` with all rows of `b`, both of codes in two dimensions: `matmul`
/// and `linear` in `_products.py` are its faces.
#[pyfunction]
#[pyo3(signature = (a, b, formats, to, accumulate, preset, rounding, saturation, threads, scales=None))]
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
    scales: Option<[Given<'py>; 2]>,
) -> PyResult<Bound<'py, PyAny>> {
    let (x_format, y_format) = (format_of(&formats.0)?, format_of(&formats.1)?);
    let scales = match scales {
        Some([x, y]) => Some([Factors::new(x)?, Factors::new(y)?]),
        None => None,
    };
    let products = Products::new(&x_format, &y_format, accumulator(accumulate)?, scales)?;
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
                let written = output.slice::<$type>()?;
                detached(py, threads, usize::MAX, || results.fill(&products, x, y, written))?;
            } else {
                let (x, y) = (halves(&a, &x_format)?, halves(&b, &y_format)?);
                let written = output.slice::<$type>()?;
                detached(py, threads, usize::MAX, || results.fill(&products, &x, &y, written))?;
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
