//! Special rows, typed in from P3109's tables and IEEE 754-2019, section 9.2.1.

use std::format;

use crate::format::datum::Datum;
use crate::ops::operation::Operation;
use crate::ops::{Outcome, Semantics};
use crate::projection::exact::Exact;
use crate::projection::flags::Flags;

fn datum(word: &str) -> Datum {
    let (negative, word) = word.strip_prefix('-').map_or((false, word), |rest| (true, rest));
    match word {
        "nan" => Datum::Nan { negative },
        "inf" => Datum::Infinite { negative },
        "0" => Datum::finite(negative, 0, 0),
        "1/2" => Datum::finite(negative, 1, -1),
        "3/2" => Datum::finite(negative, 3, -1),
        integer => Datum::finite(negative, integer.parse().unwrap(), 0),
    }
}

/// Results in words: exact ones as data; `pi/4`, `pi/2`, `3pi/4`, `pi` and `ln2` truncated; `pole`
/// and `-pole` raise "division by zero". In p3109 semantics zeros have no sign.
fn check(name: &str, operands: &[&str], expected: &str, semantics: Semantics) {
    let mut data = [Datum::ZERO; 3];
    for (slot, word) in data.iter_mut().zip(operands) {
        *slot = datum(word);
    }
    let operation = name.parse::<Operation>().unwrap();
    assert_eq!(operation.arity(), operands.len(), "{name}");
    let Outcome { exact, flags } = operation.exact(data, semantics);
    let (negative, word) = expected.strip_prefix('-').map_or((false, expected), |rest| (true, rest));
    let what = format!("{name}{operands:?} in {semantics:?}: {exact:?}, {expected} is right");
    let pole = if word == "pole" { Flags::DIVISION_BY_ZERO } else { Flags::NONE };
    assert_eq!(flags, pole, "{what}");
    // ⌊π·2^126⌋; below ⌊3π/4·2^126⌋ and ⌊ln 2·2^128⌋.
    let pi = 0xc90f_daa2_2168_c234_c4c6_628b_80dc_1cd1_u128;
    let truncated = |significand, exponent| Exact::Finite { negative, significand, exponent, sticky: true };
    let right = match word {
        "nan" => exact.is_nan(),
        "pole" => exact == Exact::Infinite { negative },
        "pi" => exact == truncated(pi, -126),
        "pi/2" => exact == truncated(pi, -127),
        "pi/4" => exact == truncated(pi, -128),
        "3pi/4" => exact == truncated(0x96cb_e3f9_990e_91a7_9394_c9e8_a0a5_159c, -126),
        "ln2" => exact == truncated(0xb172_17f7_d1cf_79ab_c9e3_b398_03f2_f6af, -128),
        "3/4" => exact == Exact::finite(negative, 3, -2),
        "1/4" => exact == Exact::finite(negative, 1, -2),
        "0" if semantics == Semantics::P3109 => exact.is_zero(),
        _ => exact == Exact::from_datum(datum(expected)),
    };
    assert!(right, "{what}");
}

/// A function's results at −∞, −0, 0, +∞ in ieee semantics.
const LIMITS: [(&str, [&str; 4]); 25] = [
    ("Exp", ["0", "1", "1", "inf"]),
    ("Exp2", ["0", "1", "1", "inf"]),
    ("ExpMinusOne", ["-1", "-0", "0", "inf"]),
    ("Log", ["nan", "-pole", "-pole", "inf"]),
    ("Log2", ["nan", "-pole", "-pole", "inf"]),
    ("LogOnePlus", ["nan", "-0", "0", "inf"]),
    ("Softplus", ["0", "ln2", "ln2", "inf"]),
    ("Sin", ["nan", "-0", "0", "nan"]),
    ("Cos", ["nan", "1", "1", "nan"]),
    ("Tan", ["nan", "-0", "0", "nan"]),
    ("ArcSin", ["nan", "-0", "0", "nan"]),
    ("ArcCos", ["nan", "pi/2", "pi/2", "nan"]),
    ("ArcTan", ["-pi/2", "-0", "0", "pi/2"]),
    ("Sinh", ["-inf", "-0", "0", "inf"]),
    ("Cosh", ["inf", "1", "1", "inf"]),
    ("Tanh", ["-1", "-0", "0", "1"]),
    ("ArcSinh", ["-inf", "-0", "0", "inf"]),
    ("ArcCosh", ["nan", "nan", "nan", "inf"]),
    ("ArcTanh", ["nan", "-0", "0", "nan"]),
    ("SinPi", ["nan", "-0", "0", "nan"]),
    ("CosPi", ["nan", "1", "1", "nan"]),
    ("TanPi", ["nan", "-0", "0", "nan"]),
    ("ArcSinPi", ["nan", "-0", "0", "nan"]),
    ("ArcCosPi", ["nan", "1/2", "1/2", "nan"]),
    ("ArcTanPi", ["-1/2", "-0", "0", "1/2"]),
];

#[test]
fn limits_of_functions_of_one_operand() {
    for semantics in [Semantics::Ieee, Semantics::P3109] {
        for (name, expected) in LIMITS {
            check(name, &["nan"], "nan", semantics);
            for (x, expected) in ["-inf", "-0", "0", "inf"].into_iter().zip(expected) {
                check(name, &[x], expected, semantics);
            }
        }
    }
}

#[test]
fn ends_of_domains_and_poles() {
    for semantics in [Semantics::Ieee, Semantics::P3109] {
        for (name, x, expected) in [
            ("Log", "-1/2", "nan"),
            ("Log2", "-1", "nan"),
            ("LogOnePlus", "-1", "-pole"),
            ("LogOnePlus", "-3/2", "nan"),
            ("Log", "1", "0"),
            ("Log2", "1", "0"),
            ("ArcSin", "3/2", "nan"),
            ("ArcSin", "-3/2", "nan"),
            ("ArcSin", "1", "pi/2"),
            ("ArcSin", "-1", "-pi/2"),
            ("ArcCos", "3/2", "nan"),
            ("ArcCos", "-3/2", "nan"),
            ("ArcCos", "1", "0"),
            ("ArcCos", "-1", "pi"),
            ("ArcSinPi", "3/2", "nan"),
            ("ArcCosPi", "-3/2", "nan"),
            ("ArcCosh", "1", "0"),
            ("ArcCosh", "1/2", "nan"),
            ("ArcCosh", "-2", "nan"),
            ("ArcTanh", "1", "pole"),
            ("ArcTanh", "-1", "-pole"),
            ("ArcTanh", "3/2", "nan"),
            ("ArcTan", "1", "pi/4"),
            ("TanPi", "1/2", "pole"),
            ("TanPi", "3/2", "-pole"),
            ("TanPi", "-1/2", "-pole"),
            ("TanPi", "-3/2", "pole"),
        ] {
            check(name, &[x], expected, semantics);
        }
    }
    // Signs of zeros, which ieee semantics keep: sinPi(±n) = ±0, tanPi(n) has x's sign for even n
    // and the other for odd.
    for (name, x, expected) in [
        ("SinPi", "1", "0"),
        ("SinPi", "-1", "-0"),
        ("SinPi", "-2", "-0"),
        ("CosPi", "1/2", "0"),
        ("CosPi", "-3/2", "0"),
        ("TanPi", "1", "-0"),
        ("TanPi", "-1", "0"),
        ("TanPi", "2", "0"),
        ("TanPi", "-2", "-0"),
    ] {
        check(name, &[x], expected, Semantics::Ieee);
    }
}

#[test]
fn reciprocal_root_and_hypotenuse() {
    for (x, ieee, p3109) in [
        ("nan", "nan", "nan"),
        ("-inf", "nan", "nan"),
        ("-1", "nan", "nan"),
        ("-0", "-pole", "nan"),
        ("0", "pole", "nan"),
        ("1", "1", "1"),
        ("4", "1/2", "1/2"),
        ("inf", "0", "0"),
    ] {
        check("RSqrt", &[x], ieee, Semantics::Ieee);
        check("RSqrt", &[x], p3109, Semantics::P3109);
    }
    for (x, y, ieee, p3109) in [
        ("inf", "nan", "inf", "nan"),
        ("nan", "-inf", "inf", "nan"),
        ("nan", "1", "nan", "nan"),
        ("-inf", "1", "inf", "inf"),
        ("0", "inf", "inf", "inf"),
        ("-0", "-0", "0", "0"),
        ("-3", "4", "5", "5"),
        ("0", "-2", "2", "2"),
    ] {
        check("Hypot", &[x, y], ieee, Semantics::Ieee);
        check("Hypot", &[x, y], p3109, Semantics::P3109);
    }
}

#[test]
fn angles_of_points() {
    // y, x, the angle in ieee semantics, in p3109 semantics; then the same divided by π.
    for (y, x, ieee, p3109) in [
        ("nan", "1", "nan", "nan"),
        ("1", "nan", "nan", "nan"),
        ("0", "0", "0", "nan"),
        ("-0", "0", "-0", "nan"),
        ("0", "-0", "pi", "nan"),
        ("-0", "-0", "-pi", "nan"),
        ("inf", "inf", "pi/4", "nan"),
        ("-inf", "inf", "-pi/4", "nan"),
        ("inf", "-inf", "3pi/4", "nan"),
        ("-inf", "-inf", "-3pi/4", "nan"),
        ("1", "inf", "0", "0"),
        ("-1", "inf", "-0", "0"),
        ("0", "2", "0", "0"),
        ("-0", "2", "-0", "0"),
        ("inf", "1", "pi/2", "pi/2"),
        ("-inf", "-1", "-pi/2", "-pi/2"),
        ("1", "0", "pi/2", "pi/2"),
        ("1", "-0", "pi/2", "pi/2"),
        ("-1", "0", "-pi/2", "-pi/2"),
        ("1", "-inf", "pi", "pi"),
        ("0", "-inf", "pi", "pi"),
        ("-1", "-inf", "-pi", "-pi"),
        ("0", "-1", "pi", "pi"),
        ("-0", "-1", "-pi", "pi"),
        ("3", "3", "pi/4", "pi/4"),
        ("3", "-3", "3pi/4", "3pi/4"),
        ("-3", "-3", "-3pi/4", "-3pi/4"),
    ] {
        for (expected, semantics) in [(ieee, Semantics::Ieee), (p3109, Semantics::P3109)] {
            check("ArcTan2", &[y, x], expected, semantics);
            let over_pi = match expected.trim_start_matches('-') {
                "pi" => "1",
                "pi/2" => "1/2",
                "pi/4" => "1/4",
                "3pi/4" => "3/4",
                same => same,
            };
            let sign = if expected.starts_with('-') { "-" } else { "" };
            check("ArcTan2Pi", &[y, x], &format!("{sign}{over_pi}"), semantics);
        }
    }
}
