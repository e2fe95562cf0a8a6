//! Exact sums of products of codes, decoded on the way, by `plan/exact.rs`.

use std::arch::x86_64::*;

use crate::arch::machine::Fma;
use crate::arch::machine::avx2::decode;
use crate::arch::machine::avx2::lanes::STEP;
use crate::arch::machine::avx2::nibbles::{self, ByNibbles, with_nibbles};
use crate::plan::exact::{Accumulators, Cut, ExactPlan};

/// Σ x·y of whole steps of 32 elements, and how many elements that were; `None` if one of them is
/// no number.
pub(crate) fn exact_sum(_: Fma, plan: &ExactPlan, [x, y]: [&[u8]; 2]) -> Option<(i128, usize)> {
    assert_eq!(x.len(), y.len(), "both slices must have the same length");
    let codes = [x.as_chunks().0, y.as_chunks().0];
    // SAFETY: the proof says that the machine has AVX2 and FMA.
    let sum = unsafe { by_decoder(plan, codes) };
    Some((sum?, codes[0].len() * STEP))
}

#[target_feature(enable = "avx2,fma")]
fn by_decoder(plan: &ExactPlan, codes: [&[[u8; STEP]]; 2]) -> Option<i128> {
    let accumulators = &plan.accumulators;
    if let Some([x, y]) = &plan.nibbles {
        let unit = 1.0 / f64::from(x.scale * y.scale);
        return with_nibbles!([x, y], |tables| by_accumulators(accumulators, &tables, unit, codes));
    }
    let [x, y] = &plan.bytes;
    let tables = [ByBytes(decode::Constants::new::<f32>(x)), ByBytes(decode::Constants::new::<f32>(y))];
    by_accumulators(accumulators, &tables, 1.0, codes)
}

/// What decodes 32 codes, in an order of its own.
trait Decode {
    /// # Safety
    /// The machine must have AVX2.
    unsafe fn values(&self, codes: &[u8; STEP]) -> [__m256; 4];
}

/// In the order of elements.
struct ByBytes(decode::Constants);

impl Decode for ByBytes {
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn values(&self, codes: &[u8; STEP]) -> [__m256; 4] {
        decode::values(codes, &self.0)
    }
}

impl<const NAN: bool, const LAST: bool, const CROSSES: bool> Decode for ByNibbles<NAN, LAST, CROSSES> {
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn values(&self, codes: &[u8; STEP]) -> [__m256; 4] {
        nibbles::values(codes, self)
    }
}

/// The sum; values are those of the decoders, whose products' smallest step is `unit`.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn by_accumulators<D: Decode>(
    accumulators: &Accumulators,
    tables: &[D; 2],
    unit: f64,
    [x, y]: [&[[u8; STEP]]; 2],
) -> Option<i128> {
    let mut total = 0;
    match accumulators {
        Accumulators::Binary32(cut) => {
            // A lane of binary64 takes four elements of a step.
            let steps = cut.products / 4;
            for (x, y) in x.chunks(steps).zip(y.chunks(steps)) {
                total += integer(in_binary32(cut, tables, unit, [x, y]), unit)?;
            }
        }
        Accumulators::Binary64(cut) => {
            let steps = cut.additions / 4;
            for (x, y) in x.chunks(steps).zip(y.chunks(steps)) {
                let [upper, lower] = in_binary64(cut, tables, unit, [x, y]);
                total += integer(upper, unit)? + integer(lower, unit)?;
            }
        }
    }
    Some(total)
}

/// The sum of lanes that hold multiples of a unit, in it; `None` if one of them is no number.
#[inline]
#[target_feature(enable = "avx2")]
fn integer(sums: [__m256d; 2], unit: f64) -> Option<i128> {
    let mut total = 0;
    for sums in sums {
        let mut lanes = [0.0_f64; 4];
        // SAFETY: the reference is to 32 writable bytes; the store needs no alignment.
        unsafe { _mm256_storeu_pd(lanes.as_mut_ptr(), sums) };
        for lane in lanes {
            if !lane.is_finite() {
                return None;
            }
            #[expect(clippy::cast_possible_truncation, reason = "an integer below 2^127")]
            let integer = (lane / unit) as i128;
            total += integer;
        }
    }
    Some(total)
}

/// Sums of products in two accumulators of binary32, emptied into binary64.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn in_binary32<D: Decode>(
    cut: &Cut,
    [x_table, y_table]: &[D; 2],
    unit: f64,
    [x, y]: [&[[u8; STEP]]; 2],
) -> [__m256d; 2] {
    #[expect(clippy::cast_possible_truncation, reason = "exact: 1.5 times a power of two")]
    let start = _mm256_set1_ps((cut.start * unit) as f32);
    let mut total = [_mm256_setzero_pd(); 2];
    // Each of two pairs of accumulators takes two vectors of a step.
    let steps = cut.additions / 2;
    for (x, y) in x.chunks(steps).zip(y.chunks(steps)) {
        let (mut upper, mut lower) = ([start; 2], [_mm256_setzero_ps(); 2]);
        for (x, y) in x.iter().zip(y) {
            // SAFETY: this function has the feature.
            let (x, y) = unsafe { (x_table.values(x), y_table.values(y)) };
            for i in 0..4 {
                let sum = _mm256_fmadd_ps(x[i], y[i], upper[i % 2]);
                let taken = _mm256_sub_ps(sum, upper[i % 2]);
                upper[i % 2] = sum;
                lower[i % 2] = _mm256_add_ps(lower[i % 2], _mm256_fmsub_ps(x[i], y[i], taken));
            }
        }
        for i in 0..2 {
            for part in [_mm256_sub_ps(upper[i], start), lower[i]] {
                for (total, part) in total.iter_mut().zip(widened(part)) {
                    *total = _mm256_add_pd(*total, part);
                }
            }
        }
    }
    total
}

/// Sums of products, exact in binary32, in two accumulators of binary64.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn in_binary64<D: Decode>(
    cut: &Cut,
    [x_table, y_table]: &[D; 2],
    unit: f64,
    [x, y]: [&[[u8; STEP]]; 2],
) -> [[__m256d; 2]; 2] {
    let start = _mm256_set1_pd(cut.start * unit);
    let (mut upper, mut lower) = ([start; 2], [_mm256_setzero_pd(); 2]);
    for (x, y) in x.iter().zip(y) {
        // SAFETY: this function has the feature.
        let (x, y) = unsafe { (x_table.values(x), y_table.values(y)) };
        for i in 0..4 {
            for (j, product) in widened(_mm256_mul_ps(x[i], y[i])).into_iter().enumerate() {
                let sum = _mm256_add_pd(upper[j], product);
                let taken = _mm256_sub_pd(sum, upper[j]);
                upper[j] = sum;
                lower[j] = _mm256_add_pd(lower[j], _mm256_sub_pd(product, taken));
            }
        }
    }
    [[_mm256_sub_pd(upper[0], start), _mm256_sub_pd(upper[1], start)], lower]
}

/// Eight floats in binary64.
#[inline]
#[target_feature(enable = "avx2")]
fn widened(x: __m256) -> [__m256d; 2] {
    [_mm256_cvtps_pd(_mm256_castps256_ps128(x)), _mm256_cvtps_pd(_mm256_extractf128_ps::<1>(x))]
}
