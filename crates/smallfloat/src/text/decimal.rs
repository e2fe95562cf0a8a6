//! [`Decimal`]: a value as it prints.

use core::fmt;
use core::fmt::Write as _;

use crate::cast::signed;
use crate::format::datum::Datum;
use crate::format::formats::BINARY64;
use crate::text::powers::{FIVES, TENS};

/// A value as it prints: the shortest decimal that reads back as the same `f64`.
///
/// That is how Rust prints an `f64`, and every value of at most 53 significant bits within `f64`'s
/// range is one. The decimal has an exponent where the magnitude is below 10^−5 or not below 10^17
/// (`1e17`, `9.5367431640625e-7`), and none elsewhere. A value that `f64` does not have prints as
/// [`Datum`] does, an odd integer times a power of two: `3p-16385`. What is not finite is `NaN`,
/// `Inf` or `-Inf`. [`text::parse`](crate::text::parse) reads all of it.
///
/// Width, fill, alignment, `+` and `0` act as for `f64`, and so does a precision, to which the
/// exact value is rounded once, to nearest even; `{:e}` has an exponent everywhere, `{:?}` has `.0`
/// behind an integer. Only `3p-16385` has neither precision nor exponent.
///
/// ```
/// use smallfloat::text::Decimal;
/// use smallfloat::{Datum, formats::E4M3FN};
/// let max = Decimal::from(E4M3FN.decode(0x7e));
/// assert_eq!(format!("{max} {max:?} {max:>5.1} {max:e}"), "448 448.0 448.0 4.48e2");
/// assert_eq!(Decimal::from(Datum::finite(true, 3, -16385)).to_string(), "-3p-16385");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Decimal(Datum);

impl From<Datum> for Decimal {
    fn from(datum: Datum) -> Self {
        Self(datum)
    }
}

impl From<f64> for Decimal {
    fn from(x: f64) -> Self {
        Self(BINARY64.decode(x.to_bits()))
    }
}

/// Where a value has an exponent, and whether an integer has a fraction.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// An exponent where the value is small or large.
    Display,
    /// An exponent where the value is small or large, and `.0` behind an integer.
    Debug,
    /// An exponent behind `e` everywhere.
    LowerExp,
    /// An exponent behind `E` everywhere.
    UpperExp,
}

macro_rules! implement {
    ($($style:ident)*) => {$(
        impl fmt::$style for Decimal {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self.0 {
                    Datum::Infinite { negative } => f.pad_integral(!negative, "", "Inf"),
                    datum => print(datum, Style::$style, f),
                }
            }
        }
    )*};
}

implement!(Display Debug LowerExp UpperExp);

/// Prints a value; NaN and infinities as `f64`'s.
pub(crate) fn print(datum: Datum, style: Style, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let has_exponent = matches!(style, Style::LowerExp | Style::UpperExp);
    if let (Some(short), false) = (Short::of(datum), has_exponent || f.precision().is_some()) {
        return short.print(style, f);
    }
    let Some(x) = datum.to_f64() else {
        let mut text = Text::new();
        write!(text, "{datum}")?;
        return text.print(datum.is_negative(), f);
    };
    let magnitude = x.to_bits() & (u64::MAX >> 1);
    // Patterns sort as magnitudes do.
    let is_plain = magnitude == 0 || (SMALLEST_PLAIN.to_bits()..LARGEST_PLAIN.to_bits()).contains(&magnitude);
    match style {
        Style::UpperExp => fmt::UpperExp::fmt(&x, f),
        Style::LowerExp => fmt::LowerExp::fmt(&x, f),
        _ if f.precision().is_some() || !datum.is_finite() => fmt::Display::fmt(&x, f),
        _ if !is_plain => fmt::LowerExp::fmt(&x, f),
        Style::Display => fmt::Display::fmt(&x, f),
        Style::Debug => {
            let mut text = Text::new();
            write!(text, "{x}")?;
            if !text.as_str().contains('.') {
                text.write_str(".0")?;
            }
            text.print(datum.is_negative(), f)
        }
    }
}

/// From here on magnitudes print without an exponent.
const SMALLEST_PLAIN: f64 = 1e-5;
/// Up to here, exclusively, magnitudes print without an exponent.
const LARGEST_PLAIN: f64 = 1e17;
/// The places of `SMALLEST_PLAIN`.
const PLAIN_PLACES: u32 = 5;

/// All digits of a value, if they are at most 15: digits · 10^−places.
///
/// Different decimals of at most 15 digits are different `f64`s, and every value here is within
/// `f64`'s normal range, so no shorter decimal reads back as the same one.
struct Short {
    negative: bool,
    digits: u64,
    places: u32,
}

impl Short {
    const DIGITS: usize = 15;

    fn of(datum: Datum) -> Option<Self> {
        let Datum::Finite { negative, significand, exponent } = datum else { return None };
        let places = exponent.min(0).unsigned_abs();
        let digits = if exponent < 0 {
            // m · 2^−n = m · 5^n · 10^−n, where m is odd: the last digit is not 0.
            significand.checked_mul(*FIVES.get(places as usize)?)?
        } else if exponent < signed(significand.leading_zeros()) {
            significand << exponent
        } else {
            return None;
        };
        (digits < TENS[Self::DIGITS]).then_some(Self { negative, digits, places })
    }

    fn print(&self, style: Style, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_plain = match self.places.checked_sub(PLAIN_PLACES) {
            None => true,
            Some(zeros) => {
                self.digits == 0 || TENS.get(zeros as usize).is_some_and(|&least| self.digits >= least)
            }
        };
        // From the last character to the first.
        let mut text = Text::new();
        let mut digits = self.digits;
        let places = if is_plain {
            self.places
        } else {
            let places = digits.ilog10();
            let power = self.places - places;
            text.prepend_integer(power.into());
            text.prepend(b'-');
            text.prepend(b'e');
            places
        };
        if places == 0 && is_plain && style == Style::Debug {
            text.prepend(b'0');
            text.prepend(b'.');
        }
        if places > 0 {
            for _ in 0..places {
                text.prepend(digit(digits));
                digits /= 10;
            }
            text.prepend(b'.');
        }
        text.prepend_integer(digits);
        text.print(self.negative, f)
    }
}

/// The last digit.
const fn digit(digits: u64) -> u8 {
    b'0' + (digits % 10) as u8
}

/// A number without its sign, in place of a string: no number is longer.
struct Text {
    bytes: [u8; Self::LENGTH],
    start: usize,
    end: usize,
}

impl Text {
    /// A significand of 20 digits, `p` and an exponent of 11; or the sign.
    const LENGTH: usize = 40;
    /// Room before what is appended, for a sign.
    const MIDDLE: usize = 1;

    const fn new() -> Self {
        Self { bytes: [0; Self::LENGTH], start: Self::LENGTH, end: Self::LENGTH }
    }

    fn prepend(&mut self, byte: u8) {
        self.start -= 1;
        self.bytes[self.start] = byte;
    }

    fn prepend_integer(&mut self, mut integer: u64) {
        loop {
            self.prepend(digit(integer));
            integer /= 10;
            if integer == 0 {
                return;
            }
        }
    }

    fn as_str(&self) -> &str {
        core::str::from_utf8(&self.bytes[self.start..self.end]).expect("characters of numbers")
    }

    fn print(mut self, negative: bool, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.width().is_some() || f.sign_plus() {
            return f.pad_integral(!negative, "", self.as_str().trim_start_matches('-'));
        }
        if negative && self.bytes[self.start] != b'-' {
            self.prepend(b'-');
        }
        f.write_str(self.as_str())
    }
}

/// Appends; a text is either appended to or prepended to.
impl fmt::Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.start == Self::LENGTH {
            (self.start, self.end) = (Self::MIDDLE, Self::MIDDLE);
        }
        let end = self.end + text.len();
        self.bytes.get_mut(self.end..end).ok_or(fmt::Error)?.copy_from_slice(text.as_bytes());
        self.end = end;
        Ok(())
    }
}
