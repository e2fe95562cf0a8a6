//! A candle model with quantized layers: 1,797 handwritten digits by a perceptron, with candle's
//! linear layers and with CFloat8 operands, from the same first weights on the same batches.
//!
//! `cargo run --release --example digits`

use candle_core::{D, DType, Device, Error, Result, Tensor};
use candle_nn::{AdamW, Module, Optimizer, ParamsAdamW, VarBuilder, VarMap, linear, loss::cross_entropy};
use smallfloat_candle::{LinearConfig, QuantizedLinear, preset};
use smallfloat_train::data::{Batch, Dataset as _, Input, digits};
use smallfloat_train::{Config, RandomSequence};

const SIZES: [usize; 4] = [64, 128, 64, 10];

fn tensors(batch: Batch) -> Result<(Tensor, Tensor)> {
    let Input::Rows(rows) = batch.input else { candle_core::bail!("digits are images") };
    let shape = (rows.rows(), rows.columns);
    let labels: Vec<u32> = batch.labels.into_iter().map(u32::from).collect();
    Ok((Tensor::from_vec(rows.values, shape, &Device::Cpu)?, Tensor::new(labels, &Device::Cpu)?))
}

/// First weights that are the same for every run: √(2/inputs) times normal numbers.
fn first_weights(variables: &VarMap) -> Result<()> {
    for (name, variable) in variables.data().lock().map_err(|e| Error::msg(e.to_string()))?.iter() {
        let sequence = RandomSequence::new(0, name);
        let inputs = u16::try_from(variable.dims()[variable.rank() - 1]).map_err(Error::wrap)?;
        let deviation = if variable.rank() == 2 { (2.0 / f32::from(inputs)).sqrt() } else { 0.0 };
        let values: Vec<f32> =
            (0..variable.elem_count() as u64).map(|i| deviation * sequence.normal(i)).collect();
        variable.set(&Tensor::from_vec(values, variable.shape(), &Device::Cpu)?)?;
    }
    Ok(())
}

/// Trains; without a configuration by candle's own layers. Gives the last batch's loss and the
/// share of right answers.
fn train(config: Option<&Config>) -> Result<(f32, f64, Vec<QuantizedLinear>)> {
    let data = digits().map_err(Error::wrap)?;
    let variables = VarMap::new();
    let vb = VarBuilder::from_varmap(&variables, DType::F32, &Device::Cpu);
    let (mut layers, mut quantized): (Vec<Box<dyn Module>>, Vec<QuantizedLinear>) = (Vec::new(), Vec::new());
    for (i, size) in SIZES.windows(2).enumerate() {
        let vb = vb.pp(format!("linear{i}"));
        let plain = linear(size[0], size[1], vb.clone())?;
        if let Some(config) = config {
            let layer = QuantizedLinear::from_linear(&vb.prefix(), &plain, &LinearConfig::from(config))?;
            quantized.push(layer.clone());
            layers.push(Box::new(layer));
        } else {
            layers.push(Box::new(plain));
        }
    }
    first_weights(&variables)?;
    let forward = |x: &Tensor| {
        layers.iter().enumerate().try_fold(x.clone(), |x, (i, layer)| {
            let y = layer.forward(&x)?;
            if i + 1 < layers.len() { y.relu() } else { Ok(y) }
        })
    };
    let rates = ParamsAdamW { lr: 2e-3, weight_decay: 0.0, ..ParamsAdamW::default() };
    let mut optimizer = AdamW::new(variables.all_vars(), rates)?;
    let mut last = f32::NAN;
    for step in 0..300 {
        let (x, labels) = tensors(data.batch(0, step, 128))?;
        let loss = cross_entropy(&forward(&x)?, &labels)?;
        optimizer.backward_step(&loss)?;
        last = loss.to_scalar()?;
    }
    for layer in &quantized {
        layer.set_learning(false);
    }
    let (mut right, mut count) = (0.0, 0);
    for batch in data.validation() {
        let (x, labels) = tensors(batch)?;
        let found = forward(&x)?.argmax(D::Minus1)?;
        right += f64::from(found.eq(&labels)?.to_dtype(DType::F32)?.sum_all()?.to_scalar::<f32>()?);
        count += labels.elem_count();
    }
    #[expect(clippy::cast_precision_loss, reason = "a few hundred images")]
    let share = right / count as f64;
    Ok((last, share, quantized))
}

fn main() -> Result<()> {
    println!("{:14} {:>9} {:>9}  biases of input, weight, gradient", "", "loss", "right");
    let (loss, right, _) = train(None)?;
    println!("{:14} {loss:9.4} {:8.1}%", "candle, f32", 100.0 * right);
    for name in ["cfloat8", "flag-driven", "ocp-e4m3-e5m2"] {
        let (loss, right, layers) = train(Some(&preset(name).map_err(Error::wrap)?))?;
        let biases: Vec<_> =
            layers.iter().map(|layer| layer.quantizers().map(|q| q.bias().unwrap_or(0))).collect();
        println!("{name:14} {loss:9.4} {:8.1}%  {biases:?}", 100.0 * right);
    }
    Ok(())
}
