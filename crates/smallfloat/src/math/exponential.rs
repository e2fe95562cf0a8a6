//! Exponentials and logarithms as formulas on balls.

use dashu_int::IBig;

use crate::math::ball::Ball;
use crate::math::real::Real;
use crate::math::series;

/// An exact operand with enough bits that its rounding moves an exponential by no more than
/// 2^−precision of itself.
pub(super) fn argument(x: &Real, precision: u32) -> Ball {
    let whole = if x.is_zero() { 0 } else { (x.leading() + 1).max(0) };
    let whole = u32::try_from(whole).expect("exponents of operands have 32 bits");
    Ball::exact(x, precision.saturating_add(whole))
}

/// e^x = 2^n · e^r with n near x / ln 2 and |r| below ½.
pub(super) fn exp(x: &Ball) -> Option<Ball> {
    if x.top() < 0 {
        return Some(exp_of_small(x));
    }
    let ln2 = series::ln2(x.precision());
    let n = x.divide(&ln2)?.near_integer();
    let power = i64::try_from(&n).expect("of larger operands `beyond` gives the result");
    Some(exp_of_small(&x.subtract(&ln2.times(&n))).scaled(power))
}

fn exp_of_small(x: &Ball) -> Ball {
    Ball::integer(1, x.precision()).add(&exp_minus_one_of_small(x))
}

/// e^x − 1 for |x| ≤ ½, to as many bits as x.
fn exp_minus_one_of_small(x: &Ball) -> Ball {
    x.multiply(&series::exp_minus_one_over(x))
}

/// e^x − 1.
pub(super) fn exp_minus_one(x: &Ball) -> Option<Ball> {
    if x.top() < 0 {
        return Some(exp_minus_one_of_small(x));
    }
    Some(exp(x)?.subtract(&Ball::integer(1, x.precision())))
}

/// 2^x = 2^n · e^(f · ln 2) with the integer n nearest x.
pub(super) fn exp2(x: &Ball) -> Ball {
    let n = x.near_integer();
    let power = i64::try_from(&n).expect("of larger operands `beyond` gives the result");
    let rest = x.subtract(&Ball::integer(power, x.precision()));
    exp_of_small(&rest.multiply(&series::ln2(x.precision()))).scaled(power)
}

/// ln x = k · ln 2 + 2·artanh((m − 1) / (m + 1)) with x = m · 2^k and m near 1.
pub(super) fn ln(x: &Ball) -> Option<Ball> {
    let one = Ball::integer(1, x.precision());
    let m = x.clone().scaled(-x.top());
    // m is in [½, 1]; from 181/256, about √½, downward twice m is nearer to 1.
    let double = m.at(-8).0 < IBig::from(181);
    let k = x.top() - i64::from(double);
    let m = m.scaled(i64::from(double));
    let z = m.subtract(&one).divide(&m.add(&one))?;
    let near_one = series::artanh(&z).scaled(1);
    if k == 0 {
        return Some(near_one);
    }
    Some(series::ln2(x.precision()).times(&IBig::from(k)).add(&near_one))
}

/// log2 x.
pub(super) fn log2(x: &Ball) -> Option<Ball> {
    ln(x)?.divide(&series::ln2(x.precision()))
}

/// ln(1 + x) = 2·artanh(x / (2 + x)), which keeps the bits of a small x.
pub(super) fn ln_one_plus(x: &Ball) -> Option<Ball> {
    if x.top() < 0 {
        let z = x.divide(&Ball::integer(2, x.precision()).add(x))?;
        return Some(series::artanh(&z).scaled(1));
    }
    ln(&Ball::integer(1, x.precision()).add(x))
}

/// ln(1 + e^x), from the smaller of e^x and e^−x.
pub(super) fn softplus(x: &Ball, negative: bool) -> Option<Ball> {
    let small = exp(&x.clone().negated_if(!negative))?;
    let rest = ln_one_plus(&small)?;
    Some(if negative { rest } else { x.add(&rest) })
}
