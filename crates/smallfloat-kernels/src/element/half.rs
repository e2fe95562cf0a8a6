//! The types of the crate `half` as elements: ours, bit for bit.

use half::{bf16, f16};
use smallfloat::{Bf16, F16, Format, formats};

use crate::element::{Element, Lanes, LanesMut, sealed};

macro_rules! element {
    ($theirs:ident, $ours:ident, $format:expr) => {
        impl sealed::Element for $theirs {}
        impl Element for $theirs {
            const FORMAT: Format = $format;
            const SIZE: usize = size_of::<u16>();

            #[inline]
            fn bits(self) -> u64 {
                self.to_bits().into()
            }

            #[inline]
            fn from_bits(bits: u64) -> Self {
                Self::from_bits(<$ours as Element>::from_bits(bits).to_bits())
            }

            #[inline]
            fn to_f64(self) -> f64 {
                Element::to_f64($ours::from_bits(self.to_bits()))
            }

            #[inline]
            fn from_le_slice(bytes: &[u8]) -> Self {
                Self::from_bits(<$ours as Element>::from_le_slice(bytes).to_bits())
            }

            #[inline]
            fn push_le(self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_le_bytes());
            }

            #[inline]
            fn lanes(values: &[Self]) -> Lanes<'_> {
                // SAFETY: both types are `repr(transparent)` over `u16`, so that each is valid
                // where the other is; address, length and lifetime are those of the slice.
                Lanes::$ours(unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), values.len()) })
            }

            #[inline]
            fn lanes_mut(values: &mut [Self]) -> LanesMut<'_> {
                // SAFETY: as in `lanes`; the slice is borrowed as long as the result.
                LanesMut::$ours(unsafe {
                    std::slice::from_raw_parts_mut(values.as_mut_ptr().cast(), values.len())
                })
            }
        }
    };
}

element!(f16, F16, formats::BINARY16);
element!(bf16, Bf16, formats::BFLOAT16);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Decoder, Encoder};

    /// Every value of both types, encoded and decoded as ours.
    #[test]
    fn as_ours() {
        let ours: Vec<F16> = (0..=u16::MAX).map(F16::from_bits).collect();
        let theirs: Vec<f16> = (0..=u16::MAX).map(f16::from_bits).collect();
        let projection = formats::E4M3FN.default_projection();
        let (mut expected, mut codes) = (vec![0_u8; 1 << 16], vec![0_u8; 1 << 16]);
        let counts =
            Encoder::new(&formats::E4M3FN, &projection).expect("an encoder").encode(&ours, &mut expected);
        let encoder = Encoder::<f16>::new(&formats::E4M3FN, &projection).expect("an encoder");
        assert_eq!((encoder.encode(&theirs, &mut codes), codes), (counts, expected));

        let codes: Vec<u8> = (0..=u8::MAX).collect();
        let (mut expected, mut values) = (vec![Bf16::ZERO; 256], vec![bf16::ZERO; 256]);
        Decoder::new(&formats::E5M2, None).expect("a decoder").decode(&codes, &mut expected);
        Decoder::new(&formats::E5M2, None).expect("a decoder").decode(&codes, &mut values);
        assert!(values.iter().zip(&expected).all(|(x, y)| x.to_bits() == y.to_bits()));
    }
}
