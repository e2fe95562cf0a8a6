//! Products of a vector and rows of codes, in the order that `matmul.rs` documents.
//!
//! A step takes sixteen codes of each of four rows. Two rows share a vector, one in each half, so
//! that nothing crosses the halves; even elements are the low halves of words and odd ones the high
//! halves, so that a shift and a mask make binary32 of them. Each row's even and odd partial sums
//! are four lanes of two vectors.

use std::arch::asm;
use std::arch::x86_64::*;

use crate::arch::machine::Fma;
use crate::arch::machine::avx2::nibbles::{Constants, halves, high_halves, low_halves};
use crate::plan::nibbles::{Interleaved, NibblePlan, STEP, Sixteen};

/// Rows at once: the sums of one wait for each other.
const ROWS: usize = 4;

/// The sums of products of a vector and `sums.len()` rows of codes of its length.
pub(crate) fn products_with_rows(_: Fma, plan: &NibblePlan, x: &Interleaved, rows: &[u8], sums: &mut [f32]) {
    assert_eq!(rows.len(), x.length * sums.len(), "a row of the vector's length for each sum");
    // SAFETY: the proof says that the machine has AVX2 and FMA.
    unsafe {
        match (plan.nan.is_some(), plan.has_last(), plan.crosses()) {
            (false, false, false) => all::<false, false, false>(plan, x, rows, sums),
            (true, false, false) => all::<true, false, false>(plan, x, rows, sums),
            (_, _, false) => all::<true, true, false>(plan, x, rows, sums),
            _ => all::<true, true, true>(plan, x, rows, sums),
        }
    }
}

#[target_feature(enable = "avx2,fma")]
fn all<const NAN: bool, const LAST: bool, const CROSSES: bool>(
    plan: &NibblePlan,
    x: &Interleaved,
    rows: &[u8],
    sums: &mut [f32],
) {
    let k = Constants::new(plan);
    let length = x.length;
    for (rows, sums) in rows.chunks(ROWS * length).zip(sums.chunks_mut(ROWS)) {
        // Where rows are missing, the last one is taken again.
        let last = sums.len() - 1;
        let rows = [0, 1, 2, 3].map(|row: usize| &rows[row.min(last) * length..][..length]);
        let found = four_rows::<NAN, LAST, CROSSES>(&k, &x.steps, rows);
        sums.copy_from_slice(&found[..sums.len()]);
    }
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn four_rows<const NAN: bool, const LAST: bool, const CROSSES: bool>(
    k: &Constants,
    x: &[Sixteen],
    rows: [&[u8]; ROWS],
) -> [f32; ROWS] {
    let ahead = ROWS * rows[0].len();
    let [(a, a_rest), (b, b_rest), (c, c_rest), (d, d_rest)] = rows.map(<[u8]>::as_chunks::<STEP>);
    let mut total = [[_mm256_setzero_ps(); 2]; 2];
    for ((((x, a), b), c), d) in x.iter().zip(a).zip(b).zip(c).zip(d) {
        for row in [a, b, c, d] {
            prefetch(row, ahead);
        }
        add_step::<NAN, LAST, CROSSES>(k, x, [[a, b], [c, d]], &mut total);
    }
    if !a_rest.is_empty() {
        let mut codes = [[0; STEP]; ROWS];
        for (codes, rest) in codes.iter_mut().zip([a_rest, b_rest, c_rest, d_rest]) {
            codes[..rest.len()].copy_from_slice(rest);
        }
        let [a, b, c, d] = &codes;
        add_step::<NAN, LAST, CROSSES>(k, &x[x.len() - 1], [[a, b], [c, d]], &mut total);
    }
    let [[first, second], [third, fourth]] = [sum_halves(total[0]), sum_halves(total[1])];
    [first, second, third, fourth]
}

/// Asks for the codes so many bytes later, where the next rows have the same place.
#[inline]
#[target_feature(enable = "avx2")]
fn prefetch(codes: &[u8; STEP], ahead: usize) {
    let later = codes.as_ptr().cast::<i8>().wrapping_add(ahead);
    #[allow(unused_unsafe, reason = "safe since Rust 1.90 or so")]
    // SAFETY: a hint about an address that is never read; any address will do.
    unsafe {
        _mm_prefetch::<_MM_HINT_T0>(later);
    }
}

/// What `matmul::total` gives for the partial sums of the rows of both halves.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn sum_halves([even, odd]: [__m256; 2]) -> [f32; 2] {
    // Partial sums j and j + 4, then those two apart.
    let even = _mm256_add_ps(even, _mm256_permute_ps::<0b01_00_11_10>(even));
    let odd = _mm256_add_ps(odd, _mm256_permute_ps::<0b01_00_11_10>(odd));
    let even = _mm256_add_ps(even, _mm256_permute_ps::<0b10_11_00_01>(even));
    let odd = _mm256_add_ps(odd, _mm256_permute_ps::<0b10_11_00_01>(odd));
    let sum = _mm256_add_ps(even, odd);
    [_mm256_cvtss_f32(sum), _mm_cvtss_f32(_mm256_extractf128_ps::<1>(sum))]
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn add_step<const NAN: bool, const LAST: bool, const CROSSES: bool>(
    k: &Constants,
    x: &Sixteen,
    codes: [[&[u8; STEP]; 2]; 2],
    total: &mut [[__m256; 2]; 2],
) {
    let [first, second] = total;
    add_pair::<NAN, LAST, CROSSES>(k, x, codes[0], first);
    add_pair::<NAN, LAST, CROSSES>(k, after(x, first), codes[1], second);
}

/// Returns the same reference, for code that comes after the sums: both pairs of rows at once need
/// more registers than there are, and sums that wait in memory wait for each other.
#[inline]
#[target_feature(enable = "avx2")]
#[expect(clippy::pointers_in_nomem_asm_block, reason = "no memory is read: there is no instruction")]
fn after<'a>(x: &'a Sixteen, sums: &mut [__m256; 2]) -> &'a Sixteen {
    let mut pointer: *const Sixteen = x;
    // SAFETY: no instruction; the pointer and the sums stay what they are.
    unsafe {
        asm!(
            "/* {} {} {} */",
            inout(reg) pointer,
            inout(ymm_reg) sums[0],
            inout(ymm_reg) sums[1],
            options(pure, nomem, nostack, preserves_flags)
        );
        &*pointer
    }
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn add_pair<const NAN: bool, const LAST: bool, const CROSSES: bool>(
    k: &Constants,
    x: &Sixteen,
    codes: [&[u8; STEP]; 2],
    total: &mut [__m256; 2],
) {
    // SAFETY: the references are to 16 readable bytes each; the loads need no alignment.
    let (low, high) =
        unsafe { (_mm_loadu_si128(codes[0].as_ptr().cast()), _mm_loadu_si128(codes[1].as_ptr().cast())) };
    let [first, second] = halves::<NAN, LAST, CROSSES>(_mm256_set_m128i(high, low), k);
    total[0] = _mm256_fmadd_ps(load(&x[0]), low_halves(first), total[0]);
    total[1] = _mm256_fmadd_ps(load(&x[1]), high_halves(first, k), total[1]);
    total[0] = _mm256_fmadd_ps(load(&x[2]), low_halves(second), total[0]);
    total[1] = _mm256_fmadd_ps(load(&x[3]), high_halves(second, k), total[1]);
}

#[inline]
#[target_feature(enable = "avx2")]
fn load(eight: &[f32; 8]) -> __m256 {
    // SAFETY: the reference is to 32 readable bytes; the load needs no alignment.
    unsafe { _mm256_loadu_ps(eight.as_ptr()) }
}
