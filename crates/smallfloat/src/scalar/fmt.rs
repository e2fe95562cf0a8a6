//! Text: printing and parsing, and the code in hexadecimal, octal and binary.

use core::fmt;

#[cfg(feature = "alloc")]
use crate::format::error::Error;
use crate::scalar::for_each_scalar;
use crate::text;
use crate::text::Style;

macro_rules! implement {
    ($(#[$doc:meta])* $name:ident $(<$bias:ident: $kind:ty>)? ($($row:tt)*) $($rest:tt)*) => {
        implement!(@styles Display Debug LowerExp UpperExp, $name [$(const $bias: $kind)?] [$(<$bias>)?]);

        #[cfg(feature = "alloc")]
        impl $(<const $bias: $kind>)? super::$name $(<$bias>)? {
            /// Returns the shortest decimal that rounds to this value, for printing.
            pub const fn shortest(self) -> text::Shortest {
                Self::FORMAT.shortest(self.code())
            }
        }

        /// Rounds once, by the format's default projection; [`text::parse`](crate::text::parse)
        /// says what is a number.
        #[cfg(feature = "alloc")]
        impl $(<const $bias: $kind>)? core::str::FromStr for super::$name $(<$bias>)? {
            type Err = Error;

            fn from_str(text: &str) -> Result<Self, Error> {
                text::nearest(text, &Self::FORMAT).map(Self::from_code)
            }
        }

        implement!(@bits LowerHex UpperHex Octal Binary, $name [$(const $bias: $kind)?] [$(<$bias>)?]);
    };
    (@styles $($style:ident)*, $name:ident $generics:tt $arguments:tt) => {
        $(implement!(@style $style $name $generics $arguments);)*
    };
    (@style $style:ident $name:ident [$($generics:tt)*] [$($arguments:tt)*]) => {
        /// The value, as [`text::Decimal`](crate::text::Decimal) prints it; infinities as `inf`.
        impl<$($generics)*> fmt::$style for super::$name $($arguments)* {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                text::print(self.to_datum(), Style::$style, f)
            }
        }
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
