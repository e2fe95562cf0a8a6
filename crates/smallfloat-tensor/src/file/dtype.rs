//! The element types of safetensors files.
//!
//! The list is that of the safetensors format (crate `safetensors` 0.8, `Dtype`). Small formats
//! outside it, such as CFloat8, travel as [`Dtype::U8`] or [`Dtype::U16`] codes.

use crate::error::by_name;

/// The most dimensions of a tensor that are read or written: as many as NumPy has.
pub(crate) const MAX_DIMENSIONS: usize = 64;

macro_rules! dtypes {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $bits:literal;)*) => {
        /// An element type of a safetensors file.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Dtype {
            $($(#[$doc])* $variant,)*
        }

        impl Dtype {
            /// Every element type, in the order of the format's own list.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// Returns the name in a file's header.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// Returns the bits per element.
            pub const fn bits(self) -> u32 {
                match self { $(Self::$variant => $bits,)* }
            }
        }
    };
}

dtypes! {
    /// A truth value in a byte.
    Bool = "BOOL", 8;
    /// OCP MX FP4 (E2M1), two elements per byte.
    F4 = "F4", 4;
    /// OCP MX FP6 E2M3, four elements in three bytes.
    F6E2M3 = "F6_E2M3", 6;
    /// OCP MX FP6 E3M2, four elements in three bytes.
    F6E3M2 = "F6_E3M2", 6;
    /// Unsigned byte.
    U8 = "U8", 8;
    /// Signed byte.
    I8 = "I8", 8;
    /// OCP FP8 E5M2.
    F8E5M2 = "F8_E5M2", 8;
    /// OCP FP8 E4M3, elsewhere called E4M3FN.
    F8E4M3 = "F8_E4M3", 8;
    /// OCP MX scale, a power of two.
    F8E8M0 = "F8_E8M0", 8;
    /// FP8 E4M3 without infinities and negative zero.
    F8E4M3Fnuz = "F8_E4M3FNUZ", 8;
    /// FP8 E5M2 without infinities and negative zero.
    F8E5M2Fnuz = "F8_E5M2FNUZ", 8;
    /// Signed 16-bit integer.
    I16 = "I16", 16;
    /// Unsigned 16-bit integer.
    U16 = "U16", 16;
    /// IEEE 754 binary16.
    F16 = "F16", 16;
    /// bfloat16.
    BF16 = "BF16", 16;
    /// Signed 32-bit integer.
    I32 = "I32", 32;
    /// Unsigned 32-bit integer.
    U32 = "U32", 32;
    /// IEEE 754 binary32.
    F32 = "F32", 32;
    /// A complex number of two binary32 parts.
    C64 = "C64", 64;
    /// IEEE 754 binary64.
    F64 = "F64", 64;
    /// Signed 64-bit integer.
    I64 = "I64", 64;
    /// Unsigned 64-bit integer.
    U64 = "U64", 64;
}

impl Dtype {
    /// Whether this is a float wide enough to be worth quantizing: F64, F32, F16 or BF16.
    pub const fn is_wide_float(self) -> bool {
        matches!(self, Self::F64 | Self::F32 | Self::F16 | Self::BF16)
    }

    /// Returns the fewest bytes that hold whole elements: the element itself, or for types below a
    /// byte the group that fills whole bytes (one byte of two F4, three bytes of four F6).
    pub const fn group_bytes(self) -> usize {
        match self.bits() {
            4 => 1,
            6 => 3,
            bits => (bits / 8) as usize,
        }
    }

    /// Returns the elements in [`group_bytes`](Self::group_bytes).
    pub const fn group_elements(self) -> usize {
        match self.bits() {
            4 => 2,
            6 => 4,
            _ => 1,
        }
    }

    /// Returns the bytes that `elements` of this type take; `None` where they overflow or don't
    /// fill whole bytes.
    pub const fn byte_len(self, elements: u64) -> Option<u64> {
        match elements.checked_mul(self.bits() as u64) {
            Some(bits) if bits % 8 == 0 => Some(bits / 8),
            _ => None,
        }
    }
}

/// The number of elements of a shape, or `None` where a product of its non-zero dimensions
/// overflows 64 bits: such a shape has no strides, even where a zero makes it empty.
pub(crate) fn elements(shape: &[u64]) -> Option<u64> {
    let product = shape.iter().filter(|&&d| d != 0).try_fold(1u64, |product, &d| product.checked_mul(d))?;
    Some(if shape.contains(&0) { 0 } else { product })
}

by_name!(Dtype, Self::ALL.iter().copied(), "dtype");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip_and_match_the_reference_crate() {
        assert_eq!(Dtype::ALL.len(), 22);
        for &dtype in Dtype::ALL {
            assert_eq!(dtype.name().parse::<Dtype>().ok(), Some(dtype));
            let reference: safetensors::Dtype =
                serde_json::from_value(serde_json::Value::String(dtype.name().into())).unwrap();
            assert_eq!(reference.bitsize(), dtype.bits() as usize, "{dtype}");
        }
        for wrong in ["", "f32", "F32 ", "F8", "F128"] {
            assert_eq!(wrong.parse::<Dtype>().ok(), None);
        }
    }

    #[test]
    fn groups_fill_whole_bytes() {
        for &dtype in Dtype::ALL {
            let bits = dtype.group_elements() * dtype.bits() as usize;
            assert_eq!(bits, dtype.group_bytes() * 8, "{dtype}");
        }
    }

    #[test]
    fn byte_lengths() {
        assert_eq!(Dtype::F32.byte_len(3), Some(12));
        assert_eq!(Dtype::F4.byte_len(3), None);
        assert_eq!(Dtype::F6E2M3.byte_len(4), Some(3));
        assert_eq!(Dtype::F64.byte_len(u64::MAX), None);
        assert_eq!(Dtype::Bool.byte_len(0), Some(0));
    }

    #[test]
    fn wide_floats_are_four() {
        let wide: Vec<_> = Dtype::ALL.iter().filter(|d| d.is_wide_float()).map(|d| d.name()).collect();
        assert_eq!(wide, ["F16", "BF16", "F32", "F64"]);
    }

    #[test]
    fn element_counts() {
        assert_eq!(elements(&[]), Some(1));
        assert_eq!(elements(&[2, 3]), Some(6));
        assert_eq!(elements(&[2, 0]), Some(0));
        assert_eq!(elements(&[1 << 33, 1 << 33]), None);
        assert_eq!(elements(&[0, 1 << 33, 1 << 33]), None);
    }
}
