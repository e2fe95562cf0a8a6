//! Values beside dyadic numbers: the distance's bound holds, is not much wider than the distance,
//! and is used.

use core::cmp::Ordering;

use dashu_int::UBig;

use crate::math::ball::{Ball, refine};
use crate::math::functions::{angle, beside, beyond, formula, near_angle};
use crate::math::real::{Real, add_exactly};
use crate::math::{functions, trigonometric as trig};
use crate::ops::elementary::Elementary as E;

/// f(x) − base of a function with far more bits than both.
fn distance(which: E, x: &Real, base: &Real) -> Real {
    let value = refine(600, |precision| formula(which, x, precision));
    add_exactly(&Real { sticky: false, ..value }, &base.clone().with_sign(!base.negative))
}

/// |f(x) − base| lies below 2^below and not more than `slack` binades below it, on the side that is said.
fn check(which: E, x: &Real, slack: i64) {
    let Some(near) = beside(which, x) else { panic!("{which:?} of {x:?} is beside nothing") };
    let off = distance(which, x, &near.base);
    assert_eq!(off.negative != near.base.negative, near.toward_zero, "{which:?} of {x:?}");
    let leading = off.leading();
    assert!(
        (near.below - slack..near.below).contains(&leading),
        "{which:?} of {x:?}: {leading}, {}",
        near.below
    );
}

/// What is beside a dyadic number near 0, for positive operands; the second list also for negative
/// ones.
const POSITIVE: [E; 12] = [
    E::Sin,
    E::ArcSinh,
    E::ArcSin,
    E::Sinh,
    E::ArcTan,
    E::Tanh,
    E::Tan,
    E::ArcTanh,
    E::Cos,
    E::Cosh,
    E::CosPi,
    E::Exp2,
];
const SIGNED: [E; 5] = [E::Exp, E::Exp2, E::ExpMinusOne, E::LogOnePlus, E::ArcCosPi];

/// Just below a power of two a bound is at most two binades above the distance; just above one,
/// three more in a cube.
#[test]
fn small_operands_lie_beside_dyadic_numbers() {
    for (significand, slack) in [(0x8_0001, 6), (0xc_0000, 4), (0xf_ffff, 2)] {
        for exponent in [-1, -2, -5, -30, -100] {
            let x = Real::small(significand, exponent - 20);
            // Bounds near ½ are rough.
            let slack = if exponent > -5 { slack + 2 } else { slack };
            for which in POSITIVE {
                check(which, &x, slack);
            }
            // The others' bounds leave out less than half of the distance.
            if significand == 0xf_ffff && exponent < -2 {
                for which in [E::ArcTan, E::Tanh, E::Tan, E::ArcTanh, E::ArcCosPi] {
                    check(which, &x, 1);
                }
            }
            for negative in [false, true] {
                let x = x.clone().with_sign(negative);
                for which in SIGNED {
                    check(which, &x, slack);
                }
            }
        }
    }
}

#[test]
fn large_operands_lie_beside_limits() {
    for exponent in 0..9 {
        let x = Real::small(1, exponent);
        let whole = 1_i64 << exponent;
        check(E::Tanh, &x, whole + 3);
        check(E::ExpMinusOne, &x.clone().with_sign(true), whole + 3);
        check(E::Softplus, &x, whole + 3);
        // arctan 1 is a quarter of π.
        if exponent > 0 {
            check(E::ArcTanPi, &x, 3);
        }
        let most = Real::small(0xf_ffff, exponent - 19);
        for which in [E::Tanh, E::Softplus] {
            check(which, &most, 5 * whole + 3);
        }
        check(E::ArcTanPi, &most, 3);
    }
    // Between ½ and 1 these bounds do not hold, and the other functions are beside nothing.
    for which in [E::Tanh, E::ExpMinusOne, E::Softplus, E::ArcTanPi, E::Sin, E::Exp, E::Log] {
        assert!(beside(which, &Real::small(3, -2)).is_none(), "{which:?}");
    }
    assert!(beside(E::Sin, &Real::small(3, 0)).is_none());
    assert!(beside(E::Log, &Real::small(3, -9)).is_none());
}

#[test]
fn huge_operands_are_beyond_every_format() {
    let (huge, less) = (Real::small(1, 26), Real::small((1 << 26) - 1, 0));
    for which in [E::Exp, E::Exp2, E::ExpMinusOne, E::Sinh, E::Cosh] {
        let value = beyond(which, &huge, 64).expect("beyond every format");
        assert!(value.leading() > 1 << 30 && value.sticky && !value.negative, "{which:?}");
        assert!(beyond(which, &less, 64).is_none(), "{which:?}");
    }
    for which in [E::Exp, E::Exp2, E::Softplus] {
        let value = beyond(which, &huge.clone().with_sign(true), 64).expect("below every format");
        assert!(value.leading() < -(1 << 30) && value.sticky && !value.negative, "{which:?}");
    }
    assert!(beyond(E::Softplus, &huge, 64).is_none() && beyond(E::Log, &huge, 64).is_none());
}

/// The angle without any short way.
fn refined_angle(y: &Real, x: &Real, over_pi: bool, bits: u32) -> Real {
    refine(bits, |precision| {
        let angle = trig::angle(&Ball::exact(y, precision), &Ball::exact(x, precision), x.negative)?;
        if over_pi { trig::over_pi(&angle) } else { Some(angle) }
    })
}

/// The leading `bits` bits of a truncated number.
fn leading(x: &Real, bits: u32) -> (bool, UBig, i64) {
    let cut = super::super::real::length(&x.significand) - i64::from(bits);
    (x.negative, &x.significand >> super::super::real::shift(cut), x.exponent + cut)
}

#[test]
fn angles_beside_dyadic_numbers_are_those_of_the_formula() {
    // How many times each short way was taken.
    let mut taken = [0_u32; 3];
    for (y, x) in [(1, 1), (3, 2), (0xffff, 0x8000), (0x8001, 0xffff), (5, 3), (7, 1), (1, 7), (0xffff, 1)] {
        for distance in -40..40_i64 {
            for bits in [8, 16, 20, 24, 29, 30, 31, 32, 33, 36, 39, 40, 41, 60, 118, 119, 120, 121] {
                for (over_pi, negative) in [(false, false), (false, true), (true, false), (true, true)] {
                    let (y, x) = (Real::small(y, distance), Real::small(x, 0).with_sign(negative));
                    let Some(near) = near_angle(&y, &x, over_pi, bits) else { continue };
                    assert!(near.sticky, "{y:?} {x:?}");
                    let expected = refined_angle(&y, &x, over_pi, bits);
                    assert_eq!(
                        leading(&near, bits),
                        leading(&expected, bits),
                        "{y:?} {x:?} {over_pi} {bits}"
                    );
                    let way = usize::from(over_pi) + usize::from(over_pi && y.leading() > x.leading());
                    taken[way] += 1;
                }
            }
        }
    }
    assert!(taken.iter().all(|&count| count > 100), "{taken:?}");
}

/// As near as their bounds allow: at one bit more they are refined.
#[test]
fn angles_take_the_short_way_as_far_as_it_goes() {
    let near = |y: &Real, x: &Real, over_pi, bits| near_angle(y, x, over_pi, bits).is_some();
    let minus_one = Real::small(1, 0).with_sign(true);
    for distance in [3, 20, 50] {
        let bits = u32::try_from(distance).expect("small");
        // π − y: 1 − δ with δ < 2^(top − 1), top = 1 − distance.
        let y = Real::small(1, -distance);
        assert!(near(&y, &minus_one, true, bits - 1) && !near(&y, &minus_one, true, bits), "{distance}");
        // ½ ∓ δ with δ < 2^(1 − top), top = 1 + distance: the window starts a place lower.
        let y = Real::small(1, distance);
        for x in [&minus_one, &Real::small(1, 0)] {
            assert!(near(&y, x, true, bits - 2) && !near(&y, x, true, bits - 1), "{distance}");
        }
        // y/x − δ with δ < 2^(3·top − 1), beside a power of two: window = −distance − bits − 1.
        let y = Real::small(1, -distance);
        let short = 2 * bits - 3;
        assert!(near(&y, &Real::small(1, 0), false, short), "{distance}");
        assert!(!near(&y, &Real::small(1, 0), false, short + 1), "{distance}");
        // A quotient that is not dyadic is further from its truncation than δ.
        assert!(near(&y, &Real::small(3, 0), false, bits), "{distance}");
    }
    // Nothing is near where the quotient is about 1.
    for over_pi in [false, true] {
        for x in [Real::small(5, -2), Real::small(5, -2).with_sign(true)] {
            assert!(!near(&Real::small(1, 0), &x, over_pi, 2), "{x:?}");
        }
    }
    let quarter = functions::multiple_of_quarter_pi(1, 64);
    assert_eq!(
        angle(&Real::small(3, 0), &Real::small(2, 0), false, 64).compare_magnitude(&quarter),
        Ordering::Greater
    );
}
