//! All 2^32 f32 inputs into small formats of every kind, against the oracle's exact interval ends.
//!
//! The oracle gives runs: intervals of bit patterns with one code and one set of flags. They are
//! expanded and compared byte for byte with what the kernels give; the core's scalar conversion is
//! held to code and flags at both ends of every run.

use std::time::Instant;

use rayon::prelude::*;
use smallfloat::{Format, Projection, Rounding};
use smallfloat_kernels::{Encoder, Level};
use smallfloat_oracle::{Run, f32_runs};
use smallfloat_proof::sweep::{all_f32, run_ends};
use smallfloat_proof::{extensive, oracle_format, oracle_policy, tell};

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

/// Sweeps one format; tells the first difference.
fn sweep_format(name: &str) -> Result<(), String> {
    let format: Format = name.parse().unwrap_or_else(|e| panic!("{name}: {e}"));
    let projection = format.default_projection();
    let start = Instant::now();
    let runs = f32_runs(&oracle_format(&format), &oracle_policy(&projection));
    ends_agree(&format, &projection, &runs);
    let swept = all_f32::<u8>(&format, &projection, Level::detected(), &runs);
    assert_eq!(swept.inputs, 1 << 32, "{name}");
    tell(&format!("{name}, {} runs", runs.len()), swept.inputs, start);
    match swept.first {
        Some(first) => Err(format!("{} mismatches, the first: {first}", swept.mismatches)),
        None => Ok(()),
    }
}

/// The core at both ends of every run, where the neighbours belong to other runs.
fn ends_agree(format: &Format, projection: &Projection, runs: &[Run]) -> u64 {
    let (compared, wrong) = run_ends(format, projection, runs);
    assert_eq!(wrong, None);
    compared
}

#[test]
fn all_f32_inputs() {
    let start = Instant::now();
    let mut names = NAMES.to_vec();
    if extensive() {
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

/// The patterns within 256 of a run's end, and every 1021st: what is left of a sweep where a full
/// one takes too long.
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
    let start = Instant::now();
    let compared: u64 = MORE_NAMES
        .par_iter()
        .map(|name| {
            let format: Format = name.parse().unwrap_or_else(|e| panic!("{name}: {e}"));
            let projection = format.default_projection();
            let runs = f32_runs(&oracle_format(&format), &oracle_policy(&projection));
            let bits = sample(&runs);
            let source: Vec<f32> = bits.iter().map(|&bits| f32::from_bits(bits)).collect();
            let mut codes = vec![0_u8; source.len()];
            Encoder::<f32>::new(&format, &projection).expect("a small format").encode(&source, &mut codes);
            let mut run = 0;
            for (&bits, &code) in bits.iter().zip(&codes) {
                while runs[run].end_inclusive < bits {
                    run += 1;
                }
                assert_eq!(u64::from(code), runs[run].code, "{name} {bits:#010x}");
            }
            codes.len() as u64
        })
        .sum();
    tell("samples", compared, start);
}

#[test]
fn run_ends_in_every_mode() {
    let start = Instant::now();
    let names = NAMES.iter().chain(&MORE_NAMES);
    let cases: Vec<(&str, Rounding)> = names
        .flat_map(|&name| Rounding::DETERMINISTIC.iter().map(move |&rounding| (name, rounding)))
        .collect();
    let compared: u64 = cases
        .par_iter()
        .map(|&(name, rounding)| {
            let format: Format = name.parse().unwrap_or_else(|e| panic!("{name}: {e}"));
            let projection = format.default_projection().with_rounding(rounding);
            ends_agree(&format, &projection, &f32_runs(&oracle_format(&format), &oracle_policy(&projection)))
        })
        .sum();
    tell("run ends", compared, start);
}
