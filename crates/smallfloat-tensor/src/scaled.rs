//! [`Scaled`]: a tensor stored as codes with a scale a group, and [`Reader`]: any tensor's elements as numbers.

use smallfloat::formats::BINARY32;
use smallfloat::{Datum, Format};
use smallfloat_kernels::{Decoder, Element};

use crate::container::Entry;
use crate::granularity::{Granularity, Grid};
use crate::packing::Packing;
use crate::scale::{Scale, ScaleSpec};
use crate::stream::{code_at, with_element};
use crate::view::{Stored, TensorView, f64_decoder};
use crate::{Dtype, Error, Result, Source, TensorInfo};

/// A tensor of codes with a scale or a bias for each group of elements.
#[derive(Clone, PartialEq, Debug)]
pub struct Scaled {
    /// The format of the elements; where biases are stored, at bias 0.
    pub element: Format,
    /// The scales; `None` where biases take their place.
    pub scale: Option<ScaleSpec>,
    /// What shares a scale.
    pub granularity: Granularity,
    /// How codes lie in bytes.
    pub packing: Packing,
    /// The container's entry; `None` for files of other programs.
    pub entry: Option<Entry>,
    pub(crate) grid: Grid,
    /// The tensors of codes and scales as they are in the file.
    pub(crate) codes: TensorInfo,
    pub(crate) scales: TensorInfo,
    /// What divides all scales.
    pub(crate) global: f64,
}

impl Scaled {
    /// Whether every scale is a power of two, so that an element's value has no more bits than its code.
    pub fn has_power_of_two_scales(&self) -> bool {
        self.scale.is_none_or(|scale| scale.format.precision() == 1)
    }

    /// Checks that codes and scales have the shapes that the grid asks for.
    pub(crate) fn check(&self, shape: &[u64]) -> Result<(), String> {
        let expected = self.packing.row_bytes(&self.element, self.grid.columns);
        let bytes = self.grid.rows.checked_mul(expected);
        if bytes != Some(self.codes.len) {
            return Err(format!(
                "{} bytes of codes don't hold {shape:?} elements of {} as {}",
                self.codes.len,
                self.element,
                self.packing.name()
            ));
        }
        let (rows, columns) = (self.grid.group_rows, self.grid.group_columns);
        if rows.checked_mul(columns) != Some(self.scales.elements()) {
            return Err(format!(
                "its scales `{}` have the shape {:?}, {} of {shape:?} needs {rows}×{columns}",
                self.scales.name, self.scales.shape, self.granularity
            ));
        }
        Ok(())
    }

    /// The scale that a stored code means.
    pub(crate) fn scale_of(&self, code: u64) -> Scale {
        match &self.scale {
            None => Scale::of_bias(i32::try_from(code).unwrap_or(i32::MAX)),
            Some(spec) => spec.stored(code, self.global),
        }
    }

    /// Reads the scales of a rectangle of groups within whole group rows, or within one.
    pub(crate) fn read_scales(
        &self,
        source: &Source,
        row: u64,
        rows: u64,
        column: u64,
        columns: u64,
    ) -> Result<Vec<Scale>> {
        let size = usize::try_from(self.scales.dtype.bits() / 8).unwrap_or(1);
        let mut all = Vec::new();
        let mut bytes = vec![0; usize::try_from(columns).unwrap_or(0) * size];
        for row in row..row + rows {
            source.read_range(&self.scales, row * self.grid.group_columns + column, &mut bytes)?;
            all.extend(bytes.chunks_exact(size).map(|bytes| {
                let code = match *bytes {
                    [a, b, c, d] => u64::from(u32::from_le_bytes([a, b, c, d])),
                    _ => u64::from(code_at(bytes)),
                };
                self.scale_of(code)
            }));
        }
        Ok(all)
    }

    /// Reads the codes of elements `first..first + count`, in row-major order.
    pub(crate) fn read_codes(&self, source: &Source, first: u64, count: usize) -> Result<Vec<u16>> {
        let (unit, unit_bytes) = self.packing.unit(&self.element);
        let columns = self.grid.columns.max(1);
        let bytes_of_row = self.packing.row_bytes(&self.element, columns);
        // Rows that are filled up are read one by one.
        let run = if columns.is_multiple_of(unit) { u64::MAX } else { columns };
        let (mut codes, mut bytes) = (Vec::with_capacity(count), Vec::new());
        let (mut at, end) = (first, first + count as u64);
        while at < end {
            let column = at % columns;
            let stop = end.min(at.saturating_add(run - column.min(run)));
            let skipped = column % unit;
            let begin = at / columns * bytes_of_row + (column - skipped) / unit * unit_bytes;
            let length = (stop - at + skipped).div_ceil(unit) * unit_bytes;
            bytes.resize(usize::try_from(length).unwrap_or(usize::MAX), 0);
            source.read_bytes(&self.codes, begin, &mut bytes)?;
            let start = codes.len();
            self.packing.unpack(&self.element, &bytes, &mut codes);
            codes.drain(start..start + usize::try_from(skipped).unwrap_or(0));
            codes.truncate(usize::try_from(stop - first).unwrap_or(count));
            at = stop;
        }
        Ok(codes)
    }
}

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

    /// The same for elements that will be rounded again: what f64 can't hold is rounded to odd.
    pub(crate) fn rounding_to_odd(self) -> Self {
        Self { odd: true, ..self }
    }

    /// Reads elements `first..first + values.len()` in row-major order. A value is the exact product of element and
    /// scale, where f64 holds it: always, but for an NVFP4 scale whose divisor is no power of two, where it is rounded once.
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

    /// The same for elements that are f32 numbers: those of F32, BF16 and F16.
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
        // Ranges that reach over the end of long rows are read in two parts: scales of whole rows may be too many.
        let left = scaled.grid.columns.max(1) - first % scaled.grid.columns.max(1);
        if scaled.grid.columns > values.len() as u64 && left < values.len() as u64 {
            let (here, below) = values.split_at_mut(usize::try_from(left).unwrap_or(0));
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
            let count = usize::try_from((stop - j).min(end - at)).unwrap_or(values.len());
            let group = (i / grid.block_rows - group_row) * group_columns + j / grid.block_columns - column;
            let scale = scales[usize::try_from(group).unwrap_or(0)];
            for (value, &code) in values[done..done + count].iter_mut().zip(&codes[done..]) {
                *value = product(&scale, decoder.value(usize::from(code)));
            }
            at += count as u64;
            done += count;
        }
        Ok(())
    }
}

/// Is this the code of a scale that is no positive number?
pub(crate) fn is_odd_scale(spec: &ScaleSpec, code: u64) -> bool {
    match spec.format.decode(code) {
        Datum::Finite { negative, significand, .. } => negative || significand == 0,
        _ => true,
    }
}

/// The F32 number in four bytes.
pub(crate) fn f32_at(bytes: &[u8]) -> Option<f64> {
    let &[a, b, c, d] = bytes else { return None };
    Some(BINARY32.decode_f64(u64::from(u32::from_le_bytes([a, b, c, d]))).value)
}
