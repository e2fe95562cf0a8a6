//! [`Wide`]: what [`Exact`] is, with a significand of any size.

use core::cmp::Ordering;

use dashu_int::UBig;

use crate::format::datum::Datum;
use crate::math::real::{Real, length, shift};
use crate::ops::Semantics;
use crate::projection::exact::Exact;
use crate::projection::flags::Flags;

/// A result before rounding, or an operand, whose significand and exponent have any size.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Wide {
    /// Not a number.
    Nan {
        /// The sign bit, for formats that keep it.
        negative: bool,
    },
    /// ±∞.
    Infinite {
        /// Whether it is −∞.
        negative: bool,
    },
    /// (−1)^negative · (significand + δ) · 2^exponent with 0 < δ < 1 if `sticky`, else δ = 0.
    Finite {
        /// The sign, also of zero.
        negative: bool,
        /// Not 0 where `sticky` is set.
        significand: UBig,
        /// The exponent of the significand's last place.
        exponent: i64,
        /// Were non-zero bits cut off below the last place?
        sticky: bool,
    },
    /// The zero that a sum of opposite terms leaves: −0 when rounding toward negative, else +0.
    Cancelled,
}

/// A wide result and what the operation itself raised.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct WideOutcome {
    /// The result before rounding.
    pub(crate) value: Wide,
    /// [`Flags::DIVISION_BY_ZERO`] or none.
    pub(crate) flags: Flags,
}

impl From<Wide> for WideOutcome {
    fn from(value: Wide) -> Self {
        Self { value, flags: Flags::NONE }
    }
}

/// No format has an exponent near this one, and sums with any scale stay within `i32`.
const FAR: i64 = 1 << 30;

impl Wide {
    pub(crate) const NAN: Self = Self::Nan { negative: false };

    /// A zero with a sign.
    pub(crate) const fn zero(negative: bool) -> Self {
        Self::Finite { negative, significand: UBig::ZERO, exponent: 0, sticky: false }
    }

    /// (−1)^negative · significand · 2^exponent.
    pub(crate) fn finite(negative: bool, significand: u64, exponent: i64) -> Self {
        Self::Finite { negative, significand: UBig::from(significand), exponent, sticky: false }
    }

    pub(crate) const fn is_nan(&self) -> bool {
        matches!(self, Self::Nan { .. })
    }

    pub(crate) const fn is_finite(&self) -> bool {
        matches!(self, Self::Finite { .. } | Self::Cancelled)
    }

    pub(crate) const fn is_zero(&self) -> bool {
        match self {
            Self::Finite { significand, .. } => significand.is_zero(),
            Self::Cancelled => true,
            _ => false,
        }
    }

    pub(crate) const fn is_negative(&self) -> bool {
        match *self {
            Self::Nan { negative } | Self::Infinite { negative } | Self::Finite { negative, .. } => negative,
            Self::Cancelled => false,
        }
    }

    /// Returns the magnitude with a sign of the caller's.
    pub(crate) fn with_sign(self, negative: bool) -> Self {
        match self {
            Self::Nan { .. } => Self::Nan { negative },
            Self::Infinite { .. } => Self::Infinite { negative },
            Self::Finite { significand, exponent, sticky, .. } => {
                Self::Finite { negative, significand, exponent, sticky }
            }
            Self::Cancelled => Self::zero(negative),
        }
    }

    /// The finite number, if it is one.
    pub(super) fn real(&self) -> Option<Real> {
        match self {
            Self::Finite { negative, significand, exponent, sticky } => Some(Real {
                negative: *negative,
                significand: significand.clone(),
                exponent: *exponent,
                sticky: *sticky,
            }),
            Self::Cancelled => Some(Real::exact(false, UBig::ZERO, 0)),
            _ => None,
        }
    }

    /// As these semantics see it: P3109 has one zero.
    pub(super) fn as_operand(&self, semantics: Semantics) -> Self {
        match semantics {
            Semantics::P3109 if self.is_zero() => Self::zero(false),
            _ => self.clone(),
        }
    }

    /// Orders two finite magnitudes, sticky bits aside.
    pub(super) fn compare_magnitude(&self, other: &Self) -> Ordering {
        match (self.real(), other.real()) {
            (Some(x), Some(y)) => x.compare_magnitude(&y),
            (None, Some(_)) => Ordering::Greater,
            (Some(_), None) => Ordering::Less,
            (None, None) => Ordering::Equal,
        }
    }

    /// The leading 128 bits, truncated toward zero and marked.
    ///
    /// Shorter exact values have an odd significand, so that equal results are the same bits. An
    /// exponent that no format comes near is clamped: the value stays beyond every finite value, or
    /// non-zero below every one.
    pub(crate) fn to_exact(&self) -> Exact {
        let (negative, significand, exponent, sticky) = match self {
            Self::Nan { negative } => return Exact::Nan { negative: *negative },
            Self::Infinite { negative } => return Exact::Infinite { negative: *negative },
            Self::Cancelled => return Exact::Cancelled,
            Self::Finite { negative, significand, exponent, sticky } => {
                (*negative, significand, *exponent, *sticky)
            }
        };
        let zeros =
            significand.trailing_zeros().map_or(0, |n| i64::try_from(n).expect("fewer zeros than bits"));
        let excess = (length(significand) - 128).max(0);
        // An exact value loses its trailing zeros, a truncated one what is too long.
        let cut = if sticky { excess } else { excess.max(zeros) };
        let kept = u128::try_from(significand >> shift(cut)).expect("at most 128 bits");
        if kept == 0 {
            return Exact::finite(negative, 0, 0);
        }
        let exponent = exponent.saturating_add(cut).clamp(-FAR, FAR);
        let exponent = i32::try_from(exponent).expect("at most 2^30 in magnitude");
        Exact::Finite { negative, significand: kept, exponent, sticky: sticky || zeros < cut }
    }
}

impl From<Datum> for Wide {
    fn from(x: Datum) -> Self {
        Exact::from_datum(x).into()
    }
}

impl From<Exact> for Wide {
    fn from(x: Exact) -> Self {
        match x {
            Exact::Nan { negative } => Self::Nan { negative },
            Exact::Infinite { negative } => Self::Infinite { negative },
            Exact::Finite { negative, significand, exponent, sticky } => Self::Finite {
                negative,
                significand: UBig::from(significand),
                exponent: i64::from(exponent),
                sticky,
            },
            Exact::Cancelled => Self::Cancelled,
        }
    }
}

impl From<Real> for Wide {
    fn from(x: Real) -> Self {
        let Real { negative, significand, exponent, sticky } = x;
        Self::Finite { negative, significand, exponent, sticky }
    }
}
