//! [`BlockScheme`]: a scheme whose scales belong to blocks of a row, by its name.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use smallfloat_tensor::{Granularity, Scheme};

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
