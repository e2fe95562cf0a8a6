//! Matrix products in binary32: decoded panels, tiles, and threads that change nothing.
//!
//! A sum's order is fixed: eight partial sums, the j-th of which adds the products of elements j,
//! j + 8, j + 16, … in this order; then j and j + 4 add up, j and j + 2, j and j + 1. So rows lie
//! as they are in memory, vectors hold partial sums, and neither blocks nor threads nor levels
//! change a bit. Zeros after a row's end change nothing either: no partial sum is ever −0. Where
//! scales are those of blocks of a row's elements, all this holds for each block, and the blocks'
//! sums, times their scales, add up in order.

use std::ops::Range;

use crate::arch::level::Level;
use crate::arch::{Kernels, Machine};
use crate::decode::Decoder;
use crate::dot::scales::Scales;
use crate::parallel;
use crate::plan::nibbles::Interleaved;
use crate::plan::partial_sums::{LANES, Partial, ScaledRows, ScaledTile, total};

/// Elements of a row that tiles go through at once: fourteen rows of them stay in the first cache.
const DEPTH: usize = 512;
/// Decoded elements of A that stay in the second cache.
const A_BLOCK: usize = 48 << 10;
/// Decoded elements of B kept at once, and of those that lie side by side.
const B_PANEL: usize = 4 << 20;
const COLUMN_PANEL: usize = 512 << 10;
/// Rows of A in a tile, or in two.
const TILE_ROWS: usize = 6;
/// Rows of B in the widest tile.
const TILE_COLUMNS: usize = 8;
/// The longest rows of one block whose products are faster with B's rows side by side: six longer
/// rows of A do not fit into the first cache.
const LONGEST_BY_COLUMNS: usize = 1024;

/// Codes in rows of one length.
#[derive(Clone, Copy)]
pub(crate) struct Matrix<'a> {
    pub(crate) codes: &'a [u8],
    pub(crate) length: usize,
    pub(crate) decoder: &'a Decoder<f32>,
}

impl Matrix<'_> {
    fn rows(&self) -> usize {
        self.codes.len() / self.length
    }

    /// Decodes a row; zeros fill what is left of its blocks.
    fn decode_row(&self, row: usize, layout: Layout, values: &mut [f32]) {
        let codes = &self.codes[row * self.length..][..self.length];
        let (size, room) =
            if layout.size == layout.room { (codes.len(), values.len()) } else { (layout.size, layout.room) };
        let mut rest = values;
        for codes in codes.chunks(size) {
            let values = rest.split_off_mut(..room.min(rest.len())).expect("as many as there are");
            let (values, zeros) = values.split_at_mut(codes.len());
            self.decoder.decode(codes, values);
            zeros.fill(0.0);
        }
        rest.fill(0.0);
    }

    /// Decodes rows from the first on, a stride apart.
    fn decode_rows(&self, first: usize, layout: Layout, values: &mut [f32]) {
        for (i, values) in values.chunks_mut(layout.stride).enumerate() {
            self.decode_row(first + i, layout, values);
        }
    }
}

/// A·Bᵀ, row by row: the sums over blocks of `size` elements, times the scales of A's and of B's
/// row, add up from left to right.
pub(crate) fn product(
    level: Level,
    [a, b]: [Matrix<'_>; 2],
    size: usize,
    [a_scales, b_scales]: [Scales<'_>; 2],
    products: &mut [f32],
) {
    let (rows, columns) = (a.rows(), b.rows());
    let blocks = a.length.div_ceil(size);
    if by_vectors(level, [a, b], size, [a_scales, b_scales], products).is_some() {
        return;
    }
    let layout = Layout::new(a.length, size);
    let is_faster = if blocks > 1 {
        rows >= TILE_ROWS
    } else {
        Machine::new(level).is_some_and(Kernels::prefers_columns)
            && a.length <= LONGEST_BY_COLUMNS
            && rows >= TILE_ROWS.max(a.length / 4)
    };
    if is_faster && by_columns(level, [a, b], layout, [a_scales, b_scales], products).is_some() {
        return;
    }
    let (stride, panel_columns) = (layout.stride, layout.panel_columns());
    let block_rows = layout.block_rows(rows, parallel::threads());
    let mut panel = Vec::new();
    for first in (0..columns).step_by(panel_columns) {
        let panel = layout.rows(panel_columns.min(columns - first), &mut panel);
        parallel::chunks(panel, stride, &|column, values| b.decode_row(first + column, layout, values));
        parallel::chunks(products, block_rows * columns, &|block, products| {
            let mut block_of_a = Vec::new();
            let block_of_a = layout.rows(products.len() / columns, &mut block_of_a);
            a.decode_rows(block * block_rows, layout, block_of_a);
            let scales = [(a_scales, block * block_rows), (b_scales, first)]
                .map(|(scales, first)| move |row: usize, block: usize| scales.of(first + row, block, blocks));
            multiply(level, [block_of_a, panel], layout, scales, |row, column, some| {
                products[row * columns + first + column..][..some.len()].copy_from_slice(some);
            });
        });
    }
}

/// How decoded rows lie in memory.
#[derive(Clone, Copy)]
struct Layout {
    /// Elements of a row, with zeros up to a multiple of eight in each block.
    length: usize,
    /// Elements of a block.
    size: usize,
    /// Elements of a block with zeros up to a multiple of eight.
    room: usize,
    /// From one row to the next: whole cache lines, and no power of two, which would put all rows
    /// in the same places of a cache.
    stride: usize,
}

impl Layout {
    /// Elements of a cache line.
    const LINE: usize = 16;

    fn new(length: usize, size: usize) -> Self {
        let room = size.next_multiple_of(LANES);
        let whole = length / size;
        let length = (whole * room + (length - whole * size).next_multiple_of(LANES)).max(LANES);
        let lines = length.div_ceil(Self::LINE);
        Self { length, size, room, stride: (lines | 1) * Self::LINE }
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

    /// Memory for rows.
    fn rows(self, count: usize, memory: &mut Vec<f32>) -> &mut [f32] {
        on_lines(count * self.stride, memory)
    }
}

/// Memory for elements, from the start of a cache line on.
fn on_lines(elements: usize, memory: &mut Vec<f32>) -> &mut [f32] {
    memory.resize(elements + Layout::LINE, 0.0);
    let start = memory.as_ptr().align_offset(Layout::LINE * size_of::<f32>()).min(Layout::LINE);
    &mut memory[start..start + elements]
}

/// All results of two panels of decoded rows: some of one row given to `put` at a time, with the
/// place of the first. Scales are those of a row's block.
fn multiply(
    level: Level,
    [a, b]: [&[f32]; 2],
    layout: Layout,
    [a_scale, b_scale]: [impl Fn(usize, usize) -> f32; 2],
    mut put: impl FnMut(usize, usize, &[f32]),
) {
    let Layout { length, stride, room, .. } = layout;
    let height = a.len() / stride;
    let tile = Machine::new(level).map_or(4, Kernels::tile_columns);
    let mut partial = vec![[0.0; LANES]; height * tile];
    let mut sums = vec![0.0; partial.len()];
    let mut results = sums.clone();
    let (blocks, a_scale) = (length.div_ceil(room), &a_scale);
    let of_block = |block| (0..height).map(move |row| a_scale(row, block));
    let x: Vec<f32> = (0..blocks).flat_map(of_block).collect();
    let mut y = vec![0.0; tile];
    for (first, columns) in b.chunks(stride * tile).enumerate() {
        let width = columns.len() / stride;
        let partial = &mut partial[..height * width];
        let (sums, results) = (&mut sums[..height * width], &mut results[..height * width]);
        // Nothing is added to −0 that changes.
        results.fill(-0.0);
        for (block, x) in x.chunks(height).enumerate() {
            partial.fill([0.0; LANES]);
            let (start, end) = (block * room, ((block + 1) * room).min(length));
            for start in (start..end).step_by(DEPTH) {
                add_rows(level, [a, columns], stride, &(start..(start + DEPTH).min(end)), partial);
            }
            totals(level, partial, sums);
            let y = &mut y[..width];
            y.iter_mut().enumerate().for_each(|(column, y)| *y = b_scale(first * tile + column, block));
            level.vectorize(
                #[inline(always)]
                || add_scaled(sums, [x, y], results),
            );
        }
        for (row, some) in results.chunks(width).enumerate() {
            put(row, first * tile, some);
        }
    }
}

/// Puts rows, a stride apart, side by side: their first elements, then the second ones, and so on.
#[inline(always)]
fn side_by_side<const WIDTH: usize>(rows: &[f32], values: &mut [f32], stride: usize) {
    let (steps, _) = values.as_chunks_mut::<WIDTH>().0.as_chunks_mut::<LANES>();
    for (i, step) in steps.iter_mut().enumerate() {
        for lane in 0..WIDTH {
            let elements = rows[lane * stride + i * LANES..].first_chunk::<LANES>();
            let elements = elements.expect("a stride has whole steps");
            for j in 0..LANES {
                step[j][lane] = elements[j];
            }
        }
    }
}

/// The product by vectors of results: B's rows lie side by side, as many as a vector has lanes.
/// `None` where there is no such kernel.
fn by_columns(
    level: Level,
    [a, b]: [Matrix<'_>; 2],
    layout: Layout,
    [a_scales, b_scales]: [Scales<'_>; 2],
    products: &mut [f32],
) -> Option<()> {
    let machine = Machine::new(level)?;
    let width = machine.block_columns()?;
    let (rows, columns) = (a.rows(), b.rows());
    let Layout { length, stride, room, .. } = layout;
    let blocks = length.div_ceil(room);
    let block_rows = layout.block_rows(rows, parallel::threads());
    let panel_columns = (COLUMN_PANEL / length).next_multiple_of(width);
    let mut panel = Vec::new();
    for first in (0..columns).step_by(panel_columns) {
        let tiles = panel_columns.min(columns - first).div_ceil(width);
        let panel = on_lines(tiles * length * width, &mut panel);
        parallel::chunks(panel, length * width, &|tile, values| {
            let first = first + tile * width;
            let mut rows = Vec::new();
            let rows = layout.rows(width, &mut rows);
            let some = width.min(columns - first);
            b.decode_rows(first, layout, &mut rows[..some * stride]);
            rows[some * stride..].fill(0.0);
            level.vectorize(
                #[inline(always)]
                || match width {
                    8 => side_by_side::<8>(rows, values, stride),
                    16 => side_by_side::<16>(rows, values, stride),
                    _ => unreachable!("vectors have 8 or 16 lanes"),
                },
            );
        });
        parallel::chunks(products, block_rows * columns, &|block_of_rows, products| {
            let (height, first_row) = (products.len() / columns, block_of_rows * block_rows);
            let mut block_of_a = Vec::new();
            let block_of_a = layout.rows(height, &mut block_of_a);
            a.decode_rows(first_row, layout, block_of_a);
            let of_block = |block| (0..height).map(move |row| a_scales.of(first_row + row, block, blocks));
            let x: Vec<f32> = (0..blocks).flat_map(of_block).collect();
            let (mut y, mut results) = (vec![0.0; blocks * width], vec![0.0; height * width]);
            for (tile, b) in panel.chunks(length * width).enumerate() {
                let column = first + tile * width;
                let some = width.min(columns - column);
                for (block, y) in y.chunks_mut(width).enumerate() {
                    for (lane, y) in y[..some].iter_mut().enumerate() {
                        *y = b_scales.of(column + lane, block, blocks);
                    }
                }
                // Nothing is added to −0 that changes.
                results.fill(-0.0);
                let some_blocks = (DEPTH / room).max(1);
                let b = b.chunks(some_blocks * room * width);
                let scales = x.chunks(some_blocks * height).zip(y.chunks(some_blocks * width));
                for (i, (b, (x, y))) in b.zip(scales).enumerate() {
                    let a = &block_of_a[i * some_blocks * room..];
                    machine.add_blocks(&ScaledTile { a, stride, b, room, x, y }, &mut results);
                }
                for (products, results) in products.chunks_mut(columns).zip(results.chunks(width)) {
                    products[column..][..some].copy_from_slice(&results[..some]);
                }
            }
        });
    }
    Some(())
}

/// Adds sums, times the scales of rows and of columns, to results.
#[inline(always)]
fn add_scaled(sums: &[f32], [x, y]: [&[f32]; 2], results: &mut [f32]) {
    match y.len() {
        // Loops of a known length are vectors.
        4 => add_scaled_rows::<4>(sums, [x, y], results),
        8 => add_scaled_rows::<8>(sums, [x, y], results),
        width => {
            for ((sums, results), x) in sums.chunks(width).zip(results.chunks_mut(width)).zip(x) {
                for ((sum, result), y) in sums.iter().zip(results).zip(y) {
                    *result += sum * x * y;
                }
            }
        }
    }
}

/// Adds them for so many columns.
#[inline(always)]
fn add_scaled_rows<const WIDTH: usize>(sums: &[f32], [x, y]: [&[f32]; 2], results: &mut [f32]) {
    let (sums, results) = (sums.as_chunks::<WIDTH>().0, results.as_chunks_mut::<WIDTH>().0);
    let y = y.first_chunk::<WIDTH>().expect("a scale for each column");
    for ((sums, results), x) in sums.iter().zip(results).zip(x) {
        for column in 0..WIDTH {
            results[column] += sums[column] * x * y[column];
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

/// Few rows of A with all of B, whose codes are decoded on the way, once for each row; `None` where
/// there is no kernel that is faster.
fn by_vectors(
    level: Level,
    [a, b]: [Matrix<'_>; 2],
    size: usize,
    [a_scales, b_scales]: [Scales<'_>; 2],
    products: &mut [f32],
) -> Option<()> {
    /// Codes that a thread takes at once, and rows of B whose blocks are summed one after the
    /// other.
    const CODES: usize = 1 << 16;
    const ROWS: usize = 64;
    /// Rows of A of one block, at most: for more of them decoded panels are faster.
    const FEW: usize = 3;
    let machine = Machine::new(level).filter(|machine| machine.has_vector_products())?;
    let plan = b.decoder.plan()?;
    let (rows, columns, length) = (a.rows(), b.rows(), b.length);
    let blocks = length.div_ceil(size);
    let done = if blocks > 1 { machine.blocks_with_vector(length, size) } else { 0 };
    let few = match (blocks, done) {
        (1, _) => FEW,
        // Without a kernel for these blocks, panels take less time, and less memory for scales.
        (_, 0) => 0,
        _ => TILE_ROWS - 1,
    };
    if rows > few {
        return None;
    }
    let mut vectors = vec![0.0; a.codes.len()];
    a.decoder.decode(a.codes, &mut vectors);
    let nibbles = b.decoder.nibbles().filter(|_| blocks == 1 && machine.decodes_by_nibbles());
    let nibbles = nibbles.and_then(|plan| {
        let interleaved = vectors.chunks(length).map(|vector| Interleaved::new(plan, vector));
        Some((plan, interleaved.collect::<Option<Vec<_>>>()?))
    });
    let some = (CODES / length).next_multiple_of(LANES).max(LANES);
    // All of A with some rows of B, whose codes stay in the cache: row of A by row of A.
    let of_columns = |chunk: usize, sums: &mut [f32]| {
        let (first, count) = (chunk * some, sums.len() / rows);
        if let Some((plan, x)) = &nibbles {
            let codes = &b.codes[first * length..][..count * length];
            for ((row, sums), x) in sums.chunks_mut(count).enumerate().zip(x) {
                machine.products_with_rows(plan, x, codes, sums);
                let x = a_scales.of(row, 0, blocks);
                for (i, sum) in sums.iter_mut().enumerate() {
                    *sum = *sum * x * b_scales.of(first + i, 0, blocks);
                }
            }
            return;
        }
        // Nothing is added to −0 that changes.
        sums.fill(-0.0);
        let (mut y, mut x, mut of_block) = (vec![0.0; blocks * ROWS], vec![0.0; blocks], [0.0; ROWS]);
        for start in (0..count).step_by(ROWS) {
            let some = ROWS.min(count - start);
            let width = some.next_multiple_of(LANES);
            for (block, y) in y.chunks_exact_mut(width).take(blocks).enumerate() {
                b_scales.of_rows(first + start, block, blocks, &mut y[..some]);
            }
            let codes = &b.codes[(first + start) * length..][..some * length];
            for (row, vector) in vectors.chunks(length).enumerate() {
                let sums = &mut sums[row * count + start..][..some];
                x.iter_mut().enumerate().for_each(|(block, x)| *x = a_scales.of(row, block, blocks));
                let of = ScaledRows { vector, rows: codes, stride: length, size, x: &x, y: &y };
                if done > 0 {
                    machine.add_blocks_with_vector(plan, &of, sums);
                }
                let rest =
                    vector.chunks(size).zip(x.iter().zip(y.chunks_exact(width))).enumerate().skip(done);
                for (block, (vector, (&x, y))) in rest {
                    let of_block = &mut of_block[..some];
                    machine.products_with_vector(plan, vector, &codes[block * size..], length, of_block);
                    level.vectorize(
                        #[inline(always)]
                        || {
                            for ((sum, of_block), y) in sums.iter_mut().zip(&*of_block).zip(y) {
                                *sum += of_block * x * y;
                            }
                        },
                    );
                }
            }
        }
    };
    if rows == 1 {
        parallel::quick_chunks(products, some, &of_columns);
        return Some(());
    }
    let mut sums = vec![0.0; rows * columns];
    parallel::quick_chunks(&mut sums, some * rows, &of_columns);
    for (chunk, sums) in sums.chunks(some * rows).enumerate() {
        let count = sums.len() / rows;
        for (row, sums) in sums.chunks(count).enumerate() {
            products[row * columns + chunk * some..][..count].copy_from_slice(sums);
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use smallfloat::formats::E4M3FN;

    use super::{
        B_PANEL, Decoder, Kernels, LANES, Layout, Level, Machine, Matrix, Scales, by_vectors, product,
    };

    #[test]
    fn rows_lie_on_lines_of_a_cache() {
        for (length, padded, stride) in [(8, 8, 16), (9, 16, 16), (17, 24, 48), (64, 64, 80), (96, 96, 112)] {
            let layout = Layout::new(length, length);
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
            let layout = Layout::new(length, length);
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
        let code = |i: usize| (i * 7 % 97).to_le_bytes()[0];
        // Few rows of A; and whole tiles, of blocks.
        for (rows, length) in [(3, LANES), (7, 2 * LANES)] {
            let columns = B_PANEL / Layout::new(length, LANES).length + 5;
            let (a, b) = (
                (0..rows * length).map(code).collect::<Vec<_>>(),
                (0..columns * length).map(code).collect::<Vec<_>>(),
            );
            let matrix = |codes| Matrix { codes, length, decoder: &decoder };
            let (mut sums, ones) = (vec![0.0; rows * columns], [Scales::Tensor(1.0); 2]);
            product(Level::detected(), [matrix(&a), matrix(&b)], LANES, ones, &mut sums);
            for column in [0, 1, columns / 2, columns - 6, columns - 5, columns - 1] {
                let mut some = vec![0.0; rows];
                let row = matrix(&b[column * length..][..length]);
                product(Level::Portable, [matrix(&a), row], LANES, ones, &mut some);
                for (row, one) in some.into_iter().enumerate() {
                    assert_eq!(sums[row * columns + column].to_bits(), one.to_bits(), "{row}, {column}");
                }
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
        let ones = [Scales::Tensor(1.0); 2];
        let mut multiply = |level| by_vectors(level, [matrix(&a), matrix(&b)], length, ones, &mut sums);
        assert!(multiply(Level::Portable).is_none());
        let level = Level::detected();
        let has_vectors = multiply(level).is_some();
        let machine = Machine::new(level);
        assert_eq!(has_vectors, machine.is_some_and(Kernels::has_vector_products));
        let expected = [1000_f32, 2000.0, 4000.0, 8000.0].repeat(50);
        assert!(!has_vectors || sums.iter().zip(expected).all(|(sum, x)| sum.to_bits() == x.to_bits()));
    }
}
