//! The special cases of every operation, row by row: IEEE 754's and P3109's tables, Table 6 of the
//! paper's digest, the corners that `docs/semantics.md` decides. Sums and the spelling of calls are
//! in `ops_sums.rs`.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use smallfloat::ops::{Comparison, Operand, Operation, OperationOptions, Predicate, Semantics, dot};
use smallfloat::p3109::{Answer, Function, Group, Specialization};
use smallfloat::{Flags, project};
use smallfloat_proof::Scramble;
use smallfloat_proof::calls::{call, check_rows, code, format, truth};

// ---- Table 6 of the paper's digest ----

#[test]
fn table_6_paper_denormals() {
    let rows = "
        Multiply<T, T, T> | 7f 7f | 7f | O
        Multiply<T, T, T> | 01 38 | 01 | D
        Multiply<T, T, T> | 01 30 | 00 | DU
        Multiply<T, T, T> | 08 30 | 07 | U
        Subtract<T, T, T> | 08 07 | 07 | DU
        Subtract<T, T, T> | 0c 08 | 07 | U
        Add<T, T, T>      | 07 01 | 07 | DU
        Add<T, T, T>      | 07 07 | 08 | DU
        Multiply<T, T, T> | 03 40 | 06 | D
        Divide<T, T, T>   | 00 00 | 7f | I
        Divide<T, T, T>   | 38 00 | 7f | O
        Divide<T, T, T>   | b8 00 | ff | O
        Multiply<binary32, T, T> | 7f800000 00 | 7f | I";
    let paper = rows.replace('T', "cfloat8_1_4_3:bias=7");
    assert_eq!(check_rows(&paper, true), 13);
    let ieee = "
        Multiply<T, T, T> | 7f 7f | 7f | O
        Multiply<T, T, T> | 01 38 | 01 | D
        Multiply<T, T, T> | 01 30 | 00 | DU
        Multiply<T, T, T> | 08 30 | 04 | -
        Subtract<T, T, T> | 08 07 | 01 | D
        Subtract<T, T, T> | 0c 08 | 04 | -
        Add<T, T, T>      | 07 01 | 08 | D
        Add<T, T, T>      | 07 07 | 0e | D
        Multiply<T, T, T> | 03 40 | 06 | D
        Divide<T, T, T>   | 00 00 | 7f | I
        Divide<T, T, T>   | 38 00 | 7f | O
        Divide<T, T, T>   | b8 00 | ff | O
        Multiply<binary32, T, T> | 7f800000 00 | 7f | I";
    let ieee = ieee.replace('T', "cfloat8_1_4_3:bias=7,subnormals=gradual");
    assert_eq!(check_rows(&ieee, true), 13);
}

#[test]
fn table_6_uhp_results() {
    let rows = "
        Divide<binary32, binary32, uhp>   | 0 0                 | fe00 | I
        Divide<uhp, uhp, uhp>             | 0000 0000           | fe00 | I
        Subtract<uhp, uhp, uhp>           | fc00 fc00           | fe00 | I
        Add<binary32, binary32, uhp>      | 7f800000 ff800000   | fe00 | I
        Multiply<uhp, uhp, uhp>           | fc00 0000           | fe00 | I
        Multiply<uhp, uhp, uhp>           | 0000 fc00           | fe00 | I
        Sqrt<binary32, uhp>               | bf800000            | fe00 | I
        Sqrt<shp:bias=15, uhp>            | bc00                | fe00 | I
        Add<uhp, uhp, uhp>                | fc01 7c00           | fe00 | I
        Add<uhp, uhp, uhp>                | ffff 7c00           | fe00 | I
        Divide<uhp, uhp, uhp>             | 7c00 0000           | fc00 | Z
        Add<uhp, uhp, uhp>                | fc00 7c00           | fc00 | -
        Add<uhp, uhp, uhp>                | fbff fbff           | fc00 | OX
        Multiply<uhp, shp:bias=15, uhp>   | 0400 3800           | 0000 | UX
        Add<uhp, uhp, uhp>                | 0001 0000           | 0000 | D
        Convert<uhp, binary32>            | fc01                | 7fc00000 | I
        Convert<uhp, binary32>            | ffff                | 7fc00000 | I
        Subtract<uhp, uhp, uhp>           | 0000 7c00           | fe00 | I";
    assert_eq!(check_rows(rows, false), 18);
}

/// S1: an infinite or NaN operand alone does not decide; with `clamp=operands` it does, and the
/// exact result has the sign.
#[test]
fn operand_clamp() {
    let rows = "
        Divide<binary32, binary32, T>                  | 3f800000 7f800000 | 00 | -
        Divide<binary32, binary32, T>                  | bf800000 7f800000 | 80 | -
        Divide<binary32, binary32, T, clamp=operands>  | 3f800000 7f800000 | 7f | O
        Divide<binary32, binary32, T, clamp=operands>  | 3f800000 ff800000 | ff | O
        Divide<binary32, binary32, T, clamp=operands>  | 3f800000 7fc00000 | 7f | I
        Divide<binary32, binary32, T, clamp=operands>  | 3f800000 40000000 | 30 | -
        Add<binary32, binary32, T, clamp=operands>     | 7f800000 3f800000 | 7f | O
        Add<binary32, binary32, T, clamp=operands>     | ff800000 3f800000 | ff | O
        Add<binary32, binary32, T, clamp=operands>     | 7fc00000 3f800000 | 7f | I
        Add<binary32, binary32, T, clamp=operands>     | 7f800000 00000001 | 7f | DO
        MinimumNumber<binary32, binary32, T>                 | 7fc00000 3f800000 | 38 | I
        MinimumNumber<binary32, binary32, T, clamp=operands> | 7fc00000 3f800000 | 7f | I
        Minimum<binary32, binary32, T>                 | 7f800000 3f800000 | 38 | -
        Minimum<binary32, binary32, T, clamp=operands> | 7f800000 3f800000 | 7f | O
        Convert<binary32, T, clamp=operands>           | ff800000 | ff | O
        Convert<binary32, T, clamp=operands>           | 7fc00000 | 7f | I
        Divide<uhp, uhp, uhp, clamp=operands>          | 7c00 fc00 | 0000 | -
        FMA<binary32, binary32, T, T, clamp=operands>  | 3f800000 7f800000 38 | 7f | O
        Subtract<binary32, binary32, T, clamp=operands> | 3f800000 ff800000 | 7f | O
        Subtract<binary32, binary32, T, clamp=operands> | 3f800000 7f800000 | ff | O
        Subtract<binary32, binary32, T, clamp=operands> | 7f800000 7f800000 | 7f | I
        Add<binary32, binary32, T, clamp=operands>      | ff800000 7f800000 | 7f | I
        Multiply<binary32, binary32, T, clamp=operands> | ff800000 bf800000 | 7f | O
        Multiply<binary32, binary32, T, clamp=operands> | 7f800000 bf800000 | ff | O
        Multiply<binary32, binary32, T, clamp=operands> | ff800000 00000000 | 7f | I
        Divide<binary32, binary32, T, clamp=operands>   | ff800000 bf800000 | 7f | O
        Divide<binary32, binary32, T, clamp=operands>   | bf800000 ff800000 | 7f | O
        FMA<binary32, binary32, T, T, clamp=operands>   | ff800000 bf800000 b8 | 7f | O
        Hypot<binary32, binary32, T, clamp=operands>    | ff800000 3f800000 | 7f | O
        Hypot<binary32, binary32, T, clamp=operands>    | 3f800000 ff800000 | 7f | O
        Exp<binary32, T, clamp=operands>                | ff800000 | 7f | O
        Sqrt<binary32, T, clamp=operands>               | ff800000 | 7f | I
        Maximum<binary32, binary32, T, clamp=operands>  | ff800000 3f800000 | 7f | O
        Minimum<binary32, binary32, T, clamp=operands>  | 7f800000 bf800000 | ff | O
        Recip<binary32, T, clamp=operands>              | ff800000 | ff | O";
    assert_eq!(check_rows(&rows.replace('T', "cfloat8_1_4_3:bias=7"), true), 35);
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

/// A code of a format, the predicates that hold (in the order of `PREDICATES`), and its class.
#[rustfmt::skip]
const CLASSES: [(&str, u64, &str, &str); 53] = [
    // binary8p4se
    ("binary8p4se", 0x00, "zero finite", "ClsZero"),
    ("binary8p4se", 0x01, "finite subnormal", "ClsPositiveSubnormal"),
    ("binary8p4se", 0x07, "finite subnormal", "ClsPositiveSubnormal"),
    ("binary8p4se", 0x08, "finite normal", "ClsPositiveNormal"),
    ("binary8p4se", 0x40, "one finite normal", "ClsPositiveNormal"),
    ("binary8p4se", 0x7e, "finite normal", "ClsPositiveNormal"),
    ("binary8p4se", 0x7f, "infinite", "ClsPositiveInfinity"),
    ("binary8p4se", 0x80, "nan", "ClsNaN"),
    ("binary8p4se", 0x81, "finite minus subnormal", "ClsNegativeSubnormal"),
    ("binary8p4se", 0x87, "finite minus subnormal", "ClsNegativeSubnormal"),
    ("binary8p4se", 0x88, "finite minus normal", "ClsNegativeNormal"),
    ("binary8p4se", 0xc0, "finite minus normal", "ClsNegativeNormal"),
    ("binary8p4se", 0xfe, "finite minus normal", "ClsNegativeNormal"),
    ("binary8p4se", 0xff, "infinite minus", "ClsNegativeInfinity"),
    // finite domain
    ("binary8p3sf", 0x7f, "finite normal", "ClsPositiveNormal"),
    ("binary8p3sf", 0xff, "finite minus normal", "ClsNegativeNormal"),
    ("binary8p3sf", 0x80, "nan", "ClsNaN"),
    // precision 1 has no subnormals
    ("binary8p1se", 0x01, "finite normal", "ClsPositiveNormal"),
    ("binary8p1se", 0x40, "one finite normal", "ClsPositiveNormal"),
    ("binary8p1uf", 0x00, "zero finite", "ClsZero"),
    ("binary8p1uf", 0x01, "finite normal", "ClsPositiveNormal"),
    ("binary8p1uf", 0x80, "one finite normal", "ClsPositiveNormal"),
    ("binary8p1uf", 0xfe, "finite normal", "ClsPositiveNormal"),
    ("binary8p1uf", 0xff, "nan", "ClsNaN"),
    ("binary8p8ue", 0x80, "one finite normal", "ClsPositiveNormal"),
    ("binary8p8ue", 0x7f, "finite subnormal", "ClsPositiveSubnormal"),
    ("binary8p8ue", 0xfe, "infinite", "ClsPositiveInfinity"),
    // external formats; −0 is zero
    ("binary16", 0x0000, "zero finite", "ClsZero"),
    ("binary16", 0x8000, "zero finite sign", "ClsZero"),
    ("binary16", 0x0001, "finite subnormal", "ClsPositiveSubnormal"),
    ("binary16", 0x83ff, "finite minus subnormal", "ClsNegativeSubnormal"),
    ("binary16", 0x0400, "finite normal", "ClsPositiveNormal"),
    ("binary16", 0x3c00, "one finite normal", "ClsPositiveNormal"),
    ("binary16", 0xbc00, "finite minus normal", "ClsNegativeNormal"),
    ("binary16", 0x7c00, "infinite", "ClsPositiveInfinity"),
    ("binary16", 0xfc00, "infinite minus", "ClsNegativeInfinity"),
    ("binary16", 0x7c01, "nan", "ClsNaN"),
    ("binary16", 0xfe00, "nan sign", "ClsNaN"),
    ("bfloat16", 0x8000, "zero finite sign", "ClsZero"),
    ("binary64", 0x3ff0_0000_0000_0000, "one finite normal", "ClsPositiveNormal"),
    ("binary64", 0x000f_ffff_ffff_ffff, "finite subnormal", "ClsPositiveSubnormal"),
    // Tesla, OCP, FNUZ
    ("cfloat8_1_4_3:bias=7", 0x07, "finite subnormal", "ClsPositiveSubnormal"),
    ("cfloat8_1_4_3:bias=7", 0x80, "zero finite sign", "ClsZero"),
    ("cfloat8_1_4_3:bias=7", 0x38, "one finite normal", "ClsPositiveNormal"),
    ("cfloat8_1_4_3:bias=7", 0xff, "finite minus normal", "ClsNegativeNormal"),
    ("uhp", 0x0001, "zero finite subnormal", "ClsPositiveSubnormal"),
    ("uhp", 0x03ff, "zero finite subnormal", "ClsPositiveSubnormal"),
    ("uhp", 0xfc00, "infinite", "ClsPositiveInfinity"),
    ("uhp", 0xfc01, "nan", "ClsNaN"),
    ("e4m3fn", 0xff, "nan sign", "ClsNaN"),
    ("e4m3fnuz", 0x80, "nan", "ClsNaN"),
    ("e8m0fnu", 0x00, "finite normal", "ClsPositiveNormal"),
    ("e8m0fnu", 0xff, "nan", "ClsNaN"),
];

/// `minus`: below zero in both semantics; `sign`: the sign bit only (IEEE).
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
    for (name, code, holds, class) in CLASSES {
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

/// Rows of a format, a code, NextGreaterThan and NextLessThan.
fn check_neighbours(rows: &[(&str, u64, u64, u64)], semantics: &str) {
    for &(name, x, up, down) in rows {
        for (operation, expected) in [("NextGreaterThan", up), ("NextLessThan", down)] {
            let text = format!("{operation}<{name}, semantics={semantics}>");
            assert_eq!(code(&text, &[x]), (expected, Flags::NONE), "{text} {x:x}");
        }
    }
}

#[test]
fn next_rows_of_p3109() {
    let rows = [
        ("binary8p4se", 0x80, 0x80, 0x80),
        ("binary8p4se", 0x7f, 0x80, 0x7e),
        ("binary8p4se", 0x7e, 0x7f, 0x7d),
        ("binary8p4se", 0xff, 0xfe, 0x80),
        ("binary8p4se", 0xfe, 0xfd, 0xff),
        ("binary8p4se", 0x00, 0x01, 0x81),
        ("binary8p4se", 0x81, 0x00, 0x82),
        ("binary8p4se", 0x01, 0x02, 0x00),
        ("binary8p4se", 0x40, 0x41, 0x3f),
        ("binary8p4se", 0xc0, 0xbf, 0xc1),
        ("binary8p4se", 0x07, 0x08, 0x06),
        ("binary4p2sf", 0x7, 0x8, 0x6),
        ("binary4p2sf", 0xf, 0xe, 0x8),
        ("binary4p2sf", 0x8, 0x8, 0x8),
        ("binary8p1uf", 0x00, 0x01, 0xff),
        ("binary8p1uf", 0xfe, 0xff, 0xfd),
        ("binary8p1uf", 0xff, 0xff, 0xff),
        ("binary4p3ue", 0xd, 0xe, 0xc),
        ("binary4p3ue", 0xe, 0xf, 0xd),
        ("binary4p3ue", 0x0, 0x1, 0xf),
        // External: −0, NaN kept as it is, infinities.
        ("binary16", 0x8000, 0x0001, 0x8001),
        ("binary16", 0x0000, 0x0001, 0x8001),
        ("binary16", 0x8001, 0x0000, 0x8002),
        ("binary16", 0x7c01, 0x7c01, 0x7c01),
        ("binary16", 0x7c00, 0x7e00, 0x7bff),
        ("binary16", 0xfc00, 0xfbff, 0x7e00),
        ("binary16", 0x7bff, 0x7c00, 0x7bfe),
    ];
    check_neighbours(&rows, "p3109");
}

#[test]
fn next_up_and_down_of_ieee() {
    let rows = [
        ("binary16", 0x7c00, 0x7c00, 0x7bff),
        ("binary16", 0xfc00, 0xfbff, 0xfc00),
        ("binary16", 0x8001, 0x8000, 0x8002),
        ("binary16", 0x0001, 0x0002, 0x0000),
        ("binary16", 0x0000, 0x0001, 0x8001),
        ("binary16", 0x8000, 0x0001, 0x8001),
        ("binary16", 0x7bff, 0x7c00, 0x7bfe),
        ("binary16", 0x7e01, 0x7e01, 0x7e01),
        ("e4m3fn", 0x7e, 0x7f, 0x7d),
        ("e4m3fnuz", 0x7f, 0x80, 0x7e),
        ("e4m3fnuz", 0x81, 0x00, 0x82),
        ("cfloat8_1_4_3:bias=7", 0x7f, 0x7f, 0x7e),
        ("cfloat8_1_4_3:bias=7", 0xff, 0xfe, 0xff),
        ("cfloat8_1_4_3:bias=7", 0x07, 0x08, 0x06),
        ("cfloat8_1_4_3:bias=7", 0x81, 0x80, 0x82),
        ("uhp", 0x0000, 0x0400, 0xfe00),
        ("uhp", 0x0001, 0x0400, 0xfe00),
        ("uhp", 0x0400, 0x0401, 0x0000),
        ("uhp", 0xfbff, 0xfc00, 0xfbfe),
        ("uhp", 0xfc00, 0xfc00, 0xfbff),
        ("e8m0fnu", 0x00, 0x01, 0xff),
    ];
    check_neighbours(&rows, "ieee");
    assert_eq!(smallfloat::ops::next_up(&format("uhp"), 0), 0x0400);
}

// ---- What docs/semantics.md decides ----

#[test]
fn semantics_s1() {
    let rows = "
        Divide<T, T, T>                                        | b8 00       | ff | OXZ
        Divide<T, T, T, semantics=p3109>                       | b8 00       | 7f | I
        Divide<binary32, binary32, T>                          | bf800000 0  | ff | OXZ
        Divide<binary8p4se, binary8p4se, T>                    | c0 00       | ff | OXZ
        Convert<T, binary32>                                   | 80          | 80000000 | -
        Convert<T, binary32, semantics=p3109>                  | 80          | 00000000 | -
        Convert<binary32, binary8p4se>                         | 80000000    | 00 | -
        Convert<binary8p4se, binary32>                         | 00          | 00000000 | -
        Convert<binary32, binary32, semantics=p3109>           | 80000000    | 00000000 | -
        Convert<binary32, binary32, semantics=ieee>            | 80000000    | 80000000 | -
        Divide<binary8p4se, binary8p4se, binary8p4se>          | 40 00       | 80 | I
        Divide<binary8p4se, binary8p4se, binary32>             | 40 00       | 7fc00000 | I
        Divide<binary8p4se, e5m2, binary32>                    | 40 00       | 7f800000 | Z";
    assert_eq!(check_rows(&rows.replace('T', "cfloat8_1_4_3:bias=7"), false), 13);
    // Which semantics hold where nothing is said.
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

/// S3: which flags, beside those of the tables above.
#[test]
fn semantics_s3() {
    let rows = "
        Negate<e5m2, e5m2>                    | 01       | 81   | -
        Negate<e5m2, e5m2>                    | 7f       | ff   | -
        Abs<e5m2, e5m2>                       | 81       | 01   | -
        CopySign<e5m2, e5m2, e5m2>            | 01 81    | 81   | -
        CopySign<binary16, binary16, e5m2>    | 3c01 8000 | bc  | X
        Minimum<e5m2, e5m2, e5m2>             | 01 3c    | 01   | D
        MinimumNumber<e5m2, e5m2, e5m2>       | 7f 3c    | 3c   | I
        MaximumNumber<e5m2, e5m2, e5m2>       | 7f 01    | 01   | ID
        Add<e5m2, e5m2, e5m2>                 | 01 01    | 02   | D
        Multiply<e5m2, e5m2, e5m2>            | 01 38    | 00   | DUX
        Multiply<e5m2, e5m2, e5m2>            | 05 38    | 02   | UX
        Multiply<e5m2, e5m2, e5m2>            | 04 38    | 02   | -
        Multiply<e4m3fn, e4m3fn, e4m3fn>      | 7e 40    | 7f   | OX
        Multiply<e4m3fn, e4m3fn, e4m3fn, (SatFinite)> | 7e 40 | 7e | OX
        Add<binary32, binary32, uhp>          | 30000000 0 | 0000 | UX
        Convert<binary32, e4m3fn, (SatFinite)> | 7f800000 | 7e | OX
        Convert<e5m2, e5m2, (SatFinite)>      | 7c       | 7b   | OX
        FMA<e5m2, e5m2, e5m2, e5m2>           | 00 7c 3c | 7e   | I
        FMA<e5m2, e5m2, e5m2, e5m2>           | 3c 3c bc | 00   | -";
    assert_eq!(check_rows(rows, false), 19);
}

/// S9: an integer scale on the exact result, before the one rounding.
#[test]
fn semantics_s9_scale() {
    let rows = "
        Multiply<e4m3fn, e4m3fn, e4m3fn, scale=-9>   | 7e 7e | 7c | X
        Multiply<e5m2, e5m2, e5m2, scale=2>          | 01 38 | 02 | D
        Add<e5m2, e5m2, e5m2, scale=-1>              | 7b 7b | 7b | -
        Add<e5m2, e5m2, e5m2, scale=1>               | 7b 7b | 7c | OX
        FMA<e5m2, e5m2, e5m2, e5m2, scale=3>         | 3c 3c 3c | 4c | -
        Add<e5m2, e5m2, e5m2, scale=1048576>         | 3c 3c | 7c | OX
        Add<e5m2, e5m2, e5m2, scale=-1048576>        | 3c 3c | 00 | UX
        Add<e5m2, e5m2, e5m2, scale=-1048576>        | 00 00 | 00 | -
        Add<e5m2, e5m2, e5m2, scale=7>               | 7c 3c | 7c | -";
    // The first: 448 · 448 / 2^9 = 392, nearer to 384 than to 416.
    assert_eq!(check_rows(rows, false), 9);
}

#[test]
fn semantics_s10() {
    let rows = "
        Remainder<H, H, H, semantics=ieee> | 4500 4200 | bc00 | -
        Fmod<H, H, H, semantics=ieee>      | 4500 4200 | 4000 | -
        Remainder<H, H, H, semantics=ieee> | c500 4200 | 3c00 | -
        Fmod<H, H, H, semantics=ieee>      | c500 4200 | c000 | -
        Remainder<H, H, H, semantics=ieee> | 4100 3c00 | 3800 | -
        Remainder<H, H, H, semantics=ieee> | 4300 3c00 | b800 | -
        Remainder<H, H, H, semantics=ieee> | 3800 3c00 | 3800 | -
        Remainder<H, H, H, semantics=ieee> | 3e00 3c00 | b800 | -
        Fmod<H, H, H, semantics=ieee>      | 4300 bc00 | 3800 | -
        Remainder<H, H, H, semantics=ieee> | c600 4200 | 8000 | -
        Fmod<H, H, H, semantics=ieee>      | c600 4200 | 8000 | -
        Remainder<e4m3fn, e4m3fn, e4m3fn>      | 7e 01 | 00 | D
        Minimum<H, H, H, semantics=ieee>   | 0000 8000 | 8000 | -
        Maximum<H, H, H, semantics=ieee>   | 8000 0000 | 0000 | -
        Minimum<binary8p4se, binary16, binary16> | 00 8000 | 0000 | -
        Minimum<H, H, H>                   | 0000 8000 | 0000 | -";
    assert_eq!(check_rows(&rows.replace('H', "binary16"), false), 16);
    // Against the host's fmod, which is exact.
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

/// P3109's golden lines (section 16 of the digest) that are operations.
#[test]
fn p3109_golden_operations() {
    let rows = "
        Add<Binary8p4se, Binary8p4se, Binary8p4se, (NearestTiesToEven, SatNone)>   | 7e 7e | 7f | OX
        Add<Binary8p4se, Binary8p4se, Binary8p4se, (NearestTiesToEven, SatFinite)> | 7e 7e | 7e | OX
        Add<Binary8p4se, Binary8p4se, Binary8p4se, (TowardZero, SatNone)>          | 7e 7e | 7e | OX
        Convert<Binary8p4se, Binary4p2sf>                                          | 48 | 6 | -
        Convert<Binary8p4se, Binary4p2sf, (NearestTiesToEven, SatNone)>            | 7e | 8 | OX
        Convert<Binary8p4se, Binary4p2sf, (NearestTiesToEven, SatFinite)>          | 7e | 7 | OX
        Convert<Binary8p4se, Binary4p2sf, (TowardZero, SatNone)>                   | 7e | 7 | OX
        FMA<Binary8p1uf, Binary4p2sf, Binary8p4se, Binary8p4se, (NearestTiesToEven, SatNone)> | 83 5 44 | 5e | X
        FMA<Binary8p1uf, Binary4p2sf, Binary8p4se, Binary8p3se, (NearestTiesToEven, SatNone)> | 83 5 44 | 4f | X";
    assert_eq!(check_rows(rows, false), 9);
    // ScaledAdd((2^3, 1.5), (2^−1, 3)) as a sum of two exact products.
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
