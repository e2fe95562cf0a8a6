//! Partial sums of products in the order that `Accumulate::F32` documents.

use std::arch::x86_64::*;

use super::super::Avx512;

/// Partial sums.
const SUMS: usize = 32;

/// Adds a[i]·b[i] to the partial sum i mod 32, in order.
pub(crate) fn add_products(_: Avx512, a: &[f32], b: &[f32], sums: &mut [f32; SUMS]) {
    assert_eq!(a.len(), b.len(), "both slices must have the same length");
    // SAFETY: the proof says that the machine has AVX-512.
    unsafe { run(a, b, sums) }
}

/// Products are exact, so that fused operations round as two would, half of them, and only their latency counts.
#[target_feature(enable = "avx512f")]
fn run(a: &[f32], b: &[f32], sums: &mut [f32; SUMS]) {
    let load = |sixteen: &[f32; 16]| {
        // SAFETY: the reference is to 64 readable bytes; the load needs no alignment.
        unsafe { _mm512_loadu_ps(sixteen.as_ptr()) }
    };
    let mut lanes = [_mm512_setzero_ps(); 2];
    for (lane, sixteen) in lanes.iter_mut().zip(sums.as_chunks::<16>().0) {
        *lane = load(sixteen);
    }
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<SUMS>(), b.as_chunks::<SUMS>());
    for (a, b) in a.iter().zip(b) {
        for ((lane, a), b) in lanes.iter_mut().zip(a.as_chunks::<16>().0).zip(b.as_chunks::<16>().0) {
            *lane = _mm512_fmadd_ps(load(a), load(b), *lane);
        }
    }
    for (lane, sixteen) in lanes.iter().zip(sums.as_chunks_mut::<16>().0) {
        // SAFETY: the reference is to 64 writable bytes; the store needs no alignment.
        unsafe { _mm512_storeu_ps(sixteen.as_mut_ptr(), *lane) };
    }
    for ((sum, a), b) in sums.iter_mut().zip(a_rest).zip(b_rest) {
        *sum += a * b;
    }
}
