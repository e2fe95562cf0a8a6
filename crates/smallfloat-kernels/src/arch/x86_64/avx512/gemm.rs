//! Tiles of a matrix product in binary32, two rows of B in a vector.
//!
//! An element of the product has eight partial sums, as `dot/matmul.rs` fixes them, so a vector of
//! sixteen holds those of two elements: of one row of A, which is broadcast to both halves, and of
//! two rows of B. A tile is six rows of A by eight of B: 24 vectors of sums, which with six of A
//! and one of B leave one of the 32 registers.

use std::arch::x86_64::*;
use std::ops::Range;

use crate::arch::machine::Avx512;
use crate::arch::vectors::scaled;
use crate::arch::vectors::tiles::Floats;
use crate::plan::partial_sums::{LANES, Partial, ScaledTile};

/// Rows of A in a tile.
const ROWS: usize = 6;
/// Pairs of rows of B in a tile, and at once in a product with a vector, where the sums of one wait
/// for each other.
pub(super) const PAIRS: usize = 4;

/// The rows of B that [`add_rows`] wants at once.
pub(crate) const COLUMNS: usize = 2 * PAIRS;

/// Eight elements after eight.
type Steps<'a> = &'a [[f32; LANES]];

/// Adds the products of rows of A and up to [`COLUMNS`] rows of B, in a part of their length that
/// is a multiple of eight, to the partial sums of their pairs, row of A by row of A. `stride` is
/// from one row to the next.
pub(crate) fn add_rows(
    _: Avx512,
    [a, b]: [&[f32]; 2],
    stride: usize,
    part: &Range<usize>,
    sums: &mut [Partial],
) {
    let width = b.len() / stride;
    for (a, sums) in a.chunks(ROWS * stride).zip(sums.chunks_mut(ROWS * width)) {
        // SAFETY: the proof says that the machine has these instructions.
        unsafe {
            match a.len() / stride {
                1 => rows::<1>([a, b], stride, part, sums),
                2 => rows::<2>([a, b], stride, part, sums),
                3 => rows::<3>([a, b], stride, part, sums),
                4 => rows::<4>([a, b], stride, part, sums),
                5 => rows::<5>([a, b], stride, part, sums),
                _ => rows::<ROWS>([a, b], stride, part, sums),
            }
        }
    }
}

/// A tile of `R` rows, or pairs of its columns where there are fewer of them.
#[target_feature(enable = "avx512f,avx512dq")]
fn rows<const R: usize>([a, b]: [&[f32]; 2], stride: usize, part: &Range<usize>, sums: &mut [Partial]) {
    let width = b.len() / stride;
    let steps = |row: usize| row * stride + part.start..row * stride + part.end;
    let rows: [Steps<'_>; R] = std::array::from_fn(|i| a[steps(i)].as_chunks().0);
    // The last of an odd number is its own partner.
    let column = |i: usize| b[steps(i.min(width - 1))].as_chunks().0;
    if width == COLUMNS {
        let columns = std::array::from_fn(|pair| [column(2 * pair), column(2 * pair + 1)]);
        return tile::<R, PAIRS>(rows, columns, sums, [width, 0]);
    }
    for first in (0..width).step_by(2) {
        tile::<R, 1>(rows, [[column(first), column(first + 1)]], sums, [width, first]);
    }
}

/// Adds the products of rows and of pairs of columns, whose first sums of a row are at `first` of
/// `width`.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn tile<'a, const R: usize, const P: usize>(
    mut rows: [Steps<'a>; R],
    mut columns: [[Steps<'a>; 2]; P],
    sums: &mut [Partial],
    [width, first]: [usize; 2],
) {
    let steps = rows[0].len();
    for row in rows.iter_mut().chain(columns.as_flattened_mut()) {
        *row = &row[..steps];
    }
    // Loops of a known length, so that sums stay in registers.
    let mut total = [[_mm512_setzero_ps(); P]; R];
    for (row, total) in total.iter_mut().enumerate() {
        for (pair, total) in total.iter_mut().enumerate() {
            let at = row * width + first + 2 * pair;
            let partner = at + usize::from(first + 2 * pair + 1 < width);
            *total = both(&sums[at], &sums[partner]);
        }
    }
    for i in 0..steps {
        let mut x = [_mm512_setzero_ps(); R];
        for (x, row) in x.iter_mut().zip(&rows) {
            *x = _mm512_broadcast_f32x8(load(&row[i]));
        }
        for (j, [low, high]) in columns.iter().enumerate() {
            let y = both(&low[i], &high[i]);
            for (total, x) in total.iter_mut().zip(&x) {
                total[j] = _mm512_fmadd_ps(*x, y, total[j]);
            }
        }
    }
    for (row, total) in total.iter().enumerate() {
        for (pair, total) in total.iter().enumerate() {
            let at = row * width + first + 2 * pair;
            let [low, high] = halves(*total);
            sums[at] = low;
            if first + 2 * pair + 1 < width {
                sums[at + 1] = high;
            }
        }
    }
}

/// The rows of B that [`add_blocks`] takes.
pub(crate) const BLOCK_COLUMNS: usize = __m512::WIDTH;

/// Adds to each result, row of A by row of A, the blocks' sums times their scales.
pub(crate) fn add_blocks(_: Avx512, tile: &ScaledTile<'_>, results: &mut [f32]) {
    // SAFETY: the proof says that the machine has these instructions.
    unsafe { all_blocks(tile, results) }
}

#[target_feature(enable = "avx512f")]
fn all_blocks(tile: &ScaledTile<'_>, results: &mut [f32]) {
    // SAFETY: this function has the level's instructions.
    unsafe { scaled::add_blocks::<__m512, ROWS>(tile, results) };
}

impl Floats for __m512 {
    const WIDTH: usize = 16;

    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn zeros() -> Self {
        _mm512_setzero_ps()
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn all(x: f32) -> Self {
        _mm512_set1_ps(x)
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: the caller's promise; the load needs no alignment.
        unsafe { _mm512_loadu_ps(from) }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: the caller's promise; the store needs no alignment.
        unsafe { _mm512_storeu_ps(to, self) }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn plus_product(self, x: Self, y: Self) -> Self {
        _mm512_fmadd_ps(x, y, self)
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn plus(self, x: Self) -> Self {
        _mm512_add_ps(self, x)
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn times(self, x: Self) -> Self {
        _mm512_mul_ps(self, x)
    }
}

/// Eight elements.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn load(eight: &[f32; LANES]) -> __m256 {
    // SAFETY: the reference is to 32 readable bytes; the load needs no alignment.
    unsafe { _mm256_loadu_ps(eight.as_ptr()) }
}

/// Eight elements and eight more.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn both(low: &[f32; LANES], high: &[f32; LANES]) -> __m512 {
    _mm512_insertf32x8::<1>(_mm512_castps256_ps512(load(low)), load(high))
}

/// The two halves of a vector.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn halves(vector: __m512) -> [Partial; 2] {
    let mut halves = [[0.0; LANES]; 2];
    // SAFETY: the reference is to 64 writable bytes; the store needs no alignment.
    unsafe { _mm512_storeu_ps(halves.as_mut_ptr().cast(), vector) };
    halves
}
