//! The formats of the catalogue (`docs/formats.md`) by name.

use crate::{OracleFormat, Specials, Subnormals};

const fn signed(k: u32, p: u32, bias: i64, specials: Specials) -> OracleFormat {
    OracleFormat { k, p, bias, signed: true, specials, subnormals: Subnormals::Gradual }
}

/// Tesla's CFloat8_1_4_3 with the denormal formula of the paper.
pub const fn cfloat8_1_4_3(bias: i64) -> OracleFormat {
    OracleFormat { subnormals: Subnormals::Tesla, ..signed(8, 4, bias, Specials::Finite) }
}

/// Tesla's CFloat8_1_5_2 with the denormal formula of the paper.
pub const fn cfloat8_1_5_2(bias: i64) -> OracleFormat {
    OracleFormat { subnormals: Subnormals::Tesla, ..signed(8, 3, bias, Specials::Finite) }
}

/// Tesla's signed half precision.
pub const fn shp(bias: i64) -> OracleFormat {
    OracleFormat { subnormals: Subnormals::Tesla, ..signed(16, 11, bias, Specials::Finite) }
}

/// Tesla's unsigned half precision.
pub const UHP: OracleFormat =
    OracleFormat { signed: false, subnormals: Subnormals::Flush, ..signed(16, 11, 31, Specials::Ieee) };

/// IEEE 754 binary16.
pub const BINARY16: OracleFormat = signed(16, 11, 15, Specials::Ieee);
/// bfloat16.
pub const BFLOAT16: OracleFormat = signed(16, 8, 127, Specials::Ieee);
/// NVIDIA's TensorFloat-32: a sign, 8 exponent bits and 10 more.
pub const TF32: OracleFormat = signed(19, 11, 127, Specials::Ieee);
/// The 24 bits of ATI's R300: a sign, 7 exponent bits and 16 more.
pub const FP24: OracleFormat = signed(24, 17, 63, Specials::Ieee);
/// IEEE 754 binary32.
pub const BINARY32: OracleFormat = signed(32, 24, 127, Specials::Ieee);
/// IEEE 754 binary64.
pub const BINARY64: OracleFormat = signed(64, 53, 1023, Specials::Ieee);
/// OCP E4M3.
pub const E4M3FN: OracleFormat = signed(8, 4, 7, Specials::NanAllOnes);
/// E4M3FNUZ.
pub const E4M3FNUZ: OracleFormat = signed(8, 4, 8, Specials::NanNegZero);
/// E4M3B11FNUZ.
pub const E4M3B11FNUZ: OracleFormat = signed(8, 4, 11, Specials::NanNegZero);
/// OCP E5M2.
pub const E5M2: OracleFormat = signed(8, 3, 15, Specials::Ieee);
/// E5M2FNUZ.
pub const E5M2FNUZ: OracleFormat = signed(8, 3, 16, Specials::NanNegZero);
/// The IEEE-like E4M3 of ml_dtypes.
pub const E4M3: OracleFormat = signed(8, 4, 7, Specials::Ieee);
/// The IEEE-like E3M4 of ml_dtypes.
pub const E3M4: OracleFormat = signed(8, 5, 3, Specials::Ieee);
/// OCP FP6 E3M2.
pub const E3M2FN: OracleFormat = signed(6, 3, 3, Specials::Finite);
/// OCP FP6 E2M3.
pub const E2M3FN: OracleFormat = signed(6, 4, 1, Specials::Finite);
/// OCP FP4 E2M1.
pub const E2M1FN: OracleFormat = signed(4, 2, 1, Specials::Finite);
/// OCP's scale format E8M0.
pub const E8M0FNU: OracleFormat = OracleFormat { signed: false, ..signed(8, 1, 127, Specials::E8m0) };
/// oneDNN's E3M0.
pub const E3M0FN: OracleFormat = signed(4, 1, 3, Specials::Finite);
/// PTX's UE4M3.
pub const UE4M3: OracleFormat = OracleFormat { signed: false, ..signed(7, 4, 7, Specials::NanAllOnes) };
/// CUDA's UE5M3.
pub const UE5M3: OracleFormat = OracleFormat { signed: false, ..signed(8, 4, 15, Specials::NanAllOnes) };

/// A format of the P3109 draft, with the bias that the draft gives it.
pub const fn p3109(k: u32, p: u32, signed: bool, extended: bool) -> OracleFormat {
    OracleFormat {
        k,
        p,
        bias: if signed { 1 << (k - p - 1) } else { 1 << (k - p) },
        signed,
        specials: if extended { Specials::P3109Extended } else { Specials::P3109Finite },
        subnormals: Subnormals::Gradual,
    }
}
