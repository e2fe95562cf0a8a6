//! The quick ways are there: for which formats and functions kernels must not fall back to slower
//! ways with the same results. Plans that do not describe a format are given up when they are made,
//! so a mistake in one would cost nothing but speed.

use smallfloat::formats::{BFLOAT16, BINARY16, BINARY32, BINARY64, CATALOGUE, E4M3FN, E5M2};
use smallfloat::ops::{Operation, OperationOptions};
use smallfloat::{Format, NegativeZero, Preset, Projection, Rounding, Saturation};

use crate::encode::stochastic_table::StochasticTable;
use crate::plan::arithmetic::ArithmeticPlan;
use crate::plan::byte_lanes::BytePlan;
use crate::plan::decode::DecodePlans;
use crate::plan::encode::EncodePlan;
use crate::target::Target;

fn catalogue(width: u32) -> impl Iterator<Item = Format> {
    CATALOGUE.iter().map(|row| row.format).filter(move |format| format.width() <= width)
}

/// Scales have no subnormal grid.
fn is_scale(format: &Format) -> bool {
    !format.has_zero()
}

fn decode_plans(format: &Format) -> DecodePlans {
    let words: Vec<u32> = format.codes().map(|code| format.decode_f32(code).value.to_bits()).collect();
    DecodePlans::new(format, &words)
}

#[test]
fn decoders_have_their_constants() {
    let others = ["binary8p3se", "binary8p5uf", "binary6p2se", "minifloat:k=8,p=4,bias=7,subnormals=flush"];
    let others = others.map(|name| name.parse::<Format>().expect("a format"));
    for format in catalogue(16).chain(others) {
        let plans = decode_plans(&format);
        assert_eq!(plans.bytes.is_some(), format.width() <= 8, "{format}");
        assert_eq!(plans.half_words.is_some(), !is_scale(&format), "{format}");
        // The tables for nibbles describe all signed ones of these but binary6p2se.
        let nibbles = format.width() <= 8 && format.is_signed() && format != others[2];
        assert_eq!(plans.nibbles.is_some(), nibbles, "{format}");
    }
    // All upper codes have a sign, or, where a byte has bits to spare, none differs from the lower
    // one.
    for (name, expected) in [
        ("cfloat8_1_4_3:bias=7", Some((128, 127, 0x80))),
        ("e2m1fn", Some((0, 0, 0))),
        ("e3m2fn", Some((0, 0, 0))),
        // Sixteen binades above, so that the lower halves are the same.
        ("binary8p4uf", None),
    ] {
        let signs = decode_plans(&name.parse().expect("a format")).bytes.and_then(|bytes| bytes.signs);
        assert_eq!(signs.map(|signs| (signs.first, signs.span, signs.sign)), expected, "{name}");
    }
}

#[test]
fn sums_and_products_in_lanes_of_a_byte() {
    let others = ["binary8p4se", "binary8p3se", "binary6p3sf", "cfloat8_1_4_3:bias=40"];
    let others = others.map(|name| name.parse::<Format>().expect("a format"));
    for format in catalogue(8).chain(others) {
        let is_small = format.is_signed() && (1..=3).contains(&format.trailing_bits());
        for operation in [Operation::Add, Operation::Subtract, Operation::Multiply] {
            for &rounding in Rounding::DETERMINISTIC {
                let is_directed = matches!(rounding, Rounding::TowardPositive | Rounding::TowardNegative);
                let projection = format.default_projection().with_rounding(rounding);
                let to = Target { format: &format, projection: &projection };
                let plan = BytePlan::new(operation, &[format; 2], to, OperationOptions::IEEE);
                assert_eq!(plan.is_some(), is_small && !is_directed, "{operation:?} {format} {rounding:?}");
            }
        }
    }
}

#[test]
fn encoders_have_their_constants() {
    for from in [BINARY32, BINARY64, BINARY16, BFLOAT16] {
        for format in catalogue(16) {
            for &rounding in Rounding::DETERMINISTIC {
                let projection = format.default_projection().with_rounding(rounding);
                // Left to slower ways: powers of two, bfloat16 by directed modes, and from
                // binary64.
                let directed = matches!(rounding, Rounding::TowardPositive | Rounding::TowardNegative);
                let expected =
                    format.precision() > 1 && (format != BFLOAT16 || (from != BINARY64 && !directed));
                assert_eq!(
                    EncodePlan::new(&from, &format, &projection).is_some(),
                    expected,
                    "{from} {format} {rounding:?}"
                );
            }
        }
    }
}

/// Random bits reach the vectors' constants too: into bfloat16 the largest binary32 leaves the
/// range only with all of them set.
#[test]
fn stochastic_encoders_have_their_constants() {
    for count in [1, 8, 13] {
        let random = Rounding::stochastic_a(count).expect("bits");
        for (format, overflow) in [(E4M3FN, 0x7f), (E5M2, 0x7c), (BFLOAT16, 0x7f80), (BINARY16, 0x7c00)] {
            let preset = if format == E4M3FN { Preset::OcpNoSaturate } else { Preset::Ieee };
            let projection = preset.projection(&format).with_rounding(random);
            let plan = EncodePlan::new(&BINARY32, &format, &projection).expect("a plan");
            assert_eq!(plan.overflow.codes[0], overflow, "{format} {count}");
        }
        let others = [Rounding::stochastic_b(count), Rounding::stochastic_c(count)].map(|random| {
            let projection = E4M3FN.default_projection().with_rounding(random.expect("bits"));
            EncodePlan::new(&BINARY32, &E4M3FN, &projection).is_some()
        });
        assert_eq!(others, [true, count <= 8], "{count}");
    }
}

/// StochasticA goes by classes where they fit in a cache and are no more than the data.
#[test]
fn chances_of_classes() {
    let chances = |from: &Format, to: &Format, length| {
        let random = Rounding::stochastic_a(8).expect("bits");
        StochasticTable::new(from, to, &to.default_projection().with_rounding(random), length).is_some()
    };
    assert!(chances(&BINARY32, &E4M3FN, usize::MAX) && chances(&BINARY64, &E5M2, usize::MAX));
    assert!(!chances(&BINARY32, &E4M3FN, 100) && !chances(&BINARY32, &BINARY16, usize::MAX));
}

/// The machine's own conversions are used where they are the format's.
#[test]
fn halves_of_the_machine() {
    let is_ieee = |format: &Format, projection: Projection| {
        EncodePlan::new(&BINARY32, format, &projection).map(|plan| plan.is_ieee)
    };
    for format in [BINARY16, BFLOAT16] {
        let projection = Preset::Ieee.projection(&format);
        assert_eq!(is_ieee(&format, projection), Some(true), "{format}");
        for other in [
            projection.with_rounding(Rounding::NearestAway),
            projection.with_rounding(Rounding::TowardZero),
            projection.with_saturation(Saturation::SatFinite),
            projection.with_saturation(Saturation::SatPropagate),
            projection.with_negative_zero(NegativeZero::Positive),
        ] {
            assert_eq!(is_ieee(&format, other), Some(false), "{format} {other:?}");
        }
    }
    let others = ["shp:bias=15", "binary16p11se", "ieee:k=16,p=10"];
    for format in others.map(|name| name.parse::<Format>().expect("a format")) {
        assert_eq!(is_ieee(&format, Preset::Ieee.projection(&format)), Some(false), "{format}");
    }
}

/// What of a vector by rows needs no second look: NaN aside, E4M3FN's codes are linear to the last
/// and their nibbles lie in bytes of their own.
#[test]
fn nibbles_have_their_constants() {
    let of = |name: &str| {
        let plan = decode_plans(&name.parse().expect("a format")).nibbles.expect("a plan");
        (plan.nan, plan.has_last(), plan.crosses())
    };
    assert_eq!(of("e4m3fn"), (Some([0x7f, 0x7f]), false, false));
    assert_eq!(of("e4m3fnuz"), (Some([0xff, 0x80]), false, false));
    assert_eq!(of("cfloat8_1_4_3:bias=7"), (None, false, false));
    assert_eq!(of("cfloat8_1_5_2:bias=16"), (None, false, true));
    assert_eq!(of("e5m2"), (Some([0x7f, 0x7f]), true, true));
    assert_eq!(of("e3m4"), (Some([0x7f, 0x7f]), true, true));
}

#[test]
fn operations_have_their_constants() {
    for format in catalogue(8) {
        let arithmetic = OperationOptions::default_for([&format]);
        for operation in [Operation::Add, Operation::Subtract, Operation::Multiply, Operation::Fma] {
            let operands = &[format; 3][..operation.arity()];
            let target = Target { format: &format, projection: &format.default_projection() };
            let plan = ArithmeticPlan::new(operation, operands, target, arithmetic);
            assert_eq!(plan.is_some(), !is_scale(&format), "{operation:?} {format}");
        }
    }
    let to = Target { format: &E5M2, projection: &E5M2.default_projection() };
    for operation in [Operation::Add, Operation::Multiply] {
        let mixed = ArithmeticPlan::new(operation, &[E4M3FN, E5M2], to, OperationOptions::IEEE);
        assert!(mixed.is_some(), "{operation:?}");
    }
}

#[cfg(not(any(smallfloat_arch = "scalar", smallfloat_arch = "none")))]
mod vectors {
    use smallfloat::Rounding;
    use smallfloat::formats::{BINARY32, BINARY64, E4M3FN};
    use smallfloat::ops::{Extremum, Operation, OperationOptions};
    use smallfloat::{Bf16, F16};

    use super::decode_plans;
    use crate::arch::level::Level;
    use crate::arithmetic::simd::SimdElementwise;
    use crate::ars5::Ars5;
    use crate::decode::simd::SimdDecoder;
    use crate::element::classes::RoundingClasses;
    use crate::element::{Code, Element};
    use crate::encode::recode::SimdRecoder;
    use crate::encode::simd::SimdEncoder;
    use crate::plan::class_table::CAPACITY;
    use crate::random::Generator;
    use crate::statistics::accumulator;
    use crate::statistics::accumulator::ClassAccumulator;
    use crate::target::Target;

    /// Kernels are there for these types and no others.
    #[test]
    fn vectors_are_used() {
        fn encoders<T: Element, C: Code + Default>(level: Level) -> [bool; 3] {
            let (source, mut codes) = ([T::default(); 5], [C::default(); 5]);
            let projection = E4M3FN.default_projection();
            let random = projection.with_rounding(Rounding::stochastic_a(8).expect("bits"));
            let fast =
                |projection| SimdEncoder::new(level, &T::FORMAT, &E4M3FN, projection).expect("kernels");
            let words = (&Generator::Ars5(Ars5 { seed: 1, stream: 2 }), level);
            [
                fast(&projection).encode(&source, &mut codes, false).is_some(),
                fast(&projection).encode_only(&source, &mut codes, false).is_some(),
                fast(&random).encode_random(&source, &mut codes, words, 3, 8).is_some(),
            ]
        }
        fn decodes<T: Element, C: Code + Default>(level: Level) -> bool {
            let fast = SimdDecoder::new(level, &decode_plans(&E4M3FN)).expect("kernels");
            fast.decode(&[C::default(); 5], &mut [T::default(); 5], false).is_some()
        }
        let Some(level) = Level::with_kernels() else {
            eprintln!("skipped: no vectors here");
            return;
        };
        assert_eq!(
            [encoders::<f32, u8>(level), encoders::<f32, u16>(level), encoders::<f32, u32>(level)],
            [[true; 3], [true; 3], [false; 3]]
        );
        assert_eq!(
            [encoders::<f64, u8>(level), encoders::<f64, u16>(level), encoders::<f64, u32>(level)],
            [[true; 3], [true; 3], [false; 3]]
        );
        assert_eq!(
            [
                encoders::<F16, u8>(level),
                encoders::<F16, u16>(level),
                encoders::<Bf16, u8>(level),
                encoders::<Bf16, u16>(level)
            ],
            [[true; 3]; 4]
        );
        assert_eq!(
            [
                decodes::<f32, u8>(level),
                decodes::<f64, u8>(level),
                decodes::<F16, u8>(level),
                decodes::<Bf16, u8>(level)
            ],
            [true; 4]
        );
        assert_eq!([decodes::<f32, u16>(level), decodes::<f64, u16>(level)], [true; 2]);
        assert_eq!(
            [decodes::<F16, u16>(level), decodes::<Bf16, u16>(level), decodes::<f32, u32>(level)],
            [false; 3]
        );
        let recode = SimdRecoder::new(level, &[0; 256]).expect("kernels");
        assert!(recode.recode(&[0_u8; 5], &mut [0_u8; 5]).is_some());
        assert!(
            recode.recode(&[0_u8; 5], &mut [0_u16; 5]).is_none()
                && recode.recode(&[0_u16; 5], &mut [0_u8; 5]).is_none()
        );

        assert!(SimdElementwise::is_usable());
        let to = Target { format: &E4M3FN, projection: &E4M3FN.default_projection() };
        for operation in [Operation::Add, Operation::Extremum(Extremum::Maximum)] {
            let vectors = SimdElementwise::new(level, operation, &[E4M3FN; 2], to, OperationOptions::IEEE)
                .expect("kernels");
            // 448 and 1: inexact, and one of them.
            assert!(vectors.run([&[0x7e; 5], &[0x38; 5], &[]], &mut [0; 5], true).is_some(), "{operation:?}");
        }

        let rounding_classes = RoundingClasses::new(&BINARY32, &E4M3FN);
        assert_eq!(accumulator::largest(level, &rounding_classes, &[-2.5_f32, 1.0]), Some(0x4020_0000));
        let classes_of_f64 = RoundingClasses::new(&BINARY64, &E4M3FN);
        assert_eq!(accumulator::largest(level, &classes_of_f64, &[1.0_f64]), None);
        assert!(ClassAccumulator::new::<f64>(level, &classes_of_f64).is_none());
        let mut sums = ClassAccumulator::new::<f32>(level, &rounding_classes).expect("kernels");
        let room = CAPACITY;
        assert_eq!([sums.has_room(room), sums.has_room(room + 1)], [true, false]);
        for _ in 0..2 {
            sums.add(&[1.0_f32; 5]);
        }
        assert_eq!([sums.has_room(room - 10), sums.has_room(room - 9)], [true, false]);
        sums.clear();
        assert_eq!([sums.has_room(room), sums.has_room(room + 1)], [true, false]);
    }
}
