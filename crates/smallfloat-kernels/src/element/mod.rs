//! The element types of slices: wide floats, and codes.

pub(crate) mod classes;
#[cfg(feature = "half")]
mod half;
pub(crate) mod views;

use smallfloat::{Bf16, F16, Format, SmallFloat, formats};

use crate::element::classes::Classify;

mod sealed {
    pub trait Element {}
    pub trait Code {}
}

/// A slice of wide floats by type.
#[derive(Clone, Copy, Debug)]
pub enum Lanes<'a> {
    /// binary32 itself.
    F32(&'a [f32]),
    /// binary16.
    F16(&'a [F16]),
    /// bfloat16.
    Bf16(&'a [Bf16]),
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
    /// Words.
    Words(&'a [u32]),
    /// Double words.
    Longs(&'a [u64]),
}

impl<'a> Codes<'a> {
    /// The bytes, if that is what they are.
    pub(crate) fn bytes(self) -> Option<&'a [u8]> {
        match self {
            Self::Bytes(codes) => Some(codes),
            Self::Halves(_) | Self::Words(_) | Self::Longs(_) => None,
        }
    }
}

/// Room for codes.
#[derive(Debug)]
pub enum CodesMut<'a> {
    /// Bytes.
    Bytes(&'a mut [u8]),
    /// Half-words.
    Halves(&'a mut [u16]),
    /// Words.
    Words(&'a mut [u32]),
    /// Double words.
    Longs(&'a mut [u64]),
}

impl<'a> CodesMut<'a> {
    /// The bytes, if that is what they are.
    pub(crate) fn bytes(self) -> Option<&'a mut [u8]> {
        match self {
            Self::Bytes(codes) => Some(codes),
            Self::Halves(_) | Self::Words(_) | Self::Longs(_) => None,
        }
    }
}

/// Room for elements.
#[derive(Debug)]
pub enum LanesMut<'a> {
    /// binary32.
    F32(&'a mut [f32]),
    /// binary16.
    F16(&'a mut [F16]),
    /// bfloat16.
    Bf16(&'a mut [Bf16]),
    /// binary64.
    F64(&'a mut [f64]),
}

/// A wide float: `f32`, `f64`, [`F16`] or [`Bf16`]; with the feature `half` also that crate's `f16`
/// and `bf16`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no wide float",
    label = "not `f32`, `f64`, `F16` or `Bf16`",
    note = "elements are `f32`, `f64`, `smallfloat::F16` and `smallfloat::Bf16`; with the feature `half` also `half::f16` \
            and `half::bf16`",
    note = "integers are converted first, as in `f64::from(x)`; codes and typed scalars are decoded"
)]
pub trait Element: sealed::Element + Classify + Copy + Default + Send + Sync + 'static {
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
        impl sealed::Element for $type {}
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
element!(F16, u16, formats::BINARY16, f16_to_f64, Lanes::F16, LanesMut::F16);
element!(Bf16, u16, formats::BFLOAT16, bf16_to_f64, Lanes::Bf16, LanesMut::Bf16);

/// The value of a binary16, exactly, in a few instructions.
#[inline]
fn f16_to_f64(x: F16) -> f64 {
    let bits = u64::from(x.to_bits());
    let (sign, magnitude) = ((bits & 0x8000) << 48, bits & 0x7fff);
    let wide = match magnitude {
        // Subnormals: steps of 2^−24.
        0..0x0400 => (f64::from(x.to_bits() & 0x7fff) / f64::from(1 << 24)).to_bits(),
        // The exponent's bias is 1023 instead of 15.
        0x0400..0x7c00 => (magnitude << 42) + ((1023 - 15) << 52),
        _ => (magnitude << 42) | 0x7ff << 52,
    };
    f64::from_bits(sign | wide)
}

/// The value of a bfloat16, exactly: the upper half of a binary32.
#[inline]
fn bf16_to_f64(x: Bf16) -> f64 {
    f64::from(f32::from_bits(u32::from(x.to_bits()) << 16))
}

/// The storage of a code: `u8` for formats of up to 8 bits, `u16` for any small one, `u32` and
/// `u64` for wide ones; and every typed scalar, which stores codes of its own format only.
#[diagnostic::on_unimplemented(
    message = "`{Self}` holds no codes",
    label = "not `u8`, `u16`, `u32`, `u64` or a typed scalar",
    note = "codes are `u8` for formats of up to 8 bits, `u16` for those of up to 16, and typed scalars such as \
            `smallfloat::E4M3Fn`",
    note = "bytes that are signed or of another library's type are seen as `u8` first"
)]
pub trait Code: sealed::Code + Copy + Send + Sync + 'static {
    /// Its width in bits.
    const BITS: u32;
    /// The format whose codes it stores, for a typed scalar; `None` for an integer.
    const SCALAR: Option<Format>;
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
        impl sealed::Code for $type {}
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_lossless,
            trivial_numeric_casts,
            reason = "the caller chose a code type as wide as the format"
        )]
        impl Code for $type {
            const BITS: u32 = Self::BITS;
            const SCALAR: Option<Format> = None;

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
code!(u32, Codes::Words, CodesMut::Words);
code!(u64, Codes::Longs, CodesMut::Longs);

/// Codes of typed scalars are seen as the integers that hold them.
macro_rules! scalar {
    ($(#[$doc:meta])* $name:ident $(<$parameter:ident: $kind:ty>)? ($bits:ident, $($row:tt)*) $($rest:tt)*) => {
        impl $(<const $parameter: $kind>)? sealed::Code for smallfloat::$name $(<$parameter>)? {}
        impl $(<const $parameter: $kind>)? Code for smallfloat::$name $(<$parameter>)? {
            const BITS: u32 = $bits::BITS;
            const SCALAR: Option<Format> = Some(<Self as SmallFloat>::FORMAT);

            #[inline]
            fn from_code(code: u32) -> Self {
                SmallFloat::from_code(code.into())
            }

            #[inline]
            fn code(self) -> usize {
                self.to_bits().into()
            }

            #[inline]
            fn truncate(code: u64) -> Self {
                SmallFloat::from_code(code)
            }

            #[inline]
            fn widen(self) -> u64 {
                self.to_bits().into()
            }

            #[inline]
            fn as_codes(codes: &[Self]) -> Codes<'_> {
                scalar!(@codes $bits Codes)(views::codes(codes))
            }

            #[inline]
            fn as_codes_mut(codes: &mut [Self]) -> CodesMut<'_> {
                scalar!(@codes $bits CodesMut)(views::codes_mut(codes))
            }
        }
    };
    (@codes u8 $slices:ident) => {
        $slices::Bytes
    };
    (@codes u16 $slices:ident) => {
        $slices::Halves
    };
}

smallfloat::__for_each_scalar!(scalar);

/// Panics if codes of a format can't be stored in a type.
#[track_caller]
pub(crate) fn check_code<C: Code>(format: &Format) {
    assert!(format.width() <= C::BITS, "{format} needs codes wider than {} bits", C::BITS);
    if let Some(scalar) = C::SCALAR {
        assert!(scalar == *format, "codes of {format} are no scalars of {scalar}");
    }
}

/// Panics if codes that are read are scalars of another format.
#[track_caller]
pub(crate) fn check_operand<C: Code>(format: &Format) {
    if let Some(scalar) = C::SCALAR {
        assert!(scalar == *format, "scalars of {scalar} are no codes of {format}");
    }
}

/// Panics if slices that belong together differ in length.
#[track_caller]
pub(crate) fn check_lengths(first: (usize, &str), second: (usize, &str)) {
    let ((n, things), (m, others)) = (first, second);
    assert!(n == m, "{n} {things} and {m} {others}: both slices must have the same length");
}

/// Rows of A and of B in slices of these lengths.
#[track_caller]
pub(crate) fn check_rows([a, b]: [usize; 2], length: usize, results: usize) -> (usize, usize) {
    assert!(length > 0, "rows must have elements");
    assert!(a.is_multiple_of(length) && b.is_multiple_of(length), "slices must hold whole rows");
    let (rows, columns) = (a / length, b / length);
    assert!(
        results == rows * columns,
        "{results} results for {rows} and {columns} rows: there must be one result for each pair of rows"
    );
    (rows, columns)
}

#[cfg(test)]
mod tests {
    use smallfloat::{Bf16, E4M3Fn, F16};

    use super::{Code, Element};

    #[test]
    fn halves_are_exact() {
        for bits in 0..=u16::MAX {
            let (x, y) = (F16::from_bits(bits), Bf16::from_bits(bits));
            for (fast, exact) in [(Element::to_f64(x), x.to_f64()), (Element::to_f64(y), y.to_f64())] {
                assert!(fast.to_bits() == exact.to_bits() || fast.is_nan() && exact.is_nan(), "{bits:#x}");
            }
        }
    }

    #[test]
    fn scalars_are_their_codes() {
        let mut x = [E4M3Fn::ONE, E4M3Fn::NAN];
        assert_eq!(E4M3Fn::as_codes(&x).bytes(), Some(&[0x38, 0x7f][..]));
        E4M3Fn::as_codes_mut(&mut x).bytes().expect("bytes")[1] = 0x40;
        assert_eq!(x.map(E4M3Fn::to_bits), [0x38, 0x40]);
        assert!(F16::as_codes(&[F16::ONE]).bytes().is_none());
    }

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
