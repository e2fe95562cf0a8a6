//! Names of enums: what `Display` prints, `FromStr` and serde read.

/// Gives an enum without data its names, and an error that lists them.
macro_rules! named {
    ($type:ty, $what:literal: $($variant:ident = $name:literal,)*) => {
        impl $type {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// Returns the name.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl std::str::FromStr for $type {
            type Err = $crate::Error;

            fn from_str(text: &str) -> $crate::Result<Self> {
                let found = Self::ALL.iter().find(|one| one.name().eq_ignore_ascii_case(text));
                found.copied().ok_or_else(|| {
                    let what = concat!("no ", $what, " `");
                    $crate::Error::Config(format!("{what}{text}`: there are {}", [$($name),*].join(", ")))
                })
            }
        }

        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

pub(crate) use named;

#[cfg(test)]
mod tests {
    use std::fmt::{Debug, Display};
    use std::str::FromStr;

    use crate::data::DataSource;
    use crate::{Accumulation, Config, ConfigPreset, Error, ModelKind, OnNonfinite, PRESETS, Round};

    fn round_trips<T: Display + FromStr<Err = Error> + PartialEq + Debug>(all: &[T]) {
        for one in all {
            assert_eq!(one.to_string().parse::<T>().unwrap(), *one);
        }
    }

    #[test]
    fn names_are_read_and_written() {
        round_trips(Round::ALL);
        round_trips(OnNonfinite::ALL);
        let texts = ["f32", "exact", "hopper", "cdna3:promote=128", "fused:k=32,fraction=13,output=e8m13"];
        round_trips(&texts.map(|text| text.parse::<Accumulation>().unwrap()));
        let error = "pascal".parse::<Accumulation>().unwrap_err().to_string();
        assert!(error.contains("`pascal`: there are f32, exact, volta, turing"), "{error}");
        assert!("e5m2".parse::<Accumulation>().is_err() && "hopper:k=2".parse::<Accumulation>().is_err());
        round_trips(ModelKind::ALL);
        round_trips(PRESETS);
        round_trips(&["digits".parse::<DataSource>().unwrap(), "some/text".parse().unwrap()]);
        round_trips(&[Config::default(), crate::preset("five-bytes").unwrap()]);
        assert_eq!("EXACT".parse::<Accumulation>().unwrap(), Accumulation::Exact);
        let error = "up".parse::<Round>().unwrap_err().to_string();
        assert_eq!(error, "no rounding mode `up`: there are nearest-even, stochastic-a");
        assert!("cfloat9".parse::<ConfigPreset>().unwrap_err().to_string().contains("cfloat8-143"));
        assert!("".parse::<DataSource>().is_err());
    }
}
