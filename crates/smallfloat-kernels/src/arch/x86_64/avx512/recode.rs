//! Bytes → bytes by tables of 256 in registers, with events.

use std::arch::x86_64::*;

use crate::arch::machine::Avx512;
use crate::arch::machine::avx512::lanes::{STEP, Table256, bytes, count, load_bytes, store_bytes};
use crate::event_counts::EventCounts;
use crate::plan::recode::{Counted, RecodeTable};

/// Converts a slice and counts what happened.
pub(crate) fn recode(_: Avx512, table: &RecodeTable, codes: &[u8], results: &mut [u8]) -> EventCounts {
    assert_eq!(codes.len(), results.len(), "codes and results must have the same length");
    // SAFETY: the proof says that the machine has these instructions.
    unsafe { run(table, codes, results) }
}

struct Tables {
    codes: Table256,
    /// Of flags and of counted events; each is left out where no code has any.
    flags: Option<Table256>,
    counted: Option<Table256>,
    /// The events that some code has.
    events: u8,
}

/// What the steps add up.
struct Sums {
    flags: __m512i,
    counted: Counted,
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,popcnt")]
fn run(table: &RecodeTable, codes: &[u8], results: &mut [u8]) -> EventCounts {
    let events = table.counted.bytes.iter().fold(0, |all, events| all | events);
    let has_flags = !table.flags.rows.is_empty();
    let tables = Tables {
        codes: Table256::new(&table.codes.bytes),
        flags: if has_flags { Some(Table256::new(&table.flags.bytes)) } else { None },
        counted: if events != 0 { Some(Table256::new(&table.counted.bytes)) } else { None },
        events,
    };
    let mut sums = Sums { flags: _mm512_setzero_si512(), counted: [0; 5] };
    let (steps, rest) = codes.as_chunks::<STEP>();
    let (result_steps, result_rest) = results.as_chunks_mut::<STEP>();
    for (code, result) in steps.iter().zip(result_steps) {
        step(&tables, code, u64::MAX, result, &mut sums);
    }
    if !rest.is_empty() {
        let (mut code, mut result) = ([0; STEP], [0; STEP]);
        code[..rest.len()].copy_from_slice(rest);
        step(&tables, &code, u64::MAX >> (STEP - rest.len()), &mut result, &mut sums);
        result_rest.copy_from_slice(&result[..rest.len()]);
    }
    let mut flags = [0; STEP];
    store_bytes(&mut flags, sums.flags);
    RecodeTable::counts(codes.len(), &flags, sums.counted)
}

/// Converts 64 codes, of which those that `used` has a bit for count.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,popcnt")]
fn step(tables: &Tables, code: &[u8; STEP], used: u64, result: &mut [u8; STEP], sums: &mut Sums) {
    let code = load_bytes(code);
    store_bytes(result, tables.codes.at(code));
    if let Some(flags) = &tables.flags {
        sums.flags = _mm512_or_si512(sums.flags, _mm512_maskz_mov_epi8(used, flags.at(code)));
    }
    if let Some(counted) = &tables.counted {
        let happened = counted.at(code);
        for (event, total) in sums.counted.iter_mut().enumerate() {
            let event = 1 << event;
            if tables.events & event != 0 {
                *total += count(used & _mm512_test_epi8_mask(happened, bytes(event)));
            }
        }
    }
}
