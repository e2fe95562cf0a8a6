//! Coverage against arithmetic of its own: bins of all pairs of 8-bit operands, counted in f64.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use smallfloat_conformance::coverage::Coverage;
use smallfloat_conformance::vectors::{CheckOptions, UnitUnderTest};

/// The value of a code of E4M3FN: 1 sign, 4 exponent and 3 significand bits, bias 7, NaN 0x7f.
fn e4m3(code: u8) -> f64 {
    let (field, fraction) = (i32::from(code >> 3 & 15), f64::from(code & 7));
    let magnitude = match (field, code & 7) {
        (15, 7) => f64::NAN,
        (0, _) => fraction * 2.0_f64.powi(-9),
        _ => (8.0 + fraction) * 2.0_f64.powi(field - 10),
    };
    if code < 128 { magnitude } else { -magnitude }
}

/// Range, result sign, rounding and last bit of an exact value that is rounded to nearest even.
fn rounding_of(x: f64) -> Option<[&'static str; 4]> {
    if x.is_nan() || x == 0.0 {
        return None;
    }
    // Steps of 2^-9 below 2^-6, of 2^(e - 3) from there on; the index counts all of them.
    let exponent = ((x.abs().to_bits() >> 52) as i32 - 1023).max(-6);
    let steps = x.abs() / 2.0_f64.powi(exponent - 3);
    #[expect(clippy::cast_possible_truncation, reason = "far below 2^63")]
    let below = i64::from(exponent + 6) * 8 + steps.floor() as i64;
    if below > 126 {
        return Some(["beyond the range", "no result sign", "no rounding", "no last bit"]);
    }
    let rounding = match steps.fract() {
        0.0 => "exact",
        rest if rest < 0.5 => "below half",
        0.5 => "tie",
        _ => "above half",
    };
    let up = rounding == "above half" || (rounding == "tie" && below % 2 == 1);
    let range = match below + i64::from(up) {
        127 => "overflows by rounding",
        126 if below == 126 => "largest value",
        0 => "rounds to zero",
        1 if below == 0 => "rounds up to the smallest value",
        // With one bit more below 2^-6, what reaches 2^-6 is at least 2^-6 − 2^-11.
        8 if up && x.abs() >= 2.0_f64.powi(-6) - 2.0_f64.powi(-11) => {
            "rounds up to the smallest normal value, not tiny after rounding"
        }
        8 if up => "rounds up to the smallest normal value, tiny after rounding too",
        index if index < 8 => "subnormal",
        8 => "smallest normal value",
        _ => "normal",
    };
    let sign = match (range, x < 0.0) {
        ("overflows by rounding", _) => "no result sign",
        (_, negative) => ["positive", "negative"][usize::from(negative)],
    };
    Some([range, sign, rounding, if below % 2 == 0 { "even" } else { "odd" }])
}

fn unit(operation: &str) -> UnitUnderTest {
    UnitUnderTest::new(operation.parse().expect("an operation"), None).expect("a unit")
}

/// The bins of a cross that are reachable, by their words.
fn bins(coverage: &Coverage, cross: &str) -> BTreeSet<Vec<String>> {
    let cross = coverage.crosses().find(|found| found.name() == cross).expect("a cross of the unit");
    assert_eq!(cross.unknown().count(), 0);
    let all = cross.reached().chain(cross.missing());
    all.map(|bin| bin.words.iter().map(|word| (*word).to_owned()).collect()).collect()
}

#[test]
fn what_can_be_reached_is_what_all_pairs_reach() {
    for (name, exact) in [
        ("Add<e4m3fn, e4m3fn, e4m3fn>", (|x, y| x + y) as fn(f64, f64) -> f64),
        ("Subtract<e4m3fn, e4m3fn, e4m3fn>", |x, y| x - y),
        ("Multiply<e4m3fn, e4m3fn, e4m3fn>", |x, y| x * y),
    ] {
        let mut expected = BTreeSet::new();
        for pair in 0..=u16::MAX {
            let [x, y] = pair.to_be_bytes().map(e4m3);
            // Sums and products of two such values are exact in f64.
            if let Some(words) = rounding_of(exact(x, y)) {
                expected.insert(words.map(str::to_owned).to_vec());
            }
        }
        let unit = unit(name);
        let coverage = Coverage::new(unit).unwrap();
        assert!(coverage.is_exhaustive());
        assert_eq!(bins(&coverage, "rounding"), expected, "{name}");
    }
}

#[test]
fn each_bin_is_hit_by_its_operands_and_closed_by_them() {
    for name in [
        "Multiply<e5m2, e5m2, e5m2>",
        "Add<binary16, binary16, binary16>",
        "FMA<e2m1fn, e2m1fn, e4m3fn, e4m3fn>",
    ] {
        let unit = unit(name);
        let mut coverage = Coverage::new(unit).unwrap();
        assert_eq!(coverage.total().0, 0);
        let closing = coverage.closing();
        for operands in &closing {
            coverage.count(operands).unwrap();
        }
        let (hit, reachable) = coverage.total();
        assert_eq!(hit, reachable, "{name}");
        assert!(coverage.closing().is_empty() && closing.len() <= reachable, "{name}");
    }
}

/// Codes of many kinds: any, with few ones, with runs of ones, and near others.
fn codes(width: u32, count: usize) -> Vec<u64> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut word = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        state >> 32
    };
    let mask = u64::MAX >> (64 - width);
    let mut last = 0;
    let kinds = (0..count).map(|i| {
        last = match i % 5 {
            0 | 1 => word(),
            2 => word() & word() & word(),
            3 => word() | word() | word(),
            _ => last ^ (1 << (word() % u64::from(width))) ^ (word() & 1) << (width - 1),
        } & mask;
        last
    });
    kinds.collect()
}

/// No vector of wide units reaches what is said to be unreachable, and few are needed to reach what
/// searches found.
#[test]
fn nothing_reaches_what_is_unreachable() {
    for (name, widths, result) in [
        ("Convert<binary32, e4m3fn>", &[32][..], "00 00"),
        ("Convert<binary32, e5m2, (TowardZero, SatFinite)>", &[32], "00 00"),
        ("Add<binary16, binary16, binary16>", &[16, 16], "0000 00"),
        ("Subtract<bfloat16, bfloat16, e5m2>", &[16, 16], "00 00"),
        ("Multiply<bfloat16, bfloat16, bfloat16>", &[16, 16], "0000 00"),
        ("Divide<binary16, binary16, binary16>", &[16, 16], "0000 00"),
        ("Sqrt<binary32, binary16>", &[32], "0000 00"),
        ("FMA<e5m2, e5m2, binary16, binary16>", &[8, 8, 16], "0000 00"),
    ] {
        let mut coverage = Coverage::new(unit(name)).unwrap();
        let unreachable = |coverage: &Coverage| -> Vec<(String, usize)> {
            coverage.crosses().map(|cross| (cross.name().to_owned(), cross.unreachable())).collect()
        };
        let before = unreachable(&coverage);
        assert!(before.iter().any(|(_, bins)| *bins > 0), "{name}");
        let columns: Vec<Vec<u64>> = widths
            .iter()
            .enumerate()
            .map(|(i, width)| codes(*width, 40_000 + 1000 * i).split_off(1000 * i))
            .collect();
        let mut lines = String::new();
        for i in 0..40_000 {
            for (column, width) in columns.iter().zip(widths) {
                let digits = (*width / 4) as usize;
                write!(lines, "{:0digits$X} ", column[i]).expect("a string grows");
            }
            // What the results are does not matter.
            writeln!(lines, "{result}").expect("a string grows");
        }
        let options = CheckOptions { unit: Some(unit(name).into()), ..CheckOptions::default() };
        coverage.read(lines.as_bytes(), &options).unwrap();
        assert_eq!(unreachable(&coverage), before, "{name}");
    }
}
