//! One tensor of a safetensors file as numbers, stored wide or quantized.

use std::{env, fs, process};

use smallfloat_tensor::{Dtype, Options, Sink, SinkOptions, TensorSpec, View, quantize};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = env::temp_dir().join(format!("one-tensor-{}", process::id()));
    fs::create_dir(&dir)?;
    let (model, small) = (dir.join("model.safetensors"), dir.join("small.safetensors"));

    // 1, 1.1, -0.3 and 448 in bfloat16.
    let tensors = vec![TensorSpec::new("layer.weight", Dtype::BF16, [2, 2])];
    let sink = Sink::create(&model, tensors, Vec::new(), SinkOptions::default())?;
    sink.append(0, &[0x80, 0x3f, 0x8d, 0x3f, 0x9a, 0xbe, 0xe0, 0x43])?;
    sink.finish()?;

    let weight = View::open(&model)?.values_as::<f32>("layer.weight")?;
    assert_eq!(weight, [1.0, 1.1015625, -0.30078125, 448.0]);

    // Codes are read as their values.
    quantize(&model, &small, &Options::new("e4m3fn".parse()?), &|_| true, &mut |_| {})?;
    let rounded = View::open(&small)?.values_as::<f32>("layer.weight")?;
    assert_eq!(rounded, [1.0, 1.125, -0.3125, 448.0]);

    println!("{weight:?} -> {rounded:?}");
    fs::remove_dir_all(dir)?;
    Ok(())
}
