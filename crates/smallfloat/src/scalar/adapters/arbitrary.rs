//! `arbitrary`: every code, each as likely.

use ::arbitrary::{Arbitrary, Result, Unstructured};

use crate::scalar::for_each_scalar;

macro_rules! implement {
    ($(#[$doc:meta])* $name:ident $(<$bias:ident: $kind:ty>)? ($bits:ident, $($row:tt)*) $($rest:tt)*) => {
        impl<'a $(, const $bias: $kind)?> Arbitrary<'a> for crate::scalar::$name $(<$bias>)? {
            fn arbitrary(bytes: &mut Unstructured<'a>) -> Result<Self> {
                $bits::arbitrary(bytes).map(Self::from_bits)
            }

            fn size_hint(depth: usize) -> (usize, Option<usize>) {
                $bits::size_hint(depth)
            }
        }
    };
}

for_each_scalar!(implement);
