//! The candle adapter against this crate's own layer.
#![cfg(feature = "candle")]

use candle_core::{Device, Tensor, Var};
use smallfloat_train::candle::{FakeQuantize, QuantizedLinear};
use smallfloat_train::layers::{Layer, Linear, Pass, Saved};
use smallfloat_train::{Accumulate, Class, Config, Matrix, Moment, Parameters, Round, Sequence, preset};

fn normal(name: &str, rows: usize, columns: usize) -> Matrix {
    let sequence = Sequence::new(7, name);
    Matrix { columns, values: (0..(rows * columns) as u64).map(|i| sequence.normal(i)).collect() }
}

fn tensor(matrix: &Matrix) -> Tensor {
    Tensor::from_slice(&matrix.values, (matrix.rows(), matrix.columns), &Device::Cpu).unwrap()
}

fn near(found: &Tensor, expected: &[f32]) {
    let found = found.flatten_all().unwrap().to_vec1::<f32>().unwrap();
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() <= 1e-4 * (1.0 + expected.abs()), "{found}, {expected}");
    }
}

#[test]
fn the_layer_is_ours() {
    let config = preset("cfloat8").unwrap();
    let mut parameters = Parameters::new(&config, 5, false);
    let mut ours = Linear::new(&mut parameters, "linear", [12, 7], 0.2).unwrap();
    let weight = Matrix { columns: 12, values: parameters.list[0].weights.values() };
    let variable = Var::from_tensor(&tensor(&weight)).unwrap();
    let theirs = QuantizedLinear::new("linear", variable.as_tensor().clone(), None, &config).unwrap();
    let (x, dy) = (normal("x", 9, 12), normal("dy", 9, 7));

    let moment = Moment { step: 1, learning: true, counting: false };
    let mut pass =
        Pass { parameters: &mut parameters, accumulate: Accumulate::F32, moment, saved: Saved::default() };
    let y = ours.forward(&mut pass, x.clone()).unwrap();
    let dx = ours.backward(&mut pass, dy.clone()).unwrap();

    let input = Var::from_tensor(&tensor(&x)).unwrap();
    let result = theirs.forward(input.as_tensor()).unwrap();
    near(&result, &y.values);
    let gradients = (result * tensor(&dy)).unwrap().sum_all().unwrap().backward().unwrap();
    near(gradients.get(&input).unwrap(), &dx.values);
    near(gradients.get(&variable).unwrap(), &parameters.list[0].gradient);
    let biases: Vec<_> = ours.quantizers().iter().map(|quantizer| quantizer.bias()).collect();
    assert_eq!(theirs.biases().to_vec(), biases);
}

#[test]
fn what_is_no_operand_is_refused() {
    let class = Class { rounding: Round::StochasticA, ..Config::default().weights };
    assert!(FakeQuantize::new("w", &class).is_err());
    let cube = Tensor::zeros((2, 2, 2), candle_core::DType::F32, &Device::Cpu).unwrap();
    assert!(QuantizedLinear::new("cube", cube, None, &Config::default()).is_err());
}
