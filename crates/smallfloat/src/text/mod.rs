//! Decimal and hexadecimal text: parsing gives the exact value, printing the shortest decimal that
//! rounds back.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::cmp::Ordering;

use crate::format::Format;
use crate::format::datum::Datum;
use crate::format::error::{Error, ErrorKind, Snippet};
use crate::natural::Natural;
use crate::ops::divide::quotient;
use crate::projection::exact::Exact;
use crate::projection::flags::Rounded;
use crate::projection::{Projection, project};

mod literal;

pub use literal::Literal;

/// Beyond these powers of ten every format overflows or underflows: 2^±131072 is 10^±39457.
const DECIMAL_LIMIT: i64 = 50_000;
/// A binary exponent beyond every format.
const BINARY_LIMIT: i64 = 500_000;

/// Parses a number exactly: decimal (`-1.5e-3`), hexadecimal (`0x1.8p-3`), integer times a power of
/// two (`3p-4`, the form that [`Datum`] prints), fraction of two integers (`1/3`), `inf`, `infinity`
/// or `nan`, each with a sign if wanted.
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
    if let Some(exact) = short_decimal(negative, digits, power) {
        return Some(exact);
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

/// The same in 128 bits, for at most 19 digits and a power of ten as short.
fn short_decimal(negative: bool, digits: &[u8], power: i64) -> Option<Exact> {
    const DIGITS: usize = 19;
    if digits.len() > DIGITS || power.unsigned_abs() > DIGITS as u64 {
        return None;
    }
    let integer = digits.iter().fold(0, |n, &d| 10 * n + u64::from(d));
    let scale = 10_u64.pow(u32::try_from(power.unsigned_abs()).expect("at most 19"));
    Some(if power >= 0 {
        Exact::finite(negative, u128::from(integer) * u128::from(scale), 0)
    } else {
        quotient(negative, (integer, 0), (scale, 0))
    })
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
        Ok(project(parse(text)?, self, projection))
    }

    /// The shortest decimal that rounds to nearest even to this code's value, and the closest of
    /// the shortest; of two as close the one whose last digit is even.
    ///
    /// ```
    /// use smallfloat::formats::{E4M3FN, BINARY64};
    /// assert_eq!(E4M3FN.decode_text(0x7e), "450"); // 448: its neighbours are 416 and 480
    /// assert_eq!(E4M3FN.decode_text(0x01), "0.002"); // 2^−9
    /// let binary8p3se: smallfloat::Format = "binary8p3se".parse()?;
    /// assert_eq!(binary8p3se.decode_text(0x01), "0.000008"); // 2^−17; 0.00001 would round back too
    /// assert_eq!(BINARY64.decode_text(0.1_f64.to_bits()), "0.1");
    /// # Ok::<(), smallfloat::Error>(())
    /// ```
    pub fn decode_text(&self, code: u64) -> String {
        let datum = self.decode(code);
        let sign = if datum.is_negative() && !datum.is_nan() { "-" } else { "" };
        match datum {
            Datum::Nan { .. } => "NaN".to_string(),
            Datum::Infinite { .. } => format!("{sign}Inf"),
            Datum::Finite { significand: 0, .. } => format!("{sign}0"),
            Datum::Finite { .. } => {
                let (digits, point) = shortest(self, code);
                format!("{sign}{}", place_point(&digits, point))
            }
        }
    }
}

/// The digits and the point of a code's shortest decimal, without its sign; not for zero.
pub(crate) fn shortest(format: &Format, code: u64) -> (String, i64) {
    shortest_digits(format, code & (format.max_code() >> u32::from(format.is_signed())))
}

/// The digits d₁d₂… of the shortest decimal 0.d₁d₂… · 10^point inside the rounding interval of an
/// index, by the free-format algorithm of Steele and White (1990) on exact integers.
fn shortest_digits(format: &Format, index: u64) -> (String, i64) {
    // Value and neighbours as multiples of one power of two.
    let value = format.magnitude(index);
    let below = match index {
        // Nothing lies below the smallest value of a format without zero: let half of it bound.
        0 => (0, value.1),
        _ => format.magnitude(index - 1),
    };
    let above = format.magnitude(index + 1);
    let unit = value.1.min(below.1).min(above.1);
    let multiple = |(significand, exponent): (u64, i32)| {
        let mut n = Natural::new(significand);
        n.shift_left(u64::from((exponent - unit).unsigned_abs()));
        n
    };
    let half_gap = |upper: &Natural, lower: &Natural| {
        let mut gap = upper.clone();
        gap.subtract(lower);
        gap
    };
    // value, half gap below and half gap above, all over `scale`; everything is doubled, the gaps
    // are not.
    let (low, mut rest, high) = (multiple(below), multiple(value), multiple(above));
    let (mut down, mut up) = (half_gap(&rest, &low), half_gap(&high, &rest));
    rest.multiply_add(2, 0);
    let mut scale = Natural::new(2);
    if unit < 0 {
        scale.shift_left(u64::from(unit.unsigned_abs()));
    } else {
        for n in [&mut rest, &mut down, &mut up] {
            n.shift_left(u64::from(unit.unsigned_abs()));
        }
    }
    let inclusive = index % 2 == 0;

    // Scale by a power of ten so that 0.1 ≤ (value + half gap) / scale < 1; the estimate is off by
    // at most one.
    let leading = i64::from(Datum::finite(false, value.0, value.1).exponent_of_leading_bit());
    let mut point = (leading * 30_103).div_euclid(100_000);
    if point >= 0 {
        scale.multiply_power_of_ten(point.unsigned_abs());
    } else {
        for n in [&mut rest, &mut down, &mut up] {
            n.multiply_power_of_ten(point.unsigned_abs());
        }
    }
    let reaches = |rest: &Natural, up: &Natural, scale: &Natural| {
        let mut sum = rest.clone();
        sum.add(up);
        if inclusive { sum >= *scale } else { sum > *scale }
    };
    while reaches(&rest, &up, &scale) {
        scale.multiply_add(10, 0);
        point += 1;
    }

    let mut digits = String::new();
    // A leading 0 that may round up to 1 is one digit long; so may be a closer number one place
    // further on.
    let mut rounded_up_zero = None;
    loop {
        for n in [&mut rest, &mut down, &mut up] {
            n.multiply_add(10, 0);
        }
        let mut digit = 0;
        while rest >= scale {
            rest.subtract(&scale);
            digit += 1;
        }
        let may_stop = if inclusive { rest <= down } else { rest < down };
        let may_round_up = reaches(&rest, &up, &scale);
        if digits.is_empty() && digit == 0 {
            rounded_up_zero = may_round_up.then(|| ("1".to_string(), point));
            point -= 1;
            continue;
        }
        if may_stop || may_round_up {
            let mut doubled = rest.clone();
            doubled.add(&rest);
            // Of two as close the one with the even digit.
            let closer =
                doubled.cmp(&scale).then(if digit % 2 == 1 { Ordering::Greater } else { Ordering::Less });
            let round_up = may_round_up && (!may_stop || closer == Ordering::Greater);
            if digit == 9 && round_up {
                // Only a first digit gets here: later ones would have stopped a place earlier.
                return ("1".to_string(), point + 1);
            }
            digits.push(char::from(b'0' + digit + u8::from(round_up)));
            return (digits, point);
        }
        if let Some(rounded_up_zero) = rounded_up_zero {
            return rounded_up_zero;
        }
        digits.push(char::from(b'0' + digit));
    }
}

/// Writes 0.digits · 10^point plainly where that is short, else with an exponent.
fn place_point(digits: &str, point: i64) -> String {
    match usize::try_from(point) {
        Ok(point @ 1..=17) => {
            let (whole, fraction) = digits.split_at(point.min(digits.len()));
            let zeros = "0".repeat(point - whole.len());
            let dot = if fraction.is_empty() { "" } else { "." };
            format!("{whole}{zeros}{dot}{fraction}")
        }
        _ if (-5..=0).contains(&point) => {
            format!("0.{}{digits}", "0".repeat(usize::try_from(-point).expect("0 to 5")))
        }
        _ => {
            let (first, rest) = digits.split_at(1);
            let dot = if rest.is_empty() { "" } else { "." };
            format!("{first}{dot}{rest}e{}", point - 1)
        }
    }
}
