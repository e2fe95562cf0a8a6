//! What scalars say of themselves and how they print, with values typed in; scalars of a format
//! known at run time, and ordered ones.
#![allow(clippy::float_cmp, reason = "values are exact")]

use std::collections::{BTreeSet, HashSet};
use std::num::FpCategory::{Infinite, Nan, Normal, Subnormal, Zero};

use smallfloat::formats::{BINARY16, BINARY64, E4M3FN, E5M2 as E5M2_FORMAT};
use smallfloat::ops::Operation;
use smallfloat::{
    Bf16, CFloat8_1_4_3, CFloat8_1_5_2, Datum, Dynamic, E2M1Fn, E2M3Fn, E4M3B11Fnuz, E4M3Fn, E5M2, E8M0Fnu,
    F16, Flags, Format, Ordered, Projection, Rounded, Rounding, SmallFloat,
};

macro_rules! constants {
    ($($type:ty: $digits:literal $min_10:literal $max_10:literal $exponents:expr;)*) => {
        $(
            let name = stringify!($type);
            assert_eq!((<$type>::DIGITS, <$type>::MIN_10_EXP, <$type>::MAX_10_EXP), ($digits, $min_10, $max_10), "{name}");
            assert_eq!((<$type>::MIN_EXP, <$type>::MAX_EXP), $exponents, "{name}");
        )*
    };
}

/// The names mean what they mean for `f32`, with whose range bfloat16 has its exponents in common.
#[test]
fn constants_are_those_of_their_definitions() {
    constants! {
        F16: 3 -4 4 (-13, 16);
        Bf16: 2 -37 38 (-125, 128);
        E4M3Fn: 0 -1 2 (-5, 9);
        E5M2: 0 -4 4 (-13, 16);
        E2M1Fn: 0 0 0 (1, 3);
        E2M3Fn: 0 0 0 (1, 3);
        E4M3B11Fnuz: 0 -3 1 (-9, 5);
        E8M0Fnu: 0 -38 38 (-126, 128);
        CFloat8_1_4_3<0>: 0 1 4 (2, 16);
        CFloat8_1_4_3<1>: 0 0 4 (1, 15);
        CFloat8_1_4_3<15>: 0 -4 0 (-13, 1);
        CFloat8_1_4_3<16>: 0 -4 -1 (-14, 0);
        CFloat8_1_4_3<20>: 0 -5 -2 (-18, -4);
        CFloat8_1_4_3<63>: 0 -18 -15 (-61, -47);
        CFloat8_1_5_2<0>: 0 1 9 (2, 32);
    }
    assert_eq!(
        (Bf16::MIN_10_EXP, Bf16::MAX_10_EXP, Bf16::MIN_EXP, Bf16::MAX_EXP),
        (f32::MIN_10_EXP, f32::MAX_10_EXP, f32::MIN_EXP, f32::MAX_EXP)
    );
    assert_eq!((F16::EPSILON.to_f64(), Bf16::EPSILON.to_f64()), (2_f64.powi(-10), 2_f64.powi(-7)));
    assert_eq!(
        (E5M2::EPSILON.to_f64(), E4M3Fn::EPSILON.to_f64(), E8M0Fnu::EPSILON.to_f64()),
        (0.25, 0.125, 1.0)
    );
    assert_eq!(
        (E4M3Fn::MAX.to_f32(), E4M3Fn::MIN.to_f32(), E4M3Fn::MIN_POSITIVE.to_f32()),
        (448.0, -448.0, 0.015_625)
    );
    assert_eq!(
        (E4M3Fn::ONE.to_bits(), E4M3Fn::NAN.to_bits(), E5M2::NEG_INFINITY.to_bits()),
        (0x38, 0x7f, 0xfc)
    );
    assert_eq!((Bf16::MANTISSA_DIGITS, E5M2::RADIX), (8, 2));
}

/// Codes of 8 bits read from a table, of other widths not.
#[test]
fn values_of_codes() {
    for (code, value) in
        [(0x00, 0.0), (0x01, 0.001_953_125), (0x38, 1.0), (0x7e, 448.0), (0xfe, -448.0), (0xb9, -1.125)]
    {
        assert_eq!(E4M3Fn::from_bits(code).to_f32(), value);
    }
    for (code, value) in [(0, 0.0), (1, 0.5), (7, 6.0), (8, -0.0), (9, -0.5), (15, -6.0)] {
        assert_eq!(E2M1Fn::from_bits(code).to_f32().to_bits(), f32::to_bits(value));
    }
    assert_eq!((F16::from_bits(0x3c01).to_f32(), Bf16::from_bits(0xc040).to_f32()), (1.000_976_6, -3.0));
}

#[test]
fn scalars_print_as_floats_do() {
    let x = E5M2::from_f32(0.3);
    assert_eq!(
        (format!("{x}"), format!("{x:.4}"), format!("{x:e}"), format!("{x:.2E}")),
        four("0.3125", "0.3125", "3.125e-1", "3.12E-1")
    );
    assert_eq!(
        (format!("{x:8}|"), format!("{x:+}"), format!("{:08}", -x), format!("{x:#x}")),
        four("  0.3125|", "+0.3125", "-00.3125", "0x35")
    );
    let [nan, infinity] = [E5M2::NAN, E5M2::NEG_INFINITY];
    assert_eq!(
        (format!("{nan}"), format!("{infinity}"), format!("{nan:.1}"), format!("{infinity:E}")),
        four("NaN", "-inf", "NaN", "-inf")
    );
    assert_eq!(
        (
            format!("{:e}", E5M2::ZERO),
            format!("{:?}", -E5M2::ZERO),
            format!("{x:b}"),
            format!("{:E}", E5M2::MAX)
        ),
        four("0e0", "-0.0", "110101", "5.7344E4")
    );
}

fn four(a: &str, b: &str, c: &str, d: &str) -> (String, String, String, String) {
    (a.into(), b.into(), c.into(), d.into())
}

/// In constants and at run time: towards +∞, with flags.
#[test]
fn operations_by_a_projection() {
    const UP: Projection = E5M2_FORMAT.default_projection().with_rounding(Rounding::TowardPositive);
    const SUM: Rounded<E5M2> = E5M2::ONE.add_with(E5M2::EPSILON, &UP);
    assert_eq!((SUM.value.to_f32(), SUM.flags), (1.25, Flags::NONE));
    let [three, x] = [3.0, 1.25].map(E5M2::from_f32);
    for (found, value, flags) in [
        (three.add_with(x, &UP), 5.0, Flags::INEXACT),
        (three.sub_with(x, &UP), 1.75, Flags::NONE),
        (three.mul_with(x, &UP), 4.0, Flags::INEXACT),
        (three.div_with(x, &UP), 2.5, Flags::INEXACT),
        (three.mul_add_with(x, -three, &UP), 0.75, Flags::NONE),
        (three.sqrt_with(&UP), 1.75, Flags::INEXACT),
        (three.div_with(E5M2::ZERO, &UP), f32::INFINITY, Flags::DIVISION_BY_ZERO),
    ] {
        assert_eq!((found.value.to_f32(), found.flags), (value, flags));
    }
}

#[test]
fn dot_products_are_exact() {
    let [big, one, tiny] = [57_344.0, 1.0, 1.525_878_9e-5].map(E5M2::from_f32);
    let infinity = E5M2::INFINITY;
    assert_eq!(E5M2::dot([(big, big), (one, one), (big, -big)]), one);
    assert_eq!(E5M2::dot([(tiny, tiny), (one, -one), (one, one)]).to_bits(), 0);
    // −1 and the smallest product above it: rounded once, from a sum of 34 bits.
    assert_eq!(E5M2::dot([(tiny, tiny), (one, -one)]), -one);
    assert_eq!(E5M2::dot([(big, big), (big, big), (-big, big)]), infinity);
    assert_eq!(E5M2::dot([(one, -infinity), (one, one)]), -infinity);
    assert_eq!(E5M2::dot([(one, infinity), (big, big)]), infinity);
    assert!(E5M2::dot([(one, infinity), (one, -infinity)]).is_nan());
    assert!(E5M2::dot([(E5M2::ZERO, infinity)]).is_nan() && E5M2::dot([(E5M2::NAN, one)]).is_nan());
    let negative_zero = -E5M2::ZERO;
    assert_eq!(E5M2::dot([(negative_zero, one), (E5M2::ZERO, -one)]).to_bits(), 0x80);
    assert_eq!(E5M2::dot([(negative_zero, one), (E5M2::ZERO, one)]).to_bits(), 0);
    assert_eq!(E5M2::dot([]).to_bits(), 0);
    // All of bfloat16's range: the smallest product is 2^-266, the largest nearly 2^256.
    let smallest = Bf16::from_bits(1);
    assert_eq!(
        Bf16::dot([(Bf16::MAX, Bf16::MAX), (smallest, smallest), (Bf16::MAX, -Bf16::MAX)]).to_bits(),
        0
    );
    let root = Bf16::from_f64(2_f64.powi(-60));
    assert_eq!(
        Bf16::dot([(root, root), (Bf16::MAX, Bf16::ONE), (-Bf16::ONE, Bf16::MAX)]).to_f64(),
        2_f64.powi(-120)
    );
    assert_eq!(Bf16::dot([(root, -root), (root, -root)]).to_f64(), -(2_f64.powi(-119)));
}

#[test]
fn dynamic_scalars_know_their_format() {
    let seven = Format::cfloat8_1_4_3(7).expect("a legal bias");
    let x = Dynamic::from_f32(-3.3, seven);
    assert_eq!((x.to_bits(), x.to_f32(), x.to_f64()), (0xc5, -3.25, -3.25));
    assert_eq!((x.format(), x.to_datum()), (seven, Datum::finite(true, 13, -2)));
    assert_eq!(
        (Dynamic::from_bits(0x1c5, seven).to_bits(), Dynamic::from_bits(0xffff, E4M3FN).to_bits()),
        (0xc5, 0xff)
    );
    assert_eq!(Dynamic::try_from_bits(0xc5, seven).ok(), Some(x));
    assert!(Dynamic::try_from_bits(0x1c5, seven).is_err());
    assert_eq!(Dynamic::from_datum(Datum::finite(true, 13, -2), seven).map(Dynamic::to_bits), Some(0xc5));
    assert!(Dynamic::from_datum(Datum::finite(true, 27, -3), seven).is_none());
    assert_eq!((x.abs().to_bits(), (-x).to_bits(), (-x).format()), (0x45, 0x45, seven));
    assert_eq!(x.abs().format(), seven);
    let sum = [x + x, x - x, x * x, x / x, x % Dynamic::from_f32(2.0, seven)].map(Dynamic::to_f64);
    // 10.5625 lies nearest to 11 of 10, 11, 12.
    assert_eq!(sum, [-6.5, 0.0, 11.0, 1.0, -1.25]);
    assert_eq!((x.mul_add(x, x).to_f64(), Dynamic::from_f32(9.0, seven).sqrt().to_f64()), (7.5, 3.0));
    let wide = x.convert(BINARY64);
    assert_eq!((wide.to_bits(), wide == x, wide.to_scalar::<F16>()), ((-3.25_f64).to_bits(), true, None));
    let half = x.convert_with(BINARY16, &BINARY16.default_projection());
    assert_eq!((half.value.to_scalar::<F16>().map(F16::to_bits), half.flags), (Some(0xc280), Flags::NONE));
    assert_eq!(Dynamic::from(F16::from_bits(0xc280)), x);
    let down = seven.default_projection().with_rounding(Rounding::TowardNegative);
    let rounded = Dynamic::from_f64_with(-3.3, seven, &down);
    assert_eq!((rounded.value.to_f32(), rounded.flags), (-3.5, Flags::INEXACT));
    assert_eq!(Dynamic::from_text("-3.3", seven).map(Dynamic::to_bits), Ok(0xc5));
    assert!(Dynamic::from_text("three", seven).is_err());
    assert_eq!(
        (format!("{x}"), format!("{x:e}"), format!("{x:E}"), format!("{x:x}")),
        four("-3.25", "-3.25e0", "-3.25E0", "c5")
    );
    assert_eq!(format!("{x:?}"), "Dynamic(0xc5, cfloat8_1_4_3:bias=7, -3.25)");
}

#[test]
fn dynamic_scalars_compare_by_value() {
    let of = |code| Dynamic::from_bits(code, E5M2_FORMAT);
    let [nan, infinity, one, zero] = [of(0x7e), of(0x7c), of(0x3c), of(0x80)];
    assert_eq!([nan, infinity, one, zero].map(Dynamic::is_nan), [true, false, false, false]);
    assert_eq!([nan, infinity, one, zero].map(Dynamic::is_finite), [false, false, true, true]);
    let classes = [nan, infinity, one, zero, of(1)].map(Dynamic::classify);
    assert_eq!(classes, [Nan, Infinite, Normal, Zero, Subnormal]);
    assert!(zero < one && infinity > one && zero == of(0) && nan != nan && one != zero);
    assert!(nan.partial_cmp(&one).is_none() && one == Dynamic::from_f32(1.0, E4M3FN));
}

#[test]
#[should_panic(expected = "operands of e4m3fn and e5m2: convert one")]
fn dynamic_scalars_of_two_formats_do_not_add() {
    let _ = Dynamic::from_f32(1.0, E4M3FN) + Dynamic::from_f32(1.0, E5M2_FORMAT);
}

#[test]
#[should_panic(expected = "Sqrt takes 1 operand, 2 given")]
fn scalars_are_as_many_as_the_operation_takes() {
    let how = E5M2_FORMAT.default_projection();
    let _ = E5M2::evaluate(Operation::Sqrt, &[E5M2::ONE, E5M2::ONE], &how);
}

#[test]
#[should_panic(expected = "Add takes 2 operands, 4 given")]
fn dynamic_scalars_are_as_many_as_the_operation_takes() {
    let one = Dynamic::from_f32(1.0, E5M2_FORMAT);
    let _ = Dynamic::evaluate(Operation::Add, &[one; 4], E5M2_FORMAT, &E5M2_FORMAT.default_projection());
}

#[test]
fn ordered_scalars_are_their_codes() {
    let [nan, zero, negative_zero, one] = [E5M2::NAN, E5M2::ZERO, -E5M2::ZERO, E5M2::ONE].map(Ordered);
    assert!(nan == nan && zero != negative_zero && zero == Ordered::from(E5M2::ZERO));
    assert!(negative_zero < zero && zero < one && one < nan && zero.partial_cmp(&nan).is_some());
    let sorted: Vec<_> =
        BTreeSet::from([nan, one, zero, negative_zero, one]).iter().map(|x| x.0.to_bits()).collect();
    assert_eq!(sorted, [0x80, 0, 0x3c, E5M2::NAN.to_bits()]);
    assert_eq!(HashSet::from([nan, one, zero, negative_zero, one, nan]).len(), 4);
    assert_eq!(
        (format!("{one}"), format!("{:?}", Ordered(E5M2::from_f32(0.3)))),
        ("1".into(), "0.3125".into())
    );
    // Codes spread over hashes: a table of all codes has no two of one hash.
    let state = std::hash::RandomState::new();
    let hashes: HashSet<u64> = (0..=255)
        .map(|code| std::hash::BuildHasher::hash_one(&state, Ordered(E4M3Fn::from_bits(code))))
        .collect();
    assert_eq!(hashes.len(), 256);
}

#[test]
fn uniform_words_round_down() {
    assert_eq!(E5M2::from_uniform_bits(u64::MAX).to_f32(), 0.875);
    assert_eq!(E5M2::from_uniform_bits(1 << 63).to_f32(), 0.5);
    assert_eq!(E5M2::from_uniform_bits(0).to_bits(), 0);
    assert_eq!(E8M0Fnu::from_uniform_bits(0).to_bits(), 0);
    assert_eq!(E8M0Fnu::from_uniform_bits(3 << 61).to_f64(), 0.25);
}
