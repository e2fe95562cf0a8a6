//! Bytes → bytes by a table of 256, with events: sixteen byte shuffles, one for each upper half of
//! a code, of which those are left out whose rows hold nothing but zeros. Events are rare by code,
//! so their rows are few.

use std::arch::x86_64::*;

use crate::arch::machine::Avx2;
use crate::arch::machine::avx2::lanes::{STEP, bytes as splat, count};
use crate::event_counts::EventCounts;
use crate::plan::recode::{ByteTable, Counted, RecodeTable};

/// The bytes of 32 codes.
#[inline]
#[target_feature(enable = "avx2")]
fn look_up(table: &ByteTable, code: __m256i) -> __m256i {
    // Added with saturation, this leaves the low bits of codes below 16 as they are and sets the
    // bit that means "zero" to a shuffle in all others.
    let below_16 = splat(0x70);
    let mut all = _mm256_setzero_si256();
    for (high, row) in &table.rows {
        // SAFETY: the reference is to 16 readable bytes.
        let row = _mm256_broadcastsi128_si256(unsafe { _mm_loadu_si128(row.as_ptr().cast()) });
        let index = _mm256_adds_epu8(_mm256_xor_si256(code, splat(*high)), below_16);
        all = _mm256_or_si256(all, _mm256_shuffle_epi8(row, index));
    }
    all
}

/// Converts a slice and counts what happened.
pub(crate) fn recode(_: Avx2, table: &RecodeTable, codes: &[u8], results: &mut [u8]) -> EventCounts {
    assert_eq!(codes.len(), results.len(), "codes and results must have the same length");
    // SAFETY: the proof says that the machine has these instructions.
    unsafe { run(table, codes, results) }
}

/// What the steps add up.
struct Sums {
    flags: __m256i,
    counted: Counted,
}

#[target_feature(enable = "avx2,popcnt")]
fn run(table: &RecodeTable, codes: &[u8], results: &mut [u8]) -> EventCounts {
    let mut sums = Sums { flags: _mm256_setzero_si256(), counted: [0; 5] };
    let (steps, rest) = codes.as_chunks::<STEP>();
    let (result_steps, result_rest) = results.as_chunks_mut::<STEP>();
    for (code, result) in steps.iter().zip(result_steps) {
        step(table, code, u32::MAX, result, &mut sums);
    }
    if !rest.is_empty() {
        let (mut code, mut result) = ([0; STEP], [0; STEP]);
        code[..rest.len()].copy_from_slice(rest);
        step(table, &code, u32::MAX >> (STEP - rest.len()), &mut result, &mut sums);
        result_rest.copy_from_slice(&result[..rest.len()]);
    }
    let mut flags = [0; STEP];
    // SAFETY: the reference is to 32 writable bytes.
    unsafe { _mm256_storeu_si256(flags.as_mut_ptr().cast(), sums.flags) };
    RecodeTable::counts(codes.len(), &flags, sums.counted)
}

/// Converts 32 codes, of which those that `used` has a bit for count.
#[inline]
#[target_feature(enable = "avx2,popcnt")]
fn step(table: &RecodeTable, code: &[u8; STEP], used: u32, result: &mut [u8; STEP], sums: &mut Sums) {
    // SAFETY: the reference is to 32 readable bytes.
    let code = unsafe { _mm256_loadu_si256(code.as_ptr().cast()) };
    // SAFETY: the reference is to 32 writable bytes.
    unsafe { _mm256_storeu_si256(result.as_mut_ptr().cast(), look_up(&table.codes, code)) };
    let is_used = used_lanes(used);
    sums.flags = _mm256_or_si256(sums.flags, _mm256_and_si256(look_up(&table.flags, code), is_used));
    let events = _mm256_and_si256(look_up(&table.counted, code), is_used);
    for (event, total) in sums.counted.iter_mut().enumerate() {
        let mask = splat(1 << event);
        *total += count::<u8>(_mm256_cmpeq_epi8(_mm256_and_si256(events, mask), mask));
    }
}

/// All bits of the lanes whose bit is set.
#[inline]
#[target_feature(enable = "avx2")]
fn used_lanes(used: u32) -> __m256i {
    let bit_of_lane = _mm256_set1_epi64x(0x8040_2010_0804_0201_u64.cast_signed());
    #[rustfmt::skip]
    let byte_of_lane = _mm256_setr_epi8(
        0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1,
        2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3,
    );
    let bits = _mm256_shuffle_epi8(_mm256_set1_epi32(used.cast_signed()), byte_of_lane);
    _mm256_cmpeq_epi8(_mm256_and_si256(bits, bit_of_lane), bit_of_lane)
}
