//! Formats, codes and values in words and digits, for reports and pages.

use std::fmt::Write as _;

use smallfloat::formats::{CATALOGUE, Named};
use smallfloat::text;
use smallfloat::text::Decimal;
use smallfloat::{Class, Datum, Exact, Family, Flags, Format, Signedness, Specials, Subnormals};

/// Returns what the format has besides numbers and +0.
pub fn specials(format: &Format) -> String {
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

/// Returns which codes are not numbers.
///
/// # Panics
/// Of specials that the core has learnt and this function not yet; so in
/// [`subnormals_rule`].
pub fn specials_rule(format: &Format) -> &'static str {
    match format.specials() {
        Specials::Finite => "none: every code is a number",
        Specials::Ieee if !format.is_signed() => "one infinity and NaN in the exponent field of ones",
        Specials::Ieee => "infinities and NaN in the exponent field of ones",
        Specials::NanAllOnes => "NaN where exponent and significand are all ones, no infinity",
        Specials::NanNegativeZero => "NaN on the code of −0, no infinity",
        Specials::P3109Extended if !format.is_signed() => {
            "one NaN, one infinity next to the largest value, no −0"
        }
        Specials::P3109Extended => "one NaN, infinities next to the largest values, no −0",
        Specials::P3109Finite => "one NaN, no infinity, no −0",
        Specials::E8m0 => "NaN on the code of all ones, no zero",
        other => panic!("{other} has no description"),
    }
}

/// Returns what the codes with exponent field 0 mean.
///
/// # Panics
/// As [`specials_rule`].
pub fn subnormals_rule(format: &Format) -> String {
    if format.precision() == 1 {
        return "none: there is no trailing significand".into();
    }
    match format.subnormals() {
        Subnormals::Gradual => "gradual: 2^(1−bias) × 0.m",
        Subnormals::Tesla => "as in Tesla's paper: 2^−bias × 0.m, a hole below the smallest normal value",
        Subnormals::Flush => "flushed: the codes exist and read as 0",
        Subnormals::None => "none: exponent field 0 is an ordinary binade, 2^−bias × 1.m",
        other => panic!("{other} has no description"),
    }
    .into()
}

/// Returns `signed` or `unsigned`.
pub fn signedness(format: &Format) -> &'static str {
    match format.signedness() {
        Signedness::Signed => "signed",
        Signedness::Unsigned => "unsigned",
    }
}

/// Returns `0x` and the code in lower-case hexadecimal, ⌈K/4⌉ digits.
pub fn code(format: &Format, code: u64) -> String {
    format!("0x{code:0width$x}", width = format.hex_digits())
}

/// Returns the code in bits, grouped sign_exponent_significand.
pub fn bits(format: &Format, code: u64) -> String {
    let digits = format!("{code:0width$b}", width = format.width() as usize);
    let sign = usize::from(format.is_signed());
    let (sign, rest) = digits.split_at(sign);
    let (exponent, significand) = rest.split_at(format.exponent_bits() as usize);
    let fields: Vec<_> =
        [sign, exponent, significand].into_iter().filter(|field| !field.is_empty()).collect();
    fields.join("_")
}

/// Returns the exponent field and the trailing significand field of a code.
pub fn fields(format: &Format, code: u64) -> (u64, u64) {
    let trailing = format.trailing_bits();
    let exponent = (code >> trailing) & ((1 << format.exponent_bits()) - 1);
    (exponent, code & ((1 << trailing) - 1))
}

/// Returns the value of a finite code as its fields spell it: `−2^(7−8) × 1.001b`.
pub fn formula(format: &Format, code: u64) -> Option<String> {
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

/// Returns the decimal value, as [`Decimal`] prints it.
pub fn value(format: &Format, code: u64) -> String {
    format.decode_text(code)
}

/// Returns a value as [`Decimal`] prints it, where that is the value to the last digit.
pub fn exact_decimal(datum: Datum) -> Option<String> {
    datum.to_f64()?;
    let text = Decimal::from(datum).to_string();
    (text::parse(&text).ok().and_then(canonical) == Some(datum)).then_some(text)
}

/// The datum that an exact result is; nothing for one that was cut off or has too many bits.
pub(crate) fn canonical(x: Exact) -> Option<Datum> {
    match x {
        Exact::Nan { negative } => Some(Datum::Nan { negative }),
        Exact::Infinite { negative } => Some(Datum::Infinite { negative }),
        Exact::Cancelled => Some(Datum::ZERO),
        Exact::Finite { negative, significand: 0, .. } => Some(Datum::finite(negative, 0, 0)),
        Exact::Finite { sticky: true, .. } => None,
        Exact::Finite { negative, significand, exponent, .. } => {
            let zeros = significand.trailing_zeros();
            let odd = u64::try_from(significand >> zeros).ok()?;
            Some(Datum::finite(negative, odd, exponent.checked_add_unsigned(zeros)?))
        }
    }
}

/// Returns what is said where a name has no bias and gets the default one.
pub fn default_bias(format: &Format) -> String {
    format!("no bias is given: {format}, the default, is taken")
}

/// Returns an `f64` as [`Decimal`] prints it.
pub fn number(x: f64) -> String {
    Decimal::from(x).to_string()
}

/// Returns the flags by name.
pub fn flags(flags: Flags) -> String {
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

/// Returns where a format is defined: the document of the catalogue, or the family that it belongs
/// to.
pub fn source(format: &Format) -> &'static str {
    let same = |row: &&Named| {
        row.format.family() == format.family()
            && row.format.width() == format.width()
            && row.format.precision() == format.precision()
            && (row.format == *format || format.has_free_bias())
    };
    match (CATALOGUE.iter().find(same), format.family()) {
        (Some(row), _) => row.source,
        (None, Family::P3109) => "P3109 draft",
        (None, Family::Ieee) => "after IEEE 754's model",
        (None, _) => "parameters",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use smallfloat::formats::{E4M3FN, E8M0FNU, UHP};

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
    fn decimals_are_given_where_they_are_exact() {
        let spelt = |significand, exponent| exact_decimal(Datum::finite(false, significand, exponent));
        for (significand, exponent, text) in [
            (0, 0, "0"),
            (1, -10, "0.0009765625"),
            (9, -3, "1.125"),
            (448, 0, "448"),
            (1, -16, "0.0000152587890625"),
            (1, -17, "7.62939453125e-6"),
            // 10^23 has more than 53 bits, 10^22 has not: 5^22 · 2^22.
            (2_384_185_791_015_625, 22, "1e22"),
            (1, 53, "9007199254740992"),
            // 5^24 has 17 digits, 5^25 has 18.
            (1, -24, "5.9604644775390625e-8"),
        ] {
            let exact = (text != "5.9604644775390625e-8").then_some(text);
            assert_eq!(spelt(significand, exponent).as_deref(), exact, "{text}");
        }
        assert_eq!(exact_decimal(Datum::finite(true, 3, -1)).as_deref(), Some("-1.5"));
        for (significand, exponent) in [(1, -29), (1, 67), (1, -1_000_000), (1, 1_000_000), (u64::MAX, 0)] {
            assert_eq!(spelt(significand, exponent), None);
        }
    }

    #[test]
    fn what_is_special_in_words() {
        assert_eq!(specials(&tesla()), "−0");
        assert_eq!(specials(&E8M0FNU), "NaN, no 0");
        assert_eq!(source(&tesla()), "Tesla Dojo Technology paper");
        assert_eq!(source(&Format::ieee(6, 3).expect("legal")), "after IEEE 754's model");
        assert_eq!(flags(Flags::OVERFLOW | Flags::INEXACT), "overflow, inexact");
    }
}
