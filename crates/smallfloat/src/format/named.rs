//! `Display` and `FromStr` for enums by their names.

/// Implements `Display` and `FromStr` by the type's `name` and a list of its values. Parsing
/// ignores case and surrounding white space; the error says what was given and what is accepted.
/// The list may have the names beside the values, where `name` would search for each.
macro_rules! by_name {
    ($type:ty, $values:expr, $what:literal, $expected:literal) => {
        $crate::format::named::by_name!(
            $type,
            named: $values.into_iter().map(|value: $type| (value.name(), value)),
            $what,
            $expected
        );
    };
    ($type:ty, named: $named:expr, $what:literal, $expected:literal) => {
        impl core::fmt::Display for $type {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.pad(self.name())
            }
        }

        impl core::str::FromStr for $type {
            type Err = $crate::Error;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let given = text.trim();
                $named
                    .find(|&(name, _): &(&str, $type)| name.eq_ignore_ascii_case(given))
                    .map(|(_, value)| value)
                    .ok_or_else(|| $crate::format::name::bad_value($what, text, $expected))
            }
        }
    };
}

pub(crate) use by_name;
