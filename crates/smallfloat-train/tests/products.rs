//! Quantized products: the exact ones bit for bit against the kernels' exact core and the core's
//! accumulator, the others near.

use smallfloat::ops::Sum;
use smallfloat::{Format, formats::BINARY32, project};
use smallfloat_kernels::{Accumulate as KernelAccumulate, Dot, Scales};
use smallfloat_train::{
    Accumulation, Coders, Elements, EncodedTensor, MatrixOperand, RandomSequence, Round, product,
};

fn format(name: &str) -> Format {
    name.parse().unwrap()
}

/// All finite codes in a random order, again and again.
fn codes(coders: &mut Coders, format: &Format, count: usize, seed: u64) -> EncodedTensor {
    let sequence = RandomSequence::new(seed, "codes");
    let finite: Vec<u64> = (0..=format.max_code()).filter(|code| format.decode(*code).is_finite()).collect();
    let chosen = (0..count as u64).map(|i| finite[sequence.below(i, finite.len())]);
    let data = if format.width() <= 8 {
        Elements::Bytes(chosen.map(|code| u8::try_from(code).unwrap()).collect())
    } else {
        Elements::Halves(chosen.map(|code| u16::try_from(code).unwrap()).collect())
    };
    let nearest = Round::NearestEven.projection(format).unwrap();
    EncodedTensor { coder: Some(coders.get(format, &nearest).unwrap()), exponent: 0, data }
}

fn bits(values: &[f32]) -> Vec<u32> {
    // The sign of a sum of nothing but zeros is no matter of training.
    values.iter().map(|x| if *x == 0.0 { 0 } else { x.to_bits() }).collect()
}

#[test]
fn exact_products_are_the_kernels() {
    let pairs = [
        ("cfloat8_1_4_3:bias=7", "cfloat8_1_4_3:bias=20"),
        ("cfloat8_1_4_3:bias=15", "cfloat8_1_5_2:bias=43"),
        ("cfloat8_1_5_2:bias=15", "cfloat8_1_5_2:bias=30"),
        ("cfloat8_1_5_2:bias=63", "cfloat8_1_5_2:bias=63"),
        ("cfloat8_1_4_3:bias=11,subnormals=gradual", "cfloat8_1_4_3:bias=7"),
        ("e4m3fn", "e5m2"),
        ("binary8p4se", "binary8p3se"),
    ];
    let mut coders = Coders::default();
    for (x, y) in pairs {
        let (x, y) = (format(x), format(y));
        for [rows, depth, columns] in [[3, 1, 2], [5, 37, 9], [70, 16, 3], [4, 1500, 5]] {
            let a = codes(&mut coders, &x, rows * depth, 1);
            let b = codes(&mut coders, &y, columns * depth, 2);
            let ours = product(
                &MatrixOperand::new(&a, depth),
                &MatrixOperand::new(&b, depth).transpose(),
                Accumulation::Exact,
            )
            .unwrap();
            let (Elements::Bytes(a_codes), Elements::Bytes(b_codes)) = (&a.data, &b.data) else {
                panic!("bytes")
            };
            let mut theirs = vec![0.0; rows * columns];
            let one = Scales::Tensor(1.0);
            let dot = Dot::new(&x, &y, KernelAccumulate::Exact).unwrap();
            dot.matmul_f32([a_codes, b_codes], depth, [one, one], &mut theirs);
            assert_eq!(bits(&ours), bits(&theirs), "{x} by {y}, {rows} × {depth} × {columns}");
            // Aᵀ of the transposed codes, and a scale that is a power of two.
            let turned: Vec<u8> = (0..depth * rows).map(|i| a_codes[i % rows * depth + i / rows]).collect();
            let turned = EncodedTensor { data: Elements::Bytes(turned), exponent: 3, coder: a.coder.clone() };
            let again = product(
                &MatrixOperand::new(&turned, rows).transpose(),
                &MatrixOperand::new(&b, depth).transpose(),
                Accumulation::Exact,
            );
            let again: Vec<f32> = again.unwrap().iter().map(|x| x * 8.0).collect();
            // Only where nothing is subnormal can the scale be taken out again.
            if theirs.iter().all(|x| *x == 0.0 || x.abs() > 1e-30) {
                assert_eq!(bits(&again), bits(&theirs), "{x} by {y}, transposed");
            }
        }
    }
}

#[test]
fn exact_products_of_halves_are_the_cores() {
    let mut coders = Coders::default();
    for (x, y) in [
        ("shp:bias=20", "cfloat8_1_4_3:bias=7"),
        ("shp:bias=40", "shp:bias=10"),
        ("shp:bias=30", "cfloat8_1_5_2:bias=20"),
    ] {
        let (x, y) = (format(x), format(y));
        let (rows, depth, columns) = (3, 29, 4);
        let a = codes(&mut coders, &x, rows * depth, 3);
        let b = codes(&mut coders, &y, depth * columns, 4);
        let ours =
            product(&MatrixOperand::new(&a, depth), &MatrixOperand::new(&b, columns), Accumulation::Exact)
                .unwrap();
        let code = |codes: &EncodedTensor, i: usize| match &codes.data {
            Elements::Bytes(codes) => u64::from(codes[i]),
            Elements::Halves(codes) => u64::from(codes[i]),
            Elements::Plain(_) | Elements::Blocks(_) => panic!("codes"),
        };
        for row in 0..rows {
            for column in 0..columns {
                let mut sum = Sum::new();
                for i in 0..depth {
                    sum.add_product(
                        x.decode(code(&a, row * depth + i)),
                        y.decode(code(&b, i * columns + column)),
                    );
                }
                let exact = project(sum.exact(), &BINARY32, &BINARY32.default_projection()).value;
                let found = u64::from(ours[row * columns + column].to_bits());
                assert_eq!(found, exact, "{x} by {y}, {row} {column}");
            }
        }
    }
}

#[test]
fn products_in_binary32_are_near() {
    let mut coders = Coders::default();
    let (x, y) = (format("cfloat8_1_4_3:bias=7"), format("cfloat8_1_4_3:bias=9"));
    let (rows, depth, columns) = (33, 200, 17);
    let a = codes(&mut coders, &x, rows * depth, 5);
    let b = codes(&mut coders, &y, depth * columns, 6);
    let multiply = |projection| {
        product(&MatrixOperand::new(&a, depth), &MatrixOperand::new(&b, columns), projection).unwrap()
    };
    let (near, exact) = (multiply(Accumulation::F32), multiply(Accumulation::Exact));
    let magnitudes = |codes: &EncodedTensor| codes.values().iter().map(|x| x.abs()).fold(0.0, f32::max);
    let bound = magnitudes(&a) * magnitudes(&b) * 200.0 * 200.0 * f32::EPSILON;
    for (near, exact) in near.iter().zip(&exact) {
        assert!((near - exact).abs() <= bound, "{near} and {exact}");
    }
}

#[test]
fn what_can_not_be_exact_is_refused() {
    let mut coders = Coders::default();
    let wide = codes(&mut coders, &format("bf16"), 4, 1);
    let plain = EncodedTensor::plain(vec![1.0; 4]);
    for codes in [&wide, &plain] {
        let operand = MatrixOperand::new(codes, 2);
        assert!(product(&operand, &operand, Accumulation::Exact).is_err());
        assert!(product(&operand, &operand, Accumulation::F32).is_ok());
    }
}

#[test]
fn products_of_matrix_units_are_the_kernels() {
    let mut coders = Coders::default();
    for (x, y, name) in [
        ("e4m3fn", "e5m2", "hopper"),
        ("cfloat8_1_4_3:bias=7", "cfloat8_1_5_2:bias=30", "hopper:promote=128"),
        ("cfloat8_1_4_3:bias=7", "e4m3fn", "fused:k=32,fraction=13,output=e8m13"),
    ] {
        let (x, y) = (format(x), format(y));
        let (rows, depth, columns) = (5, 333, 9);
        let (a, b) = (codes(&mut coders, &x, rows * depth, 1), codes(&mut coders, &y, columns * depth, 2));
        let transposed = MatrixOperand::new(&b, depth);
        let ours =
            product(&MatrixOperand::new(&a, depth), &transposed.transpose(), name.parse().unwrap()).unwrap();
        let (Elements::Bytes(a_codes), Elements::Bytes(b_codes)) = (&a.data, &b.data) else {
            panic!("bytes")
        };
        let mut theirs = vec![0.0; rows * columns];
        let one = Scales::Tensor(1.0);
        let dot = Dot::new(&x, &y, name.parse().unwrap()).unwrap();
        dot.matmul_f32([a_codes, b_codes], depth, [one, one], &mut theirs);
        assert_eq!(bits(&ours), bits(&theirs), "{name}");
        // Aᵀ of the transposed codes, and a scale that is a power of two.
        let turned: Vec<u8> = (0..depth * rows).map(|i| a_codes[i % rows * depth + i / rows]).collect();
        let turned = EncodedTensor { data: Elements::Bytes(turned), exponent: 3, coder: a.coder.clone() };
        let again = product(
            &MatrixOperand::new(&turned, rows).transpose(),
            &transposed.transpose(),
            name.parse().unwrap(),
        );
        let again: Vec<f32> = again.unwrap().iter().map(|x| x * 8.0).collect();
        assert_eq!(bits(&again), bits(&theirs), "{name}, transposed");
    }
    let plain = EncodedTensor::plain(vec![1.0; 4]);
    let operand = MatrixOperand::new(&plain, 2);
    assert!(product(&operand, &operand, "hopper".parse().unwrap()).is_err());
}
