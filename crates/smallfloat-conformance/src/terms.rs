//! [`Term`]: a number as a matrix unit aligns it with others.

use smallfloat::{Datum, Format};

/// How what lies below the last bit of an aligned term goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Cut {
    TowardZero,
    Down,
    Nearest,
}

/// An exact term: significand · 2^unit, and the exponent by which it is aligned.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Term {
    pub(crate) significand: i128,
    pub(crate) unit: i32,
    pub(crate) exponent: i32,
}

impl Term {
    /// A finite number of a format; zeros have the exponent −126.
    pub(crate) fn new(format: &Format, datum: Datum) -> Option<Self> {
        let Datum::Finite { negative, significand, exponent } = datum else { return None };
        let magnitude = i128::from(significand);
        let lowest = format.min_normal().exponent_of_leading_bit();
        Some(Self {
            significand: if negative { -magnitude } else { magnitude },
            unit: if significand == 0 { -126 } else { exponent },
            exponent: if significand == 0 { -126 } else { datum.exponent_of_leading_bit().max(lowest) },
        })
    }

    pub(crate) fn times(self, other: Self) -> Self {
        Self {
            significand: self.significand * other.significand,
            unit: self.unit + other.unit,
            exponent: self.exponent + other.exponent,
        }
    }

    pub(crate) fn leading_exponent(&self) -> i32 {
        let leading = self.significand.unsigned_abs().checked_ilog2();
        leading.map_or(self.exponent, |bit| self.unit + bit.cast_signed())
    }

    /// As a multiple of 2^low.
    pub(crate) fn cut(self, low: i32, cut: Cut) -> i128 {
        let shift = self.unit - low;
        if shift >= 0 {
            return if self.significand == 0 { 0 } else { self.significand << shift };
        }
        let below = shift.unsigned_abs().min(126);
        let magnitude = self.significand.unsigned_abs().cast_signed() >> below;
        match cut {
            Cut::TowardZero => self.significand.signum() * magnitude,
            Cut::Down => self.significand >> below,
            Cut::Nearest => {
                let half = self.significand.unsigned_abs().cast_signed() >> (below - 1) & 1;
                self.significand.signum() * (magnitude + half)
            }
        }
    }

    /// The exact sum, aligned as the one of them with the larger exponent.
    pub(crate) fn plus(self, other: Self) -> Self {
        let (x, y) = (self, other);
        let unit = match (x.significand, y.significand) {
            (0, _) => y.unit,
            (_, 0) => x.unit,
            _ => x.unit.min(y.unit),
        };
        let at_unit =
            |term: Self| if term.significand == 0 { 0 } else { term.significand << (term.unit - unit) };
        Self { significand: at_unit(x) + at_unit(y), unit, exponent: x.exponent.max(y.exponent) }
    }
}
