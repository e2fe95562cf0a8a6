//! `half`: its two types are ours bit for bit, and take what loses nothing.

use ::half::{bf16, f16};

use crate::scalar::{
    Bf16, E2M1Fn, E2M3Fn, E3M2Fn, E3M4, E4M3, E4M3B11Fnuz, E4M3Fn, E4M3Fnuz, E5M2, E5M2Fnuz, F16,
};

macro_rules! same {
    ($($ours:ident $theirs:ident;)*) => {
        $(
            /// Returns the value of the same bits.
            impl From<$theirs> for $ours {
                fn from(x: $theirs) -> Self {
                    Self::from_bits(x.to_bits())
                }
            }

            /// Returns the value of the same bits.
            impl From<$ours> for $theirs {
                fn from(x: $ours) -> Self {
                    Self::from_bits(x.to_bits())
                }
            }
        )*
    };
}

same! {
    F16 f16;
    Bf16 bf16;
}

macro_rules! widen {
    ($($name:ident)*) => {
        $(
            /// Exact.
            impl From<$name> for f16 {
                fn from(x: $name) -> Self {
                    F16::from(x).into()
                }
            }

            /// Exact.
            impl From<$name> for bf16 {
                fn from(x: $name) -> Self {
                    Bf16::from(x).into()
                }
            }
        )*
    };
}

widen!(E4M3Fn E5M2 E4M3Fnuz E5M2Fnuz E4M3B11Fnuz E4M3 E3M4 E3M2Fn E2M3Fn E2M1Fn);
