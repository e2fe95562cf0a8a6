//! How a result is rounded and what happens to the results that a format cannot hold.

use crate::{OracleFormat, Specials};

/// The nine rounding modes. `n` is the number of random bits and `r` their value, below 2^n.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rounding {
    /// To nearest, ties to the even code.
    NearestEven,
    /// To nearest, ties away from zero.
    NearestAway,
    /// Towards +∞.
    TowardPositive,
    /// Towards −∞.
    TowardNegative,
    /// Towards zero.
    TowardZero,
    /// Inexact results to the neighbour with the odd code.
    ToOdd,
    /// ⌊ν·2^n⌋ + r ≥ 2^n rounds away.
    StochasticA {
        /// Random bits.
        n: u32,
        /// Their value.
        r: u64,
    },
    /// ⌊ν·2^(n+1)⌋ + 2r + 1 ≥ 2^(n+1) rounds away.
    StochasticB {
        /// Random bits.
        n: u32,
        /// Their value.
        r: u64,
    },
    /// ν·2^n rounded to nearest (ties to even), plus r, ≥ 2^n rounds away.
    StochasticC {
        /// Random bits.
        n: u32,
        /// Their value.
        r: u64,
    },
}

/// What becomes of results beyond the largest finite number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Saturation {
    /// Everything clamps, infinities too.
    SatFinite,
    /// Finite results clamp, infinities stay where the format has them.
    SatPropagate,
    /// Infinity, else NaN, else the largest number; rounding towards zero stays finite.
    SatNone,
    /// The rule of the P3109 report 4.0, which clamps in formats without infinity.
    SatNoneV40,
}

/// Which NaN code a NaN becomes in a format that has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NanCode {
    /// The positive quiet NaN.
    Canonical,
    /// The largest positive NaN code.
    AllOnes,
    /// The quiet NaN with the sign of the operand (or of the number that overflowed).
    SignedQuiet,
}

/// What a NaN becomes in a format without NaN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NoNanRule {
    /// The largest number.
    Max,
    /// The largest number with the sign of the NaN.
    SignMax,
    /// Zero.
    Zero,
    /// What ml_dtypes 0.6.0 does in its 6- and 4-bit formats: NaN becomes −0 and −NaN becomes +0.
    MlDtypes,
}

/// What a negative number becomes in an unsigned format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NegativeRule {
    /// What the saturation mode says of a number below the range (the P3109 draft §6).
    BySaturation,
    /// NaN, unless it rounds to zero.
    Nan,
    /// Zero.
    Zero,
    /// As if the sign were not there.
    Magnitude,
}

/// What zero becomes in a format without zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ZeroRule {
    /// NaN.
    Nan,
    /// The smallest number.
    Min,
}

/// What becomes of −0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NegativeZero {
    /// −0 where the format has it, else 0.
    Keep,
    /// 0 always.
    Zero,
    /// An operand −0 becomes NaN; negative numbers that round to zero become 0.
    Nan,
}

/// Everything that decides which code an exact number becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Policy {
    /// The rounding mode.
    pub rounding: Rounding,
    /// Overflow and infinities.
    pub saturation: Saturation,
    /// NaN into formats with NaN.
    pub nan: NanCode,
    /// NaN into formats without NaN.
    pub no_nan: NoNanRule,
    /// Negative numbers into unsigned formats.
    pub negative: NegativeRule,
    /// Zero into formats without zero.
    pub zero: ZeroRule,
    /// −0.
    pub negative_zero: NegativeZero,
}

impl Policy {
    /// This policy with another rounding mode.
    #[must_use]
    pub fn with_rounding(self, rounding: Rounding) -> Self {
        Self { rounding, ..self }
    }

    /// This policy with another saturation mode.
    #[must_use]
    pub fn with_saturation(self, saturation: Saturation) -> Self {
        Self { saturation, ..self }
    }
}

/// The named policy (`docs/semantics.md` S2) as it is for one format.
///
/// # Panics
/// If the name is not one of the presets of S2.
pub fn preset(name: &str, format: &OracleFormat) -> Policy {
    // Common ground; what differs is listed below.
    let base = Policy {
        rounding: Rounding::NearestEven,
        saturation: Saturation::SatNone,
        nan: NanCode::Canonical,
        no_nan: NoNanRule::Max,
        negative: NegativeRule::Nan,
        zero: ZeroRule::Min,
        negative_zero: NegativeZero::Keep,
    };
    let p3109 = |saturation| Policy {
        saturation,
        negative: NegativeRule::BySaturation,
        // The draft has one zero, in the IEEE formats too.
        negative_zero: NegativeZero::Zero,
        ..base
    };
    match name {
        // Overflow to infinity where there is one (UHP), to the largest number elsewhere.
        "tesla" if format.inf_code(false).is_some() => base,
        "tesla" => Policy { saturation: Saturation::SatFinite, ..base },
        "ieee" => base,
        "ocp-saturate" => Policy { saturation: Saturation::SatFinite, nan: NanCode::AllOnes, ..base },
        "ocp-nosaturate" => Policy { nan: NanCode::AllOnes, ..base },
        "ml-dtypes" => Policy {
            // ml_dtypes rounds 3.0 to 4 in E8M0: half way up, not to the even exponent.
            rounding: if format.specials == Specials::E8m0 {
                Rounding::NearestAway
            } else {
                Rounding::NearestEven
            },
            nan: NanCode::SignedQuiet,
            no_nan: NoNanRule::MlDtypes,
            zero: ZeroRule::Nan,
            ..base
        },
        "p3109-satfinite" => p3109(Saturation::SatFinite),
        "p3109-satpropagate" => p3109(Saturation::SatPropagate),
        "p3109-satnone" => p3109(Saturation::SatNone),
        "p3109-satnone-v40" => p3109(Saturation::SatNoneV40),
        _ => panic!("no preset named {name}"),
    }
}
