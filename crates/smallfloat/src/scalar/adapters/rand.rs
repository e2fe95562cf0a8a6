//! `rand`: the standard uniform distribution on [0, 1).
//!
//! Only a bridge: `from_uniform_bits` takes the random word as an argument, and
//! [`random`](crate::random) addresses words that are the same everywhere. A sample is
//! an exact uniform number rounded down, so that every value has the probability that belongs to
//! it; rounding a uniform `f32` instead would reach 1.

use ::rand::Rng;
use ::rand::distr::{Distribution, StandardUniform};

use crate::scalar::for_each_scalar;

macro_rules! implement {
    ($(#[$doc:meta])* $name:ident $(<$bias:ident: $kind:ty>)? ($($row:tt)*) $($rest:tt)*) => {
        /// Uniform on [0, 1), rounded down.
        impl $(<const $bias: $kind>)? Distribution<crate::scalar::$name $(<$bias>)?> for StandardUniform {
            fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> crate::scalar::$name $(<$bias>)? {
                crate::scalar::$name::from_uniform_bits(rng.next_u64())
            }
        }
    };
}

for_each_scalar!(implement);
