//! Gradients of layers and models against finite differences, and of quantized layers against the
//! straight-through definition.

use smallfloat::{Format, Projection, convert, formats::BINARY32};
use smallfloat_train::data::{Batch, Input};
use smallfloat_train::layers::{
    Attention, Chain, Convolution, Gelu, Layer, Linear, Norm, Pass, Pool, Relu, Residual, Saved,
    cross_entropy,
};
use smallfloat_train::{
    Accumulation, Architecture, Config, Matrix, Model, ModelParameters, Moment, RandomSequence,
};

const MOMENT: Moment = Moment { step: 1, learning: true, counting: false };

fn pass(parameters: &mut ModelParameters, accumulate: Accumulation) -> Pass<'_> {
    Pass { parameters, accumulate, moment: MOMENT, saved: Saved::default() }
}

fn normal(name: &str, rows: usize, columns: usize) -> Matrix {
    let sequence = RandomSequence::new(7, name);
    Matrix { columns, values: (0..(rows * columns) as u64).map(|i| sequence.normal(i)).collect() }
}

fn plain() -> ModelParameters {
    ModelParameters::new(&Config::default(), 3, false)
}

/// Σ y·c, in binary64.
fn along(y: &Matrix, c: &Matrix) -> f64 {
    y.values.iter().zip(&c.values).map(|(y, c)| f64::from(*y) * f64::from(*c)).sum()
}

fn close(what: &str, found: f32, slope: f64) {
    let error = (f64::from(found) - slope).abs();
    assert!(error <= 2e-3 + 1e-2 * slope.abs(), "{what}: backward gives {found}, differences {slope}");
}

/// The slope of `f` along one variable.
fn slope(mut f: impl FnMut(f32) -> f64) -> f64 {
    const STEP: f32 = 1.0 / 256.0;
    (f(STEP) - f(-STEP)) / (2.0 * f64::from(STEP))
}

/// Holds a layer's backward pass against differences of its forward pass, for its input and its
/// parameters.
fn check(name: &str, parameters: &mut ModelParameters, layer: &mut dyn Layer, x: &Matrix) {
    // Gains of one and biases of zero would hide mistakes.
    for parameter in 0..parameters.list.len() {
        let noise = normal(&parameters.list[parameter].name, 1, parameters.list[parameter].gradient.len());
        add(parameters, parameter, |i| 0.3 * noise.values[i]);
    }
    let y = layer.forward(&mut pass(parameters, Accumulation::F32), x.clone()).unwrap();
    let c = normal("direction", y.rows(), y.columns);
    parameters.clear_gradients();
    let dx = layer.backward(&mut pass(parameters, Accumulation::F32), c.clone()).unwrap();
    assert_eq!((dx.rows(), dx.columns), (x.rows(), x.columns), "{name}");
    for i in (0..x.values.len()).step_by(x.values.len().div_ceil(40)) {
        let slope = slope(|step| {
            let mut x = x.clone();
            x.values[i] += step;
            along(&layer.forward(&mut pass(parameters, Accumulation::F32), x).unwrap(), &c)
        });
        close(&format!("{name}, input {i}"), dx.values[i], slope);
    }
    for parameter in 0..parameters.list.len() {
        let gradient = parameters.list[parameter].gradient.clone();
        for i in (0..gradient.len()).step_by(gradient.len().div_ceil(15)) {
            let slope = slope(|step| {
                add(parameters, parameter, |j| if i == j { step } else { 0.0 });
                let y = layer.forward(&mut pass(parameters, Accumulation::F32), x.clone()).unwrap();
                add(parameters, parameter, |j| if i == j { -step } else { 0.0 });
                along(&y, &c)
            });
            close(&format!("{name}, {} {i}", parameters.list[parameter].name), gradient[i], slope);
        }
    }
}

/// Moves a parameter.
fn add(parameters: &mut ModelParameters, parameter: usize, by: impl Fn(usize) -> f32) {
    let kept = &parameters.list[parameter].weights;
    let values = kept.values().into_iter().enumerate().map(|(i, w)| w + by(i)).collect();
    let mut kept = kept.clone();
    kept.store(values, 1, 0, parameters.coders()).unwrap();
    parameters.list[parameter].weights = kept;
}

#[test]
fn layers_against_differences() {
    let x = normal("x", 6, 8);
    let mut p = plain();
    let mut linear = Linear::new(&mut p, "linear", [8, 5], 0.4).unwrap();
    check("linear", &mut p, &mut linear, &x);

    let mut p = plain();
    let mut norm = Norm::new(&mut p, "norm", 8).unwrap();
    check("norm", &mut p, &mut norm, &x);

    check("gelu", &mut plain(), &mut Gelu::default(), &x);
    // Away from the corner, which differences would cut.
    let away = Matrix { columns: 8, values: x.values.iter().map(|x| x + 0.1 * x.signum()).collect() };
    check("relu", &mut plain(), &mut Relu::default(), &away);

    let mut p = plain();
    let inner = Linear::new(&mut p, "linear", [8, 8], 0.4).unwrap();
    let mut residual = Residual(Chain(vec![Box::new(inner), Box::new(Gelu::default())]));
    check("residual", &mut p, &mut residual, &x);

    // Two sequences of five tokens, two heads of three channels.
    check("attention", &mut plain(), &mut Attention::new(5, 2), &normal("qkv", 10, 18));

    let images = normal("images", 2, 5 * 4 * 3);
    let mut p = plain();
    let mut convolution = Convolution::new(&mut p, "convolution", [5, 4, 3], 2, 0.3).unwrap();
    check("convolution", &mut p, &mut convolution, &images);
    // Distinct values, so that no step changes which is the largest.
    let order = Matrix { columns: 60, values: (0..120_u16).map(|i| f32::from(i * 37 % 120) / 8.0).collect() };
    check("pool", &mut plain(), &mut Pool::new([5, 4, 3]), &order);
}

#[test]
fn later_tokens_are_not_seen() {
    let mut attention = Attention::new(6, 1);
    let x = normal("qkv", 6, 12);
    let mut p = plain();
    let y = attention.forward(&mut pass(&mut p, Accumulation::F32), x.clone()).unwrap();
    let mut changed = x;
    changed.values[4 * 12..].fill(9.0);
    let z = attention.forward(&mut pass(&mut p, Accumulation::F32), changed).unwrap();
    assert_eq!(y.range(0..4), z.range(0..4));
    assert_ne!(y.row(4), z.row(4));
}

#[test]
fn cross_entropy_against_differences() {
    let logits = normal("logits", 3, 5);
    let labels = [1, 4, 0];
    let loss = cross_entropy(&logits, &labels, 1.0);
    for i in 0..15 {
        let slope = slope(|step| {
            let mut logits = logits.clone();
            logits.values[i] += step;
            cross_entropy(&logits, &labels, 1.0).mean
        });
        close(&format!("logit {i}"), loss.gradient.values[i], slope);
    }
    let even = cross_entropy(&Matrix::zeros(1, 65), &[3], 4.0);
    assert!((even.mean - 65_f64.ln()).abs() < 1e-6, "a uniform guess among 65");
    assert!((even.gradient.values[0] - 4.0 / 65.0).abs() < 1e-7, "the scale is in the gradient");
}

#[test]
fn models_against_differences() {
    let tokens = |n: u16| (0..n).map(|i| i * 5 % 7).collect::<Vec<u16>>();
    let transformer = Architecture::CharTransformer { layers: 1, channels: 8, heads: 2, context: 4 };
    let cases = [
        (transformer, Batch { input: Input::Tokens(tokens(8)), labels: vec![1, 2, 3, 4, 5, 6, 0, 1] }),
        (
            Architecture::Mlp { inputs: 6 },
            Batch { input: Input::Rows(normal("rows", 3, 6)), labels: vec![0, 6, 2] },
        ),
        (
            Architecture::Cnn { height: 4, width: 4 },
            Batch { input: Input::Rows(normal("rows", 2, 16)), labels: vec![3, 5] },
        ),
    ];
    for (architecture, batch) in cases {
        let mut p = plain();
        let mut model = Model::new(&mut p, architecture, 7).unwrap();
        for parameter in 0..p.list.len() {
            let noise = normal(&p.list[parameter].name, 1, p.list[parameter].gradient.len());
            add(&mut p, parameter, |i| 0.1 * noise.values[i]);
        }
        let loss = model.loss(&mut pass(&mut p, Accumulation::F32), &batch, 1.0).unwrap();
        model.backward(&mut pass(&mut p, Accumulation::F32), &batch, loss.gradient).unwrap();
        for parameter in 0..p.list.len() {
            let gradient = p.list[parameter].gradient.clone();
            let largest =
                (0..gradient.len()).max_by(|a, b| gradient[*a].abs().total_cmp(&gradient[*b].abs())).unwrap();
            let slope = slope(|step| {
                add(&mut p, parameter, |j| if j == largest { step } else { 0.0 });
                let loss = model.loss(&mut pass(&mut p, Accumulation::F32), &batch, 1.0).unwrap();
                add(&mut p, parameter, |j| if j == largest { -step } else { 0.0 });
                loss.mean
            });
            close(&format!("{architecture:?}, {}", p.list[parameter].name), gradient[largest], slope);
        }
    }
}

/// The values that the core rounds to.
fn rounded(values: &[f32], format: &Format) -> Vec<f64> {
    let projection: Projection = format.default_projection();
    values
        .iter()
        .map(|x| {
            let code = convert(u64::from(x.to_bits()), &BINARY32, format, &projection).value;
            let wide = convert(code, format, &BINARY32, &BINARY32.default_projection()).value;
            f64::from(f32::from_bits(u32::try_from(wide).unwrap()))
        })
        .collect()
}

/// Rounded once to binary32; a zero has no sign.
fn narrow(sum: f64) -> u32 {
    #[expect(clippy::cast_possible_truncation, reason = "this is the rounding")]
    let narrow = (sum + 0.0) as f32;
    narrow.to_bits()
}

#[test]
fn quantized_layers_are_straight_through() {
    let config: Config = r#"
        [activations]
        format = "cfloat8_1_4_3:bias=9"
        [weights]
        format = "cfloat8_1_4_3:bias=11"
        [gradients]
        format = "cfloat8_1_5_2:bias=20"
    "#
    .parse()
    .unwrap();
    let (inputs, outputs, rows) = (12, 7, 9);
    let mut p = ModelParameters::new(&config, 5, false);
    let mut linear = Linear::new(&mut p, "linear", [inputs, outputs], 0.2).unwrap();
    let (x, dy) = (normal("x", rows, inputs), normal("dy", rows, outputs));
    let weights = p.list[0].weights.values();
    let y = linear.forward(&mut pass(&mut p, Accumulation::Exact), x.clone()).unwrap();
    let dx = linear.backward(&mut pass(&mut p, Accumulation::Exact), dy.clone()).unwrap();

    let format = |name: &str| name.parse::<Format>().unwrap();
    let q_x = rounded(&x.values, &format("cfloat8_1_4_3:bias=9"));
    let q_w = rounded(&weights, &format("cfloat8_1_4_3:bias=11"));
    let q_dy = rounded(&dy.values, &format("cfloat8_1_5_2:bias=20"));
    // Sums of so few small integers are exact in binary64.
    for row in 0..rows {
        for column in 0..outputs {
            let sum: f64 = (0..inputs).map(|i| q_x[row * inputs + i] * q_w[column * inputs + i]).sum();
            assert_eq!(y.row(row)[column].to_bits(), narrow(sum), "y {row} {column}");
        }
        for column in 0..inputs {
            let sum: f64 = (0..outputs).map(|i| q_dy[row * outputs + i] * q_w[i * inputs + column]).sum();
            assert_eq!(dx.row(row)[column].to_bits(), narrow(sum), "dx {row} {column}");
        }
    }
    for row in 0..outputs {
        for column in 0..inputs {
            let sum: f64 = (0..rows).map(|i| q_dy[i * outputs + row] * q_x[i * inputs + column]).sum();
            assert_eq!(p.list[0].gradient[row * inputs + column].to_bits(), narrow(sum), "dW {row} {column}");
        }
        let sum: f32 = (0..rows).map(|i| dy.row(i)[row]).sum();
        assert!((p.list[1].gradient[row] - sum).abs() < 1e-5, "db {row}");
    }
}
