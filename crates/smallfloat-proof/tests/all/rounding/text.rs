//! Parsing and printing: against exact rationals, and against the standard library for binary32 and
//! binary64.

use num_bigint::BigUint;
use smallfloat::{Exact, Family, Format, Preset, Subnormals, formats, project, text};
use smallfloat_oracle::{self as oracle, Dyadic, OracleFormat, Rational, Real, Table, Value, preset};
use smallfloat_proof::{
    Scramble, catalogue, check_all, core_flags, extensive, minifloats, oracle_format, oracle_policy, p3109,
    tesla, wide,
};

fn formats_up_to_16_bits() -> Vec<Format> {
    let mut list = catalogue(16);
    list.extend(tesla([0, 15, 63]));
    list.extend(p3109(3..=8));
    list.extend(
        ["binary16p1se", "binary16p8ue", "binary16p16uf"].map(|name| name.parse::<Format>().unwrap()),
    );
    list
}

/// The step that leaves so many codes of a format of more than 16 bits, odd so that the last bits
/// differ.
fn stride(format: &Format, samples: usize) -> usize {
    if format.is_wide() {
        (usize::try_from(format.max_code()).expect("at most 32 bits") / samples) | 1
    } else {
        1
    }
}

/// Printing and reading back with nearest even gives the same number, and so does the shortest
/// decimal.
fn check_round_trip(format: &Format) -> (u64, Vec<String>) {
    let projection = Preset::Ieee.projection(format);
    let mut wrong = Vec::new();
    let (mut compared, step) = (0, stride(format, 4000));
    for code in format.codes().step_by(step) {
        compared += 2;
        for printed in [format.decode_text(code), format.shortest(code).to_string()] {
            let back = format.encode_text(&printed, &projection).map(|r| r.value);
            // NaN payloads and flushed codes come back as the canonical code of their value.
            if back != format.encode(format.decode(code)).ok_or_else(|| unreachable!()) {
                wrong.push(format!("{format} {code:#x} printed {printed}, read back {back:x?}"));
            }
        }
    }
    (compared, wrong)
}

#[test]
fn printed_values_read_back() {
    let mut list = formats_up_to_16_bits();
    list.extend(wide());
    check_all("round trips", &list, check_round_trip);
}

fn power_of_ten(e: i64) -> Rational {
    let ten = Dyadic::new(BigUint::from(10_u8).pow(u32::try_from(e.unsigned_abs()).unwrap()), 0);
    if e >= 0 { Rational::from(&ten) } else { Rational::new(&Dyadic::one(), &ten) }
}

/// The significant digits of a printed number, without zeros at either end, and the place of the
/// last one.
fn digits(printed: &str) -> (String, i64) {
    let (mantissa, exponent) = printed.split_once('e').unwrap_or((printed, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = format!("{whole}{fraction}");
    let exponent = exponent.parse::<i64>().unwrap() - i64::try_from(fraction.len()).unwrap();
    let trimmed = all.trim_end_matches('0');
    let zeros = i64::try_from(all.len() - trimmed.len()).unwrap();
    (trimmed.trim_start_matches('0').to_string(), exponent + zeros)
}

/// What rounds to a magnitude code: from, to, and whether the ends belong to it.
struct Interval {
    value: Rational,
    low: Rational,
    high: Rational,
    closed: bool,
}

impl Interval {
    fn new(oracle: &OracleFormat, code: u64) -> Self {
        let value = oracle.grid(code);
        let below = code.checked_sub(1).map_or_else(Dyadic::zero, |below| oracle.grid(below));
        let middle = |other: &Dyadic| Rational::from(&(&value + other).scale(-1));
        let (low, high) = (middle(&below), middle(&oracle.grid(code + 1)));
        Self { low, high, value: Rational::from(&value), closed: code.is_multiple_of(2) }
    }

    fn contains(&self, x: &Rational) -> bool {
        let inside = *x > self.low && *x < self.high;
        inside || self.closed && (*x == self.low || *x == self.high)
    }

    /// Returns whether there is a multiple of 10^place inside.
    fn has_multiple(&self, place: i64) -> bool {
        let unit = power_of_ten(place);
        let first = (&self.low / &unit).floor();
        (0..=1_u8).any(|step| {
            let multiple = Dyadic::new(&first + step, 0);
            !multiple.is_zero() && self.contains(&(&Rational::from(&multiple) * &unit))
        })
    }
}

/// No decimal with fewer digits lies in the rounding interval, and none with as many lies closer to
/// the value.
fn check_shortest(format: &Format) -> (u64, Vec<String>) {
    let oracle = oracle_format(format);
    let (mut compared, mut wrong) = (0, Vec::new());
    let codes = 0..=format.max_code() >> u32::from(format.is_signed());
    for code in codes.step_by(stride(format, 1000)) {
        let Value::Finite(x, _) = oracle.value(code) else { continue };
        if x.is_zero() {
            continue;
        }
        compared += 1;
        let printed = format.shortest(code).to_string();
        let (significant, place) = digits(&printed);
        let interval = Interval::new(&oracle, code);
        let integer: BigUint = significant.parse().unwrap();
        let decimal = |n: BigUint| &Rational::from(&Dyadic::new(n, 0)) * &power_of_ten(place);
        let distance = |n: BigUint| (&decimal(n) - &interval.value).abs();
        if !interval.contains(&decimal(integer.clone())) {
            wrong.push(format!("{format} {code:#x}: {printed} is outside of the rounding interval"));
        }
        // Fewer digits means a multiple of a higher power of ten; of how high a one the interval's
        // end says.
        let top = place + i64::try_from(significant.len()).unwrap() + 1;
        if significant.len() > 1 && (place + 1..=top).any(|place| interval.has_multiple(place)) {
            wrong.push(format!("{format} {code:#x}: {printed} is not the shortest"));
        }
        let here = distance(integer.clone());
        let closer = |n: BigUint| interval.contains(&decimal(n.clone())) && distance(n) < here;
        if closer(&integer + 1_u8) || closer(&integer - 1_u8) {
            wrong.push(format!("{format} {code:#x}: {printed} is not the closest"));
        }
    }
    (compared, wrong)
}

#[test]
fn shortest_decimals_are_the_shortest() {
    let mut list = catalogue(8);
    list.extend(tesla([0, 7, 31, 63]).into_iter().filter(|f| f.width() == 8));
    list.extend(p3109(3..=8));
    list.extend(minifloats(6, &[1, 20]).into_iter().filter(|f| f.subnormals() != Subnormals::Flush));
    list.extend(wide().into_iter().filter(|f| f.subnormals() == Subnormals::Gradual));
    check_all("shortest", &list, check_shortest);
}

/// A random decimal or hexadecimal number near a format's range.
fn random_text(format: &Format, scramble: &mut Scramble) -> String {
    let (low, high) = format.exponent_range();
    let span = u64::from((high - low).unsigned_abs() + 2 * format.precision() + 8);
    let binary = low - format.precision().cast_signed() - 4 + i32::try_from(scramble.below(span)).unwrap();
    let sign = if scramble.below(2) == 0 { "-" } else { "" };
    let count = 1 + scramble.below(40);
    if scramble.below(2) == 0 {
        let body: String = (0..count)
            .map(|_| char::from_digit(u32::try_from(scramble.below(16)).unwrap(), 16).unwrap())
            .collect();
        return format!("{sign}0x{}.{body}p{binary}", scramble.below(16));
    }
    let body: String =
        (0..count).map(|_| char::from(b'0' + u8::try_from(scramble.below(10)).unwrap())).collect();
    format!("{sign}{}.{body}e{}", scramble.below(10), i64::from(binary) * 30_103 / 100_000)
}

/// The exact decimal of a midpoint of the format, perhaps with a last digit that breaks the tie.
fn midpoint_text(format: &Format, scramble: &mut Scramble) -> String {
    let oracle = oracle_format(format);
    let code = scramble.below(format.max_code() >> u32::from(format.is_signed()));
    let middle = (&oracle.grid(code) + &oracle.grid(code + 1)).scale(-1);
    let tail = scramble.pick(&["", "0000", "000000000000000000000000000000000000000000000001"]);
    let (mantissa, exponent) = (middle.mantissa(), middle.exponent());
    // m·2^−e = m·5^e·10^−e.
    let five = num_bigint::BigInt::from(5).pow(u32::try_from((-exponent).max(0)).unwrap());
    let integer = (mantissa * five) << exponent.max(0);
    format!("{integer}.{tail}0e{}", exponent.min(0))
}

fn check_parsed(seed: u64) -> (u64, Vec<String>) {
    const TEXTS: u64 = 500;
    let mut scramble = Scramble(seed);
    let mut list = formats_up_to_16_bits();
    list.retain(|f| f.family() != Family::P3109 || f.precision() > 2);
    list.extend(wide());
    let format = scramble.pick(&list);
    let table = Table::new(&oracle_format(&format));
    let mut wrong = Vec::new();
    for _ in 0..TEXTS {
        let text = if scramble.below(4) == 0 {
            midpoint_text(&format, &mut scramble)
        } else {
            random_text(&format, &mut scramble)
        };
        let rounding = scramble.pick(smallfloat::Rounding::DETERMINISTIC);
        let projection = format.default_projection().with_rounding(rounding);
        let got = format.encode_text(&text, &projection).expect("a number");
        let exact = oracle::parse(&text).expect("a number");
        let (code, flags) = table.round(&exact, &oracle_policy(&projection));
        if (got.value, got.flags) != (code, core_flags(flags)) {
            wrong.push(format!(
                "{text} into {format}, {rounding:?}: got {:#x} {}, expected {code:#x} {flags}",
                got.value, got.flags
            ));
        }
    }
    (TEXTS, wrong)
}

/// On every value and every midpoint of a format, and so little beside it that binary64 does not
/// tell, in every rounding mode without random bits: the code and the flags of the oracle's
/// rounding.
fn check_boundaries(format: &Format) -> (u64, Vec<String>) {
    let oracle = oracle_format(format);
    let table = Table::new(&oracle);
    let (mut compared, mut wrong) = (0, Vec::new());
    let top = format.max_code() >> u32::from(format.is_signed());
    let zeros = "0".repeat(60);
    // Every code of a wide format takes minutes.
    let stride = stride(format, 13_000) * if format.width() > 8 && !extensive() { 67 } else { 1 };
    for code in (0..=top).step_by(stride) {
        let Value::Finite(value, _) = oracle.value(code) else { continue };
        let middle = (&value + &oracle.grid(code + 1)).scale(-1);
        for boundary in [value, middle] {
            if boundary.is_zero() {
                continue;
            }
            let places = (-boundary.exponent()).max(0);
            let five = num_bigint::BigInt::from(5).pow(u32::try_from(places).unwrap());
            let integer = (boundary.mantissa() * five) << boundary.exponent().max(0);
            for text in [
                format!("{integer}e-{places}"),
                format!("{integer}.{zeros}1e-{places}"),
                format!("{}.{}e-{places}", &integer - 1, "9".repeat(60)),
            ] {
                let exact = oracle::parse(&text).expect("a number");
                for rounding in smallfloat::Rounding::DETERMINISTIC {
                    let projection = format.default_projection().with_rounding(*rounding);
                    let got = format.encode_text(&text, &projection).expect("a number");
                    let (code, flags) = table.round(&exact, &oracle_policy(&projection));
                    compared += 1;
                    if (got.value, got.flags) != (code, core_flags(flags)) {
                        wrong.push(format!(
                            "{text} into {format}, {rounding:?}: got {:#x} {}, expected {code:#x} {flags}",
                            got.value, got.flags
                        ));
                    }
                }
                let nearest = format.encode_text(&text, &format.default_projection()).map(|r| r.value);
                if smallfloat::Dynamic::from_text(&text, *format).map(smallfloat::Dynamic::to_bits) != nearest
                {
                    wrong.push(format!("{text} into {format}: another code without flags"));
                }
            }
        }
    }
    (compared, wrong)
}

#[test]
fn boundaries_of_every_format() {
    let mut list = formats_up_to_16_bits();
    list.extend(wide());
    // Thousands of digits, which only the exact parser reads.
    list.retain(|f| f.exponent_range().0 > -1100 && f.exponent_range().1 < 1100);
    check_all("boundaries", &list, check_boundaries);
}

#[test]
fn random_texts_are_rounded_once() {
    let seeds: Vec<u64> = (0..256).collect();
    assert!(check_all("texts", &seeds, |&seed| check_parsed(seed)) > 100_000);
}

/// Every notation of [`text::parse`] that the oracle does not share, and those it refuses.
#[test]
fn notations() {
    let f64_of = |text: &str| {
        formats::BINARY64
            .encode_text(text, &formats::BINARY64.default_projection())
            .map(|r| f64::from_bits(r.value))
    };
    assert_eq!(f64_of("3p-1"), Ok(1.5));
    assert_eq!(f64_of(" -0X1.8P+3 "), Ok(-12.0));
    assert_eq!(f64_of("+.5e1"), Ok(5.0));
    assert!(matches!(text::parse("-Infinity"), Ok(Exact::Infinite { negative: true })));
    assert!(matches!(text::parse("-nan"), Ok(Exact::Nan { negative: true })));
    for refused in ["", "-", ".", "e1", "1e", "1.2.3", "0x", "0xp1", "12a", "--1", "1e+-1", "1_000"] {
        assert!(text::parse(refused).is_err(), "{refused:?}");
        assert!(oracle::parse(refused).is_none(), "{refused:?}");
    }
    // Exponents beyond every format are refused by the oracle and harmless here.
    for (huge, infinite) in
        [("1e99999999999999999999", true), ("1e-99999999999999999999", false), ("0e99999999999", false)]
    {
        assert_eq!(f64_of(huge), Ok(if infinite { f64::INFINITY } else { 0.0 }), "{huge}");
    }
}

fn random_f64(scramble: &mut Scramble) -> f64 {
    let bits = scramble.bits();
    // An eighth of them subnormal.
    f64::from_bits(if scramble.below(8) == 0 { bits & 0x800f_ffff_ffff_ffff } else { bits })
}

#[test]
fn binary64_and_binary32_print_as_the_standard_library_does() {
    let mut scramble = Scramble(1);
    for _ in 0..100_000 {
        let (x, y) =
            (random_f64(&mut scramble), f32::from_bits(u32::try_from(scramble.bits() >> 32).unwrap()));
        if x.is_finite() {
            let ours = formats::BINARY64.shortest(x.to_bits()).to_string();
            assert_prints_alike(&ours, &format!("{x:e}"), &format!("{x:.1100e}"));
        }
        let y = if scramble.below(8) == 0 { f32::from_bits(y.to_bits() & 0x807f_ffff) } else { y };
        if y.is_finite() {
            let ours = formats::BINARY32.shortest(y.to_bits().into()).to_string();
            assert_prints_alike(&ours, &format!("{y:e}"), &format!("{y:.1100e}"));
        }
    }
}

/// Compares the digits; but where two shortest decimals are as close, the standard library takes
/// the larger and we the one with the even digit, as Ryu and ECMAScript do.
fn assert_prints_alike(ours: &str, std: &str, exact: &str) {
    let [ours, std, exact] = [ours, std, exact].map(|text| digits(text.trim_start_matches('-')));
    if ours != std {
        let is_tie = exact.0.strip_suffix('5') == Some(ours.0.as_str()) && exact.1 == ours.1 - 1;
        let is_even = ours.0.ends_with(['0', '2', '4', '6', '8']);
        assert!(is_tie && is_even, "{ours:?}, the standard library prints {std:?}, exactly {exact:?}");
    }
}

fn assert_parses_alike(text: &str) {
    let (wide, single) = (formats::BINARY64, formats::BINARY32);
    let ours = wide.encode_text(text, &wide.default_projection()).expect("a number").value;
    assert_eq!(ours, text.parse::<f64>().expect("a number").to_bits(), "{text}");
    let ours = single.encode_text(text, &single.default_projection()).expect("a number").value;
    assert_eq!(ours, u64::from(text.parse::<f32>().expect("a number").to_bits()), "{text}");
}

#[test]
fn binary64_and_binary32_parse_as_the_standard_library_does() {
    let mut scramble = Scramble(2);
    for _ in 0..50_000 {
        assert_parses_alike(
            &format!("{:e}", random_f64(&mut scramble)).replace("inf", "1").replace("NaN", "2"),
        );
        let digits: String = (0..=scramble.below(60))
            .map(|_| char::from(b'0' + u8::try_from(scramble.below(10)).unwrap()))
            .collect();
        let exponent = i64::try_from(scramble.below(700)).unwrap() - 360;
        assert_parses_alike(&format!("{}.{digits}e{exponent}", scramble.below(10)));
    }
}

/// Decimals that lie exactly half way between two neighbours, or a digit far behind to either side.
#[test]
fn halfway_cases_with_long_digit_strings() {
    let policy = preset("ieee", &oracle::formats::BINARY64);
    let table = Table::new(&oracle::formats::BINARY64);
    let mut scramble = Scramble(3);
    for i in 0..3_000 {
        let bits = random_f64(&mut scramble).to_bits() & (u64::MAX >> 1);
        let bits = if i % 2 == 0 { bits & 0x000f_ffff_ffff_ffff } else { bits };
        if bits >= 0x7fe0_0000_0000_0000 {
            continue;
        }
        let middle =
            (&oracle::formats::BINARY64.grid(bits) + &oracle::formats::BINARY64.grid(bits + 1)).scale(-1);
        let places = (-middle.exponent()).max(0);
        let five = num_bigint::BigInt::from(5).pow(u32::try_from(places).unwrap());
        let integer = (middle.mantissa() * five) << middle.exponent().max(0);
        for text in [
            format!("{integer}e-{places}"),
            format!("{integer}.00000000000000000000001e-{places}"),
            format!("{}.99999999999999999999999e-{places}", &integer - 1),
        ] {
            assert_parses_alike(&text);
            let exact = oracle::parse(&text).expect("a number");
            assert!(matches!(&exact, oracle::Exact::Finite { magnitude: Real::Rational(_), .. }));
            let ours = project(
                text::parse(&text).expect("a number"),
                &formats::BINARY64,
                &formats::BINARY64.default_projection(),
            );
            let (code, flags) = table.round(&exact, &policy);
            assert_eq!((ours.value, ours.flags), (code, core_flags(flags)), "{text}");
        }
    }
}
