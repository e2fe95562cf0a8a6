//! [`Short`]: codes whose products with their scales are all numbers of f32, decided from formats
//! and, where these leave it open, from the scales that there are.
//!
//! A product has at most as many significant bits as its factors together, its lowest bit is the
//! product of theirs, and its magnitude is that of theirs. NaN and infinities are numbers of f32
//! too, as long as only one factor is none of the finite ones: which of two NaN a product is, is
//! not said.

use smallfloat::Format;
use smallfloat_kernels::{Decoder, Level};

use crate::error::Result;
use crate::file::formats::source::Source;
use crate::layout::grid::{Grid, Tile, index};
use crate::scale::rule::{Scale, is_power_of_two, magnitude};
use crate::stored::reader::CodeValues;
use crate::stored::scaled::{Placement, Scaled};

/// Bits of f32.
const PRECISION: u32 = 24;

/// The exponent of its lowest bit.
const LOWEST: i32 = -149;

/// Scales that are read at once.
const READ_SCALES: u64 = 1 << 14;

/// What bounds some numbers: their significant bits, the exponent of the lowest bit, and the
/// largest magnitude.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    bits: u32,
    lowest: i32,
    largest: f64,
}

impl Bounds {
    /// Of zeros.
    const NONE: Self = Self { bits: 0, lowest: i32::MAX / 2, largest: 0.0 };

    /// Of a finite number that is not subnormal in f64.
    fn of(x: f64) -> Self {
        if x == 0.0 {
            return Self::NONE;
        }
        let significand = x.to_bits() & ((1 << 52) - 1) | 1 << 52;
        let exponent = (x.to_bits() >> 52 & 0x7ff) as i32 - 1023;
        let bits = 53 - significand.trailing_zeros();
        Self { bits, lowest: exponent + 1 - bits.cast_signed(), largest: x.abs() }
    }

    /// Of both.
    fn and(self, other: Self) -> Self {
        Self {
            bits: self.bits.max(other.bits),
            lowest: self.lowest.min(other.lowest),
            largest: self.largest.max(other.largest),
        }
    }

    /// Returns whether all products of numbers in these bounds and in others are numbers of f32.
    fn times_fits(self, other: Self) -> bool {
        let (few, many) = (self.bits.min(other.bits), self.bits.max(other.bits));
        // A power of two adds no bits.
        let bits = if few <= 1 { many } else { few + many };
        few == 0
            || bits <= PRECISION
                && self.lowest.saturating_add(other.lowest) >= LOWEST
                && self.largest * other.largest <= f64::from(f32::MAX)
    }
}

/// The values of codes of at most 8 bits, all of which are numbers of f32.
#[derive(Debug)]
pub(crate) struct Short {
    /// By bytes.
    pub(crate) values: Box<[f32; 256]>,
    /// Of a format, where its bits are those of the values.
    pub(crate) decoder: Option<Decoder<f32>>,
    /// What signed bytes are multiplied by, where the values are such multiples.
    step: Option<f32>,
    bounds: Bounds,
    all_finite: bool,
}

impl Short {
    /// For about so many codes; `None` where there are other values.
    pub(crate) fn new(element: &Format, codes: &CodeValues, is_format: bool, length: usize) -> Option<Self> {
        if element.width() > 8 {
            return None;
        }
        let mut values = Box::new([0.0; 256]);
        let (mut bounds, mut all_finite) = (Bounds::NONE, true);
        for (byte, short) in values.iter_mut().enumerate() {
            let value = codes.value(byte);
            #[expect(clippy::cast_possible_truncation, reason = "checked right below")]
            let narrow = value as f32;
            *short = narrow;
            if !value.is_finite() {
                all_finite = false;
            } else if f64::from(narrow).to_bits() == value.to_bits() {
                bounds = bounds.and(Bounds::of(value));
            } else {
                return None;
            }
        }
        let decoder = if is_format { Decoder::for_length(element, None, length).ok() } else { None };
        let decoder = decoder.filter(|decoder: &Decoder<f32>| {
            let (bytes, mut decoded) =
                (std::array::from_fn::<u8, 256, _>(|i| i.to_le_bytes()[0]), [0.0; 256]);
            decoder.decode(&bytes, &mut decoded);
            decoded.map(f32::to_bits) == values.map(f32::to_bits)
        });
        // Of integers in two's complement.
        let multiple = |byte: u8| f32::from(byte.cast_signed()) * values[1];
        let are_multiples =
            (0..=u8::MAX).all(|byte| values[usize::from(byte)].to_bits() == multiple(byte).to_bits());
        let step = are_multiples.then_some(values[1]);
        Some(Self { values, decoder, step, bounds, all_finite })
    }

    /// Returns whether the products with a scale are numbers of f32.
    fn fits(&self, scale: &Scale) -> bool {
        if !scale.is_exact() {
            return false;
        }
        match scale.value {
            value if value.is_normal() => self.bounds.times_fits(Bounds::of(value)),
            // Zero, and what is not finite.
            value => self.all_finite && !value.is_subnormal(),
        }
    }

    /// Returns whether the products with all scales of a tensor are numbers of f32. `known` are
    /// scales by bytes, where codes of scales are bytes.
    pub(crate) fn fits_all(&self, source: &Source, scaled: &Scaled, known: &[Scale]) -> Result<bool> {
        if scaled.place == Placement::Alone {
            return Ok(self.fits(&Scale::new(0, 1.0, 1.0)));
        }
        // One bit of a scale is the least.
        if !is_power_of_two(scaled.global) || !self.bounds.times_fits(Bounds { bits: 1, ..Bounds::NONE }) {
            return Ok(false);
        }
        if self.fits_format(scaled) || !known.is_empty() && known.iter().all(|scale| self.fits(scale)) {
            return Ok(true);
        }
        if let ([_, ..], Placement::Ordered(_) | Placement::Blocks(_)) = (known, &scaled.place) {
            return self.fits_bytes(source, scaled, known);
        }
        let grid = &scaled.grid;
        let (across, down) = (grid.group_columns, grid.group_rows);
        // Very many rows may have no scale at all.
        if across == 0 {
            return Ok(true);
        }
        let rows = (READ_SCALES / across).max(1);
        for row in (0..down).step_by(index(rows)) {
            for column in (0..across).step_by(index(READ_SCALES)) {
                let (rows, columns) = (rows.min(down - row), READ_SCALES.min(across - column));
                let scales = scaled.read_scales_by(
                    known,
                    |scale| scale,
                    source,
                    Tile { row, rows, column, columns },
                )?;
                if !scales.iter().all(|scale| self.fits(scale)) {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Returns whether the products with all scales that a format has are numbers of f32.
    fn fits_format(&self, scaled: &Scaled) -> bool {
        let Some(spec) = scaled.scale.filter(|spec| spec.format.width() <= 16) else { return false };
        let (format, global) = (&spec.format, scaled.global);
        let lowest = Bounds::of(1.0 / global).lowest + format.exponent_range().0
            - format.trailing_bits().cast_signed();
        let bounds = Bounds { bits: format.precision(), lowest, largest: magnitude(format) / global };
        // Formats of scales may have NaN.
        self.all_finite && scaled.factor.to_bits() == 1.0_f64.to_bits() && self.bounds.times_fits(bounds)
    }

    /// Returns whether all products fit of the scales whose bytes are in the file.
    fn fits_bytes(&self, source: &Source, scaled: &Scaled, known: &[Scale]) -> Result<bool> {
        let source = scaled.elsewhere.as_ref().map_or(source, |elsewhere| &elsewhere.0);
        let blocks = if let Placement::Blocks(blocks) = &scaled.place { Some(blocks) } else { None };
        let unit = blocks.map_or(1, |blocks| index(blocks.bytes));
        let (mut seen, mut at) = ([false; 256], 0);
        let mut bytes = vec![0; (1 << 16) / unit * unit];
        let mut of_blocks = vec![0; blocks.map_or(0, |blocks| bytes.len() / unit * index(blocks.codes_at))];
        while at < scaled.scales.len {
            let count = index((scaled.scales.len - at).min(bytes.len() as u64));
            let some = &mut bytes[..count];
            source.read_bytes(&scaled.scales, at, some)?;
            let scales = match blocks {
                Some(blocks) => {
                    let scales = &mut of_blocks[..count / unit * index(blocks.codes_at)];
                    blocks.take_scales(some, scales);
                    scales
                }
                None => some,
            };
            for &byte in &*scales {
                seen[usize::from(byte)] = true;
            }
            at += count as u64;
        }
        Ok(known.iter().zip(seen).all(|(scale, seen)| !seen || self.fits(scale)))
    }

    /// The values of codes.
    pub(crate) fn decode(&self, codes: &[u8], values: &mut [f32]) {
        match &self.decoder {
            Some(decoder) => decoder.decode(codes, values),
            None => Level::detected().vectorize(
                #[inline(always)]
                || self.look_up(codes, values, 1.0),
            ),
        }
    }

    /// What codes are multiplied by.
    #[expect(clippy::cast_possible_truncation, reason = "a number of f32, as the products are")]
    pub(crate) fn factor(scale: &Scale) -> f32 {
        scale.value as f32
    }

    /// The products of codes from `first` on and the factors of their groups, in rows of so many
    /// from a group on.
    pub(crate) fn multiply(
        &self,
        (grid, first): (&Grid, u64),
        (codes, factors): (&[u8], &[f32]),
        ((row, column), columns): ((u64, u64), u64),
        values: &mut [f32],
    ) {
        let length = grid.block_columns;
        let whole = |elements: u64| elements.is_multiple_of(length);
        let in_order =
            grid.block_rows == 1 && whole(grid.columns) && whole(first) && whole(values.len() as u64);
        if let (Some(decoder), true) = (&self.decoder, in_order) {
            let skipped =
                index((first / grid.columns - row) * columns + first % grid.columns / length - column);
            let (length, groups) = (index(length), values.len() / index(length));
            return decoder.decode_blocks(length, &factors[skipped..][..groups], codes, values);
        }
        Level::detected().vectorize(
            #[inline(always)]
            || {
                grid.each_run(
                    first,
                    values.len(),
                    #[inline(always)]
                    |group, range| {
                        let factor = factors[index((group.0 - row) * columns + group.1 - column)];
                        self.look_up(&codes[range.clone()], &mut values[range], factor);
                    },
                );
            },
        );
    }

    #[inline(always)]
    fn look_up(&self, codes: &[u8], values: &mut [f32], factor: f32) {
        let pairs = values.iter_mut().zip(codes);
        match self.step {
            // Computed, which vectors do, rather than looked up.
            Some(step) => pairs.for_each(|(value, code)| {
                *value = f32::from(code.cast_signed()) * step * factor;
            }),
            None => pairs.for_each(|(value, &code)| *value = self.values[usize::from(code)] * factor),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::codebook;
    use crate::layout::grid::Granularity;
    use crate::stored::view::f64_decoder;
    use smallfloat::Codebook;
    use smallfloat::codebook::{INT8, NF4};
    use smallfloat::formats::{E2M1FN, E2M3FN, E4M3FN, E5M2};

    fn of_format(format: &Format) -> (CodeValues, Option<Short>) {
        let codes = CodeValues::Format(f64_decoder(format, usize::MAX).unwrap());
        let short = Short::new(format, &codes, true, usize::MAX);
        (codes, short)
    }

    fn of_list(list: Codebook) -> (CodeValues, Option<Short>) {
        let codes = CodeValues::List(codebook::values(list));
        let short = Short::new(&codebook::carrier(list), &codes, false, usize::MAX);
        (codes, short)
    }

    /// Scales of all magnitudes and lengths, and what is no positive number.
    fn scales() -> Vec<f64> {
        let mut scales = vec![0.0, f64::NAN, f64::INFINITY, -1.5, 1.0 / 3.0, 1e300, 1e-300];
        for exponent in -160..=130 {
            let power = 2.0_f64.powi(exponent);
            let above = |bits: i32| power * (1.0 + 2.0_f64.powi(1 - bits));
            scales.extend([
                power,
                above(4),
                above(11),
                above(16),
                above(17),
                above(20),
                above(21),
                above(24),
            ]);
        }
        scales
    }

    /// Where a scale fits, the products of all codes in f32, both ways, have the bits of those in
    /// f64; where a product is no number of f32, the scale does not fit.
    #[test]
    fn products_in_f32_are_those_in_f64() {
        let codes: Vec<u8> = (0..=u8::MAX).collect();
        let grid = Grid::new(&[256], Granularity::Block { rows: 1, columns: 32 });
        let (mut fitting, mut others) = (0, 0);
        let formats = [E2M1FN, E2M3FN, E4M3FN, E5M2, Format::cfloat8_1_4_3(0).unwrap()];
        let all = formats.iter().map(of_format);
        for (values, short) in all.chain(Codebook::ALL.iter().map(|&list| of_list(list))) {
            let short = short.unwrap();
            for value in scales() {
                let scale = Scale::new(0, value, 1.0);
                let exact: Vec<f64> =
                    codes.iter().map(|&code| scale.times(values.value(usize::from(code)), true)).collect();
                #[expect(clippy::cast_possible_truncation, reason = "compared with it")]
                let is_f32 = |x: &f64| x.is_nan() || f64::from(*x as f32).to_bits() == x.to_bits();
                if !short.fits(&scale) {
                    others += 1;
                    continue;
                }
                fitting += 1;
                assert!(exact.iter().all(is_f32), "{value:e}");
                #[expect(clippy::cast_possible_truncation, reason = "numbers of f32")]
                let expected: Vec<u32> = exact.iter().map(|&x| (x as f32).to_bits()).collect();
                // In order by the decoder, and element by element.
                for (decoder, first) in [(true, 0), (false, 0), (true, 5)] {
                    let short = if decoder { &short } else { &Short { decoder: None, ..of_values(&short) } };
                    let mut found = vec![0.0; 256 - first];
                    let part = (&codes[first..], &[Short::factor(&scale); 8][..]);
                    short.multiply((&grid, first as u64), part, ((0, 0), 8), &mut found);
                    let found: Vec<u32> = found.iter().map(|x| x.to_bits()).collect();
                    assert_eq!(found, expected[first..], "{value:e}");
                }
            }
        }
        assert!(fitting > 8000 && others > 8000, "{fitting} {others}");
    }

    fn of_values(short: &Short) -> Short {
        Short { values: short.values.clone(), decoder: None, ..*short }
    }

    #[test]
    fn what_fits_and_what_does_not() {
        let fits = |format: &Format, scale: Scale| of_format(format).1.unwrap().fits(&scale);
        let one = |value| Scale::new(0, value, 1.0);
        let power = |exponent| one(2.0_f64.powi(exponent));
        // 6 · 2^125 is below 2^128, 6 · 2^126 above it; half of 2^−148 is the least number.
        assert!(fits(&E2M1FN, power(125)) && !fits(&E2M1FN, power(126)));
        assert!(fits(&E2M1FN, power(-148)) && !fits(&E2M1FN, power(-149)));
        // The lowest bit of E4M3 is 2^−9, and it has four of them.
        assert!(fits(&E4M3FN, power(-140)) && !fits(&E4M3FN, power(-141)));
        let bits = |bits: i32| one(1.0 + 2.0_f64.powi(1 - bits));
        assert!(fits(&E4M3FN, bits(20)) && !fits(&E4M3FN, bits(21)));
        assert!(fits(&E2M1FN, bits(22)) && !fits(&E2M1FN, bits(23)));
        // Which NaN a product of two is, is not said.
        assert!(fits(&E2M1FN, one(f64::NAN)) && !fits(&E4M3FN, one(f64::NAN)));
        // A quotient that no f32 is, and one that every f32 could be.
        assert!(!fits(&E2M1FN, Scale::new(0, 1.0, 3.0)) && fits(&E2M1FN, Scale::new(0, 1.0, 4.0)));
        assert!(of_format(&smallfloat::formats::BFLOAT16).1.is_none());
        // Integers of eight bits and scales of F16; values of 24 bits have no room for others.
        let fits = |list, scale: Scale| of_list(list).1.unwrap().fits(&scale);
        assert!(fits(INT8, bits(11)) && !fits(NF4, bits(2)) && fits(NF4, power(3)));
    }
}
