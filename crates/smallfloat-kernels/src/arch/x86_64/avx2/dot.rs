//! Sums of products of codes, decoded on the way.

use std::arch::x86_64::*;

use crate::arch::machine::Avx2;
use crate::arch::machine::avx2::decode::{Constants, values};
use crate::arch::machine::avx2::lanes::{STEP, any};
use crate::plan::decode::DecodePlan;

/// Adds the products of whole steps of 32 elements: the i-th to the partial sum i mod 32, in order.
/// Gives how many elements that were.
pub(crate) fn add_products(
    _: Avx2,
    plans: [&DecodePlan; 2],
    [x, y]: [&[u8]; 2],
    sums: &mut [f32; STEP],
) -> usize {
    assert_eq!(x.len(), y.len(), "both slices must have the same length");
    // SAFETY: the proof says that the machine has AVX2.
    unsafe { run(plans, x, y, sums) }
}

#[target_feature(enable = "avx2")]
fn run(plans: [&DecodePlan; 2], x: &[u8], y: &[u8], sums: &mut [f32; STEP]) -> usize {
    let (kx, ky) = (Constants::new::<f32>(plans[0]), Constants::new::<f32>(plans[1]));
    let mut lanes = [_mm256_setzero_ps(); 4];
    for (lane, eight) in lanes.iter_mut().zip(sums.as_chunks::<8>().0) {
        // SAFETY: the reference is to 32 readable bytes; the load needs no alignment.
        *lane = unsafe { _mm256_loadu_ps(eight.as_ptr()) };
    }
    let (x, y) = (x.as_chunks().0, y.as_chunks().0);
    for (x, y) in x.iter().zip(y) {
        let (x, y) = (values(x, &kx), values(y, &ky));
        for i in 0..4 {
            lanes[i] = _mm256_add_ps(lanes[i], _mm256_mul_ps(x[i], y[i]));
        }
    }
    for (lane, eight) in lanes.iter().zip(sums.as_chunks_mut::<8>().0) {
        // SAFETY: the reference is to 32 writable bytes; the store needs no alignment.
        unsafe { _mm256_storeu_ps(eight.as_mut_ptr(), *lane) };
    }
    x.len() * STEP
}

/// Σ x·y of whole steps of 32 elements whose values are integers of 32 bits, and how many elements
/// that were; `None` if one of them is no number. The sum must fit into 64 bits.
pub(crate) fn sum_of_integers(_: Avx2, plans: [&DecodePlan; 2], [x, y]: [&[u8]; 2]) -> Option<(i64, usize)> {
    assert_eq!(x.len(), y.len(), "both slices must have the same length");
    // SAFETY: the proof says that the machine has AVX2.
    unsafe { integers(plans, x, y) }
}

#[target_feature(enable = "avx2")]
fn integers(plans: [&DecodePlan; 2], x: &[u8], y: &[u8]) -> Option<(i64, usize)> {
    let (kx, ky) = (Constants::new::<f32>(plans[0]), Constants::new::<f32>(plans[1]));
    // What the conversion gives for values that are no integers of 32 bits, ∞ and NaN among them.
    let none = _mm256_set1_epi32(i32::MIN);
    let (mut sums, mut special) = ([_mm256_setzero_si256(); 2], _mm256_setzero_si256());
    let (x, y) = (x.as_chunks().0, y.as_chunks().0);
    for (x, y) in x.iter().zip(y) {
        let (x, y) = (values(x, &kx), values(y, &ky));
        for i in 0..4 {
            let (x, y) = (_mm256_cvtps_epi32(x[i]), _mm256_cvtps_epi32(y[i]));
            let is_special = _mm256_or_si256(_mm256_cmpeq_epi32(x, none), _mm256_cmpeq_epi32(y, none));
            special = _mm256_or_si256(special, is_special);
            let odd = (_mm256_srli_epi64::<32>(x), _mm256_srli_epi64::<32>(y));
            sums[0] = _mm256_add_epi64(sums[0], _mm256_mul_epi32(x, y));
            sums[1] = _mm256_add_epi64(sums[1], _mm256_mul_epi32(odd.0, odd.1));
        }
    }
    let mut lanes = [0_i64; 4];
    // SAFETY: the reference is to 32 writable bytes; the store needs no alignment.
    unsafe { _mm256_storeu_si256(lanes.as_mut_ptr().cast(), _mm256_add_epi64(sums[0], sums[1])) };
    (!any(special)).then(|| (lanes.iter().sum(), x.len() * STEP))
}
