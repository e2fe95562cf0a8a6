//! Powers, logarithms of any base, cube roots and degrees, correctly rounded: what
//! `num_traits::Float` asks for beyond [`Elementary`](crate::ops::elementary::Elementary).
//!
//! For values of typed scalars: significands of at most 24 bits, exponents within binary32's.

use core::cmp::Ordering;

use dashu_int::UBig;

use crate::format::datum::Datum;
use crate::math::ball::{Ball, refine};
use crate::math::exponential::{exp, ln};
use crate::math::real::{Real, divide};
use crate::math::series;
use crate::math::wide::Wide;
use crate::ops::Semantics;
use crate::projection::exact::Exact;

/// Bits of a truncated result: more than any type's precision and the place that decides.
const BITS: u32 = 64;
const NAN: Exact = Exact::Nan { negative: false };
/// log2 of an exponent of e that lies beyond every typed scalar.
const HUGE: i64 = 11;

const fn infinite(negative: bool) -> Exact {
    Exact::Infinite { negative }
}

fn zero(negative: bool) -> Exact {
    Exact::finite(negative, 0, 0)
}

fn one(negative: bool) -> Exact {
    Exact::finite(negative, 1, 0)
}

fn real(significand: u64, exponent: i32) -> Real {
    Real::small(significand, exponent.into())
}

fn exact(x: Real) -> Exact {
    Wide::from(x).to_exact()
}

/// x^y, with the special cases of IEEE 754's pow.
pub(crate) fn power(x: Datum, y: Datum) -> Exact {
    if y.is_zero() || x == Datum::finite(false, 1, 0) {
        return one(false);
    }
    let odd = matches!(y, Datum::Finite { exponent: 0, .. });
    let y_negative = y.is_negative();
    match (x, y) {
        (Datum::Nan { .. }, _) | (_, Datum::Nan { .. }) => NAN,
        (_, Datum::Infinite { .. }) if x == Datum::finite(true, 1, 0) => one(false),
        (_, Datum::Infinite { .. }) => {
            if is_above_one(x) == y_negative {
                zero(false)
            } else {
                infinite(false)
            }
        }
        (Datum::Infinite { negative }, _) => {
            let negative = negative && odd;
            if y_negative { zero(negative) } else { infinite(negative) }
        }
        (Datum::Finite { negative, significand: 0, .. }, _) => {
            let negative = negative && odd;
            if y_negative { infinite(negative) } else { zero(negative) }
        }
        (Datum::Finite { negative: true, .. }, Datum::Finite { exponent: ..0, .. }) => NAN,
        (
            Datum::Finite { negative, significand, exponent },
            Datum::Finite { significand: factor, exponent: scale, .. },
        ) => {
            let y = real(factor, scale).with_sign(y_negative);
            let power = dyadic_power((significand, exponent), (factor, scale), y_negative)
                .unwrap_or_else(|| positive_power(&real(significand, exponent), is_above_one(x), &y));
            exact(power.with_sign(negative && odd))
        }
    }
}

/// Returns whether |x| > 1, of an x other than ±1.
fn is_above_one(x: Datum) -> bool {
    !matches!(x, Datum::Finite { .. }) || !x.is_zero() && x.exponent_of_leading_bit() >= 0
}

/// (m·2^e)^±(k·2^f) with odd m and k, where that is a dyadic number of few bits: m must be a power
/// 2^−f and 2^e with it. A number of more bits is met by no rounding place, so that refinement
/// ends.
fn dyadic_power((m, e): (u64, i32), (k, f): (u64, i32), negative: bool) -> Option<Real> {
    let (mut m, mut e) = (m, i64::from(e));
    for _ in f..0 {
        let root = m.isqrt();
        if root * root != m || e % 2 != 0 {
            return None;
        }
        (m, e) = (root, e / 2);
    }
    let n = k.checked_shl(f.max(0).unsigned_abs()).filter(|n| n >> f.max(0) == k)?;
    if negative && m != 1 {
        return None;
    }
    let significand = if m == 1 { 1 } else { m.checked_pow(u32::try_from(n).ok()?)? };
    let exponent = e.checked_mul(i64::try_from(n).ok()?)?;
    Some(Real::small(significand, if negative { -exponent } else { exponent }))
}

/// x^y for x > 0, by its logarithm.
fn positive_power(x: &Real, above_one: bool, y: &Real) -> Real {
    let product = |precision| Some(ln(&Ball::exact(x, precision))?.multiply(&Ball::exact(y, precision)));
    if product(BITS).is_some_and(|product| product.top() > HUGE) {
        let exponent = 1 << HUGE;
        let beyond = if above_one == y.negative { -exponent } else { exponent };
        return Real { sticky: true, ..Real::exact(false, UBig::ONE << BITS as usize, beyond) };
    }
    refine(BITS, |precision| exp(&product(precision)?))
}

/// A logarithm's operand: the logarithm where it is 0 or infinite, or a number that has its sign.
fn logarithm(x: Datum) -> Datum {
    match x {
        Datum::Nan { .. } => x,
        _ if x.is_zero() => Datum::Infinite { negative: true },
        _ if x.is_negative() => Datum::Nan { negative: false },
        Datum::Infinite { .. } => x,
        _ if x == Datum::finite(false, 1, 0) => Datum::ZERO,
        Datum::Finite { .. } => Datum::finite(!is_above_one(x), 1, 0),
    }
}

/// log x to a base: ln x / ln base, with that quotient's special cases.
pub(crate) fn logarithm_to(x: Datum, base: Datum) -> Exact {
    let [of_x, of_base] = [x, base].map(logarithm);
    let (Datum::Finite { significand, exponent, .. }, Datum::Finite { significand: m, exponent: e, .. }) =
        (x, base)
    else {
        return crate::ops::divide::divide(of_x, of_base, Semantics::Ieee).exact;
    };
    let is_number = |x: Datum| x.is_finite() && !x.is_zero();
    if !is_number(of_x) || !is_number(of_base) {
        return crate::ops::divide::divide(of_x, of_base, Semantics::Ieee).exact;
    }
    if let Some(quotient) = rational_logarithm((significand, exponent), (m, e)) {
        return exact(quotient);
    }
    let (x, base) = (real(significand, exponent), real(m, e));
    exact(refine(BITS, |precision| {
        ln(&Ball::exact(&x, precision))?.divide(&ln(&Ball::exact(&base, precision))?)
    }))
}

/// log10 x.
pub(crate) fn logarithm10(x: Datum) -> Exact {
    logarithm_to(x, Datum::finite(false, 10, 0))
}

/// The logarithm where it is rational: where the exponents of all primes, 2 among them, are in one
/// proportion. All other logarithms of dyadic numbers are irrational.
fn rational_logarithm((mut x, e_x): (u64, i32), (mut base, e_base): (u64, i32)) -> Option<Real> {
    let mut ratio = (i64::from(e_x), i64::from(e_base));
    let mut prime = 3;
    while x > 1 || base > 1 {
        let count = |n: &mut u64| {
            let mut times = 0_i64;
            while *n % prime == 0 {
                *n /= prime;
                times += 1;
            }
            times
        };
        let (p, q) = (count(&mut x), count(&mut base));
        if p * ratio.1 != q * ratio.0 {
            return None;
        }
        if (p, q) != (0, 0) && ratio == (0, 0) {
            ratio = (p, q);
        }
        prime += 2;
    }
    let (p, q) = ratio;
    if q == 0 || p == 0 {
        // Only one of them is a power of that prime.
        return None;
    }
    let signed = |n: i64| Real::small(n.unsigned_abs(), 0).with_sign(n < 0);
    Some(divide(&signed(p), &signed(q), BITS))
}

/// x to an integer: away from zero where `moves` says so of the sign, and of how what is cut off
/// compares with a half.
fn integral(x: Datum, moves: impl Fn(bool, Ordering) -> bool) -> Exact {
    let Datum::Finite { negative, significand: significand @ 1.., exponent: exponent @ ..0 } = x else {
        return Exact::from_datum(x);
    };
    let (significand, places) = (u128::from(significand), exponent.unsigned_abs().min(100));
    let (whole, rest) = (significand >> places, significand & ((1 << places) - 1));
    // A value with places behind the point has an odd significand: the rest is not zero.
    let away = moves(negative, (2 * rest).cmp(&(1 << places)));
    Exact::finite(negative, whole + u128::from(away), 0)
}

/// ⌊x⌋.
pub(crate) fn floor(x: Datum) -> Exact {
    integral(x, |negative, _| negative)
}

/// ⌈x⌉.
pub(crate) fn ceiling(x: Datum) -> Exact {
    integral(x, |negative, _| !negative)
}

/// The nearest integer, of two the one away from zero.
pub(crate) fn nearest_integer(x: Datum) -> Exact {
    integral(x, |_, rest| rest.is_ge())
}

/// The integer part.
pub(crate) fn integer_part(x: Datum) -> Exact {
    integral(x, |_, _| false)
}

/// ∛x.
pub(crate) fn cube_root(x: Datum) -> Exact {
    let Datum::Finite { negative, significand: significand @ 1.., exponent } = x else {
        return Exact::from_datum(x);
    };
    // A radicand of 98 to 100 bits, whose exponent is a multiple of three.
    let up = 97 - crate::cast::signed(significand.ilog2());
    let up = up + (exponent - up).rem_euclid(3);
    let radicand = u128::from(significand) << up;
    let (mut below, mut above) = (1_u128 << 32, 1_u128 << 34);
    while above - below > 1 {
        let middle = u128::midpoint(below, above);
        if middle * middle * middle <= radicand { below = middle } else { above = middle }
    }
    let sticky = below * below * below != radicand;
    Exact::Finite { negative, significand: below, exponent: (exponent - up) / 3, sticky }
}

/// x · 180 / π.
pub(crate) fn degrees(x: Datum) -> Exact {
    in_other_units(x, |x, pi| x.times(&180.into()).divide(pi))
}

/// x · π / 180.
pub(crate) fn radians(x: Datum) -> Exact {
    in_other_units(x, |x, pi| x.multiply(pi).divide(&Ball::integer(180, x.precision())))
}

/// An angle times a number that is irrational.
fn in_other_units(x: Datum, formula: impl Fn(&Ball, &Ball) -> Option<Ball>) -> Exact {
    let Datum::Finite { negative, significand: significand @ 1.., exponent } = x else {
        return Exact::from_datum(x);
    };
    let x = real(significand, exponent);
    let angle = refine(BITS, |precision| formula(&Ball::exact(&x, precision), &series::pi(precision)?));
    exact(angle.with_sign(negative))
}
