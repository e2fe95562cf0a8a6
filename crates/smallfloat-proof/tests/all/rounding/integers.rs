//! Conversions to and from integers: all codes of formats of 16 bits and fewer, and the places of
//! binary32 and binary64 where a result changes, against the oracle's integers, and against the
//! conversions of Rust's own types.
//!
//! Rounding is that of big integers here; what an invalid conversion gives is a table from the
//! manuals of RISC-V, Arm and x86.
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_lossless,
    reason = "the casts are what is compared with"
)]

use num_bigint::BigInt;
use smallfloat::formats::{BINARY16, BINARY32, BINARY64};
use smallfloat::ops::Integer;
use smallfloat::p3109::{Answer, Specialization};
use smallfloat::{FlagPolicy, Flags, Format, Rounded, Rounding};
use smallfloat_oracle::{self as oracle, Dyadic, Table, Value};
use smallfloat_proof::{catalogue, core_flags, oracle_format, oracle_policy, tesla};

const POLICIES: [FlagPolicy; 4] = [FlagPolicy::TESLA, FlagPolicy::RISCV, FlagPolicy::ARM, FlagPolicy::X86];

/// The smallest and the largest integer.
fn range(integer: Integer) -> (BigInt, BigInt) {
    let bits = integer.bits();
    if integer.name().starts_with('u') {
        (BigInt::from(0), (BigInt::from(1) << bits) - 1)
    } else {
        (-(BigInt::from(1) << (bits - 1)), (BigInt::from(1) << (bits - 1)) - 1)
    }
}

/// The word in two's complement.
fn word(value: &BigInt, bits: u32) -> u64 {
    let modulus = BigInt::from(1) << bits;
    let low = ((value % &modulus) + &modulus) % &modulus;
    low.to_u64_digits().1.first().copied().unwrap_or(0)
}

/// The integer that a number rounds to, and whether it is that integer.
fn rounded(x: &Dyadic, rounding: Rounding) -> (BigInt, bool) {
    let (mantissa, exponent) = (x.mantissa(), x.exponent());
    if exponent >= 0 {
        return (mantissa << u64::try_from(exponent).expect("not below 0"), true);
    }
    // Shifting rounds toward −∞. Odd mantissas with a negative exponent are no integers.
    let places = u64::try_from(-exponent).expect("not below 0");
    let floor: BigInt = &mantissa >> places;
    let twice: BigInt = (mantissa - (&floor << places)) * 2;
    let half = BigInt::from(1) << places;
    let is_negative = x.is_negative();
    let up = match rounding {
        Rounding::TowardNegative => false,
        Rounding::TowardPositive => true,
        Rounding::TowardZero => is_negative,
        Rounding::NearestEven => twice > half || (twice == half && floor.bit(0)),
        Rounding::NearestAway => twice > half || (twice == half && !is_negative),
        Rounding::ToOdd => !floor.bit(0),
        other => panic!("{other} is not deterministic"),
    };
    (floor + u32::from(up), false)
}

/// What is right, from the manuals.
fn expected(
    code: u64,
    from: &oracle::OracleFormat,
    to: Integer,
    rounding: Rounding,
    name: &str,
) -> (u64, Flags) {
    let (least, largest) = range(to);
    // Tesla's rules and x86's have the flag; x86's conversions to integers do not raise it.
    let denormal = if name == "tesla" && from.is_subnormal(code) { Flags::DENORMAL } else { Flags::NONE };
    let invalid = |nearest: Option<&BigInt>| {
        let value = match (name, nearest) {
            ("x86", _) if to.is_signed() => &least,
            ("x86", _) => &largest,
            (_, Some(nearest)) => nearest,
            ("arm", None) => return (0, Flags::INVALID | denormal),
            (_, None) => &largest,
        };
        (word(value, to.bits()), Flags::INVALID | denormal)
    };
    let x = match from.value(code) {
        Value::Nan { .. } => return invalid(None),
        Value::Inf { negative } => return invalid(Some(if negative { &least } else { &largest })),
        Value::Finite(value, _) => value,
    };
    let (value, is_exact) = rounded(&x, rounding);
    if value < least {
        return invalid(Some(&least));
    }
    if value > largest {
        return invalid(Some(&largest));
    }
    (word(&value, to.bits()), denormal | if is_exact { Flags::NONE } else { Flags::INEXACT })
}

/// Compares the codes of a format with what is right, to all integers in all deterministic
/// roundings; returns how many results that were.
fn check(from: &Format, codes: &[u64]) -> u64 {
    let source = oracle_format(from);
    let mut compared = 0;
    for &integer in Integer::ALL {
        for &rounding in Rounding::DETERMINISTIC {
            for (policy, name) in POLICIES.iter().zip(["tesla", "riscv", "arm", "x86"]) {
                for &code in codes {
                    let got = integer.from_code(code, from, rounding, *policy);
                    let right = expected(code, &source, integer, rounding, name);
                    assert_eq!(
                        (got.value, got.flags),
                        right,
                        "{from} {code:#x} to {integer}, {rounding}, {name}"
                    );
                    compared += 1;
                }
            }
        }
    }
    compared
}

#[test]
fn all_codes_to_integers() {
    let mut compared = 0;
    let formats = catalogue(8).into_iter().chain(tesla([0, 7, 63])).filter(|f| f.width() <= 8);
    for from in formats {
        compared += check(&from, &from.codes().collect::<Vec<_>>());
    }
    let step = if smallfloat_proof::extensive() { 1 } else { 13 };
    compared += check(&BINARY16, &(0..=0xffff).step_by(step).collect::<Vec<_>>());
    assert!(compared > 1_000_000, "{compared}");
}

/// Around integers, halves and the ends of the ranges.
#[test]
fn wide_codes_to_integers() {
    let mut singles: Vec<u64> = Vec::new();
    let mut doubles: Vec<u64> = Vec::new();
    let powers = (0..=65).flat_map(|e| [-1.0, -0.5, 0.0, 0.5, 1.0].map(|d| 2_f64.powi(e) + d));
    for x in (0..64).map(|quarters| f64::from(quarters) / 4.0).chain(powers) {
        for x in [x, -x, f64::from(x as f32)] {
            let near = |bits: u64| (bits.saturating_sub(2)..=bits + 2).collect::<Vec<_>>();
            singles.extend(near(u64::from((x as f32).to_bits())));
            doubles.extend(near(x.to_bits()));
        }
    }
    for specials in [[0, 1], [0x7f80_0000, 0xff80_0000], [0x7fc0_0000, 0x7f7f_ffff]] {
        singles.extend(specials);
    }
    singles.retain(|code| u32::try_from(*code).is_ok());
    assert!(check(&BINARY32, &singles) + check(&BINARY64, &doubles) > 500_000);
}

/// Rust's `as` truncates, saturates and takes 0 for NaN, as Arm's units do.
#[test]
fn as_rust_casts() {
    let mut state = 7_u64;
    for _ in 0..200_000 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // Exponents of integers more often than chance has them.
        let wide = (state >> 9 & 0x800f_ffff_ffff_ffff) | (1015 + (state >> 3) % 72) << 52;
        for bits in [state, wide] {
            let (x, y) = (f64::from_bits(bits), f32::from_bits((bits >> 32) as u32));
            for (integer, of_x, of_y) in [
                (Integer::Int8, x as i8 as u8 as u64, y as i8 as u8 as u64),
                (Integer::Int16, x as i16 as u16 as u64, y as i16 as u16 as u64),
                (Integer::Int32, x as i32 as u32 as u64, y as i32 as u32 as u64),
                (Integer::Int64, x as i64 as u64, y as i64 as u64),
                (Integer::Uint8, x as u8 as u64, y as u8 as u64),
                (Integer::Uint16, x as u16 as u64, y as u16 as u64),
                (Integer::Uint32, x as u32 as u64, y as u32 as u64),
                (Integer::Uint64, x as u64, y as u64),
            ] {
                let zero = Rounding::TowardZero;
                let got = integer.from_code(bits, &BINARY64, zero, FlagPolicy::ARM);
                assert_eq!(got.value, of_x, "{x} to {integer}");
                let got = integer.from_code(bits >> 32, &BINARY32, zero, FlagPolicy::ARM);
                assert_eq!(got.value, of_y, "{y} to {integer}");
            }
            // And back, to nearest even.
            let projection = BINARY32.default_projection();
            let back = |integer: Integer, word: u64| {
                integer.to_code(word, &BINARY32, &projection, FlagPolicy::ARM).value
            };
            assert_eq!(back(Integer::Int64, bits), u64::from((bits as i64 as f32).to_bits()));
            assert_eq!(back(Integer::Uint64, bits), u64::from((bits as f32).to_bits()));
            assert_eq!(back(Integer::Int32, bits), u64::from((bits as i32 as f32).to_bits()));
        }
    }
}

#[test]
fn integers_to_codes() {
    let mut compared = 0_u64;
    for to in catalogue(8).into_iter().chain(tesla([0, 7, 63])).filter(|f| f.width() <= 8) {
        let table = Table::new(&oracle_format(&to));
        for &rounding in Rounding::DETERMINISTIC {
            let projection = to.default_projection().with_rounding(rounding);
            let policy = oracle_policy(&projection);
            for &integer in Integer::ALL {
                let words: Vec<u64> = match integer.bits() {
                    8 => (0..=0xff).collect(),
                    16 => (0..=0xffff).step_by(37).collect(),
                    bits => (0..u64::from(bits))
                        .flat_map(|bit| {
                            [1 << bit, (1 << bit) - 1, 3 << bit, 5 << bit, !(1 << bit), !0 << bit]
                        })
                        .map(|word: u64| word & integer.max_word())
                        .collect(),
                };
                for word in words {
                    let half = BigInt::from(1) << (integer.bits() - 1);
                    let mut value = BigInt::from(word);
                    if integer.is_signed() && value >= half {
                        value -= &half * 2;
                    }
                    let exact = oracle::Exact::from_dyadic(&Dyadic::new(value, 0));
                    let (code, flags) = table.round(&exact, &policy);
                    let got = integer.to_code(word, &to, &projection, FlagPolicy::TESLA);
                    let right = (code, core_flags(flags));
                    assert_eq!((got.value, got.flags), right, "{integer} {word:#x} to {to}, {rounding}");
                    compared += 1;
                }
            }
        }
    }
    assert!(compared > 500_000, "{compared}");
}

/// By their text, as `eval` and vectors call them.
#[test]
fn by_text() {
    let call = |text: &str, code| -> Answer {
        let operation: Specialization = text.parse().expect(text);
        assert_eq!(operation.to_string().parse::<Specialization>(), Ok(operation.clone()), "{text}");
        operation.call(&[code]).expect(text)
    };
    let integer = |value, flags| Answer::Integer(Rounded { value, flags });
    // 2.5 in binary16.
    assert_eq!(call("ConvertToInt8<binary16, (TowardZero)>", 0x4100), integer(2, Flags::INEXACT));
    assert_eq!(call("convertToUint64<binary16>", 0xc100), integer(0, Flags::INVALID));
    let code = Answer::Code(Rounded { value: 0x7e, flags: Flags::OVERFLOW | Flags::INEXACT });
    assert_eq!(call("ConvertFromUint16<e4m3fn, (SatFinite)>", 1000), code);
    let operation: Specialization = "ConvertFromInt8<e4m3fn>".parse().expect("a text");
    let error = operation.call(&[0x100]).expect_err("nine bits").to_string();
    assert!(error.contains("0x100") && error.contains('8'), "{error}");
}
