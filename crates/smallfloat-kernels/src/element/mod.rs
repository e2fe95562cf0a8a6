//! The element types of slices: wide floats, and codes.

pub(crate) mod classes;

use half::{bf16, f16};
use smallfloat::{Format, formats};

use crate::element::classes::Classify;

mod sealed {
    pub trait Sealed {}
}

/// A slice of wide floats by type.
#[derive(Clone, Copy, Debug)]
pub enum Lanes<'a> {
    /// binary32 itself.
    F32(&'a [f32]),
    /// binary16.
    F16(&'a [f16]),
    /// bfloat16.
    Bf16(&'a [bf16]),
    /// binary64.
    F64(&'a [f64]),
}

/// A slice of codes by type.
#[derive(Clone, Copy, Debug)]
pub enum Codes<'a> {
    /// Bytes.
    Bytes(&'a [u8]),
    /// Half-words.
    Halves(&'a [u16]),
    /// None of these.
    Other,
}

impl<'a> Codes<'a> {
    /// The bytes, if that is what they are.
    pub(crate) fn bytes(self) -> Option<&'a [u8]> {
        match self {
            Self::Bytes(codes) => Some(codes),
            Self::Halves(_) | Self::Other => None,
        }
    }
}

/// The same to be written.
#[derive(Debug)]
pub enum CodesMut<'a> {
    /// Bytes.
    Bytes(&'a mut [u8]),
    /// Half-words.
    Halves(&'a mut [u16]),
    /// None of these.
    Other,
}

impl<'a> CodesMut<'a> {
    /// The bytes, if that is what they are.
    pub(crate) fn bytes(self) -> Option<&'a mut [u8]> {
        match self {
            Self::Bytes(codes) => Some(codes),
            Self::Halves(_) | Self::Other => None,
        }
    }
}

/// The same to be written.
#[derive(Debug)]
pub enum LanesMut<'a> {
    /// binary32.
    F32(&'a mut [f32]),
    /// binary16.
    F16(&'a mut [f16]),
    /// bfloat16.
    Bf16(&'a mut [bf16]),
    /// binary64.
    F64(&'a mut [f64]),
}

/// A wide float: `f32`, `f64`, [`f16`](struct@f16) or [`bf16`].
pub trait Element: sealed::Sealed + Classify + Copy + Default + Send + Sync + 'static {
    /// Its format.
    const FORMAT: Format;
    /// Its bytes in a file.
    const SIZE: usize;
    /// Its code.
    fn bits(self) -> u64;
    /// The value of a code; higher bits are ignored.
    fn from_bits(bits: u64) -> Self;
    /// The value as `f64`, exactly.
    fn to_f64(self) -> f64;
    /// The value of `SIZE` little-endian bytes.
    fn from_le_slice(bytes: &[u8]) -> Self;
    /// Appends the value's little-endian bytes.
    fn push_le(self, bytes: &mut Vec<u8>);
    #[doc(hidden)]
    fn lanes(values: &[Self]) -> Lanes<'_>;
    #[doc(hidden)]
    fn lanes_mut(values: &mut [Self]) -> LanesMut<'_>;
}

macro_rules! element {
    ($type:ty, $bits:ty, $format:expr, $to_f64:expr, $lanes:expr, $lanes_mut:expr) => {
        impl sealed::Sealed for $type {}
        impl Element for $type {
            const FORMAT: Format = $format;
            const SIZE: usize = size_of::<$bits>();

            #[inline]
            fn bits(self) -> u64 {
                u64::from(self.to_bits())
            }

            #[inline]
            #[allow(
                clippy::cast_possible_truncation,
                reason = "higher bits are ignored; none are cut from u64"
            )]
            fn from_bits(bits: u64) -> Self {
                Self::from_bits(bits as $bits)
            }

            #[inline]
            fn to_f64(self) -> f64 {
                $to_f64(self)
            }

            #[inline]
            fn from_le_slice(bytes: &[u8]) -> Self {
                let mut array = [0; Self::SIZE];
                array.copy_from_slice(bytes);
                Self::from_le_bytes(array)
            }

            #[inline]
            fn push_le(self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_le_bytes());
            }

            #[inline]
            fn lanes(values: &[Self]) -> Lanes<'_> {
                $lanes(values)
            }

            #[inline]
            fn lanes_mut(values: &mut [Self]) -> LanesMut<'_> {
                $lanes_mut(values)
            }
        }
    };
}

element!(f32, u32, formats::BINARY32, f64::from, Lanes::F32, LanesMut::F32);
element!(f64, u64, formats::BINARY64, core::convert::identity, Lanes::F64, LanesMut::F64);
element!(f16, u16, formats::BINARY16, f16::to_f64, Lanes::F16, LanesMut::F16);
element!(bf16, u16, formats::BFLOAT16, bf16::to_f64, Lanes::Bf16, LanesMut::Bf16);

/// The storage of a code: `u8` for formats of up to 8 bits, `u16` for any small one, `u32` and
/// `u64` for wide ones.
pub trait Code: sealed::Sealed + Copy + Default + Send + Sync + 'static {
    /// Its width in bits.
    const BITS: u32;
    /// The low bits of a code.
    fn from_code(code: u32) -> Self;
    /// The code.
    fn code(self) -> usize;
    /// The low bits of a code of any width.
    fn truncate(code: u64) -> Self;
    /// The code as the widest one.
    fn widen(self) -> u64;
    #[doc(hidden)]
    fn as_codes(codes: &[Self]) -> Codes<'_>;
    #[doc(hidden)]
    fn as_codes_mut(codes: &mut [Self]) -> CodesMut<'_>;
}

macro_rules! code {
    ($type:ty, $codes:expr, $codes_mut:expr) => {
        impl sealed::Sealed for $type {}
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_lossless,
            trivial_numeric_casts,
            reason = "the caller chose a code type as wide as the format"
        )]
        impl Code for $type {
            const BITS: u32 = Self::BITS;

            #[inline]
            fn from_code(code: u32) -> Self {
                code as Self
            }

            #[inline]
            fn code(self) -> usize {
                self as usize
            }

            #[inline]
            fn truncate(code: u64) -> Self {
                code as Self
            }

            #[inline]
            fn widen(self) -> u64 {
                self as u64
            }

            #[inline]
            fn as_codes(codes: &[Self]) -> Codes<'_> {
                $codes(codes)
            }

            #[inline]
            fn as_codes_mut(codes: &mut [Self]) -> CodesMut<'_> {
                $codes_mut(codes)
            }
        }
    };
}

code!(u8, Codes::Bytes, CodesMut::Bytes);
code!(u16, Codes::Halves, CodesMut::Halves);
code!(u32, |_| Codes::Other, |_| CodesMut::Other);
code!(u64, |_| Codes::Other, |_| CodesMut::Other);

#[cfg(test)]
mod tests {
    use super::Code;

    #[test]
    fn which_codes_are_bytes() {
        assert_eq!(u8::as_codes(&[1, 2]).bytes(), Some(&[1, 2][..]));
        assert!(u16::as_codes(&[1]).bytes().is_none() && u32::as_codes(&[1]).bytes().is_none());
        assert_eq!(u8::as_codes_mut(&mut [1, 2]).bytes(), Some(&mut [1, 2][..]));
        assert!(
            u16::as_codes_mut(&mut [1]).bytes().is_none() && u32::as_codes_mut(&mut [1]).bytes().is_none()
        );
    }
}
