//! Tiles of a matrix product in binary32, three rows of A by four of B: each loaded vector serves
//! three or four fused operations, so the multipliers are what limits it. A level supplies vectors
//! of eight partial sums. As in `blocks.rs`, these functions are inlined into others that have the
//! level's instructions.

use std::ops::Range;

use crate::plan::partial_sums::{LANES, Partial};

/// The rows of B that [`add_rows`] wants at once.
pub(in crate::arch) const COLUMNS: usize = 4;

/// Some binary32.
pub(in crate::arch) trait Floats: Copy {
    /// How many.
    const WIDTH: usize;

    /// Zeros.
    ///
    /// # Safety
    /// The machine must have the level's instructions.
    unsafe fn zeros() -> Self;

    /// One number in all lanes.
    ///
    /// # Safety
    /// The machine must have the level's instructions.
    unsafe fn all(x: f32) -> Self;

    /// Reads them.
    ///
    /// # Safety
    /// The machine must have the level's instructions, and there must be as many.
    unsafe fn load(from: *const f32) -> Self;

    /// Writes them.
    ///
    /// # Safety
    /// The machine must have the level's instructions, and there must be room for them.
    unsafe fn store(self, to: *mut f32);

    /// Returns this + x · y, rounded once.
    ///
    /// # Safety
    /// The machine must have the level's instructions.
    unsafe fn plus_product(self, x: Self, y: Self) -> Self;

    /// Returns this + x.
    ///
    /// # Safety
    /// The machine must have the level's instructions.
    unsafe fn plus(self, x: Self) -> Self;

    /// Returns this · x.
    ///
    /// # Safety
    /// The machine must have the level's instructions.
    unsafe fn times(self, x: Self) -> Self;
}

/// Adds the products of rows of A and up to four rows of B, in a part of their length that is a
/// multiple of eight, to the partial sums of their pairs, row of A by row of A. `stride` is from
/// one row to the next.
///
/// # Safety
/// The machine must have the level's instructions, which are of eight binary32.
#[inline(always)]
pub(in crate::arch) unsafe fn add_rows<V: Floats>(
    [a, b]: [&[f32]; 2],
    stride: usize,
    part: &Range<usize>,
    sums: &mut [Partial],
) {
    let width = b.len() / stride;
    for (a, sums) in a.chunks(3 * stride).zip(sums.chunks_mut(3 * width)) {
        // SAFETY: the caller's promise.
        unsafe {
            match (a.len() / stride, width) {
                (3, 4) => tile::<V, 3, 4>(a, b, stride, part, sums),
                (2, 4) => tile::<V, 2, 4>(a, b, stride, part, sums),
                (1, 4) => tile::<V, 1, 4>(a, b, stride, part, sums),
                _ => {
                    for (a, sums) in a.chunks(stride).zip(sums.chunks_mut(width)) {
                        for (b, sum) in b.chunks(stride).zip(sums) {
                            tile::<V, 1, 1>(a, b, stride, part, std::slice::from_mut(sum));
                        }
                    }
                }
            }
        }
    }
}

/// The products of so many rows by so many.
///
/// # Safety
/// The machine must have the level's instructions, which are of eight binary32.
#[inline(always)]
unsafe fn tile<V: Floats, const ROWS: usize, const COLUMNS: usize>(
    a: &[f32],
    b: &[f32],
    stride: usize,
    part: &Range<usize>,
    sums: &mut [Partial],
) {
    let steps = part.len() / LANES;
    let mut rows = [&[] as &[[f32; LANES]]; ROWS];
    let mut columns = [&[] as &[[f32; LANES]]; COLUMNS];
    for (i, row) in rows.iter_mut().enumerate() {
        *row = &a[i * stride..][part.clone()].as_chunks().0[..steps];
    }
    for (i, column) in columns.iter_mut().enumerate() {
        *column = &b[i * stride..][part.clone()].as_chunks().0[..steps];
    }
    let Some(sums) = sums.as_chunks_mut::<COLUMNS>().0.first_chunk_mut::<ROWS>() else { return };
    // SAFETY: the caller's promise.
    unsafe {
        let mut total = [[V::zeros(); COLUMNS]; ROWS];
        for row in 0..ROWS {
            for column in 0..COLUMNS {
                total[row][column] = V::load(sums[row][column].as_ptr());
            }
        }
        for i in 0..steps {
            let mut x = [V::zeros(); ROWS];
            for (x, row) in x.iter_mut().zip(&rows) {
                *x = V::load(row[i].as_ptr());
            }
            for (j, column) in columns.iter().enumerate() {
                let y = V::load(column[i].as_ptr());
                for (total, x) in total.iter_mut().zip(&x) {
                    total[j] = total[j].plus_product(*x, y);
                }
            }
        }
        for row in 0..ROWS {
            for column in 0..COLUMNS {
                total[row][column].store(sums[row][column].as_mut_ptr());
            }
        }
    }
}
