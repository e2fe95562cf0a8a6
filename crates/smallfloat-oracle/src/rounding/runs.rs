//! All 2^32 f32 inputs as intervals with one result each, so that a sweep needs no exact
//! arithmetic.

use crate::{Dyadic, Flags, OracleFormat, Policy, Table, convert, formats};

/// An interval of f32 bit patterns that all convert to the same code with the same flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Run {
    /// The first bit pattern.
    pub start: u32,
    /// The last bit pattern.
    pub end_inclusive: u32,
    /// The code that all of them give.
    pub code: u64,
    /// The flags that all of them set, D included.
    pub flags: u8,
}

const INFINITY: u32 = 0x7f80_0000;
const SIGN: u32 = 0x8000_0000;

/// The conversion from f32 into a format as maximal runs, in the order of the bit patterns and
/// without a gap.
///
/// The stochastic modes are as good as any here, since a policy carries its random number.
pub fn f32_runs(format: &OracleFormat, policy: &Policy) -> Vec<Run> {
    let table = Table::new(format);
    let result = |bits: u32| convert(bits.into(), &formats::BINARY32, &table, policy);
    let mut runs: Vec<Run> = Vec::new();
    for sign in [0, SIGN] {
        for (first, last) in segments(&table) {
            let mut start = first;
            loop {
                let here = result(sign | start);
                // The last pattern that still gives the same as `start`.
                let (mut same, mut beyond) = (start, last + 1);
                while same + 1 < beyond {
                    let middle = same + (beyond - same) / 2;
                    if result(sign | middle) == here { same = middle } else { beyond = middle }
                }
                push(&mut runs, sign | start, sign | same, here);
                if same == last {
                    break;
                }
                start = same + 1;
            }
        }
    }
    runs
}

// Cuts the magnitudes 0..=0x7fffffff so that along a piece the result changes in one direction
// only: every number that the format holds exactly is a piece of its own (X is off there and on at
// both sides), and D changes at the smallest normal f32.
fn segments(table: &Table) -> Vec<(u32, u32)> {
    let mut alone: Vec<u32> =
        (0..table.len()).filter_map(|index| Dyadic::to_f32_bits(&table.point(index).0)).collect();
    alone.extend([0, INFINITY]);
    alone.sort_unstable();
    alone.dedup();
    let mut cuts: Vec<u32> = alone.iter().flat_map(|&bits| [bits, bits + 1]).collect();
    cuts.push(0x0080_0000);
    cuts.sort_unstable();
    cuts.dedup();
    let ends = cuts.iter().skip(1).map(|&cut| cut - 1).chain([SIGN - 1]);
    cuts.iter().copied().zip(ends).collect()
}

// Appends a run, joining it to the last one where nothing changes between them.
fn push(runs: &mut Vec<Run>, start: u32, end_inclusive: u32, (code, flags): (u64, Flags)) {
    match runs.last_mut() {
        Some(last) if last.code == code && last.flags == flags.0 && last.end_inclusive + 1 == start => {
            last.end_inclusive = end_inclusive;
        }
        _ => runs.push(Run { start, end_inclusive, code, flags: flags.0 }),
    }
}
