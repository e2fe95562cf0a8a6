//! The types themselves: constants, bits and conversions.

use crate::format::datum::Datum;
use crate::format::error::Error;
use crate::format::{Domain, Format, Signedness, formats};
use crate::ops::operation::Operation;
use crate::projection::exact::Exact;
use crate::projection::flags::Rounded;
use crate::projection::{Projection, project};
use crate::scalar::code::{Has, narrow, unwrap};
use crate::scalar::traits::SmallFloat;
use crate::scalar::{code, for_each_scalar};

/// The type with its derives. Those of `bytemuck` and `zerocopy` emit implementations that the
/// derives themselves check.
macro_rules! define_struct {
    (full, $(#[$doc:meta])* $name:ident $(<$bias:ident: $kind:ty>)? $bits:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        #[cfg_attr(feature = "bytemuck", derive(bytemuck::Zeroable, bytemuck::Pod))]
        #[cfg_attr(feature = "zerocopy", derive(
            zerocopy::FromBytes, zerocopy::IntoBytes, zerocopy::Immutable, zerocopy::KnownLayout
        ))]
        #[repr(transparent)]
        pub struct $name $(<const $bias: $kind>)? ($bits);
    };
    ($fill:ident, $(#[$doc:meta])* $name:ident $(<$bias:ident: $kind:ty>)? $bits:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        #[cfg_attr(feature = "bytemuck", derive(bytemuck::Zeroable, bytemuck::NoUninit))]
        #[cfg_attr(feature = "zerocopy", derive(zerocopy::IntoBytes, zerocopy::Immutable, zerocopy::KnownLayout))]
        #[repr(transparent)]
        pub struct $name $(<const $bias: $kind>)? ($bits);
    };
}

/// A constant that only some formats have.
macro_rules! define_constant {
    (zero) => {
        /// 0.
        pub const ZERO: Self = Self::constant(Datum::ZERO);
    };
    (nonzero) => {};
    (signed) => {
        /// −1. Does not compile where a bias leaves no such value.
        pub const NEG_ONE: Self = Self::constant(Datum::finite(true, 1, 0));
    };
    (unsigned) => {};
    (either) => {
        /// −1. Does not compile where the format has no such value.
        pub const NEG_ONE: Self = Self::constant(Datum::finite(true, 1, 0));
    };
    (negative_zero) => {
        /// −0.
        pub const NEG_ZERO: Self = Self::constant(Datum::ZERO.negated());
    };
    (subnormal) => {
        /// The smallest positive value, which is subnormal.
        pub const MIN_POSITIVE_SUBNORMAL: Self = match Self::FORMAT.max_subnormal() {
            Some(_) => Self::constant(Self::FORMAT.min_positive()),
            None => panic!("the format has no subnormal values"),
        };
        /// The largest subnormal value.
        pub const MAX_SUBNORMAL: Self = match Self::FORMAT.max_subnormal() {
            Some(datum) => Self::constant(datum),
            None => panic!("the format has no subnormal values"),
        };
    };
    (infinity) => {
        /// +∞.
        pub const INFINITY: Self = Self::constant(Datum::Infinite { negative: false });
    };
    (negative_infinity) => {
        /// −∞.
        pub const NEG_INFINITY: Self = Self::constant(Datum::Infinite { negative: true });
    };
    (nan) => {
        /// NaN, the canonical one.
        pub const NAN: Self = Self::constant(Datum::Nan { negative: false });
    };
}

macro_rules! is_word {
    (full) => {
        true
    };
    (signed) => {
        true
    };
    ($other:ident) => {
        false
    };
}

/// The format of a row: a custom one has been checked with its key.
macro_rules! row_format {
    (custom, $format:expr, $($rest:tt)*) => {
        $format
    };
    ($fill:ident, $format:expr, $($rest:tt)*) => {
        code::checked($format, $($rest)*)
    };
}

macro_rules! define {
    ($(#[$doc:meta])* $name:ident $(<$bias:ident: $kind:ty>)? ($bits:ident, $fill:ident, $sign:ident, $zero:ident)
        = $format:expr; $($has:ident)*) => {
        define_struct! { $fill, $(#[$doc])* $name $(<$bias: $kind>)? $bits }

        /// Constants, derived from the format.
        impl $(<const $bias: $kind>)? $name $(<$bias>)? {
            /// The format: every property of the type follows from it.
            pub const FORMAT: Format = row_format!(
                $fill, $format, is_word!($sign), is_word!($fill), $bits::BITS, &[Has::$zero, $(Has::$has),*],
            );

            define_constant!($zero);
            define_constant!($sign);
            $(define_constant!($has);)*

            /// 1. Does not compile where a bias leaves no such value.
            pub const ONE: Self = Self::constant(Datum::finite(false, 1, 0));
            /// The largest finite value.
            pub const MAX: Self = Self::constant(Self::FORMAT.max_finite());
            /// The smallest finite value: −MAX, or for unsigned types 0 or the smallest scale.
            pub const MIN: Self = Self::constant(Self::FORMAT.min_finite());
            /// The smallest positive normal value.
            pub const MIN_POSITIVE: Self = Self::constant(Self::FORMAT.min_normal());
            /// The distance from 1 to the next larger value, 2^(1 − P). Does not compile where a
            /// bias leaves no such value.
            pub const EPSILON: Self = Self::constant(code::epsilon(&Self::FORMAT));
            /// The base of the exponent.
            pub const RADIX: u32 = 2;
            /// The precision P in bits, hidden bit included.
            pub const MANTISSA_DIGITS: u32 = Self::FORMAT.precision();
            /// A decimal of so many significant digits, within the normal range, survives a round
            /// trip.
            pub const DIGITS: u32 = code::decimal_digits(&Self::FORMAT);
            /// One more than the smallest exponent of a normal value: 0.5 · 2^`MIN_EXP` is that
            /// value.
            pub const MIN_EXP: i32 = Self::FORMAT.exponent_range().0 + 1;
            /// One more than the largest exponent: every finite value is below 2^`MAX_EXP`.
            pub const MAX_EXP: i32 = Self::FORMAT.exponent_range().1 + 1;
            /// The smallest x for which 10^x is in the normal range or above it.
            pub const MIN_10_EXP: i32 = code::min_10_exponent(&Self::FORMAT);
            /// The largest x for which 10^x is in the range or below it.
            pub const MAX_10_EXP: i32 = code::max_10_exponent(&Self::FORMAT);

            const F32_VALUES: [f32; code::TABLE] = code::f32_table(&Self::FORMAT);

            /// The values of all codes as `f32`, for codes of at most 8 bits.
            const AS_F32: Option<&'static [f32; code::TABLE]> =
                if Self::FORMAT.width() <= 8 { Some(&Self::F32_VALUES) } else { None };

            const fn constant(datum: Datum) -> Self {
                Self::from_code(code::constant(&Self::FORMAT, datum))
            }

            #[inline]
            pub(super) const fn from_code(code: u64) -> Self {
                Self(narrow::$bits(code))
            }

            #[inline]
            pub(super) const fn code(self) -> u64 {
                self.0 as u64
            }

            pub(super) const fn rounded(result: Rounded<u64>) -> Rounded<Self> {
                Rounded { value: Self::from_code(result.value), flags: result.flags }
            }

            #[inline]
            pub(super) const fn compute(operation: Operation, x: Self, y: Self, z: Self) -> Self {
                Self::from_code(code::compute(operation, &Self::FORMAT, [x.code(), y.code(), z.code()]))
            }
        }

        /// Bits.
        impl $(<const $bias: $kind>)? $name $(<$bias>)? {
            /// Returns the value of a code. Bits above the format's width are dropped, so that
            /// every argument is a value.
            #[inline]
            pub const fn from_bits(bits: $bits) -> Self {
                Self(bits & narrow::$bits(Self::FORMAT.max_code()))
            }

            /// Returns the value of a code.
            ///
            /// # Errors
            /// A code with bits above the format's width.
            pub const fn try_from_bits(bits: $bits) -> Result<Self, Error> {
                match Self::FORMAT.check_code(bits as u64) {
                    Ok(_) => Ok(Self(bits)),
                    Err(error) => Err(error),
                }
            }

            /// Returns the code.
            #[inline]
            pub const fn to_bits(self) -> $bits {
                self.0
            }

            /// Returns the code as bytes, least significant first.
            pub const fn to_le_bytes(self) -> [u8; size_of::<$bits>()] {
                self.0.to_le_bytes()
            }

            /// Returns the code as bytes, most significant first.
            pub const fn to_be_bytes(self) -> [u8; size_of::<$bits>()] {
                self.0.to_be_bytes()
            }

            /// Returns the code as bytes in the machine's order.
            pub const fn to_ne_bytes(self) -> [u8; size_of::<$bits>()] {
                self.0.to_ne_bytes()
            }

            /// Returns the value of a code given as bytes, least significant first.
            pub const fn from_le_bytes(bytes: [u8; size_of::<$bits>()]) -> Self {
                Self::from_bits($bits::from_le_bytes(bytes))
            }

            /// Returns the value of a code given as bytes, most significant first.
            pub const fn from_be_bytes(bytes: [u8; size_of::<$bits>()]) -> Self {
                Self::from_bits($bits::from_be_bytes(bytes))
            }

            /// Returns the value of a code given as bytes in the machine's order.
            pub const fn from_ne_bytes(bytes: [u8; size_of::<$bits>()]) -> Self {
                Self::from_bits($bits::from_ne_bytes(bytes))
            }
        }

        /// Conversions, each rounded at most once.
        impl $(<const $bias: $kind>)? $name $(<$bias>)? {
            /// Rounds an `f32` by the format's default projection.
            #[inline]
            pub const fn from_f32(x: f32) -> Self {
                Self::from_code(code::from_ieee(x.to_bits() as u64, &formats::BINARY32, &Self::FORMAT))
            }

            /// Rounds an `f64` by the format's default projection.
            #[inline]
            pub const fn from_f64(x: f64) -> Self {
                Self::from_code(code::from_ieee(x.to_bits(), &formats::BINARY64, &Self::FORMAT))
            }

            /// Rounds an integer by the format's default projection.
            pub const fn from_i128(x: i128) -> Self {
                Self::from_exact(Exact::from_i128(x))
            }

            /// Rounds an exact result by the format's default projection.
            pub const fn from_exact(x: Exact) -> Self {
                Self::from_code(code::round(&Self::FORMAT, x))
            }

            /// Rounds an `f32` by a projection of the caller's, with flags.
            pub const fn from_f32_with(x: f32, projection: &Projection) -> Rounded<Self> {
                Self::rounded(Self::FORMAT.encode_f32(x, projection))
            }

            /// Rounds an `f64` by a projection of the caller's, with flags.
            pub const fn from_f64_with(x: f64, projection: &Projection) -> Rounded<Self> {
                Self::rounded(Self::FORMAT.encode_f64(x, projection))
            }

            /// Rounds an integer by a projection of the caller's, with flags.
            pub const fn from_i128_with(x: i128, projection: &Projection) -> Rounded<Self> {
                Self::rounded(Self::FORMAT.encode_integer(x, projection))
            }

            /// Rounds an exact result by a projection of the caller's, with flags.
            pub const fn from_exact_with(x: Exact, projection: &Projection) -> Rounded<Self> {
                Self::rounded(project(x, &Self::FORMAT, projection))
            }

            /// Rounds a number given as text by a projection of the caller's, with flags.
            ///
            /// # Errors
            /// Text that is not a number; [`text::parse`](crate::text::parse) says what is one.
            #[cfg(feature = "alloc")]
            pub fn from_text_with(text: &str, projection: &Projection) -> Result<Rounded<Self>, Error> {
                Self::FORMAT.encode_text(text, projection).map(Self::rounded)
            }

            /// Returns the value of a datum, if the format has it: `None` for NaN where there is
            /// none, and so on.
            pub const fn from_datum(datum: Datum) -> Option<Self> {
                match Self::FORMAT.encode(datum) {
                    Some(code) => Some(Self::from_code(code)),
                    None => None,
                }
            }

            /// Returns the exact value as data.
            #[inline]
            pub const fn to_datum(self) -> Datum {
                Self::FORMAT.decode(self.code())
            }

            /// Returns the value as `f32`, exactly.
            #[inline]
            pub const fn to_f32(self) -> f32 {
                match Self::AS_F32 {
                    Some(table) => table[self.0 as usize % code::TABLE],
                    None => code::to_f32(&Self::FORMAT, self.code()),
                }
            }

            /// Returns the value as `f64`, exactly.
            pub const fn to_f64(self) -> f64 {
                Self::FORMAT.decode_f64(self.code()).value
            }

            /// Returns the value in another type, rounded by that type's default projection. For
            /// the result of an operation this is a second rounding: see
            /// [`SmallFloat::evaluate_to`].
            pub fn convert<T: SmallFloat>(self) -> T {
                self.convert_with(&T::FORMAT.default_projection()).value
            }

            /// Returns the value in another type, rounded by a projection of the caller's, with
            /// flags.
            pub fn convert_with<T: SmallFloat>(self, projection: &Projection) -> Rounded<T> {
                crate::projection::convert::convert(self.code(), &Self::FORMAT, &T::FORMAT, projection).map(T::from_code)
            }

            /// Returns `word` / 2^64, rounded down: uniform in [0, 1) if the word is. Each value x
            /// is as likely as the distance to the next one, up to 2^−64. A type whose largest
            /// value is below 1 ends there, a type without zero begins at its smallest.
            pub const fn from_uniform_bits(word: u64) -> Self {
                Self::from_code(code::uniform(&Self::FORMAT, word))
            }
        }
    };
}

for_each_scalar!(define);
