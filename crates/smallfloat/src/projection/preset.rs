//! Presets: projections with well-known names ([semantics](crate::semantics) S2).

use crate::format::named::by_name;
use crate::format::{Family, Format, Specials};
use crate::projection::rounding::Rounding;
use crate::projection::{
    MissingNan, MissingZero, NanRule, NegativeRule, NegativeZero, Projection, Saturation, Unrepresentable,
};

/// A named policy for overflow, infinities, NaN, negatives and zero. Rounding is to nearest, ties
/// to even, except where ml_dtypes differs (its E8M0 rounds ties away from zero).
///
/// ```
/// use smallfloat::{Preset, formats::E5M2};
/// let inf = |preset: Preset| E5M2.encode_f32(f32::INFINITY, &preset.projection(&E5M2)).value;
/// assert_eq!(inf(Preset::MlDtypes), 0x7c); // ∞
/// assert_eq!(inf(Preset::OcpSaturate), 0x7b); // 57344
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Preset {
    /// Tesla's paper: CFloat8 and SHP clamp, a NaN becomes the largest value; UHP overflows to ∞
    /// and has one NaN.
    Tesla,
    /// IEEE 754: overflow by rounding mode, infinities kept, canonical quiet NaN.
    Ieee,
    /// OCP 8-bit floating point, saturating.
    OcpSaturate,
    /// OCP 8-bit floating point, not saturating.
    OcpNoSaturate,
    /// What the ml_dtypes library does.
    MlDtypes,
    /// P3109 with SatFinite.
    P3109SatFinite,
    /// P3109 with SatPropagate.
    P3109SatPropagate,
    /// P3109 with SatNone.
    P3109SatNone,
    /// P3109 with SatNone as version 4.0 of the report had it.
    P3109SatNoneV40,
}

impl Preset {
    /// All presets.
    pub const ALL: &'static [Self] = &[
        Self::Tesla,
        Self::Ieee,
        Self::OcpSaturate,
        Self::OcpNoSaturate,
        Self::MlDtypes,
        Self::P3109SatFinite,
        Self::P3109SatPropagate,
        Self::P3109SatNone,
        Self::P3109SatNoneV40,
    ];

    /// Returns the name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tesla => "tesla",
            Self::Ieee => "ieee",
            Self::OcpSaturate => "ocp-saturate",
            Self::OcpNoSaturate => "ocp-nosaturate",
            Self::MlDtypes => "ml-dtypes",
            Self::P3109SatFinite => "p3109-satfinite",
            Self::P3109SatPropagate => "p3109-satpropagate",
            Self::P3109SatNone => "p3109-satnone",
            Self::P3109SatNoneV40 => "p3109-satnone-v40",
        }
    }

    /// Returns the preset that holds for a format where none is named.
    ///
    /// | formats | preset | values too large, ∞ | NaN |
    /// | --- | --- | --- | --- |
    /// | Tesla's CFloat8 and SHP | [`Tesla`](Self::Tesla) | ±max | +max |
    /// | Tesla's UHP | [`Tesla`](Self::Tesla) | ∞; −∞ becomes NaN | NaN |
    /// | binary16, binary32, binary64, bfloat16, TF32, FP24, `ieee:…` | [`Ieee`](Self::Ieee) | ∞, or max by rounding mode | quiet NaN |
    /// | `e5m2`, `e4m3`, `e3m4` | [`MlDtypes`](Self::MlDtypes) | ∞ | NaN with its sign |
    /// | `e4m3fn`, the FNUZ formats, `ue4m3`, `ue5m3`, E8M0 | [`MlDtypes`](Self::MlDtypes) | NaN | NaN |
    /// | FP6, FP4, `e3m0fn` | [`MlDtypes`](Self::MlDtypes) | ±max | a zero of the opposite sign |
    /// | P3109's | [`P3109SatNone`](Self::P3109SatNone) | ∞, or NaN without ∞; max by rounding mode | NaN |
    /// | `minifloat:…`, finite codes only | [`OcpSaturate`](Self::OcpSaturate) | ±max | +max |
    /// | `minifloat:…`, specials as IEEE 754's or P3109's | theirs | | |
    /// | `minifloat:…`, other specials | [`MlDtypes`](Self::MlDtypes) | NaN | NaN |
    ///
    /// ```
    /// use smallfloat::{E2M1Fn, E4M3Fn, E5M2, F16};
    /// // What 10⁹ becomes.
    /// assert_eq!((F16::from_f32(1e9).to_f32(), E5M2::from_f32(1e9).to_f32()), (f32::INFINITY, f32::INFINITY));
    /// assert!(E4M3Fn::from_f32(1e9).is_nan());
    /// assert_eq!(E2M1Fn::from_f32(1e9).to_f32(), 6.0);
    /// ```
    pub const fn default_for(format: &Format) -> Self {
        match (format.family(), format.specials()) {
            (Family::Tesla, _) => Self::Tesla,
            (Family::Ieee, _) | (Family::Minifloat, Specials::Ieee) => Self::Ieee,
            (Family::P3109, _) | (Family::Minifloat, Specials::P3109Extended | Specials::P3109Finite) => {
                Self::P3109SatNone
            }
            (Family::Minifloat, Specials::Finite) => Self::OcpSaturate,
            (Family::MlDtypes | Family::Minifloat, _) => Self::MlDtypes,
        }
    }

    /// Returns the projection that this preset means for a format.
    pub const fn projection(self, format: &Format) -> Projection {
        let saturation = match self {
            // The paper clamps where infinities are missing, whether or not there is a NaN.
            Self::Tesla if !format.has_infinity() => Saturation::SatFinite,
            Self::OcpSaturate | Self::P3109SatFinite => Saturation::SatFinite,
            Self::P3109SatPropagate => Saturation::SatPropagate,
            Self::P3109SatNoneV40 => Saturation::SatNoneV40,
            _ => Saturation::SatNone,
        };
        let p3109 = matches!(
            self,
            Self::P3109SatFinite | Self::P3109SatPropagate | Self::P3109SatNone | Self::P3109SatNoneV40
        );
        let ml_dtypes = matches!(self, Self::MlDtypes);
        let unrepresentable = Unrepresentable {
            nan: match self {
                Self::MlDtypes => NanRule::QuietSigned,
                Self::OcpSaturate | Self::OcpNoSaturate => NanRule::AllOnes,
                _ => NanRule::Quiet,
            },
            missing_nan: if ml_dtypes { MissingNan::OppositeZero } else { MissingNan::Max },
            negative: if p3109 { NegativeRule::BySaturation } else { NegativeRule::Nan },
            missing_zero: if ml_dtypes { MissingZero::Nan } else { MissingZero::Min },
            negative_zero: if p3109 { NegativeZero::Positive } else { NegativeZero::Keep },
        };
        let e8m0 = matches!(format.specials(), Specials::E8m0);
        let rounding = if ml_dtypes && e8m0 { Rounding::NearestAway } else { Rounding::NearestEven };
        Projection { rounding, saturation, unrepresentable }
    }
}

by_name!(
    Preset,
    Self::ALL.iter().copied(),
    "preset",
    "tesla, ieee, ocp-saturate, ocp-nosaturate, ml-dtypes, p3109-satfinite, p3109-satpropagate, p3109-satnone or \
     p3109-satnone-v40"
);
