//! Sums of products of codes, decoded on the way.

use std::arch::x86_64::*;

use crate::arch::machine::avx2::decode::{Constants, values};
use crate::arch::machine::avx2::lanes::STEP;
use crate::arch::machine::avx2::nibbles::{self, ByNibbles, place, with_nibbles};
use crate::arch::machine::{Avx2, Fma};
use crate::plan::decode::DecodePlan;
use crate::plan::nibbles::NibblePlan;

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

/// Fills in the sums of products of whole steps of 32 elements as [`add_products`] adds them up, by
/// nibbles. Gives how many elements that were.
pub(crate) fn products_by_nibbles(
    _: Fma,
    plans: [&NibblePlan; 2],
    [x, y]: [&[u8]; 2],
    sums: &mut [f32; STEP],
) -> usize {
    assert_eq!(x.len(), y.len(), "both slices must have the same length");
    let codes = [x.as_chunks().0, y.as_chunks().0];
    // SAFETY: the proof says that the machine has AVX2 and FMA.
    let lanes = unsafe { by_nibbles(plans, codes) };
    let scale = plans[0].scale * plans[1].scale;
    for (v, lanes) in lanes.iter().enumerate() {
        for (i, sum) in lanes.iter().enumerate() {
            sums[place(v, i)] = sum * scale;
        }
    }
    codes[0].len() * STEP
}

#[target_feature(enable = "avx2,fma")]
fn by_nibbles(plans: [&NibblePlan; 2], codes: [&[[u8; STEP]]; 2]) -> [[f32; 8]; 4] {
    with_nibbles!(plans, |tables| fused(&tables, codes))
}

/// Products are exact, so that fused operations round as two would.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn fused<const NAN: bool, const LAST: bool, const CROSSES: bool>(
    [x_table, y_table]: &[ByNibbles<NAN, LAST, CROSSES>; 2],
    [x, y]: [&[[u8; STEP]]; 2],
) -> [[f32; 8]; 4] {
    let mut lanes = [_mm256_setzero_ps(); 4];
    for (x, y) in x.iter().zip(y) {
        let (x, y) = (nibbles::values(x, x_table), nibbles::values(y, y_table));
        for i in 0..4 {
            lanes[i] = _mm256_fmadd_ps(x[i], y[i], lanes[i]);
        }
    }
    let mut sums = [[0.0; 8]; 4];
    for (sums, lanes) in sums.iter_mut().zip(lanes) {
        // SAFETY: the reference is to 32 writable bytes; the store needs no alignment.
        unsafe { _mm256_storeu_ps(sums.as_mut_ptr(), lanes) };
    }
    sums
}
