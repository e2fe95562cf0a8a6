//! Exact sums of products of codes, decoded on the way, by `plan/exact.rs`.

use std::arch::aarch64::*;

use crate::arch::machine::Neon;
use crate::arch::machine::decode::{Constants, values};
use crate::arch::machine::lanes::STEP;
use crate::plan::exact::{Accumulators, Cut, ExactPlan};

/// Σ x·y of whole steps of 16 elements, and how many elements that were; `None` if one of them is
/// no number.
pub(crate) fn exact_sum(_: Neon, plan: &ExactPlan, [x, y]: [&[u8]; 2]) -> Option<(i128, usize)> {
    assert_eq!(x.len(), y.len(), "both slices must have the same length");
    let codes = [x.as_chunks().0, y.as_chunks().0];
    // SAFETY: the proof says that the machine has NEON.
    let sum = unsafe { by_accumulators(plan, codes) };
    Some((sum?, codes[0].len() * STEP))
}

#[target_feature(enable = "neon")]
fn by_accumulators(plan: &ExactPlan, [x, y]: [&[[u8; STEP]]; 2]) -> Option<i128> {
    let tables = [Constants::new(&plan.bytes[0]), Constants::new(&plan.bytes[1])];
    let mut total = 0;
    match &plan.accumulators {
        Accumulators::Binary32(cut) => {
            // A lane of binary64 takes four elements of a step.
            let steps = cut.products / 4;
            for (x, y) in x.chunks(steps).zip(y.chunks(steps)) {
                total += integer(in_binary32(cut, &tables, [x, y]))?;
            }
        }
        Accumulators::Binary64(cut) => {
            let steps = cut.additions / 4;
            for (x, y) in x.chunks(steps).zip(y.chunks(steps)) {
                let [upper, lower] = in_binary64(cut, &tables, [x, y]);
                total += integer(upper)? + integer(lower)?;
            }
        }
    }
    Some(total)
}

/// The sum of lanes that hold integers; `None` if one of them is no number.
#[inline]
#[target_feature(enable = "neon")]
fn integer(sums: [float64x2_t; 2]) -> Option<i128> {
    let mut total = 0;
    for sums in sums {
        let mut lanes = [0.0_f64; 2];
        // SAFETY: the reference is to 16 writable bytes.
        unsafe { vst1q_f64(lanes.as_mut_ptr(), sums) };
        for lane in lanes {
            if !lane.is_finite() {
                return None;
            }
            #[expect(clippy::cast_possible_truncation, reason = "an integer below 2^127")]
            let integer = lane as i128;
            total += integer;
        }
    }
    Some(total)
}

/// Four floats in binary64.
#[inline]
#[target_feature(enable = "neon")]
fn widened(x: float32x4_t) -> [float64x2_t; 2] {
    [vcvt_f64_f32(vget_low_f32(x)), vcvt_high_f64_f32(x)]
}

/// Sums of products in two accumulators of binary32, emptied into binary64.
#[inline]
#[target_feature(enable = "neon")]
fn in_binary32(
    cut: &Cut,
    [x_table, y_table]: &[Constants; 2],
    [x, y]: [&[[u8; STEP]]; 2],
) -> [float64x2_t; 2] {
    #[expect(clippy::cast_possible_truncation, reason = "exact: 1.5 times a power of two")]
    let start = vdupq_n_f32(cut.start as f32);
    let mut total = [vdupq_n_f64(0.0); 2];
    // Each of two pairs of accumulators takes two vectors of a step.
    let steps = cut.additions / 2;
    for (x, y) in x.chunks(steps).zip(y.chunks(steps)) {
        let (mut upper, mut lower) = ([start; 2], [vdupq_n_f32(0.0); 2]);
        for (x, y) in x.iter().zip(y) {
            let (x, y) = (values(x, x_table), values(y, y_table));
            for i in 0..4 {
                let sum = vfmaq_f32(upper[i % 2], x[i], y[i]);
                let taken = vsubq_f32(sum, upper[i % 2]);
                upper[i % 2] = sum;
                lower[i % 2] = vaddq_f32(lower[i % 2], vfmaq_f32(vnegq_f32(taken), x[i], y[i]));
            }
        }
        for i in 0..2 {
            for part in [vsubq_f32(upper[i], start), lower[i]] {
                for (total, part) in total.iter_mut().zip(widened(part)) {
                    *total = vaddq_f64(*total, part);
                }
            }
        }
    }
    total
}

/// Sums of products, exact in binary32, in two accumulators of binary64.
#[inline]
#[target_feature(enable = "neon")]
fn in_binary64(
    cut: &Cut,
    [x_table, y_table]: &[Constants; 2],
    [x, y]: [&[[u8; STEP]]; 2],
) -> [[float64x2_t; 2]; 2] {
    let start = vdupq_n_f64(cut.start);
    let (mut upper, mut lower) = ([start; 2], [vdupq_n_f64(0.0); 2]);
    for (x, y) in x.iter().zip(y) {
        let (x, y) = (values(x, x_table), values(y, y_table));
        for i in 0..4 {
            for (j, product) in widened(vmulq_f32(x[i], y[i])).into_iter().enumerate() {
                let sum = vaddq_f64(upper[j], product);
                let taken = vsubq_f64(sum, upper[j]);
                upper[j] = sum;
                lower[j] = vaddq_f64(lower[j], vsubq_f64(product, taken));
            }
        }
    }
    [[vsubq_f64(upper[0], start), vsubq_f64(upper[1], start)], lower]
}
