//! [`Datum`]: what a code means, exactly.

use crate::cast::signed;
use core::cmp::Ordering;
use core::fmt;

/// The exact meaning of a code.
///
/// Finite data are canonical: the significand is odd, or 0 with exponent 0. So equality is equality
/// of values, with −0 and 0, and NaNs of either sign, told apart. The basic operations are right
/// for every exponent of an `i32`, far beyond those of formats.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Datum {
    /// Not a number; some formats have NaNs of both signs.
    Nan {
        /// The sign bit.
        negative: bool,
    },
    /// ±∞.
    Infinite {
        /// Whether it is −∞.
        negative: bool,
    },
    /// (−1)^negative · significand · 2^exponent.
    Finite {
        /// The sign, also of zero.
        negative: bool,
        /// Odd, or 0.
        significand: u64,
        /// The exponent of the significand's last place.
        exponent: i32,
    },
}

/// The kind of datum that a code has.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Class {
    /// Not a number.
    Nan,
    /// ±∞.
    Infinite,
    /// ±0.
    Zero,
    /// Exponent field 0, significand not 0.
    Subnormal,
    /// Full precision.
    Normal,
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Nan => "nan",
            Self::Infinite => "infinite",
            Self::Zero => "zero",
            Self::Subnormal => "subnormal",
            Self::Normal => "normal",
        })
    }
}

impl Datum {
    /// +0.
    pub const ZERO: Self = Self::finite(false, 0, 0);

    /// Returns (−1)^negative · significand · 2^exponent, made canonical.
    ///
    /// An exponent that would not fit after that is `i32::MAX`, far beyond every format.
    pub const fn finite(negative: bool, significand: u64, exponent: i32) -> Self {
        if significand == 0 {
            return Self::Finite { negative, significand, exponent: 0 };
        }
        let zeros = significand.trailing_zeros();
        Self::Finite {
            negative,
            significand: significand >> zeros,
            exponent: exponent.saturating_add(signed(zeros)),
        }
    }

    /// Returns the value with the other sign.
    #[must_use]
    pub const fn negated(self) -> Self {
        match self {
            Self::Nan { negative } => Self::Nan { negative: !negative },
            Self::Infinite { negative } => Self::Infinite { negative: !negative },
            Self::Finite { negative, significand, exponent } => {
                Self::Finite { negative: !negative, significand, exponent }
            }
        }
    }

    /// Returns whether it is NaN.
    pub const fn is_nan(&self) -> bool {
        matches!(self, Self::Nan { .. })
    }

    /// Returns whether it is neither infinite nor NaN.
    pub const fn is_finite(&self) -> bool {
        matches!(self, Self::Finite { .. })
    }

    /// Returns whether it is +0 or −0.
    pub const fn is_zero(&self) -> bool {
        matches!(self, Self::Finite { significand: 0, .. })
    }

    /// Returns the sign bit, also of zeros and NaNs.
    pub const fn is_negative(&self) -> bool {
        match *self {
            Self::Nan { negative } | Self::Infinite { negative } | Self::Finite { negative, .. } => negative,
        }
    }

    /// Returns ⌊log2 |x|⌋ of a finite non-zero datum; 0 for anything else.
    pub const fn exponent_of_leading_bit(&self) -> i32 {
        match *self {
            Self::Finite { significand, exponent, .. } if significand != 0 => {
                exponent.saturating_add(signed(significand.ilog2()))
            }
            _ => 0,
        }
    }

    /// As [`exponent_of_leading_bit`](Self::exponent_of_leading_bit), where it does not fit too.
    pub(crate) const fn leading_bit(&self) -> i64 {
        match *self {
            Self::Finite { significand, exponent, .. } if significand != 0 => {
                exponent as i64 + significand.ilog2() as i64
            }
            _ => 0,
        }
    }

    /// Returns the order of the extended reals; `None` where a NaN is compared. −0 equals 0.
    pub const fn compare(&self, other: &Self) -> Option<Ordering> {
        if self.is_nan() || other.is_nan() {
            return None;
        }
        if self.is_zero() && other.is_zero() {
            return Some(Ordering::Equal);
        }
        let (a, b) = (self.signum(), other.signum());
        if a != b {
            return Some(if a < b { Ordering::Less } else { Ordering::Greater });
        }
        let magnitudes = self.compare_magnitude(other);
        Some(if a < 0 { magnitudes.reverse() } else { magnitudes })
    }

    pub(crate) const fn is_less_than(&self, other: &Self) -> bool {
        matches!(self.compare(other), Some(Ordering::Less))
    }

    const fn signum(&self) -> i32 {
        if self.is_zero() {
            0
        } else if self.is_negative() {
            -1
        } else {
            1
        }
    }

    /// Orders |self| and |other|, neither of them NaN nor zero.
    const fn compare_magnitude(&self, other: &Self) -> Ordering {
        match (*self, *other) {
            (
                Self::Finite { significand: a, exponent: ea, .. },
                Self::Finite { significand: b, exponent: eb, .. },
            ) => {
                let (la, lb) = (self.leading_bit(), other.leading_bit());
                if la != lb {
                    return if la < lb { Ordering::Less } else { Ordering::Greater };
                }
                // The same leading bit: the lower exponent has the longer significand, below 64
                // bits.
                let (a, b) = if ea > eb {
                    (a << (ea - eb).unsigned_abs(), b)
                } else {
                    (a, b << (eb - ea).unsigned_abs())
                };
                if a < b {
                    Ordering::Less
                } else if a > b {
                    Ordering::Greater
                } else {
                    Ordering::Equal
                }
            }
            (Self::Infinite { .. }, Self::Infinite { .. }) => Ordering::Equal,
            (Self::Infinite { .. }, _) => Ordering::Greater,
            _ => Ordering::Less,
        }
    }

    /// Returns the value as `f64` if that is exact; NaN and infinities map to `f64`'s.
    pub const fn to_f64(&self) -> Option<f64> {
        match crate::format::formats::BINARY64.encode(*self) {
            Some(bits) => Some(f64::from_bits(bits)),
            None => None,
        }
    }

    /// Returns the value as `f32` if that is exact; NaN and infinities map to `f32`'s.
    pub const fn to_f32(&self) -> Option<f32> {
        match crate::format::formats::BINARY32.encode(*self) {
            #[expect(clippy::cast_possible_truncation, reason = "a binary32 code has 32 bits")]
            Some(bits) => Some(f32::from_bits(bits as u32)),
            None => None,
        }
    }
}

/// The exact value: `NaN`, `Inf`, `-Inf`, `0`, `-0` or `[-]<odd integer>p<exponent of two>` (1.5 is
/// `3p-1`).
impl fmt::Display for Datum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.is_negative() && !self.is_nan() { "-" } else { "" };
        match *self {
            Self::Nan { .. } => f.write_str("NaN"),
            Self::Infinite { .. } => write!(f, "{sign}Inf"),
            Self::Finite { significand: 0, .. } => write!(f, "{sign}0"),
            Self::Finite { significand, exponent, .. } => {
                write!(f, "{sign}{significand}p{exponent}")
            }
        }
    }
}
