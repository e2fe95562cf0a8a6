//! `num_traits::Float`, for the types after IEEE 754's model: `E5M2`, `E4M3`, `E3M4`, `F16` and
//! `Bf16`.
//!
//! Its generic code counts on ±∞, NaN, −0 and signed results, which the other types lack: E4M3FN
//! would answer `infinity()` with NaN or its maximum. Every function is exact, then rounded once by
//! the type's default projection, but for `fract` and the like, which are exact by nature.

use core::num::FpCategory;

use ::num_traits::Float;
use ::num_traits::float::FloatCore;

use crate::format::datum::Datum;
use crate::math::powers;
use crate::scalar::for_each_scalar;

macro_rules! implement {
    ($(#[$doc:meta])* $name:ident ($($row:tt)*)
        = $format:expr; negative_zero subnormal infinity negative_infinity nan) => {
        /// Every function correctly rounded (features `num-traits`, `math` and `std`).
        impl Float for crate::scalar::$name {
            implement! { @constants
                nan NAN; infinity INFINITY; neg_infinity NEG_INFINITY; neg_zero NEG_ZERO; min_value MIN;
                min_positive_value MIN_POSITIVE; epsilon EPSILON; max_value MAX;
            }
            implement! { @bool
                is_nan is_infinite is_finite is_normal is_subnormal is_sign_positive is_sign_negative
            }
            implement! { @unary
                abs signum recip sqrt exp exp2 ln log2 sin cos tan asin acos atan exp_m1 ln_1p sinh cosh tanh
                asinh acosh atanh
            }
            implement! { @binary max min hypot atan2 copysign }
            implement! { @powers
                log10 logarithm10; cbrt cube_root; to_degrees degrees; to_radians radians; floor floor; ceil ceiling;
                round nearest_integer; trunc integer_part;
            }

            fn classify(self) -> FpCategory {
                self.classify()
            }
            fn mul_add(self, y: Self, z: Self) -> Self {
                self.mul_add(y, z)
            }
            fn powi(self, n: i32) -> Self {
                let n = Datum::finite(n < 0, n.unsigned_abs().into(), 0);
                Self::from_exact(powers::power(self.to_datum(), n))
            }
            fn powf(self, y: Self) -> Self {
                Self::from_exact(powers::power(self.to_datum(), y.to_datum()))
            }
            fn log(self, base: Self) -> Self {
                Self::from_exact(powers::logarithm_to(self.to_datum(), base.to_datum()))
            }
            fn fract(self) -> Self {
                self - Float::trunc(self)
            }
            fn abs_sub(self, other: Self) -> Self {
                if self <= other { Self::ZERO } else { self - other }
            }
            fn sin_cos(self) -> (Self, Self) {
                (self.sin(), self.cos())
            }
            fn integer_decode(self) -> (u64, i16, i8) {
                FloatCore::integer_decode(self)
            }
        }
    };
    ($(#[$doc:meta])* $name:ident $($rest:tt)*) => {};

    (@constants $($method:ident $constant:ident;)*) => {
        $(
            fn $method() -> Self {
                Self::$constant
            }
        )*
    };
    (@bool $($method:ident)*) => {
        $(
            fn $method(self) -> bool {
                self.$method()
            }
        )*
    };
    (@unary $($method:ident)*) => {
        $(
            fn $method(self) -> Self {
                self.$method()
            }
        )*
    };
    (@binary $($method:ident)*) => {
        $(
            fn $method(self, other: Self) -> Self {
                self.$method(other)
            }
        )*
    };
    (@powers $($method:ident $function:ident;)*) => {
        $(
            fn $method(self) -> Self {
                Self::from_exact(powers::$function(self.to_datum()))
            }
        )*
    };
}

for_each_scalar!(implement);
