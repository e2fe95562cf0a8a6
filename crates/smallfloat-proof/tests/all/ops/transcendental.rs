//! Roots, quotients and transcendental operations against MPFR and Arb: the exact results of the
//! core, cut to 120 bits, have the digests of `data/transcendental-digests.csv`, which
//! `verification/transcendental-digests` computed from those libraries.
//!
//! `SMALLFLOAT_EXTENSIVE=1` takes every code of the 16-bit formats instead of every 64th.

use std::fmt::Write as _;
use std::ops::RangeInclusive;

use sha2::{Digest, Sha256};
use smallfloat_proof::truth::{Row, UNARY, line, rows};
use smallfloat_proof::{check_all, extensive};

const FILE: &str = include_str!("../../../data/transcendental-digests.csv");

fn digest(text: &str) -> String {
    Sha256::digest(text).iter().fold(String::new(), |mut out, byte| {
        write!(out, "{byte:02x}").expect("writing to a string");
        out
    })
}

/// What differs, and how to see the code: the core's lines are left in a file beside which the
/// script puts its own.
fn explain(row: &Row<'_>, lines: &str) -> String {
    let name = row.operation.name();
    let path = std::env::temp_dir().join(format!("{name}-{}-{}.txt", row.format, row.stride));
    let kept =
        std::fs::write(&path, lines).map_or_else(|error| error.to_string(), |()| path.display().to_string());
    let format = row.format;
    format!(
        "{name} {format} (stride {}): another digest; compare {kept} with `verification/transcendental-digests --lines {name} \
         {format} {}`, and see `--show {name} {format} CODE`",
        row.stride, row.stride
    )
}

/// Compares the rows of formats of so many bits.
fn check_digests(widths: RangeInclusive<u32>) {
    let of_width = rows(FILE).into_iter().filter(|row| widths.contains(&row.format.width()));
    let (taken, left): (Vec<_>, Vec<_>) =
        of_width.partition(|row| extensive() || row.format.width() < 16 || row.stride > 1);
    if !left.is_empty() {
        let count: u64 = left.iter().map(|row| row.count).sum();
        println!(
            "LEFT OUT: {} rows of 16-bit formats, {count} results; SMALLFLOAT_EXTENSIVE=1 takes them",
            left.len()
        );
    }
    let bits = |row: &Row<'_>| row.format.width();
    let (low, high) = (taken.iter().map(bits).min(), taken.iter().map(bits).max());
    let what = format!("digests of MPFR and Arb, {} to {} bits", low.unwrap_or(0), high.unwrap_or(0));
    check_all(&what, &taken, |row| {
        let mut lines = String::new();
        for result in row.results() {
            lines.push_str(&line(result));
            lines.push('\n');
        }
        let count = lines.lines().count() as u64;
        assert_eq!(count, row.count, "{} {}", row.operation.name(), row.format);
        let wrong = digest(&lines) != row.digest;
        (count, wrong.then(|| explain(row, &lines)).into_iter().collect())
    });
}

/// A few seconds' worth: mutants meet it first (`verification/mutants/run`).
#[test]
fn digests_of_few_bits() {
    check_digests(0..=5);
}

#[test]
fn digests_of_bytes() {
    check_digests(6..=8);
}

#[test]
fn digests_of_half_words() {
    check_digests(9..=u32::MAX);
}

/// The file covers every operation over every format that it claims to.
#[test]
fn coverage() {
    let all = rows(FILE);
    let of = |operation: &str| all.iter().filter(|row| row.operation.name() == operation).count();
    // 120 formats of at most 8 bits, three wider ones, two of them twice.
    for (operation, _) in UNARY {
        assert_eq!(of(operation), 125, "{operation}");
    }
    // 64 formats of at most 6 bits and four 8-bit ones.
    for operation in ["Divide", "Hypot", "ArcTan2", "ArcTan2Pi"] {
        assert_eq!(of(operation), 68, "{operation}");
    }
    assert_eq!(all.len(), UNARY.len() * 125 + 4 * 68);
    for row in &all {
        let codes = (row.format.max_code() + 1) / row.stride;
        assert_eq!(row.count, codes.pow(u32::try_from(row.operation.arity()).expect("small")));
    }
}
