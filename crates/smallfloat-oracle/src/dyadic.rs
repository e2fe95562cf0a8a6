//! Exact numbers of the form integer × 2^exponent.

use std::cmp::Ordering;
use std::fmt;
use std::ops::{Add, Mul, Neg, Sub};

use num_bigint::{BigInt, BigUint, Sign};

/// An integer. It is long only where 64 bits don't hold it, so that most numbers take no memory of
/// their own, and equal integers are equal structures.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Integer {
    /// One of 64 bits.
    Short(i64),
    /// Another one.
    Long(BigInt),
}

impl From<BigInt> for Integer {
    fn from(x: BigInt) -> Self {
        i64::try_from(&x).map_or(Self::Long(x), Self::Short)
    }
}

impl From<BigUint> for Integer {
    fn from(x: BigUint) -> Self {
        BigInt::from(x).into()
    }
}

impl From<i128> for Integer {
    fn from(x: i128) -> Self {
        i64::try_from(x).map_or_else(|_| Self::Long(x.into()), Self::Short)
    }
}

impl From<u128> for Integer {
    fn from(x: u128) -> Self {
        i64::try_from(x).map_or_else(|_| Self::Long(x.into()), Self::Short)
    }
}

impl From<i64> for Integer {
    fn from(x: i64) -> Self {
        Self::Short(x)
    }
}

impl From<u64> for Integer {
    fn from(x: u64) -> Self {
        i128::from(x).into()
    }
}

impl From<i32> for Integer {
    fn from(x: i32) -> Self {
        Self::Short(x.into())
    }
}

impl Integer {
    fn signum(&self) -> i64 {
        match self {
            Self::Short(x) => x.signum(),
            Self::Long(x) if x.sign() == Sign::Minus => -1,
            Self::Long(_) => 1,
        }
    }

    /// How many bits the magnitude has.
    fn bits(&self) -> u64 {
        match self {
            Self::Short(x) => (64 - x.unsigned_abs().leading_zeros()).into(),
            Self::Long(x) => x.bits(),
        }
    }

    fn trailing_zeros(&self) -> Option<u64> {
        match self {
            Self::Short(0) => None,
            Self::Short(x) => Some(x.trailing_zeros().into()),
            Self::Long(x) => x.trailing_zeros(),
        }
    }

    fn long(&self) -> BigInt {
        match self {
            Self::Short(x) => BigInt::from(*x),
            Self::Long(x) => x.clone(),
        }
    }

    fn negated(&self) -> Self {
        match self {
            Self::Short(x) => (-i128::from(*x)).into(),
            Self::Long(x) => (-x).into(),
        }
    }
}

/// An exact number `mantissa × 2^exponent`.
///
/// Always normalised (the mantissa is odd, or it is zero and the exponent is 0), so that equal
/// numbers are equal structures. There is no negative zero here: the sign of a zero is kept beside
/// the number.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Dyadic {
    mantissa: Integer,
    exponent: i64,
}

impl Dyadic {
    /// The number `mantissa × 2^exponent`, normalised.
    pub fn new(mantissa: impl Into<Integer>, exponent: i64) -> Self {
        let mantissa = mantissa.into();
        match mantissa.trailing_zeros() {
            None => Self { mantissa, exponent: 0 },
            Some(0) => Self { mantissa, exponent },
            Some(zeros) => {
                let mantissa = match mantissa {
                    Integer::Short(x) => Integer::Short(x >> zeros),
                    Integer::Long(x) => (x >> zeros).into(),
                };
                Self { mantissa, exponent: exponent + to_i64(zeros) }
            }
        }
    }

    /// Zero.
    pub fn zero() -> Self {
        Self::new(0, 0)
    }

    /// One.
    pub fn one() -> Self {
        Self::new(1, 0)
    }

    /// Whether this is one.
    pub fn is_one(&self) -> bool {
        matches!(self.mantissa, Integer::Short(1)) && self.exponent == 0
    }

    /// The odd mantissa (0 for zero).
    pub fn mantissa(&self) -> BigInt {
        self.mantissa.long()
    }

    /// The exponent that goes with [`Self::mantissa`].
    pub fn exponent(&self) -> i64 {
        self.exponent
    }

    /// Whether this is zero.
    pub fn is_zero(&self) -> bool {
        self.mantissa.signum() == 0
    }

    /// Whether this is below zero.
    pub fn is_negative(&self) -> bool {
        self.mantissa.signum() < 0
    }

    /// The magnitude.
    #[must_use]
    pub fn abs(&self) -> Self {
        if self.is_negative() { -self } else { self.clone() }
    }

    /// This number times `2^shift`.
    #[must_use]
    pub fn scale(&self, shift: i64) -> Self {
        if self.is_zero() {
            return self.clone();
        }
        Self { mantissa: self.mantissa.clone(), exponent: self.exponent + shift }
    }

    /// The mantissa, if it is short.
    pub(crate) fn short(&self) -> Option<i64> {
        match self.mantissa {
            Integer::Short(x) => Some(x),
            Integer::Long(_) => None,
        }
    }

    /// The exponent of the leading bit, `⌊log2 |self|⌋`; `None` for zero.
    pub fn floor_log2(&self) -> Option<i64> {
        (!self.is_zero()).then(|| self.exponent + to_i64(self.mantissa.bits()) - 1)
    }

    /// The mantissa that goes with a lower (or the same) exponent.
    ///
    /// # Panics
    /// If `exponent` is above this number's own, for then the mantissa would not be an integer.
    pub fn mantissa_at(&self, exponent: i64) -> BigInt {
        if self.is_zero() {
            return BigInt::ZERO;
        }
        let shift = u64::try_from(self.exponent - exponent).expect("exponent at or below the number's own");
        self.mantissa() << shift
    }

    /// The exact value of a finite f64; `None` for infinities and NaN.
    pub fn from_f64(x: f64) -> Option<Self> {
        Self::from_fields(x.to_bits(), 52, 11)
    }

    /// The exact value of a finite f32; `None` for infinities and NaN.
    pub fn from_f32(x: f32) -> Option<Self> {
        Self::from_fields(x.to_bits().into(), 23, 8)
    }

    // IEEE 754 interchange fields: `trailing` significand bits below `width` exponent bits below
    // the sign.
    fn from_fields(bits: u64, trailing: u32, width: u32) -> Option<Self> {
        let ones = (1u64 << width) - 1;
        let bias = i64::from((1i32 << (width - 1)) - 1);
        let field = (bits >> trailing) & ones;
        let fraction = bits & ((1 << trailing) - 1);
        let significand = if field == 0 { fraction } else { fraction | 1 << trailing };
        let exponent = field.max(1).cast_signed() - bias - i64::from(trailing);
        let negative = bits >> (trailing + width) == 1;
        let magnitude = Self::new(significand, exponent);
        (field != ones).then(|| if negative { -&magnitude } else { magnitude })
    }

    /// The bit pattern of the f32 that equals this number; `None` if there is none.
    pub fn to_f32_bits(&self) -> Option<u32> {
        let Some(top) = self.floor_log2() else { return Some(0) };
        if top > 127 || self.exponent < -149 {
            return None;
        }
        // The last place of the binade, and of the subnormal range below 2^-126.
        let last = (top - 23).max(-149);
        if self.exponent < last {
            return None;
        }
        let significand = u32::try_from(self.mantissa_at(last).magnitude()).ok()?;
        // A subnormal has no leading bit, so its field comes out as 0 by itself.
        let field = u32::try_from(last + 149).ok()?;
        let sign = u32::from(self.is_negative()) << 31;
        Some(sign | ((field << 23) + significand))
    }
}

fn to_i64(bits: u64) -> i64 {
    i64::try_from(bits).expect("bit counts are far below 2^63")
}

impl Add for &Dyadic {
    type Output = Dyadic;
    fn add(self, other: Self) -> Dyadic {
        if self.is_zero() {
            return other.clone();
        }
        if other.is_zero() {
            return self.clone();
        }
        let exponent = self.exponent.min(other.exponent);
        if let (Some(x), Some(y)) = (self.short(), other.short())
            && let (0..=62, 0..=62) = (self.exponent - exponent, other.exponent - exponent)
        {
            let at = |x: i64, from: i64| i128::from(x) << (from - exponent);
            return Dyadic::new(at(x, self.exponent) + at(y, other.exponent), exponent);
        }
        Dyadic::new(self.mantissa_at(exponent) + other.mantissa_at(exponent), exponent)
    }
}

impl Sub for &Dyadic {
    type Output = Dyadic;
    fn sub(self, other: Self) -> Dyadic {
        self + &-other
    }
}

impl Mul for &Dyadic {
    type Output = Dyadic;
    fn mul(self, other: Self) -> Dyadic {
        if self.is_zero() || other.is_zero() {
            return Dyadic::zero();
        }
        // A product of odd numbers is odd.
        let mantissa = match (self.short(), other.short()) {
            (Some(x), Some(y)) => (i128::from(x) * i128::from(y)).into(),
            _ => (self.mantissa() * other.mantissa()).into(),
        };
        Dyadic { mantissa, exponent: self.exponent + other.exponent }
    }
}

impl Neg for &Dyadic {
    type Output = Dyadic;
    fn neg(self) -> Dyadic {
        Dyadic { mantissa: self.mantissa.negated(), exponent: self.exponent }
    }
}

impl Ord for Dyadic {
    fn cmp(&self, other: &Self) -> Ordering {
        let signs = self.mantissa.signum().cmp(&other.mantissa.signum());
        if signs != Ordering::Equal || self.is_zero() {
            return signs;
        }
        let magnitudes = if let (Some(x), Some(y)) = (self.short(), other.short()) {
            // The places of the leading bits, then the bits from there on.
            let (x, y) = (x.unsigned_abs(), y.unsigned_abs());
            let (above_x, above_y) = (x.leading_zeros(), y.leading_zeros());
            let leading = |exponent: i64, above: u32| exponent - i64::from(above);
            leading(self.exponent, above_x)
                .cmp(&leading(other.exponent, above_y))
                .then_with(|| (x << above_x).cmp(&(y << above_y)))
        } else {
            // The leading bits decide most cases without a long shift.
            self.floor_log2().cmp(&other.floor_log2()).then_with(|| {
                let exponent = self.exponent.min(other.exponent);
                self.mantissa_at(exponent).magnitude().cmp(other.mantissa_at(exponent).magnitude())
            })
        };
        if self.is_negative() { magnitudes.reverse() } else { magnitudes }
    }
}

impl PartialOrd for Dyadic {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// `0`, or `[-]<odd integer>p<exponent of two>`: 1.5 is `3p-1`, −2 is `-1p1`.
impl fmt::Display for Dyadic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_zero() { f.write_str("0") } else { write!(f, "{}p{}", self.mantissa(), self.exponent) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normalised_and_printed() {
        assert_eq!(Dyadic::new(12, -3), Dyadic::new(3, -1));
        assert_eq!(Dyadic::new(6, 0).to_string(), "3p1");
        assert_eq!(Dyadic::from_f64(-2.0).unwrap().to_string(), "-1p1");
        assert_eq!(Dyadic::from_f32(-0.0).unwrap().to_string(), "0");
        assert_eq!(Dyadic::from_f64(f64::INFINITY), None);
        assert_eq!(Dyadic::from_f32(f32::NAN), None);
    }

    #[test]
    fn order_and_arithmetic_agree_with_small_integers() {
        for a in -40i64..=40 {
            for b in -40i64..=40 {
                let (x, y) = (Dyadic::new(a, -3), Dyadic::new(b, -3));
                assert_eq!(x.cmp(&y), a.cmp(&b));
                assert_eq!(&x + &y, Dyadic::new(a + b, -3));
                assert_eq!(&x - &y, Dyadic::new(a - b, -3));
                assert_eq!(&x * &y, Dyadic::new(a * b, -6));
            }
        }
    }

    /// Mantissas and exponents around those that take a shorter way, against long integers.
    #[test]
    fn order_and_arithmetic_agree_with_long_integers() {
        let mut mantissas: Vec<i128> = vec![0];
        for bits in [1, 2, 31, 32, 33, 61, 62, 63, 64, 65, 90] {
            let top = 1_i128 << bits;
            mantissas.extend([top - 1, top, top + 1, -top - 1, -top, 1 - top, top + (top >> 1)]);
        }
        let exponents = [-70_i64, -63, -62, -1, 0, 1, 61, 62, 63, 64, 70];
        let numbers: Vec<(i128, i64)> =
            mantissas.iter().flat_map(|&mantissa| exponents.map(|exponent| (mantissa, exponent))).collect();
        let whole = |(mantissa, exponent): (i128, i64)| BigInt::from(mantissa) << (exponent + 70);
        for &a in &numbers {
            for &b in numbers.iter().step_by(3) {
                let [x, y] = [a, b].map(|(mantissa, exponent)| Dyadic::new(mantissa, exponent));
                let (m, n) = (whole(a), whole(b));
                assert_eq!(x.cmp(&y), m.cmp(&n), "{x} {y}");
                assert_eq!(&x + &y, Dyadic::new(&m + &n, -70), "{x} + {y}");
                assert_eq!(&x - &y, Dyadic::new(&m - &n, -70), "{x} - {y}");
                assert_eq!(&x * &y, Dyadic::new(&m * &n, -140), "{x} * {y}");
            }
            let x = Dyadic::new(a.0, a.1);
            assert_eq!(x.scale(-3), Dyadic::new(a.0, a.1 - 3), "{x}");
        }
    }

    #[test]
    fn f32_patterns_round_trip() {
        for bits in (0..0x7f80_0000u32).step_by(65_537).chain([1, 2, 0x7f_ffff, 0x80_0000, 0x7f7f_ffff]) {
            for bits in [bits, bits | 1 << 31] {
                let x = Dyadic::from_f32(f32::from_bits(bits)).unwrap();
                let back = x.to_f32_bits().unwrap();
                // The sign of zero is not part of the number.
                assert_eq!(back, if x.is_zero() { 0 } else { bits });
                assert_eq!(Dyadic::from_f64(f32::from_bits(bits).into()), Some(x));
            }
        }
        assert_eq!(Dyadic::new(1, -150).to_f32_bits(), None);
        assert_eq!(Dyadic::new(1, 128).to_f32_bits(), None);
        assert_eq!(Dyadic::new((1 << 24) + 1, 0).to_f32_bits(), None);
    }
}
