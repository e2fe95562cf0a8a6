//! Formats, codes and values in words and digits, for people.

use std::borrow::Cow;
use std::fmt::Write as _;

use smallfloat::{Class, Datum, Flags, Format, Signedness, Specials, Subnormals};

/// The first 80 characters of what was typed, for a message; `…` stands for the rest.
pub(crate) fn excerpt(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(80) {
        Some((end, _)) => format!("{}…", &text[..end]).into(),
        None => text.into(),
    }
}

/// The legal biases, `0..63`, or the bias that the standard fixes.
pub(crate) fn bias(format: &Format) -> String {
    match format.bias_range() {
        Some((lo, hi)) if format.has_free_bias() => format!("{lo}..{hi}"),
        _ => format.bias().to_string(),
    }
}

/// What the format has besides numbers and +0.
pub(crate) fn specials(format: &Format) -> String {
    let infinities = match (format.has_infinity(), format.is_signed()) {
        (false, _) => None,
        (true, false) => Some("Inf"),
        (true, true) => Some("±Inf"),
    };
    let parts = [
        infinities,
        format.has_nan().then_some("NaN"),
        format.has_negative_zero().then_some("−0"),
        (!format.has_zero()).then_some("no 0"),
    ];
    let words: Vec<_> = parts.into_iter().flatten().collect();
    if words.is_empty() { "none".into() } else { words.join(", ") }
}

/// Which codes are not numbers.
pub(crate) fn specials_rule(format: &Format) -> &'static str {
    match format.specials() {
        Specials::Finite => "none: every code is a number",
        Specials::Ieee => "infinities and NaN in the exponent field of ones",
        Specials::NanAllOnes => "NaN where exponent and significand are all ones, no infinity",
        Specials::NanNegativeZero => "NaN on the code of −0, no infinity",
        Specials::P3109Extended => "one NaN, infinities next to the largest values, no −0",
        Specials::P3109Finite => "one NaN, no infinity, no −0",
        Specials::E8m0 => "NaN on the code of all ones, no zero",
    }
}

/// What the codes with exponent field 0 mean.
pub(crate) fn subnormals_rule(format: &Format) -> String {
    if format.precision() == 1 {
        return "none: there is no trailing significand".into();
    }
    match format.subnormals() {
        Subnormals::Gradual => "gradual: 2^(1−bias) × 0.m",
        Subnormals::Tesla => "as in Tesla's paper: 2^−bias × 0.m, a hole below the smallest normal value",
        Subnormals::Flush => "flushed: the codes exist and read as 0",
        Subnormals::None => "none: exponent field 0 is an ordinary binade, 2^−bias × 1.m",
    }
    .into()
}

pub(crate) fn signedness(format: &Format) -> &'static str {
    match format.signedness() {
        Signedness::Signed => "signed",
        Signedness::Unsigned => "unsigned",
    }
}

/// `0x` and the code in lower-case hexadecimal, ⌈K/4⌉ digits.
pub(crate) fn code(format: &Format, code: u64) -> String {
    format!("0x{code:0width$x}", width = format.hex_digits())
}

/// The code in bits, grouped sign_exponent_significand.
pub(crate) fn bits(format: &Format, code: u64) -> String {
    let digits = format!("{code:0width$b}", width = format.width() as usize);
    let sign = usize::from(format.is_signed());
    let (sign, rest) = digits.split_at(sign);
    let (exponent, significand) = rest.split_at(format.exponent_bits() as usize);
    let fields: Vec<_> =
        [sign, exponent, significand].into_iter().filter(|field| !field.is_empty()).collect();
    fields.join("_")
}

/// The exponent field and the trailing significand field of a code.
pub(crate) fn fields(format: &Format, code: u64) -> (u64, u64) {
    let trailing = format.trailing_bits();
    let exponent = (code >> trailing) & ((1 << format.exponent_bits()) - 1);
    (exponent, code & ((1 << trailing) - 1))
}

/// The value of a finite code as its fields spell it: `−2^(7−8) × 1.001b`.
pub(crate) fn formula(format: &Format, code: u64) -> Option<String> {
    let class = format.classify(code);
    let (field, trailing) = fields(format, code);
    let sign = if format.sign_bit(code) { "−" } else { "" };
    let bias = match format.bias() {
        bias @ ..0 => format!("({bias})"),
        bias => bias.to_string(),
    };
    let power = match (class, format.subnormals()) {
        (Class::Normal, _) => format!("2^({field}−{bias})"),
        (Class::Subnormal, Subnormals::Gradual) => format!("2^(1−{bias})"),
        (Class::Subnormal, Subnormals::Tesla) => format!("2^(0−{bias})"),
        _ => return None,
    };
    let mut text = format!("{sign}{power}");
    let hidden = u8::from(class == Class::Normal);
    let width = format.trailing_bits() as usize;
    if width > 0 {
        let _ = write!(text, " × {hidden}.{trailing:0width$b}b");
    }
    Some(text)
}

/// The decimal value: as `f64` prints it where `f64` has it, else the shortest decimal within the format.
pub(crate) fn value(format: &Format, code: u64) -> String {
    let shortest = || format.decode_text(code);
    match format.decode(code) {
        datum @ Datum::Finite { .. } if !format.is_wide() => datum.to_f64().map_or_else(shortest, number),
        _ => shortest(),
    }
}

/// An `f64` without a needless `.0`.
pub(crate) fn number(x: f64) -> String {
    let text = format!("{x:?}");
    match text.strip_suffix(".0") {
        Some(whole) => whole.into(),
        None => text,
    }
}

/// A power of two as `2^n`, anything else as [`Datum`] prints it.
pub(crate) fn power(datum: Datum) -> String {
    match datum {
        Datum::Finite { negative: false, significand: 1, exponent } => format!("2^{exponent}"),
        _ => datum.to_string(),
    }
}

/// A value in at most a few characters, for a narrow column; `≈` marks one that was cut.
pub(crate) fn brief(format: &Format, code: u64) -> String {
    let text = value(format, code);
    if text.len() <= 8 {
        return text;
    }
    match format.decode(code).to_f64() {
        Some(x) => format!("≈{x:.1e}"),
        None => power(format.decode(code)),
    }
}

/// The flags by name.
pub(crate) fn flags(flags: Flags) -> String {
    const NAMES: [(Flags, &str); 6] = [
        (Flags::INVALID, "invalid"),
        (Flags::DENORMAL, "denormal"),
        (Flags::OVERFLOW, "overflow"),
        (Flags::UNDERFLOW, "underflow"),
        (Flags::INEXACT, "inexact"),
        (Flags::DIVISION_BY_ZERO, "division by zero"),
    ];
    let names: Vec<_> =
        NAMES.iter().filter(|(flag, _)| flags.contains(*flag)).map(|(_, name)| *name).collect();
    if names.is_empty() { "none".into() } else { names.join(", ") }
}

/// An integer with a comma after every third digit.
pub(crate) fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number of bytes in the unit that suits it: `90.9 MB`.
#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
pub(crate) fn bytes(n: u64) -> String {
    const UNITS: [&str; 6] = ["kB", "MB", "GB", "TB", "PB", "EB"];
    if n < 1000 {
        return format!("{n} B");
    }
    let mut x = n as f64 / 1e3;
    let mut unit = 0;
    while x >= 999.5 && unit + 1 < UNITS.len() {
        x /= 1e3;
        unit += 1;
    }
    let decimals = if x < 9.995 { 2 } else { usize::from(x < 99.95) };
    format!("{x:.decimals$} {}", UNITS[unit])
}

/// A measured number in four digits.
pub(crate) fn rough(x: f64) -> String {
    let magnitude = x.abs();
    if magnitude == 0.0 {
        "0".into()
    } else if !(1e-3..1e5).contains(&magnitude) {
        format!("{x:.3e}")
    } else {
        let decimals = [1.0, 10.0, 100.0, 1000.0].iter().filter(|limit| magnitude < **limit).count();
        format!("{x:.decimals$}")
    }
}

/// A ratio in decibels; none means that all elements are exact.
pub(crate) fn decibels(sqnr: Option<f64>) -> String {
    sqnr.map_or_else(|| "exact".into(), |sqnr| format!("{sqnr:.2}"))
}

/// `; SQNR mean 31.50 dB, worst 29.86 dB`, to follow something else; nothing where all is exact.
pub(crate) fn ratios(mean: Option<f64>, worst: Option<f64>) -> String {
    match (mean, worst) {
        (Some(mean), Some(worst)) => format!("; SQNR mean {mean:.2} dB, worst {worst:.2} dB"),
        _ => String::new(),
    }
}

/// `30522×384`, or `scalar`.
pub(crate) fn shape(shape: &[u64]) -> String {
    if shape.is_empty() {
        return "scalar".into();
    }
    shape.iter().map(u64::to_string).collect::<Vec<_>>().join("×")
}

/// A tensor's name in at most `width` characters, its middle cut out if need be. Names come from files that anybody may
/// have made, so what could disturb a terminal is escaped.
pub(crate) fn tensor_name(name: &str, width: usize) -> String {
    let hides = |c| matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}');
    let escaped: String = name
        .chars()
        .take(10_000)
        .flat_map(|c| {
            let escape = c.is_control() || hides(c);
            let (escaped, plain) = if escape { (Some(c.escape_unicode()), None) } else { (None, Some(c)) };
            escaped.into_iter().flatten().chain(plain)
        })
        .collect();
    let length = escaped.chars().count();
    if length <= width {
        return escaped;
    }
    let end = (width - 1) / 2;
    let begin = width - 1 - end;
    let head: String = escaped.chars().take(begin).collect();
    let tail: String = escaped.chars().skip(length - end).collect();
    format!("{head}…{tail}")
}

/// `1 tensor`, `2 tensors`.
pub(crate) fn plural(n: u64, noun: &str) -> String {
    format!("{} {noun}{}", count(n), if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use smallfloat::formats::{BINARY64, E4M3FN, E8M0FNU, UHP};

    fn tesla() -> Format {
        Format::cfloat8_1_4_3(7).expect("a bias in range")
    }

    #[test]
    fn bits_are_grouped_by_field() {
        assert_eq!(bits(&E4M3FN, 0xb9), "1_0111_001");
        assert_eq!(bits(&UHP, 0x7c00), "011111_0000000000");
        assert_eq!(bits(&E8M0FNU, 0x7f), "01111111");
    }

    #[test]
    fn formulas_follow_the_reading_of_subnormals() {
        assert_eq!(formula(&E4M3FN, 0xb9).as_deref(), Some("−2^(7−7) × 1.001b"));
        assert_eq!(formula(&E4M3FN, 0x01).as_deref(), Some("2^(1−7) × 0.001b"));
        assert_eq!(formula(&tesla(), 0x01).as_deref(), Some("2^(0−7) × 0.001b"));
        assert_eq!(formula(&E8M0FNU, 0x7f).as_deref(), Some("2^(127−127)"));
        assert_eq!(formula(&UHP, 0x0001), None);
    }

    #[test]
    fn narrow_columns_stay_narrow() {
        assert_eq!(brief(&E4M3FN, 0x7e), "448");
        assert_eq!(brief(&BINARY64, f64::MAX.to_bits()), "≈1.8e308");
        assert_eq!(specials(&tesla()), "−0");
        assert_eq!(specials(&E8M0FNU), "NaN, no 0");
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(
            (count(0), count(999), count(22_713_216)),
            ("0".into(), "999".into(), "22,713,216".into())
        );
        assert_eq!(
            (bytes(999), bytes(1000), bytes(90_868_376)),
            ("999 B".into(), "1.00 kB".into(), "90.9 MB".into())
        );
        assert_eq!(bytes(999_600), "1.00 MB");
        assert_eq!(bytes(u64::MAX), "18.4 EB");
        assert_eq!(
            (rough(0.0), rough(0.30351), rough(-480.0), rough(1e-10)),
            ("0".into(), "0.3035".into(), "-480.0".into(), "1.000e-10".into())
        );
        assert_eq!((decibels(None), decibels(Some(31.499))), ("exact".into(), "31.50".into()));
    }

    #[test]
    fn names_fit_and_cannot_disturb_a_terminal() {
        assert_eq!(tensor_name("encoder.layer.0.attention.weight", 32), "encoder.layer.0.attention.weight");
        let cut = tensor_name("encoder.layer.0.attention.weight", 21);
        assert_eq!((cut.chars().count(), &*cut), (21, "encoder.la…ion.weight"));
        assert_eq!(tensor_name("a\x1b[2J\u{202e}", 40), "a\\u{1b}[2J\\u{202e}");
        assert_eq!((shape(&[]), shape(&[3, 4])), ("scalar".into(), "3×4".into()));
    }
}
