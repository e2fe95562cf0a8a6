//! Conversions from and to binary32 with a bias as argument, against the core at every bias: all
//! codes, and every sign, exponent and first digits, with what follows them at its ends and middle.

use smallfloat::formats::BINARY32;
use smallfloat::{Format, convert};
// What it exports is linked.
use smallfloat_c as _;

unsafe extern "C" {
    safe fn sf_f32_to_cfloat8_1_4_3(x: f32, bias: u32) -> u8;
    safe fn sf_cfloat8_1_4_3_to_f32(x: u8, bias: u32) -> f32;
    safe fn sf_f32_to_cfloat8_1_5_2(x: f32, bias: u32) -> u8;
    safe fn sf_cfloat8_1_5_2_to_f32(x: u8, bias: u32) -> f32;
    safe fn sf_f32_to_shp(x: f32, bias: u32) -> u16;
    safe fn sf_shp_to_f32(x: u16, bias: u32) -> f32;
}

fn compare(format: &Format, from: impl Fn(f32) -> u64, to: impl Fn(u64) -> f32, low: u32) {
    let projection = format.default_projection();
    for high in 0..=u32::MAX >> low {
        for rest in [0, 1, (1 << (low - 1)) - 1, 1 << (low - 1), (1 << (low - 1)) + 1, (1 << low) - 1] {
            let bits = high << low | rest;
            let right = convert(bits.into(), &BINARY32, format, &projection).value;
            assert_eq!(from(f32::from_bits(bits)), right, "{format}, {bits:#010x}");
        }
    }
    for code in format.codes() {
        let (given, right) = (to(code), format.decode_f32(code).value);
        assert!(given.to_bits() == right.to_bits(), "{format}, {code:#x}: {given}, right {right}");
    }
}

#[test]
fn every_bias_is_the_core_s() {
    for bias in 0..64_i32 {
        let word = bias.cast_unsigned();
        let byte = |code: u64| u8::try_from(code).expect("eight bits");
        let half = |code: u64| u16::try_from(code).expect("sixteen bits");
        compare(
            &Format::cfloat8_1_4_3(bias).expect("six bits"),
            |x| sf_f32_to_cfloat8_1_4_3(x, word).into(),
            |code| sf_cfloat8_1_4_3_to_f32(byte(code), word),
            17,
        );
        compare(
            &Format::cfloat8_1_5_2(bias).expect("six bits"),
            |x| sf_f32_to_cfloat8_1_5_2(x, word).into(),
            |code| sf_cfloat8_1_5_2_to_f32(byte(code), word),
            18,
        );
        // Sixteen bits take long: its biases are the ends and some between.
        if ![0, 1, 15, 31, 62, 63].contains(&bias) {
            continue;
        }
        compare(
            &Format::shp(bias).expect("six bits"),
            |x| sf_f32_to_shp(x, word).into(),
            |code| sf_shp_to_f32(half(code), word),
            // The mean of two neighbours ends here, eleven digits after the first one.
            12,
        );
    }
}
