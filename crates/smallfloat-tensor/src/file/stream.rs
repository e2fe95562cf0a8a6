//! Bytes of files ⇄ slices of numbers.

use std::fmt;
use std::io;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use smallfloat_kernels::Code;

/// Runs a block with `$type` standing for the element type of a dtype, or `else` for dtypes that
/// are no wide floats.
macro_rules! with_element {
    ($dtype:expr, $type:ident => $body:expr, else $other:expr) => {
        match $dtype {
            $crate::file::dtype::Dtype::F64 => {
                type $type = f64;
                $body
            }
            $crate::file::dtype::Dtype::F32 => {
                type $type = f32;
                $body
            }
            $crate::file::dtype::Dtype::F16 => {
                type $type = smallfloat::F16;
                $body
            }
            $crate::file::dtype::Dtype::BF16 => {
                type $type = smallfloat::Bf16;
                $body
            }
            _ => $other,
        }
    };
}
pub(crate) use with_element;

/// A SHA-256, which is printed and serialized in hexadecimal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TensorDigest(pub(crate) [u8; 32]);

impl fmt::Display for TensorDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl Serialize for TensorDigest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for TensorDigest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let digits = || de::Error::custom("`sha256` is not 64 hexadecimal digits in small letters");
        let is_digit = |c: &u8| matches!(c, b'0'..=b'9' | b'a'..=b'f');
        if text.len() != 64 || !text.as_bytes().iter().all(is_digit) {
            return Err(digits());
        }
        let mut digest = [0; 32];
        for (byte, place) in digest.iter_mut().zip(0..) {
            *byte = u8::from_str_radix(&text[2 * place..2 * place + 2], 16).map_err(|_| digits())?;
        }
        Ok(Self(digest))
    }
}

/// Counts the bytes that are written to it, and drops them.
#[derive(Default)]
pub(crate) struct ByteCount(pub(crate) u64);

impl io::Write for ByteCount {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The code in one or two little-endian bytes.
pub(crate) fn code_at(bytes: &[u8]) -> u16 {
    match *bytes {
        [low] => u16::from(low),
        [low, high] => u16::from_le_bytes([low, high]),
        _ => 0,
    }
}

/// A code type with its bytes in a file.
pub(crate) trait StoredCode: Code + Default {
    /// Appends the bytes of codes.
    fn append(codes: &[Self], out: &mut Vec<u8>);
    /// Replaces a buffer's content by the codes of bytes.
    fn from_bytes(bytes: &[u8], codes: &mut Vec<Self>);
    /// The codes, if each is a byte.
    fn bytes(codes: &[Self]) -> Option<&[u8]>;
    /// Memory for codes, if each is a byte.
    fn of_bytes_mut(bytes: &mut [u8]) -> Option<&mut [Self]>;
}

impl StoredCode for u8 {
    fn append(codes: &[Self], out: &mut Vec<u8>) {
        out.extend_from_slice(codes);
    }

    fn from_bytes(bytes: &[u8], codes: &mut Vec<Self>) {
        codes.clear();
        codes.extend_from_slice(bytes);
    }

    fn bytes(codes: &[Self]) -> Option<&[u8]> {
        Some(codes)
    }

    fn of_bytes_mut(bytes: &mut [u8]) -> Option<&mut [Self]> {
        Some(bytes)
    }
}

impl StoredCode for u16 {
    fn append(codes: &[Self], out: &mut Vec<u8>) {
        out.extend(codes.iter().flat_map(|code| code.to_le_bytes()));
    }

    fn from_bytes(bytes: &[u8], codes: &mut Vec<Self>) {
        codes.clear();
        codes.extend(bytes.chunks_exact(2).map(code_at));
    }

    fn bytes(_: &[Self]) -> Option<&[u8]> {
        None
    }

    fn of_bytes_mut(_: &mut [u8]) -> Option<&mut [Self]> {
        None
    }
}
