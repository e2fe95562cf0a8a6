//! Trigonometric functions and their inverses: reduction of the angle, then formulas on balls.

use dashu_base::BitTest;
use dashu_int::UBig;

use crate::math::ball::Ball;
use crate::math::real::{Real, add_exactly, length, shift};
use crate::math::series;

/// Radians have at most so many binary digits before the point, four times those of any format and
/// scale: as many of π are computed, which beyond would take hours.
const MOST_DIGITS: i64 = 1 << 20;

/// x > 0 as n quarter turns and the rest, at most an eighth of a turn (and the reduction's error).
pub(super) struct Angle {
    pub(super) quarters: u8,
    pub(super) rest: Ball,
}

impl Angle {
    /// Of x radians. A large x takes as many more bits of π as it has before the point.
    pub(super) fn of_radians(x: &Real, precision: u32) -> Option<Self> {
        if x.leading() < -1 {
            return Some(Self { quarters: 0, rest: Ball::exact(x, precision) });
        }
        let whole = x.leading() + 1;
        assert!(whole <= MOST_DIGITS, "sin, cos and tan take radians below 2^{MOST_DIGITS}");
        let whole = u32::try_from(whole).expect("few digits");
        let wide = precision.saturating_add(whole).saturating_add(8);
        let quarter = series::pi(wide)?.scaled(-1);
        let x = Ball::exact(x, wide);
        let n = x.divide(&quarter)?.near_integer();
        let rest = x.subtract(&quarter.times(&n)).rounded(precision);
        Some(Self { quarters: last_two_bits(n.bit(0), n.bit(1)), rest })
    }

    /// Of π·x radians: the quarters come off exactly.
    pub(super) fn of_half_turns(x: &Real, precision: u32) -> Option<Self> {
        let (quarters, rest) = quarters(x);
        let rest = Ball::exact(&rest, precision).multiply(&series::pi(precision)?);
        Some(Self { quarters: last_two_bits(quarters.bit(0), quarters.bit(1)), rest })
    }

    pub(super) fn sin(&self) -> Ball {
        let value = if self.quarters % 2 == 0 { self.sin_of_rest() } else { series::cos(&self.rest) };
        value.negated_if(self.quarters >= 2)
    }

    pub(super) fn cos(&self) -> Ball {
        let value = if self.quarters % 2 == 0 { series::cos(&self.rest) } else { self.sin_of_rest() };
        value.negated_if(self.quarters == 1 || self.quarters == 2)
    }

    pub(super) fn tan(&self) -> Option<Ball> {
        self.sin().divide(&self.cos())
    }

    fn sin_of_rest(&self) -> Ball {
        self.rest.multiply(&series::sin_over(&self.rest))
    }
}

fn last_two_bits(low: bool, high: bool) -> u8 {
    u8::from(low) + 2 * u8::from(high)
}

/// The integer n nearest 2·x for x > 0, and x − n/2, exactly.
pub(super) fn quarters(x: &Real) -> (UBig, Real) {
    let places = -1 - x.exponent;
    let n = if places <= 0 {
        // An integer already, whose last two bits alone matter.
        if places < -2 { UBig::ZERO } else { &x.significand << shift(-places) }
    } else if places > length(&x.significand) + 1 {
        UBig::ZERO
    } else {
        let (down, half) = (shift(places), shift(places - 1));
        (&x.significand + (UBig::ONE << half)) >> down
    };
    if places <= 0 {
        return (n, Real::small(0, 0));
    }
    let rest = add_exactly(x, &Real::exact(true, n.clone(), -1));
    (n, rest)
}

/// The angle of the point (x, y) with y ≥ 0 and any x, not both 0: in [0, π].
pub(super) fn angle(y: &Ball, x: &Ball, x_negative: bool) -> Option<Ball> {
    let precision = y.precision();
    let x = x.clone().negated_if(x_negative);
    // The quotient that is at most 2.
    let acute = if y.is_zero() {
        y.clone()
    } else if x.is_zero() {
        series::pi(precision)?.scaled(-1)
    } else if y.top() <= x.top() {
        arctan(&y.divide(&x)?)?
    } else {
        series::pi(precision)?.scaled(-1).subtract(&arctan(&x.divide(y)?)?)
    };
    Some(if x_negative { series::pi(precision)?.subtract(&acute) } else { acute })
}

/// arctan t for 0 ≤ t ≤ 2: the angle halved twice, arctan t = 2·arctan(t / (1 + √(1 + t²))), makes
/// t at most 0.29.
fn arctan(t: &Ball) -> Option<Ball> {
    let one = Ball::integer(1, t.precision());
    let (mut t, mut halvings) = (t.clone(), 0);
    while t.top() > -2 && halvings < 2 {
        t = t.divide(&one.add(&one.add(&t.multiply(&t)).sqrt()?))?;
        halvings += 1;
    }
    Some(series::arctan(&t).scaled(halvings))
}

/// √(1 − x²) for |x| ≤ 1.
fn other_leg(x: &Ball) -> Option<Ball> {
    let one = Ball::integer(1, x.precision());
    one.subtract(x).multiply(&one.add(x)).sqrt()
}

/// arcsin x for 0 < x ≤ 1.
pub(super) fn arcsin(x: &Ball) -> Option<Ball> {
    angle(x, &other_leg(x)?, false)
}

/// arccos x for |x| ≤ 1.
pub(super) fn arccos(x: &Ball, negative: bool) -> Option<Ball> {
    angle(&other_leg(x)?, x, negative)
}

/// x / π.
pub(super) fn over_pi(x: &Ball) -> Option<Ball> {
    x.divide(&series::pi(x.precision())?)
}
