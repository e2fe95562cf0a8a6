//! [`Dot`]: sums of products of codes, each accumulated in a way with a name and projected once.
//!
//! [semantics](smallfloat::semantics) S9 says what each accumulator promises.

pub(crate) mod exact;
pub(crate) mod fused;
pub(crate) mod matmul;
pub(crate) mod scales;

use std::fmt;
use std::str::FromStr;

use smallfloat::formats::BINARY32;
use smallfloat::ops::Semantics;
use smallfloat::{Datum, ErrorKind, Exact, Flags, Format, Projection, Rounded, SmallFloat, ops, project};

use crate::arch::level::Level;
use crate::arch::{Kernels, Machine};
use crate::decode::Decoder;
use crate::dot::exact::ExactDot;
use crate::dot::fused::unit::MatrixUnit;
use crate::dot::fused::{Fused, FusedDot};
use crate::dot::matmul::Matrix;
pub use crate::dot::scales::Scales;
use crate::element::{Code, check_lengths, check_operand, check_rows};
use crate::encode::Encoder;
use crate::error::Error;
use crate::parallel;
use crate::target::Target;

/// The accumulator of a sum of products.
///
/// As text: `f32`, `exact`, the name of a GPU's matrix unit (`hopper`, `ada:output=f16`,
/// `hopper:promote=128`), the parameters of one (`fused:k=32,fraction=13,output=e8m13`), or a
/// format, which is [`Rounded`](Self::Rounded) with its default projection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Accumulate {
    /// In binary32. Dot products have thirty-two partial sums: the j-th adds the products of
    /// elements j, j + 32, j + 64, … in this order, each product exact, each sum rounded to nearest
    /// even. The partial sums add up in halves: j with j + 16, then j + 8, j + 4, j + 2, j + 1.
    /// Elements of matrix products have eight: j, j + 8, j + 16, …, then j with j + 4, j + 2,
    /// j + 1. Both orders are the same at every level and for any number of threads and rows, so
    /// the bits are too.
    F32,
    /// Exactly: integers that no order, level or number of threads changes.
    Exact,
    /// In another format, from left to right: each sum x·y + s is exact and rounded once by the
    /// projection. For studies of narrow accumulators; slow.
    Rounded(Format, Projection),
    /// As a GPU's matrix unit does for the two formats. Operands have at most 16 bits.
    Unit(MatrixUnit),
    /// As a matrix unit with these parameters does. Operands have at most 16 bits.
    Fused(Fused),
}

impl fmt::Display for Accumulate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::F32 => f.write_str("f32"),
            Self::Exact => f.write_str("exact"),
            Self::Rounded(format, _) => format.fmt(f),
            Self::Unit(unit) => unit.fmt(f),
            Self::Fused(fused) => fused.fmt(f),
        }
    }
}

impl FromStr for Accumulate {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "f32" => return Ok(Self::F32),
            "exact" => return Ok(Self::Exact),
            _ if text.starts_with("fused:") => return text.parse().map(Self::Fused),
            _ => {}
        }
        match text.parse::<MatrixUnit>() {
            Err(Error::Accumulate { name, suggestion }) => match text.parse::<Format>() {
                Ok(format) => Ok(Self::Rounded(format, format.default_projection())),
                // A unit's name before a format's, where either is near.
                Err(error) => Err(match error.kind() {
                    ErrorKind::UnknownFormat { suggestion: format, .. } => {
                        Error::Accumulate { name, suggestion: suggestion.or(format) }
                    }
                    _ => error.into(),
                }),
            },
            unit => unit.map(Self::Unit),
        }
    }
}

/// Partial sums of a dot product by [`Accumulate::F32`].
const LANES: usize = 32;

/// Dot products of two formats of at most 8 bits; of at most 16 as matrix units compute them.
#[derive(Clone, Debug)]
pub struct Dot {
    formats: [Format; 2],
    accumulate: Accumulate,
    level: Level,
    wide: [Option<Decoder<f32>>; 2],
    exact: Option<ExactDot>,
    fused: Option<FusedDot>,
}

impl Dot {
    /// Returns the dot product of codes of two formats.
    ///
    /// # Errors
    /// A format of more than 8 bits, for matrix units of more than 16; for [`Accumulate::F32`] one
    /// whose values or products binary32 can't hold exactly; for [`Accumulate::Rounded`] a
    /// stochastic rounding; formats for which a matrix unit has no instruction.
    pub fn new(x: &Format, y: &Format, accumulate: Accumulate) -> Result<Self, Error> {
        let fused = match accumulate {
            Accumulate::Unit(unit) => Some(unit.dot(x, y)?),
            Accumulate::Fused(fused) => Some(FusedDot::new(x, y, fused)?),
            _ => None,
        };
        if let Some(format) = [x, y].into_iter().find(|format| fused.is_none() && format.width() > 8) {
            return Err(Error::WiderThanByte { format: *format });
        }
        let mut dot = Self {
            formats: [*x, *y],
            accumulate,
            level: Level::detected(),
            wide: [None, None],
            exact: None,
            fused,
        };
        match accumulate {
            Accumulate::F32 => {
                let (low, high) = (x.min_positive(), x.max_finite());
                let ends = |a: Datum, b: Datum| a.exponent_of_leading_bit() + b.exponent_of_leading_bit();
                if ends(low, y.min_positive()) < -126 || ends(high, y.max_finite()) + 2 > 127 {
                    return Err(Error::Inexact { format: *x, destination: BINARY32 });
                }
                dot.wide = [Some(Decoder::new(x, None)?), Some(Decoder::new(y, None)?)];
            }
            Accumulate::Exact => dot.exact = Some(ExactDot::new(x, y)),
            Accumulate::Rounded(_, projection) if projection.rounding.is_stochastic() => {
                return Err(Error::NoRandomWords { mode: projection.rounding.name() });
            }
            Accumulate::Rounded(..) => {}
            Accumulate::Unit(_) | Accumulate::Fused(_) => {
                dot.wide = [Some(Decoder::new(x, None)?), Some(Decoder::new(y, None)?)];
            }
        }
        Ok(dot)
    }

    /// Returns this with the kernels of another level; of a level that the machine can't run, with
    /// those of the highest it can. The results are the same.
    #[must_use]
    pub fn with_level(mut self, level: Level) -> Self {
        self.level = level.at_most_available();
        self.wide = self.wide.map(|decoder| decoder.map(|decoder| decoder.with_level(level)));
        self.fused = self.fused.map(|fused| fused.with_level(level));
        self
    }

    /// Returns how sums are accumulated.
    pub fn accumulate(&self) -> Accumulate {
        self.accumulate
    }

    /// Returns the dot product of two types of scalars.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn between<X: SmallFloat, Y: SmallFloat>(accumulate: Accumulate) -> Result<Self, Error> {
        Self::new(&X::FORMAT, &Y::FORMAT, accumulate)
    }

    /// Returns Σ x·y in the accumulator, with the flags that rounding in it raised; matrix units
    /// raise none. The slices are bytes, for matrix units also half-words, or scalars of the two
    /// formats.
    ///
    /// # Panics
    /// If the slices differ in length, or are neither codes nor scalars of the formats.
    pub fn sum<X: Code, Y: Code>(&self, x: &[X], y: &[Y]) -> (Exact, Flags) {
        check_lengths((x.len(), "codes"), (y.len(), "others"));
        let [a, b] = &self.formats;
        check_operand::<X>(a);
        check_operand::<Y>(b);
        if let Some((fused, [decode_x, decode_y])) = self.unit() {
            let [x, y] = [decoded(decode_x, x), decoded(decode_y, y)];
            let sum = fused.add(0.0, &x, &y);
            return (Exact::from_datum(BINARY32.decode(u64::from(sum.to_bits()))), Flags::NONE);
        }
        self.sum_of_bytes(bytes(x), bytes(y))
    }

    /// The matrix unit, and what decodes operands for it.
    fn unit(&self) -> Option<(&FusedDot, [&Decoder<f32>; 2])> {
        let [Some(x), Some(y)] = &self.wide else { return None };
        Some((self.fused.as_ref()?, [x, y]))
    }

    fn sum_of_bytes(&self, x: &[u8], y: &[u8]) -> (Exact, Flags) {
        match (&self.accumulate, &self.exact, &self.wide) {
            (Accumulate::F32, _, [Some(decode_x), Some(decode_y)]) => {
                let sum = f32_sum(self.level, decode_x, decode_y, x, y);
                (Exact::from_datum(BINARY32.decode(u64::from(sum.to_bits()))), Flags::NONE)
            }
            (Accumulate::Rounded(format, projection), ..) => self.rounded_sum(format, projection, x, y),
            (_, Some(exact), _) => (exact.sum(self.level, x, y), Flags::NONE),
            _ => unreachable!("matrix units are not asked"),
        }
    }

    /// Returns Σ x·y, projected once into a format.
    ///
    /// # Panics
    /// As [`sum`](Self::sum).
    pub fn dot<X: Code, Y: Code>(
        &self,
        x: &[X],
        y: &[Y],
        to: &Format,
        projection: &Projection,
    ) -> Rounded<u64> {
        let (exact, raised) = self.sum(x, y);
        let Rounded { value, flags } = project(exact, to, projection);
        Rounded { value, flags: flags | raised }
    }

    /// The matrix product A·Bᵀ of `rows` rows of A with all rows of B, each of `length` codes, row
    /// by row: row r, column c of the result is the dot product of A's row r and B's row c. A
    /// vector is a matrix of one row.
    ///
    /// # Panics
    /// If `length` is zero or a slice's length is not a multiple of it, if `codes` has not one
    /// element for each pair of rows, or if the results' format has more than 16 bits.
    pub fn matmul<C: Code>(
        &self,
        [a, b]: [&[C]; 2],
        length: usize,
        target: Target<'_>,
        codes: &mut [u16],
    ) -> Flags {
        let Target { format: to, projection } = target;
        let (_, columns) = check_rows([a.len(), b.len()], length, codes.len());
        assert!(to.width() <= u16::BITS, "{to} needs codes wider than {} bits", u16::BITS);
        if (self.accumulate == Accumulate::F32 || self.fused.is_some())
            && !projection.rounding.is_stochastic()
            && let Ok(encoder) = Encoder::<f32>::for_length(to, projection, codes.len())
        {
            let mut sums = vec![0.0; codes.len()];
            self.matmul_f32([a, b], length, [Scales::Tensor(1.0); 2], &mut sums);
            let events = encoder.with_level(self.level).encode(&sums, codes);
            return events.flags.without(Flags::DENORMAL);
        }
        parallel::fill(codes, &|start, codes| {
            let mut seen = Flags::NONE;
            for (i, code) in (start..).zip(codes) {
                let Rounded { value, flags } = self.element([a, b], length, i / columns, i % columns, target);
                seen |= flags;
                let bytes = value.to_le_bytes();
                *code = u16::from_le_bytes([bytes[0], bytes[1]]);
            }
            seen
        })
    }

    /// The matrix product A·Bᵀ as in [`matmul`](Self::matmul), in binary32: each sum, rounded to
    /// nearest even where the accumulator is another one, times the scale of A's row, times the
    /// scale of B's row, each product rounded to nearest even. With scales for blocks of rows'
    /// elements this holds for each block, and the blocks' products add up in binary32 from left to
    /// right; if both matrices have such scales, their blocks must be of one size.
    ///
    /// ```
    /// use smallfloat::formats::E4M3FN;
    /// use smallfloat_kernels::{Accumulate, Dot, Scales};
    /// let dot = Dot::new(&E4M3FN, &E4M3FN, Accumulate::F32)?;
    /// // Two rows of (1, 2) and (0.5, 1), by one of (2, 2).
    /// let (a, b) = ([0x38_u8, 0x40, 0x30, 0x38], [0x40, 0x40]);
    /// let mut c = [0.0; 2];
    /// dot.matmul_f32([&a, &b], 2, [Scales::Rows(&[1.0, 4.0]), Scales::Tensor(0.5)], &mut c);
    /// assert_eq!(c, [3.0, 6.0]);
    /// # Ok::<(), smallfloat_kernels::Error>(())
    /// ```
    ///
    /// # Panics
    /// As [`matmul`](Self::matmul) for lengths, and if scales are not one for each row or block, or
    /// blocks are of two sizes or of none.
    pub fn matmul_f32<C: Code>(
        &self,
        [a, b]: [&[C]; 2],
        length: usize,
        scales: [Scales<'_>; 2],
        products: &mut [f32],
    ) {
        let (rows, columns) = check_rows([a.len(), b.len()], length, products.len());
        let [a_scales, b_scales] = scales;
        a_scales.check(rows, length);
        b_scales.check(columns, length);
        let sizes = [a_scales.block(), b_scales.block()];
        assert!(
            sizes[0].is_none() || sizes[1].is_none() || sizes[0] == sizes[1],
            "both matrices' blocks must be of one size"
        );
        if products.is_empty() {
            return;
        }
        let size = sizes[0].or(sizes[1]).unwrap_or(length);
        if let (Accumulate::F32, [Some(x), Some(y)]) = (&self.accumulate, &self.wide) {
            let matrix = |codes, decoder| Matrix { codes: bytes(codes), length, decoder };
            return matmul::product(self.level, [matrix(a, x), matrix(b, y)], size, scales, products);
        }
        let blocks = length.div_ceil(size);
        let mut sums = if blocks > 1 { vec![0.0; products.len()] } else { Vec::new() };
        for block in 0..blocks {
            let part = block * size..((block + 1) * size).min(length);
            let to = if block == 0 { &mut *products } else { &mut sums[..] };
            self.sums([a, b], length, part, to);
            parallel::chunks(to, columns, &|row, sums| {
                let x = a_scales.of(row, block, blocks);
                for (column, sum) in sums.iter_mut().enumerate() {
                    *sum = *sum * x * b_scales.of(column, block, blocks);
                }
            });
            if block > 0 {
                for (product, sum) in products.iter_mut().zip(&sums) {
                    *product += sum;
                }
            }
        }
    }

    /// Sums over a part of all rows, rounded to binary32, of the accumulators other than
    /// [`Accumulate::F32`].
    fn sums<C: Code>(
        &self,
        [a, b]: [&[C]; 2],
        length: usize,
        part: std::ops::Range<usize>,
        sums: &mut [f32],
    ) {
        if let Some((fused, decoders)) = self.unit() {
            let rows = |codes: &[C], decoder: &Decoder<f32>| {
                let mut values = vec![0.0; codes.len() / length * part.len()];
                for (codes, values) in codes.chunks(length).zip(values.chunks_mut(part.len())) {
                    decoder.decode(&codes[part.clone()], values);
                }
                values
            };
            let [a, b] = [rows(a, decoders[0]), rows(b, decoders[1])];
            sums.fill(0.0);
            return fused.add_matmul([&a, &b], part.len(), sums);
        }
        let [a, b] = [a, b].map(|codes| bytes(codes));
        let (columns, nearest) = (b.len() / length, BINARY32.default_projection());
        parallel::chunks(sums, columns, &|row, sums| {
            for (column, sum) in sums.iter_mut().enumerate() {
                let (x, y) = (&a[row * length..][part.clone()], &b[column * length..][part.clone()]);
                let [low, middle, high, top, ..] = self.dot(x, y, &BINARY32, &nearest).value.to_le_bytes();
                *sum = f32::from_le_bytes([low, middle, high, top]);
            }
        });
    }

    /// One element of a matrix product.
    fn element<C: Code>(
        &self,
        [a, b]: [&[C]; 2],
        length: usize,
        row: usize,
        column: usize,
        Target { format: to, projection }: Target<'_>,
    ) -> Rounded<u64> {
        let (x, y) = (&a[row * length..][..length], &b[column * length..][..length]);
        if self.accumulate != Accumulate::F32 {
            return self.dot(x, y, to, projection);
        }
        let mut sum = [0.0];
        self.matmul_f32([x, y], length, [Scales::Tensor(1.0); 2], &mut sum);
        project(Exact::from_datum(BINARY32.decode(u64::from(sum[0].to_bits()))), to, projection)
    }

    fn rounded_sum(&self, format: &Format, projection: &Projection, x: &[u8], y: &[u8]) -> (Exact, Flags) {
        let (mut sum, mut seen) = (format.decode(0), Flags::NONE);
        let [a, b] = &self.formats;
        for (x, y) in x.iter().zip(y) {
            let (x, y) = (a.decode(u64::from(*x)), b.decode(u64::from(*y)));
            let exact = ops::fma(x, y, sum, Semantics::Ieee).exact;
            let Rounded { value, flags } = project(exact, format, projection);
            sum = format.decode(value);
            seen |= flags;
        }
        (Exact::from_datum(sum), seen)
    }
}

/// The values of codes.
fn decoded<C: Code>(decoder: &Decoder<f32>, codes: &[C]) -> Vec<f32> {
    let mut values = vec![0.0; codes.len()];
    decoder.decode(codes, &mut values);
    values
}

/// Codes in bytes, which all but matrix units take.
#[track_caller]
fn bytes<C: Code>(codes: &[C]) -> &[u8] {
    let Some(codes) = C::as_codes(codes).bytes() else {
        panic!("dot products take codes in bytes, not in {} bits", C::BITS)
    };
    codes
}

/// The order that [`Accumulate::F32`] documents.
fn f32_sum(level: Level, decode_x: &Decoder<f32>, decode_y: &Decoder<f32>, x: &[u8], y: &[u8]) -> f32 {
    let mut sums = [0_f32; LANES];
    let done = add_products(level, [decode_x, decode_y], [x, y], &mut sums);
    let [x_values, y_values] = [decode_x, decode_y].map(Decoder::of_bytes);
    for (x, y) in x[done..].chunks(LANES).zip(y[done..].chunks(LANES)) {
        for ((sum, x), y) in sums.iter_mut().zip(x).zip(y) {
            // Products are exact, so it does not matter whether a machine fuses the two operations.
            *sum += x_values[usize::from(*x)] * y_values[usize::from(*y)];
        }
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

/// Fills in the sums of the first elements' products by vectors; how many those were.
fn add_products(
    level: Level,
    decoders: [&Decoder<f32>; 2],
    codes: [&[u8]; 2],
    sums: &mut [f32; LANES],
) -> usize {
    let (Some(machine), [Some(x), Some(y)]) = (Machine::new(level), decoders.map(Decoder::plan)) else {
        return 0;
    };
    let by_nibbles = machine.has_vector_products() && machine.decodes_by_nibbles();
    match decoders.map(Decoder::nibbles) {
        [Some(x), Some(y)] if by_nibbles && has_room(decoders) => {
            machine.products_by_nibbles([x, y], codes, sums)
        }
        _ => machine.add_products([x, y], codes, sums),
    }
}

/// Returns whether no sum of products overflows, nor becomes subnormal where its terms are divided
/// by a few powers of two, as plans by nibbles do.
fn has_room(decoders: [&Decoder<f32>; 2]) -> bool {
    let [x, y] = decoders.map(|decoder| {
        let format = decoder.format();
        [format.min_positive(), format.max_finite()].map(|datum| datum.exponent_of_leading_bit())
    });
    x[0] + y[0] > -90 && x[1] + y[1] < 60
}

#[cfg(test)]
mod tests {
    use smallfloat::formats::E4M3FN;

    use super::{Decoder, LANES, Level, add_products};

    #[test]
    #[cfg_attr(smallfloat_arch = "scalar", ignore = "this machine has no such kernel")]
    fn vectors_are_used() {
        // 1.75 · −0.5.
        let (x, y) = ([0x3e_u8; 100], [0xb0_u8; 100]);
        let decoder = Decoder::<f32>::new(&E4M3FN, None).expect("a decoder");
        let products = |level| {
            let mut sums = [0.0; LANES];
            (add_products(level, [&decoder, &decoder], [&x, &y], &mut sums), sums.iter().sum::<f32>())
        };
        assert_eq!(products(Level::Portable), (0, 0.0));
        let Some(level) = Level::with_kernels() else {
            eprintln!("skipped: no vectors here");
            return;
        };
        assert_eq!(products(level), (96, -84.0));
    }
}
