//! Data to learn from: any text, images in IDX files, and a small set of digits that comes with the
//! crate.

pub(crate) mod digits;
pub(crate) mod file;
pub(crate) mod idx;
pub(crate) mod images;
pub(crate) mod text;

pub use digits::{digit_pixels, digits};
pub use images::{Images, read_idx_folder};
pub use text::Text;

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use crate::error::{Error, Result};
use crate::matrix::Matrix;

/// The source of data.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DataSource {
    /// The digits that come with the crate.
    Digits,
    /// A text, or a folder with IDX files.
    Path(PathBuf),
}

impl fmt::Display for DataSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Digits => f.write_str("digits"),
            Self::Path(path) => path.display().fmt(f),
        }
    }
}

impl FromStr for DataSource {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "" => Err(Error::config("no data: name a text, a folder with IDX files, or digits")),
            path => Ok(OsString::from(path).into()),
        }
    }
}

/// From an argument, which may be no UTF-8.
impl From<OsString> for DataSource {
    fn from(text: OsString) -> Self {
        if text == "digits" { Self::Digits } else { Self::Path(text.into()) }
    }
}

/// The input of a model.
#[derive(Clone, PartialEq, Debug)]
pub enum Input {
    /// Tokens of sequences, one after the other.
    Tokens(Vec<u16>),
    /// A row for each image.
    Rows(Matrix),
}

/// Inputs and what should come out.
#[derive(Clone, PartialEq, Debug)]
pub struct Batch {
    /// The inputs.
    pub input: Input,
    /// A label for each row of the result.
    pub labels: Vec<u16>,
}

/// Data in two parts, one to learn from and one to be judged by.
pub trait Dataset: Send + Sync {
    /// The batch of a step, the same for the same seed and step.
    fn batch(&self, seed: u64, step: u64, size: usize) -> Batch;

    /// The batches of an evaluation, one after the other.
    fn validation(&self) -> Box<dyn Iterator<Item = Batch> + '_>;

    /// How many images there are to learn from, or places where a sequence begins.
    fn examples(&self) -> usize;

    /// How many images or sequences the largest batch of an evaluation has.
    fn validation_batch(&self) -> usize;

    /// How many labels there are.
    fn classes(&self) -> usize;

    /// A name for reports.
    fn name(&self) -> &str;

    /// A number that other data hardly have.
    fn digest(&self) -> u64;
}

/// FNV-1a of 64 bits (G. Fowler, L. C. Noll, K.-P. Vo; IETF draft-eastlake-fnv): finds accidents,
/// not forgeries.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Digest(pub(crate) u64);

impl Default for Digest {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Digest {
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_of_the_draft() {
        // draft-eastlake-fnv, appendix C: the empty string, "a", "foobar".
        for (text, digest) in
            [("", 0xcbf2_9ce4_8422_2325), ("a", 0xaf63_dc4c_8601_ec8c), ("foobar", 0x8594_4171_f739_67e8)]
        {
            let mut ours = Digest::default();
            ours.add(text.as_bytes());
            assert_eq!(ours.0, digest, "{text}");
        }
    }
}
