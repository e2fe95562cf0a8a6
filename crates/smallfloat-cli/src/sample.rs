//! The built-in sample checkpoint: a small model with layers of very different scale, the same on
//! every machine.

use std::path::Path;

use smallfloat::formats::{BFLOAT16, BINARY16};
use smallfloat::random::Philox;
use smallfloat_tensor::{Dtype, Result, Sink, SinkOptions, TensorSpec, stream_of_name};

/// What the elements of a tensor are.
#[derive(Clone, Copy)]
enum Kind {
    /// About normal, with this standard deviation.
    Normal(f64),
    /// About normal, with one element in 997 25 times as large.
    Outliers(f64),
    /// Around 1, with this standard deviation.
    NearOne(f64),
    /// All zero.
    Zeros,
    /// 0, 1, 2, … as integers.
    Positions,
}

struct Tensor {
    name: &'static str,
    dtype: Dtype,
    shape: &'static [u64],
    kind: Kind,
    what: &'static str,
}

const TENSORS: [Tensor; 12] = [
    tensor("embeddings.weight", Dtype::F32, &[1536, 256], Kind::Normal(1.0), "token embeddings"),
    tensor("embeddings.position_ids", Dtype::I64, &[1, 512], Kind::Positions, "integers"),
    tensor("layers.0.attn.qkv.weight", Dtype::F32, &[768, 256], Kind::Normal(0.05), "attention"),
    tensor("layers.0.attn.out.weight", Dtype::BF16, &[256, 256], Kind::Normal(0.05), "attention"),
    tensor("layers.0.attn.out.bias", Dtype::F32, &[256], Kind::Zeros, "never trained"),
    tensor("layers.0.norm.weight", Dtype::F32, &[256], Kind::NearOne(0.02), "near 1"),
    tensor("layers.0.mlp.up.weight", Dtype::F32, &[1024, 256], Kind::Normal(0.02), "wide and small"),
    tensor("layers.0.mlp.down.weight", Dtype::F32, &[256, 1024], Kind::Outliers(0.02), "with outliers"),
    tensor("layers.0.router.weight", Dtype::F32, &[64, 256], Kind::Normal(1e-6), "tiny"),
    tensor("head.weight", Dtype::F16, &[256, 256], Kind::Normal(0.3), "output layer"),
    tensor("head.scale", Dtype::F64, &[256], Kind::Normal(3e3), "large"),
    tensor("optimizer.gradient", Dtype::F32, &[256, 256], Kind::Normal(1e-10), "gradients"),
];

const fn tensor(
    name: &'static str,
    dtype: Dtype,
    shape: &'static [u64],
    kind: Kind,
    what: &'static str,
) -> Tensor {
    Tensor { name, dtype, shape, kind, what }
}

/// What a tensor of the sample stands for, in a few words.
pub(crate) fn description(name: &str) -> &'static str {
    TENSORS.iter().find(|tensor| tensor.name == name).map_or("", |tensor| tensor.what)
}

/// Writes the checkpoint.
pub(crate) fn write(path: &Path) -> Result<()> {
    let specs = TENSORS.iter().map(|tensor| TensorSpec::new(tensor.name, tensor.dtype, tensor.shape));
    let sink = Sink::create(path, specs.collect(), Vec::new(), SinkOptions::default())?;
    for (slot, tensor) in TENSORS.iter().enumerate() {
        sink.append(slot, &bytes(tensor))?;
    }
    sink.finish()
}

fn bytes(tensor: &Tensor) -> Vec<u8> {
    let elements: u64 = tensor.shape.iter().product();
    let words = Philox { seed: 0, stream: stream_of_name(tensor.name) };
    let mut bytes = Vec::new();
    for i in 0..elements {
        let x = match tensor.kind {
            Kind::Positions => {
                bytes.extend(i.to_le_bytes());
                continue;
            }
            Kind::Zeros => 0.0,
            Kind::Outliers(sigma) if i % 997 == 0 => 25.0 * sigma * normal(words, i),
            Kind::Normal(sigma) | Kind::Outliers(sigma) => sigma * normal(words, i),
            Kind::NearOne(sigma) => 1.0 + sigma * normal(words, i),
        };
        push(&mut bytes, tensor.dtype, x);
    }
    bytes
}

/// A sum of four uniform numbers, scaled to standard deviation 1: exact in `f64`, so the same
/// everywhere.
fn normal(words: Philox, i: u64) -> f64 {
    let sum: f64 = words.block(i).iter().map(|&word| f64::from(word) / 4_294_967_296.0 - 0.5).sum();
    // The variance of four uniform numbers is 1/3.
    sum * 3.0_f64.sqrt()
}

fn push(bytes: &mut Vec<u8>, dtype: Dtype, x: f64) {
    #[expect(clippy::cast_possible_truncation, reason = "rounding is wanted; codes have 16 bits")]
    match dtype {
        Dtype::F64 => bytes.extend(x.to_le_bytes()),
        Dtype::F16 => {
            let code = BINARY16.encode_f64(x, &BINARY16.default_projection()).value as u16;
            bytes.extend(code.to_le_bytes());
        }
        Dtype::BF16 => {
            let code = BFLOAT16.encode_f64(x, &BFLOAT16.default_projection()).value as u16;
            bytes.extend(code.to_le_bytes());
        }
        _ => bytes.extend((x as f32).to_le_bytes()),
    }
}
