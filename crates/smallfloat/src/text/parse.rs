//! Text to numbers: exactly, or rounded to a code of a format.

use alloc::vec::Vec;

use crate::cast::signed;
use crate::format::Format;
use crate::format::datum::Datum;
use crate::format::error::{Error, ErrorKind, Snippet};
use crate::format::formats::BINARY64;
use crate::natural::Natural;
use crate::ops::divide::quotient;
use crate::projection::exact::Exact;
use crate::projection::flags::Rounded;
use crate::projection::{Projection, project};
use crate::scalar::code;
use crate::scalar::code::fast_path::from_parts;
use crate::text::powers::{FIVES, TENS};

/// Beyond these powers of ten every format overflows or underflows: 2^±131072 is 10^±39457.
const DECIMAL_LIMIT: i64 = 50_000;
/// A binary exponent beyond every format.
const BINARY_LIMIT: i64 = 500_000;

/// Parses a number exactly: decimal (`-1.5e-3`), hexadecimal (`0x1.8p-3`), integer times a power of
/// two (`3p-4`, the form that [`Datum`] prints), fraction of two integers (`1/3`), `inf`,
/// `infinity` or `nan`, each with a sign if wanted.
///
/// The result is exact or truncated toward zero to 128 bits and marked, so that [`project`] rounds
/// it once.
///
/// # Errors
/// Text that is none of these.
///
/// ```
/// use smallfloat::{formats::BINARY16, project, text};
/// // One rounding: 1 + 2^−11 + 2^−40 lies above the tie, so it goes up.
/// let x = text::parse("1.00048828125090949470177292823791504")?;
/// assert_eq!(project(x, &BINARY16, &BINARY16.default_projection()).value, 0x3c01);
/// # Ok::<(), smallfloat::Error>(())
/// ```
pub fn parse(text: &str) -> Result<Exact, Error> {
    match Short::read(text) {
        Some(short) => Ok(short.exact()),
        None => parse_any(text),
    }
}

fn parse_any(text: &str) -> Result<Exact, Error> {
    let trimmed = text.trim();
    let (negative, magnitude) = match trimmed.as_bytes().first() {
        Some(b'-') => (true, &trimmed[1..]),
        Some(b'+') => (false, &trimmed[1..]),
        _ => (false, trimmed),
    };
    let any = |names: &[&str]| names.iter().any(|name| magnitude.eq_ignore_ascii_case(name));
    if any(&["nan"]) {
        return Ok(Exact::Nan { negative });
    }
    if any(&["inf", "infinity"]) {
        return Ok(Exact::Infinite { negative });
    }
    if let Some((numerator, denominator)) = magnitude.split_once('/') {
        let error = || Error::new(ErrorKind::Fraction { text: Snippet::new(trimmed) });
        return fraction(negative, numerator.trim_end(), denominator.trim_start()).ok_or_else(error);
    }
    let parsed = if magnitude.get(..2).is_some_and(|head| head.eq_ignore_ascii_case("0x")) {
        hexadecimal(negative, &magnitude[2..])
    } else if magnitude.contains(['p', 'P']) {
        power_of_two(negative, magnitude)
    } else {
        decimal(negative, magnitude)
    };
    parsed.ok_or_else(|| Error::new(ErrorKind::NotANumber { text: Snippet::new(trimmed) }))
}

/// Digits with at most one point: the digits without it, and how many follow it.
fn digits_and_point(text: &str, radix: u32) -> Option<(Vec<u8>, i64)> {
    let mut digits = Vec::with_capacity(text.len());
    let mut after_point = None;
    for c in text.chars() {
        if c == '.' && after_point.is_none() {
            after_point = Some(0);
            continue;
        }
        #[expect(clippy::cast_possible_truncation, reason = "a digit is below 16")]
        digits.push(c.to_digit(radix)? as u8);
        after_point = after_point.map(|n: i64| n + 1);
    }
    (!digits.is_empty()).then_some((digits, after_point.unwrap_or(0)))
}

/// An exponent; one too long for an `i64` is as good as the largest.
fn exponent(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let saturated = if text.starts_with('-') { i64::MIN / 4 } else { i64::MAX / 4 };
    Some(text.parse().map_or(saturated, |e: i64| e.clamp(i64::MIN / 4, i64::MAX / 4)))
}

/// A non-zero magnitude beyond every format's range.
fn beyond(negative: bool, huge: bool) -> Exact {
    Exact::finite(negative, 1, if huge { 1 << 29 } else { -(1 << 29) })
}

/// natural · 2^exponent.
fn scaled(negative: bool, natural: &Natural, exponent: i64) -> Exact {
    if natural.is_zero() {
        return Exact::finite(negative, 0, 0);
    }
    let (significand, cut, sticky) = natural.leading();
    let exponent = exponent.saturating_add_unsigned(cut);
    match i32::try_from(exponent) {
        Ok(exponent) if i64::from(exponent).abs() < BINARY_LIMIT => {
            Exact::Finite { negative, significand, exponent, sticky }
        }
        _ => beyond(negative, exponent > 0),
    }
}

fn decimal(negative: bool, text: &str) -> Option<Exact> {
    let (mantissa, power) = match text.split_once(['e', 'E']) {
        Some((mantissa, power)) => (mantissa, exponent(power)?),
        None => (text, 0),
    };
    let (digits, after_point) = digits_and_point(mantissa, 10)?;
    let leading_zeros = digits.iter().take_while(|&&d| d == 0).count();
    let digits = &digits[leading_zeros..];
    if digits.is_empty() {
        return Some(Exact::finite(negative, 0, 0));
    }
    let power = power.saturating_sub(after_point);
    let magnitude = power.saturating_add(i64::try_from(digits.len()).expect("text in memory"));
    if magnitude.abs() > DECIMAL_LIMIT {
        return Some(beyond(negative, magnitude > 0));
    }
    let mut numerator = natural(digits);
    if power >= 0 {
        numerator.multiply_power_of_ten(power.unsigned_abs());
        return Some(scaled(negative, &numerator, 0));
    }
    let mut denominator = Natural::new(1);
    denominator.multiply_power_of_ten(power.unsigned_abs());
    ratio(negative, numerator, denominator)
}

/// numerator / denominator, neither of them 0.
fn ratio(negative: bool, mut numerator: Natural, mut denominator: Natural) -> Option<Exact> {
    // Enough bits that the quotient has 126 or 127 of them.
    let shift = (denominator.bits() + 126).saturating_sub(numerator.bits());
    let excess = numerator.bits().saturating_sub(denominator.bits() + 126);
    numerator.shift_left(shift);
    denominator.shift_left(excess);
    let (significand, sticky) = numerator.divide(&denominator);
    let exponent = i32::try_from(excess).ok()? - i32::try_from(shift).ok()?;
    Some(Exact::Finite { negative, significand, exponent, sticky })
}

/// An integer in decimal digits.
fn natural(digits: &[u8]) -> Natural {
    let mut natural = Natural::new(0);
    for chunk in digits.chunks(18) {
        let value = chunk.iter().fold(0, |n, &d| n * 10 + u64::from(d));
        natural.multiply_add(10_u64.pow(u32::try_from(chunk.len()).expect("at most 18")), value);
    }
    natural
}

/// Digits of a fraction's numerator or denominator: the work grows with their square.
const FRACTION_DIGITS: usize = 10_000;

fn fraction(negative: bool, numerator: &str, denominator: &str) -> Option<Exact> {
    let integer = |text: &str| {
        let (digits, _) = digits_and_point(text, 10).filter(|_| !text.contains('.'))?;
        (digits.len() <= FRACTION_DIGITS).then(|| natural(&digits))
    };
    let (numerator, denominator) = (integer(numerator)?, integer(denominator)?);
    if denominator.is_zero() {
        return None;
    }
    if numerator.is_zero() {
        return Some(Exact::finite(negative, 0, 0));
    }
    ratio(negative, numerator, denominator)
}

fn hexadecimal(negative: bool, text: &str) -> Option<Exact> {
    let (mantissa, power) = match text.split_once(['p', 'P']) {
        Some((mantissa, power)) => (mantissa, exponent(power)?),
        None => (text, 0),
    };
    let (digits, after_point) = digits_and_point(mantissa, 16)?;
    let mut natural = Natural::new(0);
    for chunk in digits.chunks(15) {
        let value = chunk.iter().fold(0, |n, &d| n << 4 | u64::from(d));
        natural.multiply_add(1 << (4 * chunk.len()), value);
    }
    Some(scaled(negative, &natural, power.saturating_sub(4 * after_point)))
}

fn power_of_two(negative: bool, text: &str) -> Option<Exact> {
    let (mantissa, power) = text.split_once(['p', 'P'])?;
    let (digits, 0) = digits_and_point(mantissa, 10)? else { return None };
    let mut natural = Natural::new(0);
    for digit in digits {
        natural.multiply_add(10, u64::from(digit));
    }
    Some(scaled(negative, &natural, exponent(power)?))
}

impl Format {
    /// Rounds a number given as text to a code of this format; see [`parse`] for the notations.
    ///
    /// # Errors
    /// Text that is not a number.
    ///
    /// ```
    /// use smallfloat::formats::E4M3FN;
    /// let how = E4M3FN.default_projection();
    /// assert_eq!(E4M3FN.encode_text("1.8131605", &how)?.value, 0x3f); // 1.875
    /// # Ok::<(), smallfloat::Error>(())
    /// ```
    pub fn encode_text(&self, text: &str, projection: &Projection) -> Result<Rounded<u64>, Error> {
        if let Some(short) = Short::read(text) {
            return Ok(project(short.exact(), self, projection));
        }
        if let Some(near) = Near::read(text) {
            if !projection.rounding.is_stochastic() && !near.may_be_boundary(self) {
                return Ok(self.encode_f64(near.x, projection));
            }
        }
        Ok(project(parse_any(text)?, self, projection))
    }
}

/// Rounds a number given as text by the format's default projection, without flags.
#[inline]
pub(crate) fn nearest(text: &str, format: &Format) -> Result<u64, Error> {
    match Short::read(text).and_then(|short| short.nearest(format)) {
        Some(code) => Ok(code),
        None => nearest_of_any(text, format),
    }
}

#[cold]
fn nearest_of_any(text: &str, format: &Format) -> Result<u64, Error> {
    if let Some(short) = Short::read(text) {
        return Ok(code::round(format, short.exact()));
    }
    if let Some(near) = Near::read(text) {
        // To nearest only midpoints are boundaries, and no value of a format is one.
        if !near.may_be_boundary(format) || format.encode(near.datum).is_some() {
            return Ok(code::from_ieee(near.x.to_bits(), &BINARY64, format));
        }
    }
    Ok(code::round(format, parse_any(text)?))
}

/// A decimal of few digits: (−1)^negative · digits · 10^power, |power| ≤ 27.
#[derive(Clone, Copy)]
struct Short {
    negative: bool,
    digits: u64,
    power: i32,
}

impl Short {
    /// Nothing for other notations and for more digits than 64 bits surely hold.
    #[inline]
    fn read(text: &str) -> Option<Self> {
        const MOST: usize = 19;
        let (negative, text) = without_sign(text.as_bytes());
        let (digits, rest) = few_digits(0, text);
        let whole = text.len() - rest.len();
        let (digits, rest, places) = match rest {
            [b'.', fraction @ ..] => {
                let (digits, rest) = self::digits(digits, fraction, text);
                (digits, rest, fraction.len() - rest.len())
            }
            _ => (digits, rest, 0),
        };
        if !(1..=MOST).contains(&(whole + places)) {
            return None;
        }
        let power = match rest {
            [] => 0,
            [b'e' | b'E', power @ ..] => short_power(power)?,
            _ => return None,
        };
        let power = power - i32::try_from(places).ok()?;
        let is_short = (power.unsigned_abs() as usize) < FIVES.len();
        is_short.then_some(Self { negative, digits, power })
    }

    /// 5^|power|.
    const fn five(self) -> u64 {
        FIVES[self.power.unsigned_abs() as usize]
    }

    fn exact(self) -> Exact {
        let Self { negative, digits, power } = self;
        if power >= 0 || digits == 0 {
            // Below 2^64 · 2^63.
            return Exact::finite(negative, u128::from(digits) * u128::from(self.five()), power.max(0));
        }
        quotient(negative, (digits, power), (self.five(), 0))
    }

    /// The nearest code; nothing where a policy decides.
    ///
    /// Integers only: the quotient by 5^−power has more bits than a midpoint of the format, and its
    /// remainder says whether anything follows.
    #[inline]
    fn nearest(self, format: &Format) -> Option<u64> {
        let Self { negative, digits, power } = self;
        if digits == 0 {
            return None;
        }
        let (zeros, five) = (digits.leading_zeros(), self.five());
        let top = digits << zeros;
        let exponent = power - signed(zeros);
        if power >= 0 {
            let product = u128::from(top) * u128::from(five);
            return from_wide(negative, product, exponent, false, format);
        }
        // As many bits as 64 − those of the divisor, at least.
        if five.leading_zeros() >= format.precision() + 2 {
            return from_parts(negative, top / five, exponent, top % five != 0, format);
        }
        let (top, five) = (u128::from(top) << 64, u128::from(five));
        from_wide(negative, top / five, exponent - 64, top % five != 0, format)
    }
}

/// Rounds (significand + δ) · 2^exponent, for a significand of at least 64 bits.
#[inline]
fn from_wide(negative: bool, significand: u128, exponent: i32, sticky: bool, to: &Format) -> Option<u64> {
    let cut = 64 - significand.leading_zeros();
    let rest = significand & ((1 << cut) - 1);
    #[expect(clippy::cast_possible_truncation, reason = "64 bits are left")]
    let kept = (significand >> cut) as u64;
    from_parts(negative, kept, exponent + signed(cut), sticky || rest != 0, to)
}

/// The digits at the beginning of `text`, the end of `whole`, behind others, as an integer that
/// wraps around, and what follows them. Nothing predicts how many digits there are, so there is no
/// loop over the last seven.
#[inline]
fn digits<'a>(mut digits: u64, mut text: &'a [u8], whole: &[u8]) -> (u64, &'a [u8]) {
    while let Some((eight, rest)) = text.split_first_chunk() {
        let Some(value) = eight_digits(u64::from_le_bytes(*eight)) else { break };
        (digits, text) = (digits.wrapping_mul(TENS[8]).wrapping_add(value), rest);
    }
    if let (length @ 1..8, Some(last)) = (text.len(), whole.last_chunk()) {
        // Zeros in place of what was read already.
        let unread = u64::MAX << (64 - 8 * length);
        let bytes = (u64::from_le_bytes(*last) & unread) | (ZEROS & !unread);
        if let Some(value) = eight_digits(bytes) {
            return (digits.wrapping_mul(TENS[length]).wrapping_add(value), &[]);
        }
    }
    few_digits(digits, text)
}

/// Returns the number with the digits at the beginning of the text appended one by one, and the
/// rest of the text.
#[inline]
const fn few_digits(mut digits: u64, mut text: &[u8]) -> (u64, &[u8]) {
    while let [digit @ b'0'..=b'9', rest @ ..] = text {
        (digits, text) = (digits.wrapping_mul(10).wrapping_add((*digit - b'0') as u64), rest);
    }
    (digits, text)
}

/// Eight times the digit 0.
const ZEROS: u64 = u64::from_le_bytes(*b"00000000");

/// The value of eight bytes if all are digits, the first in the lowest byte: pairs, fours and eight
/// are put together in halves of a word.
const fn eight_digits(bytes: u64) -> Option<u64> {
    let digits = bytes.wrapping_sub(ZEROS);
    // A byte below `0` borrows, one above `9` carries into its highest bit.
    if (digits | bytes.wrapping_add(0x4646_4646_4646_4646)) & 0x8080_8080_8080_8080 != 0 {
        return None;
    }
    let pairs = (10 * digits + (digits >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (100 * pairs + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    Some((10_000 * fours + (fours >> 32)) & 0xffff_ffff)
}

/// Whether there is a minus sign, and what follows the sign. Nothing predicts signs, so there is no
/// branch on one.
#[inline]
fn without_sign(text: &[u8]) -> (bool, &[u8]) {
    let first = text.first().copied().unwrap_or(0);
    let negative = first == b'-';
    (negative, &text[usize::from(matches!(first, b'-' | b'+'))..])
}

/// An exponent of at most four digits.
fn short_power(text: &[u8]) -> Option<i32> {
    let (negative, digits) = without_sign(text);
    if digits.is_empty() || digits.len() > 4 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let power = digits.iter().fold(0, |power, digit| 10 * power + i32::from(digit - b'0'));
    Some(if negative { -power } else { power })
}

/// The binary64 nearest to a decimal, which in most cases rounds as the decimal does.
///
/// Wherever the rounding of a format changes (at its values, at the midpoints between them and in
/// the middle of Tesla's hole, past the largest value too) is a number of at most P + 1 significant
/// bits: a boundary. Those in binary64's range are binary64s, P + 1 ≤ 53. Rounding to nearest is
/// monotonic and keeps a binary64 as it is; so a decimal below a boundary gives `x` at or below it,
/// a decimal above gives `x` at or above it, and a decimal on it gives `x` on it. If `x` is no
/// boundary, decimal and `x` lie between the same two, on the same side of each: they round alike
/// in every mode without random bits, with the same flags. If `x` may be one, the decimal is
/// compared exactly. `x` is normal, so that boundaries beyond binary64's range are far from both.
struct Near {
    x: f64,
    datum: Datum,
}

impl Near {
    fn read(text: &str) -> Option<Self> {
        let x = text.trim().parse::<f64>().ok()?;
        x.is_normal().then(|| Self { x, datum: BINARY64.decode(x.to_bits()) })
    }

    fn may_be_boundary(&self, format: &Format) -> bool {
        match self.datum {
            Datum::Finite { significand: significand @ 1.., .. } => significand.ilog2() <= format.precision(),
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use super::*;

    /// Digits are read in eights, in fours and one by one: every length before and after the point,
    /// with a sign or without, is the same number.
    #[test]
    fn digits_of_every_length() {
        const DIGITS: &str = "9182736450192837465";
        for whole in 0..=DIGITS.len() {
            for places in 0..=DIGITS.len() - whole {
                let (before, after) = DIGITS[..whole + places].split_at(whole);
                let digits: Option<u64> = DIGITS[..whole + places].parse().ok();
                for (sign, negative) in [("", false), ("-", true), ("+", false)] {
                    let text = format!("{sign}{before}.{after}");
                    let short = Short::read(&text).map(|short| (short.negative, short.digits, -short.power));
                    let expected = digits.map(|digits| (negative, digits, i32::try_from(places).unwrap()));
                    assert_eq!(short, expected, "{text}");
                    assert!(Short::read(&format!("{text}x")).is_none(), "{text}x");
                    assert!(
                        Short::read(&format!("{sign}{before}.:{after}")).is_none(),
                        "{text} with a colon"
                    );
                }
            }
        }
    }
}
