//! The tables of the RFC on E4M3B11FNUZ and of the P3109 report's talk, row by row as printed.

use smallfloat::formats::{BFLOAT16, BINARY16, BINARY32, BINARY64, E4M3B11FNUZ, E4M3FN, E4M3FNUZ, E5M2};
use smallfloat::{Class, Datum, Flags, Format, Preset, Rounding, convert};
use smallfloat_proof::format;

/// A table of the talk: its rows.
fn talk(name: &str) -> &'static str {
    const TABLES: &str = include_str!("../../../data/talk-tables.txt");
    let (_, table) = TABLES.split_once(&format!("\n[{name}] ")).expect("a table of this name");
    let (_, rows) = table.split_once('\n').expect("a title");
    rows.split("\n\n").next().expect("rows")
}

/// What a printed row says about a code.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Printed {
    Nan,
    Infinite(bool),
    Zero(bool),
    /// Sign, odd significand, exponent.
    Number(bool, u64, i32),
}

/// The digits of `[+|-][0b]1.001*2^-8`.
fn binary(text: &str) -> Printed {
    let negative = text.starts_with('-');
    let text = text.trim_start_matches(['+', '-']).trim_start_matches("0b");
    let (digits, exponent) = text.split_once("*2^").expect("a binary number");
    let (whole, fraction) = digits.split_once('.').expect("a point");
    let significand = u64::from_str_radix(&format!("{whole}{fraction}"), 2).expect("binary digits");
    let exponent: i32 = exponent.parse().expect("an exponent");
    let exponent = exponent - i32::try_from(fraction.len()).unwrap();
    if significand == 0 {
        return Printed::Zero(negative);
    }
    let zeros = significand.trailing_zeros();
    Printed::Number(negative, significand >> zeros, exponent + zeros.cast_signed())
}

fn decoded(f: &Format, code: u64) -> Printed {
    match f.decode(code) {
        Datum::Nan { .. } => Printed::Nan,
        Datum::Infinite { negative } => Printed::Infinite(negative),
        Datum::Finite { negative, significand: 0, .. } => Printed::Zero(negative),
        Datum::Finite { negative, significand, exponent } => Printed::Number(negative, significand, exponent),
    }
}

/// Checks every row `0xNN … = value [= decimal]` of a table: decoding gives the printed value, the
/// printed decimal (if exact) encodes to the code. Returns the number of rows.
fn check(f: &Format, table: &str) -> usize {
    let projection = f.default_projection();
    for row in table.trim().lines() {
        let row = row.trim();
        let code = u64::from_str_radix(&row[2..4], 16).expect("a code");
        let fields: Vec<&str> = row.split(" = ").map(str::trim).collect();
        let last = *fields.last().expect("a value");
        let expected = match last.trim_start_matches(['+', '-']) {
            "nan" | "NaN" => Printed::Nan,
            "inf" | "Inf" => Printed::Infinite(last.starts_with('-')),
            "0.0" => Printed::Zero(last.starts_with('-')),
            // The binary form stands before the decimal, or alone; other text may precede it.
            _ => {
                let form = fields.iter().find(|field| field.contains("*2^")).expect("a binary form");
                binary(form.rsplit(' ').next().expect("text"))
            }
        };
        assert_eq!(decoded(f, code), expected, "{f}: {row}");
        if let Some(rounded) = last.strip_prefix('~') {
            let value = f.decode(code).to_f64().expect("exact");
            assert_eq!(format!("{value:.3}"), rounded, "{f}: {row}");
        } else if !last.contains("*2^") && expected != Printed::Nan {
            let encoded = f.encode_text(last, &projection).expect("a number");
            assert_eq!((encoded.value, encoded.flags), (code, Flags::NONE), "{f}: {row}");
            if let Some(bits) = BINARY64.encode(f.decode(code)) {
                let decimal: f64 = last.parse().expect("a decimal");
                assert_eq!(bits, decimal.to_bits(), "{f}: {row}");
            }
        }
    }
    table.trim().lines().count()
}

/// Codes with significand and exponent.
type ClassSums = [(u64, u64, i32); 4];

#[test]
fn rfc_table_of_e4m3fn_e4m3fnuz_and_e4m3b11fnuz() {
    // Bias; min normal, max normal, min subnormal, max subnormal as code and significand ·
    // 2^exponent.
    let columns: [(Format, i32, ClassSums); 3] = [
        (E4M3FN, 7, [(0x08, 1, -6), (0x7E, 7, 6), (0x01, 1, -9), (0x07, 7, -9)]),
        (E4M3FNUZ, 8, [(0x08, 1, -7), (0x7F, 15, 4), (0x01, 1, -10), (0x07, 7, -10)]),
        (E4M3B11FNUZ, 11, [(0x08, 1, -10), (0x7F, 15, 1), (0x01, 1, -13), (0x07, 7, -13)]),
    ];
    for (f, bias, cells) in columns {
        assert_eq!((f.bias(), f.width(), f.exponent_bits(), f.trailing_bits()), (bias, 8, 4, 3), "{f}");
        for (code, significand, exponent) in cells {
            for (code, negative) in [(code, false), (code | 0x80, true)] {
                assert_eq!(
                    decoded(&f, code),
                    Printed::Number(negative, significand, exponent),
                    "{f} {code:#x}"
                );
            }
        }
        let classes = cells.map(|(code, ..)| f.classify(code));
        assert_eq!(classes, [Class::Normal, Class::Normal, Class::Subnormal, Class::Subnormal], "{f}");
        let values = [Some(f.min_normal()), Some(f.max_finite()), Some(f.min_positive()), f.max_subnormal()];
        for (value, (code, ..)) in values.into_iter().zip(cells) {
            assert_eq!(value, Some(f.decode(code)), "{f} {code:#x}");
        }
        assert!(!f.has_infinity() && (0..256).all(|code| f.classify(code) != Class::Infinite), "{f}");
        let nans: Vec<u64> = (0..256).filter(|code| f.decode(*code).is_nan()).collect();
        let minus_zero = f == E4M3FN;
        assert_eq!(nans, if minus_zero { vec![0x7F, 0xFF] } else { vec![0x80] }, "{f}");
        assert_eq!(f.has_negative_zero(), minus_zero, "{f}");
        // −0 is representable in E4M3FN only: elsewhere it becomes 0, never the NaN on its code.
        let r = f.encode_f32(-0.0, &f.default_projection());
        assert_eq!((r.value, r.flags), (if minus_zero { 0x80 } else { 0x00 }, Flags::NONE), "{f}");
    }
    // The decimals that the table prints: 448, 240, 30.
    for (f, max) in [(E4M3FN, 448.0_f64), (E4M3FNUZ, 240.0), (E4M3B11FNUZ, 30.0)] {
        assert_eq!(f.max_finite().to_f64().map(f64::to_bits), Some(max.to_bits()), "{f}");
    }
}

#[test]
fn six_bit_tables() {
    assert_eq!(check(&format("ieee:k=6,p=3"), talk("six-bit-ieee")), 64);
    assert_eq!(check(&format("binary6p3se"), talk("six-bit-p3109")), 64);
    // "6 NaNs, one negative zero, ±infinity, 3 subnormals" against "just one NaN".
    let (ieee, p3109) = (format("ieee:k=6,p=3"), format("binary6p3se"));
    for (f, nans, infinities, subnormals) in [(ieee, 6, 2, 6), (p3109, 1, 2, 6)] {
        let count = |class| (0..64).filter(|code| f.classify(*code) == class).count();
        let counts = (count(Class::Nan), count(Class::Infinite), count(Class::Subnormal));
        assert_eq!(counts, (nans, infinities, subnormals), "{f}");
    }
    assert!(ieee.has_negative_zero() && !p3109.has_negative_zero());
}

#[test]
fn all_bits_one_exponents() {
    let columns = [
        (E4M3FN, talk("ocp-e4m3"), 0x7E),
        (E5M2, talk("ocp-e5m2"), 0x7B),
        (format("binary8p3"), talk("wg-p3"), 0x7E),
        (format("binary8p2"), talk("wg-p2"), 0x7E),
        (format("minifloat:k=8,p=1,bias=63,specials=p3109-extended"), talk("wg-p1"), 0x7E),
    ];
    for (f, table, max) in columns {
        assert_eq!(check(&f, table), 15);
        // "maxFinite highlighted in yellow".
        assert_eq!(f.encode(f.max_finite()), Some(max), "{f}");
    }
    // The draft of today has bias 64 for P = 1, so every value is half of the talk's.
    assert_eq!(decoded(&format("binary8p1se"), 0x7E), Printed::Number(false, 1, 62));
}

#[test]
fn parameters_of_the_talk() {
    for (p, emax, bias, w, t) in [(5, 3, 4, 3, 4), (4, 7, 8, 4, 3), (3, 15, 16, 5, 2)] {
        let f = format(&format!("binary8p{p}"));
        let parameters = (f.width(), f.precision(), f.exponent_range().1, f.bias());
        assert_eq!(parameters, (8, p, emax, bias), "{f}");
        assert_eq!((f.exponent_bits(), f.trailing_bits()), (w, t), "{f}");
    }
    for (f, k, p, emax, w, t) in
        [(BINARY16, 16, 11, 15, 5, 10), (BINARY32, 32, 24, 127, 8, 23), (BINARY64, 64, 53, 1023, 11, 52)]
    {
        let parameters = (f.width(), f.precision(), f.exponent_range().1, f.bias());
        assert_eq!(parameters, (k, p, emax, emax), "{f}");
        assert_eq!((f.exponent_bits(), f.trailing_bits()), (w, t), "{f}");
    }
    for p in 1..=7 {
        let f = format(&format!("binary8p{p}se"));
        // Near-symmetric about 1: 63 encodings below, 63 from 1 to the largest finite value.
        let one = Datum::finite(false, 1, 0);
        let below = (1..0x7F).filter(|c| f.decode(*c).compare(&one).is_some_and(std::cmp::Ordering::is_lt));
        assert_eq!((below.count(), f.decode(0x40)), (63, one), "{f}");
        // Exact in binary32; in binary16 for P > 2 only.
        assert!(f.fits_in(&BINARY32) && f.fits_in(&BFLOAT16), "{f}");
        assert_eq!(f.fits_in(&BINARY16), p > 2, "{f}");
    }
}

#[test]
fn binary8p4_code_table() {
    assert_eq!(check(&format("binary8p4"), talk("binary8p4")), 52);
    assert_eq!(format("binary8p4"), format("binary8p4se"));
}

#[test]
fn binary8p3_code_table() {
    assert_eq!(check(&format("binary8p3"), talk("binary8p3")), 52);
    assert_eq!(format("binary8p3"), format("binary8p3se"));
}

#[test]
fn with_and_without_subnormals() {
    assert_eq!(check(&format("binary8p4se"), talk("p4-with-subnormals")), 16);
    let without = format("minifloat:k=8,p=4,bias=8,specials=p3109-extended,subnormals=none");
    assert_eq!(check(&without, talk("p4-without-subnormals")), 16);
    // "minFloat 0.0010 and 0.0044: the dynamic range increases by more than 4".
    let smallest = |f: &Format| f.min_positive().to_f64().expect("exact").to_bits();
    assert_eq!(smallest(&format("binary8p4se")), 0.000_976_562_5_f64.to_bits());
    assert_eq!(smallest(&without), 0.004_394_531_25_f64.to_bits());
    // From code 08 on both columns are one.
    for code in (0x08..=0x80).chain(0x88..=0xFF) {
        assert_eq!(decoded(&without, code), decoded(&format("binary8p4se"), code), "{code:#x}");
    }
}

#[test]
fn binary4p2_with_and_without_infinity() {
    let (extended, finite) = (format("binary4p2"), format("binary4p2f"));
    assert_eq!((extended, finite), (format("binary4p2se"), format("binary4p2sf")));
    let magnitudes = [(1, -2), (1, -1), (3, -2), (1, 0), (3, -1), (1, 1)];
    for f in [extended, finite] {
        assert_eq!((decoded(&f, 0), decoded(&f, 8)), (Printed::Zero(false), Printed::Nan), "{f}");
        for (code, (significand, exponent)) in (1..).zip(magnitudes) {
            assert_eq!(decoded(&f, code), Printed::Number(false, significand, exponent), "{f} {code}");
            assert_eq!(decoded(&f, code | 8), Printed::Number(true, significand, exponent), "{f} {code}");
        }
    }
    assert_eq!(
        (decoded(&extended, 7), decoded(&extended, 15)),
        (Printed::Infinite(false), Printed::Infinite(true))
    );
    assert_eq!(decoded(&finite, 7), Printed::Number(false, 3, 0));
    assert_eq!(decoded(&finite, 15), Printed::Number(true, 3, 0));
    // "← Max": 2.0 and 3.0; printed to one decimal.
    assert_eq!(
        (extended.encode(extended.max_finite()), finite.encode(finite.max_finite())),
        (Some(6), Some(7))
    );
    for (code, printed) in ["0.0", "0.2", "0.5", "0.8", "1.0", "1.5", "2.0", "3.0"].into_iter().enumerate() {
        let value = finite.decode(code as u64).to_f64().expect("exact");
        assert_eq!(format!("{value:.1}"), printed);
    }
}

/// fma(3/1024, 49152, 2^−17) = 144.000007629453…: 160 in binary8p3, and 128 by way of binary32.
#[test]
fn double_rounding_through_binary32() {
    let f = format("binary8p3se");
    let projection = f.default_projection();
    let (c128, c160) = (0x5C, 0x5D);
    assert_eq!(
        (decoded(&f, c128), decoded(&f, c160)),
        (Printed::Number(false, 1, 7), Printed::Number(false, 5, 5))
    );
    // 144 + 2^−17, exact in binary64.
    let x = 144.0 + f64::from_bits((1023 - 17) << 52);
    assert_eq!(format!("{x:.12}"), "144.000007629395"); // the slide prints …7629453: it lost the digits 39
    assert_eq!(f.encode_f64(x, &projection).value, c160);
    assert_eq!(f.encode_text("144.00000762939453125", &projection).expect("a number").value, c160);
    assert_eq!(f.encode_text("144.000007629453", &projection).expect("a number").value, c160);
    let narrow = convert(x.to_bits(), &BINARY64, &BINARY32, &BINARY32.default_projection());
    assert_eq!(narrow.value, u64::from(144.0_f32.to_bits()));
    assert_eq!(convert(narrow.value, &BINARY32, &f, &projection).value, c128);
    // Rounding to odd on the way keeps the information.
    let odd = BINARY32.default_projection().with_rounding(Rounding::ToOdd);
    let narrow = convert(x.to_bits(), &BINARY64, &BINARY32, &odd);
    assert_eq!(convert(narrow.value, &BINARY32, &f, &projection).value, c160);
}

/// The talk's Convert: any NaN → NaN; ±Inf → ±max if saturating, else kept; −0 → 0.
#[test]
fn convert_table_of_the_talk() {
    for (name, max) in [("binary8p3", 0x7E), ("binary8p4", 0x7E)] {
        let f = format(name);
        for (preset, infinity) in [(Preset::P3109SatFinite, max), (Preset::P3109SatNone, 0x7F)] {
            let projection = preset.projection(&f);
            for nan in [0x7FC0_0000, 0xFFC0_0000, 0x7F80_0001, 0xFFFF_FFFF] {
                assert_eq!(convert(nan, &BINARY32, &f, &projection).value, 0x80, "{name}");
            }
            assert_eq!(convert(0x7F80_0000, &BINARY32, &f, &projection).value, infinity, "{name}");
            assert_eq!(convert(0xFF80_0000, &BINARY32, &f, &projection).value, infinity | 0x80, "{name}");
            let r = convert(0x8000_0000, &BINARY32, &f, &projection);
            assert_eq!((r.value, r.flags), (0, Flags::NONE), "{name}");
        }
    }
    // And back: NaN and ±Inf stay what they are.
    let (f, projection) = (format("binary8p3"), Preset::P3109SatNone.projection(&BINARY32));
    for (code, bits) in [(0x80, 0x7FC0_0000), (0x7F, 0x7F80_0000), (0xFF, 0xFF80_0000), (0x00, 0)] {
        assert_eq!(convert(code, &f, &BINARY32, &projection).value, bits);
    }
}
