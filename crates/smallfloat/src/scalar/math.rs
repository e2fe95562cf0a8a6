//! Functions of the feature `math`: for each a row with its method, its operation and what it is.

use crate::ops::elementary::Elementary;
use crate::ops::operation::Operation;
use crate::scalar::for_each_scalar;

/// The methods of a type that has `computed(operation, operands)`; those of two operands with more
/// documentation.
macro_rules! methods {
    ($more:literal) => {
        methods! { @one
            exp Exp "e^x";
            exp2 Exp2 "2^x";
            exp_m1 ExpMinusOne "e^x − 1";
            ln Log "ln x";
            log2 Log2 "log2 x";
            ln_1p LogOnePlus "ln(1 + x)";
            softplus Softplus "ln(1 + e^x)";
            sin Sin "sin x";
            cos Cos "cos x";
            tan Tan "tan x";
            asin ArcSin "arcsin x";
            acos ArcCos "arccos x";
            atan ArcTan "arctan x";
            sinh Sinh "sinh x";
            cosh Cosh "cosh x";
            tanh Tanh "tanh x";
            asinh ArcSinh "arsinh x";
            acosh ArcCosh "arcosh x";
            atanh ArcTanh "artanh x";
            sin_pi SinPi "sin(π·x)";
            cos_pi CosPi "cos(π·x)";
            tan_pi TanPi "tan(π·x)";
            asin_pi ArcSinPi "arcsin(x) / π";
            acos_pi ArcCosPi "arccos(x) / π";
            atan_pi ArcTanPi "arctan(x) / π";
        }
        methods! { @two $more
            hypot Hypot y "√(x² + y²)";
            atan2 ArcTan2 x "The angle of the point (`x`, `self`) in radians, from −π to π";
            atan2_pi ArcTan2Pi x "The angle of the point (`x`, `self`) divided by π, from −1 to 1";
        }

        /// Returns 1 / √x, rounded once; of a negative value NaN, or what the format has instead.
        #[must_use]
        pub fn rsqrt(self) -> Self {
            Self::computed(Operation::RSqrt, &[self])
        }
    };
    (@one $($method:ident $function:ident $what:literal;)*) => {
        $(
            #[doc = concat!($what, ", rounded once.")]
            #[must_use]
            pub fn $method(self) -> Self {
                Self::computed(Operation::Elementary(Elementary::$function), &[self])
            }
        )*
    };
    (@two $more:literal $($method:ident $operation:ident $other:ident $what:literal;)*) => {
        $(
            #[doc = concat!($what, ", rounded once.", $more)]
            #[must_use]
            pub fn $method(self, $other: Self) -> Self {
                Self::computed(Operation::$operation, &[self, $other])
            }
        )*
    };
}

macro_rules! implement {
    ($(#[$doc:meta])* $name:ident $(<$bias:ident: $kind:ty>)? ($($row:tt)*) $($rest:tt)*) => {
        /// Functions by the format's default projection (feature `math`); special cases at
        /// [`Elementary`] and [`Operation`].
        impl $(<const $bias: $kind>)? super::$name $(<$bias>)? {
            fn computed(operation: Operation, operands: &[Self]) -> Self {
                Self::evaluate(operation, operands, &Self::FORMAT.default_projection()).value
            }

            methods! { "" }
        }
    };
}

for_each_scalar!(implement);

/// Functions by the format's default projection (feature `math`); special cases at [`Elementary`]
/// and [`Operation`].
impl super::Dynamic {
    fn computed(operation: Operation, operands: &[Self]) -> Self {
        Self::same_format(operation, operands)
    }

    methods! { "\n\n# Panics\nIf the formats differ." }
}
