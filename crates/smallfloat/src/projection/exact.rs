//! [`Exact`]: the result of an operation before it is rounded.

use crate::format::datum::Datum;
use crate::projection::shift_with_sticky;

/// An exact result, or one truncated toward zero with a mark.
///
/// Every operation ends in one of these, and [`project`](crate::project) rounds it once. A
/// quotient, a root or a transcendental function is truncated toward zero with `sticky` set; that
/// is all that any rounding mode needs, as long as the last place of the significand lies at least
/// N + 2 bits below the destination's last place (N random bits; 0 for the deterministic modes).
///
/// A result beyond all exponents of an `i32` is one as far beyond every format, so that it rounds
/// as the true one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Exact {
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
        significand: u128,
        /// The exponent of the significand's last place.
        exponent: i32,
        /// Were non-zero bits cut off below the last place?
        sticky: bool,
    },
    /// The zero that a sum of opposite terms leaves: −0 when rounding toward negative, else +0
    /// (IEEE 754, section 6.3).
    Cancelled,
}

impl Exact {
    /// Returns (−1)^negative · significand · 2^exponent, exactly.
    pub const fn finite(negative: bool, significand: u128, exponent: i32) -> Self {
        Self::Finite { negative, significand, exponent, sticky: false }
    }

    /// A value other than 0: truncated where its last place lies below the lowest exponent, and its
    /// exponent the highest where that is lower.
    #[expect(clippy::cast_possible_truncation, reason = "within the bounds of i32")]
    #[inline]
    pub(crate) const fn clamped(negative: bool, significand: u128, exponent: i64, sticky: bool) -> Self {
        const LOWEST: i64 = i32::MIN as i64;
        const HIGHEST: i64 = i32::MAX as i64;
        if exponent < LOWEST {
            let cut = if LOWEST - exponent < 128 { (LOWEST - exponent) as i32 } else { 128 };
            let (kept, sticky) = shift_with_sticky(significand, -cut, sticky);
            let significand = if kept == 0 { 1 } else { kept };
            return Self::Finite { negative, significand, exponent: i32::MIN, sticky };
        }
        let exponent = if exponent > HIGHEST { i32::MAX } else { exponent as i32 };
        Self::Finite { negative, significand, exponent, sticky }
    }

    /// Returns an integer.
    pub const fn from_i128(x: i128) -> Self {
        Self::finite(x < 0, x.unsigned_abs(), 0)
    }

    /// Returns whether it is an exact zero.
    pub const fn is_zero(&self) -> bool {
        matches!(self, Self::Cancelled | Self::Finite { significand: 0, .. })
    }

    /// Returns whether it is NaN.
    pub const fn is_nan(&self) -> bool {
        matches!(self, Self::Nan { .. })
    }

    /// Returns the sign bit; a zero that opposite terms left has none yet.
    pub const fn is_negative(&self) -> bool {
        match *self {
            Self::Nan { negative } | Self::Infinite { negative } | Self::Finite { negative, .. } => negative,
            Self::Cancelled => false,
        }
    }

    /// Returns the value without its sign.
    #[must_use]
    pub const fn magnitude(self) -> Self {
        match self {
            Self::Nan { .. } => Self::Nan { negative: false },
            Self::Infinite { .. } => Self::Infinite { negative: false },
            Self::Finite { significand, exponent, sticky, .. } => {
                Self::Finite { negative: false, significand, exponent, sticky }
            }
            Self::Cancelled => Self::Cancelled,
        }
    }

    /// Returns this value times 2^scale, exactly.
    #[must_use]
    pub const fn scaled(self, scale: i32) -> Self {
        match self {
            Self::Finite { negative, significand, exponent, sticky } if significand != 0 => {
                Self::clamped(negative, significand, exponent as i64 + scale as i64, sticky)
            }
            other => other,
        }
    }

    /// Returns what a code of a format means.
    pub const fn from_datum(datum: Datum) -> Self {
        match datum {
            Datum::Nan { negative } => Self::Nan { negative },
            Datum::Infinite { negative } => Self::Infinite { negative },
            Datum::Finite { negative, significand, exponent } => {
                Self::finite(negative, significand as u128, exponent)
            }
        }
    }
}

impl From<Datum> for Exact {
    fn from(datum: Datum) -> Self {
        Self::from_datum(datum)
    }
}

impl From<i128> for Exact {
    fn from(x: i128) -> Self {
        Self::from_i128(x)
    }
}
