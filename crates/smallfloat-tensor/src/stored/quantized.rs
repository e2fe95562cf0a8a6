//! [`Quantized`]: a tensor in memory as codes with scales or biases, and what it stands for.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use rayon::prelude::*;
use smallfloat::formats::BINARY32;
use smallfloat::{Codebook, Format, Rounding};
use smallfloat_kernels::{Decoder, Element, Encoder, LanesMut, Level, with_default_environment};

use crate::error::{Error, Result, refuse};
use crate::file::stream::{StoredCode, code_at};
use crate::layout::codebook;
use crate::layout::grid::{Granularity, Grid, PIECE_ELEMENTS, index};
use crate::layout::packing::Packing;
use crate::report::TensorReport;
use crate::scale::rule::{Scale, ScaleSpec};
use crate::stored::numbers::Held;
use crate::stored::reader::CodeValues;
use crate::stored::view::f64_decoder;

/// A tensor in memory as codes with scales or biases; [`Quantizer`](crate::Quantizer) makes it.
///
/// ```
/// use smallfloat_tensor::{Quantizer, Scheme};
///
/// let quantizer = Quantizer::new("mxfp4".parse::<Scheme>()?.options())?;
/// let q = quantizer.quantize("w", &[2, 4], &[7.0_f32, 1.0, -0.5, 0.25, 0.75, 5.0, 0.0, 1e-9])?;
/// assert_eq!(q.codes(), [7, 2, 9, 0, 2, 6, 0, 0]);
/// assert_eq!(q.scales(), [127, 127]);
/// assert_eq!(q.to_vec::<f32>()[..4], [6.0, 1.0, -0.5, 0.0]);
/// # Ok::<(), smallfloat_tensor::Error>(())
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct Quantized<'a> {
    /// Of a list of values, what has as many bits.
    pub(crate) element: Format,
    pub(crate) codebook: Option<Codebook>,
    pub(crate) scale: Option<ScaleSpec>,
    pub(crate) granularity: Granularity,
    pub(crate) shape: Vec<u64>,
    pub(crate) grid: Grid,
    pub(crate) codes: Cow<'a, [u8]>,
    /// How codes lie, in rows that fill whole bytes; packed only inside of a call.
    pub(crate) packing: Packing,
    pub(crate) scales: Cow<'a, [u8]>,
    /// What divides all scales.
    pub(crate) global: f64,
    pub(crate) report: Option<TensorReport>,
    pub(crate) tables: Arc<Tables>,
}

/// What decoding looks up: it follows from the element format and the scale's, is made when it is
/// first asked for, and serves all tensors of a quantizer.
#[derive(Debug, Default)]
pub(crate) struct Tables {
    short: OnceLock<Option<Decoder<f32>>>,
    long: OnceLock<CodeValues>,
    /// Where nothing divides the scales.
    scales: OnceLock<ScaleTable>,
}

/// By codes of a byte the scales, and those that are f32 numbers; NaN for the others.
type ScaleTable = Vec<(Scale, f32)>;

impl PartialEq for Tables {
    /// Formats are compared elsewhere.
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Tables {
    /// A decoder to f32 of codes of a format, if f32 has all elements.
    fn short(&self, quantized: &Quantized<'_>) -> Option<&Decoder<f32>> {
        let decoder = || match quantized.codebook {
            Some(_) => None,
            None => Decoder::new(&quantized.element, None).ok(),
        };
        self.short.get_or_init(decoder).as_ref()
    }

    fn long(&self, quantized: &Quantized<'_>) -> &CodeValues {
        self.long.get_or_init(|| match quantized.codebook {
            Some(list) => CodeValues::List(codebook::values(list)),
            None => CodeValues::Format(
                f64_decoder(&quantized.element, usize::MAX).expect("codes have at most 16 bits"),
            ),
        })
    }
}

impl Quantized<'_> {
    /// Returns the format of the elements; where there are [`biases`](Self::biases), at bias 0.
    /// `None` where their values are those of a [`codebook`](Self::codebook).
    pub fn format(&self) -> Option<&Format> {
        self.codebook.is_none().then_some(&self.element)
    }

    /// Returns the list of the elements' values, where they have no format.
    pub fn codebook(&self) -> Option<Codebook> {
        self.codebook
    }

    /// Returns the shape of the tensor.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// Returns how many elements there are.
    pub fn len(&self) -> usize {
        index(self.grid.rows * self.grid.columns)
    }

    /// Returns whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the codes in row-major order, each a byte; two, little-endian, of formats above 8
    /// bits.
    pub fn codes(&self) -> &[u8] {
        &self.codes
    }

    /// Returns the codes as a file packs them: row by row, the last byte of a row filled up with
    /// zeros.
    ///
    /// # Errors
    /// A packing that is not for the format.
    pub fn packed(&self, packing: Packing) -> Result<Vec<u8>> {
        packing.check(&self.element)?;
        let mut bytes = Vec::new();
        if packing == Packing::Bytes {
            bytes.extend_from_slice(&self.codes);
        } else if !self.is_empty() {
            // Only codes of 4 and of 6 bits are packed.
            for row in self.codes.chunks(index(self.grid.columns)) {
                packing.pack(row, &mut bytes);
            }
        }
        Ok(bytes)
    }

    /// Returns what shares a scale or a bias.
    pub fn granularity(&self) -> Granularity {
        self.granularity
    }

    /// Returns the shape of [`scales`](Self::scales): [] | [channels, 1] | [block rows, block
    /// columns].
    pub fn scale_shape(&self) -> Vec<u64> {
        self.granularity.scale_shape(&self.shape)
    }

    /// Returns the format and the rule of the scales; `None` where there are none.
    pub fn scale(&self) -> Option<&ScaleSpec> {
        self.scale.as_ref()
    }

    /// Returns the codes of the scales, row by row, little-endian; biases, a byte each, where the
    /// format's bias is data; nothing where there is neither.
    pub fn scales(&self) -> &[u8] {
        &self.scales
    }

    /// Returns the biases, where these take the place of scales.
    pub fn biases(&self) -> Option<&[u8]> {
        self.has_biases().then_some(&*self.scales)
    }

    fn has_biases(&self) -> bool {
        self.scale.is_none() && self.element.has_free_bias()
    }

    /// Returns the F32 number that divides all scales; 1 where there is none.
    #[expect(clippy::cast_possible_truncation, reason = "a number of F32")]
    pub fn global_scale(&self) -> f32 {
        self.global as f32
    }

    /// Returns what quantizing found, where that was [asked for](crate::Quantizer::with_report).
    pub fn report(&self) -> Option<&TensorReport> {
        self.report.as_ref()
    }

    /// Returns the elements' values: code times scale, rounded once, to nearest even, where `T`
    /// does not have it.
    ///
    /// # Panics
    /// If there is no memory for them.
    pub fn to_vec<T: Element>(&self) -> Vec<T> {
        let mut values = vec![T::default(); self.len()];
        self.decode_into(&mut values).expect("the length is right");
        values
    }

    /// Fills `values` with what [`to_vec`](Self::to_vec) gives.
    ///
    /// # Errors
    /// A slice of another length than the tensor's.
    pub fn decode_into<T: Element>(&self, values: &mut [T]) -> Result<()> {
        if values.len() != self.len() {
            return Err(wrong_length("elements", &self.shape, self.len(), values.len()));
        }
        if values.is_empty() {
            return Ok(());
        }
        let decoding = with_default_environment(|| Decoding::<T>::new(self))?;
        let piece = index(PIECE_ELEMENTS);
        let each = |(i, values): (usize, &mut [T])| {
            with_default_environment(|| decoding.fill(i * piece, values));
        };
        if values.len() > piece && smallfloat_kernels::threads() > 1 {
            values.par_chunks_mut(piece).enumerate().for_each(each);
        } else {
            values.chunks_mut(piece).enumerate().for_each(each);
        }
        Ok(())
    }

    fn code(&self, element: usize) -> usize {
        if self.packing != Packing::Bytes {
            return self.packing.code(&self.codes, element).into();
        }
        let size = self.code_size();
        usize::from(code_at(&self.codes[element * size..][..size]))
    }

    /// The bytes of at most [`STRIP`] codes from a whole byte on, or codes unpacked into `room`.
    fn bytes<'s>(&'s self, first: usize, count: usize, room: &'s mut Strip) -> &'s [u8] {
        if self.packing == Packing::Bytes {
            let size = self.code_size();
            return &self.codes[first * size..][..count * size];
        }
        let (unit, bytes) = self.packing.unit(&self.element);
        let place = |element: usize| element / index(unit) * index(bytes);
        let codes = &mut room.get_or_insert_with(|| [0; STRIP])[..count];
        self.packing.unpack_row(&self.codes[place(first)..place(first + count)], codes);
        codes
    }

    fn code_size(&self) -> usize {
        usize::from(self.element.width() > 8) + 1
    }

    /// The scale of a group.
    fn scale_of(&self, (row, column): (u64, u64)) -> Scale {
        let group = index(row * self.grid.group_columns + column);
        let size = match &self.scale {
            None if !self.has_biases() => return Scale::new(0, 1.0, 1.0),
            scale => scale.as_ref().map_or(1, ScaleSpec::code_size),
        };
        let bytes = self.scales[group * size..][..size].iter().rev();
        self.meaning(bytes.fold(0, |code, &byte| code << 8 | u64::from(byte)))
    }

    /// What the code of a scale, or a bias, means.
    fn meaning(&self, code: u64) -> Scale {
        let unit = self.unit(code);
        if self.scale.is_some() { Scale::new(code, unit.unit, self.global) } else { unit }
    }

    /// What it means where nothing divides the scales.
    fn unit(&self, code: u64) -> Scale {
        match &self.scale {
            None => Scale::of_bias(i32::try_from(code).expect("a bias is a byte")),
            Some(spec) => spec.stored(code, 1.0),
        }
    }

    /// The format at the bias of all elements, where there is one bias or no scale at all.
    fn format_of_all(&self) -> Option<Format> {
        if self.scale.is_some() {
            return None;
        }
        match (self.has_biases(), &*self.scales) {
            (false, _) => Some(self.element),
            (true, &[bias]) => self.element.with_bias(i32::from(bias)).ok(),
            (true, _) => None,
        }
    }
}

/// The values of codes as products with their scales.
#[derive(Debug)]
pub(crate) struct Products<'a> {
    quantized: &'a Quantized<'a>,
    /// Where there are many scales of a byte.
    scales: Cow<'a, [(Scale, f32)]>,
}

impl<'a> Products<'a> {
    pub(crate) fn new(quantized: &'a Quantized<'_>) -> Self {
        let is_byte = quantized.scale.is_none_or(|spec| spec.code_size() == 1);
        let entry = |scale: Scale| (scale, scale.as_f32().unwrap_or(f32::NAN));
        let units = || {
            let units = || (0..256).map(|code| entry(quantized.unit(code))).collect();
            &quantized.tables.scales.get_or_init(units)[..]
        };
        let scales = match () {
            () if !is_byte || quantized.scales.len() <= 256 => Cow::default(),
            () if quantized.global.to_bits() == 1.0_f64.to_bits() => Cow::Borrowed(units()),
            () => {
                let divided = |(unit, _): &(Scale, _)| Scale::new(unit.code, unit.unit, quantized.global);
                Cow::Owned(units().iter().map(|unit| entry(divided(unit))).collect())
            }
        };
        Self { quantized, scales }
    }

    /// The scale of a group.
    #[inline(always)]
    fn scale(&self, group: (u64, u64)) -> Scale {
        match self.known(group) {
            Some((scale, _)) => *scale,
            None => self.quantized.scale_of(group),
        }
    }

    #[inline(always)]
    fn known(&self, (row, column): (u64, u64)) -> Option<&(Scale, f32)> {
        let group = index(row * self.quantized.grid.group_columns + column);
        self.scales.get(usize::from(*self.quantized.scales.get(group)?))
    }

    pub(crate) fn len(&self) -> usize {
        self.quantized.len()
    }

    /// Fills `values` with products for another rounding: exact, or rounded to odd.
    pub(crate) fn fill<T: Held>(&self, first: u64, values: &mut [T]) {
        self.each(index(first), values, |scale, element| T::of_f64(scale.times(element, true)));
    }

    fn each<T>(&self, first: usize, values: &mut [T], product: impl Fn(&Scale, f64) -> T) {
        let decoder = self.quantized.tables.long(self.quantized);
        self.quantized.grid.each_run(first as u64, values.len(), |group, range| {
            let scale = self.scale(group);
            for (i, value) in (first + range.start..).zip(&mut values[range]) {
                *value = product(&scale, decoder.value(self.quantized.code(i)));
            }
        });
    }
}

/// Elements that are decoded at once.
const STRIP: usize = 1 << 12;

/// Room for their codes.
type Strip = Option<[u8; STRIP]>;

/// How codes become values of `T`.
#[expect(clippy::large_enum_variant, reason = "there is one at a time")]
enum Decoding<'a, T> {
    /// Codes of one format.
    Codes(&'a Quantized<'a>, Decoder<T>),
    /// Elements that are f32 numbers, and all of them as f64.
    Short(Products<'a>, &'a Decoder<f32>),
    /// Products in f64, and how these are rounded to `T`.
    Long(Products<'a>, Option<Encoder<f64>>),
}

impl<'a, T: Element> Decoding<'a, T> {
    fn new(quantized: &'a Quantized<'_>) -> Result<Self> {
        let nearest = T::FORMAT.default_projection().with_rounding(Rounding::NearestEven);
        if let Some(format) = quantized.format_of_all() {
            let decoder = Decoder::new(&format, Some(&nearest)).map_err(refuse)?;
            return Ok(Self::Codes(quantized, decoder));
        }
        let products = Products::new(quantized);
        if T::FORMAT == BINARY32
            && let Some(decoder) = quantized.tables.short(quantized)
        {
            return Ok(Self::Short(products, decoder));
        }
        let encoder = Encoder::for_length(&T::FORMAT, &nearest, quantized.len());
        Ok(Self::Long(products, if T::FORMAT.is_wide() { None } else { Some(encoder.map_err(refuse)?) }))
    }

    /// The values of elements from `first` on.
    fn fill(&self, first: usize, values: &mut [T]) {
        match self {
            Self::Codes(quantized, decoder) => quantized.decode(decoder, first, values),
            Self::Short(products, decoder) => {
                let LanesMut::F32(values) = T::lanes_mut(values) else { return };
                // What is decoded is still in the first cache when it is multiplied.
                for (i, values) in values.chunks_mut(STRIP).enumerate() {
                    products.fill_f32(decoder, first + i * STRIP, values);
                }
            }
            Self::Long(products, encoder) => match T::lanes_mut(values) {
                LanesMut::F64(values) => products.each(first, values, |scale, element| {
                    let value = scale.times(element, false);
                    if value.is_nan() { f64::NAN } else { value }
                }),
                LanesMut::F32(values) => products.each(first, values, to_f32),
                LanesMut::F16(_) | LanesMut::Bf16(_) => {
                    let Some(encoder) = encoder else { return };
                    let (mut long, mut bits) = (vec![0.0; values.len()], vec![0_u16; values.len()]);
                    products.fill(first as u64, &mut long);
                    encoder.encode_uncounted(&long, &mut bits);
                    let all = values.iter_mut().zip(bits);
                    all.for_each(|(value, bits)| *value = T::from_bits(u64::from(bits)));
                }
            },
        }
    }
}

/// The product, rounded once.
fn to_f32(scale: &Scale, element: f64) -> f32 {
    #[expect(clippy::cast_possible_truncation, reason = "rounded to nearest even, from the exact or to odd")]
    let value = scale.times(element, true) as f32;
    if value.is_nan() { f32::NAN } else { value }
}

impl Quantized<'_> {
    fn decode<T: Element>(&self, decoder: &Decoder<T>, first: usize, values: &mut [T]) {
        let (mut room, mut wide) = (None, Vec::new());
        // What is unpacked is still in the first cache when it is decoded.
        let strip = if self.packing == Packing::Bytes { values.len().max(1) } else { STRIP };
        for (i, values) in values.chunks_mut(strip).enumerate() {
            let bytes = self.bytes(first + i * strip, values.len(), &mut room);
            if self.code_size() == 1 {
                decoder.decode(bytes, values);
            } else {
                u16::from_bytes(bytes, &mut wide);
                decoder.decode(&wide, values);
            }
        }
    }
}

impl Products<'_> {
    /// The codes of the scales from an element on, in the order of the elements: of groups of 16 or
    /// of 32, none in two rows.
    fn in_order(&self, first: usize) -> Option<&[u8]> {
        let grid = &self.quantized.grid;
        let length = grid.block_columns;
        let whole = |elements: u64| elements.is_multiple_of(length);
        let suits = matches!(length, 16 | 32) && grid.block_rows == 1 && !self.scales.is_empty();
        let suits = suits && self.quantized.code_size() == 1;
        let suits =
            suits && whole(grid.columns) && whole(first as u64) && STRIP.is_multiple_of(index(length));
        suits.then(|| &self.quantized.scales[first / index(length)..])
    }

    fn fill_f32(&self, decoder: &Decoder<f32>, first: usize, values: &mut [f32]) {
        let (grid, count) = (&self.quantized.grid, values.len());
        if let Some(scales) = self.in_order(first) {
            let length = index(grid.block_columns);
            let mut factors = [0.0; STRIP / 16];
            let factors = &mut factors[..count / length];
            let mut are_numbers = true;
            for (factor, &code) in factors.iter_mut().zip(scales) {
                *factor = self.scales[usize::from(code)].1;
                are_numbers &= !factor.is_nan();
            }
            if are_numbers {
                let mut room = None;
                let codes = self.quantized.bytes(first, count, &mut room);
                return decoder.decode_blocks(length, factors, codes, values);
            }
        }
        self.quantized.decode(decoder, first, values);
        Level::detected().vectorize(
            #[inline(always)]
            || {
                grid.each_run(
                    first as u64,
                    count,
                    #[inline(always)]
                    |group, range: Range<usize>| {
                        let factor = match self.known(group) {
                            Some((_, factor)) => *factor,
                            None => self.quantized.scale_of(group).as_f32().unwrap_or(f32::NAN),
                        };
                        // A product of two f32 numbers is rounded once, to nearest even.
                        if factor.is_nan() {
                            self.each(first + range.start, &mut values[range], to_f32);
                        } else {
                            multiply(&mut values[range], factor);
                        }
                    },
                );
            },
        );
    }
}

/// Multiplies values, a vector at once.
#[inline(always)]
fn multiply(values: &mut [f32], factor: f32) {
    const LANES: usize = 16;
    let (whole, rest) = values.as_chunks_mut::<LANES>();
    for values in whole {
        *values = values.map(|x| x * factor);
    }
    for value in rest {
        *value *= factor;
    }
}

/// The error of a length that is not the shape's.
pub(crate) fn wrong_length(what: &str, shape: &[u64], expected: usize, found: usize) -> Error {
    refuse(format!("a tensor of shape {shape:?} has {expected} {what}, given are {found}"))
}
