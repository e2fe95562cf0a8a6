//! `serde`: a scalar is its code, a small unsigned integer, as `half` has it. Beside it for
//! `#[serde(with = "…")]`: `as_value`, a number, and `as_string`, a decimal.
//!
//! Each form reads only what it writes: a JSON `1` is the code 1 or the value 1, never a guess.

use core::fmt;

#[cfg(feature = "alloc")]
use ::serde::de::Unexpected;
use ::serde::de::{Error as _, Visitor};
use ::serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::scalar::for_each_scalar;
use crate::scalar::traits::SmallFloat;

macro_rules! implement {
    ($(#[$doc:meta])* $name:ident $(<$bias:ident: $kind:ty>)? ($bits:ident, $($row:tt)*) $($rest:tt)*) => {
        /// The code.
        impl $(<const $bias: $kind>)? Serialize for crate::scalar::$name $(<$bias>)? {
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                self.to_bits().serialize(to)
            }
        }

        /// The code; one that the type doesn't have is an error.
        impl<'de $(, const $bias: $kind)?> Deserialize<'de> for crate::scalar::$name $(<$bias>)? {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                Self::try_from_bits($bits::deserialize(from)?).map_err(D::Error::custom)
            }
        }
    };
}

for_each_scalar!(implement);

/// A scalar as its value, an `f32`, which holds it exactly.
///
/// Reads any number, rounded once by the type's default projection. JSON has no NaN or infinity;
/// where they occur use `as_string`.
///
/// ```
/// use serde::de::{IntoDeserializer, value::{Error, F64Deserializer}};
/// use smallfloat::{E4M3Fn, scalar::as_value};
/// // With serde's derive: #[serde(with = "smallfloat::scalar::as_value")] before a field.
/// let number: F64Deserializer<Error> = 1.1.into_deserializer();
/// let x: E4M3Fn = as_value::deserialize(number)?;
/// assert_eq!(x.to_f32(), 1.125);
/// # Ok::<(), Error>(())
/// ```
pub mod as_value {
    use super::{Deserializer, Number, Serializer, SmallFloat};
    use core::marker::PhantomData;

    /// Writes the value.
    ///
    /// # Errors
    /// The serializer's.
    pub fn serialize<T: SmallFloat, S: Serializer>(x: &T, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_f32(x.to_f32())
    }

    /// Reads a number and rounds it.
    ///
    /// # Errors
    /// Anything but a number.
    pub fn deserialize<'de, T: SmallFloat, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
        from.deserialize_f64(Number(PhantomData))
    }
}

/// Reads numbers of any kind.
struct Number<T>(core::marker::PhantomData<T>);

impl<T: SmallFloat> Visitor<'_> for Number<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number")
    }

    fn visit_f32<E>(self, x: f32) -> Result<T, E> {
        Ok(T::from_f32(x))
    }

    fn visit_f64<E>(self, x: f64) -> Result<T, E> {
        Ok(T::from_f64(x))
    }

    fn visit_i64<E>(self, x: i64) -> Result<T, E> {
        Ok(T::from_exact(i128::from(x).into()))
    }

    fn visit_u64<E>(self, x: u64) -> Result<T, E> {
        Ok(T::from_exact(i128::from(x).into()))
    }
}

/// A scalar as text, as `Display` prints it: `0.1015625`, `NaN`, `inf`.
///
/// Reads what [`text::parse`](crate::text::parse) does, rounded once by the type's default
/// projection.
///
/// ```
/// use serde::de::{IntoDeserializer, value::{Error, StrDeserializer}};
/// use smallfloat::{E5M2, scalar::as_string};
/// // With serde's derive: #[serde(with = "smallfloat::scalar::as_string")] before a field.
/// let text: StrDeserializer<'_, Error> = "-inf".into_deserializer();
/// let x: E5M2 = as_string::deserialize(text)?;
/// assert_eq!(x, E5M2::NEG_INFINITY);
/// # Ok::<(), Error>(())
/// ```
#[cfg(feature = "alloc")]
pub mod as_string {
    use super::{Deserializer, Serializer, SmallFloat, Text};
    use core::marker::PhantomData;

    /// Writes the text.
    ///
    /// # Errors
    /// The serializer's.
    pub fn serialize<T: SmallFloat, S: Serializer>(x: &T, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&crate::Dynamic::from(*x))
    }

    /// Reads text and rounds the number in it.
    ///
    /// # Errors
    /// Anything but text that is a number.
    pub fn deserialize<'de, T: SmallFloat, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
        from.deserialize_str(Text(PhantomData))
    }
}

/// Reads numbers written as text.
#[cfg(feature = "alloc")]
struct Text<T>(core::marker::PhantomData<T>);

#[cfg(feature = "alloc")]
impl<T: SmallFloat> Visitor<'_> for Text<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number as text")
    }

    fn visit_str<E: ::serde::de::Error>(self, text: &str) -> Result<T, E> {
        let exact = crate::text::parse(text).map_err(|_| E::invalid_value(Unexpected::Str(text), &self))?;
        Ok(T::from_exact(exact))
    }
}
