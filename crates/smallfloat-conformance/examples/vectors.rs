//! Test vectors of an operation, given to an implementation; its results are checked, and what it
//! does otherwise is named.
#![expect(clippy::float_cmp, reason = "results are exact")]

use smallfloat_conformance::diagnosis::diagnose;
use smallfloat_conformance::vectors::{
    CheckOptions, FlagSet, LineLayout, UnitUnderTest, VectorPlan, VectorSet, check,
};

/// The magnitudes of E2M1, by code.
const VALUES: [f32; 8] = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0];

/// A multiplier of E2M1 as one might build it: clamped, to nearest, ties to even or away.
fn multiply(x: usize, y: usize, ties_to_even: bool) -> usize {
    let product = VALUES[x & 7] * VALUES[y & 7];
    let reaches = |code: &usize| {
        let middle = f32::midpoint(VALUES[code - 1], VALUES[*code]);
        product > middle || product == middle && (!ties_to_even || code.is_multiple_of(2))
    };
    (x ^ y) & 8 | (1..8).rev().find(reaches).unwrap_or(0)
}

/// What a simulator would print: each line's operands with its own result.
fn simulate(vectors: &str, ties_to_even: bool) -> String {
    let line = |line: &str| match line.split(' ').collect::<Vec<_>>()[..] {
        [x, y, ..] if !line.starts_with('#') => {
            let code = |digit| usize::from_str_radix(digit, 16).expect("a code of four bits");
            format!("{x} {y} {:x}\n", multiply(code(x), code(y), ties_to_even))
        }
        _ => format!("{line}\n"),
    };
    vectors.lines().map(line).collect()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let unit = UnitUnderTest::new("Multiply<e2m1fn, e2m1fn, e2m1fn>".parse()?, None)?;
    let plan = VectorPlan::new(&unit, None, 0, None)?;
    let mut vectors = Vec::new();
    VectorSet::new(unit, plan, Some(FlagSet::None)).write(LineLayout::TestFloat, &mut vectors)?;
    let vectors = String::from_utf8(vectors)?;

    let good = check(simulate(&vectors, true).as_bytes(), &CheckOptions::default())?;
    assert!(good.passes() && good.vectors == 256);

    let bad = check(simulate(&vectors, false).as_bytes(), &CheckOptions::default())?;
    // ½ · ½ lies between 0 and ½: with four pairs of signs, the only ties that differ.
    assert_eq!(bad.mismatches, 4);
    let diagnosis = diagnose(&bad);
    let cause = diagnosis.cause().expect("one mistake explains all");
    assert_eq!(cause.mistake.to_string(), "ties go away from zero");

    println!("{} of {} differ: {}", bad.mismatches, bad.vectors, cause.mistake);
    Ok(())
}
