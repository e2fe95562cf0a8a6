//! Partial sums of products in the order that `Accumulate::F32` documents.

use std::arch::x86_64::*;

use super::Avx2;
use super::lanes::STEP;

/// Adds a[i]·b[i] to the partial sum i mod 32, in order.
pub(crate) fn add_products(_: Avx2, a: &[f32], b: &[f32], sums: &mut [f32; STEP]) {
    assert_eq!(a.len(), b.len(), "both slices must have the same length");
    // SAFETY: the proof says that the machine has AVX2.
    unsafe { run(a, b, sums) }
}

#[target_feature(enable = "avx2")]
fn run(a: &[f32], b: &[f32], sums: &mut [f32; STEP]) {
    let load = |eight: &[f32; 8]| {
        // SAFETY: the reference is to 32 readable bytes; the load needs no alignment.
        unsafe { _mm256_loadu_ps(eight.as_ptr()) }
    };
    let mut lanes = [_mm256_setzero_ps(); 4];
    for (lane, eight) in lanes.iter_mut().zip(sums.as_chunks::<8>().0) {
        *lane = load(eight);
    }
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<STEP>(), b.as_chunks::<STEP>());
    for (a, b) in a.iter().zip(b) {
        for ((lane, a), b) in lanes.iter_mut().zip(a.as_chunks::<8>().0).zip(b.as_chunks::<8>().0) {
            *lane = _mm256_add_ps(*lane, _mm256_mul_ps(load(a), load(b)));
        }
    }
    for (lane, eight) in lanes.iter().zip(sums.as_chunks_mut::<8>().0) {
        // SAFETY: the reference is to 32 writable bytes; the store needs no alignment.
        unsafe { _mm256_storeu_ps(eight.as_mut_ptr(), *lane) };
    }
    for ((sum, a), b) in sums.iter_mut().zip(a_rest).zip(b_rest) {
        *sum += a * b;
    }
}
