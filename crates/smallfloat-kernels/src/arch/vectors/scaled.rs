//! Tiles of a matrix product whose blocks have scales: a vector holds one partial sum of as many
//! results as it has lanes, those of one row of A and of as many rows of B, so that adding up the
//! partial sums at the end of each block takes seven additions. For few rows of A, products of a
//! vector with eight rows of codes. As in `tiles.rs`, these functions are inlined into others that
//! have the level's instructions.

use crate::arch::vectors::tiles::Floats;
use crate::plan::partial_sums::{LANES, ScaledRows, ScaledTile};

/// Adds to each result the blocks' sums times their scales, for so many rows of A at once.
///
/// # Safety
/// The machine must have the level's instructions.
#[inline(always)]
pub(in crate::arch) unsafe fn add_blocks<V: Floats, const ROWS: usize>(
    tile: &ScaledTile<'_>,
    results: &mut [f32],
) {
    let (height, blocks) = (results.len() / V::WIDTH, tile.y.len() / V::WIDTH);
    let elements = tile.b.len() / V::WIDTH;
    assert!(tile.x.len() == blocks * height && tile.y.len() == blocks * V::WIDTH, "a scale for each block");
    assert!(results.len() == height * V::WIDTH && tile.b.len() == elements * V::WIDTH, "whole vectors");
    assert!(tile.room.is_multiple_of(LANES) && elements.is_multiple_of(LANES), "whole partial sums");
    assert!(elements.div_ceil(tile.room) == blocks, "as many blocks as scales");
    assert!(height == 0 || (height - 1) * tile.stride + elements <= tile.a.len(), "rows of A");
    let mut row = 0;
    while row < height {
        // SAFETY: the caller's promise; there are so many rows, as was checked.
        unsafe {
            if height - row >= ROWS {
                add_rows::<V, ROWS>(tile, [row, height, elements], results);
                row += ROWS;
            } else if height - row >= 3 {
                add_rows::<V, 3>(tile, [row, height, elements], results);
                row += 3;
            } else {
                add_rows::<V, 1>(tile, [row, height, elements], results);
                row += 1;
            }
        }
    }
}

/// # Safety
/// The machine must have the level's instructions, and there must be so many rows from the first
/// on, of so many elements.
#[inline(always)]
unsafe fn add_rows<V: Floats, const ROWS: usize>(
    tile: &ScaledTile<'_>,
    [first, height, elements]: [usize; 3],
    results: &mut [f32],
) {
    let (mut block, mut start) = (0, 0);
    while start < elements {
        let steps = tile.room.min(elements - start) / LANES;
        // SAFETY: the caller's promise: all of this lies within the slices.
        unsafe {
            let mut a = [std::ptr::null(); ROWS];
            for (row, a) in a.iter_mut().enumerate() {
                *a = tile.a.as_ptr().add((first + row) * tile.stride + start);
            }
            let b = tile.b.as_ptr().add(start * V::WIDTH);
            // Loops of the usual lengths are unrolled.
            let sums = match steps {
                2 => block_sums::<V, ROWS>(a, b, 2),
                4 => block_sums::<V, ROWS>(a, b, 4),
                _ => block_sums::<V, ROWS>(a, b, steps),
            };
            let y = V::load(tile.y.as_ptr().add(block * V::WIDTH));
            for (row, sum) in sums.into_iter().enumerate() {
                let x = V::all(*tile.x.as_ptr().add(block * height + first + row));
                let result = results.as_mut_ptr().add((first + row) * V::WIDTH);
                V::load(result).plus(sum.times(x).times(y)).store(result);
            }
        }
        (block, start) = (block + 1, start + tile.room);
    }
}

/// The sums of a block's products, from eight partial sums in the order of `partial_sums::total`.
///
/// # Safety
/// The machine must have the level's instructions; the rows and vectors must have eight elements a
/// step.
#[inline(always)]
unsafe fn block_sums<V: Floats, const ROWS: usize>(
    a: [*const f32; ROWS],
    b: *const f32,
    steps: usize,
) -> [V; ROWS] {
    // SAFETY: the caller's promise.
    unsafe {
        let even = plus(pair::<V, ROWS>(a, b, steps, 0), pair::<V, ROWS>(a, b, steps, 2));
        let odd = plus(pair::<V, ROWS>(a, b, steps, 1), pair::<V, ROWS>(a, b, steps, 3));
        plus(even, odd)
    }
}

/// The j-th partial sums and those four after them, added. Both at once, since the sums of one wait
/// for each other.
///
/// # Safety
/// As of [`block_sums`].
#[inline(always)]
unsafe fn pair<V: Floats, const ROWS: usize>(
    a: [*const f32; ROWS],
    b: *const f32,
    steps: usize,
    j: usize,
) -> [V; ROWS] {
    // SAFETY: the caller's promise.
    unsafe {
        let (mut low, mut high) = ([V::zeros(); ROWS], [V::zeros(); ROWS]);
        let mut step = 0;
        while step < steps {
            let element = LANES * step + j;
            let y = V::load(b.add(element * V::WIDTH));
            for (sum, a) in low.iter_mut().zip(a) {
                *sum = sum.plus_product(V::all(*a.add(element)), y);
            }
            let element = element + LANES / 2;
            let y = V::load(b.add(element * V::WIDTH));
            for (sum, a) in high.iter_mut().zip(a) {
                *sum = sum.plus_product(V::all(*a.add(element)), y);
            }
            step += 1;
        }
        plus(low, high)
    }
}

/// # Safety
/// The machine must have the level's instructions.
#[inline(always)]
unsafe fn plus<V: Floats, const ROWS: usize>(mut x: [V; ROWS], y: [V; ROWS]) -> [V; ROWS] {
    for (x, y) in x.iter_mut().zip(y) {
        // SAFETY: the caller's promise.
        *x = unsafe { x.plus(y) };
    }
    x
}

/// Codes of a step of a row, and the length of blocks of which a step has two.
pub(in crate::arch) const STEP: usize = 32;
const HALF: usize = STEP / 2;
/// Rows of codes at once.
pub(in crate::arch) const ROWS: usize = 8;

/// The steps of the rows.
pub(in crate::arch) type Steps<'a> = [&'a [[u8; STEP]]; ROWS];

/// How a level multiplies a vector by eight rows of codes.
pub(in crate::arch) trait EightRows {
    /// The sums of one block's products with the rows' steps from the first on.
    ///
    /// # Safety
    /// The machine must have the level's instructions.
    unsafe fn block(&self, vector: &[[f32; STEP]], rows: &Steps<'_>, first: usize) -> [f32; ROWS];

    /// The sums of the products of both halves of a step.
    ///
    /// # Safety
    /// The machine must have the level's instructions.
    unsafe fn halves(&self, vector: &[f32; STEP], rows: &Steps<'_>, step: usize) -> [[f32; ROWS]; 2];
}

/// Returns how many of the first blocks [`add_blocks_with_vector`] takes: whole ones whose elements
/// are whole steps, or half of one.
pub(in crate::arch) fn whole_blocks(length: usize, size: usize) -> usize {
    let whole = length / size;
    match size {
        HALF => whole / 2 * 2,
        size if size.is_multiple_of(STEP) => whole,
        _ => 0,
    }
}

/// Adds the sums of the first blocks of products, times their scales, to the results.
///
/// # Safety
/// The machine must have the level's instructions.
#[inline(always)]
pub(in crate::arch) unsafe fn add_blocks_with_vector<E: EightRows>(
    eight: &E,
    of: &ScaledRows<'_>,
    results: &mut [f32],
) {
    let blocks = whole_blocks(of.vector.len(), of.size);
    let vector = of.vector[..blocks * of.size].as_chunks::<STEP>().0;
    let width = results.len().next_multiple_of(ROWS);
    for (group, results) in results.chunks_mut(ROWS).enumerate() {
        let first = group * ROWS;
        let mut rows = [&[] as &[[u8; STEP]]; ROWS];
        for (i, row) in rows.iter_mut().enumerate() {
            // Where rows are missing, the last one is taken again.
            let codes = &of.rows[(first + i.min(results.len() - 1)) * of.stride..];
            *row = codes[..blocks * of.size].as_chunks().0;
        }
        let mut sums = [0.0; ROWS];
        sums[..results.len()].copy_from_slice(results);
        let scales = of.x.iter().zip(of.y.chunks_exact(width));
        let mut scales = scales.map(|(x, y)| (x, y[first..].first_chunk::<ROWS>().expect("whole groups")));
        let mut add = |of_block: [f32; ROWS]| {
            let (x, y) = scales.next().expect("a scale for each block");
            for row in 0..ROWS {
                sums[row] += of_block[row] * x * y[row];
            }
        };
        if of.size == HALF {
            for (step, vector) in vector.iter().enumerate() {
                // SAFETY: the caller's promise.
                let [first, second] = unsafe { eight.halves(vector, &rows, step) };
                add(first);
                add(second);
            }
        } else {
            let steps = of.size / STEP;
            for (block, vector) in vector.chunks_exact(steps).enumerate() {
                // SAFETY: the caller's promise.
                add(unsafe { eight.block(vector, &rows, block * steps) });
            }
        }
        match results.first_chunk_mut::<ROWS>() {
            Some(results) => *results = sums,
            None => results.copy_from_slice(&sums[..results.len()]),
        }
    }
}
