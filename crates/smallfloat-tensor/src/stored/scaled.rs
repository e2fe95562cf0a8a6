//! [`Scaled`]: a tensor stored as codes with one scale per group, and [`Reader`]: any tensor's
//! elements as numbers.

use std::sync::Arc;

use smallfloat::formats::{BINARY32, E4M3FN, E5M2};
use smallfloat::{Codebook, Datum, Format};

use crate::error::Result;
use crate::file::dtype::Dtype;
use crate::file::formats::source::Source;
use crate::file::input::TensorInfo;
use crate::file::stream::code_at;
use crate::layout::blocks::Blocks;
use crate::layout::codebook;
use crate::layout::container::Entry;
use crate::layout::convention::{
    CONVENTIONS, Direction, FP8_WITH_SCALES, Order, in_tiles, place_in_tiles, scheme_of,
};
use crate::layout::grid::{Granularity, Grid, Tile, index};
use crate::layout::packing::Packing;
use crate::scale::rule::{Scale, ScaleSpec, is_power_of_two};

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
    /// What multiplies all scales.
    pub(crate) factor: f64,
    pub(crate) place: Placement,
    /// The file of the scales, where that is not the file of the codes.
    pub(crate) elsewhere: Option<Elsewhere>,
    /// The values of codes that are those of no format.
    pub(crate) codebook: Option<ValueList>,
    /// The layout's name; `None` for the native one.
    pub(crate) layout: Option<&'static str>,
}

/// Values by code.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct ValueList {
    pub(crate) name: &'static str,
    pub(crate) values: Arc<[f64]>,
    /// Whose values they are; a file may have others.
    pub(crate) codebook: Option<Codebook>,
}

impl ValueList {
    pub(crate) fn of(codebook: Codebook) -> Self {
        Self { name: codebook.name(), values: codebook::values(codebook), codebook: Some(codebook) }
    }
}

/// Another file of the same checkpoint.
#[derive(Clone, Debug)]
pub(crate) struct Elsewhere(pub(crate) Arc<Source>);

impl PartialEq for Elsewhere {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// Where codes and scales lie in their tensors.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Placement {
    /// Codes row by row, and scales in an order.
    Ordered(Order),
    /// Codes alone: every scale is 1.
    Alone,
    /// Blocks of codes with their scales before them, in one tensor.
    Blocks(Blocks),
    /// Codes row by row; scales are codes themselves.
    Nested(Nested),
}

/// Scales that are codes with scales of their own: scale = value(code) · outer + offset, each step
/// rounded to F32, as bitsandbytes computes it.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Nested {
    pub(crate) values: Arc<[f32]>,
    /// One F32 for so many scales.
    pub(crate) outer: TensorInfo,
    pub(crate) block: u64,
    pub(crate) offset: f32,
}

impl Scaled {
    /// Whether every scale is a power of two, so that an element's value has no more bits than its
    /// code.
    pub fn has_power_of_two_scales(&self) -> bool {
        let is_power = self.scale.is_none_or(|scale| scale.format.precision() == 1);
        self.place == Placement::Alone || is_power && is_power_of_two(self.factor) && self.codebook.is_none()
    }

    /// Returns the name of the layout of another program; `None` for the native one.
    pub fn layout(&self) -> Option<&'static str> {
        self.layout
    }

    /// The scheme that writes tensors of these names, dtypes and elements, if one does.
    pub(crate) fn scheme(&self) -> Option<&'static str> {
        match self.layout? {
            FP8_WITH_SCALES => self.scheme_of_fp8(),
            layout => scheme_of(layout, &self.element),
        }
    }

    /// The scheme that stores codes without scales with some.
    pub(crate) fn with_scales(&self) -> Option<&'static str> {
        match self.scheme()? {
            "plain-e4m3" => Some("fp8"),
            "plain-e5m2" => Some("fp8-e5m2"),
            _ => None,
        }
    }

    /// The scheme of FP8 whose scales are called and stored so.
    fn scheme_of_fp8(&self) -> Option<&'static str> {
        let is_inverse = self.scales.name.ends_with("_scale_inv");
        let of_tensors = self.granularity == Granularity::Tensor;
        if self.element == E5M2 {
            return (!is_inverse && self.scales.dtype == Dtype::F32 && of_tensors).then_some("fp8-e5m2");
        }
        if self.element != E4M3FN {
            return None;
        }
        Some(match (is_inverse, self.scales.dtype) {
            (true, Dtype::F32) => "deepseek",
            (true, Dtype::F8E8M0) => "deepseek-e8m0",
            (true, _) => return None,
            (false, Dtype::F8E8M0) => "mxfp8-typed",
            (false, Dtype::U8) => "mxfp8-quantized",
            (false, Dtype::F32) if of_tensors => "fp8",
            (false, _) => "float-quantized",
        })
    }

    /// Returns the name of the elements' format, or of the values that codes stand for where these
    /// are a list.
    pub fn element_name(&self) -> String {
        self.codebook.as_ref().map_or_else(|| self.element.to_string(), |book| book.name.to_owned())
    }

    /// Returns whether there are scales or biases; codes may stand for themselves.
    pub fn has_scales(&self) -> bool {
        self.place != Placement::Alone
    }

    /// Whether a number of the tensor multiplies all scales.
    pub fn multiplies(&self) -> bool {
        let conventions = || CONVENTIONS.iter().filter(|row| Some(row.name) == self.layout);
        self.factor.to_bits() != 1.0_f64.to_bits()
            || conventions().any(|row| matches!(row.global, Some((_, Direction::Multiplies))))
    }

    /// Whether a block of zeros may have the scale 0.
    pub(crate) fn has_zero_scales(&self) -> bool {
        matches!(self.place, Placement::Blocks(_) | Placement::Nested(_)) || self.codebook.is_some()
    }

    /// In which order scales, or elements, lie.
    pub(crate) fn order(&self) -> Order {
        match self.place {
            Placement::Ordered(order) => order,
            Placement::Alone | Placement::Blocks(_) | Placement::Nested(_) => Order::Rows,
        }
    }

    /// Whether each code lies where its packing says, row by row in the order of the elements.
    pub(crate) fn is_in_rows(&self) -> bool {
        !matches!(self.place, Placement::Blocks(_) | Placement::Ordered(Order::Transposed))
    }

    /// Checks that codes and scales have the shapes that the grid asks for.
    pub(crate) fn check(&self, shape: &[u64]) -> Result<(), String> {
        let expected = self.packing.row_bytes(&self.element, self.grid.columns);
        let bytes = match &self.place {
            Placement::Blocks(blocks) => {
                let whole = self.grid.columns.is_multiple_of(blocks.elements);
                let row = self.grid.columns / blocks.elements * blocks.bytes;
                self.grid.rows.checked_mul(row).filter(|_| whole)
            }
            _ => self.grid.rows.checked_mul(expected),
        };
        if bytes != Some(self.codes.len) {
            return Err(format!(
                "{} bytes of codes don't hold {shape:?} elements of {} as {}",
                self.codes.len,
                self.element,
                self.packing.name()
            ));
        }
        let (mut rows, mut columns) = (self.grid.group_rows, self.grid.group_columns);
        match self.place {
            Placement::Alone | Placement::Blocks(_) => return Ok(()),
            Placement::Ordered(Order::Tiles) => [rows, columns] = in_tiles(rows, columns),
            Placement::Ordered(_) | Placement::Nested(_) => {}
        }
        if rows.checked_mul(columns) != Some(self.scales.elements()) {
            return Err(format!(
                "its scales `{}` have the shape {:?}, {} of {shape:?} needs {rows}×{columns}",
                self.scales.name, self.scales.shape, self.granularity
            ));
        }
        Ok(())
    }

    /// The scales that stored codes mean.
    fn scales_of_codes(&self) -> impl Fn(u64) -> Scale {
        // Asked once, and not for each of many scales.
        let multiplies = self.multiplies();
        let is_f32 = self.scale.is_some_and(|spec| spec.format == BINARY32);
        move |code| match &self.scale {
            None => Scale::of_bias(i32::try_from(code).expect("a bias is a byte")),
            Some(_) if is_f32 && !multiplies => {
                let bits = u32::try_from(code).expect("codes of binary32 have 32 bits");
                Scale::new(code, f32::from_bits(bits).into(), self.global)
            }
            Some(spec) if multiplies => {
                // Both have at most 24 bits.
                Scale::new(code, spec.stored(code, 1.0).unit * self.factor, self.global)
            }
            Some(spec) => spec.stored(code, self.global),
        }
    }

    /// The code in the bytes of a stored scale.
    fn code_of_scale(&self, bytes: &[u8]) -> u64 {
        match *bytes {
            [a, b, c, d] => u64::from(u32::from_le_bytes([a, b, c, d])),
            [byte] if self.has_unsigned_scales() => u64::from((byte & 0x7f) % 0x7f),
            _ => u64::from(code_at(bytes)),
        }
    }

    /// The bytes of a stored scale; of one that is a code itself, those of the code.
    fn scale_size(&self) -> usize {
        match (&self.place, &self.scale) {
            (Placement::Blocks(_), Some(spec)) => spec.code_size(),
            _ => index(u64::from(self.scales.dtype.bits() / 8)),
        }
    }

    /// The scales by bytes, where each is stored as one; else none.
    pub(crate) fn scales_of_bytes(&self) -> Vec<Scale> {
        let is_code = !matches!(self.place, Placement::Alone | Placement::Nested(_));
        if !is_code || self.scale_size() != 1 {
            return Vec::new();
        }
        let scale_of = self.scales_of_codes();
        (0..=u8::MAX).map(|byte| scale_of(self.code_of_scale(&[byte]))).collect()
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
        self.read_scales_by(&[], |scale| scale, source, Tile { row, rows, column, columns })
    }

    /// Reads the scales of elements as what is made of each; `known` is that for all bytes, or
    /// none.
    pub(crate) fn read_scales_by<S: Copy>(
        &self,
        known: &[S],
        of: impl Fn(Scale) -> S,
        source: &Source,
        groups: Tile,
    ) -> Result<Vec<S>> {
        let Tile { row, mut rows, column, mut columns } = groups;
        // Whole rows that follow each other are read as one.
        if columns == self.grid.group_columns && self.place != Placement::Ordered(Order::Tiles) {
            (rows, columns) = (1, rows * columns);
        }
        if self.place == Placement::Alone {
            return Ok(vec![of(Scale::new(0, 1.0, 1.0)); index(rows * columns)]);
        }
        let size = self.scale_size();
        let source = self.elsewhere.as_ref().map_or(source, |elsewhere| &elsewhere.0);
        let mut all = Vec::with_capacity(index(rows * columns));
        let (mut bytes, mut span) = (vec![0; index(columns) * size], Vec::new());
        for row in (row..row + rows).take_while(|_| columns > 0) {
            let first = row * self.grid.group_columns + column;
            match &self.place {
                // Reading what lies between is faster than many reads.
                Placement::Ordered(Order::Tiles) => {
                    let place = |column| place_in_tiles(row, column, self.grid.group_columns);
                    let begin = place(column);
                    span.resize(index(place(column + columns - 1) + 1 - begin), 0);
                    source.read_bytes(&self.scales, begin, &mut span)?;
                    for (i, byte) in (column..).zip(&mut bytes) {
                        *byte = span[index(place(i) - begin)];
                    }
                }
                Placement::Blocks(blocks) => {
                    // Whole blocks are read; scales of the first may be those of groups before.
                    let of_block = blocks.codes_at / size as u64;
                    let (begin, end) = (first / of_block, (first + columns).div_ceil(of_block));
                    span.resize(index((end - begin) * blocks.bytes), 0);
                    source.read_bytes(&self.scales, begin * blocks.bytes, &mut span)?;
                    bytes.resize(index((end - begin) * blocks.codes_at), 0);
                    blocks.take_scales(&span, &mut bytes);
                    bytes.drain(..index(first % of_block) * size);
                    bytes.truncate(index(columns) * size);
                }
                Placement::Nested(nested) => {
                    let scale_of = self.scales_of_codes();
                    let codes = self.read_nested(nested, source, first, &mut bytes)?;
                    all.extend(codes.into_iter().map(|code| of(scale_of(code))));
                    continue;
                }
                Placement::Ordered(_) | Placement::Alone => {
                    source.read_range(&self.scales, first, &mut bytes)?;
                }
            }
            self.add_scales(known, &of, &bytes, &mut all);
        }
        Ok(all)
    }

    /// Adds what is made of scales whose bytes follow each other; `known` is that for all bytes, or
    /// none.
    pub(crate) fn add_scales<S: Copy>(
        &self,
        known: &[S],
        of: impl Fn(Scale) -> S,
        bytes: &[u8],
        all: &mut Vec<S>,
    ) {
        let size = self.scale_size();
        if let (1, Ok(known)) = (size, <&[S; 256]>::try_from(known)) {
            all.extend(bytes.iter().map(|&byte| known[usize::from(byte)]));
        } else {
            let scale_of = self.scales_of_codes();
            let codes = bytes.chunks_exact(size).map(|bytes| self.code_of_scale(bytes));
            all.extend(codes.map(|code| of(scale_of(code))));
        }
    }

    fn has_unsigned_scales(&self) -> bool {
        matches!(self.place, Placement::Blocks(Blocks { unsigned: true, .. }))
    }

    /// Reads scales that are codes themselves, as the codes of their numbers.
    fn read_nested(
        &self,
        nested: &Nested,
        source: &Source,
        first: u64,
        codes: &mut [u8],
    ) -> Result<Vec<u64>> {
        source.read_range(&self.scales, first, codes)?;
        let begin = first / nested.block;
        let count = (first + codes.len() as u64).div_ceil(nested.block) - begin;
        let mut outer = vec![0; 4 * index(count)];
        source.read_range(&nested.outer, begin, &mut outer)?;
        let number = |(i, &code): (u64, &u8)| {
            let at = 4 * index(i / nested.block - begin);
            let outer = f32::from_le_bytes([outer[at], outer[at + 1], outer[at + 2], outer[at + 3]]);
            let scale = nested.values[usize::from(code)] * outer + nested.offset;
            scale.to_bits().into()
        };
        Ok((first..).zip(&*codes).map(number).collect())
    }

    /// Reads the codes of elements `first..first + count`, in row-major order.
    pub(crate) fn read_codes(&self, source: &Source, first: u64, count: usize) -> Result<Vec<u16>> {
        if self.element.width() <= 8 {
            let codes = self.read_bytes(source, first, count, Vec::new())?;
            return Ok(codes.into_iter().map(u16::from).collect());
        }
        let mut bytes = vec![0; 2 * count];
        source.read_bytes(&self.codes, 2 * first, &mut bytes)?;
        Ok(bytes.chunks_exact(2).map(code_at).collect())
    }

    /// Reads codes of at most 8 bits as bytes, into `codes`, where there may be room.
    pub(crate) fn read_bytes(
        &self,
        source: &Source,
        first: u64,
        count: usize,
        mut codes: Vec<u8>,
    ) -> Result<Vec<u8>> {
        if let Placement::Blocks(blocks) = &self.place {
            return self.read_blocks(blocks, source, first, count);
        }
        if self.packing == Packing::Bytes {
            codes.resize(count, 0);
            source.read_bytes(&self.codes, first, &mut codes)?;
            return Ok(codes);
        }
        let (unit, unit_bytes) = self.packing.unit(&self.element);
        let columns = self.grid.columns.max(1);
        let bytes_of_row = self.packing.row_bytes(&self.element, columns);
        // Rows that are filled up are read one by one.
        let run = if columns.is_multiple_of(unit) { u64::MAX } else { columns };
        let (mut at, end) = (first, first + count as u64);
        codes.truncate(count);
        let (mut bytes, mut start) = (Vec::new(), 0);
        while at < end {
            let column = at % columns;
            let stop = end.min(at.saturating_add(run - column.min(run)));
            let skipped = column % unit;
            let begin = at / columns * bytes_of_row + (column - skipped) / unit * unit_bytes;
            let length = (stop - at + skipped).div_ceil(unit) * unit_bytes;
            bytes.resize(index(length), 0);
            source.read_bytes(&self.codes, begin, &mut bytes)?;
            // What was there is not cleared, but all of it written over.
            codes.resize(start + index(stop - at + skipped), 0);
            self.packing.unpack_row(&bytes, &mut codes[start..]);
            codes.drain(start..start + index(skipped));
            (at, start) = (stop, codes.len());
        }
        Ok(codes)
    }

    /// Reads the codes of whole blocks, and returns the bytes of their scales; `None` where some
    /// are not whole, or not of one run of groups.
    pub(crate) fn read_whole_blocks(
        &self,
        source: &Source,
        first: u64,
        count: usize,
        codes: &mut Vec<u8>,
    ) -> Result<Option<Vec<u8>>> {
        let Placement::Blocks(blocks) = &self.place else { return Ok(None) };
        let (count, columns) = (count as u64, self.grid.columns);
        let are_whole = first.is_multiple_of(blocks.elements) && count.is_multiple_of(blocks.elements);
        let in_order = first.is_multiple_of(columns) || first % columns + count <= columns;
        if !(are_whole && in_order) {
            return Ok(None);
        }
        let whole = count / blocks.elements;
        let mut bytes = vec![0; index(whole * blocks.bytes)];
        source.read_bytes(&self.codes, first / blocks.elements * blocks.bytes, &mut bytes)?;
        codes.resize(index(count), 0);
        blocks.take_apart(&bytes, codes);
        let mut scales = vec![0; index(whole * blocks.codes_at)];
        blocks.take_scales(&bytes, &mut scales);
        Ok(Some(scales))
    }

    fn read_blocks(&self, blocks: &Blocks, source: &Source, first: u64, count: usize) -> Result<Vec<u8>> {
        let (begin, end) = (first / blocks.elements, (first + count as u64).div_ceil(blocks.elements));
        let mut bytes = vec![0; index((end - begin) * blocks.bytes)];
        source.read_bytes(&self.codes, begin * blocks.bytes, &mut bytes)?;
        let mut codes = vec![0; index((end - begin) * blocks.elements)];
        blocks.take_apart(&bytes, &mut codes);
        codes.drain(..index(first - begin * blocks.elements));
        codes.truncate(count);
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
