//! Balls contain what they must, and little more.
//!
//! Sums, products, quotients and roots of the numbers at the ends of small balls, against exact
//! fractions; series against themselves with far more digits.

use std::vec::Vec;

use dashu_base::{BitTest, Sign, UnsignedAbs};
use dashu_int::{IBig, UBig};

use crate::math::ball::Ball;
use crate::math::functions::ln2;
use crate::math::real::Real;
use crate::math::trigonometric::{Angle, quarters};
use crate::math::{exponential, hyperbolic, series};

/// An exponent below those of all balls here.
const LOW: i64 = -1200;

/// Returns whether a ball contains numerator / denominator · 2^exponent, for a positive
/// denominator.
fn contains(ball: &Ball, numerator: &IBig, denominator: &UBig, exponent: i64) -> bool {
    let (middle, radius) = ball.at(LOW);
    let up = usize::try_from(exponent - LOW).expect("above the lowest");
    let off = (numerator << up) - middle * IBig::from(denominator.clone());
    off.unsigned_abs() <= radius * denominator
}

/// Returns whether a ball contains another.
fn holds(ball: &Ball, other: &Ball) -> bool {
    let ((middle, radius), (inner, inner_radius)) = (ball.at(LOW), other.at(LOW));
    (middle - inner).unsigned_abs() + inner_radius <= radius
}

/// How many bits of its middle a ball's radius leaves.
fn known_bits(ball: &Ball) -> i64 {
    let (middle, radius) = ball.at(LOW);
    i64::try_from(middle.bit_len()).expect("short") - i64::try_from(radius.bit_len()).expect("short")
}

fn radius(ball: &Ball) -> UBig {
    ball.at(LOW).1
}

/// A ball around a small integer times a power of two.
#[derive(Clone, Copy, Debug)]
struct Small {
    middle: i64,
    radius: u64,
    exponent: i64,
}

impl Small {
    fn ball(self, precision: u32) -> Ball {
        Ball::fixed(IBig::from(self.middle), UBig::from(self.radius), -self.exponent, precision)
    }

    /// Both ends and the middle, in units of the exponent.
    fn points(self) -> [i64; 3] {
        let radius = i64::try_from(self.radius).expect("small");
        [self.middle - radius, self.middle, self.middle + radius]
    }
}

fn smalls() -> Vec<Small> {
    let mut all = Vec::new();
    for middle in [0, 1, 2, 3, 4, 5, 7, 8, 11, 200, 257, 1023] {
        for radius in [0, 1, 2, 3, 5, 100] {
            for exponent in [-3, 0, 4] {
                all.push(Small { middle, radius, exponent });
                if middle > 2 {
                    all.push(Small { middle: -middle, radius, exponent });
                }
            }
        }
    }
    all
}

/// Precisions that cut what is here, that cut some of it, and that cut nothing.
const PRECISIONS: [u32; 3] = [5, 12, 64];

#[test]
fn sums_and_products_contain_those_of_all_points() {
    let one = UBig::ONE;
    for x in smalls() {
        for precision in PRECISIONS {
            let a = x.ball(precision);
            for p in x.points() {
                assert!(contains(&a, &p.into(), &one, x.exponent), "{x:?}");
                assert!(contains(&a.clone().rounded(4), &p.into(), &one, x.exponent), "{x:?} to 4 bits");
                let thrice = a.times(&IBig::from(-300));
                assert!(contains(&thrice, &IBig::from(-300 * p), &one, x.exponent), "−300 · {x:?}");
                // Cut to units that the ball does not have.
                let (middle, radius) = a.at(x.exponent + 2);
                let cut = Ball::fixed(middle, radius, -x.exponent - 2, 64);
                assert!(contains(&cut, &p.into(), &one, x.exponent), "{x:?} in units of 4");
            }
            for y in smalls().into_iter().step_by(7) {
                let b = y.ball(precision);
                let unit = x.exponent.min(y.exponent);
                for (p, q) in x.points().into_iter().flat_map(|p| y.points().map(|q| (p, q))) {
                    let sum = IBig::from(p << (x.exponent - unit)) + IBig::from(q << (y.exponent - unit));
                    assert!(contains(&a.add(&b), &sum, &one, unit), "{x:?} + {y:?}, {precision}");
                    let product = IBig::from(p) * IBig::from(q);
                    let exponent = x.exponent + y.exponent;
                    assert!(
                        contains(&a.multiply(&b), &product, &one, exponent),
                        "{x:?} · {y:?}, {precision}"
                    );
                }
                if precision == 64 && x.radius + y.radius == 0 {
                    assert!(radius(&a.add(&b)).is_zero(), "{x:?} + {y:?} is exact");
                    assert!(radius(&a.multiply(&b)).is_zero(), "{x:?} · {y:?} is exact");
                }
            }
        }
    }
    // A sum keeps its larger term's bits, and no more than these.
    let large = Small { middle: 0x5555, radius: 0, exponent: 100 }.ball(40);
    let small = Small { middle: -0x2aab, radius: 0, exponent: 60 }.ball(40);
    assert_eq!(known_bits(&large.add(&small)), 38);
}

#[test]
fn quotients_contain_those_of_all_points() {
    for x in smalls() {
        for y in smalls().into_iter().step_by(5) {
            for precision in PRECISIONS {
                let quotient = x.ball(precision).divide(&y.ball(precision));
                let is_known = y.middle != 0 && 2 * y.radius <= y.middle.unsigned_abs();
                if precision == 64 {
                    assert_eq!(quotient.is_some(), is_known, "{x:?} / {y:?}");
                }
                let Some(quotient) = quotient else { continue };
                assert!(y.middle != 0, "{x:?} / {y:?}");
                for (p, q) in x.points().into_iter().flat_map(|p| y.points().map(|q| (p, q))) {
                    let (numerator, denominator) = (IBig::from(p * q.signum()), UBig::from(q.unsigned_abs()));
                    let exponent = x.exponent - y.exponent;
                    assert!(
                        contains(&quotient, &numerator, &denominator, exponent),
                        "{x:?} / {y:?}, {precision}"
                    );
                }
                if x.radius + y.radius == 0 && x.middle != 0 && precision > 10 {
                    assert!(
                        known_bits(&quotient) >= i64::from(precision) - 2,
                        "{x:?} / {y:?}: {precision} bits"
                    );
                }
            }
        }
    }
}

#[test]
fn roots_contain_those_of_all_points() {
    for x in smalls() {
        for precision in PRECISIONS {
            let root = x.ball(precision).sqrt();
            let is_zero = x.middle == 0 && x.radius == 0;
            if precision == 64 {
                let is_positive = x.middle > 0 && x.radius < x.middle.unsigned_abs();
                assert_eq!(root.is_some(), is_zero || is_positive, "√{x:?}");
            }
            let Some(root) = root else { continue };
            let (middle, radius) = root.at(LOW);
            let [low, high] = [&middle - IBig::from(radius.clone()), middle + IBig::from(radius)];
            let low = if low.sign() == Sign::Negative { IBig::ZERO } else { low };
            for p in x.points() {
                let p = IBig::from(p) << usize::try_from(x.exponent - 2 * LOW).expect("above the lowest");
                assert!(&low * &low <= p && p <= &high * &high, "√{x:?}, {precision}");
            }
            if x.radius == 0 && !is_zero && precision > 10 {
                assert!(known_bits(&root) >= i64::from(precision) - 2, "√{x:?}: {precision} bits");
            }
        }
    }
}

/// What a series gives for a ball contains what it gives for both ends with far more digits, and
/// keeps its precision.
fn check(name: &str, series: fn(&Ball) -> Ball, largest: i64) {
    // In units of 2^−10.
    for middle in (-largest..=largest).step_by(17).chain([-largest, largest, 1]).filter(|&x| x != 0) {
        for precision in [40, 64, 200] {
            let x = Small { middle, radius: 0, exponent: -10 };
            let value = series(&x.ball(precision));
            assert!(holds(&value, &series(&x.ball(precision + 600))), "{name} of {middle}, {precision}");
            assert!(
                known_bits(&value) >= i64::from(precision) - 3,
                "{name} of {middle}: {}",
                known_bits(&value)
            );
            // A ball of 2^−20 around it.
            let wide = Small { middle: middle << 10, radius: 1, exponent: -20 };
            let value = series(&wide.ball(precision));
            for end in wide.points() {
                let end = Small { middle: end, radius: 0, exponent: -20 };
                assert!(
                    holds(&value, &series(&end.ball(precision + 600))),
                    "{name} near {middle}, {precision}"
                );
            }
        }
    }
}

#[test]
fn series_contain_their_values() {
    check("(e^x − 1) / x", series::exp_minus_one_over, 512);
    check("sin x / x", series::sin_over, 920);
    check("cos x", series::cos, 920);
    check("artanh x", series::artanh, 512);
    check("arctan x", series::arctan, 512);
}

#[test]
fn constants_contain_their_values() {
    for precision in [32, 64, 100, 128, 141, 188, 200, 400] {
        let (pi, more) = (series::pi(precision).unwrap(), series::pi(precision + 600).unwrap());
        assert!(holds(&pi, &more) && known_bits(&pi) >= i64::from(precision) - 3, "π to {precision}");
        let (ln2, more) = (series::ln2(precision), series::ln2(precision + 600));
        assert!(holds(&ln2, &more) && known_bits(&ln2) >= i64::from(precision) - 3, "ln 2 to {precision}");
    }
    // π = 3.243f6a88 85a308d3 …, ln 2 = 0.b17217f7 d1cf79ab … in hexadecimal.
    let pi = series::pi(200).unwrap().truncated(66).unwrap();
    assert_eq!(pi.significand, UBig::from(0x3_243f_6a88_85a3_08d3_u128));
    assert_eq!(ln2(64).significand, UBig::from(0xb172_17f7_d1cf_79ab_u64));
}

#[test]
fn numbers_are_truncated_where_all_of_the_ball_agrees() {
    // Exact numbers have no digits to doubt: with as many bits as are asked for, nothing is marked.
    assert_eq!(Ball::integer(5, 40).truncated(3), None);
    let truncated = |middle, radius, bits| Small { middle, radius, exponent: -3 }.ball(40).truncated(bits);
    let known = Real { negative: true, significand: UBig::from(5_u8), exponent: 0, sticky: true };
    assert_eq!(truncated(-0b10_1100, 3, 3), Some(known));
    // The ball reaches over the next number of three bits.
    assert_eq!(truncated(-0b10_1100, 4, 3), None);
    assert_eq!(truncated(-0b10_1100, 5, 3), None);
    assert_eq!(truncated(3, 3, 1), None);
}

#[test]
fn whole_numbers_and_quarters_are_the_nearest() {
    for (quarters, nearest) in [(11, 3), (9, 2), (-11, -3), (-9, -2), (4, 1), (1, 0), (3, 1), (-3, -1)] {
        let x = Small { middle: quarters, radius: 0, exponent: -2 };
        assert_eq!(x.ball(40).near_integer(), IBig::from(nearest), "{quarters} / 4");
    }
    // In units of 2^−5: n is nearest 2·x, the rest is x − n/2.
    for (x, n, rest) in
        [(12_u64, 1_u8, -4_i64), (3, 0, 3), (7, 0, 7), (9, 1, -7), (23, 1, 7), (25, 2, -7), (100, 6, 4)]
    {
        let (half_turns, left) = quarters(&Real::small(x, -5));
        assert_eq!(half_turns, UBig::from(n), "{x} / 32");
        assert!(left.magnitude_is(rest.unsigned_abs(), -5), "{x} / 32 leaves {left:?}");
        assert_eq!(left.negative, rest < 0, "{x} / 32");
    }
    // Even a tiny rest of the last place, and whole numbers whose last two bits are all that
    // counts.
    let (n, rest) = quarters(&Real::small(1, -40));
    assert!(n.is_zero() && rest == Real::small(1, -40));
    for (x, exponent, last) in [(3, -1, 3_u8), (3, 0, 2), (3, 1, 0), (5, -1, 1), (1, 70_000, 0)] {
        let (n, rest) = quarters(&Real::small(x, exponent));
        assert_eq!((n & UBig::from(3_u8), rest.is_zero()), (UBig::from(last), true), "{x} · 2^{exponent}");
    }
}

/// An angle's rest is at most an eighth of a turn, and has the precision that was asked for,
/// however large the angle.
#[test]
fn angles_are_reduced() {
    for (x, exponent, turns) in [(7, -3, 1), (6, -3, 0), (5, -1, 2), (9, -1, 3), (1, -5, 0), (11, 0, 3)] {
        let angle = Angle::of_radians(&Real::small(x, exponent), 100).unwrap();
        assert_eq!(angle.quarters, turns, "{x} · 2^{exponent}");
        assert!(angle.rest.top() <= 0 && known_bits(&angle.rest) >= 96, "{x} · 2^{exponent}");
    }
    for exponent in [30, 100, 500] {
        let angle = Angle::of_radians(&Real::small(0x1_2345_6789, exponent), 100).unwrap();
        assert!(known_bits(&angle.rest) >= 96, "{exponent}: {}", known_bits(&angle.rest));
    }
    // Exponentials want as many bits more as their operand has before the point.
    for (x, exponent, more) in [(1, 20, 21), (3, 4, 6), (1, -1, 0), (1, 0, 1), (0, 0, 0)] {
        assert_eq!(exponential::argument(&Real::small(x, exponent), 100).precision(), 100 + more, "{x}");
    }
}

/// Near their zeros and where they are about 1, functions keep the bits of their operands.
#[test]
fn formulas_keep_their_bits() {
    let near = |significand: i64, exponent: i64| Small { middle: significand, radius: 0, exponent }.ball(100);
    let (tiny, one) = (1 << 30, 1_i64 << 40);
    for (name, value) in [
        ("e^x − 1", exponential::exp_minus_one(&near(tiny, -60))),
        ("e^x − 1", exponential::exp_minus_one(&near(-tiny, -60))),
        ("ln(1 + x)", exponential::ln_one_plus(&near(-tiny, -60))),
        ("ln above 1", exponential::ln(&near(one + 1, -40))),
        ("ln below 1", exponential::ln(&near(one - 1, -40))),
        ("artanh", hyperbolic::artanh(&near(tiny, -60))),
        ("sinh", hyperbolic::sinh(&near(tiny, -60))),
        ("tanh", hyperbolic::tanh(&near(tiny, -60))),
        ("arsinh", hyperbolic::arsinh(&near(tiny, -60))),
        ("arcosh", hyperbolic::arcosh(&near(3, 0))),
        ("e^x", exponential::exp(&near(-tiny, -32))),
        ("2^x", Some(exponential::exp2(&near(-tiny, -32)))),
    ] {
        let value = value.expect(name);
        assert!(known_bits(&value) >= 90, "{name}: {} bits", known_bits(&value));
    }
}
