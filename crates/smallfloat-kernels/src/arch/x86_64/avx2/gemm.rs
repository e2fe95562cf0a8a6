//! Tiles of a matrix product in binary32, and products with a vector.
//!
//! A tile's twelve vectors of partial sums, with three of A and one of B, fill the sixteen
//! registers.

use std::arch::x86_64::*;
use std::ops::Range;

use crate::arch::machine::Fma;
use crate::arch::machine::avx2::decode::{Constants, values};
use crate::arch::machine::avx2::lanes::STEP;
use crate::arch::vectors::scaled::{self, EightRows, Steps};
use crate::arch::vectors::tiles::{self, Floats};
use crate::plan::decode::DecodePlan;
use crate::plan::partial_sums::{LANES, Partial, ScaledRows, ScaledTile, total};

/// Adds the products of rows of A and up to four rows of B, in a part of their length that is a
/// multiple of eight, to the partial sums of their pairs, row of A by row of A. `stride` is from
/// one row to the next.
pub(crate) fn add_rows(_: Fma, rows: [&[f32]; 2], stride: usize, part: &Range<usize>, sums: &mut [Partial]) {
    // SAFETY: the proof says that the machine has AVX2 and FMA.
    unsafe { all_rows(rows, stride, part, sums) }
}

#[target_feature(enable = "avx2,fma")]
fn all_rows(rows: [&[f32]; 2], stride: usize, part: &Range<usize>, sums: &mut [Partial]) {
    // SAFETY: this function has the level's instructions.
    unsafe { tiles::add_rows::<__m256>(rows, stride, part, sums) };
}

/// The rows of B that [`add_blocks`] takes.
pub(crate) const BLOCK_COLUMNS: usize = __m256::WIDTH;

/// Adds to each result, row of A by row of A, the blocks' sums times their scales.
pub(crate) fn add_blocks(_: Fma, tile: &ScaledTile<'_>, results: &mut [f32]) {
    // SAFETY: the proof says that the machine has AVX2 and FMA.
    unsafe { all_blocks(tile, results) }
}

#[target_feature(enable = "avx2,fma")]
fn all_blocks(tile: &ScaledTile<'_>, results: &mut [f32]) {
    // SAFETY: this function has the level's instructions.
    unsafe { scaled::add_blocks::<__m256, 3>(tile, results) };
}

impl Floats for __m256 {
    const WIDTH: usize = 8;

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn zeros() -> Self {
        _mm256_setzero_ps()
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn all(x: f32) -> Self {
        _mm256_set1_ps(x)
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: the caller's promise; the load needs no alignment.
        unsafe { _mm256_loadu_ps(from) }
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: the caller's promise; the store needs no alignment.
        unsafe { _mm256_storeu_ps(to, self) }
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn plus_product(self, x: Self, y: Self) -> Self {
        _mm256_fmadd_ps(x, y, self)
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn plus(self, x: Self) -> Self {
        _mm256_add_ps(self, x)
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn times(self, x: Self) -> Self {
        _mm256_mul_ps(self, x)
    }
}

/// Eight elements.
#[inline]
#[target_feature(enable = "avx2")]
fn load(eight: &[f32; LANES]) -> __m256 {
    // SAFETY: the reference is to 32 readable bytes; the load needs no alignment.
    unsafe { _mm256_loadu_ps(eight.as_ptr()) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn store(eight: &mut [f32; LANES], vector: __m256) {
    // SAFETY: the reference is to 32 writable bytes; the store needs no alignment.
    unsafe { _mm256_storeu_ps(eight.as_mut_ptr(), vector) }
}

/// The sums of partial sums, as `matmul::total` adds them up.
pub(crate) fn totals(_: Fma, partial: &[Partial], sums: &mut [f32]) {
    assert_eq!(partial.len(), sums.len(), "a sum for each element's partial sums");
    // SAFETY: the proof says that the machine has AVX2.
    unsafe { all_totals(partial, sums) }
}

#[target_feature(enable = "avx2")]
fn all_totals(partial: &[Partial], sums: &mut [f32]) {
    let ((partial, partial_rest), (sums, sums_rest)) = (partial.as_chunks::<4>(), sums.as_chunks_mut::<4>());
    for (partial, sums) in partial.iter().zip(sums) {
        *sums = four_totals([load(&partial[0]), load(&partial[1]), load(&partial[2]), load(&partial[3])]);
    }
    for (partial, sum) in partial_rest.iter().zip(sums_rest) {
        *sum = total(partial);
    }
}

/// The sums of four rows' partial sums.
#[inline]
#[target_feature(enable = "avx2")]
fn four_totals(partial: [__m256; 4]) -> [f32; 4] {
    let mut halves = [_mm_setzero_ps(); 4];
    for (half, eight) in halves.iter_mut().zip(partial) {
        *half = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps::<1>(eight));
    }
    let [a, b, c, d] = halves;
    // Partial sums 0 and 1 of a and b, of c and d, with 2 and 3 added; then all 0 and all 1.
    let ab = _mm_add_ps(_mm_unpacklo_ps(a, b), _mm_unpackhi_ps(a, b));
    let cd = _mm_add_ps(_mm_unpacklo_ps(c, d), _mm_unpackhi_ps(c, d));
    let four = _mm_add_ps(_mm_movelh_ps(ab, cd), _mm_movehl_ps(cd, ab));
    let mut totals = [0.0; 4];
    // SAFETY: the reference is to 16 writable bytes; the store needs no alignment.
    unsafe { _mm_storeu_ps(totals.as_mut_ptr(), four) };
    totals
}

/// Adds the sums of blocks of such products, times their scales, to the results.
pub(crate) fn add_blocks_with_vector(_: Fma, plan: &DecodePlan, of: &ScaledRows<'_>, results: &mut [f32]) {
    // SAFETY: the proof says that the machine has AVX2 and FMA.
    unsafe { add_blocks_of_rows(plan, of, results) }
}

#[target_feature(enable = "avx2,fma")]
fn add_blocks_of_rows(plan: &DecodePlan, of: &ScaledRows<'_>, results: &mut [f32]) {
    // SAFETY: this function has the level's instructions.
    unsafe { scaled::add_blocks_with_vector(&Fours(Constants::new::<f32>(plan)), of, results) }
}

/// Twice four rows, whose codes are decoded so.
struct Fours(Constants);

impl EightRows for Fours {
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn block(&self, vector: &[[f32; STEP]], rows: &Steps<'_>, first: usize) -> [f32; LANES] {
        let mut sums = [[0.0; 4]; 2];
        for (rows, sums) in rows.as_chunks::<4>().0.iter().zip(&mut sums) {
            let mut total = [_mm256_setzero_ps(); 4];
            for (i, x) in vector.iter().enumerate() {
                for (total, row) in total.iter_mut().zip(rows) {
                    let values = values(&row[first + i], &self.0);
                    for (x, values) in x.as_chunks::<LANES>().0.iter().zip(values) {
                        *total = _mm256_fmadd_ps(load(x), values, *total);
                    }
                }
            }
            *sums = four_totals(total);
        }
        let [[a, b, c, d], [e, f, g, h]] = sums;
        [a, b, c, d, e, f, g, h]
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn halves(&self, x: &[f32; STEP], rows: &Steps<'_>, step: usize) -> [[f32; LANES]; 2] {
        let zeros = _mm256_setzero_ps();
        let [x0, x1, x2, x3] = x.as_chunks::<LANES>().0 else { unreachable!("a step has four times eight") };
        let mut sums = [[[0.0; 4]; 2]; 2];
        for (i, rows) in rows.as_chunks::<4>().0.iter().enumerate() {
            let (mut first, mut second) = ([zeros; 4], [zeros; 4]);
            for (row, (first, second)) in rows.iter().zip(first.iter_mut().zip(&mut second)) {
                let values = values(&row[step], &self.0);
                *first = _mm256_fmadd_ps(load(x1), values[1], _mm256_fmadd_ps(load(x0), values[0], zeros));
                *second = _mm256_fmadd_ps(load(x3), values[3], _mm256_fmadd_ps(load(x2), values[2], zeros));
            }
            (sums[0][i], sums[1][i]) = (four_totals(first), four_totals(second));
        }
        let [[[a, b, c, d], [e, f, g, h]], [[i, j, k, l], [m, n, o, p]]] = sums;
        [[a, b, c, d, e, f, g, h], [i, j, k, l, m, n, o, p]]
    }
}

/// The sums of products of a vector and as many codes from the start of each row. Rows are `stride`
/// apart.
pub(crate) fn products_with_vector(
    _: Fma,
    plan: &DecodePlan,
    vector: &[f32],
    rows: &[u8],
    stride: usize,
    sums: &mut [f32],
) {
    // SAFETY: the proof says that the machine has AVX2 and FMA.
    unsafe { with_vector(plan, vector, rows, stride, sums) }
}

#[target_feature(enable = "avx2,fma")]
fn with_vector(plan: &DecodePlan, vector: &[f32], rows: &[u8], stride: usize, sums: &mut [f32]) {
    let k = Constants::new::<f32>(plan);
    // Two rows at once, since the sums of one wait for each other.
    for (pair, sums) in sums.chunks_mut(2).enumerate() {
        let row = |i: usize| &rows[(2 * pair + i) * stride..][..vector.len()];
        let partial = two_rows(&k, vector, [row(0), row(sums.len() - 1)]);
        for (sum, partial) in sums.iter_mut().zip(&partial) {
            *sum = total(partial);
        }
    }
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn two_rows(k: &Constants, vector: &[f32], [first, second]: [&[u8]; 2]) -> [Partial; 2] {
    let (vector_steps, vector_rest) = vector.as_chunks::<STEP>();
    let ((first, first_rest), (second, second_rest)) = (first.as_chunks(), second.as_chunks());
    let mut total = [_mm256_setzero_ps(); 2];
    for ((x, first), second) in vector_steps.iter().zip(first).zip(second) {
        add_step(k, x, [first, second], &mut total);
    }
    if !vector_rest.is_empty() {
        let (mut x, mut codes) = ([0.0; STEP], [[0; STEP]; 2]);
        x[..vector_rest.len()].copy_from_slice(vector_rest);
        codes[0][..first_rest.len()].copy_from_slice(first_rest);
        codes[1][..second_rest.len()].copy_from_slice(second_rest);
        add_step(k, &x, [&codes[0], &codes[1]], &mut total);
    }
    let mut partial = [[0.0; LANES]; 2];
    store(&mut partial[0], total[0]);
    store(&mut partial[1], total[1]);
    partial
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn add_step(k: &Constants, x: &[f32; STEP], codes: [&[u8; STEP]; 2], total: &mut [__m256; 2]) {
    let rows = [values(codes[0], k), values(codes[1], k)];
    for (i, x) in x.as_chunks::<LANES>().0.iter().enumerate() {
        let x = load(x);
        total[0] = _mm256_fmadd_ps(x, rows[0][i], total[0]);
        total[1] = _mm256_fmadd_ps(x, rows[1][i], total[1]);
    }
}
