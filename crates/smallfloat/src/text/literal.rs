//! [`Literal`]: an operand as people type it, a value or a code.

use alloc::string::String;

use crate::format::Format;
use crate::format::error::{Error, ErrorKind, Snippet};
use crate::projection::exact::Exact;
use crate::text;

/// An operand in text: a value, or a code of a format that stands beside it. The command and the
/// explorer read all operands so.
///
/// ```
/// use smallfloat::text::Literal;
/// use smallfloat::{formats::E4M3FN, project};
/// assert_eq!(Literal::parse("#39")?, Literal::Code(0x39));
/// assert_eq!(Literal::parse("code:0b0_0111_001")?, Literal::Code(0x39));
/// let value = Literal::parse("3/2")?.exact(&E4M3FN)?;
/// assert_eq!(project(value, &E4M3FN, &E4M3FN.default_projection()).value, 0x3c);
/// let error = Literal::parse("0x40").unwrap_err().to_string();
/// assert!(error.contains("`0x40p0`") && error.contains("`code:0x40`"));
/// # Ok::<(), smallfloat::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Literal {
    /// A code.
    Code(u64),
    /// A number.
    Value(Exact),
}

impl Literal {
    /// Reads `#39`, `code:0x39` and `code:0b0_0111_001` as codes and every number that
    /// [`text::parse`] knows as a value, but for hexadecimal integers: `0x40` alone does not say
    /// which it is.
    ///
    /// # Errors
    /// Text that is neither, or may be both; the message has the right spellings.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let text = text.trim();
        if let Some(code) = marked_code(text) {
            return code.map(Self::Code);
        }
        if let Some(value) = text.strip_prefix('=') {
            return Err(Error::new(ErrorKind::ValueWithEquals { text: Snippet::new(value) }));
        }
        if let Some(number) = prefixed(text) {
            return Err(Error::new(ErrorKind::ValueOrCode { text: Snippet::new(text), number }));
        }
        let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
        if let Some(number) =
            unsigned.get(..2).filter(|h| h.eq_ignore_ascii_case("0x")).and(prefixed(unsigned))
        {
            return Err(Error::new(ErrorKind::ValueOrCode { text: Snippet::new(unsigned), number }));
        }
        text::parse(text).map(Self::Value)
    }

    /// Reads a code where every operand is one: the spellings of [`parse`](Self::parse), and
    /// hexadecimal digits with or without `0x`.
    ///
    /// # Errors
    /// Text that is not a code.
    pub fn parse_code(text: &str) -> Result<Self, Error> {
        let text = text.trim();
        let digits = strip(text, "0x").unwrap_or(text);
        let code = match (marked_code(text), strip(text, "0b").and_then(|bits| digits_of(bits, 2))) {
            (Some(code), _) => code,
            // `0b1` is hexadecimal without a prefix; with separators it is bits.
            (None, Some(code)) if text.contains('_') => Ok(code),
            _ => digits_of(digits, 16).ok_or_else(|| not_a_code(text)),
        };
        code.map(Self::Code)
    }

    /// Returns the exact value, of a code what it means in this format.
    ///
    /// # Errors
    /// A code that the format does not have.
    pub fn exact(self, format: &Format) -> Result<Exact, Error> {
        Ok(match self {
            Self::Code(code) => format.decode(format.check_code(code)?).into(),
            Self::Value(exact) => exact,
        })
    }

    /// Returns whether a line of input that starts with `#` is a code and no comment: `#` and
    /// hexadecimal digits.
    pub fn starts_with_code(line: &str) -> bool {
        line.split_ascii_whitespace().next().and_then(marked_code).is_some_and(|code| code.is_ok())
    }
}

fn not_a_code(text: &str) -> Error {
    Error::new(ErrorKind::NotACode { text: Snippet::new(text) })
}

/// A text that says that it is a code.
fn marked_code(text: &str) -> Option<Result<u64, Error>> {
    let code = match (text.strip_prefix('#'), strip(text, "code:")) {
        (Some(digits), _) => digits_of(strip(digits, "0x").unwrap_or(digits), 16),
        (None, Some(code)) => prefixed(code),
        (None, None) => return None,
    };
    Some(code.ok_or_else(|| not_a_code(text)))
}

/// `0x39` and `0b0_0111_001`.
fn prefixed(text: &str) -> Option<u64> {
    match (strip(text, "0x"), strip(text, "0b")) {
        (Some(hex), _) => digits_of(hex, 16),
        (_, Some(bits)) => digits_of(bits, 2),
        _ => None,
    }
}

/// Digits, with `_` between them where wanted.
fn digits_of(text: &str, radix: u32) -> Option<u64> {
    let digits: String = text.chars().filter(|c| *c != '_').collect();
    if digits.starts_with('+') { None } else { u64::from_str_radix(&digits, radix).ok() }
}

fn strip<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let head = text.get(..prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then(|| &text[prefix.len()..])
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn codes_say_that_they_are_codes() {
        for text in ["#39", " #39 ", "#0x39", "code:0x39", "CODE:0X39", "code:0b0_0111_001", "code:0b111001"]
        {
            assert_eq!(Literal::parse(text), Ok(Literal::Code(0x39)), "{text}");
            assert_eq!(Literal::parse_code(text), Ok(Literal::Code(0x39)), "{text}");
        }
        for text in ["39", "0x39", "0b0_0111_001"] {
            assert_eq!(Literal::parse_code(text), Ok(Literal::Code(0x39)), "{text}");
        }
        assert_eq!(Literal::parse_code("0b1"), Ok(Literal::Code(0xb1)));
        for text in ["#", "#4g", "#+4", "code:39", "code:", "code:0x", "code:0b2", "#1ffffffffffffffff"] {
            let error = Literal::parse(text).unwrap_err().to_string();
            assert!(error.contains("`#39` or `code:0x39`"), "{text}: {error}");
        }
    }

    #[test]
    fn bare_hexadecimal_has_two_readings() {
        for text in ["0x40", "0X40", "0b100_0000"] {
            let error = Literal::parse(text).unwrap_err().to_string();
            for part in ["`64`", "`'#40'`"] {
                assert!(error.contains(part), "{text}: {error}");
            }
        }
        assert!(Literal::parse("-0x40").is_err());
        assert!(Literal::parse("=1.1").unwrap_err().to_string().contains("write `1.1`"));
    }

    #[test]
    fn values_are_what_text_reads() {
        for text in ["40", "-0.3", "1e9", "0x1.8p3", "0x40p0", "-0x1.", "1/3", "+inf", "NaN", "3p-4"] {
            let value = text::parse(text).expect("a number");
            assert_eq!(Literal::parse(text), Ok(Literal::Value(value)), "{text}");
        }
        for text in ["", "one", "1_000", "--1", "1/0", "1/", "1/0.5", "1/-3", "0x", "0xg"] {
            assert!(Literal::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn fractions_are_rounded_once() {
        let how = crate::formats::BINARY64.default_projection();
        for (a, b) in [(1_i32, 3_i32), (-2, 7), (22, 7), (1, 10), (6, 3), (0, 5), (1, 1_000_000_007)] {
            let text = alloc::format!("{a}/{b}");
            let code = crate::formats::BINARY64.encode_text(&text, &how).expect("a number").value;
            assert_eq!(code, (f64::from(a) / f64::from(b)).to_bits(), "{text}");
        }
        let long = alloc::format!("1/{}", "9".repeat(10_001));
        assert!(text::parse(&long).is_err());
    }
}
