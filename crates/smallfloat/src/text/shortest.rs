//! [`Shortest`]: the shortest decimal that rounds to a code.

use alloc::format;
use alloc::string::{String, ToString};
use core::cmp::Ordering;
use core::fmt;

use crate::format::Format;
use crate::format::datum::Datum;
use crate::natural::Natural;
use crate::text::Decimal;

/// Prints the shortest decimal that rounds to nearest even to a code's value, and the closest of
/// the shortest; of two as close the one whose last digit is even.
///
/// [`Format::shortest`] and the scalars' `shortest` give it. It has an exponent where
/// [`Decimal`](crate::text::Decimal) has one; a precision rounds the exact value.
///
/// ```
/// use smallfloat::{E4M3Fn, formats::BINARY64};
/// assert_eq!(E4M3Fn::MAX.shortest().to_string(), "450"); // 448: its neighbours are 416 and 480
/// assert_eq!(E4M3Fn::from_bits(0x01).shortest().to_string(), "0.002"); // 2^−9
/// let binary8p3se: smallfloat::Format = "binary8p3se".parse()?;
/// assert_eq!(binary8p3se.shortest(0x01).to_string(), "8e-6"); // 2^−17; 1e-5 would round back too
/// assert_eq!(BINARY64.shortest(0.1_f64.to_bits()).to_string(), "0.1");
/// # Ok::<(), smallfloat::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Shortest {
    format: Format,
    code: u64,
}

impl fmt::Display for Shortest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let datum = self.format.decode(self.code);
        if !datum.is_finite() || datum.is_zero() || f.precision().is_some() {
            return fmt::Display::fmt(&Decimal::from(datum), f);
        }
        let index = self.code & (self.format.max_code() >> u32::from(self.format.is_signed()));
        let (digits, point) = shortest_digits(&self.format, index);
        f.pad_integral(!datum.is_negative(), "", &place_point(&digits, point))
    }
}

impl Format {
    /// Returns the value of a code as text, as [`Decimal`](crate::text::Decimal) prints it.
    ///
    /// ```
    /// use smallfloat::formats::{BINARY16, E4M3FN};
    /// assert_eq!(E4M3FN.decode_text(0x7e), "448");
    /// assert_eq!(BINARY16.decode_text(0x2e66), "0.0999755859375");
    /// ```
    pub fn decode_text(&self, code: u64) -> String {
        Decimal::from(self.decode(code)).to_string()
    }

    /// Returns the shortest decimal that rounds to a code, for printing.
    pub const fn shortest(&self, code: u64) -> Shortest {
        Shortest { format: *self, code }
    }
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
        _ if (-4..=0).contains(&point) => {
            format!("0.{}{digits}", "0".repeat(usize::try_from(-point).expect("0 to 4")))
        }
        _ => {
            let (first, rest) = digits.split_at(1);
            let dot = if rest.is_empty() { "" } else { "." };
            format!("{first}{dot}{rest}e{}", point - 1)
        }
    }
}
