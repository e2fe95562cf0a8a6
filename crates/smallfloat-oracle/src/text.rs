//! Decimal and hexadecimal text as exact numbers, without the float parser of the standard library.

use num_bigint::{BigInt, BigUint};

use crate::{Dyadic, Exact, Rational, Real};

/// Reads a number exactly: `[+-]` followed by `inf`, `infinity` or `nan` in any case, by decimal
/// digits with an optional point and an optional `e` exponent, or by `0x` with hexadecimal digits,
/// an optional point and an optional `p` exponent (a power of two, in decimal). `None` for anything
/// else.
///
/// Exponents beyond ±1 000 000 are refused: exact arithmetic would take them literally.
pub fn parse(text: &str) -> Option<Exact> {
    let (negative, body) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let body = body.to_ascii_lowercase();
    match body.as_str() {
        "inf" | "infinity" => return Some(Exact::Inf { negative }),
        "nan" => return Some(Exact::Nan { negative }),
        _ => {}
    }
    let magnitude = match body.strip_prefix("0x") {
        Some(hex) => hexadecimal(hex)?,
        None => decimal(&body)?,
    };
    Some(Exact::Finite { negative, magnitude: Real::Rational(magnitude) })
}

fn hexadecimal(text: &str) -> Option<Rational> {
    let (digits, exponent) = split_exponent(text, 'p')?;
    let (integer, places) = digits_of(digits, 16)?;
    Some(Rational::from(&Dyadic::new(BigInt::from(integer), exponent - 4 * places)))
}

fn decimal(text: &str) -> Option<Rational> {
    let (digits, exponent) = split_exponent(text, 'e')?;
    let (integer, places) = digits_of(digits, 10)?;
    // 10^t = 5^t · 2^t, and the power of five is the odd denominator when t is negative.
    let ten = exponent - places;
    let five = BigInt::from(BigUint::from(5u8).pow(u32::try_from(ten.unsigned_abs()).ok()?));
    let integer = BigInt::from(integer);
    Some(if ten >= 0 {
        Rational::from(&Dyadic::new(integer * five, ten))
    } else {
        Rational::new(&Dyadic::new(integer, ten), &Dyadic::new(five, 0))
    })
}

fn split_exponent(text: &str, mark: char) -> Option<(&str, i64)> {
    let Some((digits, exponent)) = text.split_once(mark) else { return Some((text, 0)) };
    // The integer parser would take "+-5" no more than we do, and it knows both signs.
    let exponent: i64 = exponent.parse().ok()?;
    (exponent.abs() <= 1_000_000).then_some((digits, exponent))
}

// The digits as one integer, and how many of them stood behind the point.
fn digits_of(text: &str, radix: u32) -> Option<(BigUint, i64)> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    // Some digits at a time, since each step takes as long as the number has become.
    let mut integer = BigUint::ZERO;
    let (mut part, mut scale) = (0_u64, 1_u64);
    for digit in whole.chars().chain(fraction.chars()) {
        part = part * u64::from(radix) + u64::from(digit.to_digit(radix)?);
        scale *= u64::from(radix);
        if scale >> 56 != 0 {
            integer = integer * scale + part;
            (part, scale) = (0, 1);
        }
    }
    Some((integer * scale + part, i64::try_from(fraction.len()).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Rational {
        match parse(text) {
            Some(Exact::Finite { negative, magnitude: Real::Rational(x) }) => {
                if negative {
                    -&x
                } else {
                    x
                }
            }
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn numbers() {
        assert_eq!(number("13"), Rational::ratio(13, 1));
        assert_eq!(number("-0.1"), Rational::ratio(-1, 10));
        assert_eq!(number(".125e1"), Rational::ratio(5, 4));
        assert_eq!(number("12.e-1"), Rational::ratio(6, 5));
        assert_eq!(number("1E3"), Rational::ratio(1000, 1));
        assert_eq!(number("0x1.8p-1"), Rational::ratio(3, 4));
        assert_eq!(number("-0XFFp+4"), Rational::ratio(-4080, 1));
        assert_eq!(number("0x.8"), Rational::ratio(1, 2));
        // The decimal digits of an f32 that lie exactly on it.
        assert_eq!(number("0.100000001490116119384765625"), Rational::from(&Dyadic::from_f32(0.1).unwrap()));
    }

    #[test]
    fn specials_and_refusals() {
        assert!(matches!(parse("-inf"), Some(Exact::Inf { negative: true })));
        assert!(matches!(parse("NaN"), Some(Exact::Nan { negative: false })));
        assert!(matches!(parse("-0.0"), Some(x) if x.is_zero() && x.is_negative()));
        for text in
            ["", "-", ".", "e1", "1e", "1e+-1", "1.2.3", "0x", "0xp1", "12a", " 1", "1 ", "--1", "1e9999999"]
        {
            assert!(parse(text).is_none(), "{text:?}");
        }
    }
}
