//! The safetensors files. A fault must be reported at the last byte that was looked at when it
//! could be told: the offending character, the last byte of the offending value, or the byte before
//! an array or an object that must not be there.

use super::Case;

const TABLE: &str = include_str!("../data/malformed-safetensors.txt");

/// A file of this header and as many zero bytes of data.
pub(crate) fn file(header: impl AsRef<[u8]>, data: usize) -> Vec<u8> {
    let header = header.as_ref();
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend_from_slice(header);
    bytes.resize(bytes.len() + data, 0);
    bytes
}

/// Every case; the fault is at the byte before the mark.
pub(crate) fn cases() -> Vec<Case> {
    Case::all(TABLE, 1, |_, header| file(header, 0))
}
