//! What was typed and chosen: numbers and codes, rounding and range policies.

use serde::{Deserialize, Serialize};
use smallfloat::text::Literal;
use smallfloat::{Exact, Format, Preset, Projection, Rounding, Saturation};

use crate::explorer::error::{ExplorerError, check_length, named};
use crate::explorer::number;
use crate::explorer::number::{DecodedCode, Value};

/// The rounding and policies of results; what is left out is the format's default.
#[derive(Clone, PartialEq, Default, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyChoice {
    /// A preset's name.
    #[serde(default)]
    pub preset: Option<String>,
    /// The name of a rounding mode that needs no random bits.
    #[serde(default)]
    pub rounding: Option<String>,
    /// A saturation mode's name.
    #[serde(default)]
    pub saturation: Option<String>,
}

/// The policy that holds, by its names.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct EffectivePolicy {
    /// The preset.
    pub preset: &'static str,
    /// The rounding mode.
    pub rounding: &'static str,
    /// The saturation mode.
    pub saturation: &'static str,
}

impl PolicyChoice {
    /// The projection into a format, and its names.
    pub(super) fn projection(&self, format: &Format) -> Result<(Projection, EffectivePolicy), ExplorerError> {
        let given = |name: &Option<String>| name.clone().filter(|name| !name.is_empty());
        let preset = match given(&self.preset) {
            None => Preset::default_for(format),
            Some(name) => named("preset", &name, Preset::ALL, Preset::name)?,
        };
        let mut projection = preset.projection(format);
        if let Some(name) = given(&self.rounding) {
            projection = projection.with_rounding(named(
                "rounding mode",
                &name,
                Rounding::DETERMINISTIC,
                Rounding::name,
            )?);
        }
        if let Some(name) = given(&self.saturation) {
            projection = projection.with_saturation(named(
                "saturation mode",
                &name,
                Saturation::ALL,
                Saturation::name,
            )?);
        }
        let held = EffectivePolicy {
            preset: preset.name(),
            rounding: projection.rounding.name(),
            saturation: projection.saturation.name(),
        };
        Ok((projection, held))
    }
}

/// A number as it was typed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Typed {
    /// A code of the format at hand.
    Code(u64),
    /// A number.
    Value(Exact),
}

/// A typed operand, as a page shows it.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Reading {
    /// It was read as a code.
    Code {
        /// The code.
        code: DecodedCode,
    },
    /// It was read as a number.
    Value {
        /// The number.
        value: Value,
    },
}

impl Typed {
    /// Reads a text as every operand is read, [`Literal::parse`].
    pub(super) fn parse(text: &str, format: &Format) -> Result<Self, ExplorerError> {
        check_length(text)?;
        Ok(match Literal::parse(text)? {
            Literal::Code(code) => Self::Code(format.check_code(code)?),
            // What stands for all numbers too far from 1 to be read digit by digit.
            Literal::Value(Exact::Finite { exponent, .. }) if exponent.unsigned_abs() >= 1 << 29 => {
                return Err(ExplorerError::TooFar { text: text.trim().into() });
            }
            Literal::Value(exact) => Self::Value(exact),
        })
    }

    /// Its value.
    pub(super) fn exact(self, format: &Format) -> Exact {
        match self {
            Self::Code(code) => format.decode(code).into(),
            Self::Value(exact) => exact,
        }
    }

    pub(super) fn reading(self, format: &Format) -> Reading {
        match self {
            Self::Code(code) => Reading::Code { code: number::code(format, code) },
            Self::Value(exact) => Reading::Value { value: Value::of(exact) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use smallfloat::formats::E4M3FN;

    #[test]
    fn codes_and_numbers_are_told_apart() {
        let read = |text| Typed::parse(text, &E4M3FN);
        assert_eq!(read("#39").expect("a code"), Typed::Code(0x39));
        for text in ["1e999999999", "-1e-999999999", "0x1p999999999999", "1p-500001"] {
            assert!(matches!(read(text), Err(ExplorerError::TooFar { .. })), "{text}");
        }
        for text in ["1e49999", "-1e-49999", "0x1p499999", "0e999999999", "inf"] {
            assert!(read(text).is_ok(), "{text}");
        }
        assert_eq!(read(" code:0B0_0111_001 ").expect("a code"), Typed::Code(0x39));
        assert_eq!(read("0x39p0").expect("a number").exact(&E4M3FN), Exact::from_i128(57));
        let nine_eighths = Exact::finite(false, 9, -3);
        for text in ["0x1.2p0", "9p-3", "0x9p-3"] {
            let Ok(Typed::Value(Exact::Finite { significand, exponent, .. })) = read(text) else {
                panic!("{text} is a number")
            };
            let zeros = significand.trailing_zeros();
            let canonical = Exact::finite(false, significand >> zeros, exponent + zeros.cast_signed());
            assert_eq!(canonical, nine_eighths, "{text}");
        }
        for wrong in ["0x", "0xg1", "0b2", "0b", "0x39", "#100", "one", "", "=1"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        assert!(read(&"1".repeat(30_000)).is_err());
    }
}
