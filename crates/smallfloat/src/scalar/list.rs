//! The list of the scalar types: one row each, and no other code per type.

/// Applies a macro to every row:
///
/// ```text
/// /// documentation
/// Name<BIAS: i32> (bits, full|part, signed|unsigned, zero|nonzero) = format; what else the format has
/// ```
///
/// `bits` is the integer that holds a code and `full` says that every value of it is one. The
/// remaining words name the data the format has, each a constant of the type; the descriptor is
/// checked against them at compile time. Where the parameter decides all of this the words are
/// `custom` and `either`, and constants are checked where they are used.
#[doc(hidden)]
#[macro_export]
macro_rules! __for_each_scalar {
    ($apply:ident) => {
        $apply! {
            /// OCP E4M3 (`e4m3fn`): 4 exponent bits, maximum 448, NaN, no infinity.
            E4M3Fn (u8, full, signed, zero) = formats::E4M3FN; negative_zero subnormal nan
        }
        $apply! {
            /// OCP E5M2 (`e5m2`): 5 exponent bits, maximum 57344, NaN and infinities as IEEE 754
            /// has them.
            E5M2 (u8, full, signed, zero) = formats::E5M2; negative_zero subnormal infinity negative_infinity nan
        }
        $apply! {
            /// E4M3 with bias 8 and NaN on the code of −0 (`e4m3fnuz`, arXiv 2206.02915): maximum
            /// 240.
            E4M3Fnuz (u8, full, signed, zero) = formats::E4M3FNUZ; subnormal nan
        }
        $apply! {
            /// E5M2 with bias 16 and NaN on the code of −0 (`e5m2fnuz`, arXiv 2206.02915): maximum
            /// 57344.
            E5M2Fnuz (u8, full, signed, zero) = formats::E5M2FNUZ; subnormal nan
        }
        $apply! {
            /// E4M3 with bias 11 and NaN on the code of −0 (`e4m3b11fnuz`, XLA): maximum 30.
            E4M3B11Fnuz (u8, full, signed, zero) = formats::E4M3B11FNUZ; subnormal nan
        }
        $apply! {
            /// E4M3 after IEEE 754's model (`e4m3`): maximum 240, with infinities.
            E4M3 (u8, full, signed, zero) = formats::E4M3; negative_zero subnormal infinity negative_infinity nan
        }
        $apply! {
            /// E3M4 after IEEE 754's model (`e3m4`): maximum 15.5, with infinities.
            E3M4 (u8, full, signed, zero) = formats::E3M4; negative_zero subnormal infinity negative_infinity nan
        }
        $apply! {
            /// OCP FP6 E3M2 (`e3m2fn`): 6 bits, every code a number, maximum 28.
            /// By default larger values become ±28 and NaN a zero.
            E3M2Fn (u8, part, signed, zero) = formats::E3M2FN; negative_zero subnormal
        }
        $apply! {
            /// OCP FP6 E2M3 (`e2m3fn`): 6 bits, every code a number, maximum 7.5.
            /// By default larger values become ±7.5 and NaN a zero.
            E2M3Fn (u8, part, signed, zero) = formats::E2M3FN; negative_zero subnormal
        }
        $apply! {
            /// OCP FP4 E2M1 (`e2m1fn`): 4 bits, every code a number, maximum 6. By
            /// default larger values become ±6 and NaN a zero.
            E2M1Fn (u8, part, signed, zero) = formats::E2M1FN; negative_zero subnormal
        }
        $apply! {
            /// OCP E8M0 (`e8m0fnu`): the scale of MX blocks, a power of two from 2^−127 to 2^127;
            /// NaN, no zero, no sign.
            E8M0Fnu (u8, full, unsigned, nonzero) = formats::E8M0FNU; nan
        }
        $apply! {
            /// oneDNN's FP4 E3M0 (`e3m0fn`): 4 bits, ±0 and the powers of two 0.25..16.
            E3M0Fn (u8, part, signed, zero) = formats::E3M0FN; negative_zero
        }
        $apply! {
            /// The unsigned E4M3 of block scales (`ue4m3`, PTX ISA): 7 bits, maximum 448, NaN.
            UE4M3 (u8, part, unsigned, zero) = formats::UE4M3; subnormal nan
        }
        $apply! {
            /// The unsigned E5M3 of block scales (`ue5m3`, CUDA Math API): maximum 114688, NaN.
            UE5M3 (u8, full, unsigned, zero) = formats::UE5M3; subnormal nan
        }
        $apply! {
            /// IEEE 754 binary16, half precision. The name leaves `f16` to the language.
            F16 (u16, full, signed, zero) = formats::BINARY16; negative_zero subnormal infinity negative_infinity nan
        }
        $apply! {
            /// bfloat16: binary32's exponent with 8 bits of precision.
            Bf16 (u16, full, signed, zero) = formats::BFLOAT16; negative_zero subnormal infinity negative_infinity nan
        }
        $apply! {
            /// Tesla's CFloat8 with 4 exponent and 3 mantissa bits and the bias `BIAS` (paper,
            /// Table 3): every code a number, results beyond the range clamp.
            ///
            /// A bias above 63 does not compile:
            ///
            /// ```compile_fail,E0080
            /// let x = smallfloat::CFloat8_1_4_3::<64>::from_f32(1.0);
            /// ```
            ///
            /// Nor does `ONE` where the bias leaves no such value:
            ///
            /// ```compile_fail,E0080
            /// let one = smallfloat::CFloat8_1_4_3::<63>::ONE;
            /// ```
            CFloat8_1_4_3<BIAS: i32> (u8, full, signed, zero) = unwrap(Format::cfloat8_1_4_3(BIAS)); negative_zero subnormal
        }
        $apply! {
            /// Tesla's CFloat8 with 5 exponent and 2 mantissa bits and the bias `BIAS`, 0..=63
            /// (paper, Table 3): every code a number, results beyond the range clamp.
            CFloat8_1_5_2<BIAS: i32> (u8, full, signed, zero) = unwrap(Format::cfloat8_1_5_2(BIAS)); negative_zero subnormal
        }
        $apply! {
            /// Tesla's signed half precision with the bias `BIAS`, 0..=63 (paper, Table 6): every
            /// code a number, results beyond the range clamp.
            Shp<BIAS: i32> (u16, full, signed, zero) = unwrap(Format::shp(BIAS)); negative_zero subnormal
        }
        $apply! {
            /// Tesla's unsigned half precision (paper, Table 6): 6 exponent bits; subnormal codes
            /// read as zero and results flush to it.
            Uhp (u16, full, unsigned, zero) = formats::UHP; infinity nan
        }
        $apply! {
            /// A format of your own in a byte: at most 8 bits. `KEY` is its
            /// [`Format::key`]; [`define_format!`](crate::define_format) gives the type a name.
            ///
            /// A constant that the format has no value for does not compile where it is used:
            ///
            /// ```compile_fail,E0080
            /// smallfloat::define_format! { type Halves(u8) = smallfloat::Format::cfloat8_1_4_3(63); }
            /// let one = Halves::ONE;
            /// ```
            Custom8<KEY: u64> (u8, custom, either, zero) = Format::from_key(KEY, u8::BITS);
                nan infinity negative_infinity negative_zero subnormal
        }
        $apply! {
            /// A format of your own in a half-word: 9 to 16 bits, or fewer. As [`Custom8`].
            Custom16<KEY: u64> (u16, custom, either, zero) = Format::from_key(KEY, u16::BITS);
                nan infinity negative_infinity negative_zero subnormal
        }
        $crate::__for_each_scalar! { p3109 $apply
            "8-bit", full:
            Binary8p1se(8, 1, Signed, Extended) infinity negative_infinity;
            Binary8p2se(8, 2, Signed, Extended) subnormal infinity negative_infinity;
            Binary8p3se(8, 3, Signed, Extended) subnormal infinity negative_infinity;
            Binary8p4se(8, 4, Signed, Extended) subnormal infinity negative_infinity;
            Binary8p5se(8, 5, Signed, Extended) subnormal infinity negative_infinity;
            Binary8p6se(8, 6, Signed, Extended) subnormal infinity negative_infinity;
            Binary8p7se(8, 7, Signed, Extended) subnormal infinity negative_infinity;
            Binary8p3sf(8, 3, Signed, Finite) subnormal;
            Binary8p4sf(8, 4, Signed, Finite) subnormal;
            Binary8p5sf(8, 5, Signed, Finite) subnormal;
        }
        $crate::__for_each_scalar! { p3109 $apply
            "6-bit", part:
            Binary6p3se(6, 3, Signed, Extended) subnormal infinity negative_infinity;
            Binary6p4se(6, 4, Signed, Extended) subnormal infinity negative_infinity;
            Binary6p3sf(6, 3, Signed, Finite) subnormal;
            Binary6p4sf(6, 4, Signed, Finite) subnormal;
        }
        $crate::__for_each_scalar! { p3109 $apply
            "4-bit", part:
            Binary4p2se(4, 2, Signed, Extended) subnormal infinity negative_infinity;
            Binary4p2sf(4, 2, Signed, Finite) subnormal;
        }
        $crate::__for_each_scalar! { p3109_unsigned $apply
            Binary8p1ue(8, 1, Unsigned, Extended) infinity;
            Binary8p1uf(8, 1, Unsigned, Finite);
        }
    };
    (p3109 $apply:ident $width:literal, $fill:ident:
        $($name:ident($k:literal, $p:literal, $s:ident, $d:ident) $($has:ident)*;)*) => {
        $($apply! {
            #[doc = concat!("P3109's `", stringify!($name), "`: ", $width, ", precision ", $p, ", signed, ",
                stringify!($d), "; one NaN, one zero.")]
            $name (u8, $fill, signed, zero) =
                unwrap(Format::p3109($k, $p, Signedness::$s, Domain::$d)); $($has)* nan
        })*
    };
    (p3109_unsigned $apply:ident
        $($name:ident($k:literal, $p:literal, $s:ident, $d:ident) $($has:ident)*;)*) => {
        $($apply! {
            #[doc = concat!("P3109's `", stringify!($name), "`: precision ", $p, ", unsigned, ",
                stringify!($d), "; one NaN, one zero.")]
            $name (u8, full, unsigned, zero) =
                unwrap(Format::p3109($k, $p, Signedness::$s, Domain::$d)); $($has)* nan
        })*
    };
}
pub(super) use crate::__for_each_scalar as for_each_scalar;
