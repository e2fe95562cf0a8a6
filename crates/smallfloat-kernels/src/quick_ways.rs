//! The quick ways are there: for which formats and functions kernels must not fall back to slower ways with the same results. Plans that
//! do not describe a format are given up when they are made, so a mistake in one would cost nothing but speed.

use smallfloat::formats::{BFLOAT16, BINARY16, BINARY32, BINARY64, CATALOGUE, E4M3FN, E5M2};
use smallfloat::ops::{Arithmetic, Operation};
use smallfloat::{Format, Rounding};

use crate::arithmetic::ArithmeticPlan;
use crate::decode_plan::DecodePlans;
use crate::plan::Plan;

fn catalogue(width: u32) -> impl Iterator<Item = Format> {
    CATALOGUE.iter().map(|row| row.format).filter(move |format| format.width() <= width)
}

/// Scales have no subnormal grid.
fn is_scale(format: &Format) -> bool {
    !format.has_zero()
}

fn decode_plans(format: &Format) -> DecodePlans {
    let words: Vec<u32> =
        (0..=format.max_code()).map(|code| format.decode_f32(code).value.to_bits()).collect();
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
        let nibbles = format.width() == 8 && format.is_signed();
        assert_eq!(plans.nibbles.is_some(), nibbles, "{format}");
    }
    // All upper codes have a sign, or, where a byte has bits to spare, none differs from the lower one.
    for (name, expected) in
        [("cfloat8_1_4_3:bias=7", (128, 127, 0x80)), ("e2m1fn", (0, 0, 0)), ("e3m2fn", (0, 0, 0))]
    {
        let signs = decode_plans(&name.parse().expect("a format")).bytes.and_then(|bytes| bytes.signs);
        assert_eq!(signs.map(|signs| (signs.first, signs.span, signs.sign)), Some(expected), "{name}");
    }
}

#[test]
fn encoders_have_their_constants() {
    for from in [BINARY32, BINARY64, BINARY16, BFLOAT16] {
        for format in catalogue(16) {
            for rounding in Rounding::DETERMINISTIC {
                let how = format.default_projection().with_rounding(rounding);
                // Left to slower ways: bfloat16 by directed modes, and from binary64.
                let directed = matches!(rounding, Rounding::TowardPositive | Rounding::TowardNegative);
                let expected = !is_scale(&format) && (format != BFLOAT16 || (from != BINARY64 && !directed));
                assert_eq!(
                    Plan::new(&from, &format, &how).is_some(),
                    expected,
                    "{from} {format} {rounding:?}"
                );
            }
        }
    }
}

#[test]
fn operations_have_their_constants() {
    for format in catalogue(8) {
        let arithmetic = Arithmetic::default_for([&format]);
        for operation in [Operation::Add, Operation::Subtract, Operation::Multiply, Operation::Fma] {
            let operands = &[format; 3][..operation.arity()];
            let plan =
                ArithmeticPlan::new(operation, operands, (&format, &format.default_projection()), arithmetic);
            assert_eq!(plan.is_some(), !is_scale(&format), "{operation:?} {format}");
        }
    }
    let how = E5M2.default_projection();
    for operation in [Operation::Add, Operation::Multiply] {
        let mixed = ArithmeticPlan::new(operation, &[E4M3FN, E5M2], (&E5M2, &how), Arithmetic::IEEE);
        assert!(mixed.is_some(), "{operation:?}");
    }
}
