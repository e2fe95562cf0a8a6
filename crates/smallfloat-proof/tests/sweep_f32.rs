//! All 2^32 f32 inputs into every small format, against the oracle's exact interval ends.
//!
//! The oracle gives runs: intervals of bit patterns with one code and one set of flags. They are expanded and compared
//! byte for byte with what the kernels give; the core's scalar conversion is held to code and flags at both ends of
//! every run.

use std::ops::Range;
use std::time::Instant;

use rayon::prelude::*;
use smallfloat::{Flags, Format, Rounding, convert, formats};
use smallfloat_kernels::{Encoder, Events};
use smallfloat_oracle::{self as oracle, Run, Value, f32_runs};
use smallfloat_proof::{core_flags, oracle_format, oracle_policy};

const SLICE: usize = 1 << 16;
const INFINITY: u32 = 0x7f80_0000;

/// Always swept in full: every named 8-bit format.
const NAMES: [&str; 13] = [
    "cfloat8_1_4_3:bias=7",
    "cfloat8_1_4_3:bias=11,subnormals=gradual",
    "cfloat8_1_5_2:bias=15",
    "e4m3fn",
    "e5m2",
    "e4m3fnuz",
    "e5m2fnuz",
    "e4m3b11fnuz",
    "e4m3",
    "e3m4",
    "e8m0fnu",
    "binary8p3se",
    "binary8p4se",
];

/// Swept in full with `SMALLFLOAT_EXTENSIVE=1`, around all run ends and in strides without it.
const MORE_NAMES: [&str; 28] = [
    "e3m2fn",
    "e2m3fn",
    "e2m1fn",
    "binary8p1se",
    "binary8p1uf",
    "binary8p3sf",
    "binary8p4sf",
    "binary6p3se",
    "binary4p2se",
    "binary4p2sf",
    "cfloat8_1_4_3:bias=0",
    "cfloat8_1_4_3:bias=11",
    "cfloat8_1_4_3:bias=31",
    "cfloat8_1_4_3:bias=63",
    "cfloat8_1_4_3:bias=63,subnormals=gradual",
    "cfloat8_1_5_2:bias=0",
    "cfloat8_1_5_2:bias=31",
    "cfloat8_1_5_2:bias=63",
    "cfloat8_1_5_2:bias=63,subnormals=gradual",
    "binary8p1ue",
    "binary8p2se",
    "binary8p5se",
    "binary8p6sf",
    "binary8p7se",
    "binary8p8uf",
    "ieee:k=6,p=3",
    "minifloat:k=8,p=4,bias=7,subnormals=none",
    "minifloat:k=8,p=4,bias=7,subnormals=flush",
];

/// What a slice or a format should have counted, from the runs.
#[derive(Default)]
struct Expected {
    flags: Flags,
    saturated: u64,
    zeros: u64,
    underflowed: u64,
}

fn overlap(run: Range<u64>, with: Range<u64>) -> u64 {
    run.end.min(with.end).saturating_sub(run.start.max(with.start))
}

fn patterns(run: &Run) -> Range<u64> {
    u64::from(run.start)..u64::from(run.end_inclusive) + 1
}

impl Expected {
    fn add(&mut self, run: &Run, zero: bool, within: Range<u64>) {
        let part = patterns(run).start.max(within.start)..patterns(run).end.min(within.end);
        let flags = core_flags(oracle::Flags(run.flags));
        self.flags |= flags;
        let length = overlap(part.clone(), 0..1 << 32);
        self.saturated += if flags.contains(Flags::OVERFLOW) { length } else { 0 };
        if zero {
            self.zeros += length;
            for sign in [0, 1_u64 << 31] {
                self.underflowed += overlap(part.clone(), sign + 1..sign + u64::from(INFINITY));
            }
        }
    }
}

/// Sweeps the slices of one format; returns the first mismatch of each failing slice and all events.
fn sweep(format: &Format, encoder: &Encoder<f32>, runs: &[Run]) -> Result<Events, String> {
    let oracle = oracle_format(format);
    let is_zero = |run: &Run| matches!(oracle.value(run.code), Value::Finite(x, _) if x.is_zero());
    let slices: Vec<u32> = (0..1 << 16).map(|high: u32| high << 16).collect();
    // One set of buffers for a piece of the work, not for each slice.
    let sweep_piece = |piece: &[u32]| -> Result<Events, String> {
        let (mut source, mut codes, mut expected) =
            (vec![0_f32; SLICE], vec![0_u8; SLICE], vec![0_u8; SLICE]);
        let mut all = Events::default();
        for &first in piece {
            for (x, low) in source.iter_mut().zip(0_u32..) {
                *x = f32::from_bits(first | low);
            }
            let within = u64::from(first)..u64::from(first) + SLICE as u64;
            let mut counts = Expected::default();
            let from = runs.partition_point(|run| u64::from(run.end_inclusive) < within.start);
            for run in runs[from..].iter().take_while(|run| u64::from(run.start) < within.end) {
                let at = |bits: u64| usize::try_from(bits - within.start).expect("within the slice");
                let part = at(patterns(run).start.max(within.start))..at(patterns(run).end.min(within.end));
                expected[part].fill(u8::try_from(run.code).expect("at most 8 bits"));
                counts.add(run, is_zero(run), within.clone());
            }
            let events = encoder.encode(&source, &mut codes);
            if codes != expected {
                let at = codes.iter().zip(&expected).position(|(a, b)| a != b).unwrap_or(0);
                let bits = source[at].to_bits();
                return Err(format!(
                    "{format} {bits:#010x}: got {:#x}, expected {:#x}",
                    codes[at], expected[at]
                ));
            }
            let seen = (events.flags, events.saturated, events.zeros, events.underflowed);
            let wanted = (counts.flags, counts.saturated, counts.zeros, counts.underflowed);
            if seen != wanted {
                return Err(format!("{format} slice {first:#010x}: events {seen:?}, expected {wanted:?}"));
            }
            all = all.merge(events);
        }
        Ok(all)
    };
    slices.par_chunks(1 << 10).map(sweep_piece).try_reduce(Events::default, |a, b| Ok(a.merge(b)))
}

/// The core at both ends of every run, where the neighbours belong to other runs.
fn check_ends(format: &Format, how: &smallfloat::Projection, runs: &[Run]) -> u64 {
    let mut compared = 0;
    for run in runs {
        for bits in
            [run.start, run.start.saturating_add(1), run.end_inclusive.saturating_sub(1), run.end_inclusive]
        {
            if (run.start..=run.end_inclusive).contains(&bits) {
                let got = convert(bits.into(), &formats::BINARY32, format, how);
                let flags = core_flags(oracle::Flags(run.flags));
                assert_eq!((got.value, got.flags), (run.code, flags), "{format} {how:?} {bits:#010x}");
                compared += 1;
            }
        }
    }
    compared
}

fn sweep_format(name: &str) -> Result<(), String> {
    let start = Instant::now();
    let format: Format = name.parse().unwrap_or_else(|e| panic!("{name}: {e}"));
    let how = format.default_projection();
    let runs = f32_runs(&oracle_format(&format), &oracle_policy(&how));
    check_ends(&format, &how, &runs);
    let prepared = Instant::now();
    let encoder = Encoder::<f32>::new(&format, &how).expect("a small format");
    let events = sweep(&format, &encoder, &runs)?;

    let nans = 2 * u64::from(u32::MAX / 2 - INFINITY);
    assert_eq!((events.elements, events.nans, events.infinities), (1 << 32, nans, 2), "{name}");
    println!(
        "{name}: 2^32 codes, {} runs, {} saturated, {:.2} s and {:.2} s for the runs",
        runs.len(),
        events.saturated,
        prepared.elapsed().as_secs_f64(),
        prepared.duration_since(start).as_secs_f64()
    );
    Ok(())
}

#[test]
fn all_f32_inputs() {
    let start = Instant::now();
    let extensive = std::env::var_os("SMALLFLOAT_EXTENSIVE").is_some_and(|value| value == "1");
    let mut names = NAMES.to_vec();
    if extensive {
        names.extend(MORE_NAMES);
    } else {
        eprintln!(
            "LEFT OUT without SMALLFLOAT_EXTENSIVE=1: the full f32 sweeps of {} more formats",
            MORE_NAMES.len()
        );
    }
    let wrong: Vec<String> = names.iter().filter_map(|name| sweep_format(name).err()).collect();
    println!("{} formats in {:.1} s", names.len(), start.elapsed().as_secs_f64());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The patterns within 256 of a run's end, and every 1021st: what is left of a sweep where a full one takes too long.
fn sample(runs: &[Run]) -> Vec<u32> {
    let mut bits: Vec<u32> = (0..u32::MAX).step_by(1021).collect();
    for run in runs {
        bits.extend(run.start.saturating_sub(256)..=run.start.saturating_add(256));
    }
    bits.sort_unstable();
    bits.dedup();
    bits
}

#[test]
fn samples_of_the_other_formats() {
    let compared: usize = MORE_NAMES
        .par_iter()
        .map(|name| {
            let format: Format = name.parse().unwrap_or_else(|e| panic!("{name}: {e}"));
            let how = format.default_projection();
            let runs = f32_runs(&oracle_format(&format), &oracle_policy(&how));
            let bits = sample(&runs);
            let source: Vec<f32> = bits.iter().map(|&bits| f32::from_bits(bits)).collect();
            let mut codes = vec![0_u8; source.len()];
            Encoder::<f32>::new(&format, &how).expect("a small format").encode(&source, &mut codes);
            let mut run = 0;
            for (&bits, &code) in bits.iter().zip(&codes) {
                while runs[run].end_inclusive < bits {
                    run += 1;
                }
                assert_eq!(u64::from(code), runs[run].code, "{name} {bits:#010x}");
            }
            codes.len()
        })
        .sum();
    println!("samples: {compared} compared");
}

#[test]
fn run_ends_in_every_mode() {
    let names = NAMES.iter().chain(&MORE_NAMES);
    let cases: Vec<(&str, Rounding)> =
        names.flat_map(|&name| Rounding::DETERMINISTIC.map(|rounding| (name, rounding))).collect();
    let compared: u64 = cases
        .par_iter()
        .map(|&(name, rounding)| {
            let format: Format = name.parse().unwrap_or_else(|e| panic!("{name}: {e}"));
            let how = format.default_projection().with_rounding(rounding);
            check_ends(&format, &how, &f32_runs(&oracle_format(&format), &oracle_policy(&how)))
        })
        .sum();
    println!("run ends: {compared} compared");
}
