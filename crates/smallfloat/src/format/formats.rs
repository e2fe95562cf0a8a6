//! The catalogue: formats with fixed parameters as constants. A new format is a row here and no
//! code.
//!
//! Formats whose bias is data are made by [`Format::cfloat8_1_4_3`], [`Format::cfloat8_1_5_2`] and
//! [`Format::shp`]; the P3109 family by [`Format::p3109`].

use crate::format::{Family, Format, Parameters, Signedness, Specials, Subnormals};

const fn row(
    family: Family,
    (width, precision, bias): (u32, u32, i32),
    signedness: Signedness,
    specials: Specials,
    subnormals: Subnormals,
) -> Format {
    Format::row(family, Parameters { width, precision, bias, signedness, specials, subnormals })
}

const fn signed(family: Family, size: (u32, u32, i32), specials: Specials) -> Format {
    row(family, size, Signedness::Signed, specials, Subnormals::Gradual)
}

/// Tesla's unsigned half precision (paper, Table 6): 6 exponent bits, bias 31, subnormals flushed.
pub const UHP: Format =
    row(Family::Tesla, (16, 11, 31), Signedness::Unsigned, Specials::Ieee, Subnormals::Flush);

/// IEEE 754 binary16, half precision.
pub const BINARY16: Format = signed(Family::Ieee, (16, 11, 15), Specials::Ieee);
/// bfloat16: binary32's exponent, 8 bits of precision.
pub const BFLOAT16: Format = signed(Family::Ieee, (16, 8, 127), Specials::Ieee);
/// NVIDIA's TensorFloat-32: binary32's exponent and binary16's precision, 19 bits.
pub const TF32: Format = signed(Family::Ieee, (19, 11, 127), Specials::Ieee);
/// The 24 bits of ATI's R300 and R420 shaders: 7 exponent bits and 17 bits of precision, here with
/// IEEE 754's special values and subnormals.
pub const FP24: Format = signed(Family::Ieee, (24, 17, 63), Specials::Ieee);
/// IEEE 754 binary32, single precision.
pub const BINARY32: Format = signed(Family::Ieee, (32, 24, 127), Specials::Ieee);
/// IEEE 754 binary64, double precision.
pub const BINARY64: Format = signed(Family::Ieee, (64, 53, 1023), Specials::Ieee);

/// OCP E4M3: maximum 448, NaN on S.1111.111, no infinity.
pub const E4M3FN: Format = signed(Family::MlDtypes, (8, 4, 7), Specials::NanAllOnes);
/// OCP E5M2: IEEE 754's model, maximum 57344.
pub const E5M2: Format = signed(Family::MlDtypes, (8, 3, 15), Specials::Ieee);
/// E4M3 with NaN on the code of −0, bias 8, maximum 240.
pub const E4M3FNUZ: Format = signed(Family::MlDtypes, (8, 4, 8), Specials::NanNegativeZero);
/// XLA's E4M3 with NaN on the code of −0 and bias 11, maximum 30 (RFC "E4M3B11FNUZ in XLA").
pub const E4M3B11FNUZ: Format = signed(Family::MlDtypes, (8, 4, 11), Specials::NanNegativeZero);
/// E5M2 with NaN on the code of −0, bias 16, maximum 57344.
pub const E5M2FNUZ: Format = signed(Family::MlDtypes, (8, 3, 16), Specials::NanNegativeZero);
/// E4M3 after IEEE 754's model: maximum 240, with infinities.
pub const E4M3: Format = signed(Family::MlDtypes, (8, 4, 7), Specials::Ieee);
/// E3M4 after IEEE 754's model: maximum 15.5, with infinities.
pub const E3M4: Format = signed(Family::MlDtypes, (8, 5, 3), Specials::Ieee);
/// OCP FP6 E3M2: every code a number, maximum 28.
pub const E3M2FN: Format = signed(Family::MlDtypes, (6, 3, 3), Specials::Finite);
/// OCP FP6 E2M3: every code a number, maximum 7.5.
pub const E2M3FN: Format = signed(Family::MlDtypes, (6, 4, 1), Specials::Finite);
/// OCP FP4 E2M1: every code a number, maximum 6.
pub const E2M1FN: Format = signed(Family::MlDtypes, (4, 2, 1), Specials::Finite);
/// OCP E8M0: the power-of-two scale of MX blocks, 2^−127..2^127, no zero.
pub const E8M0FNU: Format =
    row(Family::MlDtypes, (8, 1, 127), Signedness::Unsigned, Specials::E8m0, Subnormals::None);

/// OCP MX's FP4 with the other split, E3M0, as oneDNN has it (`f4_e3m0`): ±0 and the powers of two
/// 0.25..16, every code a number.
pub const E3M0FN: Format = signed(Family::Minifloat, (4, 1, 3), Specials::Finite);
/// The unsigned E4M3 of block scales, 7 bits (PTX ISA, `ue4m3`): E4M3FN without its sign, maximum
/// 448, NaN on 0x7F.
pub const UE4M3: Format =
    row(Family::Minifloat, (7, 4, 7), Signedness::Unsigned, Specials::NanAllOnes, Subnormals::Gradual);
/// The unsigned E5M3 of block scales (CUDA Math API, `__nv_fp8_ue5m3`): bias 15, maximum 114688,
/// NaN on 0xFF.
pub const UE5M3: Format =
    row(Family::Minifloat, (8, 4, 15), Signedness::Unsigned, Specials::NanAllOnes, Subnormals::Gradual);

/// A named row of the catalogue.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Named {
    /// The name it prints as.
    pub name: &'static str,
    /// Other spellings that parse.
    pub aliases: &'static [&'static str],
    /// The format; for Tesla's configurable formats with the bias that equals IEEE 754's.
    pub format: Format,
    /// Where it is defined.
    pub source: &'static str,
}

const fn with_bias(format: Result<Format, crate::Error>) -> Format {
    match format {
        Ok(format) => format,
        Err(_) => panic!("a bias of the catalogue is in range"),
    }
}

const OCP: &str = "OCP 8-bit Floating Point 1.0";
const MX: &str = "OCP Microscaling Formats 1.0";
const IEEE: &str = "IEEE 754-2019";
const TESLA: &str = "Tesla Dojo Technology paper";

/// Every named format. The P3109 family and `ieee:`/`minifloat:` are built from parameters instead.
#[rustfmt::skip]
pub const CATALOGUE: &[Named] = &[
    Named { name: "cfloat8_1_4_3", aliases: &["cfloat8-1-4-3", "cfloat_1_4_3"], format: with_bias(Format::cfloat8_1_4_3(7)), source: TESLA },
    Named { name: "cfloat8_1_5_2", aliases: &["cfloat8-1-5-2", "cfloat_1_5_2"], format: with_bias(Format::cfloat8_1_5_2(15)), source: TESLA },
    Named { name: "shp", aliases: &["cfloat16_shp"], format: with_bias(Format::shp(15)), source: TESLA },
    Named { name: "uhp", aliases: &["cfloat16_uhp"], format: UHP, source: TESLA },
    Named { name: "e4m3fn", aliases: &["ocp-e4m3", "float8_e4m3fn", "f8e4m3fn", "f8_e4m3"], format: E4M3FN, source: OCP },
    Named { name: "e5m2", aliases: &["ocp-e5m2", "float8_e5m2", "f8e5m2", "f8_e5m2"], format: E5M2, source: OCP },
    Named { name: "e4m3fnuz", aliases: &["float8_e4m3fnuz", "f8e4m3fnuz"], format: E4M3FNUZ, source: "arXiv 2206.02915" },
    Named { name: "e5m2fnuz", aliases: &["float8_e5m2fnuz", "f8e5m2fnuz"], format: E5M2FNUZ, source: "arXiv 2206.02915" },
    Named { name: "e4m3b11fnuz", aliases: &["float8_e4m3b11fnuz", "f8e4m3b11fnuz"], format: E4M3B11FNUZ, source: "RFC E4M3B11FNUZ in XLA" },
    Named { name: "e4m3", aliases: &["float8_e4m3", "f8e4m3"], format: E4M3, source: "LLVM APFloat, ml_dtypes" },
    Named { name: "e3m4", aliases: &["float8_e3m4", "f8e3m4"], format: E3M4, source: "LLVM APFloat, ml_dtypes" },
    Named { name: "e3m2fn", aliases: &["float6_e3m2fn", "f6e3m2fn", "f6_e3m2"], format: E3M2FN, source: MX },
    Named { name: "e2m3fn", aliases: &["float6_e2m3fn", "f6e2m3fn", "f6_e2m3"], format: E2M3FN, source: MX },
    Named { name: "e2m1fn", aliases: &["float4_e2m1fn", "f4e2m1fn"], format: E2M1FN, source: MX },
    Named { name: "e8m0fnu", aliases: &["e8m0", "float8_e8m0fnu", "f8e8m0fnu", "f8_e8m0"], format: E8M0FNU, source: MX },
    Named { name: "e3m0fn", aliases: &["e3m0", "f4_e3m0", "float4_e3m0"], format: E3M0FN, source: "oneDNN, f4_e3m0" },
    Named { name: "ue4m3", aliases: &["fp8_ue4m3", "float8_ue4m3"], format: UE4M3, source: "PTX ISA, ue4m3" },
    Named { name: "ue5m3", aliases: &["fp8_ue5m3", "float8_ue5m3"], format: UE5M3, source: "CUDA Math API, ue5m3" },
    Named { name: "binary16", aliases: &["f16", "float16", "half"], format: BINARY16, source: IEEE },
    Named { name: "bfloat16", aliases: &["bf16"], format: BFLOAT16, source: "Google Brain; Tesla paper, Table 2" },
    Named { name: "tf32", aliases: &["tensorfloat32", "tensorfloat-32"], format: TF32, source: "NVIDIA; LLVM APFloat" },
    Named { name: "fp24", aliases: &["float24", "e7m16"], format: FP24, source: "ATI R300, Direct3D 9" },
    Named { name: "binary32", aliases: &["f32", "float32"], format: BINARY32, source: IEEE },
    Named { name: "binary64", aliases: &["f64", "float64"], format: BINARY64, source: IEEE },
];
