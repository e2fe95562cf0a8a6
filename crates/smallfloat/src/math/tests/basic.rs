//! The basic operations on wide numbers, held to those on data and to integer arithmetic.

use std::vec::Vec;

use dashu_base::BitTest;
use dashu_int::UBig;

use crate::cast::signed;
use crate::format::datum::Datum;
use crate::math::evaluate;
use crate::math::wide::{Wide, WideOutcome};
use crate::ops::operation::Operation;
use crate::ops::{Outcome, Semantics};
use crate::projection::exact::Exact;
use crate::projection::flags::Flags;

const BITS: u32 = 128;

/// Specials, zeros, small and large numbers, neighbours, and exponents far apart.
fn data() -> Vec<Datum> {
    let mut data = Vec::new();
    for negative in [false, true] {
        data.extend([Datum::Nan { negative }, Datum::Infinite { negative }, Datum::finite(negative, 0, 0)]);
        for (significand, exponent) in [
            (1, 0),
            (3, -1),
            (1, 1),
            (1, -1),
            (5, 0),
            ((1 << 53) - 1, -52),
            (u64::MAX, -63),
            (1, -1074),
            (0x1234_5678_9abc_def1, 900),
            (7, -61),
            (1, 61),
            (3, 130),
        ] {
            data.push(Datum::finite(negative, significand, exponent));
        }
    }
    data
}

/// An exact value in one form: an odd significand, or the leading 100 bits; in p3109 semantics one
/// zero.
fn canonical(x: Exact, semantics: Semantics) -> Exact {
    if x.is_zero() && semantics == Semantics::P3109 {
        return Exact::finite(false, 0, 0);
    }
    let Exact::Finite { negative, significand, exponent, sticky } = x else { return x };
    if significand == 0 {
        return Exact::finite(negative, 0, 0);
    }
    let zeros = significand.trailing_zeros();
    if !sticky && 128 - significand.leading_zeros() - zeros <= 100 {
        return Exact::finite(negative, significand >> zeros, exponent + signed(zeros));
    }
    let cut = 128 - significand.leading_zeros() - 100;
    let kept = significand >> cut;
    Exact::Finite {
        negative,
        significand: kept,
        exponent: exponent + signed(cut),
        sticky: sticky || kept << cut != significand,
    }
}

fn check(operation: Operation, data: [Datum; 3], semantics: Semantics) {
    let Outcome { exact, flags } = operation.exact(data, semantics);
    let wide = evaluate(operation, &data.map(Wide::from), semantics, BITS);
    assert_eq!(
        (canonical(wide.value.to_exact(), semantics), wide.flags),
        (canonical(exact, semantics), flags),
        "{operation:?} of {data:?}, {semantics:?}: {:?}",
        wide.value
    );
}

#[test]
fn wide_operations_are_those_on_data() {
    let data = data();
    for semantics in [Semantics::Ieee, Semantics::P3109] {
        for operation in Operation::all().filter(|operation| operation.is_basic()) {
            for &x in &data {
                match operation.arity() {
                    1 => check(operation, [x; 3], semantics),
                    2 => {
                        for &y in &data {
                            check(operation, [x, y, x], semantics);
                        }
                    }
                    _ => {
                        for &y in &data {
                            for &z in &data {
                                check(operation, [x, y, z], semantics);
                            }
                        }
                    }
                }
            }
        }
    }
}

fn wide(negative: bool, significand: UBig, exponent: i64) -> Wide {
    Wide::Finite { negative, significand, exponent, sticky: false }
}

fn value(operation: Operation, operands: &[Wide; 3]) -> Wide {
    let WideOutcome { value, flags } = evaluate(operation, operands, Semantics::P3109, BITS);
    assert_eq!(flags, Flags::NONE, "{operation:?}");
    value
}

/// The significand's length and whether anything was cut, of a result that must be finite.
fn shape(x: &Wide) -> (usize, bool) {
    let Wide::Finite { significand, sticky, .. } = x else { panic!("{x:?} is not finite") };
    (significand.bit_len(), *sticky)
}

#[test]
fn vast_gaps_cost_little() {
    let (large, tiny) = (1 << 18, -(1 << 18));
    let one = |negative, exponent| wide(negative, UBig::ONE, exponent);
    for (operation, operands) in [
        (Operation::Add, [one(false, large), one(false, tiny), Wide::zero(false)]),
        (Operation::Subtract, [one(false, large), one(false, tiny), Wide::zero(false)]),
        (Operation::Fma, [one(false, large), one(false, large), one(true, tiny)]),
        (Operation::Faa, [one(false, large), one(false, tiny), one(true, tiny - 9)]),
        (Operation::Faa, [one(false, tiny), one(true, 0), one(false, large)]),
    ] {
        let (length, sticky) = shape(&value(operation, &operands));
        assert!(sticky && (128..300).contains(&length), "{operation:?} of {operands:?}: {length} bits");
    }
    // 2^18 · 2^k − δ has only ones, 2^18 · 2^k + δ only zeros below the leading one.
    let below = value(Operation::Subtract, &[one(false, large), one(false, tiny), Wide::zero(false)]);
    let above = value(Operation::Add, &[one(false, large), one(false, tiny), Wide::zero(false)]);
    let exact =
        |significand, exponent| Exact::Finite { negative: false, significand, exponent, sticky: true };
    assert_eq!(below.to_exact(), exact(u128::MAX, (1 << 18) - 128));
    assert_eq!(above.to_exact(), exact(1 << 127, (1 << 18) - 127));
    // The large terms cancel: the tiny one is all that is left, exactly.
    let left = value(Operation::Faa, &[one(false, large), one(false, tiny), one(true, large)]);
    assert_eq!(left.to_exact(), Exact::finite(false, 1, -(1 << 18)));
}

#[test]
fn products_of_scale_and_element_are_exact() {
    // (2^53 − 1)² has 106 bits; with itself again 212.
    let a = UBig::from((1_u64 << 53) - 1);
    let square = &a * &a;
    let product = value(
        Operation::Multiply,
        &[wide(true, square.clone(), -9), wide(false, square.clone(), 4), Wide::NAN],
    );
    assert_eq!(product, wide(true, &square * &square, -5));
    let root = value(Operation::Sqrt, &[wide(false, square, -4), Wide::NAN, Wide::NAN]);
    assert_eq!(root.to_exact(), Exact::finite(false, (1 << 53) - 1, -2));
}

#[test]
fn quotients_and_roots_are_truncated() {
    let third = value(Operation::Divide, &[Wide::finite(false, 1, 0), Wide::finite(false, 3, 0), Wide::NAN]);
    let expected = UBig::from(3_u8);
    let Wide::Finite { significand, exponent, sticky, .. } = third else { panic!("a third is finite") };
    let one = UBig::ONE << usize::try_from(-exponent).unwrap();
    assert!(sticky && &significand * &expected < one && (&significand + UBig::ONE) * expected > one);
    for (s, e) in [(2, 0), (3, 1), (0x1f_ffff, -7), (1, 131_067), (1, -131_067)] {
        let root = value(Operation::Sqrt, &[Wide::finite(false, s, e), Wide::NAN, Wide::NAN]);
        let Wide::Finite { significand: r, exponent, sticky, .. } = root else { panic!("roots are finite") };
        let radicand = UBig::from(s) << usize::try_from(e - 2 * exponent).unwrap();
        assert!(sticky && &r * &r < radicand && (&r + UBig::ONE).pow(2) > radicand, "√({s}·2^{e})");
    }
}

#[test]
fn exponents_beyond_every_format_are_clamped() {
    let far = |exponent| Wide::finite(false, 1, exponent).to_exact();
    assert_eq!(far(i64::MAX), Exact::finite(false, 1, 1 << 30));
    assert_eq!(far(i64::MIN), Exact::finite(false, 1, -(1 << 30)));
    let format = crate::format::formats::BINARY64;
    let projection = format.default_projection();
    let largest = crate::project(far(i64::MAX), &format, &projection);
    assert_eq!(
        (f64::from_bits(largest.value), largest.flags.contains(Flags::OVERFLOW)),
        (f64::INFINITY, true)
    );
    let smallest =
        crate::project(far(i64::MIN), &format, &projection.with_rounding(crate::Rounding::TowardPositive));
    assert_eq!((smallest.value, smallest.flags.contains(Flags::UNDERFLOW)), (1, true));
}
