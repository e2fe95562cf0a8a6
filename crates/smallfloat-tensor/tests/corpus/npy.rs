//! The `.npy` files. A fault must be reported at the byte where it begins.

use super::Case;

const TABLE: &str = include_str!("../data/malformed-npy.txt");

/// A file of this version and header, with as many zero bytes of data.
pub(crate) fn file(version: [u8; 2], header: &[u8], data: usize) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY".to_vec();
    bytes.extend(version);
    if version[0] == 1 {
        bytes.extend(u16::try_from(header.len()).unwrap().to_le_bytes());
    } else {
        bytes.extend(u32::try_from(header.len()).unwrap().to_le_bytes());
    }
    bytes.extend(header);
    bytes.resize(bytes.len() + data, 0);
    bytes
}

/// Every case; the fault is at the byte behind the mark.
pub(crate) fn cases() -> Vec<Case> {
    Case::all(TABLE, 0, |version, header| {
        let (major, minor) = version.unwrap_or("1.0").split_once('.').expect("a version");
        file([major, minor].map(|digits| digits.parse().expect("a version")), header, 0)
    })
}
