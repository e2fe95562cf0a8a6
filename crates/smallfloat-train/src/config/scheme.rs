//! [`BlockScheme`]: a scheme whose scales belong to blocks of a row, by its name.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use smallfloat::Rounding;
use smallfloat_tensor::{Granularity, Options, ScaleRule, ScaleSpec, Scheme};

use crate::error::{Error, Result};

/// A scheme of `smallfloat_tensor` with a scale for each block of a row, such as `mxfp8-e4m3`,
/// `mxfp4` or `nvfp4`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BlockScheme(Scheme);

impl BlockScheme {
    /// Returns the scheme.
    pub fn scheme(&self) -> &Scheme {
        &self.0
    }

    /// Returns the options of quantizing by the scheme, with another rule for its scales if one is
    /// given.
    pub(crate) fn options(&self, rounding: Option<Rounding>, rule: Option<ScaleRule>) -> Options {
        let own = self.0.scale.expect("a scheme has scales where it was read");
        let scale = ScaleSpec { rule: rule.unwrap_or(own.rule), ..own };
        Options { scale: Some(scale), rounding, ..self.0.options() }
    }
}

impl fmt::Display for BlockScheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for BlockScheme {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let scheme: Scheme = text.parse()?;
        if scheme.scale.is_some() && matches!(scheme.granularity, Granularity::Block { rows: 1, .. }) {
            return Ok(Self(scheme));
        }
        Err(Error::config(format!(
            "scheme {scheme} has no scales for blocks of a row: take mxfp8-e4m3, mxfp4, nvfp4 or another that has, or a \
             `format` with a `bias`"
        )))
    }
}

impl TryFrom<String> for BlockScheme {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<BlockScheme> for String {
    fn from(scheme: BlockScheme) -> Self {
        scheme.to_string()
    }
}

/// The name of a scale rule in a configuration.
pub(crate) mod scale_rule {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};
    use smallfloat_tensor::ScaleRule;

    #[expect(clippy::ref_option, clippy::trivially_copy_pass_by_ref, reason = "what serde asks for")]
    pub(crate) fn serialize<S: Serializer>(rule: &Option<ScaleRule>, to: S) -> Result<S::Ok, S::Error> {
        match rule {
            Some(rule) => to.serialize_str(rule.name()),
            None => to.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<Option<ScaleRule>, D::Error> {
        String::deserialize(from)?.parse().map(Some).map_err(D::Error::custom)
    }
}
