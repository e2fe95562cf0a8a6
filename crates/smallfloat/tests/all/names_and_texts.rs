//! Names of formats and texts of numbers, both ways, with words typed in and against the standard
//! library's numbers.
#![cfg(feature = "alloc")]

use smallfloat::formats::{BINARY16, BINARY32, BINARY64, E4M3FN, E5M2};
use smallfloat::{Exact, Flags, Format, FormatSpec, Preset, Saturation, text};

#[test]
fn formats_print_their_names() {
    for (written, printed) in [
        ("CFLOAT8_1_4_3:bias=7", "cfloat8_1_4_3:bias=7"),
        ("cfloat8_1_5_2:subnormals=gradual,bias=3", "cfloat8_1_5_2:bias=3,subnormals=gradual"),
        ("shp:bias=0", "shp:bias=0"),
        ("uhp", "uhp"),
        ("float8_e4m3fn", "e4m3fn"),
        ("e2m1fn", "e2m1fn"),
        ("e8m0fnu", "e8m0fnu"),
        ("binary16", "binary16"),
        ("ieee:k=8,p=3", "ieee:k=8,p=3"),
        ("ieee:p=3,k=6", "ieee:k=6,p=3"),
        ("ieee:k=16,p=10", "ieee:k=16,p=10"),
        ("Binary8p3se", "binary8p3se"),
        ("binary16p16uf", "binary16p16uf"),
        ("binary3p1ue", "binary3p1ue"),
        (
            "minifloat:k=8,p=4,bias=7,specials=nan-allones",
            "minifloat:k=8,p=4,bias=7,signed=true,specials=nan-allones,subnormals=gradual",
        ),
        (
            "minifloat:k=8,p=4,bias=7,specials=finite,subnormals=tesla",
            "minifloat:k=8,p=4,bias=7,signed=true,specials=finite,subnormals=tesla",
        ),
        (
            "minifloat:k=5,p=2,bias=-3,signed=false,specials=p3109-finite,subnormals=flush",
            "minifloat:k=5,p=2,bias=-3,signed=false,specials=p3109-finite,subnormals=flush",
        ),
    ] {
        let format: Format = written.parse().unwrap_or_else(|error| panic!("{written}: {error}"));
        assert_eq!(format.to_string(), printed);
        assert_eq!(printed.parse::<Format>(), Ok(format), "{printed}");
        assert_eq!(format!("{format:?}"), format!("Format({printed})"));
    }
}

#[test]
fn specs_print_what_was_left_open() {
    for (written, printed) in [
        ("cfloat8_1_4_3", "cfloat8_1_4_3"),
        ("SHP:subnormals=gradual", "shp:subnormals=gradual"),
        ("cfloat8_1_4_3:bias=9", "cfloat8_1_4_3:bias=9"),
        ("cfloat8_1_5_2:subnormals=gradual,bias=9", "cfloat8_1_5_2:bias=9,subnormals=gradual"),
        ("e4m3fn", "e4m3fn"),
    ] {
        let spec: FormatSpec = written.parse().unwrap_or_else(|error| panic!("{written}: {error}"));
        assert_eq!(spec.to_string(), printed);
    }
}

#[test]
fn wrong_names_say_what_would_be_right() {
    for (written, message) in [
        ("e4m3fm", "did you mean `e4m3fn`"),
        ("cfloat8_1_4_4:bias=3", "did you mean `cfloat8_1_4_3`"),
        ("fp4", "did you mean `e2m1fn`"),
        ("FP8", "did you mean `e4m3fn`"),
        ("double", "did you mean `binary64`"),
        (
            "float128",
            "`float128` is no format here: it has 128 bits; formats have at most 32, or are binary64",
        ),
        ("pxr24", "did you mean `ieee:k=24,p=16`"),
        ("uint8", "`uint8` is no format here: its codes are integers"),
        ("quince", "unknown format `quince`: names are"),
        ("cfloat8_1_4_3:bais=3", "bias and subnormals"),
        ("ieee:k=6,q=3", "k and p"),
        ("minifloat:k=6,q=3", "k, p, bias, signed, specials and subnormals"),
        ("e4m3fn:k=8", "no other bias: its standard fixes everything"),
        ("cfloat8_1_4_3:bias=3,bias=3", "each key once"),
        ("cfloat8_1_4_3:bias=64", "bias = 64 is out of range, bias must be 0..=63"),
    ] {
        let error = written.parse::<Format>().expect_err(written).to_string();
        assert!(error.contains(message), "{written}: {error}");
    }
    for (width, code, largest) in [
        ("e2m1fn", 16, "4 bits, codes are 0x0..=0xf"),
        ("shp:bias=3", 0x1_0000, "16 bits, codes are 0x0..=0xffff"),
    ] {
        let error =
            width.parse::<Format>().expect("a format").check_code(code).expect_err("too large").to_string();
        assert_eq!(error, format!("code {code:#x} does not fit in {largest}"));
    }
    assert!("satfinit".parse::<Saturation>().is_err() && " SATFINITE ".parse() == Ok(Saturation::SatFinite));
    assert_eq!("Tesla".parse(), Ok(Preset::Tesla));
}

/// Numbers of all lengths and powers as the standard library reads them.
#[test]
fn decimals_round_as_the_standard_library_s() {
    let projection = BINARY64.default_projection();
    let mut state = 1_u64;
    let mut count = 0;
    for length in (1..=40).chain([60, 90, 130]) {
        for power in (-340..=310).step_by(7).chain(-45..=45) {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let mut digits: String =
                (0..length).map(|i| char::from(b'0' + (state.rotate_left(3 * i) % 10) as u8)).collect();
            if state >> 63 == 1 {
                digits.insert(length as usize / 2, '.');
            }
            let written = format!("{digits}e{power}");
            let expected: f64 = written.parse().expect("a number");
            let found = BINARY64.encode_text(&written, &projection).expect("a number");
            assert_eq!(found.value, expected.to_bits(), "{written}");
            count += 1;
        }
    }
    assert!(count > 7000);
    for written in [
        "9007199254740993",
        "1.7976931348623158e308",
        "2.4703282292062328e-324",
        "4503599627370497.5",
        "1152921504606846977",
    ] {
        let expected: f64 = written.parse().expect("a number");
        assert_eq!(
            BINARY64.encode_text(written, &projection).map(|r| r.value),
            Ok(expected.to_bits()),
            "{written}"
        );
    }
    // A tie, and a little beside it some hundred digits on.
    let half = "1.00000000000000011102230246251565404236316680908203125";
    for (tail, ulps) in [("", 0), (&*format!("{}1", "0".repeat(200)), 1)] {
        let found = BINARY64.encode_text(&format!("{half}{tail}"), &projection).expect("a number");
        assert_eq!((found.value, found.flags), (1_f64.to_bits() + ulps, Flags::INEXACT));
    }
}

/// Exact results raise no flag, whatever the number of digits.
#[test]
fn exact_numbers_are_exact() {
    let projection = BINARY64.default_projection();
    for (written, expected) in [
        ("9007199254740992", 2_f64.powi(53)),
        ("0.5", 0.5),
        ("1e19", 1e19),
        ("1e22", 1e22),
        ("12345678901234568e0", 12_345_678_901_234_568_f64),
        ("0.0000152587890625", 2_f64.powi(-16)),
        ("1.5258789062500000000000000000000e-5", 2_f64.powi(-16)),
        ("340282366920938463463374607431768211456", 2_f64.powi(128)),
        (
            "0.00000000000000000000000000000293873587705571876992184134305561419454666389193021880377187926569604314863681793212890625",
            1e9 * 2_f64.powi(-128),
        ),
        ("0x1.fffffffffffffp1023", f64::MAX),
        ("0x123456789abcdp-100", 320_255_973_501_901.0 * 2_f64.powi(-100)),
        ("0x0000000000000000000000000000001p4", 16.0),
        ("320255973501901p-100", 320_255_973_501_901.0 * 2_f64.powi(-100)),
        ("0x8000000000000000000000000000000000p-140", 2_f64.powi(-5)),
    ] {
        let found = BINARY64.encode_text(written, &projection).expect("a number");
        assert_eq!((f64::from_bits(found.value), found.flags), (expected, Flags::NONE), "{written}");
    }
    // 55 significant bits, the last one set: no binary64.
    let found = BINARY64.encode_text("0x40000000000001.8p0", &projection).expect("a number");
    assert_eq!((found.value, found.flags), (18_014_398_509_481_986_f64.to_bits() & !1, Flags::INEXACT));
}

/// Exponents beyond every format's are infinite or next to zero, and never an error.
#[test]
fn exponents_have_no_end() {
    let projection = BINARY64.default_projection();
    let overflow = Flags::OVERFLOW | Flags::INEXACT;
    let underflow = Flags::UNDERFLOW | Flags::INEXACT;
    for head in ["1e", "0x1p", "1p", "0.0001e", "12345678901234567890e"] {
        for power in [
            "50001",
            "49999",
            "500001",
            "499999",
            "3000000000",
            "99999999999999999999999",
            "9223372036854775807",
        ] {
            for (sign, expected) in [("", (f64::INFINITY.to_bits(), overflow)), ("-", (0, underflow))] {
                let written = format!("{head}{sign}{power}");
                let found = BINARY64.encode_text(&written, &projection).expect("a number");
                assert_eq!((found.value, found.flags), expected, "{written}");
            }
        }
    }
    assert_eq!(BINARY64.encode_text("0e99999999999999999999", &projection).map(|r| r.value), Ok(0));
    // Rounded upward, what is not zero is the smallest value.
    let up = projection.with_rounding(smallfloat::Rounding::TowardPositive);
    assert_eq!(BINARY64.encode_text("1e-99999999999999999999", &up).map(|r| r.value), Ok(1));
    assert_eq!(text::parse("0x0p99999999999"), Ok(Exact::finite(false, 0, 0)));
}

/// The shortest decimal of every code, by a search among decimals with ever more digits.
#[test]
fn shortest_decimals_are_the_shortest() {
    for name in [
        "e4m3fn",
        "e5m2",
        "e3m4",
        "e2m3fn",
        "cfloat8_1_4_3:bias=7",
        "binary8p3se",
        "binary6p1ue",
        "minifloat:k=6,p=3,bias=3,subnormals=none",
        "minifloat:k=8,p=4,bias=5,signed=false,subnormals=none",
        "minifloat:k=8,p=6,bias=1,specials=finite",
    ] {
        let format: Format = name.parse().expect("a format");
        // In units of 2^−24, which holds all values and midpoints.
        let unit = 2_f64.powi(24);
        #[expect(clippy::cast_possible_truncation, reason = "multiples of the unit below 2^50")]
        let integer = |x: f64| (x * unit) as i128;
        let mut values: Vec<(i128, u64)> = format
            .codes()
            .filter(|&code| format.decode(code).is_finite() && !format.decode(code).is_negative())
            .map(|code| (integer(format.decode(code).to_f64().expect("few bits")), code))
            .collect();
        values.sort_unstable();
        for (at, &(value, code)) in values.iter().enumerate() {
            if value == 0 || at + 1 == values.len() {
                continue;
            }
            let below = if at == 0 { 0 } else { values[at - 1].0 };
            // Midpoints, doubled; an even code takes its ends.
            let (low, high) = (below + value, value + values[at + 1].0);
            let takes_ends = code % 2 == 0;
            let inside = |doubled: i128, scale: i128| {
                let (low, high) = (low * scale, high * scale);
                if takes_ends { (low..=high).contains(&doubled) } else { low < doubled && doubled < high }
            };
            let printed = format.shortest(code).to_string();
            let back =
                format.encode_text(&printed, &Preset::Ieee.projection(&format)).expect("a number").value;
            assert_eq!(back, code, "{name} {code:#x} {printed}");
            let digits =
                printed.replace('.', "").split('e').next().expect("one part").trim_matches('0').to_string();
            // All decimals n / 10^places of one digit less: none lies inside.
            let fewer = u32::try_from(digits.len() - 1).expect("few digits");
            if fewer > 0 {
                for power in -12..=12_i32 {
                    let (up, down) = (
                        10_i128.pow(power.max(0).unsigned_abs()),
                        10_i128.pow((-power).max(0).unsigned_abs()),
                    );
                    for n in 10_i128.pow(fewer - 1)..10_i128.pow(fewer) {
                        assert!(
                            !inside(2 * n * up * (1 << 24), down),
                            "{name} {code:#x}: {n}e{power} is shorter than {printed}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn shortest_decimals() {
    for (x, printed) in [
        (0.1 + 0.2, "0.30000000000000004"),
        (1e5, "100000"),
        (123_456_789_012_345.6, "123456789012345.6"),
        (1e-5, "0.00001"),
        (9.9e-6, "9.9e-6"),
        (5e-324, "5e-324"),
        (f64::MAX, "1.7976931348623157e308"),
        (99_999_999_999_999_984.0, "99999999999999980"),
        (9e22, "9e22"),
        (-0.0, "-0"),
        (f64::NEG_INFINITY, "-Inf"),
    ] {
        assert_eq!(BINARY64.shortest(x.to_bits()).to_string(), printed);
    }
    let shortest = |format: Format, code| format.shortest(code).to_string();
    assert_eq!(shortest(BINARY32, u64::from(0.1_f32.to_bits())), "0.1");
    assert_eq!((shortest(BINARY16, 0x3555), shortest(E4M3FN, 0x7f)), ("0.3333".into(), "NaN".into()));
    // 0.7 and 0.8 are as close to 0.75: the even digit.
    assert_eq!(shortest(E5M2, 0x3a), "0.8");
    // Nothing lies between 0 and 0.15625 here: 0.1 rounds to it.
    let without: Format = "minifloat:k=6,p=3,bias=3,subnormals=none".parse().expect("a format");
    assert_eq!((without.decode(1).to_f64(), shortest(without, 1)), (Some(0.156_25), "0.1".into()));
    // The exact value where a precision is given, and the flags of integers.
    let max = E4M3FN.shortest(0xfe);
    assert_eq!(format!("{max:.1}|{max:6}|{max:<6}|{max:06}"), "-448.0|  -450|-450  |-00450");
}
