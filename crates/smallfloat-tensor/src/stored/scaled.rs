//! [`Scaled`]: a tensor stored as codes with one scale per group, and [`Reader`]: any tensor's
//! elements as numbers.

use smallfloat::formats::BINARY32;
use smallfloat::{Datum, Format};

use crate::error::Result;
use crate::file::input::TensorInfo;
use crate::file::source::Source;
use crate::file::stream::code_at;
use crate::layout::container::Entry;
use crate::layout::grid::{Granularity, Grid, index};
use crate::layout::packing::Packing;
use crate::scale::rule::{Scale, ScaleSpec};

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
    /// Whether every scale is a power of two, so that an element's value has no more bits than its
    /// code.
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
            None => Scale::of_bias(i32::try_from(code).expect("a bias is a byte")),
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
        let size = index(u64::from(self.scales.dtype.bits() / 8));
        let mut all = Vec::new();
        let mut bytes = vec![0; index(columns) * size];
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
            bytes.resize(index(length), 0);
            source.read_bytes(&self.codes, begin, &mut bytes)?;
            let start = codes.len();
            self.packing.unpack(&self.element, &bytes, &mut codes);
            codes.drain(start..start + index(skipped));
            codes.truncate(index(stop - first));
            at = stop;
        }
        Ok(codes)
    }
}

/// Returns whether this is the code of a scale that is no positive number.
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
