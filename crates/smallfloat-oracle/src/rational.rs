//! Exact rationals, exact positive roots, and the extended numbers that operations work on.

use std::cmp::Ordering;
use std::ops::{Add, Div, Mul, Neg, Sub};

use num_bigint::BigUint;

use crate::Dyadic;
use crate::format::Value;

/// An exact rational number: a [`Dyadic`] over an odd positive integer.
///
/// Powers of two live in the exponent of the numerator, so huge exponents stay cheap. Fractions are
/// not reduced; equality and order compare by cross-multiplication.
#[derive(Clone, Debug)]
pub struct Rational {
    numerator: Dyadic,
    denominator: Dyadic,
}

impl Rational {
    /// The number `numerator / denominator`.
    ///
    /// # Panics
    /// If the denominator is zero.
    pub fn new(numerator: &Dyadic, denominator: &Dyadic) -> Self {
        assert!(!denominator.is_zero(), "division by zero");
        let numerator = if denominator.is_negative() { -numerator } else { numerator.clone() };
        Self {
            numerator: numerator.scale(-denominator.exponent()),
            // Normalised, so the mantissa is odd.
            denominator: denominator.abs().scale(-denominator.exponent()),
        }
    }

    /// The fraction of two integers.
    ///
    /// # Panics
    /// If the denominator is zero.
    pub fn ratio(numerator: i64, denominator: i64) -> Self {
        Self::new(&Dyadic::new(numerator, 0), &Dyadic::new(denominator, 0))
    }

    /// Whether this is zero.
    pub fn is_zero(&self) -> bool {
        self.numerator.is_zero()
    }

    /// Whether this is below zero.
    pub fn is_negative(&self) -> bool {
        self.numerator.is_negative()
    }

    /// The magnitude.
    #[must_use]
    pub fn abs(&self) -> Self {
        Self { numerator: self.numerator.abs(), denominator: self.denominator.clone() }
    }

    /// This number times `2^shift`.
    #[must_use]
    pub fn scale(&self, shift: i64) -> Self {
        Self { numerator: self.numerator.scale(shift), denominator: self.denominator.clone() }
    }

    /// The largest integer at or below a number that is not negative.
    ///
    /// # Panics
    /// If the number is negative.
    pub fn floor(&self) -> BigUint {
        if let Some(floor) = self.short_floor() {
            return BigUint::from(floor);
        }
        // ⌊m·2^e / d⌋; for e < 0 the power of two joins the denominator.
        let e = self.numerator.exponent();
        let [m, d] = [&self.numerator, &self.denominator].map(|x| x.mantissa().into_parts().1);
        if e >= 0 { (m << e.unsigned_abs()) / d } else { m / (d << e.unsigned_abs()) }
    }

    /// Returns the largest integer that is not above the number, where no long integer is needed.
    ///
    /// # Panics
    /// If the number is negative.
    pub(crate) fn short_floor(&self) -> Option<u128> {
        assert!(!self.is_negative(), "floor of a negative number is not needed here");
        let e = self.numerator.exponent();
        match (self.numerator.short(), self.denominator.short(), e) {
            (Some(m), Some(d), -62..=62) => {
                let shifted = |x: i64, by: i64| u128::from(x.unsigned_abs()) << by;
                Some(shifted(m, e.max(0)) / shifted(d, (-e).max(0)))
            }
            _ => None,
        }
    }

    /// The numerator, a power of two times an odd integer.
    pub fn numerator(&self) -> &Dyadic {
        &self.numerator
    }

    /// The odd positive denominator.
    pub fn denominator(&self) -> &Dyadic {
        &self.denominator
    }

    fn cross(&self, denominator: &Dyadic) -> Dyadic {
        if denominator.is_one() { self.numerator.clone() } else { &self.numerator * denominator }
    }
}

impl From<&Dyadic> for Rational {
    fn from(x: &Dyadic) -> Self {
        Self { numerator: x.clone(), denominator: Dyadic::one() }
    }
}

impl Add for &Rational {
    type Output = Rational;
    fn add(self, other: Self) -> Rational {
        Rational {
            numerator: &self.cross(&other.denominator) + &other.cross(&self.denominator),
            denominator: &self.denominator * &other.denominator,
        }
    }
}

impl Sub for &Rational {
    type Output = Rational;
    fn sub(self, other: Self) -> Rational {
        self + &-other
    }
}

impl Mul for &Rational {
    type Output = Rational;
    fn mul(self, other: Self) -> Rational {
        Rational {
            numerator: &self.numerator * &other.numerator,
            denominator: &self.denominator * &other.denominator,
        }
    }
}

impl Div for &Rational {
    type Output = Rational;
    fn div(self, other: Self) -> Rational {
        Rational::new(&self.cross(&other.denominator), &other.cross(&self.denominator))
    }
}

impl Neg for &Rational {
    type Output = Rational;
    fn neg(self) -> Rational {
        Rational { numerator: -&self.numerator, denominator: self.denominator.clone() }
    }
}

impl Ord for Rational {
    fn cmp(&self, other: &Self) -> Ordering {
        self.cross(&other.denominator).cmp(&other.cross(&self.denominator))
    }
}

impl PartialOrd for Rational {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Rational {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Rational {}

/// A real number that is not negative. All that rounding needs to know of it is how it compares
/// with rational numbers.
#[derive(Clone, Debug)]
pub enum Real {
    /// A rational number.
    Rational(Rational),
    /// The square root of a rational number.
    Root(Rational),
}

impl Real {
    /// Order against a rational number.
    pub fn compare(&self, other: &Rational) -> Ordering {
        match self {
            Self::Rational(x) => x.cmp(other),
            Self::Root(_) if other.is_negative() => Ordering::Greater,
            Self::Root(square) => square.cmp(&(other * other)),
        }
    }

    /// Order against a dyadic number.
    pub fn compare_dyadic(&self, other: &Dyadic) -> Ordering {
        match self {
            // Almost every comparison is of two dyadic numbers, so this one is spared the products.
            Self::Rational(x) if x.denominator.is_one() => x.numerator.cmp(other),
            _ => self.compare(&Rational::from(other)),
        }
    }

    /// Whether this is zero.
    pub fn is_zero(&self) -> bool {
        match self {
            Self::Rational(x) | Self::Root(x) => x.is_zero(),
        }
    }
}

/// An exact operand or result: sign and magnitude, with infinities, NaN and a signed zero.
#[derive(Clone, Debug)]
pub enum Exact {
    /// Not a number; some rules carry its sign.
    Nan {
        /// The sign of the NaN.
        negative: bool,
    },
    /// An infinity.
    Inf {
        /// Its sign.
        negative: bool,
    },
    /// A real number; a zero magnitude with `negative` is −0.
    Finite {
        /// The sign.
        negative: bool,
        /// The magnitude.
        magnitude: Real,
    },
}

impl Exact {
    /// A positive NaN.
    pub const NAN: Self = Self::Nan { negative: false };

    /// A number with the sign it has; zero becomes +0.
    pub fn from_rational(x: &Rational) -> Self {
        Self::Finite { negative: x.is_negative(), magnitude: Real::Rational(x.abs()) }
    }

    /// A number with the sign it has; zero becomes +0.
    pub fn from_dyadic(x: &Dyadic) -> Self {
        Self::from_rational(&Rational::from(x))
    }

    /// The fraction of two integers.
    ///
    /// # Panics
    /// If the denominator is zero.
    pub fn ratio(numerator: i64, denominator: i64) -> Self {
        Self::from_rational(&Rational::ratio(numerator, denominator))
    }

    /// A zero with a sign.
    pub fn zero(negative: bool) -> Self {
        Self::Finite { negative, magnitude: Real::Rational(Rational::from(&Dyadic::zero())) }
    }

    /// The value of an f64, with the signs of its zero and NaN.
    pub fn from_f64(x: f64) -> Self {
        let negative = x.is_sign_negative();
        match Dyadic::from_f64(x) {
            Some(value) => Self::Finite { negative, magnitude: Real::Rational(Rational::from(&value.abs())) },
            None if x.is_nan() => Self::Nan { negative },
            None => Self::Inf { negative },
        }
    }

    /// The value of an f32, with the signs of its zero and NaN.
    pub fn from_f32(x: f32) -> Self {
        // Widening to f64 may quieten a NaN but keeps its sign, and is exact otherwise.
        Self::from_f64(x.into())
    }

    /// Whether this is a finite number.
    pub fn is_finite(&self) -> bool {
        matches!(self, Self::Finite { .. })
    }

    /// Whether this is +0 or −0.
    pub fn is_zero(&self) -> bool {
        matches!(self, Self::Finite { magnitude, .. } if magnitude.is_zero())
    }

    /// Whether this is a NaN.
    pub fn is_nan(&self) -> bool {
        matches!(self, Self::Nan { .. })
    }

    /// The sign, that of a zero or NaN included.
    pub fn is_negative(&self) -> bool {
        match self {
            Self::Nan { negative } | Self::Inf { negative } | Self::Finite { negative, .. } => *negative,
        }
    }
}

impl From<Value> for Exact {
    fn from(value: Value) -> Self {
        match value {
            Value::Nan { negative } => Self::Nan { negative },
            Value::Inf { negative } => Self::Inf { negative },
            Value::Finite(x, negative_zero) => {
                let negative = x.is_negative() || negative_zero;
                Self::Finite { negative, magnitude: Real::Rational(Rational::from(&x.abs())) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Exponents around those that take the shorter way, against long integers.
    #[test]
    fn floors_agree_with_long_integers() {
        for m in [0, 1, 3, 0x7fff_ffff, i64::MAX] {
            for d in [1, 3, 7, i64::MAX] {
                for e in [-130, -125, -64, -63, -62, -61, -1, 0, 1, 61, 62, 63, 64, 130] {
                    let floor = Rational::new(&Dyadic::new(m, e), &Dyadic::new(d, 0)).floor();
                    let whole = |x: i64, places: i64| BigUint::from(x.unsigned_abs()) << places;
                    assert_eq!(floor, whole(m, e + 130) / whole(d, 130), "{m}·2^{e} / {d}");
                }
            }
        }
    }
}
