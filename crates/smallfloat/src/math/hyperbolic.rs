//! Hyperbolic functions and their inverses as formulas on balls; operands and results are positive.

use crate::math::ball::Ball;
use crate::math::exponential::{exp, exp_minus_one, ln, ln_one_plus};
use crate::math::series;

fn one(x: &Ball) -> Ball {
    Ball::integer(1, x.precision())
}

/// sinh x = (t + t / (t + 1)) / 2 with t = e^x − 1.
pub(super) fn sinh(x: &Ball) -> Option<Ball> {
    let t = exp_minus_one(x)?;
    Some(t.add(&t.divide(&t.add(&one(x)))?).scaled(-1))
}

/// cosh x = (e^x + e^−x) / 2.
pub(super) fn cosh(x: &Ball) -> Option<Ball> {
    let e = exp(x)?;
    Some(e.add(&one(x).divide(&e)?).scaled(-1))
}

/// tanh x = t / (t + 2) with t = e^2x − 1.
pub(super) fn tanh(x: &Ball) -> Option<Ball> {
    let t = exp_minus_one(&x.clone().scaled(1))?;
    t.divide(&t.add(&Ball::integer(2, x.precision())))
}

/// arsinh x = ln(1 + x + x² / (1 + √(1 + x²))).
pub(super) fn arsinh(x: &Ball) -> Option<Ball> {
    let square = x.multiply(x);
    let root = one(x).add(&square).sqrt()?;
    ln_one_plus(&x.add(&square.divide(&one(x).add(&root))?))
}

/// arcosh x = ln(1 + t + √(t·(t + 2))) with t = x − 1.
pub(super) fn arcosh(x: &Ball) -> Option<Ball> {
    let t = x.subtract(&one(x));
    let root = t.multiply(&t.add(&Ball::integer(2, x.precision()))).sqrt()?;
    ln_one_plus(&t.add(&root))
}

/// artanh x = ln((1 + x) / (1 − x)) / 2, by its series where x is small.
pub(super) fn artanh(x: &Ball) -> Option<Ball> {
    if x.top() < 0 {
        return Some(series::artanh(x));
    }
    Some(ln(&one(x).add(x).divide(&one(x).subtract(x))?)?.scaled(-1))
}
