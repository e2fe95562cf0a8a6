//! [`Reader`]: the elements of any stored tensor as numbers.

use std::sync::Arc;

use smallfloat::{Bf16, F16};
use smallfloat_kernels::{Code, Decoder, LanesMut, Level};

use crate::error::{Error, Result};
use crate::file::dtype::Dtype;
use crate::file::formats::source::Source;
use crate::file::stream::code_at;
use crate::layout::convention::Order;
use crate::layout::grid::{Grid, Tile, index};
use crate::scale::rule::Scale;
use crate::stored::numbers::{Held, of_bf16};
use crate::stored::scaled::Scaled;
use crate::stored::short::Short;
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
    /// Scales by bytes, where codes of scales are bytes and many are read.
    scales: Vec<Scale>,
    /// As `scales`, where all products are numbers of f32: what codes are multiplied by.
    factors: Vec<f32>,
    /// By codes of scales the products with codes of four bits, where each needs a division.
    products: Vec<[f64; CODES]>,
    /// Where all products are numbers of f32, and it was asked for.
    short: Option<Short>,
    /// Where that was asked for, and they are not: codes whose values are numbers of f32.
    elements: Option<Short>,
}

/// Codes of four bits.
const CODES: usize = 16;

/// Elements for which a table of all bytes is worth it.
const MANY: usize = 1 << 12;

/// Codes of elements, and the scales of the groups that these reach into.
struct Part<C, S = Scale> {
    codes: Vec<C>,
    scales: Vec<S>,
    /// The first group, and how many a row has.
    group: (u64, u64),
    columns: u64,
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

impl<C> Part<C> {
    /// The scale of a group.
    #[inline(always)]
    fn scale(&self, (row, column): (u64, u64)) -> &Scale {
        &self.scales[index((row - self.group.0) * self.columns + column - self.group.1)]
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
        let scales = match tensor.scaled() {
            Some(scaled) if length >= MANY => scaled.scales_of_bytes(),
            _ => Vec::new(),
        };
        Ok(Self {
            source,
            tensor,
            decoder,
            odd: false,
            transposed,
            scales,
            factors: Vec::new(),
            products: Vec::new(),
            short: None,
            elements: None,
        })
    }

    /// Returns a reader for elements that will be rounded again: what f64 can't hold is rounded to
    /// odd.
    pub(crate) fn rounding_to_odd(self) -> Self {
        Self { odd: true, products: self.divided_products(), ..self }
    }

    /// Returns a reader that says whether all elements are numbers of f32, and reads them as such.
    pub(crate) fn asked_for_f32(self) -> Result<Self> {
        let (short, elements) = self.find_short()?;
        let known = if short.is_some() { &*self.scales } else { &[] };
        let factors = known.iter().map(Short::factor).collect();
        Ok(Self { factors, short, elements, ..self })
    }

    /// What codes stand for, if all products are numbers of f32, or else if the values are.
    fn find_short(&self) -> Result<(Option<Short>, Option<Short>)> {
        let Some(decoder) = &self.decoder else { return Ok((None, None)) };
        let length = length(self.tensor);
        let short = match &self.tensor.stored {
            Stored::Codes(codes) => Short::new(&codes.0, decoder, true, length),
            Stored::Scaled(scaled) => Short::new(&scaled.element, decoder, scaled.codebook.is_none(), length),
            Stored::Wide | Stored::Other => None,
        };
        match (short, self.tensor.scaled()) {
            (Some(short), Some(scaled)) if !short.fits_all(self.source, scaled, &self.scales)? => {
                Ok((None, Some(short)))
            }
            (short, _) => Ok((short, None)),
        }
    }

    fn divided_products(&self) -> Vec<[f64; CODES]> {
        let (Some(decoder), Some(scaled)) = (&self.decoder, self.tensor.scaled()) else { return Vec::new() };
        if self.scales.iter().all(Scale::is_exact) || scaled.element.width() > 4 {
            return Vec::new();
        }
        let mut products = vec![[f64::NAN; CODES]; 1 << 8];
        for scale in &self.scales {
            products[index(scale.code)] = std::array::from_fn(|code| scale.times(decoder.value(code), true));
        }
        products
    }

    /// Returns whether all elements are numbers of f32, as far as that was asked.
    pub(crate) fn is_short(&self) -> bool {
        self.short.is_some() || self.dtype().is_some_and(|dtype| dtype != Dtype::F64)
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
        if values.is_empty() {
            return Ok(());
        }
        match (&self.tensor.stored, &self.decoder) {
            (Stored::Codes(codes), Some(decoder)) => {
                let size = usize::from(codes.0.width() > 8) + 1;
                bytes.resize(values.len() * size, 0);
                self.source.read_range(info, first, bytes)?;
                if let (Some(short), LanesMut::F32(values)) = (&self.short, T::lanes_mut(values)) {
                    short.decode(bytes, values);
                    return Ok(());
                }
                for (value, bytes) in values.iter_mut().zip(bytes.chunks_exact(size)) {
                    *value = T::of_f64(decoder.value(usize::from(code_at(bytes))));
                }
                return Ok(());
            }
            (Stored::Scaled(scaled), Some(_)) => {
                if let (Some(short), LanesMut::F32(values), None) =
                    (&self.short, T::lanes_mut(values), &self.transposed)
                {
                    return in_parts(scaled, first, values, &mut |first, values| {
                        let part = self.short_part(scaled, first, values.len(), std::mem::take(bytes))?;
                        short.multiply(
                            (&scaled.grid, first),
                            (&part.codes, &part.scales),
                            (part.group, part.columns),
                            values,
                        );
                        *bytes = part.codes;
                        Ok(())
                    });
                }
                if !self.products.is_empty() && self.transposed.is_none() {
                    return in_parts(scaled, first, values, &mut |first, values| {
                        let part = self.part(scaled, first, values.len(), std::mem::take(bytes))?;
                        scaled.grid.each_run(first, values.len(), |group, range| {
                            let products = &self.products[index(part.scale(group).code)];
                            let pairs = values[range.clone()].iter_mut().zip(&part.codes[range]);
                            pairs.for_each(|(value, &code)| {
                                *value = T::of_f64(products[usize::from(code) % CODES]);
                            });
                        });
                        *bytes = part.codes;
                        Ok(())
                    });
                }
                if let (Some(elements), LanesMut::F64(values), None) =
                    (&self.elements, T::lanes_mut(values), &self.transposed)
                {
                    return in_parts(scaled, first, values, &mut |first, values| {
                        let part = self.part(scaled, first, values.len(), std::mem::take(bytes))?;
                        self.multiply(elements, (&scaled.grid, first), &part, values);
                        *bytes = part.codes;
                        Ok(())
                    });
                }
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

    /// The products of codes, whose values are numbers of f32, from `first` on with the scales of
    /// their groups.
    fn multiply(&self, elements: &Short, (grid, first): (&Grid, u64), part: &Part<u8>, values: &mut [f64]) {
        /// Elements whose values stay in the first cache.
        const STRIP: usize = 1 << 11;
        let mut decoded = [0.0; STRIP];
        let strips = values.chunks_mut(STRIP).zip(part.codes.chunks(STRIP));
        for (first, (values, codes)) in (first..).step_by(STRIP).zip(strips) {
            let decoded = &mut decoded[..codes.len()];
            elements.decode(codes, decoded);
            Level::detected().vectorize(
                #[inline(always)]
                || {
                    grid.each_run(
                        first,
                        values.len(),
                        #[inline(always)]
                        |group, range| {
                            let scale = part.scale(group);
                            let pairs = values[range.clone()].iter_mut().zip(&decoded[range]);
                            if scale.is_exact() {
                                pairs.for_each(|(value, &x)| *value = f64::from(x) * scale.value);
                            } else {
                                pairs.for_each(|(value, &x)| *value = scale.times(x.into(), self.odd));
                            }
                        },
                    );
                },
            );
        }
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
        // The values of all bytes, where there are more elements than that.
        let is_table_worth_it = scaled.element.width() <= 8 && values.len() > 256;
        let of_bytes: Option<[f64; 256]> =
            is_table_worth_it.then(|| std::array::from_fn(|code| decoder.value(code)));
        in_parts(scaled, first, values, &mut |first, values| {
            if let Some(all) = &of_bytes {
                let part = self.part(scaled, first, values.len(), Vec::new())?;
                scaled.grid.each_run(first, values.len(), |group, range| {
                    let scale = part.scale(group);
                    let pairs = values[range.clone()].iter_mut().zip(&part.codes[range]);
                    pairs.for_each(|(value, &code)| *value = product(scale, all[usize::from(code)]));
                });
                return Ok(());
            }
            let codes = scaled.read_codes(self.source, first, values.len())?;
            let part = self.part_by(scaled, first, codes, &self.scales, |scale| scale)?;
            scaled.grid.each_run(first, values.len(), |group, range| {
                let scale = part.scale(group);
                let pairs = values[range.clone()].iter_mut().zip(&part.codes[range]);
                pairs.for_each(|(value, &code)| *value = product(scale, decoder.value(usize::from(code))));
            });
            Ok(())
        })
    }

    /// Reads the codes of so many elements from the first on, of which there are some, with what
    /// they are multiplied by.
    fn short_part(
        &self,
        scaled: &Scaled,
        first: u64,
        count: usize,
        mut codes: Vec<u8>,
    ) -> Result<Part<u8, f32>> {
        let (known, of) = (&self.factors, |scale| Short::factor(&scale));
        if let Some(bytes) = scaled.read_whole_blocks(self.source, first, count, &mut codes)? {
            let mut scales = Vec::with_capacity(bytes.len());
            scaled.add_scales(known, of, &bytes, &mut scales);
            let grid = &scaled.grid;
            let group = (first / grid.columns, first % grid.columns / grid.block_columns);
            return Ok(Part { codes, scales, group, columns: grid.group_columns });
        }
        let codes = scaled.read_bytes(self.source, first, count, codes)?;
        self.part_by(scaled, first, codes, known, of)
    }

    /// Reads the codes of so many elements from the first on, of which there are some, with their
    /// scales; the bytes of codes go where there may be room.
    fn part(&self, scaled: &Scaled, first: u64, count: usize, room: Vec<u8>) -> Result<Part<u8>> {
        let codes = scaled.read_bytes(self.source, first, count, room)?;
        self.part_by(scaled, first, codes, &self.scales, |scale| scale)
    }

    /// The codes of elements from the first on, of which there are some, with what is made of their
    /// scales; `known` is that by bytes, or none.
    fn part_by<C, S: Copy>(
        &self,
        scaled: &Scaled,
        first: u64,
        codes: Vec<C>,
        known: &[S],
        of: impl Fn(Scale) -> S,
    ) -> Result<Part<C, S>> {
        let grid = &scaled.grid;
        let (columns, end) = (grid.columns.max(1), first + codes.len() as u64);
        let (row, last) = (first / columns, (end - 1) / columns);
        let group_row = row / grid.block_rows;
        let group_rows = last / grid.block_rows - group_row + 1;
        let (column, group_columns) = if row == last {
            let column = first % columns / grid.block_columns;
            (column, (end - 1) % columns / grid.block_columns - column + 1)
        } else {
            (0, grid.group_columns)
        };
        let groups = Tile { row: group_row, rows: group_rows, column, columns: group_columns };
        let scales = scaled.read_scales_by(known, of, self.source, groups)?;
        Ok(Part { codes, scales, group: (group_row, column), columns: group_columns })
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

/// Calls `read` with elements from `first` on. Those that reach over the end of long rows are
/// two parts: scales of whole rows may be too many.
fn in_parts<T>(
    scaled: &Scaled,
    first: u64,
    values: &mut [T],
    read: &mut dyn FnMut(u64, &mut [T]) -> Result<()>,
) -> Result<()> {
    let columns = scaled.grid.columns.max(1);
    let left = columns - first % columns;
    if columns <= values.len() as u64 || left >= values.len() as u64 {
        return read(first, values);
    }
    let (here, below) = values.split_at_mut(index(left));
    read(first, here)?;
    read(first + left, below)
}

/// How many elements there are.
fn length(tensor: &TensorView) -> usize {
    usize::try_from(tensor.info.elements()).unwrap_or(usize::MAX)
}

/// Sets each value to what `of` makes of its bytes.
fn each<const N: usize, T>(bytes: &[u8], values: &mut [T], of: impl Fn([u8; N]) -> T) {
    Level::detected().vectorize(
        #[inline(always)]
        || values.iter_mut().zip(bytes.as_chunks().0).for_each(|(value, &bytes)| *value = of(bytes)),
    );
}
