//! `num-traits`: the traits that the types can keep to the letter.
//!
//! Every type: `Bounded`, `ToPrimitive`, `FromPrimitive`, `NumCast`, `One`, `MulAdd`. Types with
//! zero: `Zero`, and with the feature `alloc` `Num`; signed ones `Signed`. `FloatCore` promises ±∞,
//! NaN and −0, so that only the types after IEEE 754's model have it: `E5M2`, `E4M3`, `E3M4`, `F16`
//! and `Bf16`. `Float` stands in `float.rs`.

use ::num_traits::{Bounded, FromPrimitive, MulAdd, One, ToPrimitive, Zero};
#[cfg(feature = "alloc")]
use ::num_traits::{Num, Signed, float::FloatCore};
#[cfg(feature = "alloc")]
use core::num::FpCategory;

#[cfg(feature = "alloc")]
use crate::format::error::Error;
use crate::projection::exact::Exact;
use crate::projection::flags::{Flags, Rounded};
use crate::scalar::for_each_scalar;

/// A rounded value, unless the format has nothing like it: a NaN or a negative number that it
/// lacks.
fn unless_invalid<T>(result: Rounded<T>) -> Option<T> {
    (!result.flags.contains(Flags::INVALID)).then_some(result.value)
}

/// 2^53: below it an `f64` can have a fraction, from there on every `f64` is an integer.
const ALL_INTEGERS: f64 = 9_007_199_254_740_992.0;

/// Text of a radix: 10, or 16 with an optional `p` exponent.
#[cfg(feature = "alloc")]
fn parse(text: &str, radix: u32) -> Result<Exact, Error> {
    use crate::format::error::{ErrorKind, Snippet};
    let not_a_number = || Error::new(ErrorKind::NotANumber { text: Snippet::new(text) });
    match radix {
        10 => crate::text::parse(text),
        16 => {
            let magnitude = text.trim_start_matches(['+', '-']);
            let sign = &text[..text.len() - magnitude.len()];
            if sign.len() > 1 {
                return Err(not_a_number());
            }
            crate::text::parse(&alloc::format!("{sign}0x{magnitude}")).map_err(|_| not_a_number())
        }
        _ => Err(Error::new(ErrorKind::BadValue {
            key: Snippet::new("radix"),
            value: Snippet::new(&alloc::format!("{radix}")),
            expected: "10 or 16",
        })),
    }
}

macro_rules! implement {
    ($(#[$doc:meta])* $name:ident $(<$bias:ident: $kind:ty>)? ($bits:ident, $fill:ident, $sign:ident, $zero:ident)
        = $format:expr; $($has:ident)*) => {
        impl $(<const $bias: $kind>)? Bounded for crate::scalar::$name $(<$bias>)? {
            fn min_value() -> Self {
                Self::MIN
            }
            fn max_value() -> Self {
                Self::MAX
            }
        }

        /// Compiles only where the bias leaves a 1.
        impl $(<const $bias: $kind>)? One for crate::scalar::$name $(<$bias>)? {
            fn one() -> Self {
                Self::ONE
            }
        }

        /// Rounded once.
        impl $(<const $bias: $kind>)? MulAdd for crate::scalar::$name $(<$bias>)? {
            type Output = Self;

            fn mul_add(self, y: Self, z: Self) -> Self {
                self.mul_add(y, z)
            }
        }

        /// Integers truncate, as those of `f64` do.
        impl $(<const $bias: $kind>)? ToPrimitive for crate::scalar::$name $(<$bias>)? {
            fn to_i64(&self) -> Option<i64> {
                (*self).to_f64().to_i64()
            }
            fn to_u64(&self) -> Option<u64> {
                (*self).to_f64().to_u64()
            }
            fn to_i128(&self) -> Option<i128> {
                (*self).to_f64().to_i128()
            }
            fn to_u128(&self) -> Option<u128> {
                (*self).to_f64().to_u128()
            }
            fn to_f32(&self) -> Option<f32> {
                Some((*self).to_f32())
            }
            fn to_f64(&self) -> Option<f64> {
                Some((*self).to_f64())
            }
        }

        /// Rounded once; `None` for a NaN or a negative number that the type lacks.
        impl $(<const $bias: $kind>)? FromPrimitive for crate::scalar::$name $(<$bias>)? {
            fn from_i64(x: i64) -> Option<Self> {
                FromPrimitive::from_i128(i128::from(x))
            }
            fn from_u64(x: u64) -> Option<Self> {
                FromPrimitive::from_i128(i128::from(x))
            }
            fn from_i128(x: i128) -> Option<Self> {
                unless_invalid(Self::from_i128_with(x, &Self::FORMAT.default_projection()))
            }
            fn from_u128(x: u128) -> Option<Self> {
                Some(Self::from_exact(Exact::finite(false, x, 0)))
            }
            fn from_f32(x: f32) -> Option<Self> {
                FromPrimitive::from_f64(f64::from(x))
            }
            fn from_f64(x: f64) -> Option<Self> {
                if x.is_nan() {
                    return Self::FORMAT.has_nan().then(|| Self::from_f64(x));
                }
                unless_invalid(Self::from_f64_with(x, &Self::FORMAT.default_projection()))
            }
        }

        /// Rounded once, also from integers that `f64` does not hold.
        impl $(<const $bias: $kind>)? ::num_traits::NumCast for crate::scalar::$name $(<$bias>)? {
            fn from<T: ToPrimitive>(x: T) -> Option<Self> {
                let float = x.to_f64()?;
                if float.abs() < ALL_INTEGERS || !float.is_finite() {
                    return FromPrimitive::from_f64(float);
                }
                match (x.to_i128(), x.to_u128()) {
                    (Some(integer), _) => FromPrimitive::from_i128(integer),
                    (_, Some(integer)) => FromPrimitive::from_u128(integer),
                    _ => FromPrimitive::from_f64(float),
                }
            }
        }

        implement!(@$zero $sign $name $(<$bias: $kind>)?);
        implement!(@float $name $($has)*);
    };

    (@nonzero $($rest:tt)*) => {};
    (@zero $sign:ident $name:ident $(<$bias:ident: $kind:ty>)?) => {
        impl $(<const $bias: $kind>)? Zero for crate::scalar::$name $(<$bias>)? {
            fn zero() -> Self {
                Self::ZERO
            }
            fn is_zero(&self) -> bool {
                *self == Self::ZERO
            }
        }

        #[cfg(feature = "alloc")]
        impl $(<const $bias: $kind>)? Num for crate::scalar::$name $(<$bias>)? {
            type FromStrRadixErr = Error;

            /// Rounds once; radix 10 or 16.
            fn from_str_radix(text: &str, radix: u32) -> Result<Self, Error> {
                parse(text, radix).map(Self::from_exact)
            }
        }

        implement!(@$sign $name $(<$bias: $kind>)?);
    };

    (@unsigned $($rest:tt)*) => {};
    (@either $($rest:tt)*) => {};
    (@signed $name:ident $(<$bias:ident: $kind:ty>)?) => {
        #[cfg(feature = "alloc")]
        impl $(<const $bias: $kind>)? Signed for crate::scalar::$name $(<$bias>)? {
            fn abs(&self) -> Self {
                (*self).abs()
            }
            fn abs_sub(&self, other: &Self) -> Self {
                if self <= other { Self::ZERO } else { *self - *other }
            }
            fn signum(&self) -> Self {
                (*self).signum()
            }
            fn is_positive(&self) -> bool {
                self.is_sign_positive()
            }
            fn is_negative(&self) -> bool {
                self.is_sign_negative()
            }
        }
    };

    (@float $name:ident negative_zero subnormal infinity negative_infinity nan) => {
        #[cfg(feature = "alloc")]
        impl FloatCore for crate::scalar::$name {
            fn infinity() -> Self {
                Self::INFINITY
            }
            fn neg_infinity() -> Self {
                Self::NEG_INFINITY
            }
            fn nan() -> Self {
                Self::NAN
            }
            fn neg_zero() -> Self {
                Self::NEG_ZERO
            }
            fn min_value() -> Self {
                Self::MIN
            }
            fn min_positive_value() -> Self {
                Self::MIN_POSITIVE
            }
            fn epsilon() -> Self {
                Self::EPSILON
            }
            fn max_value() -> Self {
                Self::MAX
            }
            fn classify(self) -> FpCategory {
                self.classify()
            }
            fn to_degrees(self) -> Self {
                Self::from_f64(self.to_f64().to_degrees())
            }
            fn to_radians(self) -> Self {
                Self::from_f64(self.to_f64().to_radians())
            }
            fn integer_decode(self) -> (u64, i16, i8) {
                FloatCore::integer_decode(self.to_f64())
            }
        }
    };
    (@float $($rest:tt)*) => {};
}

for_each_scalar!(implement);
