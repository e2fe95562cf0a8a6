//! [`Reader`]: the elements of any stored tensor as numbers.

use smallfloat_kernels::{Decoder, Element};

use crate::error::{Error, Result};
use crate::file::dtype::Dtype;
use crate::file::source::Source;
use crate::file::stream::{code_at, with_element};
use crate::layout::grid::index;
use crate::scale::rule::Scale;
use crate::stored::scaled::Scaled;
use crate::stored::view::{Stored, TensorView, f64_decoder};

/// Reads a tensor's elements as numbers, whatever way they are stored.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    source: &'a Source,
    tensor: &'a TensorView,
    decoder: Option<Decoder<f64>>,
    odd: bool,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(source: &'a Source, tensor: &'a TensorView) -> Result<Self> {
        let decoder = match &tensor.stored {
            Stored::Codes(codes) => Some(f64_decoder(&codes.0)?),
            Stored::Scaled(scaled) => Some(f64_decoder(&scaled.element)?),
            Stored::Wide => None,
            Stored::Other => {
                let what = format!("dtype {} has no numbers to compare", tensor.info.dtype);
                return Err(Error::refused(Some(source.path()), Some(&tensor.info.name), what));
            }
        };
        Ok(Self { source, tensor, decoder, odd: false })
    }

    /// Returns a reader for elements that will be rounded again: what f64 can't hold is rounded to
    /// odd.
    pub(crate) fn rounding_to_odd(self) -> Self {
        Self { odd: true, ..self }
    }

    /// Reads elements `first..first + values.len()` in row-major order. A value is the exact
    /// product of element and scale, where f64 holds it: always, but for an NVFP4 scale whose
    /// divisor is no power of two, where it is rounded once.
    pub(crate) fn read(&self, first: u64, values: &mut [f64]) -> Result<()> {
        let info = &self.tensor.info;
        match (&self.tensor.stored, &self.decoder) {
            (Stored::Codes(codes), Some(decoder)) => {
                let size = usize::from(codes.0.width() > 8) + 1;
                let mut bytes = vec![0; values.len() * size];
                self.source.read_range(info, first, &mut bytes)?;
                for (value, bytes) in values.iter_mut().zip(bytes.chunks_exact(size)) {
                    *value = decoder.value(usize::from(code_at(bytes)));
                }
                Ok(())
            }
            (Stored::Scaled(scaled), Some(_)) => {
                self.read_products(scaled, first, values, &|scale, element| scale.times(element, self.odd))
            }
            _ => self.read_wide(first, values, f64::from, |x| x),
        }
    }

    /// Reads elements that are f32 numbers: those of F32, BF16 and F16.
    pub(crate) fn read_short(&self, first: u64, values: &mut [f32]) -> Result<()> {
        #[expect(clippy::cast_possible_truncation, reason = "an f32 number")]
        self.read_wide(first, values, |x| x, |x| x as f32)
    }

    fn read_wide<N>(
        &self,
        first: u64,
        values: &mut [N],
        short: impl Fn(f32) -> N,
        long: impl Fn(f64) -> N,
    ) -> Result<()> {
        let info = &self.tensor.info;
        if info.dtype == Dtype::BF16 {
            let mut bytes = vec![0; values.len() * 2];
            self.source.read_range(info, first, &mut bytes)?;
            for (value, half) in values.iter_mut().zip(bytes.chunks_exact(2)) {
                *value = short(f32::from_bits(u32::from(code_at(half)) << 16));
            }
            return Ok(());
        }
        with_element!(info.dtype, T => {
            let mut bytes = vec![0; values.len() * T::SIZE];
            self.source.read_range(info, first, &mut bytes)?;
            for (value, bytes) in values.iter_mut().zip(bytes.chunks_exact(T::SIZE)) {
                *value = long(T::from_le_slice(bytes).to_f64());
            }
        }, else ());
        Ok(())
    }

    /// Reads elements as whatever `product` makes of a scale and an element.
    pub(crate) fn read_products(
        &self,
        scaled: &Scaled,
        first: u64,
        values: &mut [f64],
        product: &impl Fn(&Scale, f64) -> f64,
    ) -> Result<()> {
        let (Some(decoder), false) = (&self.decoder, values.is_empty()) else { return Ok(()) };
        // Ranges that reach over the end of long rows are read in two parts: scales of whole rows
        // may be too many.
        let left = scaled.grid.columns.max(1) - first % scaled.grid.columns.max(1);
        if scaled.grid.columns > values.len() as u64 && left < values.len() as u64 {
            let (here, below) = values.split_at_mut(index(left));
            self.read_products(scaled, first, here, product)?;
            return self.read_products(scaled, first + left, below, product);
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
        let (mut at, mut done) = (first, 0);
        while at < end {
            let (i, j) = (at / columns, at % columns);
            let stop = (j / grid.block_columns + 1).saturating_mul(grid.block_columns).min(columns);
            let count = index((stop - j).min(end - at));
            let group = (i / grid.block_rows - group_row) * group_columns + j / grid.block_columns - column;
            let scale = scales[index(group)];
            for (value, &code) in values[done..done + count].iter_mut().zip(&codes[done..]) {
                *value = product(&scale, decoder.value(usize::from(code)));
            }
            at += count as u64;
            done += count;
        }
        Ok(())
    }
}
