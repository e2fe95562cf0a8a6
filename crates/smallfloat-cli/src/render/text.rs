//! Formats, codes and values in words and digits, for people.

use std::borrow::Cow;

use crate::render::output::push_shown;
use smallfloat::{Datum, Format};

pub(crate) use smallfloat_lab::describe::{
    bits, code, default_bias, exact_decimal, fields, flags, formula, number, signedness, source, specials,
    specials_rule, subnormals_rule, value,
};

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

/// A tensor's name in at most `width` characters, its middle cut out if need be. Names come from
/// files that anybody may have made, so what could disturb a terminal is escaped.
pub(crate) fn tensor_name(name: &str, width: usize) -> String {
    let mut escaped = String::new();
    name.chars().take(10_000).for_each(|c| push_shown(&mut escaped, c));
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
    use smallfloat::formats::{BINARY64, E4M3FN};

    #[test]
    fn narrow_columns_stay_narrow() {
        assert_eq!(brief(&E4M3FN, 0x7e), "448");
        assert_eq!(brief(&BINARY64, f64::MAX.to_bits()), "≈1.8e308");
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
        assert_eq!(tensor_name("a\x1b[2J\u{202e}", 40), "a\\u001b[2J\\u202e");
        assert_eq!((shape(&[]), shape(&[3, 4])), ("scalar".into(), "3×4".into()));
    }
}
