//! Products of a vector and rows of codes, two rows in a vector: with one sum for each row, and
//! with the sums of blocks, times their scales.

use std::arch::x86_64::*;

use crate::arch::machine::Avx512;
use crate::arch::machine::avx512::decode::{Halved, PAIR, Table, Whole, values_of_pair};
use crate::arch::machine::avx512::gemm::{COLUMNS, PAIRS, load};
use crate::arch::vectors::scaled::{self, EightRows, Steps};
use crate::plan::decode::DecodePlan;
use crate::plan::partial_sums::{LANES, ScaledRows};

/// The sums of products of a vector and as many codes from the start of each row. Rows are `stride`
/// apart.
pub(crate) fn products_with_vector(
    _: Avx512,
    plan: &DecodePlan,
    vector: &[f32],
    rows: &[u8],
    stride: usize,
    sums: &mut [f32],
) {
    // SAFETY: the proof says that the machine has these instructions.
    unsafe {
        match plan.signs {
            Some(_) => with_vector(&Halved::new(plan), vector, rows, stride, sums),
            None => with_vector(&Whole::new(plan), vector, rows, stride, sums),
        }
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi")]
fn with_vector<T: Table>(table: &T, vector: &[f32], rows: &[u8], stride: usize, sums: &mut [f32]) {
    for (group, sums) in sums.chunks_mut(COLUMNS).enumerate() {
        // Where rows are missing, the last one is taken again.
        let row = |i: usize| &rows[(group * COLUMNS + i.min(sums.len() - 1)) * stride..][..vector.len()];
        let found = pairs_of_rows(table, vector, std::array::from_fn(row));
        let found = totals(found);
        match sums.first_chunk_mut::<COLUMNS>() {
            Some(sums) => *sums = found,
            None => sums.copy_from_slice(&found[..sums.len()]),
        }
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi")]
fn pairs_of_rows<T: Table>(table: &T, vector: &[f32], rows: [&[u8]; COLUMNS]) -> [__m512; PAIRS] {
    let (steps, rest) = vector.as_chunks::<PAIR>();
    let mut codes = [&[] as &[[u8; PAIR]]; COLUMNS];
    for (codes, row) in codes.iter_mut().zip(rows) {
        *codes = &row.as_chunks().0[..steps.len()];
    }
    let mut total = [_mm512_setzero_ps(); PAIRS];
    for (i, x) in steps.iter().enumerate() {
        for (pair, total) in total.iter_mut().enumerate() {
            let codes = [&codes[2 * pair][i], &codes[2 * pair + 1][i]];
            *total = add_step(table, x, codes, *total);
        }
    }
    if !rest.is_empty() {
        let (mut x, mut codes) = ([0.0; PAIR], [[0; PAIR]; COLUMNS]);
        x[..rest.len()].copy_from_slice(rest);
        for (codes, row) in codes.iter_mut().zip(rows) {
            codes[..rest.len()].copy_from_slice(&row[row.len() - rest.len()..]);
        }
        for (pair, total) in total.iter_mut().enumerate() {
            *total = add_step(table, &x, [&codes[2 * pair], &codes[2 * pair + 1]], *total);
        }
    }
    total
}

/// Adds the sums of blocks of such products, times their scales, to the results.
pub(crate) fn add_blocks_with_vector(_: Avx512, plan: &DecodePlan, of: &ScaledRows<'_>, results: &mut [f32]) {
    // SAFETY: the proof says that the machine has these instructions.
    unsafe {
        match plan.signs {
            Some(_) => add_blocks(&Halved::new(plan), of, results),
            None => add_blocks(&Whole::new(plan), of, results),
        }
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi")]
fn add_blocks<T: Table>(table: &T, of: &ScaledRows<'_>, results: &mut [f32]) {
    // SAFETY: this function has the level's instructions.
    unsafe { scaled::add_blocks_with_vector(&Pairs(table), of, results) }
}

/// Four pairs of rows, whose codes this table decodes.
struct Pairs<'a, T>(&'a T);

impl<T: Table> EightRows for Pairs<'_, T> {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi")]
    unsafe fn block(&self, vector: &[[f32; PAIR]], rows: &Steps<'_>, first: usize) -> [f32; COLUMNS] {
        let mut total = [_mm512_setzero_ps(); PAIRS];
        for (i, x) in vector.iter().enumerate() {
            for (pair, total) in total.iter_mut().enumerate() {
                let codes = [&rows[2 * pair][first + i], &rows[2 * pair + 1][first + i]];
                *total = add_step(self.0, x, codes, *total);
            }
        }
        totals(total)
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi")]
    unsafe fn halves(&self, x: &[f32; PAIR], rows: &Steps<'_>, step: usize) -> [[f32; COLUMNS]; 2] {
        let zeros = _mm512_setzero_ps();
        let (mut first, mut second) = ([zeros; PAIRS], [zeros; PAIRS]);
        let [a, b, c, d] = x.as_chunks::<LANES>().0 else { unreachable!("a step has four times eight") };
        let [a, b, c, d] = [a, b, c, d].map(
            #[inline(always)]
            |x| _mm512_broadcast_f32x8(load(x)),
        );
        for pair in 0..PAIRS {
            let codes = [&rows[2 * pair][step], &rows[2 * pair + 1][step]];
            // SAFETY: this function has the features that tables need.
            let values = unsafe { values_of_pair(codes, self.0) };
            first[pair] = _mm512_fmadd_ps(b, values[1], _mm512_fmadd_ps(a, values[0], zeros));
            second[pair] = _mm512_fmadd_ps(d, values[3], _mm512_fmadd_ps(c, values[2], zeros));
        }
        [totals(first), totals(second)]
    }
}

/// What `partial_sums::total` gives for the partial sums of eight rows, of which a vector has two.
#[inline]
#[target_feature(enable = "avx512f")]
fn totals([a, b, c, d]: [__m512; PAIRS]) -> [f32; COLUMNS] {
    // Partial sums j and j + 4 of four rows; then those two apart, of a row and of the fourth after
    // it.
    let four = |x, y| {
        _mm512_add_ps(
            _mm512_shuffle_f32x4::<0b10_00_10_00>(x, y),
            _mm512_shuffle_f32x4::<0b11_01_11_01>(x, y),
        )
    };
    let (low, high) = (four(a, b), four(c, d));
    let two = _mm512_add_ps(
        _mm512_shuffle_ps::<0b01_00_01_00>(low, high),
        _mm512_shuffle_ps::<0b11_10_11_10>(low, high),
    );
    let one = _mm512_add_ps(
        _mm512_shuffle_ps::<0b10_00_10_00>(two, two),
        _mm512_shuffle_ps::<0b11_01_11_01>(two, two),
    );
    let in_order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 0, 4, 8, 12, 1, 5, 9, 13);
    let one = _mm512_castps512_ps256(_mm512_permutexvar_ps(in_order, one));
    let mut totals = [0.0; COLUMNS];
    // SAFETY: the reference is to 32 writable bytes; the store needs no alignment.
    unsafe { _mm256_storeu_ps(totals.as_mut_ptr(), one) };
    totals
}

/// Adds the products of a vector's elements and codes of a pair of rows.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi")]
fn add_step<T: Table>(table: &T, x: &[f32; PAIR], codes: [&[u8; PAIR]; 2], mut total: __m512) -> __m512 {
    // SAFETY: this function has the features that tables need.
    let rows = unsafe { values_of_pair(codes, table) };
    for (row, x) in rows.iter().zip(x.as_chunks::<LANES>().0) {
        total = _mm512_fmadd_ps(_mm512_broadcast_f32x8(load(x)), *row, total);
    }
    total
}
