//! `From` where nothing is lost: every scalar in `f32` and `f64`, integers and narrower scalars in
//! wider ones.

use crate::format::datum::Datum;
use crate::scalar::{
    Bf16, E2M1Fn, E2M3Fn, E3M2Fn, E3M4, E4M3, E4M3B11Fnuz, E4M3Fn, E4M3Fnuz, E5M2, E5M2Fnuz, F16, Uhp,
    for_each_scalar,
};

macro_rules! to_host {
    ($(#[$doc:meta])* $name:ident $(<$bias:ident: $kind:ty>)? ($($row:tt)*) $($rest:tt)*) => {
        impl $(<const $bias: $kind>)? From<super::$name $(<$bias>)?> for f32 {
            #[inline]
            fn from(x: super::$name $(<$bias>)?) -> Self {
                x.to_f32()
            }
        }

        impl $(<const $bias: $kind>)? From<super::$name $(<$bias>)?> for f64 {
            #[inline]
            fn from(x: super::$name $(<$bias>)?) -> Self {
                x.to_f64()
            }
        }
    };
}

for_each_scalar!(to_host);

macro_rules! from_integer {
    ($($integer:ident => $($name:ident)*;)*) => {
        $($(
            // The largest magnitudes are exact, so every smaller one is: at most P bits.
            const _: () = assert!(
                $name::FORMAT.encode(Datum::finite(false, $integer::MAX as u64, 0)).is_some()
                    && $integer::BITS <= $name::MANTISSA_DIGITS,
                "an integer does not fit"
            );

            impl From<$integer> for $name {
                fn from(x: $integer) -> Self {
                    Self::from_i128(i128::from(x))
                }
            }
        )*)*
    };
}

from_integer! {
    u8 => F16 Bf16 Uhp;
    i8 => F16 Bf16;
}

macro_rules! from_scalar {
    ($($narrow:ident => $($wide:ident)*;)*) => {
        $($(
            const _: () = assert!(
                $narrow::FORMAT.fits_in(&$wide::FORMAT)
                    && (!$narrow::FORMAT.has_nan() || $wide::FORMAT.has_nan())
                    && (!$narrow::FORMAT.has_infinity() || $wide::FORMAT.has_infinity()),
                "a conversion would lose something"
            );

            impl From<$narrow> for $wide {
                fn from(x: $narrow) -> Self {
                    x.convert()
                }
            }
        )*)*
    };
}

from_scalar! {
    E4M3Fn => F16 Bf16;
    E5M2 => F16 Bf16;
    E4M3Fnuz => F16 Bf16;
    E5M2Fnuz => F16 Bf16;
    E4M3B11Fnuz => F16 Bf16;
    E4M3 => F16 Bf16;
    E3M4 => F16 Bf16;
    E3M2Fn => E4M3Fn E5M2 F16 Bf16;
    E2M3Fn => E4M3Fn F16 Bf16;
    E2M1Fn => E3M2Fn E2M3Fn E4M3Fn E5M2 F16 Bf16;
}
