//! A small network of quantized layers learns what the same network in binary32 learns.
#![expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "a few hundred points")]

use candle_core::{D, DType, Device, Module, Result, Tensor};
use candle_nn::{AdamW, Optimizer, ParamsAdamW, VarBuilder, VarMap, linear, loss::cross_entropy};
use smallfloat_candle::{LinearConfig, QuantizedLinear, preset};

/// Points of three intertwined spirals: no line parts them.
fn spirals(count: usize) -> (Tensor, Tensor) {
    let points = (0..count).map(|i| {
        let (arm, along) = ((i % 3) as f32, i as f32 / count as f32);
        let angle = arm * std::f32::consts::TAU / 3.0 + 4.0 * along;
        ([along * angle.cos(), along * angle.sin()], (i % 3) as u32)
    });
    let (points, labels): (Vec<[f32; 2]>, Vec<u32>) = points.unzip();
    let points = Tensor::from_vec(points.concat(), (count, 2), &Device::Cpu).unwrap();
    (points, Tensor::new(labels, &Device::Cpu).unwrap())
}

/// The loss after training, and the share of right answers.
fn train(config: Option<&LinearConfig>) -> Result<(f32, f32)> {
    let variables = VarMap::new();
    let vb = VarBuilder::from_varmap(&variables, DType::F32, &Device::Cpu);
    let mut layers: Vec<Box<dyn Module>> = Vec::new();
    for (i, size) in [2, 32, 32, 3].windows(2).enumerate() {
        let name = format!("linear{i}");
        let plain = linear(size[0], size[1], vb.pp(&name))?;
        layers.push(match config {
            Some(config) => Box::new(QuantizedLinear::from_linear(&name, &plain, config)?),
            None => Box::new(plain),
        });
    }
    // First weights that are the same in every run: low-discrepancy numbers from −a to a.
    for (name, variable) in variables.data().lock().unwrap().iter() {
        let columns = variable.dims()[variable.rank() - 1];
        let a = (3.0 / columns as f32).sqrt();
        let first = name.len() as f32;
        let values: Vec<f32> = (0..variable.elem_count())
            .map(|i| a * (2.0 * ((i as f32 + first) * 0.618_034).fract() - 1.0))
            .collect();
        variable.set(&Tensor::from_vec(values, variable.shape(), &Device::Cpu)?)?;
    }
    let (x, labels) = spirals(300);
    let forward = || {
        layers.iter().enumerate().try_fold(x.clone(), |x, (i, layer)| {
            let y = layer.forward(&x)?;
            if i < 2 { y.relu() } else { Ok(y) }
        })
    };
    let mut adam = AdamW::new(
        variables.all_vars(),
        ParamsAdamW { lr: 1e-2, weight_decay: 0.0, ..ParamsAdamW::default() },
    )?;
    for _ in 0..200 {
        adam.backward_step(&cross_entropy(&forward()?, &labels)?)?;
    }
    let logits = forward()?;
    let right = logits.argmax(D::Minus1)?.eq(&labels)?.to_dtype(DType::F32)?.mean_all()?.to_scalar()?;
    Ok((cross_entropy(&logits, &labels)?.to_scalar()?, right))
}

#[test]
fn spirals_are_learnt_in_eight_bits() {
    // ln 3 = 1.1 is what guessing costs.
    let (bound, share) = (0.2, 0.95);
    let (plain, right) = train(None).unwrap();
    assert!(plain < bound && right > share, "f32: {plain}, {right}");
    for name in ["cfloat8", "flag-driven"] {
        let config = LinearConfig::from(&preset(name).unwrap());
        let (loss, right) = train(Some(&config)).unwrap();
        assert!(loss < bound && right > share, "{name}: {loss}, {right}; f32: {plain}");
    }
}
