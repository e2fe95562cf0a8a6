//! Real numbers of any size: what is truncated lies within one unit below the exact number, and has
//! the bits that were asked for.

use core::cmp::Ordering;
use std::vec::Vec;

use dashu_int::UBig;

use crate::math::real::{Real, add_exactly, length};
use crate::math::wide::Wide;
use crate::math::{evaluate, real};
use crate::ops::Semantics;
use crate::ops::extrema::Extremum;
use crate::ops::operation::Operation;

/// Returns whether `x` is the exact number, or truncated to at least `bits` bits and marked.
fn is_truncation(x: &Real, exact: &Real, bits: u32) -> bool {
    if !x.sticky {
        return x.compare_magnitude(exact) == Ordering::Equal
            && (x.is_zero() || x.negative == exact.negative);
    }
    let next = Real { significand: &x.significand + UBig::ONE, sticky: false, ..x.clone() };
    x.negative == exact.negative
        && length(&x.significand) >= i64::from(bits)
        && x.compare_magnitude(exact) == Ordering::Less
        && next.compare_magnitude(exact) == Ordering::Greater
}

#[test]
fn numbers_lose_their_zeros() {
    let even = Real::small(12, 3);
    assert_eq!(even.clone().reduced(), Real::small(3, 5));
    assert_eq!(Real::small(5, 3).reduced(), Real::small(5, 3));
    assert_eq!(Real::small(0, 0).reduced(), Real::small(0, 0));
    // What was cut off may be anything below the last place: the zeros say something.
    let marked = Real { sticky: true, ..even };
    assert_eq!(marked.clone().reduced(), marked);
}

#[test]
fn a_nudge_changes_what_is_below_the_window() {
    let one = Real::small(1, 0);
    assert_eq!((one.window(10), Real::small(0xfff, 0).window(10)), (-11, 0));
    let expected = |significand: u64| {
        Some(Real { negative: false, significand: UBig::from(significand), exponent: -11, sticky: true })
    };
    assert_eq!(one.nudged(true, -11, 10), expected(0x7ff));
    assert_eq!(one.nudged(false, -11, 10), expected(0x800));
    assert_eq!(one.nudged(true, -10, 10), None);
}

#[test]
fn sums_of_three_are_truncated_once() {
    let mut terms: Vec<Real> = Vec::new();
    for exponent in [-20, -9, -8, -7, -6, -5, -4, -3, 0, 3] {
        for significand in [1, 3, 7, 8, 9] {
            terms.push(Real::small(significand, exponent));
            terms.push(Real::small(significand, exponent).with_sign(true));
        }
    }
    terms.push(Real::small(0, 0));
    let mut truncated = 0;
    for x in &terms {
        for y in terms.iter().step_by(3) {
            for z in terms.iter().step_by(7) {
                for bits in [3, 6] {
                    let sum = real::add_three([x.clone(), y.clone(), z.clone()], bits);
                    let exact = add_exactly(&add_exactly(x, y), z);
                    assert!(is_truncation(&sum, &exact, bits), "{x:?} + {y:?} + {z:?}: {sum:?}");
                    truncated += u32::from(sum.sticky);
                }
            }
        }
    }
    assert!(truncated > 1000, "{truncated}");
}

/// Multiplied back, what is kept is no more than the dividend or the radicand, and one unit more is
/// above it.
#[test]
fn quotients_and_roots_have_the_bits_that_were_asked_for() {
    for x in [1_u64, 2, 3, 5, 96, 255, 1023, 0x1_0000_0001] {
        for y in [1_u64, 3, 6, 7, 12, 255, 0x8001, 0xffff_ffff_ffff] {
            for bits in [2, 8, 70] {
                let (x, y) = (Real::small(x, -3), Real::small(y, 4).with_sign(true));
                let quotient = real::divide(&x, &y, bits);
                let back = real::multiply(&Real { sticky: false, ..quotient.clone() }, &y);
                let next = Real {
                    significand: &quotient.significand + UBig::ONE,
                    sticky: false,
                    ..quotient.clone()
                };
                let expected = if quotient.sticky { Ordering::Less } else { Ordering::Equal };
                assert_eq!(back.compare_magnitude(&x), expected, "{x:?} / {y:?}");
                assert_eq!(
                    real::multiply(&next, &y).compare_magnitude(&x),
                    Ordering::Greater,
                    "{x:?} / {y:?}"
                );
                assert!(
                    !quotient.sticky || length(&quotient.significand) >= i64::from(bits),
                    "{x:?} / {y:?}"
                );
            }
        }
        for exponent in [-3, 0, 6] {
            for bits in [2, 8, 70] {
                let x = Real::small(x, exponent);
                let root = real::sqrt(&x, bits);
                let square = |x: &Real| real::multiply(&Real { sticky: false, ..x.clone() }, x);
                let next = Real { significand: &root.significand + UBig::ONE, ..root.clone() };
                let expected = if root.sticky { Ordering::Less } else { Ordering::Equal };
                assert_eq!(square(&root).compare_magnitude(&x), expected, "√{x:?}");
                assert_eq!(square(&next).compare_magnitude(&x), Ordering::Greater, "√{x:?}");
                assert!(!root.sticky || length(&root.significand) >= i64::from(bits), "√{x:?}");
            }
        }
    }
}

#[test]
fn wide_zeros_and_operands_are_what_the_semantics_say() {
    assert!(Wide::Cancelled.is_zero() && Wide::Cancelled.is_finite() && !Wide::Cancelled.is_negative());
    assert_eq!(Wide::Cancelled.real(), Some(Real::small(0, 0)));
    assert_eq!(Wide::Cancelled.as_operand(Semantics::P3109), Wide::zero(false));
    let [minus_zero, one] = [Wide::zero(true), Wide::finite(false, 1, 0)];
    let product = |semantics| {
        evaluate(Operation::Multiply, &[minus_zero.clone(), one.clone(), one.clone()], semantics, 64)
    };
    assert_eq!(product(Semantics::P3109).value, Wide::zero(false));
    assert!(product(Semantics::Ieee).value.is_negative());
    // P3109 has one zero among results too: 0 · −1.
    let negative = Wide::finite(true, 1, 0);
    let negated = evaluate(Operation::Multiply, &[Wide::zero(false), negative, one], Semantics::P3109, 64);
    assert_eq!(negated.value, Wide::zero(false));
}

/// Extrema of numbers longer than data are the operands themselves; infinities and NaN with signs
/// stay what they are.
#[test]
fn long_operands_come_back() {
    let long =
        |low: u64, negative| Wide::from(Real::exact(negative, (UBig::ONE << 300) + UBig::from(low), -5));
    let [x, y, infinity] = [long(1, false), long(3, false), Wide::Infinite { negative: true }];
    let larger = Operation::Extremum(Extremum::Maximum);
    for operands in [[&x, &y], [&y, &x]] {
        let [a, b] = operands.map(Clone::clone);
        assert_eq!(evaluate(larger, &[a, b, x.clone()], Semantics::Ieee, 64).value, y);
    }
    for operands in [[&x, &infinity], [&infinity, &x]] {
        let [a, b] = operands.map(Clone::clone);
        assert_eq!(evaluate(larger, &[a, b, x.clone()], Semantics::Ieee, 64).value, x);
    }
    let nan = Wide::Nan { negative: true };
    for operation in ["Exp", "RSqrt", "Sin"] {
        let operation = operation.parse::<Operation>().unwrap();
        let value = evaluate(operation, &[nan.clone(), x.clone(), x.clone()], Semantics::Ieee, 64).value;
        assert!(value.is_nan() && value.is_negative(), "{operation:?}");
    }
    let hypot = |a: Wide, b: Wide| evaluate(Operation::Hypot, &[a, b, x.clone()], Semantics::Ieee, 64).value;
    assert!(hypot(Wide::zero(true), Wide::zero(false)).is_zero());
    assert_eq!(
        hypot(Wide::finite(true, 3, 0), Wide::finite(false, 4, 0)).to_exact(),
        crate::Exact::finite(false, 5, 0)
    );
}
