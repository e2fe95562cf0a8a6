//! The special cases of every operation, row by row: IEEE 754's and P3109's tables, Table 6 of the
//! paper's digest, the corners that `docs/semantics.md` decides. Sums and the spelling of calls are
//! in `sums.rs`.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use smallfloat::ops::{Comparison, Operand, Operation, OperationOptions, Predicate, Semantics, dot};
use smallfloat::p3109::{Answer, Function, Group, Specialization};
use smallfloat::{Flags, project};
use smallfloat_proof::Scramble;
use smallfloat_proof::calls::{call, check_rows, code, format, hex, truth};

/// Tables of special cases, each below its name in brackets.
const TABLES: &str = include_str!("../../../data/special-cases.txt");

/// Returns the rows of a table, each as its four cells.
fn table(name: &str) -> Vec<[&'static str; 4]> {
    let (_, rest) = TABLES.split_once(&format!("\n[{name}]\n")).expect(name);
    let rows = rest.lines().take_while(|line| !line.starts_with('['));
    let rows = rows.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let cells = |line: &'static str| line.split('|').map(str::trim).collect::<Vec<_>>();
    rows.map(|line| cells(line).try_into().expect(line)).collect()
}

#[test]
fn calls_with_their_results() {
    for (name, tesla, count) in [
        ("paper: table 6", true, 13),
        ("paper: table 6 with gradual subnormals", true, 13),
        ("paper: table 6, results in UHP", false, 18),
        ("paper: operands are clamped", true, 35),
        ("paper: R30", true, 3),
        ("paper: R31", true, 6),
        ("paper: R34", true, 3),
        ("paper: R35", true, 6),
        ("paper: R36 and R37", true, 5),
        ("semantics: S1", false, 13),
        ("semantics: S3", false, 19),
        ("semantics: S9", false, 9),
        ("semantics: S10", false, 16),
        ("P3109: golden lines", false, 11),
        ("P3109: infinite and nearly exact results", false, 35),
    ] {
        let rows = table(name);
        assert_eq!(rows.len(), count, "{name}");
        check_rows(&rows, tesla);
    }
}

// ---- The two tables of special cases ----

/// −∞, −1, −0, 0, 1, ∞, NaN, and −2 and 2 as results.
const LETTERS: &str = "Maz0bPNdD";
const OPERANDS: [char; 7] = ['M', 'a', 'z', '0', 'b', 'P', 'N'];

/// The codes of the letters; a P3109 format has no −0.
const CODES: [(&str, [u64; 9]); 7] = [
    ("binary16", [0xfc00, 0xbc00, 0x8000, 0, 0x3c00, 0x7c00, 0x7e00, 0xc000, 0x4000]),
    ("bfloat16", [0xff80, 0xbf80, 0x8000, 0, 0x3f80, 0x7f80, 0x7fc0, 0xc000, 0x4000]),
    (
        "binary32",
        [
            0xff80_0000,
            0xbf80_0000,
            0x8000_0000,
            0,
            0x3f80_0000,
            0x7f80_0000,
            0x7fc0_0000,
            0xc000_0000,
            0x4000_0000,
        ],
    ),
    ("e5m2", [0xfc, 0xbc, 0x80, 0, 0x3c, 0x7c, 0x7e, 0xc0, 0x40]),
    ("e4m3", [0xf8, 0xb8, 0x80, 0, 0x38, 0x78, 0x7c, 0xc0, 0x40]),
    ("binary8p4se", [0xff, 0xc0, 0, 0, 0x40, 0x7f, 0x80, 0xc8, 0x48]),
    ("binary8p3se", [0xff, 0xc0, 0, 0, 0x40, 0x7f, 0x80, 0xc4, 0x44]),
];

fn letter(name: &str, letter: char) -> u64 {
    let row = CODES.iter().find(|row| row.0 == name).expect("a format with letters");
    row.1[LETTERS.find(letter).expect("a letter")]
}

/// Rows: x from −∞ to NaN as in `OPERANDS`; in a row y in the same order. Rounded to nearest.
const IEEE: [(&str, [&str; 7]); 17] = [
    ("Add", ["MMMMMNN", "Mdaa0PN", "Maz0bPN", "Ma00bPN", "M0bbDPN", "NPPPPPN", "NNNNNNN"]),
    ("Subtract", ["NMMMMMN", "P0aadMN", "Pb0zaMN", "Pb00aMN", "PDbb0MN", "PPPPPNN", "NNNNNNN"]),
    ("Multiply", ["PPNNMMN", "Pb0zaMN", "N00zzNN", "Nzz00NN", "Maz0bPN", "MMNNPPN", "NNNNNNN"]),
    ("Divide", ["NPPMMNN", "0bPMazN", "00NNzzN", "zzNN00N", "zaMPb0N", "NMMPPNN", "NNNNNNN"]),
    ("Remainder", ["NNNNNNN", "azNNzaN", "zzNNzzN", "00NN00N", "b0NN0bN", "NNNNNNN", "NNNNNNN"]),
    ("Fmod", ["NNNNNNN", "azNNzaN", "zzNNzzN", "00NN00N", "b0NN0bN", "NNNNNNN", "NNNNNNN"]),
    ("CopySign", ["MMMPPPP", "aaabbbb", "zzz0000", "zzz0000", "aaabbbb", "MMMPPPP", "NNNNNNN"]),
    ("Minimum", ["MMMMMMN", "MaaaaaN", "MazzzzN", "Maz000N", "Maz0bbN", "Maz0bPN", "NNNNNNN"]),
    ("Maximum", ["Maz0bPN", "aaz0bPN", "zzz0bPN", "0000bPN", "bbbbbPN", "PPPPPPN", "NNNNNNN"]),
    ("MinimumNumber", ["MMMMMMM", "Maaaaaa", "Mazzzzz", "Maz0000", "Maz0bbb", "Maz0bPP", "Maz0bPN"]),
    ("MaximumNumber", ["Maz0bPM", "aaz0bPa", "zzz0bPz", "0000bP0", "bbbbbPb", "PPPPPPP", "Maz0bPN"]),
    ("MinimumMagnitude", ["Maz0bMN", "aaz0aaN", "zzzzzzN", "00z000N", "baz0bbN", "Maz0bPN", "NNNNNNN"]),
    ("MaximumMagnitude", ["MMMMMPN", "MaaabPN", "Maz0bPN", "Ma00bPN", "MbbbbPN", "PPPPPPN", "NNNNNNN"]),
    ("MinimumMagnitudeNumber", ["Maz0bMM", "aaz0aaa", "zzzzzzz", "00z0000", "baz0bbb", "Maz0bPP", "Maz0bPN"]),
    ("MaximumMagnitudeNumber", ["MMMMMPM", "MaaabPa", "Maz0bPz", "Ma00bP0", "MbbbbPb", "PPPPPPP", "Maz0bPN"]),
    ("MinimumFinite", ["Maz0bMM", "aaaaaaa", "zazzzzz", "0az0000", "baz0bbb", "Maz0bPP", "Maz0bPN"]),
    ("MaximumFinite", ["Maz0bPM", "aaz0baa", "zzz0bzz", "0000b00", "bbbbbbb", "Paz0bPP", "Maz0bPN"]),
];

/// Where P3109 differs by more than having one zero.
const P3109: [(&str, [&str; 7]); 2] = [
    ("Divide", ["NPNNMNN", "0bNNa0N", "00NN00N", "00NN00N", "0aNNb0N", "NMNNPNN", "NNNNNNN"]),
    ("CopySign", ["MMPPPPN", "aabbbbN", "000000N", "000000N", "aabbbbN", "MMPPPPN", "NNNNNNN"]),
];

/// Operations of one operand, in the order of `OPERANDS`: IEEE's result, P3109's.
const UNARY: [(&str, &str, &str); 5] = [
    ("Convert", "Maz0bPN", "Ma00bPN"),
    ("Negate", "Pb0zaMN", "Pb00aMN"),
    ("Abs", "Pb00bPN", "Pb00bPN"),
    ("Sqrt", "NNz0bPN", "NN00bPN"),
    ("Recip", "zaMPb0N", "0aNNb0N"),
];

/// Operations of three operands, defined below by the others.
const TERNARY: [&str; 3] = ["FMA", "FAA", "Clamp"];

/// Returns the operation with the letters −0 and NaN of either sign.
fn is_same(name: &str, expected: char, value: u64) -> bool {
    let wanted = letter(name, expected);
    // IEEE 754 leaves the sign of a NaN open.
    value == wanted || (expected == 'N' && format(name).decode(value).is_nan() && value & wanted == wanted)
}

/// Expected flags: I for a NaN, Z for a pole of finite operands; nothing here is inexact or
/// subnormal.
fn special_flags(operation: &str, operands: &[char], expected: char) -> Flags {
    if ["Negate", "Abs", "CopySign"].contains(&operation) {
        return Flags::NONE;
    }
    let finite = |c: &char| "az0bdD".contains(*c);
    let pole = match operation {
        "Divide" => "ab".contains(operands[0]) && "z0".contains(operands[1]),
        "Recip" => "z0".contains(operands[0]),
        _ => false,
    };
    match (operands.contains(&'N') || expected == 'N', pole && operands.iter().all(finite)) {
        (true, _) => Flags::INVALID,
        (_, true) => Flags::DIVISION_BY_ZERO,
        _ => Flags::NONE,
    }
}

/// One case for every combination of operand and result formats of a list.
fn check_letters(
    operation: &str,
    operands: &[char],
    expected: char,
    formats: &[&str],
    options: &str,
) -> usize {
    let mut count = 0;
    for &result in formats {
        for first in formats {
            for last in formats {
                let names: Vec<&str> =
                    operands.iter().enumerate().map(|(i, _)| if i == 0 { *first } else { *last }).collect();
                let codes: Vec<u64> = names.iter().zip(operands).map(|(n, c)| letter(n, *c)).collect();
                let text = format!(
                    "{operation}<{}, {result}, (NearestTiesToEven, SatPropagate){options}>",
                    names.join(", ")
                );
                let (value, flags) = code(&text, &codes);
                assert!(
                    is_same(result, expected, value),
                    "{text} of {operands:?}: got {value:x}, not {expected}"
                );
                let wanted = special_flags(operation, operands, expected);
                if options.contains("p3109") {
                    // P3109 has no flags; a pole is invalid there.
                    assert_eq!(
                        flags.contains(Flags::INVALID),
                        wanted == Flags::INVALID,
                        "{text} {operands:?}"
                    );
                } else {
                    assert_eq!(flags, wanted, "{text} of {operands:?}");
                }
                count += 1;
            }
        }
    }
    count
}

const IEEE_FORMATS: [&str; 3] = ["binary16", "binary32", "e5m2"];
const P3109_FORMATS: [&str; 3] = ["binary8p4se", "binary8p3se", "bfloat16"];

fn one_zero(c: char) -> char {
    if c == 'z' { '0' } else { c }
}

#[test]
fn unary_special_cases() {
    let mut count = 0;
    for (operation, ieee, p3109) in UNARY {
        for (i, x) in OPERANDS.into_iter().enumerate() {
            let (ieee, p3109) = (ieee.chars().nth(i).unwrap(), p3109.chars().nth(i).unwrap());
            count += check_letters(operation, &[x], ieee, &["e4m3", "e5m2"], "");
            count += check_letters(operation, &[x], ieee, &IEEE_FORMATS, ", semantics=ieee");
            count += check_letters(operation, &[x], p3109, &P3109_FORMATS, ", semantics=p3109");
        }
    }
    println!("unary special cases: {count}");
}

#[test]
fn binary_special_cases() {
    let mut count = 0;
    for (operation, rows) in IEEE {
        let p3109 = P3109.iter().find(|row| row.0 == operation).map_or(rows, |row| row.1);
        for (i, x) in OPERANDS.into_iter().enumerate() {
            for (j, y) in OPERANDS.into_iter().enumerate() {
                let expected = rows[i].chars().nth(j).unwrap();
                count += check_letters(operation, &[x, y], expected, &IEEE_FORMATS, ", semantics=ieee");
                // A row or column of −0 is the one of 0 with P3109.
                let at = |i: usize| if i == 2 { 3 } else { i };
                let expected = one_zero(p3109[at(i)].chars().nth(at(j)).unwrap());
                count += check_letters(operation, &[x, y], expected, &P3109_FORMATS, ", semantics=p3109");
            }
        }
    }
    println!("binary special cases: {count}");
}

fn number(c: char) -> f64 {
    [f64::NEG_INFINITY, -1.0, -0.0, 0.0, 1.0, f64::INFINITY, f64::NAN]
        [OPERANDS.iter().position(|&o| o == c).unwrap()]
}

/// FMA and FAA of small integers, infinities and zeros: binary64 is exact for them, its special
/// cases are IEEE 754's, and P3109's are the same with one zero.
#[test]
fn ternary_special_cases() {
    // Results reach 3, which has no letter.
    let f64_bits = |x: f64| if x.is_nan() { f64::NAN.to_bits() } else { x.to_bits() };
    let signed = |c: char| OPERANDS.iter().position(|&o| o == c).unwrap();
    let mut count = 0;
    for x in OPERANDS {
        for y in OPERANDS {
            for z in OPERANDS {
                let (a, b, c) = (number(x), number(y), number(z));
                // By value −0 equals 0.
                let clamp = if [x, y, z].contains(&'N') || b > c {
                    f64::NAN
                } else {
                    number(OPERANDS[signed(x).max(signed(y)).min(signed(z))])
                };
                for (operation, expected) in [("FMA", a * b + c), ("FAA", a + b + c), ("Clamp", clamp)] {
                    for name in ["binary16", "e5m2", "binary8p4se"] {
                        let codes = [letter(name, x), letter(name, y), letter(name, z)];
                        let semantics = if name == "binary8p4se" { "p3109" } else { "ieee" };
                        let text = format!(
                            "{operation}<{name}, {name}, {name}, binary64, (SatPropagate), semantics={semantics}>"
                        );
                        let (value, flags) = code(&text, &codes);
                        // P3109 has no −0, so its operands were 0.
                        let expected = if name == "binary8p4se" {
                            let plain = |v: f64| if v == 0.0 { 0.0 } else { v };
                            plain(match operation {
                                "FMA" => plain(a) * plain(b) + plain(c),
                                "FAA" => plain(a) + plain(b) + plain(c),
                                _ => expected,
                            })
                        } else {
                            expected
                        };
                        let nan = [x, y, z].contains(&'N') || expected.is_nan();
                        assert_eq!(
                            value & (u64::MAX >> u64::from(nan)),
                            f64_bits(expected),
                            "{text} {x}{y}{z}"
                        );
                        assert_eq!(flags.contains(Flags::INVALID), nan, "{text} {x}{y}{z}");
                        count += 1;
                    }
                }
            }
        }
    }
    println!("ternary special cases: {count}");
}

// ---- Comparisons, predicates, classes ----

/// Whether each comparison holds where x is below, at and above y.
const COMPARE: [(&str, [bool; 3]); 5] = [
    ("CompareLess", [true, false, false]),
    ("CompareLessEqual", [true, true, false]),
    ("CompareEqual", [false, true, false]),
    ("CompareGreater", [false, false, true]),
    ("CompareGreaterEqual", [false, true, true]),
];

#[test]
fn comparisons() {
    let rank = |c| [0, 1, 2, 2, 3, 4, 9][OPERANDS.iter().position(|&o| o == c).unwrap()];
    let names = ["binary16", "binary32", "e5m2", "e4m3", "binary8p4se", "binary8p3se"];
    for (name, holds) in COMPARE {
        for first in names {
            for second in names {
                for x in OPERANDS {
                    for y in OPERANDS {
                        let text = format!("{name}<{first}, {second}>");
                        let nan = x == 'N' || y == 'N';
                        let expected = !nan
                            && match rank(x).cmp(&rank(y)) {
                                Ordering::Less => holds[0],
                                Ordering::Equal => holds[1],
                                Ordering::Greater => holds[2],
                            };
                        let flags = if nan { Flags::INVALID } else { Flags::NONE };
                        let codes = [letter(first, x), letter(second, y)];
                        assert_eq!(truth(&text, &codes), (expected, flags), "{text} {x} {y}");
                    }
                }
            }
        }
    }
    // D for a subnormal operand (S3), beside I.
    assert_eq!(truth("CompareLess<e5m2, e5m2>", &[0x01, 0x3c]), (true, Flags::DENORMAL));
    assert_eq!(truth("CompareLess<binary8p4se, e5m2>", &[0x40, 0x03]), (false, Flags::DENORMAL));
    let both = Flags::DENORMAL | Flags::INVALID;
    assert_eq!(truth("CompareEqual<e5m2, e5m2>", &[0x01, 0x7f]), (false, both));
    // Values of different formats and biases: 1 = 1, 2^−7 in the hole's neighbour, tiny P3109
    // numbers.
    assert_eq!(truth("CompareEqual<cfloat8_1_4_3:bias=7, e5m2>", &[0x38, 0x3c]), (true, Flags::NONE));
    assert_eq!(
        truth("CompareEqual<cfloat8_1_4_3:bias=63, shp:bias=15>", &[0x38, 0x3c00]),
        (false, Flags::NONE)
    );
    assert_eq!(truth("CompareLess<binary16p1ue, binary64>", &[0x0001, 0x0001]), (true, Flags::DENORMAL));
    assert!(truth("CompareGreater<binary16p1ue, binary64>", &[0xfffd, 0x7fef_ffff_ffff_ffff]).0);
    assert_eq!(truth("CompareEqual<uhp, uhp>", &[0x0001, 0x03ff]), (true, Flags::DENORMAL));
}

/// P3109's TotalOrder: NaN is least.
#[test]
fn total_order() {
    let rank = |c| [1, 2, 3, 3, 4, 5, 0][OPERANDS.iter().position(|&o| o == c).unwrap()];
    for first in ["binary8p4se", "binary8p3se"] {
        for second in ["binary8p4se", "binary8p3se"] {
            for x in OPERANDS {
                for y in OPERANDS {
                    let text = format!("TotalOrder<{first}, {second}>");
                    let codes = [letter(first, x), letter(second, y)];
                    assert_eq!(truth(&text, &codes), (rank(x) <= rank(y), Flags::NONE), "{text} {x} {y}");
                }
            }
        }
    }
    // IEEE's totalOrder goes by sign and magnitude codes.
    let e5m2 = format("e5m2");
    let order = [0xff, 0xfd, 0xfc, 0xfb, 0x84, 0x81, 0x80, 0x00, 0x01, 0x04, 0x7b, 0x7c, 0x7d, 0x7f];
    for (i, &x) in order.iter().enumerate() {
        for (j, &y) in order.iter().enumerate() {
            assert_eq!(smallfloat::ops::total_cmp(&e5m2, x, y), i.cmp(&j), "{x:x} {y:x}");
        }
    }
}

const PREDICATES: [(&str, &str); 8] = [
    ("IsZero", "zero"),
    ("IsOne", "one"),
    ("IsNaN", "nan"),
    ("IsInfinite", "infinite"),
    ("IsFinite", "finite"),
    ("IsSignMinus", "minus"),
    ("IsNormal", "normal"),
    ("IsSubnormal", "subnormal"),
];

#[test]
fn predicates_and_classes() {
    let rows = table("classes");
    assert_eq!(rows.len(), 53);
    for [name, code, holds, class] in rows {
        let code = hex(code);
        let words: Vec<&str> = holds.split(' ').collect();
        for (predicate, word) in PREDICATES {
            for semantics in ["ieee", "p3109"] {
                let text = format!("{predicate}<{name}, semantics={semantics}>");
                let by_sign = predicate == "IsSignMinus" && semantics == "ieee" && words.contains(&"sign");
                let expected = words.contains(&word) || by_sign;
                assert_eq!(truth(&text, &[code]), (expected, Flags::NONE), "{text} {code:x}");
            }
        }
        assert_eq!(call(&format!("Class<{name}>"), &[code]), Answer::Class(class), "{name} {code:x}");
    }
}

// ---- Neighbours ----

#[test]
fn neighbours() {
    for (semantics, count) in [("p3109", 27), ("ieee", 21)] {
        let rows = table(&format!("neighbours: {semantics}"));
        assert_eq!(rows.len(), count, "{semantics}");
        for [name, x, up, down] in rows {
            for (operation, expected) in [("NextGreaterThan", up), ("NextLessThan", down)] {
                let text = format!("{operation}<{name}, semantics={semantics}>");
                assert_eq!(code(&text, &[hex(x)]), (hex(expected), Flags::NONE), "{text} {x}");
            }
        }
    }
    assert_eq!(smallfloat::ops::next_up(&format("uhp"), 0), 0x0400);
}

// ---- What docs/semantics.md decides ----

/// S1: which semantics hold where nothing is said.
#[test]
fn semantics_by_format() {
    let semantics = |text: &str| text.parse::<Specialization>().unwrap().arithmetic().semantics;
    for text in
        ["Add<binary8p4se, binary16, binary32>", "Add<bf16, binary64, binary4p2sf>", "Sqrt<binary8p1uf, f32>"]
    {
        assert_eq!(semantics(text), Semantics::P3109, "{text}");
    }
    for text in [
        "Add<e5m2, binary8p4se, binary8p4se>",
        "Add<binary8p4se, binary8p4se, uhp>",
        "Sqrt<e8m0, binary8p4se>",
    ] {
        assert_eq!(semantics(text), Semantics::Ieee, "{text}");
    }
}

/// Against the host's fmod, which is exact.
#[test]
fn remainders_of_the_host() {
    let mut random = Scramble(10);
    for _ in 0..20_000 {
        let (x, y) = (f64::from_bits(random.bits()), f64::from_bits(random.bits()));
        let expected = x % y;
        let (value, _) = code_f64("Fmod", x, y);
        assert!(value == expected.to_bits() || expected.is_nan(), "{x:e} % {y:e}");
    }
}

fn code_f64(operation: &str, x: f64, y: f64) -> (u64, Flags) {
    let operation = operation.parse::<Operation>().unwrap();
    let b64 = smallfloat::formats::BINARY64;
    let operands = [Operand::new(x.to_bits(), &b64), Operand::new(y.to_bits(), &b64)];
    let r = operation.evaluate(&operands, &b64, &b64.default_projection(), OperationOptions::IEEE);
    (r.value, r.flags)
}

/// P3109's golden line with scales: ScaledAdd((2^3, 1.5), (2^−1, 3)) as a sum of two exact
/// products.
#[test]
fn scaled_add_of_p3109() {
    let (scale, element) = (format("binary8p1uf"), format("binary4p2sf"));
    let pairs = [(scale.decode(0x83), element.decode(5)), (scale.decode(0x7f), element.decode(7))];
    let sum = dot(pairs);
    for (name, expected) in [("binary8p4se", 0x5e), ("binary8p3se", 0x4f)] {
        let to = format(name);
        assert_eq!(project(sum.exact, &to, &to.default_projection()).value, expected, "{name}");
    }
}

// ---- Nothing left out ----

/// Every operation, comparison and predicate has its rows in this file.
#[test]
fn every_function_has_rows() {
    let tables: BTreeSet<&str> = IEEE
        .iter()
        .map(|row| row.0)
        .chain(UNARY.iter().map(|row| row.0))
        .chain(TERNARY)
        .chain(COMPARE.iter().map(|row| row.0))
        .chain(PREDICATES.iter().map(|row| row.0))
        .chain(["TotalOrder", "Class", "NextGreaterThan", "NextLessThan"])
        .collect();
    let basic = |function: &Function| match function {
        Function::Numeric(operation) => operation.is_basic(),
        other => matches!(other.group(), Some(Group::A | Group::B)),
    };
    let functions: BTreeSet<&str> = Function::all().filter(basic).map(Function::name).collect();
    assert_eq!(functions.symmetric_difference(&tables).collect::<Vec<_>>(), Vec::<&&str>::new());
    for operation in Operation::all().filter(|o| o.is_basic()) {
        assert!(tables.contains(operation.name()), "{} has no rows", operation.name());
        assert_eq!(operation.name().parse::<Operation>().ok(), Some(operation));
        let unary = UNARY.iter().any(|row| row.0 == operation.name());
        let arity = 2 - usize::from(unary) + usize::from(TERNARY.contains(&operation.name()));
        assert_eq!(operation.arity(), arity, "{operation:?}");
    }
    let names: BTreeSet<&str> = Operation::all().map(Operation::name).collect();
    assert_eq!(names.len(), Operation::all().count());
    assert!(COMPARE.iter().map(|row| row.0).eq(Comparison::NAMED.iter().map(|row| row.0)));
    assert!(PREDICATES.iter().map(|row| row.0).eq(Predicate::NAMED.iter().map(|row| row.0)));
}
