//! Blocks and scaled operations of the P3109 draft (D1 revised, section "Block and scaled
//! operations"), exactly.
//!
//! A block is a scale with elements, and stands for the products scale × element. Everything here
//! gives the numbers before the one rounding, which is [`Table::round`](crate::Table::round) as for
//! scalars.

use crate::ops::{self, Outcome, Semantics};
use crate::selection::{self, Extremum};
use crate::{Exact, Rational, Real, Rounding};

const P3109: Semantics = Semantics::P3109;

// The sign of a sum's zero depends on the mode, but there is one zero here.
const ANY: Rounding = Rounding::NearestEven;

/// 1.
pub fn one() -> Exact {
    Exact::ratio(1, 1)
}

/// The draft's one zero.
fn unsigned_zero(x: &Exact) -> Exact {
    if x.is_zero() { Exact::zero(false) } else { x.clone() }
}

/// ωBlockDecode: what the elements stand for.
///
/// # Panics
/// If an operand is a root.
pub fn decode(scale: &Exact, elements: &[Exact]) -> Vec<Exact> {
    elements.iter().map(|x| ops::mul(&unsigned_zero(scale), &unsigned_zero(x), P3109).0).collect()
}

/// ωBlockProject without its rounding: an element of a block with this scale.
///
/// # Panics
/// If the scale is a root.
pub fn quotient(x: &Exact, scale: &Exact) -> Exact {
    if x.is_nan() || scale.is_nan() {
        return Exact::NAN;
    }
    if scale.is_zero() {
        return Exact::zero(false);
    }
    let negative = x.is_negative() != scale.is_negative();
    if !scale.is_finite() {
        // The product of the signs; that of an infinity is ±1.
        return if x.is_zero() { Exact::zero(false) } else { Exact::ratio(if negative { -1 } else { 1 }, 1) };
    }
    match (x, scale) {
        (
            Exact::Finite { magnitude: Real::Root(square), .. },
            Exact::Finite { magnitude: Real::Rational(s), .. },
        ) => {
            // √x / s = √(x / s²).
            Exact::Finite { negative, magnitude: Real::Root(square / &(s * s)) }
        }
        _ => ops::div(x, scale, P3109).0,
    }
}

/// The scale that ConvertToBlockMaxAbsFinite rounds: the largest finite magnitude; the fold starts
/// from NaN, so a block of NaNs has none, and an infinity counts only where nothing finite is.
///
/// # Panics
/// If an operand is a root.
pub fn largest_finite(values: &[Exact]) -> Exact {
    let maximum = Extremum::MAXIMUM_FINITE;
    values.iter().map(selection::absolute).fold(Exact::NAN, |largest, x| maximum.choose(&largest, &x).clone())
}

/// The sum, from 0.
///
/// # Panics
/// If an operand is a root.
pub fn sum(values: &[Exact]) -> Exact {
    values.iter().fold(Exact::zero(false), |sum, x| ops::add(&sum, x, ANY, P3109).0)
}

/// The product, from 1.
///
/// # Panics
/// If an operand is a root.
pub fn product(values: &[Exact]) -> Exact {
    values.iter().fold(one(), |product, x| ops::mul(&product, x, P3109).0)
}

/// The sum of the products of two blocks' elements.
///
/// # Panics
/// If an operand is a root.
pub fn dot(x: &[Exact], y: &[Exact]) -> Exact {
    sum(&x.iter().zip(y).map(|(x, y)| ops::mul(x, y, P3109).0).collect::<Vec<_>>())
}

/// A numeric operation of the draft whose results are rational numbers or square roots of them, by
/// its name; `None` for the transcendental ones.
///
/// # Panics
/// If there are too few operands, or one is a root.
pub fn algebraic(operation: &str, operands: &[Exact]) -> Option<Exact> {
    let operands: Vec<Exact> = operands.iter().map(unsigned_zero).collect();
    let at = |i: usize| &operands[i];
    let value = |outcome: Outcome| outcome.0;
    if let Ok(which) = operation.parse::<Extremum>() {
        return Some(which.choose(at(0), at(1)).clone());
    }
    Some(match operation {
        "Convert" => at(0).clone(),
        "Negate" => unsigned_zero(&ops::negate(at(0))),
        "Abs" => selection::absolute(at(0)),
        "CopySign" => unsigned_zero(&selection::copy_sign(at(0), at(1), P3109)),
        "Add" => value(ops::add(at(0), at(1), ANY, P3109)),
        "Subtract" => value(ops::sub(at(0), at(1), ANY, P3109)),
        "Multiply" => value(ops::mul(at(0), at(1), P3109)),
        "FMA" => value(ops::fma(at(0), at(1), at(2), ANY, P3109)),
        "FAA" => value(ops::faa(at(0), at(1), at(2), ANY, P3109)),
        "Clamp" => selection::clamp(at(0), at(1), at(2)),
        "Divide" => value(ops::div(at(0), at(1), P3109)),
        "Recip" => value(ops::div(&one(), at(0), P3109)),
        "Sqrt" => value(ops::sqrt(at(0), P3109)),
        "RSqrt" => reciprocal_root(at(0)),
        "Hypot" => value(ops::hypot(at(0), at(1), P3109)),
        _ => return None,
    })
}

/// 1 / √x; NaN at 0 and below.
fn reciprocal_root(x: &Exact) -> Exact {
    match x {
        Exact::Inf { negative: false } => Exact::zero(false),
        Exact::Finite { negative: false, magnitude: Real::Rational(x) } if !x.is_zero() => {
            let square = &Rational::ratio(1, 1) / x;
            Exact::Finite { negative: false, magnitude: Real::Root(square) }
        }
        _ => Exact::NAN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Table, formats, preset};

    const INF: Exact = Exact::Inf { negative: false };

    fn code(x: &Exact) -> u64 {
        let format = formats::p3109(8, 4, true, true);
        Table::new(&format).round(x, &preset("p3109-satnone", &format)).0
    }

    #[test]
    fn special_scales() {
        let (two, minus) = (Exact::ratio(2, 1), Exact::Inf { negative: true });
        assert!(quotient(&two, &Exact::NAN).is_nan() && quotient(&Exact::NAN, &Exact::zero(false)).is_nan());
        assert!(quotient(&INF, &Exact::zero(false)).is_zero());
        // Signs of infinite scales, and of infinite elements under them.
        assert_eq!(code(&quotient(&two, &minus)), 0xc0);
        assert_eq!(code(&quotient(&minus, &minus)), 0x40);
        assert!(quotient(&Exact::zero(false), &INF).is_zero());
        assert_eq!(code(&quotient(&minus, &two)), 0xff);
        // √2 / −(1/2) = −√8, between −2.75 (0xcb) and −3 (0xcc).
        let root = ops::sqrt(&two, P3109).0;
        assert_eq!(code(&quotient(&root, &Exact::ratio(-1, 2))), 0xcb);
    }

    #[test]
    fn reductions() {
        let n = |x| Exact::ratio(x, 1);
        assert_eq!(code(&sum(&[n(3), n(-1)])), 0x48);
        assert_eq!(code(&product(&[n(3), n(-1)])), 0xcc);
        assert_eq!(code(&dot(&[n(3), n(1)], &[n(1), n(-1)])), 0x48);
        assert!(sum(&[INF, n(1), Exact::Inf { negative: true }]).is_nan());
        assert!(product(&[INF, n(0)]).is_nan());
        assert_eq!(code(&largest_finite(&[n(-3), INF, Exact::NAN])), 0x4c);
        assert_eq!(code(&largest_finite(&[INF, Exact::NAN])), 0x7f);
        assert!(largest_finite(&[Exact::NAN, Exact::NAN]).is_nan());
        assert_eq!(code(&algebraic("RSqrt", &[Exact::ratio(1, 4)]).expect("known")), 0x48);
        assert!(algebraic("Exp", &[n(1)]).is_none());
    }
}
