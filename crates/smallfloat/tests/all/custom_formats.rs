//! Types of formats of one's own, and slices of scalars, as another crate uses them.
#![allow(clippy::float_cmp, reason = "values are exact")]

use smallfloat::{
    Bf16, CFloat8_1_4_3, Dynamic, E2M1Fn, E4M3Fn, E5M2, F16, Flags, Format, Ordered, Parameters, Preset,
    ScalarSlice, Signedness, Specials, Subnormals,
};

const fn plain(width: u32, precision: u32, bias: i32) -> Parameters {
    Parameters {
        width,
        precision,
        bias,
        signedness: Signedness::Signed,
        specials: Specials::Finite,
        subnormals: Subnormals::Gradual,
    }
}

mod formats {
    smallfloat::define_format! {
        /// Seven bits, four of precision.
        pub(crate) type Seven(u8) = smallfloat::Format::minifloat(super::plain(7, 4, 3));
        /// The model of IEEE 754 in twelve bits.
        #[allow(dead_code, reason = "attributes go with the type")]
        pub(super) type Twelve(u16) = smallfloat::Format::ieee(12, 7);
    }
}
use formats::{Seven, Twelve};

smallfloat::define_format! {
    type SameAsE4m3fn(u8) = Ok(smallfloat::formats::E4M3FN);
    type Unsigned(u8) = Format::minifloat(Parameters { signedness: Signedness::Unsigned, ..plain(6, 3, 3) });
    type SmallInAHalfWord(u16) = Format::minifloat(plain(5, 2, 3));
}

/// Every code of seven bits: 2^(e − 3) · 1.m, or 2^−2 · 0.m where e is 0.
#[test]
fn values_are_those_of_the_formula() {
    for code in 0..128_u8 {
        let (sign, exponent, trailing) = (code >> 6, i32::from(code >> 3 & 7), f64::from(code & 7) / 8.0);
        let magnitude =
            if exponent == 0 { trailing / 4.0 } else { (1.0 + trailing) * 2_f64.powi(exponent - 3) };
        let expected = if sign == 1 { -magnitude } else { magnitude };
        let x = Seven::from_bits(code);
        assert_eq!(x.to_f64().to_bits(), expected.to_bits(), "{code:#x}");
        assert_eq!(Seven::from_f64(expected).to_bits(), code);
        assert_eq!(x.to_string().parse::<Seven>().map(Seven::to_bits), Ok(code));
    }
    assert_eq!((Seven::FORMAT.width(), Seven::MANTISSA_DIGITS), (7, 4));
    assert_eq!([Seven::MAX, Seven::MIN, Seven::MIN_POSITIVE].map(Seven::to_f32), [30.0, -30.0, 0.25]);
    assert_eq!([Seven::MIN_POSITIVE_SUBNORMAL, Seven::EPSILON].map(Seven::to_f32), [0.03125, 0.125]);
    assert_eq!(Twelve::INFINITY.to_f32(), f32::INFINITY);
    assert_eq!((Twelve::MAX_EXP, Twelve::MIN_EXP, Twelve::NAN.is_nan()), (16, -13, true));
}

/// What the built-in types have: operators, traits, conversions, flags.
#[test]
fn everything_a_scalar_has() {
    let [x, y] = [1.5, -2.25].map(Seven::from_f32);
    assert_eq!([x + y, x - y, x * y, y / x, -x].map(Seven::to_f32), [-0.75, 3.75, -3.5, -1.5, -1.5]);
    assert_eq!((y % x).to_f32(), -0.75);
    assert_eq!(x.mul_add(y, Seven::ONE).to_f32(), -2.5); // −2.375, a tie to even
    assert_eq!([x, y, Seven::ONE].iter().sum::<Seven>().to_f32(), 0.25);
    assert_eq!(x.convert::<E4M3Fn>().convert::<Seven>(), x);
    assert_eq!((Seven::default(), Seven::MAX + Seven::ONE), (Seven::ZERO, Seven::MAX));
    let rounded = Seven::from_f32_with(1000.0, &Preset::OcpSaturate.projection(&Seven::FORMAT));
    assert_eq!((rounded.value, rounded.flags), (Seven::MAX, Flags::OVERFLOW | Flags::INEXACT));
    assert_eq!(Dynamic::from(x).to_scalar::<Seven>(), Some(x));
    assert!(Ordered(y) < Ordered(x) && y < x);
    assert_eq!(Unsigned::from_f32(2.5).to_f32(), 2.5);
    assert_eq!(SmallInAHalfWord::from_bits(0xffff).to_bits(), 0x1f);
    let same: SameAsE4m3fn = SameAsE4m3fn::from_f32(0.3);
    assert_eq!((same.to_bits(), SameAsE4m3fn::FORMAT), (E4M3Fn::from_f32(0.3).to_bits(), E4M3Fn::FORMAT));
}

#[test]
fn slices_convert() {
    let values = [0.1, -1.0, 6.0, 1e9, -0.0];
    let mut codes = [E2M1Fn::ZERO; 5];
    codes.convert_from_f32_slice(&values);
    assert_eq!(codes.map(E2M1Fn::to_bits), [0x0, 0xa, 0x7, 0x7, 0x8]);
    codes.convert_from_f64_slice(&values.map(f64::from));
    assert_eq!(codes.to_f32_vec(), [0.0, -1.0, 6.0, 6.0, 0.0]);
    assert_eq!(codes.to_f64_vec()[4].to_bits(), (-0.0_f64).to_bits());
    let (mut narrow, mut wide) = ([1.0; 5], [1.0; 5]);
    codes.convert_to_f32_slice(&mut narrow);
    codes.convert_to_f64_slice(&mut wide);
    assert_eq!(narrow.map(f64::from), wide);
}

#[test]
#[should_panic(expected = "a slice of 2 scalars and one of 3 elements")]
fn slices_of_other_lengths() {
    [E5M2::ONE; 2].convert_from_f32_slice(&[0.0; 3]);
}

/// Exact in 100 bits, rounded once to each type.
#[test]
fn sums_and_products_round_once() {
    let big = Bf16::from_f32(2_f32.powi(100));
    let x = [big, Bf16::ONE, -big, Bf16::from_f32(2_f32.powi(-30))];
    // 1 + 2^−30 is a tie of no type: f32 rounds it to 1, f64 holds it.
    assert_eq!((x.exact_sum::<f32>(), x.exact_sum::<f64>()), (1.0, 1.0 + 2_f64.powi(-30)));
    assert_eq!(x.exact_sum::<F16>(), F16::ONE);
    let y = [F16::from_f32(1.5); 4];
    assert_eq!(x.exact_dot::<f64, _>(&y), 1.5 + 1.5 * 2_f64.powi(-30));
    // 11/8 · 3/2 = 2.0625, and the type's steps there are 0.25.
    let a = [CFloat8_1_4_3::<7>::from_f32(1.375)];
    assert_eq!(a.exact_dot::<Seven, _>(&[Seven::from_f32(1.5)]).to_f32(), 2.0);
    let none: [E4M3Fn; 0] = [];
    assert_eq!(none.exact_sum::<f32>().to_bits(), 0);
    let [nan, infinite] = [E5M2::NAN, E5M2::INFINITY];
    assert!([nan, infinite].exact_sum::<f32>().is_nan());
    assert_eq!([infinite].exact_dot::<f32, _>(&[-E5M2::ONE]), f32::NEG_INFINITY);
}
