//! Operations on data: remainders, quotients and roots against integers, special cases with values
//! typed in, and sums of many terms.

use smallfloat::formats::{BINARY16, BINARY64, CATALOGUE, E4M3FN, E5M2};
use smallfloat::ops::{
    Comparison, Extremum, Operand, Operation, OperationOptions, Outcome, Predicate, Semantics, Sum, add,
    add_add, clamp, class_name, divide, dot, extremum, fma, fmod, is_total_ordered, multiply, next_down,
    next_greater_than, next_less_than, next_up, recip, remainder, sqrt, subtract,
};
use smallfloat::{Datum, Exact, FlagPolicy, Flags, Format, Rounding, project};

const NAN: Datum = Datum::Nan { negative: false };
const INFINITY: Datum = Datum::Infinite { negative: false };
const ZERO: Datum = Datum::ZERO;
const IEEE: Semantics = Semantics::Ieee;
const P3109: Semantics = Semantics::P3109;

/// An odd integer times a power of two.
const fn number(significand: i64, exponent: i32) -> Datum {
    Datum::finite(significand < 0, significand.unsigned_abs(), exponent)
}

/// The result in binary64, its exactness, and what the operation raised.
fn result(outcome: Outcome) -> (f64, bool, Flags) {
    let rounded = project(outcome.exact, &BINARY64, &BINARY64.default_projection());
    (f64::from_bits(rounded.value), rounded.flags.contains(Flags::INEXACT), outcome.flags)
}

fn value(outcome: Outcome) -> f64 {
    result(outcome).0
}

fn same(x: f64, y: f64) -> bool {
    x.to_bits() == y.to_bits() || (x.is_nan() && y.is_nan())
}

/// The finite data of E5M2, each with its value in units of 2^−16.
fn integers() -> Vec<(Datum, i128)> {
    let data = (0..=0xff).map(|code| E5M2.decode(code)).filter(Datum::is_finite);
    let integer = |x: Datum| {
        let Datum::Finite { negative, significand, exponent } = x else { unreachable!("finite") };
        let magnitude = i128::from(significand) << (exponent + 16);
        (x, if negative { -magnitude } else { magnitude })
    };
    data.map(integer).collect()
}

/// n · 2^−16, with the sign of a zero.
fn sixteenth(n: i128, negative: bool) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "few bits")]
    let magnitude = n.unsigned_abs() as f64 / 65536.0;
    if n < 0 || (n == 0 && negative) { -magnitude } else { magnitude }
}

#[test]
fn remainders_are_those_of_integers() {
    let all = integers();
    for &(x, a) in &all {
        for &(y, b) in &all {
            let negative = x.is_negative();
            if b == 0 {
                assert!(value(fmod(x, y, IEEE)).is_nan() && value(remainder(x, y, IEEE)).is_nan());
                continue;
            }
            let truncated = a % b;
            assert!(same(value(fmod(x, y, IEEE)), sixteenth(truncated, negative)), "fmod({x}, {y})");
            // The nearest multiple of b, the even one on a tie.
            let below = a.div_euclid(b);
            let rest = a - below * b;
            let twice = 2 * rest - b.abs();
            let up = twice > 0 || (twice == 0 && below % 2 != 0);
            let nearest = if up { rest - b.abs() } else { rest };
            let found = remainder(x, y, IEEE);
            assert!(same(value(found), sixteenth(nearest, negative)), "remainder({x}, {y})");
            assert_eq!((result(found).1, result(fmod(x, y, P3109)).1), (false, false));
        }
        assert!(same(value(remainder(x, INFINITY, IEEE)), sixteenth(a, x.is_negative())));
        assert!(value(fmod(INFINITY, x, IEEE)).is_nan() && value(fmod(NAN, x, IEEE)).is_nan());
    }
    // Operands that are far apart, or have all of binary64's bits: the host's remainder is exact.
    for (x, y) in
        [(1e300, 3.0), (f64::MAX, 1e-300), (1e-300, 1e300), (0.1, 0.3), (1e17 + 16.0, 7.5), (5e-324, 1.0)]
    {
        let data = [x, y].map(|v: f64| BINARY64.decode(v.to_bits()));
        assert!(same(value(fmod(data[0], data[1], IEEE)), x % y), "{x} % {y}");
    }
}

/// Dividends far above a divisor of 64 bits, by doubling.
#[test]
fn remainders_of_long_divisors() {
    for divisor in [u64::MAX, u64::MAX - 58, (1 << 63) + 1, 0xdead_beef_cafe_f00d] {
        for dividend in [u64::MAX - 2, 0x1234_5678_9abc_def1, 3] {
            let mut rest = u128::from(dividend) % u128::from(divisor);
            for power in 0..200 {
                let (x, y) = (Datum::finite(false, dividend, power), Datum::finite(true, divisor, 0));
                let expected = u64::try_from(rest).expect("below the divisor");
                let found = fmod(x, y, IEEE).exact;
                let below = project(found, &BINARY64, &BINARY64.default_projection()).value;
                let exact =
                    project(Exact::finite(false, rest, 0), &BINARY64, &BINARY64.default_projection()).value;
                assert_eq!(
                    (below, found.is_zero()),
                    (exact, expected == 0),
                    "{dividend} · 2^{power} mod {divisor}"
                );
                rest = 2 * rest % u128::from(divisor);
            }
        }
    }
}

#[test]
fn quotients_and_roots_know_whether_they_are_exact() {
    let all = integers();
    for &(x, a) in &all {
        for &(y, b) in &all {
            if b == 0 {
                continue;
            }
            let (found, inexact, flags) = result(divide(x, y, IEEE));
            #[expect(clippy::cast_precision_loss, reason = "few bits")]
            let expected =
                if a == 0 { sixteenth(0, x.is_negative() != y.is_negative()) } else { a as f64 / b as f64 };
            assert!(same(found, expected), "{x} / {y}");
            // Significands have three bits: a quotient is exact where the divisor's odd part
            // divides.
            assert_eq!(inexact, (a << 40) % b != 0, "{x} / {y}");
            assert_eq!(flags, Flags::NONE);
        }
        if a > 0 {
            let Datum::Finite { significand, exponent, .. } = x else { unreachable!("finite") };
            let (found, inexact, _) = result(sqrt(x, IEEE));
            assert!(same(found, sixteenth(a, false).sqrt()), "√{x}");
            assert_eq!(inexact, significand != 1 || exponent % 2 != 0, "√{x}");
            assert!(same(value(recip(x, IEEE)), 1.0 / sixteenth(a, false)));
        }
    }
    // A square of 48 bits and its neighbours.
    let root = 0x00ab_cdef;
    for (off, inexact) in [(-1, true), (0, false), (1, true)] {
        assert_eq!(result(sqrt(number(root * root + off, 0), IEEE)).1, inexact);
    }
}

/// (operands, in IEEE 754's semantics, its flags, in P3109's).
type Special = ([Datum; 2], f64, Flags, f64);

#[test]
fn quotients_of_special_values() {
    let (one, minus) = (number(1, 0), number(-3, 0));
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    let rows: [Special; 10] = [
        ([one, ZERO], inf, Flags::DIVISION_BY_ZERO, nan),
        ([minus, ZERO], -inf, Flags::DIVISION_BY_ZERO, nan),
        ([one, ZERO.negated()], -inf, Flags::DIVISION_BY_ZERO, nan),
        ([ZERO, ZERO], nan, Flags::NONE, nan),
        ([INFINITY, ZERO], inf, Flags::NONE, nan),
        ([INFINITY, minus], -inf, Flags::NONE, -inf),
        ([INFINITY, INFINITY], nan, Flags::NONE, nan),
        ([minus, INFINITY], -0.0, Flags::NONE, 0.0),
        ([ZERO, minus], -0.0, Flags::NONE, 0.0),
        ([NAN, one], nan, Flags::NONE, nan),
    ];
    for ([x, y], ieee, flags, p3109) in rows {
        let (found, _, raised) = result(divide(x, y, IEEE));
        assert!(same(found, ieee) && raised == flags, "{x} / {y}");
        // P3109 has one zero.
        assert!(same(value(divide(x, y, P3109)).abs(), p3109.abs()), "{x} / {y}");
    }
    assert!(value(sqrt(minus, IEEE)).is_nan() && value(sqrt(INFINITY.negated(), IEEE)).is_nan());
    assert!(same(value(sqrt(ZERO.negated(), IEEE)), -0.0) && same(value(sqrt(INFINITY, IEEE)), inf));
}

#[test]
fn sums_and_products_of_special_values() {
    let (one, minus) = (number(1, 0), INFINITY.negated());
    assert!(value(add(INFINITY, minus, IEEE)).is_nan());
    assert!(same(value(add(INFINITY, INFINITY, IEEE)), f64::INFINITY));
    assert!(same(value(add(minus, minus, IEEE)), f64::NEG_INFINITY));
    assert!(same(value(add(minus, one, IEEE)), f64::NEG_INFINITY));
    assert!(value(multiply(ZERO, minus, IEEE)).is_nan() && value(fma(ZERO, INFINITY, one, IEEE)).is_nan());
    assert!(value(fma(INFINITY, one, minus, IEEE)).is_nan());
    let far = number(1, -100);
    for (terms, sum) in [
        ([number(1, 100), far, number(-1, 100)], 2_f64.powi(-100)),
        ([far, number(1, 100), number(-1, 100)], 2_f64.powi(-100)),
        ([number(1, 61), one, number(-1, 61)], 1.0),
        ([number(1, 60), number(-1, 60), far], 2_f64.powi(-100)),
        ([number(3, 60), number(-1, 61), number(-1, 60)], 0.0),
        ([INFINITY, far, one], f64::INFINITY),
        ([one, minus, far], f64::NEG_INFINITY),
        ([INFINITY, far, minus], f64::NAN),
        ([far, NAN, one], f64::NAN),
        ([ZERO, ZERO, far], 2_f64.powi(-100)),
        ([ZERO.negated(), ZERO.negated(), ZERO.negated()], -0.0),
        ([ZERO, ZERO.negated(), ZERO.negated()], 0.0),
    ] {
        assert!(same(value(add_add(terms[0], terms[1], terms[2], IEEE)), sum), "{terms:?}");
    }
    // A tie that the smallest term decides, 2^−100 below the last place of 1.
    for (smallest, expected) in [(far, 1.0 + f64::EPSILON), (far.negated(), 1.0), (ZERO, 1.0)] {
        assert!(same(value(add_add(smallest, one, number(1, -53), IEEE)), expected), "{smallest}");
    }
}

/// Whole sums: by the words, by integers of any size, and by both.
#[test]
fn sums_of_many_terms() {
    let exact = |terms: &[Datum]| {
        let mut sum = Sum::new();
        for &x in terms {
            sum.add(x);
        }
        sum.exact()
    };
    let (one, minus, big) = (number(1, 0), number(-1, 0), number(1, 900));
    let zero = ZERO.negated();
    for (terms, expected) in [
        (&[][..], Exact::finite(false, 0, 0)),
        (&[ZERO], Exact::finite(false, 0, 0)),
        (&[zero, zero], Exact::finite(true, 0, 0)),
        (&[zero, ZERO], Exact::Cancelled),
        (&[one, minus], Exact::Cancelled),
        (&[minus, one, zero], Exact::Cancelled),
        (&[big, one, big.negated(), minus], Exact::Cancelled),
        (&[INFINITY, one], Exact::Infinite { negative: false }),
        (&[one, INFINITY.negated(), big], Exact::Infinite { negative: true }),
        (&[INFINITY, INFINITY.negated()], Exact::Nan { negative: false }),
        (&[NAN, one], Exact::Nan { negative: false }),
    ] {
        assert_eq!(exact(terms), expected, "{terms:?}");
    }
    for (terms, expected) in [
        (&[one, number(1, -52)][..], 1.0 + f64::EPSILON),
        (&[number(1, -52), one], 1.0 + f64::EPSILON),
        (&[number(1, -1000), number(3, -1000), number(-1, -999)], 2_f64.powi(-999)),
        (&[big, number(1, -900), big.negated()], 2_f64.powi(-900)),
        (&[number(-1, -900), big.negated(), big], -(2_f64.powi(-900))),
        (&[big, number(-3, 899), number(1, -900)], -(2_f64.powi(899))),
        (&[number(1, 100), number(1, 100), number(-1, 101), number(5, 3)], 40.0),
        // 127 and 128 places apart: the words' ends.
        (&[number(1, 127), one, number(-1, 127)], 1.0),
        (&[number(1, 128), one, number(-1, 128)], 1.0),
        (&[number(-1, 127), number(-1, 127), number(1, 128), minus], -1.0),
    ] {
        let found = project(exact(terms), &BINARY64, &BINARY64.default_projection());
        assert!(same(f64::from_bits(found.value), expected), "{terms:?}");
    }
    let mut products = Sum::new();
    products.add_product(number(3, -4), number(5, 9));
    products.add_product(number(-1, 600), number(1, 300));
    products.add_product(number(1, 450), number(1, 450));
    assert_eq!(project(products.exact(), &BINARY64, &BINARY64.default_projection()).value, 480_f64.to_bits());
}

/// The sums, products and quotients of data at both ends of `i32`'s exponents are right, though no
/// format has such.
#[test]
fn exponents_of_any_size() {
    const BELOW: f64 = f64::from_bits(1);
    let rounded = |exact, rounding| {
        let projection = BINARY64.default_projection().with_rounding(rounding);
        f64::from_bits(project(exact, &BINARY64, &projection).value)
    };
    let (huge, tiny, one) = (number(1, i32::MAX), number(1, i32::MIN), number(1, 0));
    // 2^k mod 3 is 2 for odd k, as i32::MAX and the distance of both ends are.
    let (half, three) = (number(1, -1), number(3, 0));
    let products: [&[(Datum, Datum)]; 6] = [
        &[(huge, tiny)],
        &[(tiny, tiny)],
        &[(huge, three), (huge.negated(), number(1, 1))],
        &[(huge, huge), (huge.negated(), huge)],
        &[(tiny, tiny), (tiny.negated(), half)],
        &[(tiny, half), (tiny, half), (tiny.negated(), one), (tiny, number(1, -60))],
    ];
    let [bits, square, more, none, less, alone] = products.map(|pairs| dot(pairs.iter().copied()));
    // Toward negative, nearest, toward positive.
    for (outcome, expected) in [
        (multiply(huge, tiny, IEEE), [0.5; 3]),
        (multiply(huge, huge, IEEE), [f64::MAX, f64::INFINITY, f64::INFINITY]),
        (multiply(tiny, tiny.negated(), IEEE), [-BELOW, -0.0, -0.0]),
        (divide(huge, huge, IEEE), [1.0; 3]),
        (divide(number(-3, i32::MIN), tiny, IEEE), [-3.0; 3]),
        (divide(huge, tiny, IEEE), [f64::MAX, f64::INFINITY, f64::INFINITY]),
        (divide(tiny, huge, IEEE), [0.0, 0.0, BELOW]),
        (recip(tiny, IEEE), [f64::MAX, f64::INFINITY, f64::INFINITY]),
        (recip(number(3, i32::MAX), IEEE), [0.0, 0.0, BELOW]),
        (add(huge, tiny, IEEE), [f64::MAX, f64::INFINITY, f64::INFINITY]),
        (add(one, tiny, IEEE), [1.0, 1.0, 1.0 + f64::EPSILON]),
        (subtract(tiny, number(1, i32::MIN + 1), IEEE), [-BELOW, -0.0, -0.0]),
        (subtract(tiny, number(3, i32::MIN + 90), IEEE), [-BELOW, -0.0, -0.0]),
        (subtract(huge, number(3, i32::MAX), IEEE), [f64::NEG_INFINITY, f64::NEG_INFINITY, -f64::MAX]),
        (add(huge, huge.negated(), IEEE), [-0.0, 0.0, 0.0]),
        (fma(huge, tiny, half.negated(), IEEE), [-0.0, 0.0, 0.0]),
        (fma(huge, tiny, half, IEEE), [1.0; 3]),
        (fma(huge, number(1, 1), huge.negated(), IEEE), [f64::MAX, f64::INFINITY, f64::INFINITY]),
        (fma(huge, huge, huge.negated(), IEEE), [f64::MAX, f64::INFINITY, f64::INFINITY]),
        (fma(tiny, half, tiny.negated(), IEEE), [-BELOW, -0.0, -0.0]),
        (fma(tiny, tiny, tiny.negated(), IEEE), [-BELOW, -0.0, -0.0]),
        (fma(tiny, tiny, one, IEEE), [1.0, 1.0, 1.0 + f64::EPSILON]),
        (fma(tiny, tiny, huge.negated(), IEEE), [f64::NEG_INFINITY, f64::NEG_INFINITY, -f64::MAX]),
        (add_add(huge, one, huge.negated(), IEEE), [1.0; 3]),
        (add_add(one, tiny.negated(), one.negated(), IEEE), [-BELOW, -0.0, -0.0]),
        (add_add(tiny, number(-1, i32::MIN + 64), number(1, i32::MIN + 125), IEEE), [0.0, 0.0, BELOW]),
        (add_add(tiny, huge, huge, IEEE), [f64::MAX, f64::INFINITY, f64::INFINITY]),
        (fmod(huge, three, IEEE), [2.0; 3]),
        (remainder(huge, three, IEEE), [-1.0; 3]),
        (remainder(huge, number(3, i32::MIN), IEEE), [-BELOW, -0.0, -0.0]),
        (fmod(one, huge, IEEE), [1.0; 3]),
        (remainder(tiny, huge, IEEE), [0.0, 0.0, BELOW]),
        (bits, [0.5; 3]),
        (square, [0.0, 0.0, BELOW]),
        (more, [f64::MAX, f64::INFINITY, f64::INFINITY]),
        (none, [-0.0, 0.0, 0.0]),
        (less, [-BELOW, -0.0, -0.0]),
        (alone, [0.0, 0.0, BELOW]),
    ] {
        let modes = [Rounding::TowardNegative, Rounding::NearestEven, Rounding::TowardPositive];
        let found = modes.map(|rounding| rounded(outcome.exact, rounding));
        assert_eq!(found.map(f64::to_bits), expected.map(f64::to_bits), "{outcome:?}: {found:?}");
    }
    for (root, scale, expected) in [
        (sqrt(tiny, IEEE), 1 << 30, 1.0),
        (sqrt(number(1, i32::MIN + 1), IEEE), 1 << 30, core::f64::consts::SQRT_2),
        (sqrt(huge, IEEE), -(1 << 30), core::f64::consts::FRAC_1_SQRT_2),
    ] {
        assert!(same(rounded(root.exact.scaled(scale), Rounding::NearestEven), expected), "{root:?}");
    }
    let end = Exact::finite(false, 1, i32::MIN);
    assert_eq!((BINARY64.next_below(end), BINARY64.next_above(end)), (Some(0), Some(1)));
}

#[test]
fn minima_maxima_and_clamps_of_special_values() {
    let (one, two, minus) = (number(1, 0), number(1, 1), number(-1, 1));
    let zero = ZERO.negated();
    for (which, x, y, expected) in [
        (Extremum::Minimum, ZERO, zero, -0.0),
        (Extremum::Maximum, zero, ZERO, 0.0),
        (Extremum::Minimum, NAN, one, f64::NAN),
        (Extremum::MinimumNumber, NAN, one, 1.0),
        (Extremum::MaximumNumber, one, NAN, 1.0),
        (Extremum::MaximumMagnitude, minus, one, -2.0),
        (Extremum::MaximumMagnitude, minus, two, 2.0),
        (Extremum::MinimumMagnitude, minus, two, -2.0),
        (Extremum::MaximumMagnitudeNumber, NAN, minus, -2.0),
        (Extremum::MinimumFinite, INFINITY.negated(), one, 1.0),
        (Extremum::MaximumFinite, one, INFINITY, 1.0),
        (Extremum::Maximum, one, INFINITY, f64::INFINITY),
        (Extremum::Minimum, one, INFINITY, 1.0),
        (Extremum::MinimumFinite, one, two, 1.0),
        (Extremum::MaximumFinite, one, two, 2.0),
        (Extremum::MaximumFinite, INFINITY, INFINITY.negated(), f64::INFINITY),
        (Extremum::MinimumFinite, INFINITY, INFINITY.negated(), f64::NEG_INFINITY),
    ] {
        assert!(same(value(extremum(which, x, y, IEEE)), expected), "{which:?} {x} {y}");
    }
    for ([x, lo, hi], expected) in [
        ([two, minus, one], 1.0),
        ([minus, ZERO, one], 0.0),
        ([one, minus, two], 1.0),
        ([zero, ZERO, one], 0.0),
        ([ZERO, minus, zero], -0.0),
        ([zero, zero, ZERO], -0.0),
        ([NAN, minus, one], f64::NAN),
        ([one, NAN, two], f64::NAN),
        ([one, minus, NAN], f64::NAN),
        ([one, two, minus], f64::NAN),
        ([INFINITY, one, two], 2.0),
    ] {
        assert!(same(value(clamp(x, lo, hi, IEEE)), expected), "{x} in {lo}..{hi}");
    }
}

#[test]
fn neighbours_at_the_ends() {
    // E5M2: 0x7b the largest, 0x7c infinity, 0x7d to 0x7f NaN. E4M3FN: 0x7e the largest, 0x7f NaN.
    // E2M1FN has neither.
    for (code, up, down) in [
        (0x00, 0x01, 0x81),
        (0x80, 0x01, 0x81),
        (0x01, 0x02, 0x00),
        (0x81, 0x80, 0x82),
        (0x7b, 0x7c, 0x7a),
        (0x7c, 0x7c, 0x7b),
        (0xfc, 0xfb, 0xfc),
        (0xfb, 0xfa, 0xfc),
        (0x7d, 0x7d, 0x7d),
        (0xff, 0xff, 0xff),
    ] {
        assert_eq!((next_up(&E5M2, code), next_down(&E5M2, code)), (up, down), "{code:#x}");
    }
    for (code, greater, less) in [
        (0x81, 0x00, 0x82),
        (0x01, 0x02, 0x00),
        (0x7b, 0x7c, 0x7a),
        (0xfe, 0xfe, 0xfe),
        (0x00, 0x01, 0x81),
        (0xfc, 0xfb, 0x7e),
    ] {
        assert_eq!(
            (next_greater_than(&E5M2, code), next_less_than(&E5M2, code)),
            (greater, less),
            "{code:#x}"
        );
    }
    assert_eq!(
        (next_up(&E4M3FN, 0x7e), next_down(&E4M3FN, 0xfe), next_up(&E4M3FN, 0xff)),
        (0x7f, 0x7f, 0xff)
    );
    let e2m1: Format = "e2m1fn".parse().expect("a format");
    assert_eq!((next_up(&e2m1, 7), next_down(&e2m1, 15), next_greater_than(&e2m1, 7)), (7, 15, 7));
}

#[test]
fn orders_and_predicates_of_special_values() {
    let (one, minus) = (number(1, 0), number(-1, 0));
    for (x, y, expected) in [
        (NAN, NAN, true),
        (NAN, minus, true),
        (one, NAN, false),
        (one, minus, false),
        (minus, one, true),
        (one, one, true),
        (INFINITY.negated(), minus, true),
    ] {
        assert_eq!(is_total_ordered(x, y), expected, "{x} {y}");
    }
    let holds = |predicate: Predicate, code, semantics| predicate.holds(&E5M2, code, semantics);
    for (code, ieee, p3109) in
        [(0x80, true, false), (0xff, true, false), (0xbc, true, true), (0xfc, true, true), (0, false, false)]
    {
        assert_eq!(
            (holds(Predicate::IsSignMinus, code, IEEE), holds(Predicate::IsSignMinus, code, P3109)),
            (ieee, p3109),
            "{code:#x}"
        );
    }
    // (code, zero, one, NaN, infinite, finite, normal, subnormal).
    for (code, expected) in [
        (0x00, [true, false, false, false, true, false, false]),
        (0x80, [true, false, false, false, true, false, false]),
        (0x3c, [false, true, false, false, true, true, false]),
        (0xbc, [false, false, false, false, true, true, false]),
        (0x01, [false, false, false, false, true, false, true]),
        (0xfc, [false, false, false, true, false, false, false]),
        (0x7d, [false, false, true, false, false, false, false]),
    ] {
        use Predicate::{IsFinite, IsInfinite, IsNaN, IsNormal, IsOne, IsSubnormal, IsZero};
        let found =
            [IsZero, IsOne, IsNaN, IsInfinite, IsFinite, IsNormal, IsSubnormal].map(|p| holds(p, code, IEEE));
        assert_eq!(found, expected, "{code:#x}");
    }
    let flushed: Format = "minifloat:k=8,p=4,bias=7,subnormals=flush".parse().expect("a format");
    assert!(
        Predicate::IsZero.holds(&flushed, 1, IEEE)
            && flushed.decode(1) == ZERO
            && flushed.decode(0x81) == ZERO.negated()
    );
    let names = [0xfe, 0xfc, 0xbc, 0x81, 0x80, 0x01, 0x3c, 0x7c].map(|code| class_name(&E5M2, code));
    let [nan, low, normal, tiny, zero, small, one, top] = names;
    assert_eq!((nan, zero), ("ClsNaN", "ClsZero"));
    assert_eq!((low, normal, tiny), ("ClsNegativeInfinity", "ClsNegativeNormal", "ClsNegativeSubnormal"));
    assert_eq!((small, one, top), ("ClsPositiveSubnormal", "ClsPositiveNormal", "ClsPositiveInfinity"));
}

#[test]
fn comparisons_raise_flags() {
    let of = |code| Operand::new(code, &E5M2);
    for (x, y, less, flags) in [
        (0x3c, 0x40, true, Flags::NONE),
        (0x40, 0x3c, false, Flags::NONE),
        (0x7e, 0x3c, false, Flags::INVALID),
        (0x3c, 0x7e, false, Flags::INVALID),
        (0x7e, 0x7e, false, Flags::INVALID),
        (0x01, 0x3c, true, Flags::DENORMAL),
        (0x3c, 0x01, false, Flags::DENORMAL),
    ] {
        let found = Comparison::Less.evaluate_with(of(x), of(y), FlagPolicy::TESLA);
        assert_eq!((found.value, found.flags), (less, flags), "{x:#x} {y:#x}");
        let found = Comparison::Less.evaluate(of(x), of(y));
        let ieee = flags.without(Flags::DENORMAL);
        assert_eq!((found.value, found.flags), (less, ieee), "{x:#x} {y:#x}");
    }
}

/// Tesla's operand clamp (paper, "Exceptions"): an operand beyond the numbers gives the largest
/// value, where the result has no infinity.
#[test]
fn operands_beyond_the_numbers_clamp() {
    let seven = Format::cfloat8_1_4_3(7).expect("a legal bias");
    let clamping = OperationOptions { operand_clamp: true, ..OperationOptions::IEEE };
    let one = Operand::new(0x3c00, &BINARY16);
    let sum = |operation: Operation, operands: &[Operand<'_>], to: &Format, arithmetic| {
        let found = operation.evaluate(operands, to, &to.default_projection(), arithmetic);
        (found.value, found.flags)
    };
    let overflow = Flags::OVERFLOW | Flags::INEXACT;
    for (code, expected, flags) in [
        (0x7c00, 0x7f, overflow),
        (0xfc00, 0xff, overflow),
        (0x7e00, 0x7f, Flags::INVALID),
        (0xfe00, 0x7f, Flags::INVALID),
        (0x4000, 0x44, Flags::NONE),
    ] {
        let x = Operand::new(code, &BINARY16);
        assert_eq!(sum(Operation::Add, &[x, one], &seven, clamping), (expected, flags), "{code:#x}");
        assert_eq!(sum(Operation::Add, &[one, x], &seven, clamping), (expected, flags), "{code:#x}");
    }
    // Negation touches a sign only, and a format with infinities keeps them.
    let infinity = Operand::new(0x7c00, &BINARY16);
    assert_eq!(sum(Operation::Add, &[infinity, one], &BINARY16, clamping), (0x7c00, Flags::NONE));
    let zero_over_infinity = sum(Operation::Divide, &[one, infinity], &seven, clamping);
    assert_eq!(zero_over_infinity, (0x7f, overflow));
    assert_eq!(sum(Operation::Divide, &[one, infinity], &seven, OperationOptions::IEEE), (0, Flags::NONE));
    assert_eq!(
        sum(Operation::Negate, &[Operand::new(0x7e00, &BINARY16)], &BINARY16, clamping).1,
        Flags::NONE
    );
    let nan = sum(Operation::Negate, &[Operand::new(0x7e00, &BINARY16)], &seven, OperationOptions::IEEE);
    assert_eq!(nan.1, Flags::INVALID);
}

/// The operations that need no numbers of any size are those that constants can use.
#[test]
fn basic_operations() {
    let basic: Vec<&str> = Operation::all().filter(|o| o.is_basic()).map(Operation::name).collect();
    for name in
        ["Add", "Subtract", "Multiply", "Divide", "FMA", "FAA", "Sqrt", "Recip", "Minimum", "Clamp", "Negate"]
    {
        assert!(basic.contains(&name), "{name} in {basic:?}");
    }
    for name in ["Exp", "Log", "Sin", "RSqrt", "Hypot"] {
        assert!(!basic.contains(&name), "{name}");
    }
}

#[test]
fn zero_changes_no_sum() {
    for row in CATALOGUE.iter().filter(|row| row.format.width() <= 8 && row.format.has_zero()) {
        let f = &row.format;
        for x in f.codes() {
            let sum = Operation::Add.evaluate(
                &[Operand::new(x, f), Operand::new(0, f)],
                f,
                &f.default_projection(),
                OperationOptions::default_for([f]),
            );
            if f.decode(x).is_finite() && !f.decode(x).is_zero() {
                assert_eq!(sum.value, x, "{} {x:#x}", row.name);
            }
        }
    }
}
