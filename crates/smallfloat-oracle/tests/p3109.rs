//! Agreement with the P3109 draft: the golden vectors and the digests of the published value
//! tables.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;

use sha2::{Digest, Sha256};
use smallfloat_oracle::{Exact, OracleFormat, Policy, Rounding, Table, convert, formats, parse, preset};

const PRESETS: [&str; 3] = ["p3109-satfinite", "p3109-satpropagate", "p3109-satnone"];

const MODES: [Rounding; 6] = [
    Rounding::NearestEven,
    Rounding::NearestAway,
    Rounding::TowardZero,
    Rounding::TowardPositive,
    Rounding::TowardNegative,
    Rounding::ToOdd,
];

// Target, exact operand, then a result for each of MODES: one code, or one for each of PRESETS.
const VECTORS: &str = include_str!("../data/p3109-vectors.txt");

fn format(name: &str) -> OracleFormat {
    let (k, rest) = name.trim_start_matches("Binary").split_once('p').expect("K, then p");
    let (p, letters) = rest.split_at(rest.len() - 2);
    let (signed, extended) = (letters.starts_with('s'), letters.ends_with('e'));
    formats::p3109(k.parse().unwrap(), p.parse().unwrap(), signed, extended)
}

fn operand(text: &str) -> Exact {
    match text.split_once('/') {
        Some((n, d)) => Exact::ratio(n.parse().unwrap(), d.parse().unwrap()),
        None => parse(text).unwrap(),
    }
}

fn code(text: &str) -> u64 {
    u64::from_str_radix(text, 16).unwrap()
}

#[test]
fn golden_vectors() {
    let mut checks = 0;
    for line in VECTORS.trim().lines() {
        let cells: Vec<&str> = line.split_whitespace().collect();
        let (format, x) = (format(cells[0]), operand(cells[1]));
        let table = Table::new(&format);
        assert_eq!(cells.len(), 2 + MODES.len(), "{line}");
        for (cell, mode) in cells[2..].iter().zip(MODES) {
            for (index, name) in PRESETS.iter().enumerate() {
                let expected = cell.split('/').nth(index).unwrap_or(cell);
                let policy = preset(name, &format).with_rounding(mode);
                assert_eq!(table.round(&x, &policy).0, code(expected), "{line}: {mode:?} {name}");
                checks += 1;
            }
        }
    }
    assert_eq!(checks, 26 * 6 * 3);
}

#[test]
fn the_older_rule_for_overflow() {
    let result = |name: &str, x: &str, mode| {
        let format = format(name);
        let policy = preset("p3109-satnone-v40", &format).with_rounding(mode);
        Table::new(&format).round(&operand(x), &policy).0
    };
    assert_eq!(result("4p3ue", "3", Rounding::ToOdd), 0x0D);
    assert_eq!(result("4p3ue", "3", Rounding::NearestEven), 0x0E);
    assert_eq!(result("4p2sf", "7/2", Rounding::NearestEven), 0x07);
    assert_eq!(result("4p2sf", "-inf", Rounding::NearestEven), 0x0F);
    assert_eq!(result("8p1uf", "inf", Rounding::NearestEven), 0xFE);
    assert_eq!(result("8p1uf", "-1", Rounding::NearestEven), 0xFF);
    assert_eq!(result("8p4se", "240", Rounding::ToOdd), 0x7F);
}

#[test]
fn stochastic_vectors() {
    let format = format("4p2sf");
    let table = Table::new(&format);
    let policy = preset("p3109-satnone", &format);
    let results = |x: &str, n: u32, mode: fn(u32, u64) -> Rounding| -> Vec<u64> {
        (0..1 << n).map(|r| table.round(&operand(x), &policy.with_rounding(mode(n, r))).0).collect()
    };
    let a = |n, r| Rounding::StochasticA { n, r };
    let b = |n, r| Rounding::StochasticB { n, r };
    let c = |n, r| Rounding::StochasticC { n, r };
    assert_eq!(results("21/16", 1, a), [4, 5]);
    assert_eq!(results("21/16", 1, b), [4, 5]);
    assert_eq!(results("21/16", 1, c), [4, 5]);
    assert_eq!(results("21/16", 2, a), [4, 4, 5, 5]);
    assert_eq!(results("21/16", 2, b), [4, 5, 5, 5]);
    assert_eq!(results("21/16", 2, c), [4, 4, 5, 5]);
    for mode in [a, b, c] {
        assert_eq!(results("21/16", 3, mode), [4, 4, 4, 5, 5, 5, 5, 5]);
        assert_eq!(results("9/8", 2, mode), [4, 4, 4, 5]);
    }
    assert_eq!(results("9/8", 1, a), [4, 4]);
    assert_eq!(results("9/8", 1, b), [4, 5]);
    assert_eq!(results("9/8", 1, c), [4, 4]);
    // With no random bit the three become old acquaintances: towards zero, and nearest with ties
    // away and in.
    assert_eq!(results("11/8", 0, a), [4]);
    assert_eq!(results("5/4", 0, b), [5]);
    assert_eq!(results("5/4", 0, c), [4]);
}

#[test]
fn converted_codes() {
    let (from, to) = (format("8p4se"), format("4p2sf"));
    let table = Table::new(&to);
    let check = |x: u64, policy: Policy| convert(x, &from, &table, &policy).0;
    let none = preset("p3109-satnone", &to);
    assert_eq!(check(0x48, none), 0x06);
    assert_eq!(check(0x7E, none), 0x08);
    assert_eq!(check(0x7E, preset("p3109-satfinite", &to)), 0x07);
    assert_eq!(check(0x7E, none.with_rounding(Rounding::TowardZero)), 0x07);
    // External formats: one zero, and infinity clamps to the largest float.
    let single = Table::new(&formats::BINARY32);
    let clamp = preset("p3109-satfinite", &formats::BINARY32);
    assert_eq!(convert(0x7F, &from, &single, &clamp).0, 0x7F7F_FFFF);
    assert_eq!(convert(0x8000_0000, &formats::BINARY32, &single, &clamp).0, 0);
}

#[test]
fn sample_constants() {
    // Largest, smallest and smallest normal number, from the draft's examples.
    for (name, max, min, normal) in [
        ("8p1se", "0x1p62", "0x1p-63", "0x1p-63"),
        ("8p2se", "0x1p31", "0x1p-32", "0x1p-31"),
        ("8p3se", "49152", "0x1p-17", "0x1p-15"),
        ("8p3sf", "57344", "0x1p-17", "0x1p-15"),
        ("8p4se", "224", "0x1p-10", "0x1p-7"),
        ("8p4sf", "240", "0x1p-10", "0x1p-7"),
        ("8p5se", "15", "0x1p-7", "0x1p-3"),
        ("8p6se", "3.875", "0x1p-6", "0x1p-1"),
        ("8p7se", "1.96875", "0x1p-6", "1"),
        ("8p1ue", "0x1p125", "0x1p-127", "0x1p-127"),
        ("8p1uf", "0x1p126", "0x1p-127", "0x1p-127"),
        ("8p4ue", "53248", "0x1p-18", "0x1p-15"),
        ("8p4uf", "57344", "0x1p-18", "0x1p-15"),
        ("8p8ue", "1.9765625", "0x1p-7", "1"),
        ("8p8uf", "1.984375", "0x1p-7", "1"),
        ("6p3sf", "14", "0x1p-5", "0x1p-3"),
        ("4p2sf", "3", "0x1p-2", "0x1p-1"),
        ("3p1se", "1", "0x1p-1", "0x1p-1"),
        ("16p1ue", "0x1p32765", "0x1p-32767", "0x1p-32767"),
    ] {
        let table = Table::new(&format(name));
        let is = |x: &smallfloat_oracle::Dyadic, text: &str| {
            let Some(Exact::Finite { magnitude, .. }) = parse(text) else { panic!("{text}") };
            magnitude.compare(&smallfloat_oracle::Rational::from(x)).is_eq()
        };
        assert!(is(&table.max().0, max), "{name} max {}", table.max().0);
        assert!(is(&table.point(1).0, min), "{name} min {}", table.point(1).0);
        assert!(is(table.min_normal(), normal), "{name} normal {}", table.min_normal());
    }
}

#[test]
fn every_format_is_in_order_and_rounds_its_own_numbers_to_themselves() {
    let mut count = 0;
    for k in 3..=8u32 {
        for (signed, extended) in [(true, true), (true, false), (false, true), (false, false)] {
            for p in 1..=if signed { k - 1 } else { k } {
                let format = formats::p3109(k, p, signed, extended);
                let table = Table::new(&format);
                let policy = preset("p3109-satnone", &format);
                // Positive codes are in the order of their values.
                assert!((0..table.len()).all(|index| table.point(index).1 == index as u64));
                for code in 0..format.code_count() {
                    for mode in MODES {
                        let (got, _) = convert(code, &format, &table, &policy.with_rounding(mode));
                        assert_eq!(got, code, "{format:?} {mode:?}");
                    }
                }
                count += 1;
            }
        }
    }
    assert_eq!(count, (3..=8).map(|k| 4 * k - 2).sum::<u32>());
}

// The digests of the published value tables, if the data folder is at hand.
#[test]
fn digests_of_the_published_tables() {
    let path = std::env::var_os("SMALLFLOAT_P3109_DIGESTS").map_or_else(
        || {
            PathBuf::from(env!("CARGO_MANIFEST_DIR"))
                .join("../../../shared/data/p3109-table-digests-k3-k8.txt")
        },
        PathBuf::from,
    );
    let Ok(digests) = std::fs::read_to_string(&path) else {
        // Not eprintln, which the test harness would swallow.
        let notice = format!("SKIPPED 120 checks of published value tables: no file {}\n", path.display());
        std::io::stderr().write_all(notice.as_bytes()).unwrap();
        return;
    };
    let mut checks = 0;
    for line in digests.lines().filter(|line| line.starts_with("Binary")) {
        let (name, expected) = line.split_once(' ').expect("a name and a digest");
        let format = format(name.trim_start_matches("Binary"));
        let digits = format.k.div_ceil(4) as usize;
        let mut text = String::new();
        for code in 0..format.code_count() {
            writeln!(text, "{code:0digits$x} {}", format.value(code)).unwrap();
        }
        let mut digest = String::new();
        for byte in Sha256::digest(&text) {
            write!(digest, "{byte:02x}").unwrap();
        }
        assert_eq!(digest, expected, "{name}\n{text}");
        checks += 1;
    }
    assert_eq!(checks, 120, "formats in the digest file");
}
