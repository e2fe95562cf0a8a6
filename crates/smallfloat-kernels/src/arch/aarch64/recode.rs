//! Bytes → bytes by a table of 256, with events: a look-up for each upper half of a code, of which
//! those are left out whose rows hold nothing but zeros. Events are rare by code, so their rows are
//! few.

use std::arch::aarch64::*;

use crate::arch::machine::Neon;
use crate::arch::machine::lanes::{STEP, Vector, load};
use crate::event_counts::EventCounts;
use crate::plan::recode::{ByteTable, Counted, RecodeTable};

/// The bytes of 16 codes.
#[inline]
#[target_feature(enable = "neon")]
fn look_up(table: &ByteTable, code: Vector) -> Vector {
    let mut all = vdupq_n_u8(0);
    for (high, row) in &table.rows {
        // Codes of other rows are beyond the table, which gives zero.
        all = vorrq_u8(all, vqtbl1q_u8(load(row), veorq_u8(code, vdupq_n_u8(*high))));
    }
    all
}

/// Converts a slice and counts what happened.
pub(crate) fn recode(_: Neon, table: &RecodeTable, codes: &[u8], results: &mut [u8]) -> EventCounts {
    assert_eq!(codes.len(), results.len(), "codes and results must have the same length");
    // SAFETY: the proof says that the machine has these instructions.
    unsafe { run(table, codes, results) }
}

/// What the steps add up.
struct Sums {
    flags: Vector,
    counted: Counted,
}

#[target_feature(enable = "neon")]
fn run(table: &RecodeTable, codes: &[u8], results: &mut [u8]) -> EventCounts {
    let mut sums = Sums { flags: vdupq_n_u8(0), counted: [0; 5] };
    let (steps, rest) = codes.as_chunks::<STEP>();
    let (result_steps, result_rest) = results.as_chunks_mut::<STEP>();
    let used = vdupq_n_u8(0xff);
    for (code, result) in steps.iter().zip(result_steps) {
        step(table, code, used, result, &mut sums);
    }
    if !rest.is_empty() {
        let (mut code, mut result, mut used) = ([0; STEP], [0; STEP], [0; STEP]);
        code[..rest.len()].copy_from_slice(rest);
        used[..rest.len()].fill(0xff);
        step(table, &code, load(&used), &mut result, &mut sums);
        result_rest.copy_from_slice(&result[..rest.len()]);
    }
    let mut flags = [0; STEP];
    // SAFETY: the reference is to 16 writable bytes.
    unsafe { vst1q_u8(flags.as_mut_ptr(), sums.flags) };
    RecodeTable::counts(codes.len(), &flags, sums.counted)
}

/// Converts 16 codes, of which those in the used lanes count.
#[inline]
#[target_feature(enable = "neon")]
fn step(table: &RecodeTable, code: &[u8; STEP], used: Vector, result: &mut [u8; STEP], sums: &mut Sums) {
    let code = load(code);
    // SAFETY: the reference is to 16 writable bytes.
    unsafe { vst1q_u8(result.as_mut_ptr(), look_up(&table.codes, code)) };
    sums.flags = vorrq_u8(sums.flags, vandq_u8(look_up(&table.flags, code), used));
    let events = vandq_u8(look_up(&table.counted, code), used);
    for (event, total) in sums.counted.iter_mut().enumerate() {
        let one = vshrq_n_u8::<7>(vtstq_u8(events, vdupq_n_u8(1 << event)));
        *total += u64::from(vaddvq_u8(one));
    }
}
