//! Text: printing and parsing, and the code in hexadecimal, octal and binary.

use core::fmt;

#[cfg(feature = "alloc")]
use crate::format::Format;
#[cfg(feature = "alloc")]
use crate::format::error::Error;
use crate::scalar::for_each_scalar;

/// Prints a code of a format as its value: the shortest decimal that reads back, or with a
/// precision the exact value rounded to it. NaN and infinities print as Rust's floats do.
#[cfg(feature = "alloc")]
pub(super) fn display(format: &Format, code: u64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let datum = format.decode(code);
    match datum.to_f64() {
        Some(exact) if f.precision().is_some() || !datum.is_finite() => fmt::Display::fmt(&exact, f),
        _ => {
            let text = format.decode_text(code);
            f.pad_integral(!datum.is_negative(), "", text.trim_start_matches('-'))
        }
    }
}

/// Prints a code of a format as its value with an exponent.
#[cfg(feature = "alloc")]
pub(super) fn exponential(
    format: &Format,
    code: u64,
    upper: bool,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    let datum = format.decode(code);
    if let (Some(exact), true) = (datum.to_f64(), f.precision().is_some() || !datum.is_finite()) {
        return if upper { fmt::UpperExp::fmt(&exact, f) } else { fmt::LowerExp::fmt(&exact, f) };
    }
    let e = if upper { 'E' } else { 'e' };
    let text = if datum.is_zero() {
        alloc::format!("0{e}0")
    } else {
        let (digits, point) = crate::text::shortest(format, code);
        let (first, rest) = digits.split_at(1);
        let dot = if rest.is_empty() { "" } else { "." };
        alloc::format!("{first}{dot}{rest}{e}{}", point - 1)
    };
    f.pad_integral(!datum.is_negative(), "", &text)
}

macro_rules! implement {
    ($(#[$doc:meta])* $name:ident $(<$bias:ident>)? ($($row:tt)*) $($rest:tt)*) => {
        /// The value, as `Display` prints it; without the feature `alloc` as an integer times a
        /// power of two (`3p-1`).
        impl $(<const $bias: u32>)? fmt::Debug for super::$name $(<$bias>)? {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                #[cfg(feature = "alloc")]
                return display(&Self::FORMAT, self.code(), f);
                #[cfg(not(feature = "alloc"))]
                return fmt::Display::fmt(&self.to_datum(), f);
            }
        }

        /// The shortest decimal that reads back as the same value; with a precision, the exact
        /// value rounded to it.
        #[cfg(feature = "alloc")]
        impl $(<const $bias: u32>)? fmt::Display for super::$name $(<$bias>)? {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                display(&Self::FORMAT, self.code(), f)
            }
        }

        /// As `Display`, with an exponent.
        #[cfg(feature = "alloc")]
        impl $(<const $bias: u32>)? fmt::LowerExp for super::$name $(<$bias>)? {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                exponential(&Self::FORMAT, self.code(), false, f)
            }
        }

        /// As `Display`, with an exponent.
        #[cfg(feature = "alloc")]
        impl $(<const $bias: u32>)? fmt::UpperExp for super::$name $(<$bias>)? {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                exponential(&Self::FORMAT, self.code(), true, f)
            }
        }

        /// Rounds once, by the format's default projection; [`text::parse`](crate::text::parse)
        /// says what is a number.
        #[cfg(feature = "alloc")]
        impl $(<const $bias: u32>)? core::str::FromStr for super::$name $(<$bias>)? {
            type Err = Error;

            fn from_str(text: &str) -> Result<Self, Error> {
                Ok(Self::from_text_with(text, &Self::FORMAT.default_projection())?.value)
            }
        }

        implement!(@bits LowerHex UpperHex Octal Binary, $name [$(const $bias: u32)?] [$(<$bias>)?]);
    };
    (@bits $($radix:ident)*, $name:ident $generics:tt $arguments:tt) => {
        $(implement!(@radix $radix $name $generics $arguments);)*
    };
    (@radix $radix:ident $name:ident [$($generics:tt)*] [$($arguments:tt)*]) => {
        /// The code.
        impl<$($generics)*> fmt::$radix for super::$name $($arguments)* {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::$radix::fmt(&self.to_bits(), f)
            }
        }
    };
}

for_each_scalar!(implement);
