//! Exact cases and their neighbours, tiny and huge operands against bounds computed with integers,
//! and the time all of it takes.

use std::time::{Duration, Instant};
use std::vec::Vec;

use dashu_int::{IBig, UBig};

use crate::evaluate::table::ExactTable;
use crate::format::Format;
use crate::format::datum::Datum;
use crate::math::evaluate;
use crate::math::wide::Wide;
use crate::ops::Semantics;
use crate::ops::elementary::Elementary;
use crate::ops::operation::{Operation, OperationOptions};
use crate::projection::exact::Exact;

const SEMANTICS: Semantics = Semantics::Ieee;

fn of(which: Elementary, x: Datum) -> Exact {
    Operation::Elementary(which).exact([x, Datum::ZERO, Datum::ZERO], SEMANTICS).exact
}

fn number(negative: bool, significand: u64, exponent: i32) -> Datum {
    Datum::finite(negative, significand, exponent)
}

fn is_truncated(x: Exact) -> bool {
    matches!(x, Exact::Finite { significand, sticky: true, .. } if significand.leading_zeros() == 0)
}

#[test]
fn exact_cases_are_exact_and_their_neighbours_are_not() {
    use Elementary as E;
    let exactly = Exact::finite;
    for (which, (significand, exponent), expected) in [
        (E::Exp2, (5, 0), exactly(false, 1, 5)),
        (E::Exp2, (3, 4), exactly(false, 1, 48)),
        (E::Log2, (1, 20), exactly(false, 5, 2)),
        (E::Log2, (1, -7), exactly(true, 7, 0)),
        (E::Log, (1, 0), exactly(false, 0, 0)),
        (E::ArcCos, (1, 0), exactly(false, 0, 0)),
        (E::ArcCosh, (1, 0), exactly(false, 0, 0)),
        (E::SinPi, (1, -1), exactly(false, 1, 0)),
        (E::SinPi, (3, -1), exactly(true, 1, 0)),
        (E::SinPi, (7, 0), exactly(false, 0, 0)),
        (E::CosPi, (1, 0), exactly(true, 1, 0)),
        (E::CosPi, (1, 1), exactly(false, 1, 0)),
        (E::CosPi, (5, -1), exactly(false, 0, 0)),
        (E::TanPi, (1, -2), exactly(false, 1, 0)),
        (E::TanPi, (3, -2), exactly(true, 1, 0)),
        (E::TanPi, (5, -2), exactly(false, 1, 0)),
        (E::TanPi, (7, -2), exactly(true, 1, 0)),
        (E::ArcSinPi, (1, 0), exactly(false, 1, -1)),
        (E::ArcCosPi, (1, 0), exactly(false, 0, 0)),
        (E::ArcTanPi, (1, 0), exactly(false, 1, -2)),
    ] {
        let x = number(false, significand, exponent);
        assert_eq!(of(which, x), expected, "{which:?}({x})");
        // One unit in the last of 40 bits beside it, within the domain.
        let wide = significand << 40;
        for beside in [wide - 1, wide + 1] {
            let beside = number(false, beside, exponent - 40);
            let value = of(which, beside);
            assert!(is_truncated(value) || value.is_nan(), "{which:?}({beside}): {value:?}");
        }
    }
    assert_eq!(of(E::ArcCosPi, number(true, 1, 0)), exactly(false, 1, 0));
    // Thirds and sixths are rational, but no dyadic numbers: ⌊2^129 / 3⌋ and so on.
    let third = u128::MAX / 3 * 2 + 1;
    let truncated =
        |significand, exponent| Exact::Finite { negative: false, significand, exponent, sticky: true };
    assert_eq!(of(E::ArcCosPi, number(false, 1, -1)), truncated(third - 1, -129));
    assert_eq!(of(E::ArcCosPi, number(true, 1, -1)), truncated(third - 1, -128));
    assert_eq!(of(E::ArcSinPi, number(false, 1, -1)), truncated(third - 1, -130));
}

#[test]
fn roots_know_perfect_squares() {
    let root = |operation: Operation, x: Datum, y: Datum| operation.exact([x, y, y], SEMANTICS).exact;
    let one = number(false, 1, 0);
    assert_eq!(root(Operation::RSqrt, number(false, 1, -6), one), Exact::finite(false, 1, 3));
    assert!(is_truncated(root(Operation::RSqrt, number(false, 9, 0), one)));
    assert!(is_truncated(root(Operation::RSqrt, number(false, 1, 1), one)));
    assert_eq!(
        root(Operation::Hypot, number(true, 5, -3), number(false, 12, -3)),
        Exact::finite(false, 13, -3)
    );
    assert!(is_truncated(root(Operation::Hypot, one, one)));
    // √(2^2000 + 1): 2^1000 and a little more.
    let expected =
        Exact::Finite { negative: false, significand: 1 << 127, exponent: 1000 - 127, sticky: true };
    assert_eq!(root(Operation::Hypot, number(false, 1, 1000), one), expected);
    // r² · x ≤ 1 < (r + 1)² · x.
    for (s, e) in [(3_u64, 0), (0x1f_ffff, -7), ((1 << 53) - 1, 31), (7, -1074)] {
        let Exact::Finite { significand, exponent, sticky: true, .. } =
            root(Operation::RSqrt, number(false, s, e), one)
        else {
            panic!("1/√({s}·2^{e}) is not truncated")
        };
        let unit = UBig::ONE << usize::try_from(-2 * exponent - e).unwrap();
        let r = UBig::from(significand);
        assert!(&r * &r * s <= unit && (&r + UBig::ONE).pow(2) * s > unit, "1/√({s}·2^{e})");
    }
}

/// Bounds of a function at 0 < x ≤ ½: the common denominator, the terms that both bounds have, and
/// the last term of the lower and of the upper one; a term is a coefficient and a power of x.
type Bounds = (Elementary, i64, &'static [(i64, usize)], [(i64, usize); 2]);

/// Partial sums of alternating series, and of others with the rest bounded by a geometric series.
const BOUNDS: [Bounds; 13] = [
    (Elementary::Sin, 120, &[(120, 1), (-20, 3)], [(0, 5), (1, 5)]),
    (Elementary::ArcTan, 15, &[(15, 1), (-5, 3)], [(0, 5), (3, 5)]),
    (Elementary::Tan, 3, &[(3, 1), (1, 3)], [(0, 5), (3, 5)]),
    (Elementary::ArcTanh, 3, &[(3, 1), (1, 3)], [(0, 5), (3, 5)]),
    (Elementary::Sinh, 6, &[(6, 1), (1, 3)], [(0, 5), (6, 5)]),
    (Elementary::ArcSin, 6, &[(6, 1), (1, 3)], [(0, 5), (6, 5)]),
    (Elementary::Tanh, 3, &[(3, 1), (-1, 3)], [(0, 5), (3, 5)]),
    (Elementary::ArcSinh, 6, &[(6, 1), (-1, 3)], [(0, 5), (6, 5)]),
    (Elementary::Exp, 1, &[(1, 0), (1, 1)], [(0, 2), (1, 2)]),
    (Elementary::ExpMinusOne, 2, &[(2, 1), (1, 2)], [(0, 3), (1, 3)]),
    (Elementary::LogOnePlus, 6, &[(6, 1), (-3, 2)], [(0, 3), (2, 3)]),
    (Elementary::Cos, 24, &[(24, 0), (-12, 2)], [(0, 4), (1, 4)]),
    (Elementary::Cosh, 2, &[(2, 0), (1, 2)], [(0, 4), (1, 4)]),
];

#[test]
fn tiny_operands_obey_series() {
    const POWER: usize = 5;
    for (which, denominator, common, last) in BOUNDS {
        // Below and above where the shortcuts begin.
        for k in (1..80).chain([126, 127, 128, 129, 130, 300, 1074]) {
            let value = of(which, number(false, 1, -k));
            let Exact::Finite { negative: false, significand, exponent, sticky: true } = value else {
                panic!("{which:?}(2^-{k}) = {value:?}")
            };
            assert_eq!(significand.leading_zeros(), 0);
            let k = usize::try_from(k).unwrap();
            // Everything in units of 2^(exponent − 5·k) / denominator.
            let places = usize::try_from(-exponent).unwrap();
            let [low, high] = last.map(|last| {
                let terms = common.iter().chain([&last]);
                terms.map(|&(c, power)| IBig::from(c) << (k * (POWER - power) + places)).sum::<IBig>()
            });
            let unit = IBig::from(denominator) << (k * POWER);
            let s = IBig::from(significand);
            // The interval [s, s + 1] of the truncated value and that of the bounds must meet.
            assert!(&s * &unit < high, "{which:?}(2^-{k}) = {value:?} is too large");
            assert!((s + IBig::ONE) * unit > low, "{which:?}(2^-{k}) = {value:?} is too small");
        }
    }
}

#[test]
fn values_beside_a_dyadic_number() {
    use Elementary as E;
    let ones = |exponent| Exact::Finite { negative: false, significand: u128::MAX, exponent, sticky: true };
    let above = |exponent| Exact::Finite { negative: false, significand: 1 << 127, exponent, sticky: true };
    let large = number(false, 3, 40);
    let tiny = |negative| number(negative, 1, -500);
    assert_eq!(of(E::Tanh, large), ones(-128));
    assert_eq!(of(E::ArcTanPi, number(false, 1, 500)), ones(-129));
    assert_eq!(of(E::Softplus, number(false, 1, 10)), above(10 - 127));
    assert_eq!(of(E::Exp, tiny(true)), ones(-128));
    assert_eq!(of(E::Exp2, tiny(false)), above(-127));
    assert_eq!(of(E::Cosh, tiny(true)), above(-127));
    assert_eq!(of(E::CosPi, tiny(true)), ones(-128));
    assert_eq!(of(E::ArcCosPi, tiny(false)), ones(-129));
    assert_eq!(of(E::ArcCosPi, tiny(true)), above(-128));
    // e^−x − 1 for a large x: −(1 − δ).
    let Exact::Finite { negative: true, significand: u128::MAX, exponent: -128, sticky: true } =
        of(E::ExpMinusOne, number(true, 3, 40))
    else {
        panic!("e^−x − 1 is a little above −1")
    };
    // Points near an axis: y/x = 1/3 · 2^−500 is no dyadic number, 2^−500 is one.
    let angle = |operation: Operation, y, x| operation.exact([y, x, x], SEMANTICS).exact;
    let third = u128::MAX / 3 * 2;
    let one = number(false, 1, 0);
    assert_eq!(
        angle(Operation::ArcTan2, tiny(false), number(false, 3, 0)),
        Exact::Finite { negative: false, significand: third, exponent: -629, sticky: true }
    );
    assert_eq!(angle(Operation::ArcTan2, tiny(false), one), ones(-628));
    assert_eq!(angle(Operation::ArcTan2Pi, tiny(false), number(true, 1, 0)), ones(-128));
    assert_eq!(angle(Operation::ArcTan2Pi, one, tiny(false)), ones(-129));
    assert_eq!(angle(Operation::ArcTan2Pi, one, tiny(true)), above(-128));
}

#[test]
fn exponentials_of_huge_operands_are_beyond_every_format() {
    use Elementary as E;
    let exponent = |which, negative| match of(which, number(negative, 3, 131_067)) {
        Exact::Finite { significand, exponent, sticky: true, .. } if significand > 0 => exponent,
        other => panic!("{which:?}: {other:?}"),
    };
    for which in [E::Exp, E::Exp2, E::ExpMinusOne, E::Sinh, E::Cosh] {
        assert!(exponent(which, false) > 1 << 29, "{which:?}");
    }
    for which in [E::Exp, E::Exp2, E::Softplus] {
        assert!(exponent(which, true) < -(1 << 29), "{which:?}");
    }
    assert!(exponent(E::Sinh, true) > 1 << 29 && of(E::Sinh, number(true, 1, 99)).is_negative());
}

#[test]
fn no_operand_takes_long() {
    let start = Instant::now();
    let mut operands = Vec::new();
    for negative in [false, true] {
        for exponent in [1, 10, 100, 1000, 32_767, 131_068] {
            for significand in [1, 3, 0x1f_ffff] {
                for exponent in [exponent, -exponent] {
                    operands.push(Wide::finite(negative, significand, exponent));
                }
            }
        }
    }
    let mut slowest = (Duration::ZERO, None);
    let mut call = |operation: Operation, x: &Wide, y: &Wide| {
        let start = Instant::now();
        let operands = [x.clone(), y.clone(), Wide::zero(false)];
        let outcome = evaluate(operation, &operands, SEMANTICS, 128);
        if let Wide::Finite { significand, sticky: true, .. } = &outcome.value {
            let length = dashu_base::BitTest::bit_len(significand);
            assert!((128..400).contains(&length), "{operation:?} of {x:?}, {y:?}: {length} bits");
        }
        slowest = slowest.max((start.elapsed(), Some(operation.name())));
    };
    for x in &operands {
        for &(_, which) in Elementary::NAMED {
            call(Operation::Elementary(which), x, x);
        }
        call(Operation::RSqrt, x, x);
        call(Operation::Sqrt, x, x);
        for y in &operands {
            for operation in [
                Operation::Add,
                Operation::Divide,
                Operation::Hypot,
                Operation::ArcTan2,
                Operation::ArcTan2Pi,
                Operation::Remainder,
            ] {
                call(operation, x, y);
            }
        }
    }
    std::eprintln!("{:?} in all, the slowest {slowest:?}", start.elapsed());
    // Two seconds on a machine of 2020 with optimization, and thirty times as long without.
    let limit = Duration::from_secs(if cfg!(debug_assertions) { 900 } else { 60 });
    assert!(start.elapsed() < limit, "{:?}: slowest {slowest:?}", start.elapsed());
}

#[test]
fn tables_agree_with_single_calls() {
    let mut slowest = (Duration::ZERO, "");
    for name in ["e4m3fn", "binary8p3se", "binary8p1ue"] {
        let format: Format = name.parse().unwrap();
        let projection = format.default_projection();
        let arithmetic = OperationOptions::default_for([&format]);
        for operation in Operation::all().filter(|operation| operation.arity() == 1) {
            let start = Instant::now();
            let table = ExactTable::new(operation, format, arithmetic).unwrap();
            slowest = slowest.max((start.elapsed(), operation.name()));
            for code in format.codes() {
                let operand = [crate::ops::operation::Operand::new(code, &format)];
                let expected = operation.evaluate(&operand, &format, &projection, arithmetic);
                assert_eq!(
                    table.evaluate(code, &format, &projection),
                    expected,
                    "{operation:?} of {code:#x}"
                );
            }
        }
    }
    std::eprintln!("the slowest table: {slowest:?}");
    let add = ExactTable::new(Operation::Add, crate::format::formats::E5M2, OperationOptions::IEEE);
    assert_eq!(std::format!("{}", add.unwrap_err()), "Add takes 2 operands, 1 is given");
    assert!(
        ExactTable::new(Operation::RSqrt, crate::format::formats::BINARY16, OperationOptions::IEEE).is_err()
    );
}

/// Radians beyond every format are refused at once, not computed for hours; other functions end.
#[test]
fn operands_beyond_every_format() {
    use Elementary as E;
    let began = Instant::now();
    for exponent in [i32::MIN, -(1 << 29), 1 << 29, i32::MAX] {
        for &(_, which) in Elementary::NAMED {
            let x = number(false, 3, exponent);
            let result = std::panic::catch_unwind(|| of(which, x));
            let is_refused = exponent > 0 && matches!(which, E::Sin | E::Cos | E::Tan);
            assert_eq!(result.is_err(), is_refused, "{which:?} of 3p{exponent}");
        }
    }
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
}
