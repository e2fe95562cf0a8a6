//! [`Progress`]: what a long call tells its caller, and the stream of random words that belongs to
//! a tensor's name.

use sha2::{Digest, Sha256};

use crate::file::input::TensorInfo;

/// A report of progress by [`quantize`](crate::quantize()), [`verify_with`](crate::verify_with) and
/// others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Progress<'a> {
    /// It begins; this many bytes will be read.
    Start(u64),
    /// A tensor begins.
    Tensor(&'a str),
    /// This many bytes more have been read.
    Bytes(u64),
    /// The output is being verified.
    Verify,
}

/// Returns the stream of a tensor's random words: the first 8 bytes, little-endian, of SHA-256 of
/// its name.
pub fn stream_of_name(name: &str) -> u64 {
    let digest = Sha256::digest(name.as_bytes());
    digest.iter().take(8).rev().fold(0, |stream, &byte| stream << 8 | u64::from(byte))
}

/// The bytes of some of a tensor's elements; of packed ones they need not be whole.
pub(crate) fn share_of(info: &TensorInfo, elements: u64) -> u64 {
    part_of(info.len, elements, info.elements())
}

/// Of so many bytes of all elements those of some.
pub(crate) fn part_of(bytes: u64, elements: u64, all: u64) -> u64 {
    let part = u128::from(bytes) * u128::from(elements) / u128::from(all.max(1));
    u64::try_from(part).unwrap_or(bytes)
}
