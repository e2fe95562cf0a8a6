//! Streams of P3109 operations on Binary8p3se, a round for each line of standard input;
//! `scripts/bench/operations` times the peers between the rounds.
//!
//! The first line of output holds, in milliseconds, the first use of each unary function that has a
//! table. Each round prints nanoseconds per element for each operation.

use std::hint::black_box;
use std::io::{self, BufRead, Write};
use std::time::Instant;

use smallfloat::ops::Operation;
use smallfloat::p3109::Specialization;
use smallfloat_kernels::Elementwise;

const LENGTH: usize = 1 << 18;
const FORMAT: &str = "Binary8p3se";

fn specialization(operation: Operation) -> Specialization {
    let formats = vec![FORMAT; operation.arity() + 1].join(", ");
    let text = format!("{}<{formats}, (NearestTiesToEven, SatFinite)>", operation.name());
    text.parse().unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn main() -> io::Result<()> {
    let mut out = io::stdout().lock();
    let first_use: Vec<String> = Operation::all()
        .filter(|operation| operation.arity() == 1)
        .map(|operation| {
            let specialization = specialization(operation);
            let start = Instant::now();
            let kernel = Elementwise::without_flags(&specialization).expect("a numeric operation");
            let mut result = [0_u8; 256];
            let all: Vec<u8> = (0..=255).collect();
            kernel.unary(&all, &mut result, None);
            black_box(result);
            format!("\"{}\": {:.4}", operation.name(), start.elapsed().as_secs_f64() * 1e3)
        })
        .collect();
    writeln!(out, "{{{}}}", first_use.join(", "))?;
    out.flush()?;

    let mut state = 1_u64;
    let mut codes = || -> Vec<u8> {
        (0..LENGTH)
            .map(|_| {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                (state >> 56) as u8
            })
            .collect()
    };
    let (x, y, z) = (codes(), codes(), codes());
    let mut results = vec![0_u8; LENGTH];
    let kernels: Vec<(Operation, Elementwise)> = ["Add", "Multiply", "FMA", "Exp"]
        .iter()
        .filter_map(|name| name.parse::<Operation>().ok())
        .map(|operation| {
            (operation, Elementwise::without_flags(&specialization(operation)).expect("a numeric operation"))
        })
        .collect();
    for line in io::stdin().lock().lines() {
        line?;
        let times: Vec<String> = kernels
            .iter()
            .map(|(operation, kernel)| {
                let start = Instant::now();
                let flags = match operation.arity() {
                    1 => kernel.unary(&x, &mut results, None),
                    2 => kernel.binary(&x, &y, &mut results, None),
                    _ => kernel.ternary(&x, &y, &z, &mut results, None),
                };
                let time = start.elapsed().as_secs_f64() * 1e9 / LENGTH as f64;
                black_box((flags, &results));
                format!("\"{}\": {time:.4}", operation.name())
            })
            .collect();
        writeln!(out, "{{{}}}", times.join(", "))?;
        out.flush()?;
    }
    Ok(())
}
