//! Functions with the format in their name, as `sf_e4m3fn_mul`: values as codes, no handle, no
//! status.
//!
//! The table at the end has a row for each format; `include/fixed.h` declares what a row means.
//! Results are by the format's default projection. The functions that end in `_flags` add what they
//! raise to the caller's set, by Tesla's rules for Tesla's formats and by `ieee-before` for others.
//!
//! Nothing here can panic: operations on any codes are defined, and a bias has six bits. A panic
//! would end the program at the border, not unwind through C.

#![expect(clippy::inline_always, reason = "with a constant format everything folds, if it is inlined")]

use smallfloat::formats::{BFLOAT16, BINARY16, BINARY32, BINARY64};
use smallfloat::ops::{Comparison, Extremum, Operand, Operation, OperationOptions};
use smallfloat::{Flags, Format, Rounded, SmallFloat, convert};

/// How a fixed format computes.
trait Fixed: Copy {
    fn format(self) -> Format;

    /// With flags, by the core.
    fn rounded(self, operation: Operation, codes: &[u64]) -> Rounded<u64> {
        let format = self.format();
        let mut operands = [Operand::new(0, &format); 3];
        for (operand, code) in operands.iter_mut().zip(codes) {
            *operand = Operand::new(*code & format.max_code(), &format);
        }
        let options = OperationOptions::default_for(&[format]);
        operation.evaluate(&operands[..codes.len()], &format, &format.default_projection(), options)
    }

    /// Without flags.
    fn compute(self, operation: Operation, codes: &[u64]) -> u64 {
        self.rounded(operation, codes).value
    }

    fn encode32(self, x: f32) -> u64 {
        self.converted(x.to_bits().into(), &BINARY32).value
    }

    fn encode64(self, x: f64) -> u64 {
        self.converted(x.to_bits(), &BINARY64).value
    }

    fn decode32(self, code: u64) -> f32 {
        self.format().decode_f32(code).value
    }

    fn decode64(self, code: u64) -> f64 {
        self.format().decode_f64(code).value
    }

    /// From a code of another format, with flags.
    fn converted(self, code: u64, from: &Format) -> Rounded<u64> {
        let format = self.format();
        convert(code, from, &format, &format.default_projection())
    }

    fn compares(self, which: Comparison, x: u64, y: u64) -> bool {
        let format = self.format();
        which.evaluate(Operand::new(x, &format), Operand::new(y, &format)).value
    }
}

/// A format that has a type: the compiler folds what the format decides.
#[derive(Clone, Copy)]
struct Typed<S>(std::marker::PhantomData<S>);

impl<S: SmallFloat> Fixed for Typed<S> {
    #[inline(always)]
    fn format(self) -> Format {
        S::FORMAT
    }

    #[inline(always)]
    fn compute(self, operation: Operation, codes: &[u64]) -> u64 {
        let x = |i: usize| S::from_code(codes[i]);
        match operation {
            Operation::Add => x(0) + x(1),
            Operation::Subtract => x(0) - x(1),
            Operation::Multiply => x(0) * x(1),
            Operation::Divide => x(0) / x(1),
            Operation::Fma => x(0).mul_add(x(1), x(2)),
            Operation::Sqrt => x(0).sqrt(),
            _ => return self.rounded(operation, codes).value,
        }
        .code()
    }

    #[inline(always)]
    fn encode32(self, x: f32) -> u64 {
        S::from_f32(x).code()
    }

    #[inline(always)]
    fn encode64(self, x: f64) -> u64 {
        S::from_f64(x).code()
    }

    #[inline(always)]
    fn decode32(self, code: u64) -> f32 {
        S::from_code(code).to_f32()
    }

    #[inline(always)]
    fn decode64(self, code: u64) -> f64 {
        S::from_code(code).to_f64()
    }
}

/// Any other format.
#[derive(Clone, Copy)]
struct Any(Format);

impl Fixed for Any {
    fn format(self) -> Format {
        self.0
    }
}

/// One of Tesla's formats with its bias. Codes mean 2^−bias times what they mean at bias 0, so
/// conversions from and to binary32 scale the number and are those of a typed scalar; the rest is
/// the core's.
#[derive(Clone, Copy)]
struct Biased<S> {
    format: fn(i32) -> Result<Format, smallfloat::Error>,
    /// The format at bias 0.
    unscaled: Typed<S>,
    bias: u32,
}

impl<S: SmallFloat> Fixed for Biased<S> {
    fn format(self) -> Format {
        (self.format)((self.bias & 63).cast_signed())
            .unwrap_or_else(|_| unreachable!("every bias of six bits is one of Tesla's"))
    }

    /// In integers, whatever the host's settings. A number beyond binary32 when it is scaled is
    /// beyond the format too, and a subnormal one stays below half the format's smallest.
    #[inline(always)]
    fn encode32(self, x: f32) -> u64 {
        let exponent = x.to_bits() >> 23 & 0xff;
        let scaled = match exponent + (self.bias & 63) {
            _ if exponent == 0 || exponent == 255 => x,
            255.. => f32::MAX.copysign(x),
            _ => f32::from_bits(x.to_bits() + ((self.bias & 63) << 23)),
        };
        self.unscaled.encode32(scaled)
    }

    /// At bias 0 every value but 0 is at least 2^−10, so that the result is a normal number.
    #[inline(always)]
    fn decode32(self, code: u64) -> f32 {
        let bits = self.unscaled.decode32(code).to_bits();
        match bits >> 23 & 0xff {
            0 | 255 => f32::from_bits(bits),
            _ => f32::from_bits(bits - ((self.bias & 63) << 23)),
        }
    }
}

fn typed<S: SmallFloat>() -> Typed<S> {
    Typed(std::marker::PhantomData)
}

fn raise(flags: Option<&mut u32>, raised: Flags) {
    if let Some(flags) = flags {
        *flags |= u32::from(raised.bits());
    }
}

/// The low bits of a code: results of a format fit in its integer.
macro_rules! narrow {
    ($code:expr => $integer:ty) => {{
        #[expect(clippy::allow_attributes, reason = "u64 codes would not need it")]
        #[allow(clippy::cast_possible_truncation, reason = "a code fits in its format's integer")]
        {
            $code as $integer
        }
    }};
}

/// One function, and the one with flags.
macro_rules! function {
    ($format:ident, $end:literal, $function:ident, $integer:ty, $way:expr, $operation:expr,
        ($($x:ident),*) $(, $bias:ident)?) => {
        #[unsafe(export_name = concat!("sf_", stringify!($format), "_", $end))]
        extern "C" fn $function($($x: $integer,)* $($bias: u32)?) -> $integer {
            narrow!($way.compute($operation, &[$($x.into()),*]) => $integer)
        }

        const _: () = {
            #[unsafe(export_name = concat!("sf_", stringify!($format), "_", $end, "_flags"))]
            extern "C" fn flagged($($x: $integer,)* $($bias: u32,)? flags: Option<&mut u32>) -> $integer {
                let Rounded { value, flags: raised } = $way.rounded($operation, &[$($x.into()),*]);
                raise(flags, raised);
                narrow!(value => $integer)
            }
        };
    };
}

/// A conversion from a wide format, and the one with flags.
macro_rules! from {
    ($format:ident, $source:literal, $function:ident, $argument:ty, $integer:ty, $way:expr, $short:expr,
        $from:expr, $bits:expr $(, $bias:ident)?) => {
        #[unsafe(export_name = concat!("sf_", $source, "_to_", stringify!($format)))]
        extern "C" fn $function(x: $argument $(, $bias: u32)?) -> $integer {
            narrow!($short($way, x) => $integer)
        }

        const _: () = {
            #[unsafe(export_name = concat!("sf_", $source, "_to_", stringify!($format), "_flags"))]
            extern "C" fn flagged(x: $argument, $($bias: u32,)? flags: Option<&mut u32>) -> $integer {
                let Rounded { value, flags: raised } = $way.converted($bits(x), &$from);
                raise(flags, raised);
                narrow!(value => $integer)
            }
        };
    };
}

/// All functions of a format.
macro_rules! functions {
    ($name:ident, $integer:ident, $way:expr $(, $bias:ident)?) => {
        mod $name {
            #[allow(clippy::wildcard_imports, reason = "a module for each row of the table")]
            use super::*;

            function!($name, "add", add, $integer, $way, Operation::Add, (x, y) $(, $bias)?);
            function!($name, "sub", sub, $integer, $way, Operation::Subtract, (x, y) $(, $bias)?);
            function!($name, "mul", mul, $integer, $way, Operation::Multiply, (x, y) $(, $bias)?);
            function!($name, "div", div, $integer, $way, Operation::Divide, (x, y) $(, $bias)?);
            function!($name, "rem", rem, $integer, $way, Operation::Remainder, (x, y) $(, $bias)?);
            function!($name, "min", min, $integer, $way, Operation::Extremum(Extremum::Minimum), (x, y) $(, $bias)?);
            function!($name, "max", max, $integer, $way, Operation::Extremum(Extremum::Maximum), (x, y) $(, $bias)?);
            function!($name, "fma", fma, $integer, $way, Operation::Fma, (x, y, z) $(, $bias)?);
            function!($name, "sqrt", sqrt, $integer, $way, Operation::Sqrt, (x) $(, $bias)?);
            function!($name, "neg", neg, $integer, $way, Operation::Negate, (x) $(, $bias)?);
            function!($name, "abs", abs, $integer, $way, Operation::Abs, (x) $(, $bias)?);
            from!($name, "f32", from_f32, f32, $integer, $way, Fixed::encode32, BINARY32,
                |x: f32| u64::from(x.to_bits()) $(, $bias)?);
            from!($name, "f64", from_f64, f64, $integer, $way, Fixed::encode64, BINARY64,
                |x: f64| x.to_bits() $(, $bias)?);
            from!($name, "f16", from_f16, u16, $integer, $way,
                |way, x: u16| Fixed::converted(way, x.into(), &BINARY16).value, BINARY16, u64::from $(, $bias)?);
            from!($name, "bf16", from_bf16, u16, $integer, $way,
                |way, x: u16| Fixed::converted(way, x.into(), &BFLOAT16).value, BFLOAT16, u64::from $(, $bias)?);

            #[unsafe(export_name = concat!("sf_", stringify!($name), "_to_f32"))]
            extern "C" fn to_f32(x: $integer $(, $bias: u32)?) -> f32 {
                $way.decode32(x.into())
            }

            #[unsafe(export_name = concat!("sf_", stringify!($name), "_to_f64"))]
            extern "C" fn to_f64(x: $integer $(, $bias: u32)?) -> f64 {
                $way.decode64(x.into())
            }

            #[unsafe(export_name = concat!("sf_", stringify!($name), "_eq"))]
            extern "C" fn eq(x: $integer, y: $integer $(, $bias: u32)?) -> bool {
                $way.compares(Comparison::Equal, x.into(), y.into())
            }

            #[unsafe(export_name = concat!("sf_", stringify!($name), "_lt"))]
            extern "C" fn lt(x: $integer, y: $integer $(, $bias: u32)?) -> bool {
                $way.compares(Comparison::Less, x.into(), y.into())
            }

            #[unsafe(export_name = concat!("sf_", stringify!($name), "_le"))]
            extern "C" fn le(x: $integer, y: $integer $(, $bias: u32)?) -> bool {
                $way.compares(Comparison::LessEqual, x.into(), y.into())
            }

            #[unsafe(export_name = concat!("sf_", stringify!($name), "_is_nan"))]
            extern "C" fn is_nan(x: $integer $(, $bias: u32)?) -> bool {
                $way.format().decode(x.into()).is_nan()
            }
        }
    };
}

/// The table: name, integer, and how it computes; then Tesla's formats whose bias is an argument.
macro_rules! table {
    (without bias { $($name:ident: $integer:ident = $way:expr;)* }
        with bias { $($of_bias:ident: $wide:ident = $scalar:ident;)* }) => {
        $(functions!($name, $integer, $way);)*
        $(functions!($of_bias, $wide,
            Biased { format: Format::$of_bias, unscaled: typed::<smallfloat::$scalar<0>>(), bias }, bias);)*

        /// Formats with their integers, for the header: those without a bias, those with one.
        pub const FORMATS: [&[(&str, &str)]; 2] = [
            &[$((stringify!($name), stringify!($integer))),*],
            &[$((stringify!($of_bias), stringify!($wide))),*],
        ];
    };
}

table! {
    without bias {
        e4m3fn: u8 = typed::<smallfloat::E4M3Fn>();
        e5m2: u8 = typed::<smallfloat::E5M2>();
        e4m3fnuz: u8 = typed::<smallfloat::E4M3Fnuz>();
        e5m2fnuz: u8 = typed::<smallfloat::E5M2Fnuz>();
        e4m3b11fnuz: u8 = typed::<smallfloat::E4M3B11Fnuz>();
        e4m3: u8 = typed::<smallfloat::E4M3>();
        e3m4: u8 = typed::<smallfloat::E3M4>();
        e3m2fn: u8 = typed::<smallfloat::E3M2Fn>();
        e2m3fn: u8 = typed::<smallfloat::E2M3Fn>();
        e2m1fn: u8 = typed::<smallfloat::E2M1Fn>();
        e8m0fnu: u8 = typed::<smallfloat::E8M0Fnu>();
        e3m0fn: u8 = typed::<smallfloat::E3M0Fn>();
        ue4m3: u8 = typed::<smallfloat::UE4M3>();
        ue5m3: u8 = typed::<smallfloat::UE5M3>();
        f16: u16 = typed::<smallfloat::F16>();
        bf16: u16 = typed::<smallfloat::Bf16>();
        uhp: u16 = typed::<smallfloat::Uhp>();
        tf32: u32 = Any(smallfloat::formats::TF32);
        fp24: u32 = Any(smallfloat::formats::FP24);
        binary8p1se: u8 = typed::<smallfloat::Binary8p1se>();
        binary8p2se: u8 = typed::<smallfloat::Binary8p2se>();
        binary8p3se: u8 = typed::<smallfloat::Binary8p3se>();
        binary8p4se: u8 = typed::<smallfloat::Binary8p4se>();
        binary8p5se: u8 = typed::<smallfloat::Binary8p5se>();
        binary8p6se: u8 = typed::<smallfloat::Binary8p6se>();
        binary8p7se: u8 = typed::<smallfloat::Binary8p7se>();
        binary8p3sf: u8 = typed::<smallfloat::Binary8p3sf>();
        binary8p4sf: u8 = typed::<smallfloat::Binary8p4sf>();
        binary8p5sf: u8 = typed::<smallfloat::Binary8p5sf>();
        binary8p1ue: u8 = typed::<smallfloat::Binary8p1ue>();
        binary8p1uf: u8 = typed::<smallfloat::Binary8p1uf>();
        binary6p3se: u8 = typed::<smallfloat::Binary6p3se>();
        binary6p4se: u8 = typed::<smallfloat::Binary6p4se>();
        binary6p3sf: u8 = typed::<smallfloat::Binary6p3sf>();
        binary6p4sf: u8 = typed::<smallfloat::Binary6p4sf>();
        binary4p2se: u8 = typed::<smallfloat::Binary4p2se>();
        binary4p2sf: u8 = typed::<smallfloat::Binary4p2sf>();
    }
    with bias {
        cfloat8_1_4_3: u8 = CFloat8_1_4_3;
        cfloat8_1_5_2: u8 = CFloat8_1_5_2;
        shp: u16 = Shp;
    }
}
