//! Matrices by schemes with a scale for each block: their values and their products by arithmetic
//! that shares nothing with the quantizer, their random words, and what is refused.

use std::collections::BTreeSet;

use smallfloat_tensor::ScaleRule;
use smallfloat_train::{
    Accumulation, ClassConfig, Coders, Config, Elements, EncodedTensor, MatrixOperand, Moment,
    RandomSequence, Round, TensorQuantizer, product,
};

const MOMENT: Moment = Moment { step: 5, learning: true, counting: false };

fn class(scheme: &str, rounding: Round) -> ClassConfig {
    ClassConfig { scheme: Some(scheme.parse().unwrap()), rounding, ..ClassConfig::default() }
}

/// Normal numbers whose size differs from row to row and from column to column.
fn matrix(name: &str, [rows, columns]: [usize; 2]) -> Vec<f32> {
    let sequence = RandomSequence::new(3, name);
    (0..rows * columns)
        .map(|i| sequence.normal(i as u64) * [1.0, 0.25, 64.0][i / columns % 3] * [1.0, 8.0][i % columns % 2])
        .collect()
}

fn encoded(name: &str, values: &[f32], columns: usize, scheme: &str, moment: Moment) -> EncodedTensor {
    let rounding = if name == "gradients" { Round::StochasticA } else { Round::NearestEven };
    let mut quantizer = TensorQuantizer::new(name, &class(scheme, rounding)).unwrap();
    quantizer.encode_matrix(&mut Coders::default(), values, columns, moment, 11).unwrap()
}

/// OCP MX (version 1.0, section 6.3) of a block: the scale 2^(⌊log2 amax⌋ − emax), and the nearest
/// value of the elements' format, the one with the even code of two.
fn mx(block: &mut [f32], values: &[f32], emax: i32) {
    let amax = block.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
    if amax == 0.0 {
        return;
    }
    let exponent = (amax.to_bits() >> 23).cast_signed() - 127 - emax;
    let scale = f32::from_bits((exponent + 127).cast_unsigned() << 23);
    for x in block {
        let wanted = x.abs() / scale;
        let distance = |code: usize| (f64::from(values[code]) - f64::from(wanted)).abs();
        let nearest = (0..values.len())
            .min_by(|&a, &b| distance(a).total_cmp(&distance(b)).then((a % 2).cmp(&(b % 2))))
            .unwrap();
        *x = (values[nearest] * scale).copysign(*x);
    }
}

/// The values of a format's codes from zero up: `mantissa` bits, exponents from 1 − `bias`.
fn magnitudes(codes: usize, mantissa: u32, bias: i32) -> Vec<f32> {
    (0..codes)
        .map(|code| {
            let (field, rest) = (code >> mantissa, code & ((1 << mantissa) - 1));
            let significand = if field == 0 { rest } else { rest + (1 << mantissa) };
            let exponent = i32::try_from(field.max(1)).unwrap() - bias - mantissa.cast_signed();
            f32::from(u16::try_from(significand).unwrap()) * 2.0_f32.powi(exponent)
        })
        .collect()
}

fn turned(values: &[f32], columns: usize) -> Vec<f32> {
    let rows = values.len() / columns;
    (0..values.len()).map(|i| values[i % rows * columns + i / rows]).collect()
}

/// The matrix with blocks of 32 along its rows.
fn along_rows(values: &[f32], columns: usize, scheme: &str) -> Vec<f32> {
    let (table, emax) = match scheme {
        // E4M3's code 127 is NaN.
        "mxfp8-e4m3" => (magnitudes(127, 3, 7), 8),
        "mxfp8-e5m2" => (magnitudes(124, 2, 15), 15),
        "mxfp6-e2m3" => (magnitudes(32, 3, 1), 2),
        _ => (magnitudes(8, 1, 1), 2),
    };
    let mut result = values.to_vec();
    for row in result.chunks_mut(columns) {
        row.chunks_mut(32).for_each(|block| mx(block, &table, emax));
    }
    result
}

/// Sums of products and of their magnitudes.
fn sums(a: &[f32], b: &[f32], depth: usize) -> Vec<[f64; 2]> {
    let dot = |x: &[f32], y: &[f32]| {
        let terms = x.iter().zip(y).map(|(x, y)| f64::from(*x) * f64::from(*y));
        terms.fold([0.0, 0.0], |[sum, magnitudes], term| [sum + term, magnitudes + term.abs()])
    };
    a.chunks(depth).flat_map(|x| b.chunks(depth).map(move |y| dot(x, y))).collect()
}

#[test]
fn blocks_lie_along_the_sums() {
    for scheme in ["mxfp8-e4m3", "mxfp8-e5m2", "mxfp6-e2m3", "mxfp4"] {
        for [rows, depth, columns] in [[3, 64, 2], [33, 70, 40], [1, 5, 1], [4, 32, 33]] {
            // A is stored as it is or transposed, and so is B: that decides which blocks were made.
            let (a, b) = (matrix("a", [rows, depth]), matrix("b", [columns, depth]));
            let expected = sums(&along_rows(&a, depth, scheme), &along_rows(&b, depth, scheme), depth);
            for (turn_a, turn_b) in [(false, false), (true, false), (false, true), (true, true)] {
                let stored = |name: &str, values: &[f32], outer, turn| {
                    let values = if turn { turned(values, depth) } else { values.to_vec() };
                    encoded(name, &values, if turn { outer } else { depth }, scheme, MOMENT)
                };
                let (x, y) = (stored("a", &a, rows, turn_a), stored("b", &b, columns, turn_b));
                let left = MatrixOperand::new(&x, if turn_a { rows } else { depth });
                let right = MatrixOperand::new(&y, if turn_b { columns } else { depth });
                let left = if turn_a { left.transpose() } else { left };
                let right = if turn_b { right } else { right.transpose() };
                let found = product(&left, &right, Accumulation::F32).unwrap();
                assert_eq!(found.len(), rows * columns);
                for (found, [expected, magnitudes]) in found.iter().zip(&expected) {
                    // What sums in binary32 may be off by, in any order.
                    let most =
                        f64::from(u16::try_from(depth + 1).unwrap()) * f64::from(f32::EPSILON) * magnitudes;
                    let error = (f64::from(*found) - expected).abs();
                    assert!(error <= most, "{scheme} {rows} × {depth} × {columns}: {found} {expected}");
                }
            }
        }
    }
}

#[test]
fn values_are_those_of_the_standard() {
    for scheme in ["mxfp8-e4m3", "mxfp8-e5m2", "mxfp6-e2m3", "mxfp4"] {
        for [rows, columns] in [[8, 64], [5, 33], [40, 3]] {
            let values = matrix("x", [rows, columns]);
            let tensor = encoded("x", &values, columns, scheme, MOMENT);
            assert_eq!(tensor.values(), along_rows(&values, columns, scheme), "{scheme} {rows} × {columns}");
            // A product with the identity shows the blocks along the columns.
            let one = EncodedTensor::plain(
                (0..rows * rows).map(|i| f32::from(u8::from(i % rows == i / rows))).collect(),
            );
            let found = product(
                &MatrixOperand::new(&one, rows),
                &MatrixOperand::new(&tensor, columns),
                Accumulation::F32,
            );
            let expected = turned(&along_rows(&turned(&values, columns), rows, scheme), rows);
            assert_eq!(found.unwrap(), expected, "{scheme} {rows} × {columns}");
        }
    }
}

const STEPS: u16 = 400;

#[test]
fn stochastic_blocks_follow_the_step_and_are_unbiased() {
    let values = matrix("x", [4, 48]);
    let at = |step| encoded("gradients", &values, 48, "nvfp4", Moment { step, ..MOMENT }).values();
    assert_eq!(at(1), at(1));
    assert_ne!(at(1), at(2));
    let nearest = encoded("x", &values, 48, "nvfp4", MOMENT).values();
    let mut means = vec![0.0; values.len()];
    for step in 0..u64::from(STEPS) {
        means.iter_mut().zip(at(step)).for_each(|(mean, x)| *mean += f64::from(x) / f64::from(STEPS));
    }
    // The largest of a block may saturate: its scale is rounded to E4M3.
    let error = |of: &dyn Fn(usize) -> f64| {
        let terms = values.iter().enumerate().map(|(i, x)| (of(i) - f64::from(*x)).powi(2));
        terms.sum::<f64>().sqrt()
    };
    let (mean, once) = (error(&|i| means[i]), error(&|i| f64::from(nearest[i])));
    assert!(mean < 0.3 * once, "{mean} {once}");
}

#[test]
fn stochastic_blocks_whose_scales_saturate_nothing_are_unbiased() {
    let values = matrix("x", [4, 64]);
    let class = ClassConfig { scale_rule: Some(ScaleRule::Rceil), ..class("mxfp4", Round::StochasticA) };
    let mut quantizer = TensorQuantizer::new("x", &class).unwrap();
    let mut sums = vec![0.0_f64; values.len()];
    let mut seen = vec![BTreeSet::new(); values.len()];
    for step in 0..u64::from(STEPS) {
        let moment = Moment { step, ..MOMENT };
        let found = quantizer.encode_matrix(&mut Coders::default(), &values[..], 64, moment, 11).unwrap();
        for (i, x) in found.values().into_iter().enumerate() {
            sums[i] += f64::from(x);
            seen[i].insert(x.to_bits());
        }
    }
    for ((x, sum), seen) in values.iter().zip(&sums).zip(&seen) {
        // Two neighbours at most, not more than half of the larger apart; the mean of so many draws
        // is within five standard deviations, each at most half a step.
        assert!(seen.len() <= 2, "{x}: {seen:?}");
        let largest = seen.iter().map(|bits| f64::from(f32::from_bits(*bits).abs())).fold(0.0, f64::max);
        let (x, mean) = (f64::from(*x), sum / f64::from(STEPS));
        assert!((mean - x).abs() <= 5.0 * largest / 2.0 / f64::from(STEPS).sqrt(), "{x}: {mean}");
    }
    assert_eq!(quantizer.tally().overflowed, 0);
}

#[test]
fn only_what_a_product_wants_is_kept() {
    let values = matrix("x", [8, 64]);
    let tensor = encoded("x", &values, 64, "mxfp4", MOMENT);
    // Two codes of 512 elements, 16 scales along rows and 64 along columns.
    assert_eq!((tensor.data.len(), tensor.data.bytes()), (512, 1024 + 16 + 64));
    assert!(matches!(tensor.data, Elements::Blocks(_)));
}

#[test]
fn what_does_not_go_together_is_refused() {
    let error = |text: &str| text.parse::<Config>().unwrap_err().to_string();
    for (text, expected) in [
        ("[weights]\nscheme = \"mxfp9\"", "mxfp9"),
        ("[weights]\nscheme = \"gguf-bf16\"", "has no scales for blocks of a row"),
        ("[weights]\nscheme = \"mxfp4\"\nformat = \"e5m2\"", "leave format, bias and start out"),
        ("[weights]\nscheme = \"mxfp4\"\nbias = \"amax\"", "leave format, bias and start out"),
        ("[weights]\nscale_rule = \"rceil\"\nformat = \"e5m2\"", "name one"),
        ("[weights]\nscheme = \"mxfp4\"\nscale_rule = \"four-over-six\"", "E2M1 with scales of E4M3"),
        ("[weights]\nscheme = \"mxfp4\"\nscale_rule = \"highest\"", "highest"),
        ("[weights]\nscheme = \"mxfp4\"\nroot = true", "state.second_moment"),
        ("[state.weights]\nscheme = \"mxfp4\"", "operands of products"),
        ("[state.second_moment]\nscheme = \"mxfp4\"", "operands of products"),
    ] {
        assert!(error(text).contains(expected), "{text}: {}", error(text));
    }
    let mut quantizer = TensorQuantizer::new("x", &class("mxfp4", Round::NearestEven)).unwrap();
    let error = quantizer.encode(&mut Coders::default(), &[1.0][..], MOMENT, None).unwrap_err().to_string();
    assert!(error.contains("without rows"), "{error}");
    let error = quantizer.encode_matrix(&mut Coders::default(), &[f32::NAN][..], 1, MOMENT, 0).unwrap_err();
    assert!(error.to_string().contains("x has 1 NaN"), "{error}");
    let one = encoded("x", &[1.0], 1, "mxfp4", MOMENT);
    let one = MatrixOperand::new(&one, 1);
    let error = product(&one, &one, Accumulation::Exact).unwrap_err().to_string();
    assert!(error.contains("exact sums need formats"), "{error}");
}
