//! Agreement with the P3109 draft (D1 revised, September 2026): golden vectors, constants,
//! saturation tables and the digests of the published value tables.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;

use sha2::{Digest, Sha256};
use smallfloat::formats::{BFLOAT16, BINARY16, BINARY32, BINARY64};
use smallfloat::{
    Class, Datum, Domain, Exact, Format, Preset, Projection, RandomBits, Rounded, Rounding, Saturation,
    Signedness, convert, project,
};
use smallfloat_proof::format;

const PRESETS: [Preset; 3] = [Preset::P3109SatFinite, Preset::P3109SatPropagate, Preset::P3109SatNone];

/// The order of the vectors' columns.
const MODES: [Rounding; 6] = [
    Rounding::NearestEven,
    Rounding::NearestAway,
    Rounding::TowardZero,
    Rounding::TowardPositive,
    Rounding::TowardNegative,
    Rounding::ToOdd,
];

/// n/d: the quotient to 120 bits, and whether anything is left.
fn ratio(n: i64, d: u64) -> Exact {
    let scaled = u128::from(n.unsigned_abs()) << 100;
    let d = u128::from(d);
    Exact::Finite { negative: n < 0, significand: scaled / d, exponent: -100, sticky: scaled % d != 0 }
}

fn operand(text: &str) -> Exact {
    match text {
        "inf" => Exact::Infinite { negative: false },
        "-inf" => Exact::Infinite { negative: true },
        _ => {
            let (n, d) = text.split_once('/').unwrap_or((text, "1"));
            ratio(n.parse().expect("a numerator"), d.parse().expect("a denominator"))
        }
    }
}

/// Target, operand, then a result for each of `MODES`: one code, or one for each of `PRESETS`.
const VECTORS: &str = include_str!("../../../../smallfloat-oracle/data/p3109-vectors.txt");

fn hex(text: &str) -> u64 {
    u64::from_str_radix(text, 16).expect("a code")
}

#[test]
fn golden_vectors_every_rounding_and_saturation() {
    let mut checks = 0;
    for row in VECTORS.trim().lines() {
        let cells: Vec<&str> = row.split_whitespace().collect();
        let (f, x) = (format(cells[0]), operand(cells[1]));
        assert_eq!(cells.len(), 2 + MODES.len(), "{row}");
        for (cell, mode) in cells[2..].iter().zip(MODES) {
            for (index, preset) in PRESETS.into_iter().enumerate() {
                let expected = hex(cell.split('/').nth(index).unwrap_or(cell));
                let projection = preset.projection(&f).with_rounding(mode);
                let got = project(x, &f, &projection).value;
                assert_eq!(got, expected, "{row}: {mode:?} {preset:?}");
                checks += 1;
            }
        }
    }
    assert_eq!(checks, 26 * 6 * 3);
}

#[test]
fn version_4_0_of_sat_none() {
    let v40 = |f: &Format, mode| Preset::P3109SatNoneV40.projection(f).with_rounding(mode);
    // Rounding to odd, unsigned extended, above the maximum: M_hi; D1 gives +∞ (0E).
    let f = format("Binary4p3ue");
    assert_eq!(project(operand("3"), &f, &v40(&f, Rounding::ToOdd)).value, 0x0D);
    assert_eq!(project(operand("3"), &f, &v40(&f, Rounding::NearestEven)).value, 0x0E);
    // Finite formats clamp; unsigned negatives are NaN as in D1.
    let f = format("Binary4p2sf");
    for mode in MODES {
        for (x, code) in [("7/2", 0x07), ("100", 0x07), ("inf", 0x07), ("-100", 0x0F), ("-inf", 0x0F)] {
            assert_eq!(project(operand(x), &f, &v40(&f, mode)).value, code, "{x} {mode:?}");
        }
    }
    let f = format("Binary8p1uf");
    for (x, code) in [("inf", 0xFE), ("-inf", 0xFF), ("-1", 0xFF)] {
        assert_eq!(project(operand(x), &f, &v40(&f, Rounding::NearestEven)).value, code, "{x}");
    }
}

/// Section "Saturation": what each saturation mode does with values beyond the range, under every
/// rounding mode.
#[test]
fn saturation_tables() {
    #[derive(Clone, Copy)]
    enum To {
        Hi,
        Lo,
        Inf,
        MinusInf,
        Nan,
    }
    use To::{Hi, Inf, Lo, MinusInf, Nan};
    // Formats with the codes of M_hi, M_lo, +∞, −∞ and NaN.
    let formats = [
        ("Binary8p4se", 0x7E, 0xFE, Some(0x7F), Some(0xFF), 0x80),
        ("Binary8p4sf", 0x7F, 0xFF, None, None, 0x80),
        ("Binary8p4ue", 0xFD, 0x00, Some(0xFE), None, 0xFF),
        ("Binary8p4uf", 0xFE, 0x00, None, None, 0xFF),
    ];
    let stochastic = Rounding::StochasticA(RandomBits::new(8, 255).expect("8 bits"));
    for (column, (name, hi, lo, inf, minus_inf, nan)) in formats.into_iter().enumerate() {
        let f = format(name);
        for mode in MODES.into_iter().chain([stochastic]) {
            let down = matches!(mode, Rounding::TowardZero | Rounding::TowardNegative);
            let up = matches!(mode, Rounding::TowardZero | Rounding::TowardPositive);
            // Rows: finite above M_hi, finite below M_lo, +∞, −∞. Columns: the four formats.
            let rows = |saturation| match saturation {
                Saturation::SatFinite => [[Hi; 4], [Lo; 4], [Hi; 4], [Lo; 4]],
                Saturation::SatPropagate => [[Hi; 4], [Lo; 4], [Inf, Hi, Inf, Hi], [MinusInf, Lo, Lo, Lo]],
                _ => [
                    if down { [Hi; 4] } else { [Inf, Nan, Inf, Nan] },
                    if up { [Lo; 4] } else { [MinusInf, Nan, Nan, Nan] },
                    [Inf, Nan, Inf, Nan],
                    [MinusInf, Nan, Nan, Nan],
                ],
            };
            for preset in PRESETS {
                let projection = preset.projection(&f).with_rounding(mode);
                let operands = ["1000000", "-1000000", "inf", "-inf"];
                for (x, row) in operands.into_iter().zip(rows(projection.saturation)) {
                    let expected = match row[column] {
                        Hi => hi,
                        Lo => lo,
                        Inf => inf.expect("an infinity"),
                        MinusInf => minus_inf.expect("an infinity"),
                        Nan => nan,
                    };
                    assert_eq!(
                        project(operand(x), &f, &projection).value,
                        expected,
                        "{name} {x} {mode:?} {preset:?}"
                    );
                }
            }
        }
        // NaN is NaN in all.
        for preset in PRESETS {
            for negative in [false, true] {
                assert_eq!(project(Exact::Nan { negative }, &f, &preset.projection(&f)).value, nan, "{name}");
            }
        }
    }
}

type Stochastic = fn(RandomBits) -> Rounding;

#[test]
fn stochastic_lines() {
    let a: Stochastic = Rounding::StochasticA;
    let b: Stochastic = Rounding::StochasticB;
    let c: Stochastic = Rounding::StochasticC;
    // X, N, mode, results for R = 0 .. 2^N − 1.
    let lines: [(&str, u32, &[Stochastic], &str); 9] = [
        ("21/16", 1, &[a, b, c], "04 05"),
        ("21/16", 2, &[a], "04 04 05 05"),
        ("21/16", 2, &[b], "04 05 05 05"),
        ("21/16", 2, &[c], "04 04 05 05"),
        ("21/16", 3, &[a, b, c], "04 04 04 05 05 05 05 05"),
        ("9/8", 1, &[a], "04 04"),
        ("9/8", 1, &[b], "04 05"),
        ("9/8", 1, &[c], "04 04"),
        ("9/8", 2, &[a, b, c], "04 04 04 05"),
    ];
    let f = format("Binary4p2sf");
    for (x, n, modes, expected) in lines {
        for mode in modes {
            // Symmetric in sign: the negative operand gives the negative codes.
            for (x, sign) in [(x.to_string(), 0), (format!("-{x}"), 0x08)] {
                let codes: Vec<String> = (0..1 << n)
                    .map(|word| mode(RandomBits::new(n, word).expect("a legal word")))
                    .map(|mode| project(operand(&x), &f, &f.default_projection().with_rounding(mode)))
                    .map(|r| format!("{:02X}", r.value ^ sign))
                    .collect();
                assert_eq!(codes.join(" "), expected, "{x} N={n}");
            }
        }
    }
    // R outside [0, 2^N) is refused, and so is N outside 1..=60.
    assert!(RandomBits::new(2, 4).is_err() && RandomBits::new(2, 3).is_ok());
    assert!(RandomBits::new(0, 0).is_err() && RandomBits::new(61, 0).is_err());
    assert!(RandomBits::new(60, (1 << 60) - 1).is_ok() && RandomBits::new(60, 1 << 60).is_err());
}

#[test]
fn conversions_between_formats() {
    let (p4, f4) = (format("Binary8p4se"), format("Binary4p2sf"));
    let projection = |preset: Preset, mode| preset.projection(&f4).with_rounding(mode);
    let none = projection(Preset::P3109SatNone, Rounding::NearestEven);
    assert_eq!(convert(0x48, &p4, &f4, &none).value, 0x06); // 2.0
    assert_eq!(convert(0x7E, &p4, &f4, &none).value, 0x08); // 224: NaN
    assert_eq!(
        convert(0x7E, &p4, &f4, &projection(Preset::P3109SatFinite, Rounding::NearestEven)).value,
        0x07
    );
    assert_eq!(convert(0x7E, &p4, &f4, &projection(Preset::P3109SatNone, Rounding::TowardZero)).value, 0x07);
    assert_eq!(f4.default_projection(), none);
}

#[test]
fn external_formats() {
    let p4 = format("Binary8p4se");
    // Format; largest finite, +∞, canonical NaN, −0, 1.0.
    for (f, max, inf, nan, minus_zero, one) in [
        (BINARY16, 0x7BFF, 0x7C00, 0x7E00, 0x8000, 0x3C00),
        (BFLOAT16, 0x7F7F, 0x7F80, 0x7FC0, 0x8000, 0x3F80),
        (BINARY32, 0x7F7F_FFFF, 0x7F80_0000, 0x7FC0_0000, 0x8000_0000, 0x3F80_0000),
        (
            BINARY64,
            0x7FEF_FFFF_FFFF_FFFF,
            0x7FF0_0000_0000_0000,
            0x7FF8_0000_0000_0000,
            0x8000_0000_0000_0000,
            0x3FF0_0000_0000_0000,
        ),
    ] {
        let preset = |preset: Preset| preset.projection(&f);
        assert_eq!(convert(0x7F, &p4, &f, &preset(Preset::P3109SatFinite)).value, max, "{f}");
        assert_eq!(convert(0xFF, &p4, &f, &preset(Preset::P3109SatFinite)).value, max | minus_zero, "{f}");
        for kept in [Preset::P3109SatPropagate, Preset::P3109SatNone] {
            assert_eq!(convert(0x7F, &p4, &f, &preset(kept)).value, inf, "{f}");
            assert_eq!(convert(0x80, &p4, &f, &preset(kept)).value, nan, "{f}");
            assert_eq!(convert(minus_zero | nan | 1, &f, &f, &preset(kept)).value, nan, "{f}");
            // −0 decodes to 0, and no result is −0, rounded ones included.
            assert_eq!(convert(minus_zero, &f, &f, &preset(kept)).value, 0, "{f}");
            assert_eq!(project(Exact::finite(true, 1, -100_000), &f, &preset(kept)).value, 0, "{f}");
            assert_eq!(convert(minus_zero, &f, &p4, &kept.projection(&p4)).value, 0, "{f}");
        }
        assert_eq!(convert(0x40, &p4, &f, &preset(Preset::P3109SatNone)).value, one, "{f}");
    }
}

fn number(significand: u64, exponent: i32) -> Datum {
    let zeros = significand.trailing_zeros();
    Datum::Finite {
        negative: false,
        significand: significand >> zeros,
        exponent: exponent + zeros.cast_signed(),
    }
}

#[test]
fn sample_constants() {
    // Format; B; MaxFinite, MinPositive and MinNormal as significand and exponent.
    type Value = (u64, i32);
    let rows: [(&str, i32, Value, Value, Value); 20] = [
        ("Binary8p1se", 64, (1, 62), (1, -63), (1, -63)),
        ("Binary8p2se", 32, (1, 31), (1, -32), (1, -31)),
        ("Binary8p3se", 16, (49152, 0), (1, -17), (1, -15)),
        ("Binary8p3sf", 16, (57344, 0), (1, -17), (1, -15)),
        ("Binary8p4se", 8, (224, 0), (1, -10), (1, -7)),
        ("Binary8p4sf", 8, (240, 0), (1, -10), (1, -7)),
        ("Binary8p5se", 4, (15, 0), (1, -7), (1, -3)),
        ("Binary8p6se", 2, (31, -3), (1, -6), (1, -1)),
        ("Binary8p7se", 1, (63, -5), (1, -6), (1, 0)),
        ("Binary8p1ue", 128, (1, 125), (1, -127), (1, -127)),
        ("Binary8p1uf", 128, (1, 126), (1, -127), (1, -127)),
        ("Binary8p4ue", 16, (53248, 0), (1, -18), (1, -15)),
        ("Binary8p4uf", 16, (57344, 0), (1, -18), (1, -15)),
        ("Binary8p8ue", 1, (253, -7), (1, -7), (1, 0)),
        ("Binary8p8uf", 1, (127, -6), (1, -7), (1, 0)),
        ("Binary6p3sf", 4, (14, 0), (1, -5), (1, -3)),
        ("Binary4p2sf", 2, (3, 0), (1, -2), (1, -1)),
        ("Binary3p1se", 2, (1, 0), (1, -1), (1, -1)),
        ("Binary16p1ue", 32768, (1, 32765), (1, -32767), (1, -32767)),
        ("Binary4p3ue", 2, (5, -1), (1, -3), (1, -1)),
    ];
    for (name, bias, max, min_positive, min_normal) in rows {
        let f = format(name);
        assert_eq!(f.bias(), bias, "{name}");
        assert_eq!(f.max_finite(), number(max.0, max.1), "{name}");
        assert_eq!(f.min_positive(), number(min_positive.0, min_positive.1), "{name}");
        assert_eq!(f.min_normal(), number(min_normal.0, min_normal.1), "{name}");
    }
}

/// All formats with 3 ≤ K ≤ 16: 504 of them.
fn all() -> impl Iterator<Item = (u32, u32, Signedness, Domain, Format)> {
    (3..=16).flat_map(|k| {
        [Signedness::Signed, Signedness::Unsigned].into_iter().flat_map(move |s| {
            let top = if s == Signedness::Signed { k - 1 } else { k };
            (1..=top).flat_map(move |p| {
                [Domain::Extended, Domain::Finite]
                    .into_iter()
                    .map(move |d| (k, p, s, d, Format::p3109(k, p, s, d).expect("a legal format")))
            })
        })
    })
}

#[test]
fn parameters_and_special_code_points_of_all_504_formats() {
    let mut count = 0;
    for (k, p, s, d, f) in all() {
        count += 1;
        let (signed, extended) = (s == Signedness::Signed, d == Domain::Extended);
        let (bias, exponent_bits) =
            if signed { (1 << (k - p - 1), k - p) } else { (1 << (k - p), k - p + 1) };
        assert_eq!((f.bias(), f.exponent_bits(), f.trailing_bits()), (bias, exponent_bits, p - 1), "{f}");
        assert_eq!((f.width(), f.precision(), f.is_signed()), (k, p, signed), "{f}");

        let half = 1_u64 << (k - 1);
        let (one, nan, inf, max) = match (signed, extended) {
            (true, true) => (half / 2, half, Some(half - 1), half - 2),
            (true, false) => (half / 2, half, None, half - 1),
            (false, true) => (half, 2 * half - 1, Some(2 * half - 2), 2 * half - 3),
            (false, false) => (half, 2 * half - 1, None, 2 * half - 2),
        };
        assert_eq!(f.decode(0), Datum::ZERO, "{f}");
        assert_eq!(f.decode(one), number(1, 0), "{f}");
        assert!(f.decode(nan).is_nan(), "{f}");
        if let Some(inf) = inf {
            assert_eq!(f.decode(inf), Datum::Infinite { negative: false }, "{f}");
            if signed {
                assert_eq!(f.decode(2 * half - 1), Datum::Infinite { negative: true }, "{f}");
            }
        }
        assert_eq!(f.encode(f.max_finite()), Some(max), "{f}");
        assert_eq!(f.decode(max), f.max_finite(), "{f}");
        let min = if signed { max | half } else { 0 };
        assert_eq!((f.encode(f.min_finite()), f.decode(min)), (Some(min), f.min_finite()), "{f}");
        assert_eq!(f.encode(f.min_positive()), Some(1), "{f}");
        assert_eq!(f.encode(f.min_normal()), Some(1 << (p - 1)), "{f}");
        let max_subnormal = f.max_subnormal().map(|v| f.encode(v).expect("one of its values"));
        assert_eq!(max_subnormal, (p > 1).then_some((1 << (p - 1)) - 1), "{f}");

        let (k, p) = (k.cast_signed(), p.cast_signed());
        let emax = match (signed, p, extended) {
            (true, 1, true) | (false, 2, true) => (1 << (k - 2)) - 2,
            (true, ..) => (1 << (k - p - 1)) - 1,
            (false, 1, true) => (1 << (k - 1)) - 3,
            (false, 1, false) => (1 << (k - 1)) - 2,
            (false, ..) => (1 << (k - p)) - 1,
        };
        assert_eq!(f.exponent_range().1, emax, "{f}");
    }
    assert_eq!(count, 504);
}

/// Section "Decode", in this file's integers: every code of every format with K ≤ 12, and of a few
/// wider ones.
#[test]
fn decode_and_encode_by_the_draft_s_formula() {
    let mut checks = 0_u64;
    for (k, p, s, d, f) in all().filter(|(k, p, ..)| *k <= 12 || *p == 1 || *p == 11) {
        let half = 1_u64 << (k - 1);
        let (signed, extended) = (s == Signedness::Signed, d == Domain::Extended);
        for code in 0..1 << k {
            let negative = signed && code > half;
            let magnitude = if negative { code - half } else { code };
            let is_nan = if signed { code == half } else { code == 2 * half - 1 };
            let infinity = if signed { half - 1 } else { 2 * half - 2 };
            let expected = if is_nan {
                Datum::Nan { negative: false }
            } else if extended && magnitude == infinity {
                Datum::Infinite { negative }
            } else {
                let (t, eb) = (magnitude % (1 << (p - 1)), magnitude >> (p - 1));
                let lowest = 2 - p.cast_signed() - f.bias();
                let (significand, exponent) = match i32::try_from(eb).unwrap() {
                    0 => (t, lowest),
                    e => ((1 << (p - 1)) + t, e + lowest - 1),
                };
                match significand {
                    0 => Datum::ZERO,
                    _ => match number(significand, exponent) {
                        Datum::Finite { significand, exponent, .. } => {
                            Datum::Finite { negative, significand, exponent }
                        }
                        other => other,
                    },
                }
            };
            let got = f.decode(code);
            assert!(got == expected, "{f} {code:#x}: {got}, want {expected}");
            assert!(f.encode(expected) == Some(code), "{f} {code:#x} does not encode back");
            checks += 1;
        }
    }
    assert!(checks > 1_000_000, "{checks}");
}

#[test]
fn one_nan_no_negative_zero() {
    for (.., f) in all() {
        let infinities = u64::from(f.has_infinity()) * (1 + u64::from(f.is_signed()));
        assert_eq!((f.nan_codes(), f.has_negative_zero()), (1, false), "{f}");
        assert_eq!(f.finite_codes(), f.max_code() + 1 - 1 - infinities, "{f}");
        assert_eq!(f.finite_values(), f.finite_codes(), "{f}");
        assert_eq!(f.classify(1), if f.precision() == 1 { Class::Normal } else { Class::Subnormal }, "{f}");
    }
}

/// Rounding to the nearest keeps values below M_hi + ½ ulp in range under every saturation, and
/// small negatives round to 0 in unsigned formats unless the mode moves them away.
#[test]
fn rounding_precedes_the_range_check() {
    let f = format("Binary8p4se");
    for preset in PRESETS {
        let near = |x| project(operand(x), &f, &preset.projection(&f)).value;
        assert_eq!((near("231"), near("2319/10"), near("232")), (0x7E, 0x7E, 0x7E), "{preset:?}");
    }
    let f = format("Binary8p4ue");
    let none = Preset::P3109SatNone.projection(&f);
    // −0.4 · MinPositive = −2/5 · 2^−18.
    let tiny = ratio(-2, 5 << 18);
    let code = |projection: Projection| {
        let Rounded { value, .. } = project(tiny, &f, &projection);
        value
    };
    for (mode, expected) in MODES.into_iter().zip([0x00, 0x00, 0x00, 0x00, 0xFF, 0xFF]) {
        assert_eq!(code(none.with_rounding(mode)), expected, "{mode:?}");
    }
}

/// SHA-256 over one line per code: hexadecimal code, then the exact value as
/// `[-]<odd integer>p<exponent of two>`.
fn digest(f: &Format) -> String {
    let digits = f.width().div_ceil(4) as usize;
    let mut text = String::new();
    for code in f.codes() {
        let value = match f.decode(code) {
            Datum::Nan { .. } => "NaN".to_string(),
            Datum::Infinite { negative } => if negative { "-Inf" } else { "Inf" }.to_string(),
            Datum::Finite { significand: 0, negative, .. } => if negative { "-0" } else { "0" }.to_string(),
            Datum::Finite { negative, significand, exponent } => {
                format!("{}{significand}p{exponent}", if negative { "-" } else { "" })
            }
        };
        writeln!(text, "{code:0digits$x} {value}").expect("writing to a string");
    }
    Sha256::digest(text).iter().fold(String::new(), |mut out, byte| {
        write!(out, "{byte:02x}").expect("writing to a string");
        out
    })
}

/// Some of the digests, so that something is checked wherever the tests run.
const DIGESTS: [(&str, &str); 10] = [
    ("Binary3p1se", "d42e3872c0cf6e0e32c13526977c00eb32555abf75a3b4836804f61d74b59f5b"),
    ("Binary4p2sf", "c8785e59efe0ff780dbd93877b11cc0ba947ad575ed14f879e7effd74d47afa7"),
    ("Binary6p3se", "8d413e000fca544244beecf9d26c979f3d5b96d9992e8ed6a95ea992c5053acf"),
    ("Binary8p1uf", "f4ad06ddbc633ec4d3a733d54ae5b8e1c32bcc0349accbc42579f9de0088456a"),
    ("Binary8p3se", "d26b8f03b9ab99ad6d0258c964d87c230430084471df0e40f027bf9e9a496d3b"),
    ("Binary8p4se", "a99a6a34c2c519d575f0c63db37c4447ce8ddfdc512f6de0d88e50982320f4d5"),
    ("Binary8p8ue", "713bbaf697c13ce099887b2dfd406fcb9386d3e5948c84ce3f2986a8f14d6602"),
    ("Binary8p5uf", "83fae28d7f195d5ec176760a40d79e401ac02299e57dad3b4881a903dbc7a486"),
    ("Binary5p5uf", "0da16ee2830ac2a1ba9a6878e9ea3a042c579ca87b56d720c65f3926d0169f3e"),
    ("Binary7p1ue", "edb3f7ac5106ae937ac56f2b40474d5316c97d4e2c4315243b8ea635d02dc00c"),
];

#[test]
fn digests_of_published_value_tables() {
    for (name, expected) in DIGESTS {
        assert_eq!(digest(&format(name)), expected, "{name}");
    }
}

#[test]
fn all_120_digests_of_published_value_tables() {
    let shared = std::env::var_os("SMALLFLOAT_SHARED")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared"), PathBuf::from);
    let path = shared.join("data/p3109-table-digests-k3-k8.txt");
    let Ok(file) = std::fs::read_to_string(&path) else {
        let message = "SKIPPED: 120 digests of P3109 value tables were NOT checked";
        writeln!(std::io::stderr(), "{message}: no {}", path.display()).expect("standard error");
        return;
    };
    let mut checks = 0;
    for line in file.lines().filter(|line| line.starts_with("Binary")) {
        let (name, expected) = line.split_once(' ').expect("a name and a digest");
        assert_eq!(digest(&format(name)), expected, "{name}");
        checks += 1;
    }
    assert_eq!(checks, 120, "{}", path.display());
}
