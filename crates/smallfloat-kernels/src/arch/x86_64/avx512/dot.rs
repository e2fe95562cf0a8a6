//! Partial sums of products in the order that `Accumulate::F32` documents, decoded on the way.

use std::arch::x86_64::*;

use crate::arch::machine::Avx512;
use crate::arch::machine::avx512::decode::{Halved, Table, Whole, values};
use crate::arch::machine::avx512::lanes::STEP;
use crate::plan::decode::DecodePlan;

/// Partial sums.
const SUMS: usize = 32;

/// Adds the products of whole steps of 64 elements: the i-th to the partial sum i mod 32, in order.
/// Gives how many elements that were.
pub(crate) fn add_products(
    _: Avx512,
    plans: [&DecodePlan; 2],
    [x, y]: [&[u8]; 2],
    sums: &mut [f32; SUMS],
) -> usize {
    assert_eq!(x.len(), y.len(), "both slices must have the same length");
    // SAFETY: the proof says that the machine has these instructions.
    unsafe {
        match plans.map(|plan| plan.signs) {
            [Some(_), Some(_)] => run(&Halved::new(plans[0]), &Halved::new(plans[1]), [x, y], sums),
            _ => run(&Whole::new(plans[0]), &Whole::new(plans[1]), [x, y], sums),
        }
    }
}

/// Products are exact, so that fused operations round as two would, half of them, and only their
/// latency counts.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn run<T: Table>(table_x: &T, table_y: &T, [x, y]: [&[u8]; 2], sums: &mut [f32; SUMS]) -> usize {
    let mut lanes = [_mm512_setzero_ps(); 2];
    for (lane, sixteen) in lanes.iter_mut().zip(sums.as_chunks::<16>().0) {
        // SAFETY: the reference is to 64 readable bytes; the load needs no alignment.
        *lane = unsafe { _mm512_loadu_ps(sixteen.as_ptr()) };
    }
    let (x, y) = (x.as_chunks::<STEP>().0, y.as_chunks::<STEP>().0);
    for (x, y) in x.iter().zip(y) {
        // SAFETY: this function has the features that tables need.
        let (x, y) = unsafe { (values(x, table_x), values(y, table_y)) };
        for i in 0..4 {
            lanes[i % 2] = _mm512_fmadd_ps(x[i], y[i], lanes[i % 2]);
        }
    }
    for (lane, sixteen) in lanes.iter().zip(sums.as_chunks_mut::<16>().0) {
        // SAFETY: the reference is to 64 writable bytes; the store needs no alignment.
        unsafe { _mm512_storeu_ps(sixteen.as_mut_ptr(), *lane) };
    }
    x.len() * STEP
}
