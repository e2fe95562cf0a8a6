//! `Display` and `FromStr` for enums by their names.

/// Implements `Display` by the type's table `NAMED`; with a word for what the type is, `FromStr`
/// too, which ignores case and whose error lists the names.
macro_rules! by_name {
    ($type:ty) => {
        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let named = Self::NAMED.iter().find(|(_, value)| value == self);
                f.pad(named.expect("every value has a name").0)
            }
        }
    };
    ($type:ty, $what:literal) => {
        $crate::named::by_name!($type);

        impl std::str::FromStr for $type {
            type Err = $crate::error::Error;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let named = Self::NAMED.iter().find(|(name, _)| name.eq_ignore_ascii_case(text));
                named.map(|(_, value)| *value).ok_or_else(|| $crate::error::Error::OptionRange {
                    option: $what,
                    given: format!("`{text}`"),
                    expected: Self::NAMED.map(|(name, _)| name).join(", "),
                })
            }
        }
    };
}

pub(crate) use by_name;
