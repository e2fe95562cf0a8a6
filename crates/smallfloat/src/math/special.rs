//! The special cases of the operations that this module adds to the basic ones, one function an
//! operation.
//!
//! Sources: P3109 draft, sections on roots, exponential, trigonometric and hyperbolic functions,
//! `Hypot` and `ArcTan2`; IEEE 754-2019, section 9.2.1.

use core::cmp::Ordering;

use crate::math::real::Real;
use crate::math::trigonometric::quarters;
use crate::math::wide::{Wide, WideOutcome};
use crate::math::{functions, real};
use crate::ops::Semantics;
use crate::ops::elementary::{Elementary, Limit};
use crate::projection::flags::Flags;

const NAN: WideOutcome = WideOutcome { value: Wide::NAN, flags: Flags::NONE };

/// An infinite result from a finite operand.
const fn pole(negative: bool) -> WideOutcome {
    WideOutcome { value: Wide::Infinite { negative }, flags: Flags::DIVISION_BY_ZERO }
}

/// A function of one operand.
pub(super) fn elementary(which: Elementary, x: &Wide, bits: u32) -> WideOutcome {
    let [at_minus, at_zero, at_plus] = which.limits();
    let limit = match x {
        Wide::Nan { .. } => return x.clone().into(),
        Wide::Infinite { negative: true } => at_minus,
        Wide::Infinite { negative: false } => at_plus,
        _ if x.is_zero() => at_zero,
        _ => return x.real().map_or(NAN, |x| of_number(which, &x, bits)),
    };
    match limit {
        Limit::Nan => NAN,
        Limit::Operand => x.clone().into(),
        Limit::Infinite { negative } => Wide::Infinite { negative }.into(),
        Limit::Pole => pole(true),
        Limit::Exactly { negative, significand, exponent } => {
            Wide::finite(negative, significand, exponent).into()
        }
        Limit::HalfPi { negative } => {
            Wide::from(functions::multiple_of_quarter_pi(2, bits).with_sign(negative)).into()
        }
        Limit::Ln2 => Wide::from(functions::ln2(bits)).into(),
    }
}

/// A function of a number other than 0: NaN outside of its domain, infinities at its poles.
fn of_number(which: Elementary, x: &Real, bits: u32) -> WideOutcome {
    use Elementary as E;
    let to_one = || x.compare_magnitude(&Real::small(1, 0));
    match which {
        E::Log | E::Log2 if x.negative => return NAN,
        E::LogOnePlus if x.negative => match to_one() {
            Ordering::Less => {}
            Ordering::Equal => return pole(true),
            Ordering::Greater => return NAN,
        },
        E::ArcSin | E::ArcCos | E::ArcSinPi | E::ArcCosPi if to_one() == Ordering::Greater => {
            return NAN;
        }
        E::ArcCosh if x.negative || to_one() == Ordering::Less => return NAN,
        E::ArcTanh => match to_one() {
            Ordering::Less => {}
            Ordering::Equal => return pole(x.negative),
            Ordering::Greater => return NAN,
        },
        E::TanPi => {
            let (n, rest) = quarters(&x.clone().with_sign(false));
            if rest.is_zero() && dashu_base::BitTest::bit(&n, 0) {
                // +∞ at ½ and −∞ at 1½, modulo 2; odd.
                return pole(dashu_base::BitTest::bit(&n, 1) != x.negative);
            }
        }
        _ => {}
    }
    Wide::from(functions::value(which, x, bits)).into()
}

/// 1 / √x.
pub(super) fn reciprocal_sqrt(x: &Wide, semantics: Semantics, bits: u32) -> WideOutcome {
    match x {
        Wide::Nan { .. } => x.clone().into(),
        _ if x.is_zero() => match semantics {
            Semantics::Ieee => pole(x.is_negative()),
            Semantics::P3109 => NAN,
        },
        _ if x.is_negative() => NAN,
        Wide::Infinite { .. } => Wide::zero(false).into(),
        _ => x.real().map_or(NAN, |x| Wide::from(real::reciprocal_sqrt(&x, bits)).into()),
    }
}

/// √(x² + y²). In ieee semantics an infinity wins over NaN.
pub(super) fn hypot(x: &Wide, y: &Wide, semantics: Semantics, bits: u32) -> WideOutcome {
    let infinite = [x, y].iter().any(|x| matches!(x, Wide::Infinite { .. }));
    let nan = [x, y].into_iter().find(|x| x.is_nan());
    match (nan, x.real(), y.real()) {
        (Some(nan), ..) if !infinite || semantics == Semantics::P3109 => nan.clone().into(),
        (None, Some(x), Some(y)) => Wide::from(real::hypot(&x, &y, bits)).into(),
        _ => Wide::Infinite { negative: false }.into(),
    }
}

/// The angle of the point (x, y) from the positive x-axis, in radians or divided by π.
///
/// In p3109 semantics the angle of (0, 0) and of two infinities is NaN; in ieee semantics an
/// infinite point lies on a diagonal, and a zero on the axis' side that its sign tells.
pub(super) fn arctan2(y: &Wide, x: &Wide, over_pi: bool, semantics: Semantics, bits: u32) -> WideOutcome {
    if let Some(nan) = [y, x].into_iter().find(|x| x.is_nan()) {
        return nan.clone().into();
    }
    let (negative, x_negative) = (y.is_negative(), x.is_negative());
    let undefined = y.is_zero() && x.is_zero() || !y.is_finite() && !x.is_finite();
    if undefined && semantics == Semantics::P3109 {
        return NAN;
    }
    let straight = if x_negative { 4 } else { 0 };
    let diagonal = if x_negative { 3 } else { 1 };
    let quarters = match (y.real(), x.real()) {
        (None, None) => diagonal,
        (Some(_), None) => straight,
        (None, Some(_)) => 2,
        (Some(y), _) if y.is_zero() => straight,
        (_, Some(x)) if x.is_zero() => 2,
        (Some(y), Some(x)) if y.compare_magnitude(&x) == Ordering::Equal => diagonal,
        (Some(y), Some(x)) => return Wide::from(functions::angle(&y, &x, over_pi, bits)).into(),
    };
    let value = if over_pi || quarters == 0 {
        Real::small(u64::from(quarters), -2)
    } else {
        functions::multiple_of_quarter_pi(quarters, bits)
    };
    Wide::from(value.with_sign(negative)).into()
}
