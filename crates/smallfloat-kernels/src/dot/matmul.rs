//! Matrix products in binary32: decoded panels, tiles, and threads that change nothing.
//!
//! A sum's order is fixed: eight partial sums, the j-th of which adds the products of elements j,
//! j + 8, j + 16, … in this order; then j and j + 4 add up, j and j + 2, j and j + 1. So rows lie
//! as they are in memory, vectors hold partial sums, and neither blocks nor threads nor levels
//! change a bit. Zeros after a row's end change nothing either: no partial sum is ever −0.

use std::ops::Range;

use crate::arch::level::Level;
use crate::arch::{Kernels, Machine};
use crate::decode::Decoder;
use crate::parallel;
use crate::plan::nibbles::Interleaved;
use crate::plan::partial_sums::{LANES, Partial, total};

/// Elements of a row that tiles go through at once: fourteen rows of them stay in the first cache.
const DEPTH: usize = 512;
/// Decoded elements of A that stay in the second cache.
const A_BLOCK: usize = 48 << 10;
/// Decoded elements of B kept at once.
const B_PANEL: usize = 4 << 20;
/// Rows of A in a tile, or in two.
const TILE_ROWS: usize = 6;
/// Rows of B in the widest tile.
const TILE_COLUMNS: usize = 8;

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
    let layout = Layout::new(part.len());
    let (stride, panel_columns) = (layout.stride, layout.panel_columns());
    let block_rows = layout.block_rows(rows, parallel::threads());
    let mut panel = Vec::new();
    for first in (0..columns).step_by(panel_columns) {
        let panel = layout.rows(panel_columns.min(columns - first), &mut panel);
        parallel::chunks(panel, stride, &|column, values| b.decode_row(first + column, part, values));
        parallel::chunks(sums, block_rows * columns, &|block, sums| {
            let mut block_of_a = Vec::new();
            let block_of_a = layout.rows(sums.len() / columns, &mut block_of_a);
            for (i, values) in block_of_a.chunks_mut(stride).enumerate() {
                a.decode_row(block * block_rows + i, part, values);
            }
            multiply(level, [block_of_a, panel], layout, |row, column, some| {
                sums[row * columns + first + column..][..some.len()].copy_from_slice(some);
            });
        });
    }
}

/// How decoded rows lie in memory.
#[derive(Clone, Copy)]
struct Layout {
    /// Elements of a row, with zeros up to a multiple of eight.
    length: usize,
    /// From one row to the next: whole cache lines, and no power of two, which would put all rows
    /// in the same places of a cache.
    stride: usize,
}

impl Layout {
    /// Elements of a cache line.
    const LINE: usize = 16;

    fn new(length: usize) -> Self {
        let length = length.next_multiple_of(LANES).max(LANES);
        let lines = length.div_ceil(Self::LINE);
        Self { length, stride: (lines | 1) * Self::LINE }
    }

    /// Rows of B that are decoded at once.
    fn panel_columns(self) -> usize {
        (B_PANEL / self.stride).max(TILE_COLUMNS)
    }

    /// Rows of A that a thread takes at once: whole tiles, and no more than its share.
    fn block_rows(self, rows: usize, threads: usize) -> usize {
        let even_share = rows.div_ceil(threads).next_multiple_of(TILE_ROWS);
        (A_BLOCK / self.stride / TILE_ROWS * TILE_ROWS).clamp(TILE_ROWS, even_share)
    }

    /// Memory for rows, from the start of a cache line on.
    fn rows(self, count: usize, memory: &mut Vec<f32>) -> &mut [f32] {
        let elements = count * self.stride;
        memory.resize(elements + Self::LINE, 0.0);
        let start = memory.as_ptr().align_offset(Self::LINE * size_of::<f32>()).min(Self::LINE);
        &mut memory[start..start + elements]
    }
}

/// All sums of two panels of decoded rows: some of one row given to `put` at a time, with the place
/// of the first.
fn multiply(level: Level, [a, b]: [&[f32]; 2], layout: Layout, mut put: impl FnMut(usize, usize, &[f32])) {
    let Layout { length, stride } = layout;
    let height = a.len() / stride;
    let tile = Machine::new(level).map_or(4, Kernels::tile_columns);
    let mut partial = vec![[0.0; LANES]; height * tile];
    let mut sums = vec![0.0; partial.len()];
    for (first, columns) in b.chunks(stride * tile).enumerate() {
        let width = columns.len() / stride;
        let (partial, sums) = (&mut partial[..height * width], &mut sums[..height * width]);
        partial.fill([0.0; LANES]);
        for start in (0..length).step_by(DEPTH) {
            let part = start..(start + DEPTH).min(length);
            add_rows(level, [a, columns], stride, &part, partial);
        }
        totals(level, partial, sums);
        for (row, some) in sums.chunks(width).enumerate() {
            put(row, first * tile, some);
        }
    }
}

/// The sums of partial sums.
fn totals(level: Level, partial: &[Partial], sums: &mut [f32]) {
    if Machine::new(level).and_then(|machine| machine.totals(partial, sums)).is_some() {
        return;
    }
    for (partial, sum) in partial.iter().zip(sums) {
        *sum = total(partial);
    }
}

/// Adds the products of all rows of A and of B in a part of their length to the partial sums of
/// their pairs.
fn add_rows(level: Level, [a, b]: [&[f32]; 2], stride: usize, part: &Range<usize>, partial: &mut [Partial]) {
    if Machine::new(level).and_then(|machine| machine.add_rows([a, b], stride, part, partial)).is_some() {
        return;
    }
    for (a, partial) in a.chunks(stride).zip(partial.chunks_mut(b.len() / stride)) {
        let a = a[part.clone()].as_chunks::<LANES>().0;
        for (b, partial) in b.chunks(stride).zip(partial) {
            for (a, b) in a.iter().zip(b[part.clone()].as_chunks::<LANES>().0) {
                for ((sum, a), b) in partial.iter_mut().zip(a).zip(b) {
                    // Products are exact, so it does not matter whether a machine fuses the two
                    // operations.
                    *sum += a * b;
                }
            }
        }
    }
}

/// One row of A with all of B, whose codes are decoded on the way; `None` where there is no kernel.
fn by_vector(level: Level, a: Matrix<'_>, b: Matrix<'_>, sums: &mut [f32]) -> Option<()> {
    /// Codes that a thread takes at once.
    const CODES: usize = 1 << 16;
    let machine = Machine::new(level).filter(|machine| machine.has_vector_products())?;
    let plan = b.decoder.plan()?;
    let length = b.length;
    let mut vector = vec![0.0; length];
    a.decoder.decode(a.codes, &mut vector);
    let nibbles = b.decoder.nibbles().filter(|_| machine.decodes_by_nibbles());
    let nibbles = nibbles.and_then(|plan| Some((plan, Interleaved::new(plan, &vector)?)));
    let rows = (CODES / length).next_multiple_of(4).max(4);
    parallel::chunks(sums, rows, &|block, sums| {
        let codes = &b.codes[block * rows * length..][..sums.len() * length];
        match &nibbles {
            Some((plan, x)) => machine.products_with_rows(plan, x, codes, sums),
            None => machine.products_with_vector(plan, &vector, codes, sums),
        }
    });
    Some(())
}

#[cfg(test)]
mod tests {
    use smallfloat::formats::E4M3FN;

    use super::{B_PANEL, Decoder, Kernels, LANES, Layout, Level, Machine, Matrix, by_vector, product};

    #[test]
    fn rows_lie_on_lines_of_a_cache() {
        for (length, padded, stride) in
            [(0, 8, 16), (8, 8, 16), (9, 16, 16), (17, 24, 48), (64, 64, 80), (96, 96, 112)]
        {
            let layout = Layout::new(length);
            assert_eq!((layout.length, layout.stride), (padded, stride));
            let mut memory = Vec::new();
            for count in [1, 7] {
                let rows = layout.rows(count, &mut memory);
                assert_eq!((rows.as_ptr().addr() % 64, rows.len()), (0, count * stride));
            }
            assert_eq!(memory.len(), 7 * stride + 16);
        }
    }

    /// 48 Ki elements of A, 4 Mi of B, tiles of 6 by 8 rows.
    #[test]
    fn blocks_fit_caches() {
        let blocks = |length, rows, threads| {
            let layout = Layout::new(length);
            (layout.panel_columns(), layout.block_rows(rows, threads))
        };
        // 1024 elements lie 1040 apart: 47 rows, in whole tiles 42.
        assert_eq!(blocks(1024, 1000, 2), (4032, 42));
        assert_eq!(blocks(1024, 50, 2), (4032, 30));
        assert_eq!(blocks(1024, 1, 2), (4032, 6));
        assert_eq!(blocks(8, 1_000_000, 2), (262_144, 3072));
        assert_eq!(blocks(2_000_000, 1000, 2), (8, 6));
    }

    /// More rows of B than a panel: each column is that of a product with its row alone.
    #[test]
    fn panels_follow_each_other() {
        let decoder = Decoder::<f32>::new(&E4M3FN, None).expect("a decoder");
        let length = LANES;
        let columns = B_PANEL / Layout::new(length).stride + 5;
        let code = |i: usize| (i * 7 % 97).to_le_bytes()[0];
        let (a, b) = (
            (0..3 * length).map(code).collect::<Vec<_>>(),
            (0..columns * length).map(code).collect::<Vec<_>>(),
        );
        let matrix = |codes| Matrix { codes, length, decoder: &decoder };
        let mut sums = vec![0.0; 3 * columns];
        product(Level::detected(), matrix(&a), matrix(&b), &(0..length), &mut sums);
        for column in [0, 1, columns / 2, columns - 6, columns - 5, columns - 1] {
            let mut three = [0.0; 3];
            product(
                Level::Portable,
                matrix(&a),
                matrix(&b[column * length..][..length]),
                &(0..length),
                &mut three,
            );
            for (row, one) in three.into_iter().enumerate() {
                assert_eq!(sums[row * columns + column].to_bits(), one.to_bits(), "{row}, {column}");
            }
        }
    }

    /// A single row has a kernel of its own, for several threads.
    #[test]
    fn vectors_are_used() {
        let decoder = Decoder::<f32>::new(&E4M3FN, None).expect("a decoder");
        let length = 1000;
        // One, times 1, 2, 4, 8 by rows.
        let (a, b) = (vec![0x38_u8; length], [0x38_u8, 0x40, 0x48, 0x50].repeat(50));
        let b: Vec<u8> = b.into_iter().flat_map(|code| std::iter::repeat_n(code, length)).collect();
        let matrix = |codes| Matrix { codes, length, decoder: &decoder };
        let mut sums = vec![0.0; 200];
        assert!(by_vector(Level::Portable, matrix(&a), matrix(&b), &mut sums).is_none());
        let level = Level::detected();
        let has_vectors = by_vector(level, matrix(&a), matrix(&b), &mut sums).is_some();
        let machine = Machine::new(level);
        assert_eq!(has_vectors, machine.is_some_and(Kernels::has_vector_products));
        let expected = [1000_f32, 2000.0, 4000.0, 8000.0].repeat(50);
        assert!(!has_vectors || sums.iter().zip(expected).all(|(sum, x)| sum.to_bits() == x.to_bits()));
    }
}
