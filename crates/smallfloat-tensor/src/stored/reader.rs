//! [`Reader`]: the elements of any stored tensor as numbers.

use std::sync::Arc;

use smallfloat::{Bf16, F16};
use smallfloat_kernels::{Code, Decoder};

use crate::error::{Error, Result};
use crate::file::dtype::Dtype;
use crate::file::formats::source::Source;
use crate::file::stream::code_at;
use crate::layout::convention::Order;
use crate::layout::grid::index;
use crate::scale::rule::Scale;
use crate::stored::numbers::{Held, of_bf16};
use crate::stored::scaled::Scaled;
use crate::stored::transposed::Transposed;
use crate::stored::view::{Stored, TensorView, f64_decoder};

/// Reads a tensor's elements as numbers, whatever way they are stored.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    source: &'a Source,
    tensor: &'a TensorView,
    decoder: Option<CodeValues>,
    odd: bool,
    transposed: Option<Transposed>,
}

/// What codes stand for.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "a reader has one")]
pub(crate) enum CodeValues {
    Format(Decoder<f64>),
    List(Arc<[f64]>),
}

impl CodeValues {
    pub(crate) fn value(&self, code: usize) -> f64 {
        match self {
            Self::Format(decoder) => decoder.value(code),
            // As of formats, bits above the width are ignored.
            Self::List(values) => values[code & (values.len() - 1)],
        }
    }

    /// Puts the values of codes into place.
    pub(crate) fn decode<C: Code>(&self, codes: &[C], values: &mut [f64]) {
        match self {
            Self::Format(decoder) => decoder.decode(codes, values),
            Self::List(_) => values.iter_mut().zip(codes).for_each(|(x, code)| *x = self.value(code.code())),
        }
    }
}

impl<'a> Reader<'a> {
    pub(crate) fn new(source: &'a Source, tensor: &'a TensorView) -> Result<Self> {
        Self::for_length(source, tensor, length(tensor))
    }

    /// Returns a reader of about so many elements.
    pub(crate) fn for_length(source: &'a Source, tensor: &'a TensorView, length: usize) -> Result<Self> {
        let decoder = match &tensor.stored {
            Stored::Codes(codes) => Some(CodeValues::Format(f64_decoder(&codes.0, length)?)),
            Stored::Scaled(scaled) => Some(match &scaled.codebook {
                Some(codebook) => CodeValues::List(Arc::clone(&codebook.values)),
                None => CodeValues::Format(f64_decoder(&scaled.element, length)?),
            }),
            Stored::Wide => None,
            Stored::Other => {
                let what = format!("dtype {} has no numbers to compare", tensor.info.dtype);
                return Err(Error::refused(Some(source.path()), Some(&tensor.info.name), what));
            }
        };
        let is_transposed = tensor.scaled().is_some_and(|scaled| scaled.order() == Order::Transposed);
        let transposed = is_transposed.then(|| Transposed::new(&tensor.info.shape));
        Ok(Self { source, tensor, decoder, odd: false, transposed })
    }

    /// Returns a reader for elements that will be rounded again: what f64 can't hold is rounded to
    /// odd.
    pub(crate) fn rounding_to_odd(self) -> Self {
        Self { odd: true, ..self }
    }

    /// How many elements there are.
    pub(crate) fn len(&self) -> usize {
        length(self.tensor)
    }

    /// The type of the elements; `None` where they are products of codes and scales.
    pub(crate) fn dtype(&self) -> Option<Dtype> {
        matches!(self.tensor.stored, Stored::Wide).then_some(self.tensor.info.dtype)
    }

    /// Reads elements `first..first + values.len()` in row-major order. A value is the exact
    /// product of element and scale, where f64 holds it: always, but for an NVFP4 scale whose
    /// divisor is no power of two, where it is rounded once.
    pub(crate) fn read(&self, first: u64, values: &mut [f64]) -> Result<()> {
        self.fill(first, values, &mut Vec::new())
    }

    /// Reads elements `first..first + values.len()` into a type that holds them, as `read` does;
    /// `bytes` is room for those of the file.
    pub(crate) fn fill<T: Held>(&self, first: u64, values: &mut [T], bytes: &mut Vec<u8>) -> Result<()> {
        let info = &self.tensor.info;
        let end = first.checked_add(values.len() as u64);
        if end.is_none_or(|end| end > info.elements()) {
            let what = format!(
                "{} elements from {first} on were asked for, but the tensor has {}",
                values.len(),
                info.elements()
            );
            return Err(Error::refused(Some(self.source.path()), Some(&info.name), what));
        }
        match (&self.tensor.stored, &self.decoder) {
            (Stored::Codes(codes), Some(decoder)) => {
                let size = usize::from(codes.0.width() > 8) + 1;
                bytes.resize(values.len() * size, 0);
                self.source.read_range(info, first, bytes)?;
                for (value, bytes) in values.iter_mut().zip(bytes.chunks_exact(size)) {
                    *value = T::of_f64(decoder.value(usize::from(code_at(bytes))));
                }
                return Ok(());
            }
            (Stored::Scaled(scaled), Some(_)) => {
                return self.read_products(scaled, first, values, &|scale, element| {
                    T::of_f64(scale.times(element, self.odd))
                });
            }
            _ => {}
        }
        bytes.resize(values.len() * usize::try_from(info.dtype.bits() / 8).expect("a few bytes"), 0);
        self.source.read_range(info, first, bytes)?;
        match info.dtype {
            Dtype::F64 => each(bytes, values, |x| T::of_f64(f64::from_le_bytes(x))),
            Dtype::F32 => each(bytes, values, |x| T::of_f32(f32::from_le_bytes(x))),
            Dtype::F16 => each(bytes, values, |x| T::of_f16(F16::from_bits(u16::from_le_bytes(x)))),
            _ => each(bytes, values, |x| T::of_f32(of_bf16(Bf16::from_bits(u16::from_le_bytes(x))))),
        }
        Ok(())
    }

    /// Reads elements as whatever `product` makes of a scale and an element.
    pub(crate) fn read_products<T>(
        &self,
        scaled: &Scaled,
        first: u64,
        values: &mut [T],
        product: &impl Fn(&Scale, f64) -> T,
    ) -> Result<()> {
        if values.is_empty() {
            return Ok(());
        }
        if self.transposed.is_some() {
            return self.read_transposed(scaled, first, values, product);
        }
        self.read_in_order(scaled, first, values, product)
    }

    /// Reads elements in the order of the file.
    fn read_in_order<T>(
        &self,
        scaled: &Scaled,
        first: u64,
        values: &mut [T],
        product: &impl Fn(&Scale, f64) -> T,
    ) -> Result<()> {
        let Some(decoder) = &self.decoder else { return Ok(()) };
        // Ranges that reach over the end of long rows are read in two parts: scales of whole rows
        // may be too many.
        let left = scaled.grid.columns.max(1) - first % scaled.grid.columns.max(1);
        if scaled.grid.columns > values.len() as u64 && left < values.len() as u64 {
            let (here, below) = values.split_at_mut(index(left));
            self.read_in_order(scaled, first, here, product)?;
            return self.read_in_order(scaled, first + left, below, product);
        }
        let codes = scaled.read_codes(self.source, first, values.len())?;
        let grid = &scaled.grid;
        let (columns, end) = (grid.columns.max(1), first + values.len() as u64);
        let (row, last) = (first / columns, (end - 1) / columns);
        let group_row = row / grid.block_rows;
        let group_rows = last / grid.block_rows - group_row + 1;
        let (column, group_columns) = if row == last {
            let column = first % columns / grid.block_columns;
            (column, (end - 1) % columns / grid.block_columns - column + 1)
        } else {
            (0, grid.group_columns)
        };
        let scales = scaled.read_scales(self.source, group_row, group_rows, column, group_columns)?;
        // The values of all bytes, where there are more elements than that.
        let is_table_worth_it = scaled.element.width() <= 8 && values.len() > 256;
        let of_bytes: Option<[f64; 256]> =
            is_table_worth_it.then(|| std::array::from_fn(|code| decoder.value(code)));
        grid.each_run(first, values.len(), |(i, j), range| {
            let scale = scales[index((i - group_row) * group_columns + j - column)];
            let pairs = values[range.clone()].iter_mut().zip(&codes[range]);
            if let Some(all) = &of_bytes {
                pairs.for_each(|(value, &code)| *value = product(&scale, all[usize::from(code & 0xff)]));
            } else {
                pairs.for_each(|(value, &code)| *value = product(&scale, decoder.value(usize::from(code))));
            }
        });
        Ok(())
    }

    /// Reads elements of a tensor whose matrices lie transposed. The products are numbers of f64:
    /// scales are powers of two.
    fn read_transposed<T>(
        &self,
        scaled: &Scaled,
        first: u64,
        values: &mut [T],
        product: &impl Fn(&Scale, f64) -> T,
    ) -> Result<()> {
        let one = Scale::new(0, 1.0, 1.0);
        let line = |first, elements: &mut [f64]| {
            self.read_in_order(scaled, first, elements, &|scale, x| scale.times(x, false))
        };
        let transposed = self.transposed.as_ref().expect("what is transposed is read so");
        transposed.read(first, values.len(), &line, |at, run| {
            values[at..].iter_mut().zip(run).for_each(|(value, &x)| *value = product(&one, x));
        })
    }
}

/// How many elements there are.
fn length(tensor: &TensorView) -> usize {
    usize::try_from(tensor.info.elements()).unwrap_or(usize::MAX)
}

/// Sets each value to what `of` makes of its bytes.
fn each<const N: usize, T>(bytes: &[u8], values: &mut [T], of: impl Fn([u8; N]) -> T) {
    values.iter_mut().zip(bytes.as_chunks().0).for_each(|(value, &bytes)| *value = of(bytes));
}
