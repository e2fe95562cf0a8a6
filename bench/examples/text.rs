//! Printing and parsing of typed scalars beside the crates people use today, in one run: a table in
//! Markdown for docs/evidence/performance.md.
//!
//! Every round measures both sides on the same 4,096 values; a ratio is the median of the rounds'
//! ratios, so that what else the machine does weighs on both sides alike.

use std::hint::black_box;
use std::time::{Duration, Instant};

const LENGTH: usize = 4096;
const ROUNDS: usize = 201;

fn values() -> Vec<f32> {
    let mut state = 1_u64;
    (0..LENGTH)
        .map(|_| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ((state >> 40) as f32 / 16777216.0 - 0.5) * 8.0
        })
        .collect()
}

fn seconds(mut work: impl FnMut()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

/// The median of how many times as long the second took as the first.
fn ratio(mut rounds: Vec<(Duration, Duration)>) -> f64 {
    let ratio = |(ours, theirs): &(Duration, Duration)| theirs.as_secs_f64() / ours.as_secs_f64();
    rounds.sort_by(|a, b| ratio(a).total_cmp(&ratio(b)));
    ratio(&rounds[rounds.len() / 2])
}

macro_rules! row {
    ($format:literal, $ours:ty, $peer:literal, $theirs:ty) => {{
        let ours: Vec<$ours> = values().iter().map(|x| <$ours>::from_f32(*x)).collect();
        let theirs: Vec<$theirs> = values().iter().map(|x| <$theirs>::from_f32(*x)).collect();
        // Both parse the peer's texts.
        let texts: Vec<String> = theirs.iter().map(|x| x.to_string()).collect();
        let (mut print, mut parse) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            print.push((
                seconds(|| ours.iter().for_each(|x| drop(black_box(black_box(x).to_string())))),
                seconds(|| theirs.iter().for_each(|x| drop(black_box(black_box(x).to_string())))),
            ));
            parse.push((
                seconds(|| texts.iter().for_each(|x| _ = black_box(black_box(x).parse::<$ours>().ok()))),
                seconds(|| texts.iter().for_each(|x| _ = black_box(black_box(x).parse::<$theirs>().ok()))),
            ));
        }
        println!("| {} | {} | {:.2} | {:.2} |", $format, $peer, ratio(print), ratio(parse));
    }};
}

fn main() {
    println!("| format | peer | print | parse |");
    println!("| --- | --- | ---: | ---: |");
    row!("`e4m3fn`", smallfloat::E4M3Fn, "float8 0.7", float8::F8E4M3);
    row!("`e5m2`", smallfloat::E5M2, "float8 0.7", float8::F8E5M2);
    row!("`binary16`", smallfloat::F16, "half 2.7", half::f16);
    row!("`bfloat16`", smallfloat::Bf16, "half 2.7", half::bf16);
}
