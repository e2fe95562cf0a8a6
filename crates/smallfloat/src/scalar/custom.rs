//! [`define_format!`]: a type for a format of one's own.

/// Defines types for formats of your own, with everything that the scalars of this crate have.
///
/// ```
/// use smallfloat::{Domain, Format, Signedness, SmallFloat};
///
/// smallfloat::define_format! {
///     /// IEEE 754's model in 12 bits, 7 of them precision.
///     pub type Binary12(u16) = Format::ieee(12, 7);
///     /// P3109's `Binary5p2sf`.
///     type Binary5p2sf(u8) = Format::p3109(5, 2, Signedness::Signed, Domain::Finite);
/// }
///
/// assert_eq!((Binary12::MAX.to_f32(), Binary12::EPSILON.to_f32()), (65024.0, 0.015625));
/// assert_eq!(Binary5p2sf::values().count(), 31);
/// ```
///
/// Each row is `type Name(integer) = format;`, where the integer that holds a code is `u8` or `u16`
/// and the format is what a `const` constructor of [`Format`](crate::Format) returns, a `Result`.
/// The name is an alias of [`Custom8`](crate::Custom8) or [`Custom16`](crate::Custom16): types of
/// equal formats are one type.
///
/// It does not compile if the parameters are no format's, if codes are wider than the integer, or
/// if a value is not exact in `f32`:
///
/// ```compile_fail,E0080
/// smallfloat::define_format! { type TooWide(u8) = smallfloat::Format::ieee(9, 4); }
/// ```
///
/// ```compile_fail,E0080
/// smallfloat::define_format! { type NoExponent(u8) = smallfloat::Format::ieee(8, 8); }
/// ```
#[macro_export]
macro_rules! define_format {
    ($($(#[$attribute:meta])* $visibility:vis type $name:ident($bits:ident) = $format:expr;)*) => {
        $(
            $(#[$attribute])*
            $visibility type $name = $crate::__custom_scalar!($bits, $format);

            const _: () = {
                // Whether or not the type is used.
                let _ = <$name>::FORMAT;
            };
        )*
    };
}

/// The type for a format and an integer.
#[doc(hidden)]
#[macro_export]
macro_rules! __custom_scalar {
    (u8, $format:expr) => {
        $crate::Custom8<{ $crate::__key_of($format, 8) }>
    };
    (u16, $format:expr) => {
        $crate::Custom16<{ $crate::__key_of($format, 16) }>
    };
}
