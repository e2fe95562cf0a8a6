//! `QuantizedLinear` against exact sums of the core's values, finite differences, and
//! smallfloat-train's own layer.
#![expect(clippy::cast_possible_truncation, reason = "the one rounding of an exact sum")]

use candle_core::{DType, Device, Module, Tensor, Var};
use candle_nn::{VarBuilder, VarMap};
use smallfloat::Format;
use smallfloat_candle::{
    Accumulation, BiasPolicy, ClassConfig, Config, LinearConfig, Quantize, QuantizedLinear, preset,
    quantized_linear, quantized_linear_no_bias,
};
use smallfloat_train::layers::{Layer, Linear, Pass, Saved};
use smallfloat_train::{Matrix, ModelParameters, Moment, RandomSequence};

const ROWS: usize = 9;
const INPUTS: usize = 12;
const OUTPUTS: usize = 7;

fn normal(name: &str, rows: usize, columns: usize) -> Matrix {
    let sequence = RandomSequence::new(7, name);
    Matrix { columns, values: (0..(rows * columns) as u64).map(|i| sequence.normal(i)).collect() }
}

fn tensor(matrix: &Matrix) -> Tensor {
    Tensor::from_slice(&matrix.values, (matrix.rows(), matrix.columns), &Device::Cpu).unwrap()
}

fn numbers(x: &Tensor) -> Vec<f32> {
    x.flatten_all().unwrap().to_vec1().unwrap()
}

fn cfloat8(accumulate: Accumulation) -> LinearConfig {
    LinearConfig { accumulate, ..LinearConfig::cfloat8().unwrap() }
}

/// A layer's result and gradients of x and w, for a gradient dy of the result.
fn run(layer: &QuantizedLinear, x: &Var, w: &Var, dy: &Tensor) -> [Vec<f32>; 3] {
    let y = layer.forward(x).unwrap();
    let gradients = (&y * dy).unwrap().sum_all().unwrap().backward().unwrap();
    [&y, gradients.get(x).unwrap(), gradients.get(w).unwrap()].map(numbers)
}

/// Σ over k of a[k]·b[k], with strides. Values of 8-bit formats have at most 4 bits and tensors
/// span few binades, so binary64 adds a dozen products without error.
fn sum(length: usize, a: impl Fn(usize) -> f64, b: impl Fn(usize) -> f64) -> f64 {
    (0..length).map(|k| a(k) * b(k)).sum()
}

/// Values by the core at the bias that a quantizer has.
fn by_core(
    matrix: &Matrix,
    format: impl Fn(u32) -> Result<Format, smallfloat::Error>,
    bias: Option<i32>,
) -> Vec<f64> {
    let format = format(u32::try_from(bias.unwrap()).unwrap()).unwrap();
    let projection = format.default_projection();
    matrix
        .values
        .iter()
        .map(|x| format.decode(format.encode_f32(*x, &projection).value).to_f64().unwrap())
        .collect()
}

#[test]
fn sums_of_the_cores_values() {
    let (x, w, dy) = (normal("x", ROWS, INPUTS), normal("w", OUTPUTS, INPUTS), normal("dy", ROWS, OUTPUTS));
    for accumulate in [Accumulation::Exact, Accumulation::F32] {
        let [x_var, w_var] = [&x, &w].map(|m| Var::from_tensor(&tensor(m)).unwrap());
        let layer =
            QuantizedLinear::new("layer", w_var.as_tensor().clone(), None, &cfloat8(accumulate)).unwrap();
        let found = run(&layer, &x_var, &w_var, &tensor(&dy));
        let [input, weight, gradient] = layer.quantizers().map(Quantize::bias);
        let x = by_core(&x, Format::cfloat8_1_4_3, input);
        let w = by_core(&w, Format::cfloat8_1_4_3, weight);
        let dy = by_core(&dy, Format::cfloat8_1_5_2, gradient);
        let table = |rows: usize, columns: usize, f: &dyn Fn(usize, usize) -> f64| {
            (0..rows * columns).map(|i| f(i / columns, i % columns)).collect::<Vec<_>>()
        };
        let expected = [
            table(ROWS, OUTPUTS, &|i, j| sum(INPUTS, |k| x[i * INPUTS + k], |k| w[j * INPUTS + k])),
            table(ROWS, INPUTS, &|i, j| sum(OUTPUTS, |k| dy[i * OUTPUTS + k], |k| w[k * INPUTS + j])),
            table(OUTPUTS, INPUTS, &|i, j| sum(ROWS, |k| dy[k * OUTPUTS + i], |k| x[k * INPUTS + j])),
        ];
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!(found.len(), expected.len());
            for (found, exact) in found.iter().zip(expected) {
                if accumulate == Accumulation::Exact {
                    assert_eq!(found.to_bits(), (*exact as f32).to_bits(), "{exact}");
                } else {
                    // A dozen additions, each of at most 2^−24 of a partial sum below 64.
                    assert!(
                        (f64::from(*found) - exact).abs() < 12.0 * 64.0 / 16_777_216.0,
                        "{found}, {exact}"
                    );
                }
            }
        }
    }
}

#[test]
fn without_formats_it_is_the_layer() {
    // A linear function's central differences are its slopes, but for rounding.
    let config = LinearConfig::from(&Config::default());
    let (x, w, dy) = (normal("x", ROWS, INPUTS), normal("w", OUTPUTS, INPUTS), normal("dy", ROWS, OUTPUTS));
    let bias = tensor(&normal("b", 1, OUTPUTS)).squeeze(0).unwrap();
    let [x_var, w_var] = [&x, &w].map(|m| Var::from_tensor(&tensor(m)).unwrap());
    let layer =
        QuantizedLinear::new("layer", w_var.as_tensor().clone(), Some(bias.clone()), &config).unwrap();
    let [y, dx, dw] = run(&layer, &x_var, &w_var, &tensor(&dy));
    let plain = candle_nn::Linear::new(tensor(&w), Some(bias.clone()));
    for (ours, candle) in y.iter().zip(numbers(&plain.forward(&tensor(&x)).unwrap())) {
        assert!((ours - candle).abs() < 1e-5, "{ours}, {candle}");
    }
    let loss = |x: &Matrix, w: &Matrix| -> f64 {
        let y = numbers(&candle_nn::Linear::new(tensor(w), None).forward(&tensor(x)).unwrap());
        y.iter().zip(&dy.values).map(|(y, dy)| f64::from(*y) * f64::from(*dy)).sum()
    };
    let step = 0.25_f32;
    for (which, gradient) in [(0, &dx), (1, &dw)] {
        for i in (0..gradient.len()).step_by(5) {
            let at = |step: f32| {
                let (mut x, mut w) = (x.clone(), w.clone());
                [&mut x, &mut w][which].values[i] += step;
                loss(&x, &w)
            };
            let slope = (at(step) - at(-step)) / f64::from(2.0 * step);
            assert!((slope - f64::from(gradient[i])).abs() < 1e-4, "{which}, {i}: {slope}, {}", gradient[i]);
        }
    }
    // Rounded operands of the same layer: errors of an operand's element are at most 2^−4 (1_4_3)
    // and 2^−3 (1_5_2) of it, so sums of independent ones are well within a tenth of the gradient's
    // norm.
    let layer =
        QuantizedLinear::new("layer", w_var.as_tensor().clone(), None, &cfloat8(Accumulation::F32)).unwrap();
    let [_, near_dx, near_dw] = run(&layer, &x_var, &w_var, &tensor(&dy));
    for (exact, near) in [(dx, near_dx), (dw, near_dw)] {
        let norm = |x: &mut dyn Iterator<Item = f32>| x.map(|x| x * x).sum::<f32>().sqrt();
        let error = norm(&mut exact.iter().zip(&near).map(|(a, b)| a - b)) / norm(&mut exact.iter().copied());
        assert!(error > 0.0 && error < 0.1, "{error}");
    }
}

#[test]
fn it_is_the_trainers_layer() {
    let config = preset("cfloat8").unwrap();
    let mut parameters = ModelParameters::new(&config, 5, false);
    let mut ours = Linear::new(&mut parameters, "linear", [INPUTS, OUTPUTS], 0.2).unwrap();
    let weight = Matrix { columns: INPUTS, values: parameters.list[0].weights.values() };
    let (x, dy) = (normal("x", ROWS, INPUTS), normal("dy", ROWS, OUTPUTS));
    let [x_var, w_var] = [&x, &weight].map(|m| Var::from_tensor(&tensor(m)).unwrap());
    let layer = QuantizedLinear::new("linear", w_var.as_tensor().clone(), None, &LinearConfig::from(&config))
        .unwrap();
    for step in 1..=3 {
        parameters.clear_gradients();
        let moment = Moment { step, learning: true, counting: false };
        let mut pass = Pass {
            parameters: &mut parameters,
            accumulate: Accumulation::F32,
            moment,
            saved: Saved::default(),
        };
        let y = ours.forward(&mut pass, x.clone()).unwrap();
        let dx = ours.backward(&mut pass, dy.clone()).unwrap();
        let expected = [y.values, dx.values, parameters.list[0].gradient.clone()];
        assert_eq!(run(&layer, &x_var, &w_var, &tensor(&dy)), expected);
    }
    let biases: Vec<_> = ours.quantizers().iter().map(|quantizer| quantizer.bias()).collect();
    assert_eq!(layer.quantizers().map(Quantize::bias).to_vec(), biases);
}

#[test]
fn any_shape_and_layout() {
    let w = normal("w", OUTPUTS, INPUTS);
    let layer = |w: Tensor| QuantizedLinear::new("layer", w, None, &cfloat8(Accumulation::Exact)).unwrap();
    let x = tensor(&normal("x", 24, INPUTS));
    let flat = numbers(&layer(tensor(&w)).forward(&x).unwrap());
    let deep = layer(tensor(&w)).forward(&x.reshape((2, 3, 4, INPUTS)).unwrap()).unwrap();
    assert_eq!((deep.dims(), numbers(&deep)), (&[2, 3, 4, OUTPUTS][..], flat.clone()));
    // The same matrices by columns.
    let columns = |x: &Tensor| x.t().unwrap().contiguous().unwrap().t().unwrap();
    let strided = layer(columns(&tensor(&w))).forward(&columns(&x)).unwrap();
    assert_eq!(numbers(&strided), flat);

    // Gradients have the shapes of what they belong to, and only what is a variable gets one.
    let (x_var, w_var) = (
        Var::from_tensor(&x.reshape((6, 4, INPUTS)).unwrap()).unwrap(),
        Var::from_tensor(&tensor(&w)).unwrap(),
    );
    let learning = layer(w_var.as_tensor().clone());
    let y = learning.forward(&x_var).unwrap();
    // A transposed result has a gradient that does not lie in order.
    let loss = |y: Tensor| y.transpose(0, 1).unwrap().contiguous().unwrap().sqr().unwrap().sum_all().unwrap();
    let gradients = loss(y).backward().unwrap();
    assert_eq!(gradients.get(&x_var).unwrap().dims(), [6, 4, INPUTS]);
    assert_eq!(gradients.get(&w_var).unwrap().dims(), [OUTPUTS, INPUTS]);
    let gradients = loss(learning.forward(&x.reshape((6, 4, INPUTS)).unwrap()).unwrap()).backward().unwrap();
    assert!(gradients.get(&w_var).is_some());
    let vector = learning.forward(&x.get(0).unwrap()).unwrap();
    assert_eq!(vector.dims(), [OUTPUTS]);
}

#[test]
fn built_as_candles_layer_is() {
    let (config, variables) = (LinearConfig::cfloat8().unwrap(), VarMap::new());
    let vb = VarBuilder::from_varmap(&variables, DType::F32, &Device::Cpu);
    let layer = quantized_linear(INPUTS, OUTPUTS, &config, vb.pp("block.up")).unwrap();
    let bare = quantized_linear_no_bias(INPUTS, OUTPUTS, &config, vb.pp("block.down")).unwrap();
    assert_eq!(layer.weight().dims(), [OUTPUTS, INPUTS]);
    assert_eq!(layer.bias().unwrap().dims(), [OUTPUTS]);
    assert!(bare.bias().is_none());
    let mut names: Vec<_> = variables.data().lock().unwrap().keys().cloned().collect();
    names.sort();
    assert_eq!(names, ["block.down.weight", "block.up.bias", "block.up.weight"]);
    assert_eq!(layer.quantizers()[2].name(), "block.up.gradient");

    // b is added in binary32, and its gradient is that of the result, not rounded.
    let x = tensor(&normal("x", 1, INPUTS));
    let dy = tensor(&normal("dy", 1, OUTPUTS));
    let y = layer.forward(&x).unwrap();
    let gradients = (y * &dy).unwrap().sum_all().unwrap().backward().unwrap();
    let bias = variables.data().lock().unwrap()["block.up.bias"].clone();
    assert_eq!(numbers(gradients.get(&bias).unwrap()), numbers(&dy));

    // A state goes to the layer of the same name alone.
    let other = QuantizedLinear::new("block.up", layer.weight().clone(), None, &config).unwrap();
    other.restore(layer.state()).unwrap();
    assert_eq!(other.state(), layer.state());
    assert!(bare.restore(layer.state()).is_err());
}

#[test]
fn what_does_not_fit_is_said() {
    let config = LinearConfig::cfloat8().unwrap();
    let zeros = |shape: &[usize], dtype| Tensor::zeros(shape, dtype, &Device::Cpu).unwrap();
    let refused =
        |weight, bias| QuantizedLinear::new("layer", weight, bias, &config).unwrap_err().to_string();
    assert!(refused(zeros(&[2, 2, 2], DType::F32), None).contains("must be a matrix"));
    assert!(refused(zeros(&[2, 3], DType::BF16), None).contains("layer.weight: elements are bf16"));
    assert!(refused(zeros(&[2, 3], DType::F32), Some(zeros(&[3], DType::F32))).contains("must be [2]"));
    let layer = QuantizedLinear::new("layer", zeros(&[2, 3], DType::F32), None, &config).unwrap();
    let refused = |x: Tensor| layer.forward(&x).unwrap_err().to_string();
    assert!(refused(zeros(&[5, 2], DType::F32)).contains("[5, 2], rows must have 3 elements"));
    assert!(refused(zeros(&[], DType::F32)).contains("rows must have 3 elements"));
    assert!(refused(zeros(&[5, 3], DType::F64)).contains("layer.input: elements are f64, they must be f32"));
    assert_eq!(layer.quantizers()[0].tally().elements, 0);
    // Exact sums need formats of bounded range.
    let plain = LinearConfig { accumulate: Accumulation::Exact, ..LinearConfig::from(&Config::default()) };
    let layer = QuantizedLinear::new("layer", zeros(&[2, 3], DType::F32), None, &plain).unwrap();
    assert!(layer.forward(&zeros(&[5, 3], DType::F32)).is_err());
    let learnt = ClassConfig { bias: Some(BiasPolicy::Flags { patience: 0 }), ..config.input.clone() };
    let config = LinearConfig { input: learnt, ..config };
    assert!(QuantizedLinear::new("layer", zeros(&[2, 3], DType::F32), None, &config).is_err());
}
