//! The rules against their definitions by exact comparisons, and the division against the core's.

use smallfloat::RandomBits;
use smallfloat::formats::{BFLOAT16, BINARY16, BINARY64, E2M1FN, E2M3FN, E3M2FN, E4M3FN, E5M2};
use smallfloat::ops::{Operand, Operation, OperationOptions};

use super::*;

const MX: [Format; 5] = [E4M3FN, E5M2, E3M2FN, E2M3FN, E2M1FN];

fn spec(format: Format, rule: ScaleRule) -> ScaleSpec {
    ScaleSpec { format, rule, global: None }
}

fn exponent_of(rule: ScaleRule, element: &Format, amax: f64) -> i32 {
    let extent = Extent::of(&[amax, -amax / 2.0, 0.0]);
    let scale = spec(E8M0FNU, rule).choose(&ScaledElement::new(element), &extent, 1.0);
    assert_eq!(scale.value.to_bits(), power(i32::try_from(scale.code).unwrap() - 127).to_bits());
    i32::try_from(scale.code).unwrap() - 127
}

/// Every exponent of F32 with every significand that matters to any rule, and the neighbours of
/// each.
#[test]
fn power_of_two_rules_are_what_they_say() {
    for element in MX {
        let max = magnitude(&element);
        let top = power(element.max_finite().exponent_of_leading_bit());
        // Half a unit of the element's last place below a power of two.
        let nearly = 1.0 - power(-1 - element.precision().cast_signed());
        for exponent in -149..=127 {
            for sixteenths in 16..32_i32 {
                let amax = f64::from(sixteenths) * power(exponent - 4);
                for amax in [amax, f64::from_bits(amax.to_bits() - 1), f64::from_bits(amax.to_bits() + 1)] {
                    let least =
                        |holds: &dyn Fn(f64) -> bool| (-127..=127).find(|&e| holds(power(e))).unwrap_or(127);
                    let most = |holds: &dyn Fn(f64) -> bool| {
                        (-127..=127).rev().find(|&e| holds(power(e))).unwrap_or(-127)
                    };
                    let expected = [
                        (ScaleRule::Floor, most(&|s| s * top <= amax)),
                        (ScaleRule::Ceil, least(&|s| s * top >= amax)),
                        (ScaleRule::Even, most(&|s| s * top * nearly <= amax)),
                        (ScaleRule::Rceil, least(&|s| s * max >= amax)),
                    ];
                    for (rule, expected) in expected {
                        assert_eq!(exponent_of(rule, &element, amax), expected, "{rule} {element} {amax:e}");
                    }
                }
            }
        }
    }
}

#[test]
fn zeros_ends_and_specials() {
    let choose = |spec: ScaleSpec, element: &Format, values: &[f64]| {
        spec.choose(&ScaledElement::new(element), &Extent::of(values), 1.0)
    };
    let floor = spec(E8M0FNU, ScaleRule::Floor);
    assert_eq!(choose(floor, &E4M3FN, &[0.0, -0.0]).code, 0);
    assert_eq!(choose(floor, &E4M3FN, &[1e300]).code, 254);
    assert_eq!(choose(floor, &E4M3FN, &[5e-324]).code, 0);
    // FP8 elements say NaN themselves; FP4 and FP6 leave it to the scale.
    assert_eq!(choose(floor, &E4M3FN, &[f64::NAN, 256.0]).code, 127);
    assert_eq!(choose(floor, &E2M1FN, &[f64::NAN, 256.0]).code, 255);
    assert_eq!(choose(floor, &E2M1FN, &[f64::INFINITY, 256.0]).code, 255);
    let amax = spec(BINARY32, ScaleRule::Amax);
    assert_eq!(choose(amax, &E4M3FN, &[0.0]).value.to_bits(), 1_f64.to_bits());
    assert_eq!(choose(amax, &E4M3FN, &[1e-40]).value.to_bits(), f64::from(f32::MIN_POSITIVE).to_bits());
    assert_eq!(choose(amax, &E4M3FN, &[1e300]).value.to_bits(), f64::from(f32::MAX).to_bits());
    // 1 / 448 in binary32 is 0x3b124925, in bfloat16 0x3b12.
    assert_eq!(choose(amax, &E4M3FN, &[1.0]).code, 0x3b12_4925);
    assert_eq!(choose(spec(BFLOAT16, ScaleRule::Amax), &E4M3FN, &[1.0]).code, 0x3b12);
}

#[test]
fn the_divisor_of_nvfp4_is_the_largest_power_of_two_in_range() {
    let nvfp4 = ScaleSpec { format: E4M3FN, rule: ScaleRule::Amax, global: Some(GlobalScale::PowerOfTwo) };
    // 448 · 6 = 2688 = 1.3125 · 2^11.
    for (amax, expected) in
        [(2688.0, 1.0), (2688.5, 0.5), (1344.0, 2.0), (1.0, 2048.0), (1.5, 1024.0), (0.0, 1.0)]
    {
        assert_eq!(nvfp4.global_of(&E2M1FN, amax).to_bits(), f64::to_bits(expected), "{amax}");
    }
    let scale = nvfp4.choose(&ScaledElement::new(&E2M1FN), &Extent::of(&[1.0]), 2048.0);
    // 2048 / 6 = 341.3 is 352 in E4M3: 1.375 · 2^8, code 0x7b.
    assert_eq!((scale.code, scale.value.to_bits()), (0x7b, (352.0_f64 / 2048.0).to_bits()));
}

#[test]
fn the_divisor_of_nvidia_s_recipe() {
    let nvfp4 = ScaleSpec { format: E4M3FN, rule: ScaleRule::Amax, global: Some(GlobalScale::Amax) };
    // 2688 / amax; 2688 / 0.7 = 3840, but 0.7 in binary32 is 0x3f333333 = 11744051 · 2^−24, and
    // 2688 · 2^24 / 11744051 = 3840.0000654, which is 3840 there; 2688 / 5 = 537.6 is 0x44066666
    // (537.599976).
    for (amax, expected) in [
        (2688.0, 1.0_f32),
        (1344.0, 2.0),
        (f64::from(0.7_f32), 3840.0),
        (5.0, f32::from_bits(0x4406_6666)),
        (0.0, 1.0),
        (1e-300, f32::MAX),
        (1e300, f32::MIN_POSITIVE),
    ] {
        assert_eq!(nvfp4.global_of(&E2M1FN, amax).to_bits(), f64::from(expected).to_bits(), "{amax}");
    }
    // The block of the largest magnitude gets 448, code 0x7e; half of that magnitude gets 224, code
    // 0x76.
    let global = nvfp4.global_of(&E2M1FN, 5.0);
    let scale = nvfp4.choose(&ScaledElement::new(&E2M1FN), &Extent::of(&[-5.0, 1.0]), global);
    assert_eq!(
        (scale.code, nvfp4.choose(&ScaledElement::new(&E2M1FN), &Extent::of(&[2.5]), global).code),
        (0x7e, 0x76)
    );
}

/// x · global / unit against every place of rounding to E2M1: the middles 0.25, 0.75, 1.25, … as
/// exact products.
#[test]
#[expect(clippy::cast_precision_loss, reason = "a small number")]
fn quotients_by_a_divided_scale_are_on_the_right_side() {
    let mut state = 11;
    let nvfp4 = ScaleSpec { format: E4M3FN, rule: ScaleRule::Amax, global: Some(GlobalScale::Amax) };
    let exact = |x: f64| {
        let Datum::Finite { negative: false, significand, exponent } =
            smallfloat::formats::BINARY64.decode(x.to_bits())
        else {
            panic!("{x}")
        };
        num_bigint::BigUint::from(significand) << (exponent + 1074).unsigned_abs()
    };
    let mut close = 0;
    for _ in 0..200_000 {
        let global =
            nvfp4.global_of(&E2M1FN, (1.0 + (next(&mut state) % 1_000_003) as f64 / 1e6) * power(-3));
        let scale = nvfp4.stored(next(&mut state) % 0x77 + 8, global);
        for place in [0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0] {
            // At the place in exact arithmetic, but for the last bits of x.
            let x = f64::from_bits((place * scale.unit / global).to_bits() + next(&mut state) % 3 - 1);
            let q = Divisor::of(&scale).apply(x);
            // x · global against place · unit, both in units of 2^−2148.
            let side = (exact(x) * exact(global)).cmp(&(exact(place) * exact(scale.unit)));
            assert_eq!(q.total_cmp(&place), side, "{x:e} · {global} / {} at {place}", scale.unit);
            close += usize::from(side.is_ne() && (x * global / scale.unit).to_bits() == place.to_bits());
        }
    }
    assert!(close > 1000, "plain arithmetic would have been wrong {close} times");
}

/// Codes of scales around every number and every middle, by the format's own rounding; and what
/// codes mean, by the format's own decoding.
#[test]
fn scales_are_rounded_as_their_format_does() {
    for format in [E4M3FN, BINARY16, BFLOAT16, E5M2, BINARY32] {
        let spec = spec(format, ScaleRule::Amax);
        let codes = (0..format.max_code() / 2).step_by(if format == BINARY32 { 65_537 } else { 1 });
        for code in codes {
            let value = |code| format.decode_f64(code).value;
            let (value, above) = (value(code), value(code + 1));
            if !value.is_finite() || !above.is_finite() {
                continue;
            }
            assert_eq!(spec.stored(code, 1.0).unit.to_bits(), value.to_bits(), "{format} {code}");
            let middle = f64::midpoint(value, above);
            for wanted in [value, middle].into_iter().flat_map(|x| [x.next_down(), x, x.next_up()]) {
                if !wanted.is_normal() || wanted < 0.0 {
                    continue;
                }
                let least = if format == BINARY32 { format.min_normal() } else { format.min_positive() };
                let nearest = format.encode_f64(wanted, &spec.projection(true)).value;
                let expected = nearest.max(format.encode(least).unwrap());
                let scale = spec.nearest(wanted, 1.0);
                assert_eq!(scale.code, expected, "{format} {wanted:e}");
                assert_eq!(scale.unit.to_bits(), format.decode_f64(expected).value.to_bits());
            }
        }
    }
}

/// P3109 D1, section 5: the worked example, and the rules of the special cases.
#[test]
fn the_maximum_of_p3109_blocks() {
    let of = |name: &str| name.parse::<Format>().unwrap();
    let blocks = spec(of("binary8p1uf"), ScaleRule::MaxAbsFinite);
    let element = of("binary4p2sf");
    let scale = blocks.choose(&ScaledElement::new(&element), &Extent::of(&[3.0, -1.0]), 1.0);
    assert_eq!((scale.code, scale.value.to_bits()), (0x82, 4_f64.to_bits()));
    let blocks = spec(of("binary8p4se"), ScaleRule::MaxAbsFinite);
    let value = |values: &[f64]| blocks.choose(&ScaledElement::new(&element), &Extent::of(values), 1.0).value;
    assert_eq!(value(&[f64::INFINITY, 2.0, f64::NAN]).to_bits(), 2_f64.to_bits());
    assert!(value(&[f64::NEG_INFINITY, f64::NAN]).is_infinite());
    assert!(value(&[f64::NAN]).is_nan());
    assert_eq!(value(&[0.0, -0.0]).to_bits(), 0);
    assert_eq!(Divisor::new(0.0).apply(f64::INFINITY).to_bits(), 0);
    assert_eq!(Divisor::new(f64::INFINITY).apply(-3.0).to_bits(), (-1_f64).to_bits());
    assert!(Divisor::new(f64::NAN).apply(1.0).is_nan());
}

/// splitmix64.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The quotient rounded by the encoder is the exact quotient rounded by the core, also right beside
/// its middles.
#[test]
fn one_rounding_of_the_exact_quotient() {
    let formats = [
        "e4m3fn",
        "e5m2",
        "e2m1fn",
        "e3m2fn",
        "cfloat8_1_4_3:bias=0",
        "cfloat8_1_5_2:bias=0",
        "shp:bias=0",
        "binary8p3se",
    ];
    let mut state = 7;
    for name in formats {
        let format: Format = name.parse().unwrap();
        let half = format.max_code() >> 1;
        for round in 0..4_000_u32 {
            let s = f64::from(f32::from_bits((next(&mut state) >> 40) as u32 | 0x3f00_0000));
            let x = match round % 4 {
                0 => f64::from_bits(
                    next(&mut state) & 0x800f_ffff_ffff_ffff | (1000 + next(&mut state) % 40) << 52,
                ),
                1 => f64::from(f32::from_bits((next(&mut state) >> 38) as u32 | 0x3e00_0000)),
                // A middle of two neighbours times the scale, and what lies next to it.
                _ => {
                    let code = next(&mut state) % half;
                    let value = |code| format.decode_f64(code).value;
                    let middle = f64::midpoint(value(code), value(code + 1)) * s;
                    let step = next(&mut state) % 3;
                    f64::from_bits((middle.to_bits() + step).saturating_sub(1))
                }
            };
            if !x.is_finite() {
                continue;
            }
            let bits = RandomBits::from_word32(32, (next(&mut state) >> 32) as u32).unwrap();
            let modes = Rounding::DETERMINISTIC
                .iter()
                .copied()
                .chain([Rounding::StochasticA(bits), Rounding::StochasticC(bits)]);
            for rounding in modes {
                let projection = format.default_projection().with_rounding(rounding);
                let operands = [x, s].map(|x| Operand::new(x.to_bits(), &BINARY64));
                let exact =
                    Operation::Divide.evaluate(&operands, &format, &projection, OperationOptions::IEEE);
                let ours = format.encode_f64(Divisor::new(s).apply(x), &projection);
                assert_eq!(ours.value, exact.value, "{name} {rounding:?} {x:e} / {s:e}");
            }
        }
    }
}

#[test]
fn quotients_beyond_the_range_stay_finite_and_not_zero() {
    for (x, s, expected) in [
        (1e308, 1e-30, f64::MAX),
        (-1e308, 0.25, -f64::MAX),
        (5e-324, 3.0, f64::MIN_POSITIVE),
        (-5e-324, 2.0, -f64::MIN_POSITIVE),
        (-0.0, 3.0, -0.0),
        (-0.0, 4.0, -0.0),
    ] {
        assert_eq!(Divisor::new(s).apply(x).to_bits(), f64::to_bits(expected), "{x:e} / {s:e}");
    }
    assert!(Divisor::new(3.0).apply(f64::NEG_INFINITY).is_infinite());
}
