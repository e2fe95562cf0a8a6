//! Groups with block scales, as the units for MX formats and NVFP4 take them.

use smallfloat::formats::{E2M1FN, E4M3FN, E8M0FNU};
use smallfloat::{Datum, Format};

use super::integers::{self, Term, aligned};
use super::lanes::{self, BlockScales};
use super::unit::FP8_6_4;
use super::{Fused, FusedDot, GroupSum, Output};
use crate::arch::level::Level;
use crate::decode::Decoder;
use crate::element::{Code, check_lengths, check_rows};
use crate::error::Error;

/// Sums of products of elements and of their blocks' scales, as Blackwell's units for MX formats
/// and NVFP4 compute them.
///
/// Elements of E4M3, E5M2, E3M2, E2M3 and E2M1, in any pair, go in groups of 32, one block, whose
/// scales (E8M0) move the exponents of all products; everything is aligned with 25 fraction bits.
/// Of two E2M1 a group is 64 elements: sums of sixteen products are exact, each times the
/// significands of its scales (E8M0 or UE4M3, for blocks of 16 or 32) is aligned by their exponents
/// with 35 fraction bits. The sum is cut toward zero into binary32.
///
/// ```
/// use smallfloat::formats::{E4M3FN, E8M0FNU};
/// use smallfloat_kernels::ScaledDot;
/// let dot = ScaledDot::new(&E4M3FN, &E4M3FN, &E8M0FNU, 32)?;
/// // (1, 2) by (2, 2), in blocks with scales of 4 and 1/2.
/// let mut product = [0.0];
/// dot.matmul([&[0x38_u8, 0x40], &[0x40, 0x40]], 2, [&[129], &[126]], &mut product);
/// assert_eq!(product, [12.0]);
/// # Ok::<(), smallfloat_kernels::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ScaledDot {
    dot: FusedDot,
    scales: Format,
    block: usize,
}

/// Products of two E2M1 that are added exactly.
const EXACT: usize = 16;

impl ScaledDot {
    /// Returns the sums for two formats of elements, and one of scales for blocks of so many
    /// elements.
    ///
    /// # Errors
    /// A combination that no such unit has.
    pub fn new(x: &Format, y: &Format, scales: &Format, block: usize) -> Result<Self, Error> {
        let fused = match (*scales, block) {
            (E8M0FNU | E4M3FN, 16 | 32) if *x == E2M1FN && *y == E2M1FN => {
                Fused::aligned(64, 35, Output::Binary32)
            }
            (E8M0FNU, 32) if [x, y].iter().all(|format| FP8_6_4.contains(format)) => {
                Fused::aligned(32, 25, Output::Binary32)
            }
            _ => {
                return Err(Error::Fused(
                    "block scales go with two of e4m3fn, e5m2, e3m2fn, e2m3fn and e2m1fn (e8m0fnu, blocks of 32), and with \
                     e2m1fn on both sides (e8m0fnu or e4m3fn, blocks of 16 or 32)",
                ));
            }
        };
        Ok(Self { dot: FusedDot::new(x, y, fused)?, scales: *scales, block })
    }

    /// Returns this with loops compiled for another level, at most the highest that the machine can
    /// run. The results are the same.
    #[must_use]
    pub fn with_level(self, level: Level) -> Self {
        Self { dot: self.dot.with_level(level), ..self }
    }

    /// Returns the number of elements of a row that share a scale.
    pub fn block(&self) -> usize {
        self.block
    }

    /// Returns c + Σ x·y·s·t with a scale s and t for each block: codes of the scales' format,
    /// whose sign is ignored.
    ///
    /// # Panics
    /// If lengths differ, or there is not one scale for each block of either slice.
    pub fn add(&self, c: f32, [x, y]: [&[f32]; 2], scales: [&[u8]; 2]) -> f32 {
        self.check([x, y], x.len(), scales);
        check_lengths((x.len(), "values"), (y.len(), "others"));
        let scales = scales.map(|codes| self.scales(codes));
        lanes::sum(&self.dot, c, [x, y], Some(&self.block_scales([&scales[0], &scales[1]])))
    }

    /// Adds A·Bᵀ to `sums`: row r, column c of the product is the sum of products of A's row r and
    /// B's row c. Each row has its blocks and their scales, in order; the last block of a row may
    /// be short.
    ///
    /// # Panics
    /// If `length` is zero or a slice's length is not a multiple of it, or there is not one sum for
    /// each pair of rows or one scale for each block.
    pub fn add_matmul(&self, [a, b]: [&[f32]; 2], length: usize, scales: [&[u8]; 2], sums: &mut [f32]) {
        check_rows([a.len(), b.len()], length, sums.len());
        self.check([a, b], length, scales);
        let scales = scales.map(|codes| self.scales(codes));
        let scales = self.block_scales([&scales[0], &scales[1]]);
        lanes::matmul(&self.dot, [a, b], length, Some(&scales), sums);
    }

    /// Writes A·Bᵀ of codes of the two formats: sums as those of [`add_matmul`](Self::add_matmul)
    /// that begin at zero.
    ///
    /// # Panics
    /// As [`add_matmul`](Self::add_matmul) does, and if the slices are scalars of another format.
    pub fn matmul<C: Code>(
        &self,
        [a, b]: [&[C]; 2],
        length: usize,
        scales: [&[u8]; 2],
        products: &mut [f32],
    ) {
        let values = |format: &Format, codes: &[C]| {
            let decoder = Decoder::<f32>::new(format, None).expect("binary32 has all values of elements");
            let mut values = vec![0.0; codes.len()];
            decoder.with_level(self.dot.level).decode(codes, &mut values);
            values
        };
        let [x, y] = self.dot.types();
        products.fill(0.0);
        self.add_matmul([&values(x, a), &values(y, b)], length, scales, products);
    }

    /// Returns the sum that [`add`](Self::add) returns, computed slowly in integers of 128 bits:
    /// the reference for the tests.
    ///
    /// # Panics
    /// As [`add`](Self::add) does.
    pub fn add_in_integers(&self, c: f32, [x, y]: [&[f32]; 2], [s, t]: [&[u8]; 2]) -> f32 {
        self.check([x, y], x.len(), [s, t]);
        check_lengths((x.len(), "values"), (y.len(), "others"));
        let k = self.dot.fused.k;
        let per_group = k / self.block;
        let scales = s.chunks(per_group).zip(t.chunks(per_group));
        x.chunks(k).zip(y.chunks(k)).zip(scales).fold(c, |c, ((x, y), (s, t))| self.group(c, [x, y], [s, t]))
    }

    fn check(&self, sides: [&[f32]; 2], length: usize, scales: [&[u8]; 2]) {
        for (values, scales) in sides.iter().zip(scales) {
            let blocks = values.len() / length.max(1) * length.div_ceil(self.block);
            assert!(scales.len() == blocks, "there must be one scale for each block");
        }
    }

    /// The values of scales, without their sign.
    fn scales(&self, codes: &[u8]) -> Vec<f64> {
        let value = |code: &u8| self.scales.decode(u64::from(*code)).to_f64();
        codes.iter().map(|code| value(code).expect("binary64 holds every scale").abs()).collect()
    }

    fn block_scales<'a>(&self, of: [&'a [f64]; 2]) -> BlockScales<'a> {
        let lowest = self.scales.min_normal().to_f64().expect("binary64 holds every scale");
        let exact = if self.dot.fused.k == 32 { 1 } else { EXACT };
        BlockScales { block: self.block, lowest, exact, of }
    }

    fn group(&self, c: f32, [x, y]: [&[f32]; 2], [s, t]: [&[u8]; 2]) -> f32 {
        let scale = |code: &u8| match self.scales.decode(u64::from(*code)) {
            Datum::Finite { significand, exponent, .. } => {
                let datum = Datum::finite(false, significand, exponent);
                let lowest = self.scales.min_normal().exponent_of_leading_bit();
                let (unit, aligned) = if significand == 0 {
                    (-126, -126)
                } else {
                    (exponent, datum.exponent_of_leading_bit().max(lowest))
                };
                Some(Term { significand: significand.cast_signed(), unit, exponent: aligned })
            }
            _ => None,
        };
        let scales = |codes: &[u8]| codes.iter().map(scale).collect::<Option<Vec<Term>>>();
        let (Some(s), Some(t)) = (scales(s), scales(t)) else { return f32::NAN };
        if self.dot.fused.k == 32 {
            return integers::group(&self.dot, c, x, y, s[0].exponent + t[0].exponent);
        }
        if !c.is_finite() {
            return if c.is_nan() { f32::NAN } else { c };
        }
        let sums = x.chunks(EXACT).zip(y.chunks(EXACT)).enumerate().map(|(i, (x, y))| {
            // Products are quarters, and at most 36.
            let sum = x.iter().zip(y).map(|(x, y)| 4.0 * x * y).sum::<f32>();
            #[expect(clippy::cast_possible_truncation, reason = "an integer of at most 2304")]
            let sum = Term { significand: sum as i64, unit: -2, exponent: 0 };
            let block = i * EXACT / self.block;
            sum.times(s[block]).times(t[block])
        });
        let GroupSum::Aligned { fraction_bits } = self.dot.fused.sum else { unreachable!("`new` made it") };
        let fraction_bits = fraction_bits.cast_signed();
        let (sum, largest) = aligned(sums.chain([Term::new(c, -126)]), fraction_bits);
        self.dot.rounded(sum, largest - fraction_bits)
    }
}

/// Divides products by the scales that divided those of all blocks of either matrix, NVFP4's global
/// ones: quotients by the product of both, in binary64, rounded to binary32.
pub fn divide_by_global_scales(products: &mut [f32], [a, b]: [f32; 2]) {
    let divisor = f64::from(a) * f64::from(b);
    for product in products {
        #[expect(clippy::cast_possible_truncation, reason = "this is the rounding")]
        let quotient = (f64::from(*product) / divisor) as f32;
        *product = quotient;
    }
}

#[cfg(test)]
mod tests {
    use super::{E2M1FN, E4M3FN, ScaledDot};

    /// Products with scales of zero are zeros, however small the accumulator.
    #[test]
    fn scales_of_zero() {
        let dot = ScaledDot::new(&E2M1FN, &E2M1FN, &E4M3FN, 16).expect("NVFP4");
        for c in [0.0, -3.5, f32::from_bits(1)] {
            for scale in [0x7e, 0x00] {
                let sum = dot.add(c, [&[6.0; 16]; 2], [&[0], &[scale]]);
                assert_eq!(sum.to_bits(), c.to_bits(), "{c} under {scale:#x}");
                let sum = dot.add_in_integers(c, [&[6.0; 16]; 2], [&[0], &[scale]]);
                assert_eq!(sum.to_bits(), c.to_bits(), "{c} under {scale:#x}, in integers");
            }
        }
    }
}
