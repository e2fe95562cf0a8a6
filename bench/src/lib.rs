//! Timing kernels beside each other: limits that only move bytes, ours, and peers, every one in
//! every round.
//!
//! A machine is never quiet, so a figure is a kernel's best time of all rounds, and what counts is
//! its ratio to the limit kernel of the same run.

#[cfg(feature = "peers")]
pub mod breadth;
pub mod chart;
pub mod data;
pub mod limits;
pub mod page;
#[cfg(feature = "peers")]
pub mod peers;

use std::hint::black_box;
use std::time::Instant;

/// One kernel on one slice.
pub struct Case<'a> {
    /// Its name in the table.
    pub name: String,
    /// The name of the case whose rate is the limit; itself for a limit.
    pub limit: &'static str,
    run: Box<dyn FnMut() + 'a>,
    best: f64,
}

impl<'a> Case<'a> {
    /// A kernel that works on `elements` elements in each call.
    pub fn new(name: impl Into<String>, limit: &'static str, run: impl FnMut() + 'a) -> Self {
        Self { name: name.into(), limit, run: Box::new(run), best: f64::INFINITY }
    }

    /// Best rate in 10^9 elements a second.
    pub fn rate(&self, elements: usize) -> f64 {
        elements as f64 / self.best / 1e9
    }
}

/// Times every case once a round: enough calls to take about `slice` seconds, and keeps the best.
pub fn time(cases: &mut [Case<'_>], rounds: usize, slice: f64) {
    let calls: Vec<u32> = cases
        .iter_mut()
        .map(|case| {
            // The first call may build tables.
            (case.run)();
            let start = Instant::now();
            (case.run)();
            (slice / start.elapsed().as_secs_f64()).clamp(1.0, 1e6) as u32
        })
        .collect();
    for _ in 0..rounds {
        for (case, &calls) in cases.iter_mut().zip(&calls) {
            let start = Instant::now();
            for _ in 0..calls {
                (case.run)();
            }
            case.best = case.best.min(start.elapsed().as_secs_f64() / f64::from(calls));
        }
    }
    black_box(cases.len());
}

/// Names, rates in Gelem/s and ratios to the limits, as lines of a table.
pub fn lines(cases: &[Case<'_>], elements: usize) -> Vec<(String, f64, f64)> {
    let rate_of = |name: &str| cases.iter().find(|case| case.name == name).map(|case| case.rate(elements));
    cases
        .iter()
        .map(|case| {
            let rate = case.rate(elements);
            (case.name.clone(), rate, rate / rate_of(case.limit).unwrap_or(f64::NAN))
        })
        .collect()
}
