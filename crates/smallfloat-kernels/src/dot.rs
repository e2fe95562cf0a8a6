//! [`Dot`]: sums of products of codes, each accumulated in a way with a name and projected once.
//!
//! `docs/semantics.md` S9 says what each accumulator promises.

use smallfloat::ops::{self, Semantics, Sum};
use smallfloat::{Exact, Flags, Format, Projection, Rounded, formats::BINARY32, project};

use crate::{Decoder, Error, Level, parallel};

/// How a sum of products is accumulated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Accumulate {
    /// In binary32. Thirty-two partial sums: the j-th adds the products of elements j, j + 32, j + 64, … in this order,
    /// each product exact, each sum rounded to nearest even. The partial sums add up in halves: j with j + 16, then
    /// j + 8, j + 4, j + 2, j + 1. The order is the same at every level, so the bits are too.
    F32,
    /// Exactly: integers that no order, level or number of threads changes.
    Exact,
    /// In another format, from left to right: each sum x·y + s is exact and rounded once by the projection. For studies
    /// of narrow accumulators; slow.
    Rounded(Format, Projection),
}

/// Partial sums of [`Accumulate::F32`].
const LANES: usize = 32;

/// Dot products of two formats of at most 8 bits.
#[derive(Clone, Debug)]
pub struct Dot {
    formats: [Format; 2],
    accumulate: Accumulate,
    level: Level,
    wide: [Option<Decoder<f32>>; 2],
    /// Values as integers, and the exponent of the products' unit; where products fit 62 bits.
    integers: Option<Integers>,
}

#[derive(Clone, Debug)]
struct Integers {
    tables: [Vec<Integer>; 2],
    unit: i32,
    /// Products that 63 bits can add up.
    block: usize,
}

/// A code's value: an integer, or what only the core can add.
#[derive(Clone, Copy, Debug)]
struct Integer {
    value: i64,
    special: bool,
}

impl Dot {
    /// Dot products of codes of two formats.
    ///
    /// # Errors
    /// A format of more than 8 bits; for [`Accumulate::F32`] one whose values or products binary32 can't hold exactly;
    /// for [`Accumulate::Rounded`] a stochastic rounding.
    pub fn new(x: &Format, y: &Format, accumulate: Accumulate) -> Result<Self, Error> {
        if let Some(format) = [x, y].into_iter().find(|format| format.width() > 8) {
            return Err(Error::WiderThanByte { format: *format });
        }
        let mut dot = Self {
            formats: [*x, *y],
            accumulate,
            level: Level::detected(),
            wide: [None, None],
            integers: None,
        };
        match accumulate {
            Accumulate::F32 => {
                let (low, high) = (x.min_positive(), x.max_finite());
                let ends = |a: smallfloat::Datum, b: smallfloat::Datum| {
                    a.exponent_of_leading_bit() + b.exponent_of_leading_bit()
                };
                if ends(low, y.min_positive()) < -126 || ends(high, y.max_finite()) + 2 > 127 {
                    return Err(Error::Inexact { format: *x, destination: BINARY32 });
                }
                dot.wide = [Some(Decoder::new(x, None)?), Some(Decoder::new(y, None)?)];
            }
            Accumulate::Exact => dot.integers = Integers::new(x, y),
            Accumulate::Rounded(_, how) if how.rounding.is_stochastic() => {
                return Err(Error::NoRandomWords { mode: how.rounding.name() });
            }
            Accumulate::Rounded(..) => {}
        }
        Ok(dot)
    }

    /// The same with the kernels of another level; of a level that the machine can't run, the highest it can. The results
    /// are the same.
    #[must_use]
    pub fn with_level(mut self, level: Level) -> Self {
        self.level = level.at_most_available();
        self.wide = self.wide.map(|decoder| decoder.map(|decoder| decoder.with_level(level)));
        self
    }

    /// Σ x·y in the accumulator, with the flags that rounding in it raised.
    ///
    /// # Panics
    /// If the slices differ in length.
    pub fn sum(&self, x: &[u8], y: &[u8]) -> (Exact, Flags) {
        assert_eq!(x.len(), y.len(), "both slices must have the same length");
        match (&self.accumulate, &self.integers, &self.wide) {
            (Accumulate::F32, _, [Some(decode_x), Some(decode_y)]) => {
                let sum = f32_sum(self.level, decode_x, decode_y, x, y);
                (Exact::from_datum(BINARY32.decode(u64::from(sum.to_bits()))), Flags::NONE)
            }
            (Accumulate::Rounded(format, how), ..) => self.rounded_sum(format, how, x, y),
            (_, Some(integers), _) => {
                (integers.sum(x, y).unwrap_or_else(|| self.core_sum(x, y)), Flags::NONE)
            }
            _ => (self.core_sum(x, y), Flags::NONE),
        }
    }

    /// Σ x·y, projected once into a format.
    ///
    /// # Panics
    /// If the slices differ in length.
    pub fn dot(&self, x: &[u8], y: &[u8], to: &Format, how: &Projection) -> Rounded<u64> {
        let (exact, raised) = self.sum(x, y);
        let Rounded { value, flags } = project(exact, to, how);
        Rounded { value, flags: flags | raised }
    }

    /// The matrix product A·Bᵀ of `rows` rows of A with all rows of B, each of `length` codes, row by row: row r, column c
    /// of the result is the dot product of A's row r and B's row c. A vector is a matrix of one row.
    ///
    /// # Panics
    /// If `length` is zero or a slice's length is not a multiple of it, or if `codes` has not one element for each pair of
    /// rows.
    pub fn matmul(
        &self,
        [a, b]: [&[u8]; 2],
        length: usize,
        (to, how): (&Format, &Projection),
        codes: &mut [u16],
    ) -> Flags {
        assert!(length > 0, "rows must have elements");
        assert!(
            a.len().is_multiple_of(length) && b.len().is_multiple_of(length),
            "slices must hold whole rows"
        );
        let columns = b.len() / length;
        assert_eq!(codes.len(), a.len() / length * columns, "one result for each pair of rows");
        parallel::fill(codes, |start, codes| {
            let mut seen = Flags::NONE;
            for (i, code) in (start..).zip(codes) {
                let row = |matrix: &'_ [u8], i: usize| i * length..(i * length + length).min(matrix.len());
                let (x, y) = (&a[row(a, i / columns)], &b[row(b, i % columns)]);
                let Rounded { value, flags } = self.dot(x, y, to, how);
                seen |= flags;
                let bytes = value.to_le_bytes();
                *code = u16::from_le_bytes([bytes[0], bytes[1]]);
            }
            seen
        })
    }

    fn core_sum(&self, x: &[u8], y: &[u8]) -> Exact {
        let mut sum = Sum::new();
        for (x, y) in x.iter().zip(y) {
            let [a, b] = &self.formats;
            sum.add_product(a.decode(u64::from(*x)), b.decode(u64::from(*y)));
        }
        sum.exact()
    }

    fn rounded_sum(&self, format: &Format, how: &Projection, x: &[u8], y: &[u8]) -> (Exact, Flags) {
        let (mut sum, mut seen) = (format.decode(0), Flags::NONE);
        let [a, b] = &self.formats;
        for (x, y) in x.iter().zip(y) {
            let (x, y) = (a.decode(u64::from(*x)), b.decode(u64::from(*y)));
            let exact = ops::fma(x, y, sum, Semantics::Ieee).exact;
            let Rounded { value, flags } = project(exact, format, how);
            sum = format.decode(value);
            seen |= flags;
        }
        (Exact::from_datum(sum), seen)
    }
}

/// The order that [`Accumulate::F32`] documents.
fn f32_sum(level: Level, decode_x: &Decoder<f32>, decode_y: &Decoder<f32>, x: &[u8], y: &[u8]) -> f32 {
    const PIECE: usize = 32 * LANES;
    let (mut a, mut b) = ([0_f32; PIECE], [0_f32; PIECE]);
    let mut sums = [0_f32; LANES];
    for (x, y) in x.chunks(PIECE).zip(y.chunks(PIECE)) {
        let (a, b) = (&mut a[..x.len()], &mut b[..x.len()]);
        decode_x.decode(x, a);
        decode_y.decode(y, b);
        add_products(level, a, b, &mut sums);
    }
    let mut half = LANES / 2;
    while half > 0 {
        for j in 0..half {
            sums[j] += sums[j + half];
        }
        half /= 2;
    }
    sums[0]
}

/// Adds a[i]·b[i] to the partial sum i mod 32. Products are exact, so that it does not matter whether a machine fuses the
/// two operations.
fn add_products(level: Level, a: &[f32], b: &[f32], sums: &mut [f32; LANES]) {
    #[cfg(target_arch = "x86_64")]
    if let Some(vectors) = crate::x86_64::Vectors::new(level) {
        return crate::x86_64::add_products(vectors, a, b, sums);
    }
    let _ = level;
    for (a, b) in a.chunks(LANES).zip(b.chunks(LANES)) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += a * b;
        }
    }
}

impl Integers {
    fn new(x: &Format, y: &Format) -> Option<Self> {
        let (x_unit, x_table) = integers(x)?;
        let (y_unit, y_table) = integers(y)?;
        let bits =
            |table: &[Integer]| table.iter().map(|i| 64 - i.value.unsigned_abs().leading_zeros()).max();
        let product_bits = bits(&x_table)? + bits(&y_table)?;
        let block = 1_usize.checked_shl(62_u32.checked_sub(product_bits)?)?;
        Some(Self { tables: [x_table, y_table], unit: x_unit + y_unit, block: block.min(1 << 30) })
    }

    /// The sum, or `None` where zeros have signs to keep, or ∞ or NaN is among the codes.
    fn sum(&self, x: &[u8], y: &[u8]) -> Option<Exact> {
        let [x_table, y_table] = &self.tables;
        let (x_mask, y_mask) = (x_table.len() - 1, y_table.len() - 1);
        let mut total = 0_i128;
        for (x, y) in x.chunks(self.block).zip(y.chunks(self.block)) {
            let (mut sum, mut special) = (0_i64, false);
            for (x, y) in x.iter().zip(y) {
                let (x, y) = (x_table[usize::from(*x) & x_mask], y_table[usize::from(*y) & y_mask]);
                sum += x.value * y.value;
                special |= x.special | y.special;
            }
            if special {
                return None;
            }
            total += i128::from(sum);
        }
        // A zero's sign depends on its terms.
        (total != 0).then(|| Exact::from_i128(total).scaled(self.unit))
    }
}

/// The exponent of a format's smallest step, and all values as multiples of it, if 63 bits hold them.
fn integers(format: &Format) -> Option<(i32, Vec<Integer>)> {
    let finite = |code: u64| match format.decode(code) {
        smallfloat::Datum::Finite { negative, significand, exponent } if significand > 0 => {
            Some((negative, significand, exponent))
        }
        _ => None,
    };
    let codes = 0..=format.max_code();
    let unit = codes.clone().filter_map(finite).map(|(_, _, exponent)| exponent).min()?;
    let table = codes
        .map(|code| {
            let Some((negative, significand, exponent)) = finite(code) else {
                return Some(Integer { value: 0, special: !format.decode(code).is_zero() });
            };
            let value =
                i64::try_from(u128::from(significand).checked_shl((exponent - unit).unsigned_abs())?).ok()?;
            Some(Integer { value: if negative { -value } else { value }, special: false })
        })
        .collect::<Option<Vec<Integer>>>()?;
    Some((unit, table))
}
