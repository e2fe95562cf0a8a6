//! Functions in binary32 and binary64 as programs compute them: the library's function, or the
//! usual formula where a C library has none. Each step is rounded.

use std::f32::consts::PI as PI_32;
use std::f64::consts::PI as PI_64;

use smallfloat::formats::{BFLOAT16, BINARY32, BINARY64};
use smallfloat::ops::Operand;

/// A function of one to three numbers.
#[derive(Clone, Copy, Debug)]
pub(super) enum Host<T> {
    One(fn(T) -> T),
    Two(fn(T, T) -> T),
    Three(fn(T, T, T) -> T),
}

/// The table of functions, once for each type: the names of libm's functions differ by their
/// suffix.
macro_rules! functions {
    ($float:ty, $pi:ident; $exp:ident $exp2:ident $expm1:ident $log:ident $log2:ident $log1p:ident $sqrt:ident
        $sin:ident $cos:ident $tan:ident $asin:ident $acos:ident $atan:ident $sinh:ident $cosh:ident $tanh:ident
        $asinh:ident $acosh:ident $atanh:ident $hypot:ident $atan2:ident $fma:ident $fmod:ident $remainder:ident
        $copysign:ident) => {
        impl Host<$float> {
            const ALL: [(&'static str, Self); 43] = [
                ("Convert", Self::One(|x| x)),
                ("Negate", Self::One(|x| -x)),
                ("Abs", Self::One(<$float>::abs)),
                ("CopySign", Self::Two(libm::$copysign)),
                ("Add", Self::Two(|x, y| x + y)),
                ("Subtract", Self::Two(|x, y| x - y)),
                ("Multiply", Self::Two(|x, y| x * y)),
                ("Divide", Self::Two(|x, y| x / y)),
                ("Remainder", Self::Two(libm::$remainder)),
                ("Fmod", Self::Two(libm::$fmod)),
                ("FMA", Self::Three(libm::$fma)),
                ("FAA", Self::Three(|x, y, z| x + y + z)),
                ("Sqrt", Self::One(libm::$sqrt)),
                ("Recip", Self::One(|x| 1.0 / x)),
                ("RSqrt", Self::One(|x| 1.0 / libm::$sqrt(x))),
                ("Exp", Self::One(libm::$exp)),
                ("Exp2", Self::One(libm::$exp2)),
                ("ExpMinusOne", Self::One(libm::$expm1)),
                ("Log", Self::One(libm::$log)),
                ("Log2", Self::One(libm::$log2)),
                ("LogOnePlus", Self::One(libm::$log1p)),
                ("Softplus", Self::One(|x| libm::$log1p(libm::$exp(x)))),
                ("Sin", Self::One(libm::$sin)),
                ("Cos", Self::One(libm::$cos)),
                ("Tan", Self::One(libm::$tan)),
                ("ArcSin", Self::One(libm::$asin)),
                ("ArcCos", Self::One(libm::$acos)),
                ("ArcTan", Self::One(libm::$atan)),
                ("Sinh", Self::One(libm::$sinh)),
                ("Cosh", Self::One(libm::$cosh)),
                ("Tanh", Self::One(libm::$tanh)),
                ("ArcSinh", Self::One(libm::$asinh)),
                ("ArcCosh", Self::One(libm::$acosh)),
                ("ArcTanh", Self::One(libm::$atanh)),
                ("SinPi", Self::One(|x| libm::$sin($pi * x))),
                ("CosPi", Self::One(|x| libm::$cos($pi * x))),
                ("TanPi", Self::One(|x| libm::$tan($pi * x))),
                ("ArcSinPi", Self::One(|x| libm::$asin(x) / $pi)),
                ("ArcCosPi", Self::One(|x| libm::$acos(x) / $pi)),
                ("ArcTanPi", Self::One(|x| libm::$atan(x) / $pi)),
                ("Hypot", Self::Two(libm::$hypot)),
                ("ArcTan2", Self::Two(libm::$atan2)),
                ("ArcTan2Pi", Self::Two(|y, x| libm::$atan2(y, x) / $pi)),
            ];

            /// The function of an operation's name.
            pub(super) fn named(name: &str) -> Option<Self> {
                Self::ALL.iter().find(|row| row.0 == name).map(|row| row.1)
            }

            pub(super) fn call(self, operands: &[Operand<'_>]) -> $float {
                let x = |i: usize| operands.get(i).map_or(0.0, <$float as Read>::read);
                match self {
                    Self::One(f) => f(x(0)),
                    Self::Two(f) => f(x(0), x(1)),
                    Self::Three(f) => f(x(0), x(1), x(2)),
                }
            }
        }
    };
}

functions!(f32, PI_32; expf exp2f expm1f logf log2f log1pf sqrtf sinf cosf tanf asinf acosf atanf sinhf coshf tanhf
    asinhf acoshf atanhf hypotf atan2f fmaf fmodf remainderf copysignf);
functions!(f64, PI_64; exp exp2 expm1 log log2 log1p sqrt sin cos tan asin acos atan sinh cosh tanh
    asinh acosh atanh hypot atan2 fma fmod remainder copysign);

/// The names of all functions.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    Host::<f32>::ALL.iter().map(|row| row.0)
}

/// An operand as a number of the machine, rounded to nearest even where it must be.
trait Read {
    fn read(operand: &Operand<'_>) -> Self;
}

impl Read for f32 {
    #[expect(clippy::cast_possible_truncation, reason = "codes of these formats have 32 and 16 bits")]
    fn read(operand: &Operand<'_>) -> Self {
        // The formats of long sweeps need no search for the leading bit.
        if *operand.format == BINARY32 {
            Self::from_bits(operand.code as u32)
        } else if *operand.format == BFLOAT16 {
            Self::from_bits((operand.code as u32) << 16)
        } else {
            operand.format.decode_f32(operand.code).value
        }
    }
}

impl Read for f64 {
    fn read(operand: &Operand<'_>) -> Self {
        if *operand.format == BINARY64 {
            Self::from_bits(operand.code)
        } else {
            operand.format.decode_f64(operand.code).value
        }
    }
}

#[cfg(test)]
mod tests {
    use smallfloat::formats::{BINARY16, E4M3FN};

    use super::*;

    #[test]
    fn operands_are_read_exactly() {
        let one_and_a_half =
            [(&BINARY32, 0x3fc0_0000), (&BFLOAT16, 0x3fc0), (&BINARY16, 0x3e00), (&E4M3FN, 0x3c)];
        for (format, code) in one_and_a_half {
            let operand = Operand::new(code, format);
            assert!((f32::read(&operand), f64::read(&operand)) == (1.5, 1.5), "{format}");
        }
        let add = Host::<f64>::named("Add").expect("a function");
        let operands = [Operand::new(0x3c, &E4M3FN), Operand::new(1.0_f64.to_bits(), &BINARY64)];
        assert_eq!(add.call(&operands).to_bits(), 2.5_f64.to_bits());
    }

    #[test]
    fn names_are_those_of_operations() {
        for name in names() {
            let known = name.parse::<smallfloat::ops::Operation>().ok();
            assert!(known.is_none_or(|operation| operation.name() == name), "{name}");
        }
        assert!(Host::<f32>::named("Exponential").is_none());
    }
}
