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

/// Σ of products cut toward zero to 25 fraction bits below each block's largest exponent
/// (docs/tensor-cores.md), of normal values with their scales: what a B200 gives of MXFP8.
fn blackwell(x: &[f32], y: &[f32]) -> f32 {
    let exponent = |x: f64| i32::try_from(x.to_bits() >> 52 & 0x7ff).unwrap() - 1023;
    let cut = |x: f64, unit: i32| (x * 2.0_f64.powi(-unit)).trunc();
    x.chunks(32).zip(y.chunks(32)).fold(0.0_f32, |sum, (x, y)| {
        let pairs = || x.iter().zip(y).map(|(x, y)| (f64::from(*x), f64::from(*y)));
        let of = |(x, y): (f64, f64)| if x * y == 0.0 { -252 } else { exponent(x) + exponent(y) };
        let own = if sum == 0.0 { -126 } else { exponent(f64::from(sum)) };
        let unit = pairs().map(of).max().unwrap().max(own) - 25;
        let total = pairs().map(|(x, y)| cut(x * y, unit)).sum::<f64>() + cut(f64::from(sum), unit);
        let total = total * 2.0_f64.powi(unit);
        let step = 2.0_f64.powi(exponent(total) - 23);
        let rounded = if total == 0.0 { 0.0 } else { (total / step).trunc() * step };
        format!("{rounded:e}").parse().unwrap()
    })
}

#[test]
fn blackwell_multiplies_blocks() {
    let (rows, depth, columns) = (9, 100, 5);
    for scheme in ["mxfp8-e4m3", "mxfp8-e5m2"] {
        // Elements that are subnormal in their format have other exponents: these are all normal.
        let near = |name: &str, count: usize| -> Vec<f32> {
            let sequence = RandomSequence::new(9, name);
            (0..count)
                .map(|i| {
                    let normal = sequence.normal(i as u64);
                    let far = [1.0, 512.0, 0.03125, 64.0][i % depth / 32];
                    (normal.abs() + 0.1).copysign(normal) * [1.0, 0.0, 4.0][i % 3] * far
                })
                .collect()
        };
        let (a, b) = (near("a", rows * depth), near("b", columns * depth));
        let (a_rows, b_rows) = (along_rows(&a, depth, scheme), along_rows(&b, depth, scheme));
        let x = encoded("a", &a, depth, scheme, MOMENT);
        // B stored as its columns: the blocks that were made along columns are taken.
        let y = encoded("b", &turned(&b, depth), columns, scheme, MOMENT);
        let operands = [&MatrixOperand::new(&x, depth), &MatrixOperand::new(&y, columns)];
        let found = product(operands[0], operands[1], "blackwell".parse().unwrap()).unwrap();
        let expected: Vec<f32> =
            a_rows.chunks(depth).flat_map(|x| b_rows.chunks(depth).map(move |y| blackwell(x, y))).collect();
        assert_eq!(found, expected, "{scheme}");
        let f32 = product(operands[0], operands[1], Accumulation::F32).unwrap();
        assert_ne!(found, f32, "cut toward zero");
    }
}

/// Sums of numbers with few bits are exact, and so are those of NVFP4 by the tensor's scale.
#[test]
fn blackwell_multiplies_four_and_six_bits() {
    let (depth, columns) = (64, 3);
    for [scheme, other] in [["mxfp4"; 2], ["nvfp4"; 2], ["mxfp6-e3m2", "mxfp6-e2m3"], ["mxfp8-e5m2", "mxfp4"]]
    {
        let values = |count: usize| -> Vec<f32> {
            (0..count).map(|i| [6.0, -3.0, 0.5, 0.0, 1.5][i * 7 % 5] * 8.0).collect()
        };
        let (a, b) = (values(2 * depth), values(columns * depth));
        let (x, y) = (encoded("a", &a, depth, scheme, MOMENT), encoded("b", &b, depth, other, MOMENT));
        assert_eq!(
            (x.values(), y.values()),
            (a.clone(), b.clone()),
            "{scheme} and {other} have these values"
        );
        let right = MatrixOperand::new(&y, depth);
        let found = product(&MatrixOperand::new(&x, depth), &right.transpose(), "blackwell".parse().unwrap());
        let expected: Vec<f32> = a
            .chunks(depth)
            .flat_map(|x| b.chunks(depth).map(|y| x.iter().zip(y).map(|(x, y)| x * y).sum()))
            .collect();
        assert_eq!(found.unwrap(), expected, "{scheme}");
    }
}

#[test]
fn matrix_units_refuse_other_blocks() {
    let tensor = |scheme: &str| encoded("x", &matrix("x", [4, 64]), 64, scheme, MOMENT);
    let (e4m3, e2m1, int8) = (tensor("mxfp8-e4m3"), tensor("mxfp4"), tensor("mxint8"));
    let plain = EncodedTensor::plain(vec![1.0; 256]);
    for (x, y, unit, expected) in [
        (&e4m3, &e4m3, "hopper", "block scales go with blackwell"),
        (&e4m3, &e4m3, "fused:k=32,fraction=25,output=f32", "has no place for block scales"),
        (&int8, &int8, "blackwell", "these are from a list of values"),
        (&e2m1, &tensor("nvfp4"), "blackwell", "one kind of block scales on both sides"),
        (&e4m3, &plain, "blackwell", "or schemes with block scales on both"),
    ] {
        let right = MatrixOperand::new(y, 64);
        let error =
            product(&MatrixOperand::new(x, 64), &right.transpose(), unit.parse().unwrap()).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
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
