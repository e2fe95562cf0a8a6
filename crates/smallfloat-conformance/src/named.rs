//! `Display` and `FromStr` for enums by their names.

/// Implements `Display` and `FromStr` by the type's table `NAMED`. Parsing ignores case; where
/// nothing has the name, the error is this variant of [`Error`](crate::Error) with the text.
macro_rules! by_name {
    ($type:ty, $error:ident) => {
        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let named = Self::NAMED.iter().find(|(_, value)| value == self);
                f.pad(named.expect("every value has a name").0)
            }
        }

        impl std::str::FromStr for $type {
            type Err = crate::error::Error;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let named = Self::NAMED.iter().find(|(name, _)| name.eq_ignore_ascii_case(text));
                let value = named.map(|(_, value)| *value);
                value.ok_or_else(|| crate::error::Error::$error { text: text.to_owned() })
            }
        }
    };
}

pub(crate) use by_name;
