//! The values of functions at finite operands of their domain: exactly where they are dyadic
//! numbers, else truncated.
//!
//! Three steps. **Exact cases** first: for dyadic operands the values are irrational but for the
//! cases listed at [`Elementary`] (Lindemann–Weierstrass, Gelfond–Schneider and Niven; three of
//! those values, arcsin(½)/π and its like, are sixths and thirds, which are no dyadic numbers
//! either). Then values **next to** a dyadic number, such as sin x for tiny x, whose digits a
//! series' bound gives and no refinement would reach cheaply. All others by [`refine`], which ends
//! because no number of finitely many bits is met.

use crate::math::ball::{Ball, refine};
use crate::math::exponential::{argument, exp, exp_minus_one, exp2, ln, ln_one_plus, log2, softplus};
use crate::math::real::Real;
use crate::math::trigonometric::Angle;
use crate::math::{hyperbolic, series, trigonometric};
use crate::ops::elementary::Elementary;

/// Exponentials of operands from 2^26 on lie beyond every format and every scale.
const HUGE: i64 = 26;
/// The exponent that stands for those.
const BEYOND: i64 = 1 << 40;

/// f(x) for x other than 0 in the domain of f, poles aside; of an exponential of a huge operand a
/// number as far beyond every format.
pub(super) fn value(which: Elementary, x: &Real, bits: u32) -> Real {
    match parity(which) {
        Parity::None => of_signed(which, x, bits),
        Parity::Even => of_signed(which, &x.clone().with_sign(false), bits),
        Parity::Odd => {
            let positive = of_signed(which, &x.clone().with_sign(false), bits);
            let negative = positive.negative != x.negative;
            positive.with_sign(negative)
        }
    }
}

fn of_signed(which: Elementary, x: &Real, bits: u32) -> Real {
    beyond(which, x, bits)
        .or_else(|| exact(which, x))
        .or_else(|| beside(which, x).and_then(|beside| beside.at(bits)))
        .unwrap_or_else(|| refine(bits, |precision| formula(which, x, precision)))
}

enum Parity {
    Even,
    Odd,
    None,
}

/// Whether f(−x) is f(x) or −f(x).
const fn parity(which: Elementary) -> Parity {
    use Elementary as E;
    match which {
        E::Cos | E::Cosh | E::CosPi => Parity::Even,
        E::Sin
        | E::Tan
        | E::ArcSin
        | E::ArcTan
        | E::Sinh
        | E::Tanh
        | E::ArcSinh
        | E::ArcTanh
        | E::SinPi
        | E::TanPi
        | E::ArcSinPi
        | E::ArcTanPi => Parity::Odd,
        _ => Parity::None,
    }
}

/// What stands for e^x, and functions that grow like it, of a huge x.
pub(super) fn beyond(which: Elementary, x: &Real, bits: u32) -> Option<Real> {
    use Elementary as E;
    if x.is_zero() || x.leading() < HUGE {
        return None;
    }
    let exponent = match (which, x.negative) {
        (E::Exp | E::Exp2 | E::ExpMinusOne | E::Sinh | E::Cosh, false) => BEYOND,
        (E::Exp | E::Exp2 | E::Softplus, true) => -BEYOND,
        _ => return None,
    };
    let significand = dashu_int::UBig::ONE << super::real::shift(i64::from(bits));
    Some(Real { negative: false, significand, exponent, sticky: true })
}

/// The dyadic values.
fn exact(which: Elementary, x: &Real) -> Option<Real> {
    use Elementary as E;
    let zero = || Real::small(0, 0);
    let is_one = || x.magnitude_is(1, 0);
    match which {
        E::Exp2 => {
            let x = x.clone().reduced();
            (x.exponent >= 0).then(|| {
                let n = i64::try_from(x.significand << super::real::shift(x.exponent));
                let n = n.expect("of larger operands `beyond` gives the result");
                Real::small(1, if x.negative { -n } else { n })
            })
        }
        E::Log2 if x.is_power_of_two() => {
            let n = x.leading();
            Some(Real::small(n.unsigned_abs(), 0).with_sign(n < 0))
        }
        E::Log | E::ArcCos | E::ArcCosPi | E::ArcCosh if !x.negative && is_one() => Some(zero()),
        E::ArcCosPi if is_one() => Some(Real::small(1, 0)),
        E::ArcSinPi if is_one() => Some(Real::small(1, -1)),
        E::ArcTanPi if is_one() => Some(Real::small(1, -2)),
        E::SinPi | E::CosPi | E::TanPi => at_eighths(which, x),
        _ => None,
    }
}

/// sin, cos and tan of π·x where x is a multiple of ½, tan also of ¼; x > 0.
fn at_eighths(which: Elementary, x: &Real) -> Option<Real> {
    let (quarters, rest) = trigonometric::quarters(x);
    let quarters = usize::try_from(&quarters & dashu_int::UBig::from(3_u8)).expect("two bits");
    let (significand, negative) = match which {
        _ if rest.is_zero() => match which {
            Elementary::SinPi => [(0, false), (1, false), (0, false), (1, true)][quarters],
            Elementary::CosPi => [(1, false), (0, false), (1, true), (0, false)][quarters],
            // The poles between are special cases.
            _ => (0, quarters == 2),
        },
        Elementary::TanPi if rest.magnitude_is(1, -2) => (1, rest.negative != (quarters % 2 == 1)),
        _ => return None,
    };
    Some(Real::small(significand, 0).with_sign(negative))
}

/// A value beside a dyadic number: base ± δ with 0 < δ < 2^below.
pub(super) struct Beside {
    pub(super) base: Real,
    pub(super) toward_zero: bool,
    pub(super) below: i64,
}

impl Beside {
    fn at(&self, bits: u32) -> Option<Real> {
        self.base.nudged(self.toward_zero, self.below, bits)
    }
}

/// The bounds of the first terms left out, for |x| < ½ where nothing else is said. `top` is the
/// exponent of a power of two above |x|.
pub(super) fn beside(which: Elementary, x: &Real) -> Option<Beside> {
    use Elementary as E;
    let top = x.leading() + 1;
    let near = |base: Real, toward_zero, below| Some(Beside { base, toward_zero, below });
    let one = |exponent| Real::small(1, exponent);
    if top >= 0 {
        // From here x > 1 or so; ⌊x⌋ of what matters, and e^−x < 2^−x.
        let whole = 1_i64 << x.leading().clamp(0, 40);
        return match which {
            _ if top < 1 => None,
            // 1 − tanh x = 2 / (e^2x + 1) < 2^(1 − 2x).
            E::Tanh => near(one(0), true, 1 - 2 * whole),
            // e^x − 1 for negative x.
            E::ExpMinusOne if x.negative => near(one(0).with_sign(true), true, -whole),
            // x + ln(1 + e^−x), below x + e^−x.
            E::Softplus if !x.negative => near(x.clone(), false, -whole),
            // ½ − arctan(1/x) / π, and arctan(1/x) < 1/x ≤ 2^(1 − top).
            E::ArcTanPi => near(one(-1), true, -top),
            _ => None,
        };
    }
    match which {
        // x − x³/6 + …, and its mirror: at most x³/4.
        E::Sin | E::ArcSinh => near(x.clone(), true, 3 * top - 2),
        E::ArcSin | E::Sinh => near(x.clone(), false, 3 * top - 2),
        // x ± x³/3 …: at most x³/2.
        E::ArcTan | E::Tanh => near(x.clone(), true, 3 * top - 1),
        E::Tan | E::ArcTanh => near(x.clone(), false, 3 * top - 1),
        // x ± x²/2 …: at most x².
        E::ExpMinusOne => near(x.clone(), x.negative, 2 * top),
        E::LogOnePlus => near(x.clone(), !x.negative, 2 * top),
        // 1 + x …: at most 2·x, and x for 2^x.
        E::Exp => near(one(0), x.negative, top + 1),
        E::Exp2 => near(one(0), x.negative, top),
        // 1 ∓ x²/2 …; (π·x)²/2 < 5·x².
        E::Cos | E::Cosh => near(one(0), matches!(which, E::Cos), 2 * top),
        E::CosPi => near(one(0), true, 2 * top + 3),
        // ½ − arcsin(x) / π, and arcsin x < 1.1·x.
        E::ArcCosPi => near(one(-1), !x.negative, top - 1),
        _ => None,
    }
}

/// The function's formula; x > 0 where it is even or odd.
pub(super) fn formula(which: Elementary, x: &Real, precision: u32) -> Option<Ball> {
    use Elementary as E;
    let ball = || Ball::exact(x, precision);
    match which {
        E::Exp => exp(&argument(x, precision)),
        E::Exp2 => Some(exp2(&argument(x, precision))),
        E::ExpMinusOne => exp_minus_one(&argument(x, precision)),
        E::Softplus => softplus(&argument(x, precision), x.negative),
        E::Log => ln(&ball()),
        E::Log2 => log2(&ball()),
        E::LogOnePlus => ln_one_plus(&ball()),
        E::Sin => Some(Angle::of_radians(x, precision)?.sin()),
        E::Cos => Some(Angle::of_radians(x, precision)?.cos()),
        E::Tan => Angle::of_radians(x, precision)?.tan(),
        E::SinPi => Some(Angle::of_half_turns(x, precision)?.sin()),
        E::CosPi => Some(Angle::of_half_turns(x, precision)?.cos()),
        E::TanPi => Angle::of_half_turns(x, precision)?.tan(),
        E::ArcSin => trigonometric::arcsin(&ball()),
        E::ArcCos => trigonometric::arccos(&ball(), x.negative),
        E::ArcTan => trigonometric::angle(&ball(), &Ball::integer(1, precision), false),
        E::ArcSinPi => trigonometric::over_pi(&trigonometric::arcsin(&ball())?),
        E::ArcCosPi => trigonometric::over_pi(&trigonometric::arccos(&ball(), x.negative)?),
        E::ArcTanPi => {
            trigonometric::over_pi(&trigonometric::angle(&ball(), &Ball::integer(1, precision), false)?)
        }
        E::Sinh => hyperbolic::sinh(&argument(x, precision)),
        E::Cosh => hyperbolic::cosh(&argument(x, precision)),
        E::Tanh => hyperbolic::tanh(&argument(x, precision)),
        E::ArcSinh => hyperbolic::arsinh(&ball()),
        E::ArcCosh => hyperbolic::arcosh(&ball()),
        E::ArcTanh => hyperbolic::artanh(&ball()),
    }
}

/// eighths · π / 4, truncated.
pub(super) fn multiple_of_quarter_pi(quarters: u8, bits: u32) -> Real {
    refine(bits, |precision| Some(series::pi(precision)?.times(&quarters.into()).scaled(-2)))
}

/// ln 2, truncated.
pub(super) fn ln2(bits: u32) -> Real {
    refine(bits, |precision| Some(series::ln2(precision)))
}

/// The angle of the point (x, y), neither 0 nor |x| = |y|; divided by π if `over_pi`.
pub(super) fn angle(y: &Real, x: &Real, over_pi: bool, bits: u32) -> Real {
    let value = near_angle(y, x, over_pi, bits).unwrap_or_else(|| {
        refine(bits, |precision| {
            let (y, x_negative) = (y.clone().with_sign(false), x.negative);
            let angle =
                trigonometric::angle(&Ball::exact(&y, precision), &Ball::exact(x, precision), x_negative)?;
            if over_pi { trigonometric::over_pi(&angle) } else { Some(angle) }
        })
    });
    value.with_sign(y.negative)
}

/// The angle of (x, |y|) beside a dyadic number, or not far enough above one to matter.
pub(super) fn near_angle(y: &Real, x: &Real, over_pi: bool, bits: u32) -> Option<Real> {
    // |y / x| < 2^top, and |x / y| < 2^(2 − top).
    let top = y.leading() - x.leading() + 1;
    match (over_pi, x.negative) {
        (false, false) => small_angle(&y.clone().with_sign(false), x, top, bits),
        (false, true) => None,
        // 1 − arctan(y/x) / π.
        (true, true) if top < 1 => Real::small(1, 0).nudged(true, top - 1, bits),
        // ½ ∓ arctan(x/y) / π.
        (true, x_negative) => Real::small(1, -1).nudged(!x_negative, 1 - top, bits),
    }
}

/// arctan(y / x) = y/x − δ, δ < (y/x)³/2 for a small quotient. Where y/x is no dyadic number, it
/// lies at least the last place over x's odd part above its truncation, and δ must be less than
/// that.
fn small_angle(y: &Real, x: &Real, top: i64, bits: u32) -> Option<Real> {
    if top >= 0 {
        return None;
    }
    let below = 3 * top - 1;
    let quotient = super::real::divide(y, x, bits);
    if !quotient.sticky {
        return quotient.nudged(true, below, bits);
    }
    (below <= quotient.exponent - super::real::length(&x.significand)).then_some(quotient)
}
