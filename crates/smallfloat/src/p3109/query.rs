//! Queries of formats and of projections.
//!
//! Source: the P3109 draft (D1 revised, September 2026), sections "Formats" (tables of parameters
//! and special code points) and "Format-level operations". The draft writes them as functions of a
//! format or of a projection and gives them no operand; here the format or the projection stands
//! between the brackets: `BitwidthOf<binary32>`, `RoundOf<(ToOdd, SatNone)>`.

use core::fmt;

use crate::format::datum::Datum;
use crate::format::{Domain, Format, Signedness};
use crate::p3109::modes as words;
use crate::projection::exact::Exact;
use crate::projection::rounding::Rounding;
use crate::projection::{Projection, Saturation, project};

/// A property of a format.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum FormatQuery {
    /// Width of a code in bits, K.
    BitwidthOf,
    /// Precision in bits, hidden bit included, P.
    PrecisionOf,
    /// Signed or unsigned.
    SignednessOf,
    /// Finite or extended: with infinities.
    DomainOf,
    /// Width of the exponent field in bits.
    ExponentBitwidthOf,
    /// Width of the trailing significand field in bits, P − 1.
    TrailingSignificandBitwidthOf,
    /// The exponent bias.
    ExponentBiasOf,
    /// The largest finite value.
    MaxFiniteOf,
    /// The smallest finite value: 0 in unsigned formats that have a zero.
    MinFiniteOf,
    /// The smallest positive value.
    MinPositiveOf,
    /// The largest subnormal value; NaN if there is none.
    MaxSubnormalOf,
    /// The smallest positive normal value.
    MinNormalOf,
}

/// A part of a projection.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum ProjectionQuery {
    /// The rounding mode.
    RoundOf,
    /// The saturation mode.
    SatOf,
}

/// The answer of a query. Values print in the draft's words: `8`, `Unsigned`, `Extended`,
/// `StochasticA<8>`, `SatNone`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Property {
    /// A count or an exponent bias.
    Integer(i64),
    /// Signed or unsigned.
    Signedness(Signedness),
    /// Finite or extended.
    Domain(Domain),
    /// A rounding mode.
    Rounding(Rounding),
    /// A saturation mode.
    Saturation(Saturation),
}

impl fmt::Display for Property {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(n) => n.fmt(f),
            Self::Signedness(Signedness::Signed) => f.write_str("Signed"),
            Self::Signedness(Signedness::Unsigned) => f.write_str("Unsigned"),
            Self::Domain(Domain::Finite) => f.write_str("Finite"),
            Self::Domain(Domain::Extended) => f.write_str("Extended"),
            Self::Rounding(mode) => words::Round(*mode).fmt(f),
            Self::Saturation(mode) => f.write_str(words::saturation(*mode)),
        }
    }
}

/// What a format has to say: a property or one of its codes.
pub(super) enum Found {
    Property(Property),
    Code(u64),
}

impl FormatQuery {
    /// All queries with P3109's names.
    pub const NAMED: &'static [(&'static str, Self)] = &[
        ("BitwidthOf", Self::BitwidthOf),
        ("PrecisionOf", Self::PrecisionOf),
        ("SignednessOf", Self::SignednessOf),
        ("DomainOf", Self::DomainOf),
        ("ExponentBitwidthOf", Self::ExponentBitwidthOf),
        ("TrailingSignificandBitwidthOf", Self::TrailingSignificandBitwidthOf),
        ("ExponentBiasOf", Self::ExponentBiasOf),
        ("MaxFiniteOf", Self::MaxFiniteOf),
        ("MinFiniteOf", Self::MinFiniteOf),
        ("MinPositiveOf", Self::MinPositiveOf),
        ("MaxSubnormalOf", Self::MaxSubnormalOf),
        ("MinNormalOf", Self::MinNormalOf),
    ];

    /// Returns whether the answer is a code of the format.
    pub const fn gives_code(self) -> bool {
        matches!(
            self,
            Self::MaxFiniteOf
                | Self::MinFiniteOf
                | Self::MinPositiveOf
                | Self::MaxSubnormalOf
                | Self::MinNormalOf
        )
    }

    /// Returns whether the format has an answer. MaxSubnormalOf needs subnormals, or a NaN to say
    /// that there are none.
    pub(super) const fn is_defined(self, format: &Format) -> bool {
        !matches!(self, Self::MaxSubnormalOf) || format.has_nan() || format.max_subnormal().is_some()
    }

    pub(super) fn answer(self, format: &Format) -> Found {
        let count = |n: u32| Found::Property(Property::Integer(i64::from(n)));
        // Values are the format's own, so any projection gives their codes; a NaN gets the
        // canonical code.
        let code = |x: Option<Datum>| {
            let x = x.map_or(Exact::Nan { negative: false }, Exact::from_datum);
            Found::Code(project(x, format, &format.default_projection()).value)
        };
        match self {
            Self::BitwidthOf => count(format.width()),
            Self::PrecisionOf => count(format.precision()),
            Self::SignednessOf => Found::Property(Property::Signedness(format.signedness())),
            Self::DomainOf if format.has_infinity() => Found::Property(Property::Domain(Domain::Extended)),
            Self::DomainOf => Found::Property(Property::Domain(Domain::Finite)),
            Self::ExponentBitwidthOf => count(format.exponent_bits()),
            Self::TrailingSignificandBitwidthOf => count(format.trailing_bits()),
            Self::ExponentBiasOf => Found::Property(Property::Integer(i64::from(format.bias()))),
            Self::MaxFiniteOf => code(Some(format.max_finite())),
            Self::MinFiniteOf => code(Some(format.min_finite())),
            Self::MinPositiveOf => code(Some(format.min_positive())),
            Self::MaxSubnormalOf => code(format.max_subnormal()),
            Self::MinNormalOf => code(Some(format.min_normal())),
        }
    }
}

impl ProjectionQuery {
    /// Both queries with P3109's names.
    pub const NAMED: &'static [(&'static str, Self)] = &[("RoundOf", Self::RoundOf), ("SatOf", Self::SatOf)];

    pub(super) const fn answer(self, projection: &Projection) -> Property {
        match self {
            Self::RoundOf => Property::Rounding(projection.rounding),
            Self::SatOf => Property::Saturation(projection.saturation),
        }
    }
}
