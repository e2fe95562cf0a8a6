//! Matrix products in binary32: decoded panels, tiles, and threads that change nothing.
//!
//! A sum's order is fixed: eight partial sums, the j-th of which adds the products of elements j, j + 8, j + 16, … in this
//! order; then j and j + 4 add up, j and j + 2, j and j + 1. So rows lie as they are in memory, vectors hold partial sums, and
//! neither blocks nor threads nor levels change a bit. Zeros after a row's end change nothing either: no partial sum is ever −0.

use std::ops::Range;

use crate::{Decoder, Level, parallel};

/// Partial sums of one element.
pub(crate) const LANES: usize = 8;
/// One element's partial sums.
pub(crate) type Partial = [f32; LANES];

/// Elements of a row that tiles go through at once: seven rows of them stay in the first cache.
const DEPTH: usize = 1024;
/// Decoded elements of A that stay in the second cache.
const A_BLOCK: usize = 48 << 10;
/// Decoded elements of B kept at once.
const B_PANEL: usize = 4 << 20;
/// Rows of A and of B in a tile.
const TILE: [usize; 2] = [3, 4];

/// The sum of the partial sums.
pub(crate) fn total(partial: &Partial) -> f32 {
    let four = [0, 1, 2, 3].map(|j| partial[j] + partial[j + 4]);
    (four[0] + four[2]) + (four[1] + four[3])
}

/// Codes in rows of one length.
#[derive(Clone, Copy)]
pub(crate) struct Matrix<'a> {
    pub(crate) codes: &'a [u8],
    pub(crate) length: usize,
    pub(crate) decoder: &'a Decoder<f32>,
}

impl<'a> Matrix<'a> {
    fn rows(&self) -> usize {
        self.codes.len() / self.length
    }

    /// The codes of a row in a part of its length.
    fn row(&self, row: usize, part: &Range<usize>) -> &'a [u8] {
        &self.codes[row * self.length..][part.clone()]
    }

    /// Decodes a row's part; zeros fill what is left.
    fn decode_row(&self, row: usize, part: &Range<usize>, values: &mut [f32]) {
        let (values, rest) = values.split_at_mut(part.len());
        self.decoder.decode(self.row(row, part), values);
        rest.fill(0.0);
    }
}

/// A·Bᵀ over a part of the rows' length, row by row.
pub(crate) fn product(level: Level, a: Matrix<'_>, b: Matrix<'_>, part: &Range<usize>, sums: &mut [f32]) {
    let (rows, columns) = (a.rows(), b.rows());
    let whole = part.len() == b.length;
    if rows == 1 && whole && by_vector(level, a, b, sums).is_some() {
        return;
    }
    let padded = part.len().next_multiple_of(LANES).max(LANES);
    let panel_columns = (B_PANEL / padded).max(TILE[1]);
    let even_share = rows.div_ceil(parallel::threads()).next_multiple_of(TILE[0]);
    let block_rows = (A_BLOCK / padded / TILE[0] * TILE[0]).clamp(TILE[0], even_share);
    let mut panel = vec![0.0; panel_columns.min(columns) * padded];
    for first in (0..columns).step_by(panel_columns) {
        let width = panel_columns.min(columns - first);
        let panel = &mut panel[..width * padded];
        parallel::chunks(panel, padded, |column, values| b.decode_row(first + column, part, values));
        parallel::chunks(sums, block_rows * columns, |block, sums| {
            let height = sums.len() / columns;
            let mut rows = vec![0.0; height * padded];
            for (i, values) in rows.chunks_mut(padded).enumerate() {
                a.decode_row(block * block_rows + i, part, values);
            }
            multiply(level, [&rows, panel], padded, &mut |row, column, sum| {
                sums[row * columns + first + column] = sum;
            });
        });
    }
}

/// All sums of two panels of decoded rows, given to `put` with their places.
fn multiply(level: Level, [a, b]: [&[f32]; 2], length: usize, put: &mut impl FnMut(usize, usize, f32)) {
    let height = a.len() / length;
    let mut partial = vec![[0.0; LANES]; height * TILE[1]];
    for (first, columns) in b.chunks(length * TILE[1]).enumerate() {
        let width = columns.len() / length;
        let partial = &mut partial[..height * width];
        partial.fill([0.0; LANES]);
        for start in (0..length).step_by(DEPTH) {
            let part = start..(start + DEPTH).min(length);
            for (rows, partial) in a.chunks(length * TILE[0]).zip(partial.chunks_mut(TILE[0] * width)) {
                let (mut x, mut y) = ([&[][..]; TILE[0]], [&[][..]; TILE[1]]);
                let (x_rows, y_rows) = (rows.chunks(length), columns.chunks(length));
                let count = x_rows.len();
                x.iter_mut().zip(x_rows).for_each(|(x, row)| *x = &row[part.clone()]);
                y.iter_mut().zip(y_rows).for_each(|(y, row)| *y = &row[part.clone()]);
                tile(level, &x[..count], &y[..width], partial);
            }
        }
        for (row, partial) in partial.chunks(width).enumerate() {
            for (column, partial) in partial.iter().enumerate() {
                put(row, first * TILE[1] + column, total(partial));
            }
        }
    }
}

/// Adds the products of rows of one length to the partial sums of their pairs.
fn tile(level: Level, a: &[&[f32]], b: &[&[f32]], partial: &mut [Partial]) {
    #[cfg(target_arch = "x86_64")]
    if let Some(proof) = crate::x86_64::Fma::new(level) {
        return crate::x86_64::tile(proof, a, b, partial);
    }
    let _ = level;
    for (a, partial) in a.iter().zip(partial.chunks_mut(b.len().max(1))) {
        for (b, partial) in b.iter().zip(partial) {
            for (a, b) in a.as_chunks::<LANES>().0.iter().zip(b.as_chunks::<LANES>().0) {
                for ((sum, a), b) in partial.iter_mut().zip(a).zip(b) {
                    // Products are exact, so it does not matter whether a machine fuses the two operations.
                    *sum += a * b;
                }
            }
        }
    }
}

/// One row of A with all of B, whose codes are decoded on the way; `None` where there is no kernel.
fn by_vector(level: Level, a: Matrix<'_>, b: Matrix<'_>, sums: &mut [f32]) -> Option<()> {
    #[cfg(target_arch = "x86_64")]
    {
        /// Codes that a thread takes at once.
        const CODES: usize = 1 << 16;
        let (proof, plan) = (crate::x86_64::Fma::new(level)?, b.decoder.plan()?);
        let length = b.length;
        let mut vector = vec![0.0; length];
        a.decoder.decode(a.codes, &mut vector);
        let rows = (CODES / length).next_multiple_of(2).max(2);
        parallel::chunks(sums, rows, |block, sums| {
            let codes = &b.codes[block * rows * length..][..sums.len() * length];
            crate::x86_64::products_with_vector(proof, plan, &vector, codes, sums);
        });
        Some(())
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = (level, a, b, sums);
        None
    }
}
