//! A candle model with quantized layers: the digits by a perceptron, in f32 and with CFloat8 operands.
//!
//! `cargo run --release -p smallfloat-train --features candle --example candle_layer`

use candle_core::{D, Device, Result, Tensor, Var};
use smallfloat_train::candle::QuantizedLinear;
use smallfloat_train::data::{Batch, Data as _, Input, digits};
use smallfloat_train::{Config, Sequence, preset};

fn variable(name: &str, outputs: usize, inputs: usize, deviation: f32) -> Result<Var> {
    let sequence = Sequence::new(0, name);
    let values: Vec<f32> = (0..(outputs * inputs) as u64).map(|i| deviation * sequence.normal(i)).collect();
    Var::from_tensor(&Tensor::from_vec(values, (outputs, inputs), &Device::Cpu)?)
}

fn tensors(batch: Batch) -> Result<(Tensor, Vec<u32>)> {
    let Input::Rows(rows) = batch.input else { candle_core::bail!("digits are images") };
    let shape = (rows.rows(), rows.columns);
    Ok((
        Tensor::from_vec(rows.values, shape, &Device::Cpu)?,
        batch.labels.into_iter().map(u32::from).collect(),
    ))
}

fn run(name: &str, config: &Config) -> std::result::Result<(), Box<dyn std::error::Error>> {
    let data = digits()?;
    let variables = [variable("first", 64, 64, 0.18)?, variable("second", 10, 64, 0.18)?];
    let layer = |name, i: usize| QuantizedLinear::new(name, variables[i].as_tensor().clone(), None, config);
    let layers = [layer("first", 0)?, layer("second", 1)?];
    let forward = |x: &Tensor| layers[1].forward(&layers[0].forward(x)?.relu()?);
    for step in 0..300 {
        let (x, labels) = tensors(data.batch(0, step, 128))?;
        let labels = Tensor::new(labels, &Device::Cpu)?.unsqueeze(1)?;
        let logits = forward(&x)?;
        let normal = logits.broadcast_sub(&logits.exp()?.sum_keepdim(D::Minus1)?.log()?)?;
        let gradients = normal.gather(&labels, D::Minus1)?.mean_all()?.neg()?.backward()?;
        for variable in &variables {
            if let Some(gradient) = gradients.get(variable) {
                variable.set(&(variable.as_tensor() - (gradient * 0.2)?)?)?;
            }
        }
    }
    let (mut right, mut count) = (0, 0);
    for batch in data.validation() {
        let (x, labels) = tensors(batch)?;
        let found = forward(&x)?.argmax(D::Minus1)?.to_vec1::<u32>()?;
        right += found.iter().zip(&labels).filter(|(a, b)| a == b).count();
        count += labels.len();
    }
    println!("{name}: {right} of {count} right; biases {:?}", layers.map(|layer| layer.biases()));
    Ok(())
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    for name in ["f32", "cfloat8", "flag-driven"] {
        run(name, &preset(name)?)?;
    }
    Ok(())
}
