//! Tesla's paper, requirement by requirement (R01 to R42 of `docs/tesla.md`): conversions, formats
//! and flags. R42 is in `rebias.rs`, what concerns arithmetic in `ops/tables.rs`.
//!
//! Expected values are typed in from the paper or follow from its formulas by the integer
//! arithmetic of this file.

use smallfloat::formats::{BFLOAT16, BINARY32, UHP};
use smallfloat::random::Philox;
use smallfloat::{
    Class, Datum, Flags, Format, FormatSpec, Projection, RandomBits, Rounding, Subnormals, convert,
};
use smallfloat_proof::format;

/// The formats whose bias is data: name, exponent bits, mantissa bits.
const CONFIGURABLE: [(&str, u32, u32); 3] =
    [("cfloat8_1_4_3", 4, 3), ("cfloat8_1_5_2", 5, 2), ("shp", 5, 10)];

fn with_bias(name: &str, bias: u32) -> Format {
    format(&format!("{name}:bias={bias}"))
}

/// From f32 bits: the code and the paper's flags.
fn from_f32(to: &Format, bits: u32) -> (u64, String) {
    let r = convert(u64::from(bits), &BINARY32, to, &to.default_projection());
    (r.value, r.flags.tesla().to_string())
}

/// To f32 bits, and the paper's flags.
fn to_f32(from: &Format, code: u64) -> (u64, String) {
    let r = convert(code, from, &BINARY32, &BINARY32.default_projection());
    (r.value, r.flags.tesla().to_string())
}

fn pair(code: u64, flags: &str) -> (u64, String) {
    (code, flags.to_string())
}

/// 2^e as f64 bits' own arithmetic.
fn two_to(e: i32) -> f64 {
    f64::from_bits(u64::try_from(1023 + e).expect("a normal f64") << 52)
}

/// The paper's value of a code as f64: normal (−1)^s · 2^(e−b) · 1.m, denormal (−1)^s · 2^−b · 0.m.
/// Exact.
fn paper_value(code: u64, exponent_bits: u32, mantissa_bits: u32, bias: u32) -> f64 {
    let mantissa = code & ((1 << mantissa_bits) - 1);
    let exponent = code >> mantissa_bits & ((1 << exponent_bits) - 1);
    let negative = code >> (mantissa_bits + exponent_bits) & 1 == 1;
    let (hidden, scale) = if exponent == 0 { (0, 0) } else { (1 << mantissa_bits, exponent) };
    let e = i32::try_from(scale).unwrap() - bias.cast_signed() - mantissa_bits.cast_signed();
    let significand = u32::try_from(hidden + mantissa).unwrap();
    let magnitude = f64::from(significand) * two_to(e);
    if negative { -magnitude } else { magnitude }
}

/// The f32 nearest to an f64 that an f32 holds exactly.
#[expect(clippy::cast_possible_truncation, reason = "the test checks that nothing is lost")]
fn exact_f32(x: f64) -> u64 {
    let narrow = x as f32;
    assert_eq!(f64::from(narrow).to_bits(), x.to_bits(), "{x} is no f32");
    u64::from(narrow.to_bits())
}

#[test]
fn r02_layout_of_cfloat8_1_4_3() {
    let f = with_bias("cfloat8_1_4_3", 7);
    assert_eq!((f.width(), f.exponent_bits(), f.trailing_bits(), f.precision()), (8, 4, 3, 4));
    assert_eq!(to_f32(&f, 0xB8), pair(u64::from((-1.0_f32).to_bits()), "-"));
    // One field at a time: sign, exponent, mantissa.
    assert_eq!(to_f32(&f, 0x38).0, u64::from(1.0_f32.to_bits()));
    assert_eq!(to_f32(&f, 0x40).0, u64::from(2.0_f32.to_bits()));
    assert_eq!(to_f32(&f, 0x39).0, u64::from(1.125_f32.to_bits()));
}

#[test]
fn r03_layout_of_cfloat8_1_5_2() {
    let f = with_bias("cfloat8_1_5_2", 15);
    assert_eq!((f.width(), f.exponent_bits(), f.trailing_bits(), f.precision()), (8, 5, 2, 3));
    assert_eq!(to_f32(&f, 0x3C), pair(u64::from(1.0_f32.to_bits()), "-"));
    assert_eq!(to_f32(&f, 0xC0).0, u64::from((-2.0_f32).to_bits()));
    assert_eq!(to_f32(&f, 0x3D).0, u64::from(1.25_f32.to_bits()));
}

#[test]
fn r04_layout_of_shp() {
    let f = with_bias("shp", 15);
    assert_eq!((f.width(), f.exponent_bits(), f.trailing_bits(), f.precision()), (16, 5, 10, 11));
    assert_eq!(to_f32(&f, 0x3C00), pair(u64::from(1.0_f32.to_bits()), "-"));
    assert_eq!(to_f32(&f, 0xC000).0, u64::from((-2.0_f32).to_bits()));
    assert_eq!(to_f32(&f, 0x3C01).0, u64::from((1.0_f32 + 1.0 / 1024.0).to_bits()));
}

#[test]
fn r05_layout_of_uhp() {
    assert_eq!((UHP.width(), UHP.exponent_bits(), UHP.trailing_bits(), UHP.precision()), (16, 6, 10, 11));
    assert!(!UHP.is_signed());
    // 0x7C00 is +Inf in binary16, which this must not be mixed up with.
    assert_eq!(to_f32(&UHP, 0x7C00), pair(u64::from(1.0_f32.to_bits()), "-"));
    assert_eq!(to_f32(&UHP, 0x8000).0, u64::from(2.0_f32.to_bits()));
    assert_eq!(to_f32(&UHP, 0x7C01).0, u64::from((1.0_f32 + 1.0 / 1024.0).to_bits()));
}

#[test]
fn r06_bias_is_six_bits_outside_the_code() {
    for (name, ..) in CONFIGURABLE {
        for bias in 0..64 {
            assert_eq!(with_bias(name, bias).bias(), bias.cast_signed());
        }
        for bad in ["64", "65", "255", "-1"] {
            let text = format!("{name}:bias={bad}");
            let error = text.parse::<Format>().expect_err(&text).to_string();
            assert!(error.contains("0..=63"), "{text}: {error}");
        }
        let error = name.parse::<Format>().expect_err(name).to_string();
        assert!(error.contains("0..=63"), "{name}: {error}");
    }
    assert!(Format::cfloat8_1_4_3(64).is_err());
    assert!(Format::cfloat8_1_5_2(64).is_err());
    assert!(Format::shp(64).is_err());
    assert!(Format::cfloat8_1_4_3(63).is_ok_and(|f| f.with_bias(64).is_err() && f.with_bias(-1).is_err()));
}

#[test]
fn r07_many_biases_live_side_by_side() {
    for (name, exponent_bits, mantissa_bits) in CONFIGURABLE {
        let spec: FormatSpec = name.parse().expect("a format without its bias");
        assert_eq!((spec.bias(), spec.has_free_bias()), (None, true), "{name}");
        let active: Vec<Format> = (0..64).map(|bias| spec.with_bias(bias).expect("a legal bias")).collect();
        // The same code means a different number under each: no bias is global.
        let code = 1 << (exponent_bits + mantissa_bits - 1);
        for (bias, f) in (0_u32..).zip(&active) {
            let e = (1 << (exponent_bits - 1)) - bias.cast_signed();
            assert_eq!(to_f32(f, code).0, exact_f32(two_to(e)), "{f}");
        }
    }
    assert!("uhp".parse::<FormatSpec>().is_ok_and(|spec| !spec.has_free_bias()));
}

#[test]
fn r08_normal_values_follow_the_paper_s_formula() {
    for (name, e, m) in CONFIGURABLE {
        for bias in 0..64 {
            let f = with_bias(name, bias);
            for code in f.codes().filter(|code| code >> m & ((1 << e) - 1) != 0) {
                let expected = exact_f32(paper_value(code, e, m, bias));
                assert_eq!(to_f32(&f, code), pair(expected, "-"), "{f} {code:#x}");
            }
        }
    }
}

#[test]
fn r09_denormal_values_are_2_to_minus_bias_times_0_m() {
    let f = with_bias("cfloat8_1_4_3", 0);
    for (code, value) in [(0x01, 0.125_f32), (0x07, 0.875), (0x08, 2.0), (0x81, -0.125)] {
        assert_eq!(to_f32(&f, code).0, u64::from(value.to_bits()));
    }
    let f = with_bias("cfloat8_1_5_2", 0);
    for (code, value) in [(0x01, 0.25_f32), (0x02, 0.5), (0x03, 0.75), (0x04, 2.0)] {
        assert_eq!(to_f32(&f, code).0, u64::from(value.to_bits()));
    }
    for (name, e, m) in CONFIGURABLE {
        for bias in 0..64 {
            let f = with_bias(name, bias);
            assert_eq!(f.subnormals(), Subnormals::Tesla);
            let gradual = f.with_subnormals(Subnormals::Gradual).expect("the option");
            for mantissa in 1..1 << m {
                for code in [mantissa, mantissa | 1 << (e + m)] {
                    let paper = paper_value(code, e, m, bias);
                    assert_eq!(to_f32(&f, code), pair(exact_f32(paper), "D"), "{f} {code:#x}");
                    let twice = exact_f32(2.0 * paper);
                    assert_eq!(to_f32(&gradual, code), pair(twice, "D"), "{gradual} {code:#x}");
                }
            }
        }
    }
}

#[test]
fn r10_zero_is_exponent_0_and_mantissa_0_of_either_sign() {
    for (name, e, m) in CONFIGURABLE {
        for bias in [0, 7, 31, 63] {
            let f = with_bias(name, bias);
            let minus = 1 << (e + m);
            assert_eq!(to_f32(&f, 0), pair(0, "-"), "{f}");
            assert_eq!(to_f32(&f, minus), pair(0x8000_0000, "-"), "{f}");
            assert_eq!(from_f32(&f, 0), pair(0, "-"), "{f}");
            assert_eq!(from_f32(&f, 0x8000_0000), pair(minus, "-"), "{f}");
            assert_eq!((f.classify(0), f.classify(minus)), (Class::Zero, Class::Zero), "{f}");
        }
    }
    assert_eq!(from_f32(&UHP, 0x8000_0000), pair(0, "-"));
}

#[test]
fn r11_every_cfloat8_code_is_a_number() {
    for (name, ..) in &CONFIGURABLE[..2] {
        for bias in 0..64 {
            let f = with_bias(name, bias);
            let mut values: Vec<u64> = Vec::new();
            for code in 0..256 {
                let (bits, flags) = to_f32(&f, code);
                let exponent_field = bits >> 23 & 0xFF;
                assert!(exponent_field != 0xFF && !flags.contains('I'), "{f} {code:#x}");
                values.push(if bits == 0x8000_0000 { 0 } else { bits });
            }
            values.sort_unstable();
            values.dedup();
            assert_eq!(values.len(), 255, "{f}");
            assert!(!f.has_nan() && !f.has_infinity());
            assert_eq!((f.finite_codes(), f.finite_values(), f.nan_codes()), (256, 255, 0), "{f}");
        }
    }
}

#[test]
fn r12_exponent_ranges() {
    let (f143, f152) = ("cfloat8_1_4_3", "cfloat8_1_5_2");
    for (name, bias, range) in [
        (f143, 0, (1, 15)),
        (f143, 63, (-62, -48)),
        (f143, 31, (-30, -16)),
        (f152, 0, (1, 31)),
        (f152, 63, (-62, -32)),
        (f152, 31, (-30, 0)),
    ] {
        assert_eq!(with_bias(name, bias).exponent_range(), range, "{name} {bias}");
    }
    // A fixed bias spans 15 or 31 consecutive exponents; all biases together [−62, 15] and [−62,
    // 31].
    for (name, count, top) in [(f143, 15, 15), (f152, 31, 31)] {
        let ranges: Vec<_> = (0..64).map(|bias| with_bias(name, bias).exponent_range()).collect();
        assert!(ranges.iter().all(|(lo, hi)| hi - lo + 1 == count), "{name}");
        assert_eq!(ranges.iter().map(|r| r.0).min(), Some(-62), "{name}");
        assert_eq!(ranges.iter().map(|r| r.1).max(), Some(top), "{name}");
    }
}

/// The rows of the paper's Tables 4 and 5: bias, exponents of the smallest and the largest normal
/// value. The largest significands are 1.111b and 1.11b. Bits, denormals and flags of each row are
/// in `tables.rs`.
#[test]
fn r13_rows_of_the_paper_s_tables_4_and_5() {
    const ROWS: [(u32, i32, i32, i32); 9] = [
        (0, 1, 15, 31),
        (1, 0, 14, 30),
        (2, -1, 13, 29),
        (3, -2, 12, 28),
        (31, -30, -16, 0),
        (60, -59, -45, -29),
        (61, -60, -46, -30),
        (62, -61, -47, -31),
        (63, -62, -48, -32),
    ];
    for (bias, lowest, top143, top152) in ROWS {
        for (name, max, top) in [("cfloat8_1_4_3", 1.875, top143), ("cfloat8_1_5_2", 1.75, top152)] {
            let f = with_bias(name, bias);
            let bits = |datum: Datum| datum.to_f64().expect("exact").to_bits();
            assert_eq!(bits(f.min_normal()), two_to(lowest).to_bits(), "{f}");
            assert_eq!(bits(f.max_finite()), (max * two_to(top)).to_bits(), "{f}");
            assert_eq!(bits(f.min_finite()), (-max * two_to(top)).to_bits(), "{f}");
        }
    }
}

#[test]
fn r14_small_values_become_denormals_not_zero() {
    // Halving from the smallest normal value: nearest, then exactly, down to the smallest denormal;
    // then zero.
    let f = with_bias("cfloat8_1_4_3", 7);
    let halves = [
        (1.0 / 64.0, 0x08, "-"),
        (1.0 / 128.0, 0x07, "U"),
        (1.0 / 256.0, 0x04, "-"),
        (1.0 / 512.0, 0x02, "-"),
        (1.0 / 1024.0, 0x01, "-"),
        (1.0 / 2048.0, 0x00, "U"),
    ];
    for (x, code, flags) in halves {
        let x: f32 = x;
        assert_eq!(from_f32(&f, x.to_bits()), pair(code, flags), "{x}");
    }
    let f = with_bias("cfloat8_1_5_2", 15);
    for (e, code, flags) in
        [(-14, 0x04, "-"), (-15, 0x03, "U"), (-16, 0x02, "-"), (-17, 0x01, "-"), (-18, 0, "U")]
    {
        let bits = u32::try_from(exact_f32(two_to(e))).unwrap();
        assert_eq!(from_f32(&f, bits), pair(code, flags), "2^{e}");
    }
}

#[test]
fn r15_shp_has_denormals_zeros_and_no_specials() {
    let f = with_bias("shp", 15);
    assert_eq!(to_f32(&f, 0x7FFF).0, u64::from(131008.0_f32.to_bits()));
    assert_eq!(to_f32(&f, 0x7C00).0, u64::from(65536.0_f32.to_bits())); // +Inf in binary16
    assert_eq!(to_f32(&f, 0xFC01).0, u64::from((-65600.0_f32).to_bits())); // NaN in binary16
    assert_eq!(to_f32(&f, 0x0001), pair(0x3300_0000, "D")); // 2^−25
    assert_eq!((f.finite_codes(), f.finite_values(), f.nan_codes()), (65536, 65535, 0));
    for code in 0..=0xFFFF {
        assert_ne!(to_f32(&f, code).0 >> 23 & 0xFF, 0xFF, "{code:#x}");
    }
}

#[test]
fn r16_uhp_denormal_encodings_are_flushed() {
    for code in 1..=0x03FF {
        assert_eq!(to_f32(&UHP, code), pair(0, "D"), "{code:#x}");
        assert_eq!(UHP.classify(code), Class::Subnormal, "{code:#x}");
    }
    assert_eq!(to_f32(&UHP, 0), pair(0, "-"));
    // Results: nothing encodes to 0001..03FF, the largest denormal magnitude included.
    for bits in [0x307F_C000, 0x307F_DFFF, 0x3000_0000, 0x2B80_0000] {
        assert_eq!(from_f32(&UHP, bits), pair(0, "U"), "{bits:#x}");
    }
    for e in -149..-31 {
        let x = if e < -126 { 1 << (e + 149) } else { u32::try_from(e + 127).unwrap() << 23 };
        assert_eq!(from_f32(&UHP, x).0, 0, "2^{e}");
    }
}

#[test]
fn r17_uhp_infinity_nan_and_finite_range() {
    assert_eq!(to_f32(&UHP, 0xFC00), pair(0x7F80_0000, "-"));
    for code in 0xFC01..=0xFFFF {
        assert!(UHP.decode(code).is_nan(), "{code:#x}");
    }
    assert_eq!(to_f32(&UHP, 0x0400), pair(exact_f32(two_to(-30)), "-"));
    assert_eq!(to_f32(&UHP, 0xFBFF), pair(u64::from(4292870144.0_f32.to_bits()), "-"));
    assert_eq!((UHP.exponent_range(), UHP.nan_codes()), ((-30, 31), 1023));
    for code in 0x0400..0xFC00 {
        let mantissa = u32::try_from(code & 0x3FF).unwrap();
        let e = i32::try_from(code >> 10).unwrap() - 31 - 10;
        let expected = f64::from(1024 + mantissa) * two_to(e);
        assert_eq!(to_f32(&UHP, code), pair(exact_f32(expected), "-"), "{code:#x}");
    }
}

#[test]
fn r18_uhp_delivers_its_canonical_nan() {
    for bits in [0x7FC0_0000, 0x7F80_0001, 0xFFFF_FFFF, 0x7FC1_2345] {
        assert_eq!(from_f32(&UHP, bits), pair(0xFE00, "I"), "{bits:#x}");
    }
    for code in 0xFC01..=0xFFFF {
        let r = convert(code, &UHP, &UHP, &UHP.default_projection());
        assert_eq!((r.value, r.flags.tesla()), (0xFE00, Flags::INVALID), "{code:#x}");
        assert_eq!(to_f32(&UHP, code), pair(0x7FC0_0000, "I"), "{code:#x}");
    }
}

const INF: u32 = 0x7F80_0000;
const NAN: u32 = 0x7FC0_0000;

#[test]
fn r19_cfloat8_clamps_infinity_nan_and_overflow() {
    for (name, ..) in &CONFIGURABLE[..2] {
        for bias in 0..64 {
            let f = with_bias(name, bias);
            assert_eq!(from_f32(&f, INF), pair(0x7F, "O"), "{f}");
            assert_eq!(from_f32(&f, INF | 1 << 31), pair(0xFF, "O"), "{f}");
            assert_eq!(from_f32(&f, NAN), pair(0x7F, "I"), "{f}");
            assert_eq!(from_f32(&f, NAN | 1 << 31), pair(0x7F, "I"), "{f}");
            assert_eq!(from_f32(&f, 0x7F7F_FFFF), pair(0x7F, "O"), "{f}");
            assert_eq!(from_f32(&f, 0xFF7F_FFFF), pair(0xFF, "O"), "{f}");
        }
    }
}

#[test]
fn r20_shp_clamps_to_the_destination_s_maximum() {
    for bias in 0..64 {
        let f = with_bias("shp", bias);
        assert_eq!(from_f32(&f, INF), pair(0x7FFF, "O"), "{f}");
        assert_eq!(from_f32(&f, INF | 1 << 31), pair(0xFFFF, "O"), "{f}");
        assert_eq!(from_f32(&f, NAN), pair(0x7FFF, "I"), "{f}");
        assert_eq!(from_f32(&f, 0x7F7F_FFFF), pair(0x7FFF, "O"), "{f}");
    }
    // Mixed formats: UHP's Inf and NaN into SHP and CFloat8, SHP's maximum into CFloat8.
    let (shp, cfloat8) = (with_bias("shp", 15), with_bias("cfloat8_1_4_3", 7));
    for (code, from, to, expected, flag) in [
        (0xFC00, UHP, shp, 0x7FFF, Flags::OVERFLOW),
        (0xFC01, UHP, shp, 0x7FFF, Flags::INVALID),
        (0xFC00, UHP, cfloat8, 0x7F, Flags::OVERFLOW),
        (0xFBFF, UHP, shp, 0x7FFF, Flags::OVERFLOW),
        (0xFFFF, shp, cfloat8, 0xFF, Flags::OVERFLOW),
    ] {
        let r = convert(code, &from, &to, &to.default_projection());
        assert_eq!((r.value, r.flags.tesla()), (expected, flag), "{code:#x} {from} to {to}");
    }
}

#[test]
fn r21_uhp_as_destination_follows_ieee_754() {
    assert_eq!(from_f32(&UHP, INF), pair(0xFC00, "-"));
    assert_eq!(from_f32(&UHP, NAN), pair(0xFE00, "I"));
    assert_eq!(from_f32(&UHP, 0x4F80_0000), pair(0xFC00, "O")); // 2^32
    assert_eq!(from_f32(&UHP, 0x7F7F_FFFF), pair(0xFC00, "O"));
    // Directed rounding overflows as IEEE 754 says: toward zero stops at the largest finite value.
    let projection = UHP.default_projection().with_rounding(Rounding::TowardZero);
    let r = convert(0x7F7F_FFFF, &BINARY32, &UHP, &projection);
    assert_eq!((r.value, r.flags.tesla()), (0xFBFF, Flags::OVERFLOW));
    // A negative value, and −Inf, have no UHP.
    assert_eq!(from_f32(&UHP, 0xBF80_0000), pair(0xFE00, "I"));
    assert_eq!(from_f32(&UHP, INF | 1 << 31), pair(0xFE00, "I"));
}

/// Code → wide → code for every code; the way there must be exact.
fn returns(f: &Format, wide: &Format, code: u64) {
    let there = convert(code, f, wide, &wide.default_projection());
    assert!(!there.flags.contains(Flags::INEXACT), "{f} {code:#x}");
    let back = convert(there.value, wide, f, &f.default_projection());
    assert_eq!((back.value, back.flags), (code, Flags::NONE), "{f} {code:#x}");
}

#[test]
fn r22_cfloat8_converts_to_and_from_bfloat16() {
    for (name, e, m) in &CONFIGURABLE[..2] {
        for bias in 0..64 {
            let f = with_bias(name, bias);
            for code in 0..256 {
                let bits = convert(code, &f, &BFLOAT16, &BFLOAT16.default_projection()).value;
                // A bfloat16 is the upper half of an f32.
                assert_eq!(bits << 16, exact_f32(paper_value(code, *e, *m, bias)), "{f} {code:#x}");
                let back = f.encode_bf16_bits(u16::try_from(bits).unwrap(), &f.default_projection());
                assert_eq!((back.value, back.flags), (code, Flags::NONE), "{f} {code:#x}");
            }
        }
    }
}

#[test]
fn r23_cfloat8_converts_to_and_from_float32() {
    for (name, e, m) in &CONFIGURABLE[..2] {
        for bias in 0..64 {
            let f = with_bias(name, bias);
            for code in 0..256 {
                let bits = u64::from(f.decode_f32(code).value.to_bits());
                assert_eq!(bits, exact_f32(paper_value(code, *e, *m, bias)), "{f} {code:#x}");
                returns(&f, &BINARY32, code);
            }
        }
    }
}

#[test]
fn r24_shp_and_uhp_convert_to_and_from_float32() {
    for bias in [0, 15, 31, 63] {
        let f = with_bias("shp", bias);
        for code in 0..=0xFFFF {
            assert_eq!(to_f32(&f, code).0, exact_f32(paper_value(code, 5, 10, bias)), "{f} {code:#x}");
            returns(&f, &BINARY32, code);
        }
    }
    for code in (0..=0xFC00).filter(|code| *code == 0 || *code > 0x03FF) {
        returns(&UHP, &BINARY32, code);
    }
    // bfloat16 is an extension here: SHP has more precision, so the conversion rounds.
    let r = convert(0x3C01, &with_bias("shp", 15), &BFLOAT16, &BFLOAT16.default_projection());
    assert_eq!((r.value, r.flags), (0x3F80, Flags::INEXACT));
}

fn stochastic_a(projection: Projection, bits: u32, word: u64) -> Projection {
    projection.with_rounding(Rounding::StochasticA(RandomBits::new(bits, word).expect("a legal word")))
}

#[test]
fn r25_cfloat8_rounds_to_nearest_and_stochastically() {
    let f = with_bias("cfloat8_1_4_3", 7);
    // 1.03125 lies a quarter of the way from 38 to 39: away for R ≥ C0000000.
    for (bits, wide, code) in [(0x3F84_0000_u64, BINARY32, 0x38), (0x3F84, BFLOAT16, 0x38)] {
        let projection = f.default_projection();
        assert_eq!(projection.rounding, Rounding::NearestEven);
        assert_eq!(convert(bits, &wide, &f, &projection).value, code);
        assert_eq!(convert(bits, &wide, &f, &stochastic_a(projection, 32, 0xBFFF_FFFF)).value, 0x38);
        assert_eq!(convert(bits, &wide, &f, &stochastic_a(projection, 32, 0xC000_0000)).value, 0x39);
    }
    let f = with_bias("cfloat8_1_5_2", 15);
    for (word, code) in [(0x9999_97FF, 0x3C), (0x9999_9800, 0x3D)] {
        let projection = stochastic_a(f.default_projection(), 32, word);
        assert_eq!(convert(0x3F8C_CCCD, &BINARY32, &f, &projection).value, code);
    }
}

#[test]
fn r26_shp_and_uhp_round_to_nearest_and_stochastically() {
    let shp = with_bias("shp", 15);
    // 1 + 2^−12: a quarter of the way to the next value, in SHP and in UHP.
    for (f, lo) in [(shp, 0x3C00), (UHP, 0x7C00)] {
        assert_eq!(from_f32(&f, 0x3F80_0800), pair(lo, "-"));
        for (word, code) in [(0, lo), (0xBFFF_FFFF, lo), (0xC000_0000, lo + 1), (0xFFFF_FFFF, lo + 1)] {
            let projection = stochastic_a(f.default_projection(), 32, word);
            assert_eq!(convert(0x3F80_0800, &BINARY32, &f, &projection).value, code, "{f} {word:#x}");
        }
    }
}

/// The generator's words depend on seed, stream and element alone, so the order of work cannot
/// show.
#[test]
fn r27_the_same_seed_gives_the_same_bits_in_any_order() {
    let f = with_bias("cfloat8_1_4_3", 7);
    let round = |rng: &Philox, element: u64| {
        let projection = stochastic_a(f.default_projection(), 32, u64::from(rng.word(element)));
        convert(0x3F88_0000, &BINARY32, &f, &projection).value
    };
    let rng = Philox { seed: 42, stream: 0 };
    let forward: Vec<u64> = (0..4096).map(|i| round(&rng, i)).collect();
    let mut backward: Vec<u64> = (0..4096).rev().map(|i| round(&rng, i)).collect();
    backward.reverse();
    assert_eq!(forward, backward);
    let mut interleaved = vec![0; 4096];
    for worker in 0..7 {
        for i in (worker..4096).step_by(7) {
            interleaved[i] = round(&Philox { seed: 42, stream: 0 }, i as u64);
        }
    }
    assert_eq!(forward, interleaved);
    // Blocks of four are the same words.
    for block in 0..1024 {
        let words: Vec<u32> = (0..4).map(|i| rng.word(4 * block + i)).collect();
        assert_eq!(rng.block(block).to_vec(), words);
    }
    // Another seed or another stream: other bits.
    for other in [Philox { seed: 43, stream: 0 }, Philox { seed: 42, stream: 1 }] {
        assert_ne!(forward, (0..4096).map(|i| round(&other, i)).collect::<Vec<_>>());
    }
}

#[test]
fn r28_widening_is_exact_and_normal() {
    // The smallest magnitudes of all biases: all of them normal numbers of f32 and bfloat16.
    let smallest = [("cfloat8_1_4_3", -66), ("cfloat8_1_5_2", -65), ("shp", -73)];
    for (name, e) in smallest {
        let f = with_bias(name, 63);
        assert_eq!(to_f32(&f, 1).0, exact_f32(two_to(e)), "{name}");
        assert!(f.fits_in(&BINARY32), "{name}");
    }
    for (name, ..) in &CONFIGURABLE[..2] {
        for f in (0..64).map(|bias| with_bias(name, bias)) {
            assert!(f.fits_in(&BINARY32) && f.fits_in(&BFLOAT16), "{f}");
            for code in 0..256 {
                for wide in [BINARY32, BFLOAT16] {
                    let r = convert(code, &f, &wide, &wide.default_projection());
                    let unexpected = Flags::OVERFLOW | Flags::UNDERFLOW | Flags::INEXACT | Flags::INVALID;
                    assert!((r.flags & unexpected).is_empty(), "{f} {code:#x}");
                    assert!(matches!(wide.classify(r.value), Class::Normal | Class::Zero), "{f} {code:#x}");
                }
            }
        }
    }
    assert!(!with_bias("shp", 15).fits_in(&BFLOAT16));
}

#[test]
fn r29_stochastic_rounding_is_unbiased() {
    // E[SR(x)] = x exactly: the sum over all 256 words of N = 8 is 256 x wherever ν has 8 bits,
    // normal or denormal.
    let f = with_bias("cfloat8_1_4_3", 7);
    for (lo, hi) in [(0x38, 0x39), (0x00, 0x01), (0x06, 0x07), (0x7D, 0x7E), (0x80 | 0x38, 0x80 | 0x39)] {
        let (a, b) = (paper_value(lo, 4, 3, 7), paper_value(hi, 4, 3, 7));
        for step in 0..256 {
            let x = a + (b - a) * f64::from(step) / 256.0; // exact: few bits
            let sum: f64 = (0..256)
                .map(|word| f.encode_f64(x, &stochastic_a(f.default_projection(), 8, word)).value)
                .map(|code| paper_value(code, 4, 3, 7))
                .sum();
            assert_eq!((sum / 256.0).to_bits(), x.to_bits(), "{x}");
        }
    }
}

#[test]
fn r29_stochastic_accumulation_keeps_what_nearest_drops() {
    // 2^−8 added 1000 times to 1.0. Nearest never leaves 1.0; stochastic reaches 1 + 1000/256 on
    // average.
    let f = with_bias("cfloat8_1_4_3", 7);
    let step = two_to(-8);
    let mut nearest = 0x38;
    for _ in 0..1000 {
        nearest = f.encode_f64(paper_value(nearest, 4, 3, 7) + step, &f.default_projection()).value;
    }
    assert_eq!(nearest, 0x38);
    let streams = 400_u32;
    let mut total = 0.0;
    for stream in 0..streams {
        let rng = Philox { seed: 29, stream: u64::from(stream) };
        let mut code = 0x38;
        for i in 0..1000 {
            let projection = stochastic_a(f.default_projection(), 32, u64::from(rng.word(i)));
            code = f.encode_f64(paper_value(code, 4, 3, 7) + step, &projection).value;
        }
        total += paper_value(code, 4, 3, 7);
    }
    let mean = total / f64::from(streams);
    // The variance of one run is below 1000 · 2^−8 · ½ < 2, so the mean's deviation is below 0.071.
    assert!((mean - 4.90625).abs() < 0.36, "{mean}");
}

#[test]
fn r32_products_of_two_operands_are_exact_in_float32() {
    // Significand and exponent of each magnitude; a product is an f32 iff it has ≤ 24 bits, all at
    // or above 2^−149.
    let parts = |f: &Format, code: u64| match f.decode(code) {
        Datum::Finite { significand, exponent, .. } => (significand, exponent),
        other => panic!("{other}"),
    };
    for (name, lowest_product) in [("cfloat8_1_4_3", -132), ("cfloat8_1_5_2", -130), ("shp", -146)] {
        for (b1, b2) in [(0, 0), (0, 63), (63, 63), (7, 15)] {
            let (f, g) = (with_bias(name, b1), with_bias(name, b2));
            let step = if f.width() == 8 { 1 } else { 97 }; // a prime: a spread of SHP's codes
            let top = f.max_code() >> 1;
            let mut lowest = i32::MAX;
            for a in (1..=top).step_by(step) {
                for b in (1..=top).step_by(step) {
                    let ((s, e), (t, d)) = (parts(&f, a), parts(&g, b));
                    let (product, exponent) = (s * t, e + d);
                    let leading = exponent + product.ilog2().cast_signed();
                    assert!(
                        product < 1 << 24 && exponent >= -149 && leading < 128,
                        "{f} {a:#x} × {g} {b:#x}"
                    );
                    lowest = lowest.min(leading);
                }
            }
            if b1 == 63 && b2 == 63 {
                assert_eq!(lowest, lowest_product, "{name}");
            }
        }
    }
    // The machine's own multiplication keeps the smallest product: subnormals are on.
    let f = with_bias("cfloat8_1_4_3", 63);
    let x = std::hint::black_box(f.decode_f32(0x01).value);
    assert_eq!((x * x).to_bits(), 1 << (149 - 132));
}

#[test]
fn r33_four_flags_of_the_paper() {
    let four = Flags::INVALID | Flags::DENORMAL | Flags::OVERFLOW | Flags::UNDERFLOW;
    assert_eq!(Flags::ALL.tesla(), four);
    assert_eq!(four.to_string(), "IDOU");
    // The two that the paper lacks never show in its view.
    assert_eq!((Flags::INEXACT | Flags::DIVISION_BY_ZERO).tesla(), Flags::NONE);
    // Each of the four can be raised alone or with another by a conversion.
    let f = with_bias("cfloat8_1_4_3", 7);
    for (bits, flags) in [(NAN, "I"), (0x43F8_0000, "O"), (0x3A00_0000, "U"), (0x0000_0001, "DU")] {
        assert_eq!(from_f32(&f, bits).1, flags, "{bits:#x}");
    }
    assert_eq!(to_f32(&f, 0x01).1, "D");
}

#[test]
fn r34_a_denormal_operand_of_a_conversion_sets_denormal() {
    for (name, e, m) in CONFIGURABLE {
        let f = with_bias(name, 15);
        for code in f.codes() {
            let denormal = code >> m & ((1 << e) - 1) == 0 && code & ((1 << m) - 1) != 0;
            assert_eq!(to_f32(&f, code).1, if denormal { "D" } else { "-" }, "{f} {code:#x}");
        }
    }
    // f32's and bfloat16's own denormals are operands too.
    let f = with_bias("cfloat8_1_4_3", 63);
    assert_eq!(from_f32(&f, 0x0040_0000), pair(0, "DU"));
    let r = convert(0x0040, &BFLOAT16, &f, &f.default_projection());
    assert_eq!((r.value, r.flags.tesla()), (0, Flags::DENORMAL | Flags::UNDERFLOW));
}

#[test]
fn r35_any_nan_operand_sets_invalid() {
    let quiet_and_signalling = [0x7FC0_0000, 0x7F80_0001, 0xFFC0_0000, 0xFF80_0001, 0x7FFF_FFFF];
    for f in [with_bias("cfloat8_1_4_3", 7), with_bias("cfloat8_1_5_2", 15), with_bias("shp", 15), UHP] {
        for bits in quiet_and_signalling {
            assert_eq!(from_f32(&f, bits).1, "I", "{f} {bits:#x}");
        }
    }
}

#[test]
fn r36_overflow_is_decided_by_the_rounded_result() {
    // The first f32 that overflows, and the one before it: max + ulp/2 under nearest.
    let cases = [
        (with_bias("cfloat8_1_4_3", 7), 496.0_f32, 0x7F, 0x7F),
        (with_bias("cfloat8_1_5_2", 15), 122_880.0, 0x7F, 0x7F),
        (with_bias("shp", 15), 131_040.0, 0x7FFF, 0x7FFF),
        (UHP, 4_293_918_720.0, 0xFC00, 0xFBFF),
    ];
    for (f, first, code, before) in cases {
        let bits = first.to_bits();
        assert_eq!(from_f32(&f, bits), pair(code, "O"), "{f}");
        assert_eq!(from_f32(&f, bits - 1), pair(before, "-"), "{f}");
    }
    // Stochastic rounding overflows only when it moves past the largest value: 490 is 5/16 of the
    // way.
    let f = with_bias("cfloat8_1_4_3", 7);
    for (word, flags) in [(0xAFFF_FFFF, "-"), (0xB000_0000, "O")] {
        let r = f.encode_f32(490.0, &stochastic_a(f.default_projection(), 32, word));
        assert_eq!((r.value, r.flags.tesla().to_string()), pair(0x7F, flags), "{word:#x}");
    }
}

#[test]
fn r37_underflow_is_tiny_before_rounding_and_inexact() {
    let f = with_bias("cfloat8_1_4_3", 7);
    let cases = [
        (0x3A80_0000, "-"), // the smallest denormal, exact
        (0x3AC0_0000, "U"), // 1.5 of it
        (0x3BE0_0001, "U"), // above the largest denormal
        (0x3C7F_FFFF, "U"), // rounds up to the smallest normal value
        (0x3C80_0000, "-"), // the smallest normal value
        (0x3C80_0001, "-"), // inexact, not tiny
        (0x39FF_FFFF, "U"), // rounds to zero
    ];
    for (bits, flags) in cases {
        assert_eq!(from_f32(&f, bits).1, flags, "{bits:#x}");
    }
    // A UHP flush of a value that the denormal grid has exactly still loses it.
    assert_eq!(from_f32(&UHP, 0x2B80_0000), pair(0, "U"));
}

/// Flags are returned values that a caller collects; nothing traps and nothing is global.
#[test]
fn r38_flags_are_returned_and_stick_where_the_caller_keeps_them() {
    let f = with_bias("cfloat8_1_4_3", 7);
    let mut sticky = Flags::NONE;
    let mut seen = Vec::new();
    for bits in [0x3F80_0000_u64, 0x43F8_0000, 0x3F80_0000, 0x3A00_0000, 0x7FC0_0000] {
        let r = convert(bits, &BINARY32, &f, &f.default_projection());
        sticky |= r.flags.tesla();
        seen.push(sticky.to_string());
    }
    assert_eq!(seen, ["-", "O", "O", "OU", "IOU"]);
    assert_eq!(convert(0x3F80_0000, &BINARY32, &f, &f.default_projection()).flags, Flags::NONE);
}

#[test]
fn r39_flags_cover_operands_and_results_of_every_tesla_format() {
    let (c143, c152, shp) =
        (with_bias("cfloat8_1_4_3", 7), with_bias("cfloat8_1_5_2", 15), with_bias("shp", 15));
    let cases = [
        (0x01, c143, c152, 0x14, "D"),   // 2^−10 has exponent field 5
        (0x01, c152, c143, 0x00, "DU"),  // 2^−17 into a format that starts at 2^−10
        (0x0001, shp, UHP, 0x1800, "D"), // 2^−25
        (0x0001, UHP, shp, 0x0000, "D"), // a flushed operand is an exact zero
        (0xFC01, UHP, c143, 0x7F, "I"),
        (0xFC00, UHP, c152, 0x7F, "O"),
        (0x7F, c152, c143, 0x7F, "O"),    // 114688
        (0xFFFF, shp, c152, 0xFF, "O"),   // −131008 ≥ 122880
        (0x0400, shp, c143, 0x00, "U"),   // 2^−14
        (0xBC00, shp, UHP, 0xFE00, "I"),  // −1
        (0x8001, shp, UHP, 0xFE00, "DI"), // −2^−25 is a UHP magnitude
    ];
    for (code, from, to, expected, flags) in cases {
        let r = convert(code, &from, &to, &to.default_projection());
        let expected_flags: String = "IDOU".chars().filter(|c| flags.contains(*c)).collect();
        let expected_flags = if flags == "-" { "-".to_string() } else { expected_flags };
        assert_eq!(
            (r.value, r.flags.tesla().to_string()),
            (expected, expected_flags),
            "{code:#x} {from} to {to}"
        );
    }
}

/// What "too coarse" means: the relative step of each format, as the paper's gradient argument
/// needs it.
#[test]
fn r40_the_16_bit_formats_resolve_what_cfloat8_cannot() {
    // 1 + 2^−9: lost in both CFloat8 formats, kept by SHP and UHP.
    let x = (1.0_f32 + 1.0 / 512.0).to_bits();
    for (f, code) in [
        (with_bias("cfloat8_1_4_3", 7), 0x38),
        (with_bias("cfloat8_1_5_2", 15), 0x3C),
        (with_bias("shp", 15), 0x3C02),
        (UHP, 0x7C02),
    ] {
        assert_eq!(from_f32(&f, x).0, code, "{f}");
    }
}

/// An unsigned bias favours small values: the ranges of bias 0 and bias 63 are not symmetric about
/// 1.
#[test]
fn r41_unsigned_biases_skew_the_range_to_small_values() {
    for (name, max_of_bias_0, smallest_of_bias_63) in
        [("cfloat8_1_4_3", 61440.0_f64, -66), ("cfloat8_1_5_2", 3_758_096_384.0, -65)]
    {
        let max = with_bias(name, 0).max_finite().to_f64().expect("exact");
        assert_eq!(max.to_bits(), max_of_bias_0.to_bits());
        let min = with_bias(name, 63).min_positive().to_f64().expect("exact");
        assert_eq!(min.to_bits(), two_to(smallest_of_bias_63).to_bits());
    }
    // A weight tensor whose largest magnitude is 0.3 fits bias 17 without clamping; bias 18 would
    // clamp it.
    assert_eq!(with_bias("cfloat8_1_4_3", 17).max_finite().to_f64(), Some(0.46875));
    let x = 0.3_f32.to_bits();
    assert_eq!(from_f32(&with_bias("cfloat8_1_4_3", 17), x), pair(0x7A, "-")); // 0.3125 = 1.25 · 2^−2
    assert_eq!(from_f32(&with_bias("cfloat8_1_4_3", 18), x), pair(0x7F, "O"));
}
