//! Mistakes that other crates and libraries shipped, each named after where it happened.
#![allow(clippy::float_cmp, reason = "values are exact")]

use smallfloat::{
    Bf16, Binary8p3se, CFloat8_1_4_3, E2M1Fn, E4M3B11Fnuz, E4M3Fn, E4M3Fnuz, E5M2, E5M2Fnuz, E8M0Fnu, F16,
    Flags, Preset, Rounding, SmallFloat,
};

/// half-rs #116, #145, #151 and half 2.7.1: `from_f64` rounded to `f32` first.
#[test]
fn half_rs_116_from_f64_rounds_once() {
    const CONSTANT: F16 = F16::from_f64(1.0 + 0.000_488_281_25 + 9.094_947_017_729_282e-13);
    let above_tie = |exponent| 1.0 + 2_f64.powi(-11) + 2_f64.powi(exponent);
    assert_eq!(F16::from_f64(above_tie(-22)).to_bits(), 0x3c01);
    assert_eq!(F16::from_f64(above_tie(-40)).to_bits(), 0x3c01);
    assert_eq!(CONSTANT.to_bits(), 0x3c01);
    assert_eq!(F16::from_f64(1.0 + 2_f64.powi(-11)).to_bits(), 0x3c00); // the tie itself
}

/// half's parser goes through `f32`: text above a tie by less than half an ulp of `f32`.
#[cfg(feature = "alloc")]
#[test]
fn half_rs_parsing_rounds_once() {
    let x: F16 = "1.00048828125090949470177292823791504".parse().expect("a number");
    assert_eq!(x.to_bits(), 0x3c01);
}

/// triton #2583, #10846: `f32` to 8 bits by way of binary16.
#[test]
fn triton_2583_f32_to_e4m3fn_rounds_once() {
    for (x, expected) in [(400.199_585, 416.0), (272.156_555, 288.0), (136.002_075, 144.0)] {
        assert_eq!(E4M3Fn::from_f64(x).to_f32(), expected);
    }
}

/// onnxruntime #16938, onnx #5456; bitstring #342: truncation.
#[test]
fn onnx_5456_rounds_to_nearest() {
    assert_eq!(E4M3Fn::from_f32(1.813_160_5).to_f32(), 1.875);
    assert_eq!(E4M3Fn::from_f32(232.036_8).to_f32(), 240.0);
}

/// tt-metal #51971.
#[test]
fn tt_metal_51971_e2m1_above_a_tie() {
    assert_eq!(E2M1Fn::from_f32(0.250_000_06).to_f32(), 0.5);
    assert_eq!(E2M1Fn::from_f32(0.25).to_f32(), 0.0);
}

/// gfloat #49.
#[test]
fn gfloat_49_bf16_rounds_to_nearest() {
    let x = 6.646_139_978_924_576e35;
    let y = Bf16::from_f64(x);
    let [below, above] = [y.next_down(), y.next_up()].map(|z| (z.to_f64() - x).abs());
    assert!((y.to_f64() - x).abs() <= below.min(above));
}

/// onnx #5764, onnxruntime #18473, xla #17487: 0x80 is NaN in these formats.
#[test]
fn onnx_5764_fnuz_has_no_negative_zero() {
    for x in [-1e-5, -1e-7, -0.0] {
        assert_eq!(E4M3Fnuz::from_f32(x).to_bits(), 0x00);
        assert_eq!(E4M3B11Fnuz::from_f32(x).to_bits(), 0x00);
        assert_eq!(E5M2Fnuz::from_f32(x * 1e-3).to_bits(), 0x00);
    }
    assert_eq!((-E4M3Fnuz::ZERO).to_bits(), 0x00);
    assert_eq!((E4M3Fnuz::ZERO * E4M3Fnuz::NEG_ONE).to_bits(), 0x00);
}

/// triton #10745; torch-xpu-ops #2951; Float8s.jl #23.
#[test]
fn triton_10745_codes_of_nan_and_negative_zero() {
    assert!(E4M3Fnuz::from_bits(0x80).is_nan() && !E4M3Fnuz::from_bits(0x80).is_sign_negative());
    assert_eq!(E4M3Fn::from_f32(-0.0).to_bits(), 0x80);
    assert!(E4M3Fn::from_bits(0xff).is_nan() && E4M3Fn::from_bits(0x7f).is_nan());
}

/// pytorch ao #1912, #178817.
#[test]
fn ao_1912_overflow_is_a_policy() {
    let saturate = Preset::OcpSaturate.projection(&E4M3Fn::FORMAT);
    let above_tie = f32::from_bits(464.0_f32.to_bits() + 1);
    assert_eq!(E4M3Fn::from_f32(464.0).to_f32(), 448.0); // a tie, to even
    assert!(E4M3Fn::from_f32(above_tie).is_nan());
    let clamped = E4M3Fn::from_f32_with(above_tie, &saturate);
    assert_eq!((clamped.value, clamped.flags), (E4M3Fn::MAX, Flags::OVERFLOW | Flags::INEXACT));
    // Spike #2284: toward zero nothing overflows.
    let toward_zero = E4M3Fn::FORMAT.default_projection().with_rounding(Rounding::TowardZero);
    assert_eq!(E4M3Fn::from_f64_with(1e30, &toward_zero).value.to_bits(), 0x7e);
}

/// float8 0.7.0: infinities become ±max in E5M2 too, and its constants are wrong.
#[test]
fn float8_0_7_infinities_and_constants() {
    assert_eq!(E5M2::from_f32(f32::INFINITY), E5M2::INFINITY);
    assert_eq!(E5M2::from_f32(f32::NEG_INFINITY).to_bits(), 0xfc);
    assert_eq!((E5M2::INFINITY.to_bits(), E5M2::NAN.to_bits()), (0x7c, 0x7e));
    assert_eq!((E5M2::MAX.to_f32(), E5M2::MIN.to_f32()), (57344.0, -57344.0));
    assert_eq!((E4M3Fn::MAX.to_f32(), E4M3Fn::MIN.to_f32()), (448.0, -448.0));
    assert_eq!((E4M3Fn::EPSILON.to_f32(), E5M2::EPSILON.to_f32()), (0.125, 0.25));
    assert_eq!(E4M3Fn::MIN_POSITIVE.to_f32(), 2_f32.powi(-6));
    assert_eq!(E4M3Fn::MIN_POSITIVE_SUBNORMAL.to_f32(), 2_f32.powi(-9));
    assert_eq!(E5M2::MIN_POSITIVE.to_f32(), 2_f32.powi(-14));
    assert_eq!(E5M2::MIN_POSITIVE_SUBNORMAL.to_f32(), 2_f32.powi(-16));
    assert_eq!(E4M3Fn::MAX_SUBNORMAL.to_f32(), 7.0 * 2_f32.powi(-9));
    assert!(!E5M2::INFINITY.is_nan() && E5M2::INFINITY.is_infinite() && !E5M2::NAN.is_infinite());
}

/// The constants of the wide types are those of `half` 2.7 and of `f32`'s definitions.
#[test]
fn constants_have_the_definitions_of_f32() {
    assert_eq!(
        (F16::MAX_EXP, F16::MIN_EXP, F16::MAX_10_EXP, F16::MIN_10_EXP, F16::DIGITS),
        (16, -13, 4, -4, 3)
    );
    assert_eq!(
        (Bf16::MAX_EXP, Bf16::MIN_EXP, Bf16::MAX_10_EXP, Bf16::MIN_10_EXP, Bf16::DIGITS),
        (128, -125, 38, -37, 2)
    );
    assert_eq!((F16::MANTISSA_DIGITS, Bf16::MANTISSA_DIGITS, E4M3Fn::MANTISSA_DIGITS), (11, 8, 4));
    assert_eq!((F16::EPSILON.to_bits(), Bf16::EPSILON.to_bits()), (0x1400, 0x3c00));
    assert_eq!(
        (F16::MAX.to_bits(), F16::MIN_POSITIVE.to_bits(), F16::MIN_POSITIVE_SUBNORMAL.to_bits()),
        (0x7bff, 0x400, 1)
    );
    assert_eq!((CFloat8_1_4_3::<7>::MAX.to_f32(), CFloat8_1_4_3::<11>::MAX.to_f32()), (480.0, 30.0));
    assert_eq!(CFloat8_1_4_3::<7>::MIN_POSITIVE_SUBNORMAL.to_f32(), 2_f32.powi(-10));
}

/// ml_dtypes 0.6.0 rounds the lowest sources of E8M0 up; LLVM #214919, #215445: its NaN and zero.
#[test]
fn ml_dtypes_223_e8m0_from_subnormal_sources() {
    assert_eq!(E8M0Fnu::from_f32(f32::from_bits(0x0040_0001)).to_bits(), 0x00);
    assert!(E8M0Fnu::from_bits(0xff).is_nan() && E8M0Fnu::from_bits(0xff).to_f32().is_nan());
    assert!(E8M0Fnu::from_f32(0.0).is_nan() && E8M0Fnu::from_f32(-1.0).is_nan());
    assert_eq!(E8M0Fnu::from_f32(3.0).to_f32(), 4.0); // its tie, away from zero
}

/// triton #11610, LLVM #63895: a product rounded before the sum.
#[test]
fn llvm_63895_fma_rounds_once() {
    // (1 + 3·2^−10)² − 1 = 6153·2^−20: binary16 has 6152·2^−20, the rounded product leaves
    // 6144·2^−20.
    let x = F16::from_f32(1.0 + 3.0 / 1024.0);
    assert_eq!((x * x - F16::ONE).to_f64() * 1_048_576.0, 6144.0);
    assert_eq!(x.mul_add(x, F16::NEG_ONE).to_f64() * 1_048_576.0, 6152.0);
}

/// Comparisons are of values, not of bits.
#[test]
fn comparisons_are_by_value() {
    assert_ne!(E5M2::NAN, E5M2::NAN);
    assert_eq!(E5M2::NEG_ZERO, E5M2::ZERO);
    assert!(E5M2::NEG_ONE < E5M2::ZERO && E5M2::NEG_INFINITY < E5M2::MIN);
    assert!(E5M2::ZERO.max(E5M2::NAN) == E5M2::ZERO && E5M2::ZERO.maximum(E5M2::NAN).is_nan());
    assert_eq!(E5M2::ZERO.max(E5M2::NEG_ZERO).to_bits(), 0x00);
}

/// IEEE 754, section 5.5.1: negation, abs and copysign are of the sign bit, NaN included, and
/// canonicalise nothing.
#[test]
fn signs_of_nan_are_bits() {
    let nan = E4M3Fn::from_bits(0x7f);
    assert_eq!(((-nan).to_bits(), nan.copysign(E4M3Fn::NEG_ONE).to_bits()), (0xff, 0xff));
    assert_eq!((E5M2::from_bits(0xfd).abs().to_bits(), E5M2::from_bits(0x7d).is_nan()), (0x7d, true));
    assert_eq!((-Binary8p3se::NAN).to_bits(), Binary8p3se::NAN.to_bits());
}

/// xla #17324 and many others: the last code below and above each value.
#[test]
fn conversions_are_nearest_around_every_midpoint() {
    fn check<T: SmallFloat>() {
        for x in (0..T::FORMAT.max_code()).map(T::from_code) {
            let y = T::from_code(x.code() + 1);
            let (a, b) = (x.to_f32(), y.to_f32());
            if !(a.is_finite() && b.is_finite()) || a == b || a.is_sign_negative() != b.is_sign_negative() {
                continue;
            }
            // Midpoints of small floats are exact in f32, and their magnitudes rise with the code.
            let middle = f32::midpoint(a, b);
            let [toward_x, toward_y] = [middle.to_bits() - 1, middle.to_bits() + 1].map(f32::from_bits);
            assert_eq!(
                (T::from_f32(toward_x).code(), T::from_f32(toward_y).code()),
                (x.code(), y.code()),
                "{x:?}"
            );
            assert_eq!(T::from_f32(middle).code() % 2, 0, "the tie of {x:?} and {y:?}");
        }
    }
    check::<E4M3Fn>();
    check::<E5M2>();
    check::<E4M3Fnuz>();
    check::<CFloat8_1_4_3<30>>();
    check::<Binary8p3se>();
    check::<F16>();
}
