//! [`Ball`]: a real number known to within a radius, the arithmetic of functions without exact
//! results.
//!
//! Each operation returns a ball that contains every result of numbers in its operands' balls. So
//! what a formula yields contains the function's value whatever was cut off on the way, and
//! [`refine`] takes no digit that the radius leaves in doubt.

use dashu_base::{BitTest, Sign, SquareRoot, UnsignedAbs};
use dashu_int::{IBig, UBig};

use crate::math::real::{Real, length, shift};

/// The reals within radius · 2^exponent of middle · 2^exponent, bounds included.
#[derive(Clone, Debug)]
pub(super) struct Ball {
    middle: IBig,
    radius: UBig,
    exponent: i64,
    /// Results are kept to so many bits.
    precision: u32,
}

/// A radius is cut to so many bits, and with it what lies below it in the middle.
const RADIUS_BITS: i64 = 32;

impl Ball {
    fn new(middle: IBig, radius: UBig, exponent: i64, precision: u32) -> Self {
        let spare = length_of(&middle) - i64::from(precision);
        let cut = spare.max(length(&radius) - RADIUS_BITS);
        if cut <= 0 {
            return Self { middle, radius, exponent, precision };
        }
        // One more for each of the two parts cut off.
        let radius = (radius >> shift(cut)) + UBig::from(2_u8);
        Self { middle: middle >> shift(cut), radius, exponent: exponent + cut, precision }
    }

    /// An exact number, rounded to `precision` bits.
    pub(super) fn exact(x: &Real, precision: u32) -> Self {
        let sign = if x.negative { Sign::Negative } else { Sign::Positive };
        Self::new(IBig::from_parts(sign, x.significand.clone()), UBig::ZERO, x.exponent, precision)
    }

    /// A small integer.
    pub(super) fn integer(x: i64, precision: u32) -> Self {
        Self::new(IBig::from(x), UBig::ZERO, 0, precision)
    }

    /// significand · 2^−places to within `radius` units of its last place.
    pub(super) fn fixed(significand: IBig, radius: UBig, places: i64, precision: u32) -> Self {
        Self::new(significand, radius, -places, precision)
    }

    pub(super) fn precision(&self) -> u32 {
        self.precision
    }

    /// Returns whether it is 0 exactly.
    pub(super) fn is_zero(&self) -> bool {
        self.middle.is_zero() && self.radius.is_zero()
    }

    /// An exponent above which no bit of the middle lies.
    pub(super) fn top(&self) -> i64 {
        self.exponent + length_of(&self.middle)
    }

    /// Returns the ball with another precision.
    pub(super) fn rounded(self, precision: u32) -> Self {
        Self::new(self.middle, self.radius, self.exponent, precision)
    }

    /// −x.
    pub(super) fn negated(self) -> Self {
        Self { middle: -self.middle, ..self }
    }

    /// x, or −x.
    pub(super) fn negated_if(self, negative: bool) -> Self {
        if negative { self.negated() } else { self }
    }

    /// x · 2^power.
    pub(super) fn scaled(self, power: i64) -> Self {
        Self { exponent: self.exponent + power, ..self }
    }

    /// The middle and the radius in units of 2^exponent.
    pub(super) fn at(&self, exponent: i64) -> (IBig, UBig) {
        if exponent <= self.exponent {
            let up = shift(self.exponent - exponent);
            return (&self.middle << up, &self.radius << up);
        }
        let down = shift(exponent - self.exponent);
        (&self.middle >> down, (&self.radius >> down) + UBig::from(2_u8))
    }

    /// x + y.
    pub(super) fn add(&self, y: &Self) -> Self {
        // What lies far below the larger term's precision goes into the radius.
        let lowest = self.top().max(y.top()) - i64::from(self.precision) - 8;
        let exponent = self.exponent.min(y.exponent).max(lowest);
        let ((a, r), (b, s)) = (self.at(exponent), y.at(exponent));
        Self::new(a + b, r + s, exponent, self.precision)
    }

    /// x − y.
    pub(super) fn subtract(&self, y: &Self) -> Self {
        self.add(&y.clone().negated())
    }

    /// x · y: the middles' product, off by |a|·s + |b|·r + r·s at most.
    pub(super) fn multiply(&self, y: &Self) -> Self {
        let (a, b, r, s) = (&self.middle, &y.middle, &self.radius, &y.radius);
        let radius = (a.unsigned_abs() + r) * s + b.unsigned_abs() * r;
        Self::new(a * b, radius, self.exponent + y.exponent, self.precision)
    }

    /// x · n.
    pub(super) fn times(&self, n: &IBig) -> Self {
        Self::new(&self.middle * n, &self.radius * n.unsigned_abs(), self.exponent, self.precision)
    }

    /// x / y: with s ≤ |b| / 2 the quotient of the middles is off by (|a|·s + |b|·r) / (|b|·(|b| −
    /// s)), at most twice (|a|·s + |b|·r) / b². Nothing where y's ball comes too near to 0.
    pub(super) fn divide(&self, y: &Self) -> Option<Self> {
        let (a, b, r, s) = (&self.middle, (&y.middle).unsigned_abs(), &self.radius, &y.radius);
        if b.is_zero() || s << 1 > b {
            return None;
        }
        let up = (i64::from(self.precision) + length(&b) - length_of(a) + 2).max(0);
        let quotient = (a << shift(up)) / &y.middle;
        // One more for both divisions: a quotient other than 0 is longer than the precision, so
        // that `new` adds its two.
        let off = (a.unsigned_abs() * s + &b * r) << shift(up + 1);
        let radius = if self.is_zero() { UBig::ZERO } else { off / (&b * &b) + UBig::ONE };
        Some(Self::new(quotient, radius, self.exponent - y.exponent - up, self.precision))
    }

    /// √x: √a − √(a − r) = r / (√a + √(a − r)) is at most r / √a. An exact 0 stays; other balls
    /// must not touch it.
    pub(super) fn sqrt(&self) -> Option<Self> {
        if self.is_zero() {
            return Some(self.clone());
        }
        let radicand = (&self.middle).unsigned_abs();
        if self.middle.sign() == Sign::Negative || self.radius >= radicand {
            return None;
        }
        let up = (2 * i64::from(self.precision) - length(&radicand)).max(0);
        let up = up + (self.exponent - up).rem_euclid(2);
        let root = (radicand << shift(up)).sqrt();
        let radius = (&self.radius << shift(up)) / &root + UBig::from(2_u8);
        Some(Self::new(IBig::from(root), radius, (self.exponent - up) / 2, self.precision))
    }

    /// The middle to the nearest integer or one beside it.
    pub(super) fn near_integer(&self) -> IBig {
        let (twice, _) = self.clone().scaled(1).at(0);
        (twice + IBig::ONE) >> 1
    }

    /// The number truncated toward zero to `bits` bits, if all of the ball has these bits. The
    /// number must not be a dyadic one: it is then never on the boundary.
    pub(super) fn truncated(&self, bits: u32) -> Option<Real> {
        let middle = (&self.middle).unsigned_abs();
        if self.radius >= middle {
            return None;
        }
        let (lowest, highest) = (&middle - &self.radius, &middle + &self.radius);
        let cut = length(&highest) - i64::from(bits);
        let significand = highest >> shift(cut);
        (cut > 0 && lowest >> shift(cut) == significand).then(|| Real {
            negative: self.middle.sign() == Sign::Negative,
            significand,
            exponent: self.exponent + cut,
            sticky: true,
        })
    }
}

fn length_of(x: &IBig) -> i64 {
    i64::try_from(x.bit_len()).expect("an integer in memory has fewer than 2^63 bits")
}

/// The value of `formula` truncated toward zero to `bits` bits.
///
/// `formula` gives a ball around one and the same irrational number at any precision, with a radius
/// that becomes as small as one likes, or nothing where the precision is too low for a division or
/// a root. Then the loop ends: an irrational number lies at some distance from every number of
/// `bits` bits. That the value is irrational is for the caller to know, who decides the exact cases
/// first.
pub(super) fn refine(bits: u32, formula: impl Fn(u32) -> Option<Ball>) -> Real {
    let mut guard = 32;
    loop {
        if let Some(x) = formula(bits + guard).and_then(|ball| ball.truncated(bits)) {
            return x;
        }
        guard *= 2;
    }
}
