//! [`Fused`] and [`FusedDot`]: sums of products as the matrix units of GPUs compute them.
//!
//! Such a unit does not round every addition. It takes the exact products of a group and the
//! accumulator, aligns them to the largest exponent among them, cuts each to a fixed number of
//! fraction bits, adds the integers, and rounds once into the accumulator. The models are those of
//! MMA-Sim (Xie et al., arXiv 2511.10909), written anew from the paper and the behaviour of its
//! code; `docs/tensor-cores.md` describes them.
//!
//! `integers` computes them in integers and is the reference; `lanes` computes the same bits in
//! binary64, where every step is exact, for several results side by side.

mod integers;
mod lanes;
mod name;
pub(crate) mod scaled;
pub(crate) mod unit;

use smallfloat::formats::{BINARY32, TF32};
use smallfloat::{Exact, Format, Rounding, Saturation, formats, project};

use crate::arch::level::Level;
use crate::element::{check_lengths, check_rows};
use crate::error::Error;

/// The parameters by which a matrix unit adds products to its accumulator.
///
/// As text, `fused:k=32,fraction=13,output=e8m13`; in full,
/// `fused:k=8,sum=down,fraction=24,output=f32,rounding=nearest-even,flush,promote=128`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fused {
    /// Products that are added to the accumulator at a time, 1 to 256. Zeros fill the last group.
    pub k: usize,
    /// How a group is added.
    pub sum: GroupSum,
    /// The format of the accumulator.
    pub output: Output,
    /// How sums are rounded into it: [`Rounding::TowardZero`] or [`Rounding::NearestEven`].
    pub rounding: Rounding,
    /// Takes subnormal operands, products, sums and accumulators for zeros. For
    /// [`GroupSum::Pairwise`] alone.
    pub flush: bool,
    /// Adds the accumulator to a sum in binary32, rounded to nearest even, and begins again at
    /// zero, after so many products: a multiple of `k`.
    pub promote: Option<usize>,
}

/// The way in which the products of a group and the accumulator become one sum.
///
/// Here the exponent of an operand is ⌊log2 |x|⌋, but not less than that of its format's smallest
/// normal number, and −126 for zeros; that of a product is the sum of its operands' exponents. To
/// align to an exponent e with f fraction bits is to cut what lies below 2^(e − f).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GroupSum {
    /// Products and accumulator are aligned to the largest exponent among them, cut toward zero.
    Aligned {
        /// Fraction bits, 1 to 40.
        fraction_bits: u32,
    },
    /// Products are aligned to their largest exponent, cut toward zero; then their sum, with seven
    /// more fraction bits, and the accumulator are aligned to the larger exponent of both, cut
    /// toward −∞.
    Down {
        /// Fraction bits, 1 to 33.
        fraction_bits: u32,
    },
    /// As `Down`, but products at even and at odd places are aligned and added apart, and their two
    /// sums are aligned, cut toward −∞. An accumulator whose exponent is more than one below the
    /// fraction bits is dropped.
    DownInHalves {
        /// Fraction bits, 1 to 33.
        fraction_bits: u32,
    },
    /// Products are rounded to binary32 and add up in pairs: each half of the group is a sum, and
    /// the halves' sums add up; then the accumulator is added. Every result is rounded to nearest
    /// even.
    Pairwise,
    /// x·y + c for one product after another, each rounded once to binary32, to nearest even.
    Sequential,
}

/// The format of an accumulator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Output {
    /// binary32.
    Binary32,
    /// 8 exponent bits as binary32 has, 13 fraction bits.
    E8M13,
    /// binary16.
    Binary16,
}

const E8M13: Format = match Format::ieee(22, 14) {
    Ok(format) => format,
    Err(_) => panic!("22 bits with 8 of exponent are in range"),
};

impl Output {
    /// All of them.
    pub const ALL: &'static [Self] = &[Self::Binary32, Self::E8M13, Self::Binary16];

    /// Returns the name: `f32`, `e8m13` or `f16`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Binary32 => "f32",
            Self::E8M13 => "e8m13",
            Self::Binary16 => "f16",
        }
    }

    /// Returns the format.
    pub const fn format(self) -> Format {
        match self {
            Self::Binary32 => BINARY32,
            Self::E8M13 => E8M13,
            Self::Binary16 => formats::BINARY16,
        }
    }
}

impl Fused {
    /// Returns a sum as NVIDIA's units add: [`GroupSum::Aligned`], sums cut toward zero into
    /// binary32 or [`Output::E8M13`] and rounded to nearest even into binary16.
    pub const fn aligned(k: usize, fraction_bits: u32, output: Output) -> Self {
        let rounding = match output {
            Output::Binary16 => Rounding::NearestEven,
            Output::Binary32 | Output::E8M13 => Rounding::TowardZero,
        };
        Self { k, sum: GroupSum::Aligned { fraction_bits }, output, rounding, flush: false, promote: None }
    }

    /// Returns another sum into binary32, rounded to nearest even.
    pub const fn nearest(k: usize, sum: GroupSum) -> Self {
        let rounding = Rounding::NearestEven;
        Self { k, sum, output: Output::Binary32, rounding, flush: false, promote: None }
    }

    /// # Errors
    /// Values outside the ranges that the fields name.
    pub(crate) const fn check(&self) -> Result<(), Error> {
        let what = match self.sum {
            _ if self.k < 1 || self.k > 256 => "k, the products of a group, must be 1 to 256",
            GroupSum::Aligned { fraction_bits: 0 | 41.. } => "the fraction bits must be 1 to 40",
            GroupSum::Down { fraction_bits: 0 | 34.. }
            | GroupSum::DownInHalves { fraction_bits: 0 | 34.. } => {
                "the fraction bits of sums that are cut down must be 1 to 33"
            }
            GroupSum::Pairwise if !self.k.is_power_of_two() => "a tree needs a power of two of products, k",
            GroupSum::Pairwise | GroupSum::Sequential
                if !matches!((self.output, self.rounding), (Output::Binary32, Rounding::NearestEven)) =>
            {
                "trees and chains round to nearest even in binary32"
            }
            _ if !matches!(self.rounding, Rounding::TowardZero | Rounding::NearestEven) => {
                "accumulators are rounded toward-zero or nearest-even"
            }
            _ if self.flush && !matches!(self.sum, GroupSum::Pairwise) => {
                "only trees flush subnormal numbers"
            }
            _ => match self.promote {
                Some(promote) if promote == 0 || !promote.is_multiple_of(self.k) => {
                    "promote must be a multiple of k"
                }
                _ => return Ok(()),
            },
        };
        Err(Error::Fused(what))
    }
}

/// Sums of products of two formats by a [`Fused`], of values in binary32.
///
/// ```
/// use smallfloat::formats::E4M3FN;
/// use smallfloat_kernels::{Fused, FusedDot, Output};
/// let dot = FusedDot::new(&E4M3FN, &E4M3FN, Fused::aligned(32, 13, Output::E8M13))?;
/// // 256 and 31 products of 2^-6: of these nothing is left, since 13 bits after 2^8 end at 2^-5.
/// let mut x = [0.125; 32];
/// x[0] = 16.0;
/// assert_eq!(dot.add(0.0, &x, &x), 256.0);
/// # Ok::<(), smallfloat_kernels::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct FusedDot {
    fused: Fused,
    types: [Format; 2],
    level: Level,
}

impl FusedDot {
    /// Returns the sums of products of two formats: values of operands must be values of these.
    /// Those of [`TF32`] may be any in binary32, whose last 13 bits are ignored.
    ///
    /// # Errors
    /// Parameters outside their ranges; a format that binary32 can't hold.
    pub fn new(x: &Format, y: &Format, fused: Fused) -> Result<Self, Error> {
        fused.check()?;
        if let Some(format) = [x, y].into_iter().find(|format| !format.fits_in(&BINARY32)) {
            return Err(Error::Inexact { format: *format, destination: BINARY32 });
        }
        Ok(Self { fused, types: [*x, *y], level: Level::detected() })
    }

    /// Returns the parameters.
    pub fn fused(&self) -> &Fused {
        &self.fused
    }

    /// Returns the formats of the operands: those that the unit has.
    pub fn types(&self) -> &[Format; 2] {
        &self.types
    }

    /// Returns this with loops compiled for another level, at most the highest that the machine can
    /// run. The results are the same.
    #[must_use]
    pub fn with_level(self, level: Level) -> Self {
        Self { level: level.at_most_available(), ..self }
    }

    /// Returns c + Σ x·y.
    ///
    /// # Panics
    /// If the slices differ in length.
    pub fn add(&self, c: f32, x: &[f32], y: &[f32]) -> f32 {
        check_lengths((x.len(), "values"), (y.len(), "others"));
        lanes::sum(self, c, [x, y], None)
    }

    /// Returns the sum that [`add`](Self::add) returns, computed slowly in integers of 128 bits:
    /// the reference for the tests.
    ///
    /// # Panics
    /// If the slices differ in length.
    pub fn add_in_integers(&self, c: f32, x: &[f32], y: &[f32]) -> f32 {
        check_lengths((x.len(), "values"), (y.len(), "others"));
        self.by_groups(c, x, y, |c, x, y| integers::group(self, c, x, y, 0))
    }

    /// Adds A·Bᵀ to `sums`: row r, column c of the product is the sum of products of A's row r and
    /// B's row c.
    ///
    /// # Panics
    /// If `length` is zero or a slice's length is not a multiple of it, or there is not one sum for
    /// each pair of rows.
    pub fn add_matmul(&self, [a, b]: [&[f32]; 2], length: usize, sums: &mut [f32]) {
        check_rows([a.len(), b.len()], length, sums.len());
        lanes::matmul(self, [a, b], length, None, sums);
    }

    /// The groups of a sum in order, with the promotions between them.
    fn by_groups(&self, c: f32, x: &[f32], y: &[f32], group: impl Fn(f32, &[f32], &[f32]) -> f32) -> f32 {
        let Fused { k, promote, .. } = self.fused;
        let accumulate = |c: f32, x: &[f32], y: &[f32]| {
            x.chunks(k).zip(y.chunks(k)).fold(c, |sum, (x, y)| group(sum, x, y))
        };
        let Some(promote) = promote else { return accumulate(self.accumulator(c), x, y) };
        x.chunks(promote).zip(y.chunks(promote)).fold(c, |total, (x, y)| total + accumulate(0.0, x, y))
    }

    /// An accumulator as the unit takes it.
    fn accumulator(&self, c: f32) -> f32 {
        if self.fused.flush && c.abs() < f32::MIN_POSITIVE { 0.0 } else { c }
    }

    /// The operand that the unit sees.
    #[inline(always)]
    fn operand(&self, side: usize, x: f32) -> f32 {
        if self.types[side] == TF32 { f32::from_bits(x.to_bits() & !0x1fff) } else { x }
    }

    /// The smallest exponents of the operands.
    fn lowest(&self) -> [i32; 2] {
        self.types.map(|format| format.min_normal().exponent_of_leading_bit())
    }

    /// The result of a sum with a NaN or an infinity among its terms, by IEEE 754's rules; `None`
    /// where there is none. AMD's units also take products from 2^128 on for infinities.
    fn without_value(&self, c: f32, terms: impl Iterator<Item = (f64, f64)>) -> Option<f32> {
        let overflows = matches!(self.fused.sum, GroupSum::Down { .. } | GroupSum::DownInHalves { .. });
        let limit = f64::from(2.0_f32).powi(128);
        let (mut sum, mut infinite, mut specials) = (f64::from(c), [false; 2], !c.is_finite());
        for (x, y) in terms {
            let product = x * y;
            specials |= !product.is_finite();
            infinite[usize::from(product < 0.0)] |= overflows && product.abs() >= limit;
            sum += product;
        }
        if specials {
            return Some(if sum.is_nan() {
                f32::NAN
            } else {
                f32::INFINITY.copysign(if sum < 0.0 { -1.0 } else { 1.0 })
            });
        }
        match infinite {
            [true, true] => Some(f32::NAN),
            [true, false] => Some(f32::INFINITY),
            [false, true] => Some(f32::NEG_INFINITY),
            [false, false] => None,
        }
    }

    /// An integer times 2^exponent, rounded into the accumulator. What is beyond its range is an
    /// infinity, also where it is cut toward zero.
    fn rounded(&self, sum: i128, exponent: i32) -> f32 {
        let Fused { output, rounding, sum: kind, .. } = self.fused;
        let format = output.format();
        let (_, top) = format.exponent_range();
        if sum != 0 && 127 - sum.unsigned_abs().leading_zeros().cast_signed() + exponent > top {
            return if sum < 0 { f32::NEG_INFINITY } else { f32::INFINITY };
        }
        let projection =
            format.default_projection().with_rounding(rounding).with_saturation(Saturation::SatNone);
        let code = project(Exact::from_i128(sum).scaled(exponent), &format, &projection).value;
        let value = format.decode(code).to_f32().expect("binary32 holds every accumulator");
        // NVIDIA's units have no negative zeros.
        if value == 0.0 && matches!(kind, GroupSum::Aligned { .. }) { 0.0 } else { value }
    }
}
