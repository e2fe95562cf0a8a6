//! Sums of products in binary32: of codes decoded on the way, tiles of a matrix product, and
//! products with a vector.
//!
//! A tile's 24 vectors of four partial sums, with six of A and two of B, fill the 32 registers.

use std::arch::aarch64::*;
use std::ops::Range;

use crate::arch::machine::Neon;
use crate::arch::machine::decode::{Constants, values};
use crate::arch::machine::lanes::STEP;
use crate::arch::vectors::scaled::{self, EightRows, Steps};
use crate::arch::vectors::tiles::{self, Floats};
use crate::plan::decode::DecodePlan;
use crate::plan::partial_sums::{LANES, Partial, ScaledRows, ScaledTile, total};

#[inline]
#[target_feature(enable = "neon")]
fn load(eight: &[f32; LANES]) -> [float32x4_t; 2] {
    // SAFETY: the reference is to 32 readable bytes.
    unsafe { [vld1q_f32(eight.as_ptr()), vld1q_f32(eight.as_ptr().add(4))] }
}

#[inline]
#[target_feature(enable = "neon")]
fn store(eight: &mut [f32; LANES], vectors: [float32x4_t; 2]) {
    // SAFETY: the reference is to 32 writable bytes.
    unsafe {
        vst1q_f32(eight.as_mut_ptr(), vectors[0]);
        vst1q_f32(eight.as_mut_ptr().add(4), vectors[1]);
    }
}

/// Adds the products of whole steps of 32 elements: the i-th to the partial sum i mod 32, in order.
/// Gives how many elements that were.
pub(crate) fn add_products(
    _: Neon,
    plans: [&DecodePlan; 2],
    [x, y]: [&[u8]; 2],
    sums: &mut [f32; 2 * STEP],
) -> usize {
    assert_eq!(x.len(), y.len(), "both slices must have the same length");
    // SAFETY: the proof says that the machine has NEON.
    unsafe { all_products(plans, x, y, sums) }
}

/// Products of values of eight bits are exact, so that fused operations round as two would.
#[target_feature(enable = "neon")]
fn all_products(plans: [&DecodePlan; 2], x: &[u8], y: &[u8], sums: &mut [f32; 2 * STEP]) -> usize {
    let (kx, ky) = (Constants::new(plans[0]), Constants::new(plans[1]));
    let sums = sums.as_chunks_mut::<4>().0;
    let mut lanes = [vdupq_n_f32(0.0); 8];
    for (lane, four) in lanes.iter_mut().zip(&*sums) {
        // SAFETY: the reference is to 16 readable bytes.
        *lane = unsafe { vld1q_f32(four.as_ptr()) };
    }
    let (x, y) = (x.as_chunks::<{ 2 * STEP }>().0, y.as_chunks::<{ 2 * STEP }>().0);
    for (x, y) in x.iter().zip(y) {
        let (x, y) = (x.as_chunks::<STEP>().0, y.as_chunks::<STEP>().0);
        for half in 0..2 {
            let (x, y) = (values(&x[half], &kx), values(&y[half], &ky));
            for i in 0..4 {
                lanes[4 * half + i] = vfmaq_f32(lanes[4 * half + i], x[i], y[i]);
            }
        }
    }
    for (lane, four) in lanes.iter().zip(sums) {
        // SAFETY: the reference is to 16 writable bytes.
        unsafe { vst1q_f32(four.as_mut_ptr(), *lane) };
    }
    x.len() * 2 * STEP
}

/// Adds the products of rows of A and up to four rows of B, in a part of their length that is a
/// multiple of eight, to the partial sums of their pairs, row of A by row of A. `stride` is from
/// one row to the next.
pub(crate) fn add_rows(_: Neon, rows: [&[f32]; 2], stride: usize, part: &Range<usize>, sums: &mut [Partial]) {
    // SAFETY: the proof says that the machine has NEON.
    unsafe { all_rows(rows, stride, part, sums) }
}

#[target_feature(enable = "neon")]
fn all_rows(rows: [&[f32]; 2], stride: usize, part: &Range<usize>, sums: &mut [Partial]) {
    // SAFETY: this function has the level's instructions.
    unsafe { tiles::add_rows::<[float32x4_t; 2]>(rows, stride, part, sums) };
}

/// The rows of B that [`add_blocks`] takes.
pub(crate) const BLOCK_COLUMNS: usize = <[float32x4_t; 2]>::WIDTH;

/// Adds to each result, row of A by row of A, the blocks' sums times their scales.
pub(crate) fn add_blocks(_: Neon, tile: &ScaledTile<'_>, results: &mut [f32]) {
    // SAFETY: the proof says that the machine has NEON.
    unsafe { all_blocks(tile, results) }
}

#[target_feature(enable = "neon")]
fn all_blocks(tile: &ScaledTile<'_>, results: &mut [f32]) {
    // SAFETY: this function has the level's instructions.
    unsafe { scaled::add_blocks::<[float32x4_t; 2], 3>(tile, results) };
}

impl Floats for [float32x4_t; 2] {
    const WIDTH: usize = 8;

    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn zeros() -> Self {
        [vdupq_n_f32(0.0); 2]
    }

    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn all(x: f32) -> Self {
        [vdupq_n_f32(x); 2]
    }

    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: the caller's promise.
        unsafe { [vld1q_f32(from), vld1q_f32(from.add(4))] }
    }

    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: the caller's promise.
        unsafe {
            vst1q_f32(to, self[0]);
            vst1q_f32(to.add(4), self[1]);
        }
    }

    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn plus(self, x: Self) -> Self {
        [vaddq_f32(self[0], x[0]), vaddq_f32(self[1], x[1])]
    }

    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn times(self, x: Self) -> Self {
        [vmulq_f32(self[0], x[0]), vmulq_f32(self[1], x[1])]
    }

    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn plus_product(self, x: Self, y: Self) -> Self {
        [vfmaq_f32(self[0], x[0], y[0]), vfmaq_f32(self[1], x[1], y[1])]
    }
}

/// The sums of partial sums, as `plan/partial_sums.rs` adds them up.
pub(crate) fn totals(_: Neon, partial: &[Partial], sums: &mut [f32]) {
    assert_eq!(partial.len(), sums.len(), "a sum for each element's partial sums");
    // SAFETY: the proof says that the machine has NEON.
    unsafe { all_totals(partial, sums) }
}

#[target_feature(enable = "neon")]
fn all_totals(partial: &[Partial], sums: &mut [f32]) {
    for (partial, sum) in partial.iter().zip(sums) {
        *sum = eight_total(load(partial));
    }
}

#[inline]
#[target_feature(enable = "neon")]
fn eight_total([low, high]: [float32x4_t; 2]) -> f32 {
    let four = vaddq_f32(low, high);
    vaddv_f32(vadd_f32(vget_low_f32(four), vget_high_f32(four)))
}

/// The sums of products of a vector and as many codes from the start of each row. Rows are `stride`
/// apart.
pub(crate) fn products_with_vector(
    _: Neon,
    plan: &DecodePlan,
    vector: &[f32],
    rows: &[u8],
    stride: usize,
    sums: &mut [f32],
) {
    // SAFETY: the proof says that the machine has NEON.
    unsafe { with_vector(plan, vector, rows, stride, sums) }
}

#[target_feature(enable = "neon")]
fn with_vector(plan: &DecodePlan, vector: &[f32], rows: &[u8], stride: usize, sums: &mut [f32]) {
    let k = Constants::new(plan);
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
#[target_feature(enable = "neon")]
fn two_rows(k: &Constants, vector: &[f32], [first, second]: [&[u8]; 2]) -> [Partial; 2] {
    let (vector_steps, vector_rest) = vector.as_chunks::<STEP>();
    let ((first, first_rest), (second, second_rest)) = (first.as_chunks(), second.as_chunks());
    let mut sums = [[vdupq_n_f32(0.0); 2]; 2];
    for ((x, first), second) in vector_steps.iter().zip(first).zip(second) {
        add_step(k, x, [first, second], &mut sums);
    }
    if !vector_rest.is_empty() {
        let (mut x, mut codes) = ([0.0; STEP], [[0; STEP]; 2]);
        x[..vector_rest.len()].copy_from_slice(vector_rest);
        codes[0][..first_rest.len()].copy_from_slice(first_rest);
        codes[1][..second_rest.len()].copy_from_slice(second_rest);
        add_step(k, &x, [&codes[0], &codes[1]], &mut sums);
    }
    let mut partial = [[0.0; LANES]; 2];
    store(&mut partial[0], sums[0]);
    store(&mut partial[1], sums[1]);
    partial
}

#[inline]
#[target_feature(enable = "neon")]
fn add_step(k: &Constants, x: &[f32; STEP], codes: [&[u8; STEP]; 2], sums: &mut [[float32x4_t; 2]; 2]) {
    let rows = [values(codes[0], k), values(codes[1], k)];
    for (i, x) in x.as_chunks::<LANES>().0.iter().enumerate() {
        let x = load(x);
        for (sum, row) in sums.iter_mut().zip(&rows) {
            // SAFETY: this function has the level's instructions.
            *sum = unsafe { sum.plus_product(x, [row[2 * i], row[2 * i + 1]]) };
        }
    }
}

/// Adds the sums of blocks of such products, times their scales, to the results.
pub(crate) fn add_blocks_with_vector(_: Neon, plan: &DecodePlan, of: &ScaledRows<'_>, results: &mut [f32]) {
    // SAFETY: the proof says that the machine has NEON.
    unsafe { add_blocks_of_rows(plan, of, results) }
}

#[target_feature(enable = "neon")]
fn add_blocks_of_rows(plan: &DecodePlan, of: &ScaledRows<'_>, results: &mut [f32]) {
    // SAFETY: this function has the level's instructions.
    unsafe { scaled::add_blocks_with_vector(&Twos(Constants::new(plan)), of, results) }
}

/// Four times two rows, whose codes are decoded so.
struct Twos(Constants);

impl Twos {
    /// The sums of two rows over some halves of a step.
    #[inline]
    #[target_feature(enable = "neon")]
    fn add(&self, x: &[[f32; STEP]], codes: [&[[u8; STEP]]; 2], sums: &mut [[float32x4_t; 2]; 2]) {
        for ((x, first), second) in x.iter().zip(codes[0]).zip(codes[1]) {
            add_step(&self.0, x, [first, second], sums);
        }
    }
}

impl EightRows for Twos {
    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn block(&self, vector: &[[f32; scaled::STEP]], rows: &Steps<'_>, first: usize) -> [f32; LANES] {
        let mut totals = [0.0; LANES];
        for (rows, totals) in rows.as_chunks::<2>().0.iter().zip(totals.as_chunks_mut::<2>().0) {
            let mut sums = [[vdupq_n_f32(0.0); 2]; 2];
            for (i, x) in vector.iter().enumerate() {
                let codes = [rows[0][first + i].as_chunks().0, rows[1][first + i].as_chunks().0];
                self.add(x.as_chunks().0, codes, &mut sums);
            }
            *totals = [eight_total(sums[0]), eight_total(sums[1])];
        }
        totals
    }

    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn halves(&self, x: &[f32; scaled::STEP], rows: &Steps<'_>, step: usize) -> [[f32; LANES]; 2] {
        let mut halves = [[0.0; LANES]; 2];
        for (half, totals) in halves.iter_mut().enumerate() {
            for (rows, totals) in rows.as_chunks::<2>().0.iter().zip(totals.as_chunks_mut::<2>().0) {
                let mut sums = [[vdupq_n_f32(0.0); 2]; 2];
                let codes = [rows[0][step].as_chunks().0, rows[1][step].as_chunks().0];
                let codes = [&codes[0][half..=half], &codes[1][half..=half]];
                self.add(&x.as_chunks().0[half..=half], codes, &mut sums);
                *totals = [eight_total(sums[0]), eight_total(sums[1])];
            }
        }
        halves
    }
}
