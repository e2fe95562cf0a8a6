//! `serde`: formats, projections, rounding modes, saturation modes, presets and flags as the text
//! that `Display` and `FromStr` have, in every data format.

use core::fmt;
use core::marker::PhantomData;
use core::str::FromStr;

use ::serde::de::Visitor;
use ::serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::format::Format;
use crate::format::error::Error;
use crate::projection::flags::Flags;
use crate::projection::preset::Preset;
use crate::projection::rounding::Rounding;
use crate::projection::text::RoundingText;
use crate::projection::{Projection, Saturation};

/// Reads the text of a type.
struct Text<T>(&'static str, PhantomData<T>);

impl<T: FromStr<Err = Error>> Visitor<'_> for Text<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }

    fn visit_str<E: ::serde::de::Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }
}

macro_rules! as_text {
    ($($type:ident $what:literal $text:expr;)*) => {
        $(
            /// The text that `FromStr` reads.
            impl Serialize for $type {
                fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                    to.collect_str(&$text(*self))
                }
            }

            /// The text; one that is not understood is an error that says what is.
            impl<'de> Deserialize<'de> for $type {
                fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                    from.deserialize_str(Text($what, PhantomData))
                }
            }
        )*
    };
}

as_text! {
    Format "the name of a format" core::convert::identity;
    Projection "a projection" core::convert::identity;
    Rounding "the name of a rounding mode" RoundingText;
    Saturation "the name of a saturation mode" core::convert::identity;
    Preset "the name of a preset" core::convert::identity;
    Flags "letters of flags, or `-`" core::convert::identity;
}
