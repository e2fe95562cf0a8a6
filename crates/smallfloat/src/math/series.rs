//! Power series and constants, with bounds on what they leave out.
//!
//! The sums are of integers in units of the last place (ulp), 2^−places. Each step cuts off less
//! than one unit.

use dashu_base::{Sign, UnsignedAbs};
use dashu_int::{IBig, UBig};

use crate::math::ball::Ball;
use crate::math::real::{Real, shift};

/// Places beyond a ball's precision in which series are summed; a sum of fewer than 2^12 terms is
/// off by less than 2^15.
const SPARE: u32 = 16;

/// A number below 1 in units of the last place, its sign, and by how many units it may be off.
struct Fixed {
    magnitude: UBig,
    negative: bool,
    off: UBig,
    places: i64,
}

impl Fixed {
    fn of(x: &Ball) -> Self {
        let places = i64::from(x.precision() + SPARE);
        let (middle, radius) = x.at(-places);
        Self {
            negative: middle.sign() == Sign::Negative,
            magnitude: middle.unsigned_abs(),
            off: radius,
            places,
        }
    }

    /// 1 + Σ termₖ with termₖ = ±termₖ₋₁ · |x| / divisor(k), the sign being `sign`'s.
    ///
    /// For |x| ≤ 1, divisors of 2 or more that grow, and a sum whose derivative is at most 1. A
    /// term is off by (|x|·e + 1) / 2 + 1 ≤ 3 units where the one before is off by e ≤ 3; the first
    /// that vanishes is below 3, and all after it together no more than that. So n terms are off by
    /// 3·n + 6 units, and by x's own.
    fn factorial_series(&self, negative: bool, divisor: impl Fn(u64) -> u64, precision: u32) -> Ball {
        let places = shift(self.places);
        let one = UBig::ONE << places;
        let (mut sum, mut term, mut k) = (IBig::from(one.clone()), one, 1);
        loop {
            term = ((term * &self.magnitude) >> places) / divisor(k);
            if term.is_zero() {
                break;
            }
            if negative && k % 2 == 1 {
                sum -= &term;
            } else {
                sum += &term;
            }
            k += 1;
        }
        self.ball(sum, k, precision)
    }

    /// Σ (±|x|)^k / (2k + 1) for |x| ≤ ¼.
    ///
    /// A power is off by |x|·e + 1 ≤ 2 units, a term by 3, the terms after the last power by 2, and
    /// the derivative is at most ½ / (1 − |x|)² < 1.
    fn odd_series(&self, negative: bool, precision: u32) -> Ball {
        let places = shift(self.places);
        let one = UBig::ONE << places;
        let (mut sum, mut power, mut k) = (IBig::from(one.clone()), one, 1_u64);
        loop {
            power = (power * &self.magnitude) >> places;
            if power.is_zero() {
                break;
            }
            let term = &power / (2 * k + 1);
            if negative && k % 2 == 1 {
                sum -= term;
            } else {
                sum += term;
            }
            k += 1;
        }
        self.ball(sum, k, precision)
    }

    /// A sum of so many terms and what it is off by: 16 units a term are more than either bound
    /// above.
    fn ball(&self, sum: IBig, terms: u64, precision: u32) -> Ball {
        Ball::fixed(sum, &self.off + UBig::from(terms << 4), self.places, precision)
    }
}

/// (e^x − 1) / x for |x| ≤ ½: Σ x^k / (k + 1)!.
pub(super) fn exp_minus_one_over(x: &Ball) -> Ball {
    let x_fixed = Fixed::of(x);
    x_fixed.factorial_series(x_fixed.negative, |k| k + 1, x.precision())
}

/// sin x / x for |x| ≤ 0.9: Σ (−x²)^k / (2k + 1)!.
pub(super) fn sin_over(x: &Ball) -> Ball {
    Fixed::of(&x.multiply(x)).factorial_series(true, |k| 2 * k * (2 * k + 1), x.precision())
}

/// cos x for |x| ≤ 0.9: Σ (−x²)^k / (2k)!.
pub(super) fn cos(x: &Ball) -> Ball {
    Fixed::of(&x.multiply(x)).factorial_series(true, |k| (2 * k - 1) * (2 * k), x.precision())
}

/// artanh x for |x| ≤ ½: x · Σ x^2k / (2k + 1).
pub(super) fn artanh(x: &Ball) -> Ball {
    x.multiply(&Fixed::of(&x.multiply(x)).odd_series(false, x.precision()))
}

/// arctan x for |x| ≤ ½: x · Σ (−x²)^k / (2k + 1).
pub(super) fn arctan(x: &Ball) -> Ball {
    x.multiply(&Fixed::of(&x.multiply(x)).odd_series(true, x.precision()))
}

/// ln 2 = 18·artanh(1/26) − 2·artanh(1/4801) + 8·artanh(1/8749).
///
/// (27/25)^9 · (4800/4802) · (8750/8748)^4 = 2, and 2·artanh(1/n) = ln((n + 1) / (n − 1)).
pub(super) fn ln2(precision: u32) -> Ball {
    let places = i64::from(precision + SPARE);
    let mut sum = IBig::ZERO;
    for (weight, n) in [(18_i64, 26_u64), (-2, 4801), (8, 8749)] {
        let mut power = (UBig::ONE << shift(places)) / n;
        let mut k = 0_u64;
        while !power.is_zero() {
            sum += IBig::from(&power / (2 * k + 1)) * weight;
            power /= n * n;
            k += 1;
        }
    }
    // Each power is off by less than 2 units, each term by 3, and what follows the last power by 2;
    // a power has at least nine bits fewer than the one before. Of weights of 28 in all that is
    // less than 32 units a place.
    Ball::fixed(sum, UBig::from(precision + SPARE) << 5, places, precision)
}

/// π by the Chudnovskys' series, summed by halves: 426880·√10005·Q / T.
///
/// A term is less than 2^−47 of the one before, so that ⌊precision / 47⌋ + 3 terms leave out less
/// than the last place.
pub(super) fn pi(precision: u32) -> Option<Ball> {
    let (_, q, t) = chudnovsky(0, u64::from(precision / 47 + 3));
    let ball = |x: UBig| Ball::exact(&Real::exact(false, x, 0), precision + SPARE);
    let numerator = ball(UBig::from(10_005_u16)).sqrt()?.multiply(&ball(q * UBig::from(426_880_u32)));
    let rest = Ball::fixed(IBig::ZERO, UBig::ONE, i64::from(precision), precision);
    Some(numerator.divide(&ball(t.unsigned_abs()))?.add(&rest).rounded(precision))
}

/// P, Q and T of the terms from `first` to before `end`.
fn chudnovsky(first: u64, end: u64) -> (UBig, UBig, IBig) {
    if end - first > 1 {
        let middle = first.midpoint(end);
        let (p1, q1, t1) = chudnovsky(first, middle);
        let (p2, q2, t2) = chudnovsky(middle, end);
        let t = t1 * &q2 + t2 * &p1;
        return (p1 * p2, q1 * q2, t);
    }
    let n = first;
    let (p, q) = if n == 0 {
        (UBig::ONE, UBig::ONE)
    } else {
        let p = UBig::from(6 * n - 5) * UBig::from(2 * n - 1) * UBig::from(6 * n - 1);
        (p, UBig::from(n).pow(3) * UBig::from(10_939_058_860_032_000_u64))
    };
    let t = IBig::from(&p * UBig::from(13_591_409 + 545_140_134 * n));
    (p, q, if n % 2 == 1 { -t } else { t })
}
