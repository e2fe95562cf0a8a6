//! How values print, against the standard library's floats, and what is read, against powers of two
//! that no parser sees.
#![cfg(feature = "alloc")]

use smallfloat::formats::{BINARY16, BINARY64, CATALOGUE, E4M3FN};
use smallfloat::text::{Decimal, parse};
use smallfloat::{
    CFloat8_1_4_3, Datum, Domain, Dynamic, E4M3Fn, E5M2, Exact, F16, Flags, Format, Rounding, Signedness,
    project,
};

fn formats() -> Vec<Format> {
    let mut list: Vec<Format> =
        CATALOGUE.iter().map(|row| row.format).filter(|format| format.width() <= 16).collect();
    for k in [4, 8] {
        for p in 1..=k {
            for signedness in [Signedness::Signed, Signedness::Unsigned] {
                list.extend(Format::p3109(k, p, signedness, Domain::Extended));
            }
        }
    }
    let names = [
        "cfloat8_1_4_3:bias=63",
        "shp:bias=63",
        "binary16p1ue",
        "binary16p5se",
        "binary16p11se",
        "binary16p16uf",
        "minifloat:k=8,p=4,bias=7,subnormals=none",
        "minifloat:k=8,p=3,bias=30,signed=false,subnormals=flush",
        "minifloat:k=6,p=3,bias=-60",
    ];
    list.extend(names.map(|name| name.parse::<Format>().expect("a format")));
    list
}

/// Every code of a narrow format, one of so many of another.
fn codes(format: &Format, stride: usize) -> impl Iterator<Item = u64> {
    format.codes().step_by(if format.width() > 8 { stride } else { 1 })
}

#[test]
fn values_of_the_catalogue_are_binary64s() {
    for row in CATALOGUE {
        assert!(row.format.fits_in(&BINARY64), "{}", row.name);
    }
}

/// As the standard library prints the `f64`, whose values come from integers and powers of two
/// here; with an exponent where the rule says so.
fn expected(x: f64) -> String {
    if x == 0.0 || (1e-5..1e17).contains(&x.abs()) { format!("{x}") } else { format!("{x:e}") }
}

#[test]
fn values_print_as_the_same_f64() {
    let (mut plain, mut with_exponent, mut beyond) = (0, 0, 0);
    for format in formats() {
        for code in codes(&format, 7) {
            let Datum::Finite { negative, significand, exponent } = format.decode(code) else { continue };
            let sign = if negative { "-" } else { "" };
            let found = Decimal::from(format.decode(code));
            let dynamic = Dynamic::from_bits(code, format);
            let text = found.to_string();
            assert_eq!((format.decode_text(code), dynamic.to_string()), (text.clone(), text.clone()));
            #[expect(clippy::cast_precision_loss, reason = "at most 16 bits")]
            let wide = significand as f64;
            // Two steps: 2^−1074 is no quotient of 1 and a power of two.
            let x = wide * 2_f64.powi(exponent / 2) * 2_f64.powi(exponent - exponent / 2);
            let x = if negative { -x } else { x };
            let leading = exponent.saturating_add_unsigned(significand.max(1).ilog2());
            let is_binary64 = exponent >= -1074 && leading <= 1023;
            if !is_binary64 {
                beyond += 1;
                assert_eq!(text, format!("{sign}{significand}p{exponent}"), "{format} {code:#x}");
                assert_eq!(parse(&text), Ok(Exact::finite(negative, significand.into(), exponent)));
                assert_eq!((format!("{found:.3}"), format!("{found:e}")), (text.clone(), text));
                continue;
            }
            assert_eq!(text, expected(x), "{format} {code:#x}");
            assert_eq!(text.parse::<f64>().map(f64::to_bits), Ok(x.to_bits()), "{format} {code:#x}");
            let is_integer = !text.contains(['.', 'e']);
            let dot = if is_integer { ".0" } else { "" };
            assert_eq!(format!("{found:?}"), format!("{text}{dot}"), "{format} {code:#x}");
            for (ours, std) in [
                (format!("{found:e}"), format!("{x:e}")),
                (format!("{found:E}"), format!("{x:E}")),
                (format!("{found:.0}"), format!("{x:.0}")),
                (format!("{found:+.3}"), format!("{x:+.3}")),
                (format!("{found:>14.2e}"), format!("{x:>14.2e}")),
                (format!("{found:012.3}"), format!("{x:012.3}")),
                (format!("{found:.2?}"), format!("{x:.2}")),
            ] {
                assert_eq!(ours, std, "{format} {code:#x}");
            }
            if text.contains('e') {
                with_exponent += 1;
                continue;
            }
            plain += 1;
            for (ours, std) in [
                (format!("{found:+}"), format!("{x:+}")),
                (format!("{found:30}|"), format!("{x:30}|")),
                (format!("{found:<30}|"), format!("{x:<30}|")),
                (format!("{found:*^30}|"), format!("{x:*^30}|")),
                (format!("{found:+030}"), format!("{x:+030}")),
                (format!("{dynamic:030}"), format!("{x:030}")),
            ] {
                assert_eq!(ours, std, "{format} {code:#x}");
            }
        }
    }
    assert!(plain > 20_000 && with_exponent > 5_000 && beyond > 5_000, "{plain} {with_exponent} {beyond}");
}

/// Every `f64` prints as the standard library prints it, but for where the exponent begins.
#[test]
fn binary64_prints_as_f64() {
    let mut state = 7_u64;
    for i in 0..200_000_u32 {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        // Every other one between 2^−32 and 2^64, most with few bits.
        let bits = if i % 2 == 0 { state } else { state % (96 << 52) + (991 << 52) };
        let x = f64::from_bits(bits & (u64::MAX << (i % 53)));
        if !x.is_finite() {
            continue;
        }
        let found = Decimal::from(x);
        let text = expected(x);
        assert_eq!(found.to_string(), text);
        let dot = if text.contains(['.', 'e']) { "" } else { ".0" };
        assert_eq!(format!("{found:?}"), format!("{text}{dot}"));
        assert_eq!(format!("{found:+e}|{found:9.2}"), format!("{x:+e}|{x:9.2}"));
    }
}

/// Strings typed in: where the exponent begins, and the longest of each kind.
#[test]
fn numbers_as_they_are() {
    for (x, display, debug) in [
        (0.0, "0", "0.0"),
        (-0.0, "-0", "-0.0"),
        (448.0, "448", "448.0"),
        (1.099_609_375, "1.099609375", "1.099609375"),
        (1e-5, "0.00001", "0.00001"),
        (9.999_999_999_999_999e-6, "9.999999999999999e-6", "9.999999999999999e-6"),
        (2_f64.powi(-16), "0.0000152587890625", "0.0000152587890625"),
        (2_f64.powi(-17), "7.62939453125e-6", "7.62939453125e-6"),
        (2_f64.powi(-24), "5.960464477539063e-8", "5.960464477539063e-8"),
        (999_999_999_999_999.0, "999999999999999", "999999999999999.0"),
        (1e15, "1000000000000000", "1000000000000000.0"),
        (1e16, "10000000000000000", "10000000000000000.0"),
        (99_999_999_999_999_984.0, "99999999999999980", "99999999999999980.0"),
        (1e17, "1e17", "1e17"),
        (0.1 + 0.2, "0.30000000000000004", "0.30000000000000004"),
        (5e-324, "5e-324", "5e-324"),
        (f64::MAX, "1.7976931348623157e308", "1.7976931348623157e308"),
        (f64::INFINITY, "Inf", "Inf"),
        (f64::NEG_INFINITY, "-Inf", "-Inf"),
        (-f64::NAN, "NaN", "NaN"),
    ] {
        let found = Decimal::from(x);
        assert_eq!((found.to_string().as_str(), format!("{found:?}").as_str()), (display, debug));
        assert!(parse(display).is_ok() && parse(debug).is_ok());
    }
    let beyond = Decimal::from(Datum::finite(true, 3, -16385));
    assert_eq!(
        format!("{beyond}|{beyond:12}|{beyond:<12}|{beyond:012}"),
        "-3p-16385|   -3p-16385|-3p-16385   |-0003p-16385"
    );
    assert_eq!(
        format!("{:+}", Decimal::from(Datum::finite(false, u64::MAX, 1 << 29))),
        "+18446744073709551615p536870912"
    );
    // Scalars spell infinities as floats do.
    assert_eq!(
        (
            E4M3Fn::MAX.to_string(),
            F16::MAX.to_string(),
            format!("{:?}", F16::ONE),
            E5M2::INFINITY.to_string()
        ),
        ("448".into(), "65504".into(), "1.0".into(), "inf".into())
    );
    assert_eq!(format!("{:?}", [CFloat8_1_4_3::<7>::ONE]), "[1.0]");
    assert_eq!(E4M3Fn::MAX.shortest().to_string(), "450");
    assert_eq!(Dynamic::from_bits(0x7e, E4M3FN).shortest().to_string(), "450");
}

/// Decimals of few digits round to the code that their exact quotient rounds to; that is known by
/// the midpoints in 128-bit integers.
#[test]
fn short_decimals_are_read_as_exact_ones() {
    let mut state = 3_u64;
    for format in formats() {
        let projection = format.default_projection();
        for i in 0..560_u32 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let digits = (state >> 8) >> (state % 56);
            let power = (-28_i32).saturating_add_unsigned(i % 56);
            let sign = ["", "-", "+"][(state >> 60) as usize % 3];
            let text = format!("{sign}{digits}e{power}");
            // Written so long that only the exact parser takes it.
            let long = format!("{sign}{digits}.{}e{power}", "0".repeat(70));
            let exact = parse(&long).expect("a number");
            let code = project(exact, &format, &projection);
            assert_eq!(format.encode_text(&text, &projection), Ok(code), "{format} {text}");
            let read = Dynamic::from_text(&text, format).expect("a number");
            assert_eq!(read.to_bits(), code.value, "{format} {text}");
        }
    }
    assert_eq!("1.1".parse::<E4M3Fn>().map(E4M3Fn::to_bits), Ok(0x39));
    for text in ["", "-", ".", "1e", "e1", "1.2.3", "1e+-1", "1_0", "+", "1e1.", "0x", "1..", "--1", "1-"] {
        assert!(text.parse::<E4M3Fn>().is_err(), "{text:?}");
    }
    for text in ["1", " 1\n", "1.", "0001.000", "1e0", "1E+0", "10e-1", ".1e1", "0x1p0", "3p0", "1/1", "+1"] {
        let code = if text == "3p0" { 0x44 } else { 0x38 };
        assert_eq!(text.parse::<E4M3Fn>().map(E4M3Fn::to_bits), Ok(code), "{text:?}");
    }
}

/// The decimal digits of m · 2^e, as an integer times a power of ten.
fn decimal(significand: u64, exponent: i32) -> (String, i32) {
    // Digits from the last to the first, times 5 or 2 again and again.
    let mut digits: Vec<u8> = significand.to_string().bytes().rev().map(|byte| byte - b'0').collect();
    let factor = if exponent < 0 { 5 } else { 2 };
    for _ in 0..exponent.unsigned_abs() {
        let mut carry = 0;
        for digit in &mut digits {
            carry += *digit * factor;
            *digit = carry % 10;
            carry /= 10;
        }
        if carry > 0 {
            digits.push(carry);
        }
    }
    (digits.iter().rev().map(|digit| char::from(b'0' + digit)).collect(), exponent.min(0))
}

/// Around every value and every midpoint: on it, and so little beside it that binary64 does not
/// tell, in every rounding mode. What the number rounds to is known without decimals: the boundary
/// as an integer times a power of two, and a sticky bit.
#[test]
fn boundaries_are_told_from_what_lies_beside_them() {
    const BELOW: u32 = 64;
    let mut compared = 0_u32;
    for format in formats() {
        let stride = match format.width() {
            ..=6 => 1,
            7..=8 => 3,
            _ => 257,
        };
        for code in format.codes().step_by(stride) {
            let (Datum::Finite { negative: false, significand: a, exponent: p }, Some(above)) =
                (format.decode(code), format.next_above(format.decode(code).into()))
            else {
                continue;
            };
            // The value itself, and the middle to the next one.
            let mut boundaries = vec![(a, p)];
            if let Datum::Finite { significand: b, exponent: q, .. } = format.decode(above) {
                let unit = p.min(q);
                let shift = |x: u64, e: i32| x << (e - unit);
                if (p - unit).max(q - unit) < 40 {
                    boundaries.push((shift(a, p) + shift(b, q), unit - 1));
                }
            }
            for (significand, exponent) in boundaries {
                if significand == 0 || !(-400..=400).contains(&exponent) {
                    continue;
                }
                let (digits, ten) = decimal(significand, exponent);
                let scaled = u128::from(significand) << BELOW;
                let nines = "9".repeat(70);
                let zeros = "0".repeat(70);
                let less = (digits.parse::<u128>().ok()).map(|n| format!("{}.{nines}e{ten}", n - 1));
                let beside = |significand| Exact::Finite {
                    negative: false,
                    significand,
                    exponent: exponent.saturating_sub_unsigned(BELOW),
                    sticky: true,
                };
                let exactly = Exact::finite(false, scaled, exponent.saturating_sub_unsigned(BELOW));
                let mut texts = vec![
                    (format!("{digits}e{ten}"), exactly),
                    (format!("{digits}.{zeros}e{ten}"), exactly),
                    (format!("{digits}.{zeros}1e{ten}"), beside(scaled)),
                ];
                texts.extend(less.map(|less| (less, beside(scaled - 1))));
                for (text, exact) in texts {
                    for rounding in Rounding::DETERMINISTIC {
                        let projection = format.default_projection().with_rounding(*rounding);
                        let expected = project(exact, &format, &projection);
                        let found = format.encode_text(&text, &projection);
                        assert_eq!(found, Ok(expected), "{format} {rounding} {text}");
                        compared += 1;
                    }
                    let projection = format.default_projection();
                    let read = Dynamic::from_text(&text, format).expect("a number");
                    assert_eq!(read.to_bits(), project(exact, &format, &projection).value, "{format} {text}");
                }
            }
        }
    }
    assert!(compared > 30_000, "{compared}");
}

/// Far above the range and below it binary64 decides or the exact parser does.
#[test]
fn far_numbers() {
    let up = BINARY16.default_projection().with_rounding(Rounding::TowardPositive);
    for (text, code, flags) in [
        ("1e400", 0x7c00, Flags::OVERFLOW | Flags::INEXACT),
        ("1e-400", 0x0001, Flags::UNDERFLOW | Flags::INEXACT),
        ("1.2345e300", 0x7c00, Flags::OVERFLOW | Flags::INEXACT),
        ("1.2345e-300", 0x0001, Flags::UNDERFLOW | Flags::INEXACT),
        ("5e-324", 0x0001, Flags::UNDERFLOW | Flags::INEXACT),
        ("0e-400", 0x0000, Flags::NONE),
        (
            "65504.00000000000000000000000000000000000000000000000000000000001",
            0x7c00,
            Flags::OVERFLOW | Flags::INEXACT,
        ),
    ] {
        let found = BINARY16.encode_text(text, &up).expect("a number");
        assert_eq!((found.value, found.flags), (code, flags), "{text}");
    }
}
