//! Numbers for experiments: generated from a seed, a built-in sample of a network's tensors, or a
//! file's.

use std::path::Path;

use smallfloat::random::Philox;
use smallfloat_kernels::{Bf16, F16};
use smallfloat_tensor::{Dtype, Source};

use crate::error::Error;
use crate::named::by_name;

/// Independent random numbers: Philox4x32-10 with the seed as key; each purpose has a stream of its
/// own. The same on every machine.
#[derive(Clone, Copy, Debug)]
pub struct Random {
    words: Philox,
}

impl Random {
    /// Returns the numbers of a seed and a stream.
    pub fn new(seed: u64, stream: u64) -> Self {
        Self { words: Philox { seed, stream } }
    }

    /// Returns element `i`, uniform in (0, 1), a multiple of 2^−53.
    pub fn uniform(&self, i: u64) -> f64 {
        let [a, b, ..] = self.words.block(i);
        unit_interval(a, b)
    }

    /// Returns element `i` of a normal distribution with mean 0 and standard deviation 1 (Box and
    /// Muller's transform of two uniform numbers).
    pub fn normal(&self, i: u64) -> f64 {
        let [a, b, c, d] = self.words.block(i);
        let radius = (-2.0 * libm::log(unit_interval(a, b))).sqrt();
        radius * libm::cos(std::f64::consts::TAU * unit_interval(c, d))
    }

    /// Returns word `i`.
    pub fn word(&self, i: u64) -> u32 {
        self.words.word(i)
    }
}

/// (0, 1) from 53 of 64 random bits; 0 itself becomes the next number.
#[expect(clippy::cast_precision_loss, reason = "53 bits are exact")]
fn unit_interval(a: u32, b: u32) -> f64 {
    let bits = (u64::from(a) << 32 | u64::from(b)) >> 11;
    bits.max(1) as f64 / 2.0_f64.powi(53)
}

/// The role of a tensor in a network, which files do not record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// Parameters.
    Weights,
    /// Values between layers.
    Activations,
    /// Derivatives of the loss.
    Gradients,
    /// A tensor of a file.
    File,
}

impl Role {
    /// All roles by their names in tables.
    pub const NAMED: [(&'static str, Self); 4] = [
        ("weights", Self::Weights),
        ("activations", Self::Activations),
        ("gradients", Self::Gradients),
        ("file", Self::File),
    ];
}

by_name!(Role, "role");

/// A named tensor in `f64`.
#[derive(Clone, PartialEq, Debug)]
pub struct Tensor {
    /// Its name.
    pub name: String,
    /// What it is.
    pub role: Role,
    /// How many elements follow each other in the last dimension.
    pub row: usize,
    /// Its elements, in C order.
    pub values: Vec<f64>,
}

impl Tensor {
    /// Returns the largest magnitude of a finite element.
    pub fn amax(&self) -> f64 {
        self.values.iter().filter(|x| x.is_finite()).fold(0.0, |most, x| x.abs().max(most))
    }

    /// Returns the root of the mean square of the finite elements; 0 where there are none.
    pub fn rms(&self) -> f64 {
        let finite = || self.values.iter().filter(|x| x.is_finite());
        let (sum, count) = finite().fold((0.0, 0.0), |(sum, count), x| (sum + x * x, count + 1.0));
        if count > 0.0 { (sum / count).sqrt() } else { 0.0 }
    }
}

/// How many tensors the built-in sample has of each role.
const LAYERS: u64 = 8;
const ROWS: u64 = 32;
const ROW: usize = 128;

/// Returns a small model of a network: eight layers with weights, activations and gradients. Their
/// sizes are made up, the shapes of their distributions are those that the literature reports:
/// weights about normal with a scale of their own for each layer; activations half of them zero, a
/// few large ones; gradients over many binades, smaller from layer to layer.
pub fn sample(seed: u64) -> Vec<Tensor> {
    let mut tensors = Vec::new();
    for (stream, role) in (1..).zip([Role::Weights, Role::Activations, Role::Gradients]) {
        for layer in 0..LAYERS {
            let random = Random::new(seed, stream << 32 | layer);
            let values = (0..ROWS * ROW as u64).map(|i| element(role, layer, &random, i)).collect();
            let name = format!("layers.{layer}.{role}");
            tensors.push(Tensor { name, role, row: ROW, values });
        }
    }
    tensors
}

#[expect(clippy::cast_precision_loss, reason = "layers are few")]
fn element(role: Role, layer: u64, random: &Random, i: u64) -> f64 {
    let depth = layer as f64;
    let z = random.normal(2 * i);
    match role {
        // A factor of 2^(1/4) from layer to layer.
        Role::Weights | Role::File => 0.02 * libm::exp2(depth / 4.0) * z,
        // After a ReLU; one in 128 is ten times as large.
        Role::Activations => {
            let large = if random.word(8 * i + 4).is_multiple_of(128) { 10.0 } else { 1.0 };
            (libm::exp2(depth / 4.0) * large * z).max(0.0)
        }
        // Log-normal with a standard deviation of three binades, half of them negative.
        Role::Gradients => {
            let sign = if random.word(8 * i + 4).is_multiple_of(2) { 1.0 } else { -1.0 };
            sign * libm::exp2(3.0 * z - 8.0 - 2.0 * depth)
        }
    }
}

/// Returns all tensors of a `.safetensors` or `.npy` file whose elements are F64, F32, F16 or BF16.
///
/// # Errors
/// A file that can't be read, or has no such tensor.
pub fn read(path: impl AsRef<Path>) -> Result<Vec<Tensor>, Error> {
    let path = path.as_ref();
    let refused = |cause: String| Error::Data { path: path.to_path_buf(), cause };
    let source = Source::open(path).map_err(|e| Error::File(e.to_string()))?;
    let mut tensors = Vec::new();
    for info in source.tensors().iter().filter(|info| info.dtype.is_wide_float() && info.len > 0) {
        let bytes = source.read_all(info).map_err(|e| Error::File(e.to_string()))?;
        let row = info.shape.last().map_or(Ok(1), |&last| usize::try_from(last));
        let row = row.map_err(|e| refused(e.to_string()))?;
        let values = wide(info.dtype, &bytes);
        tensors.push(Tensor { name: info.name.clone(), role: Role::File, row, values });
    }
    if tensors.is_empty() {
        return Err(refused("no tensor of F64, F32, F16 or BF16 elements".into()));
    }
    Ok(tensors)
}

/// The elements, each exactly.
fn wide(dtype: Dtype, bytes: &[u8]) -> Vec<f64> {
    fn each<const N: usize>(bytes: &[u8], value: impl Fn([u8; N]) -> f64) -> Vec<f64> {
        bytes.as_chunks::<N>().0.iter().map(|&element| value(element)).collect()
    }
    match dtype {
        Dtype::F64 => each(bytes, f64::from_le_bytes),
        Dtype::F16 => each(bytes, |b| F16::from_le_bytes(b).to_f64()),
        Dtype::BF16 => each(bytes, |b| Bf16::from_le_bytes(b).to_f64()),
        _ => each(bytes, |b| f32::from_le_bytes(b).into()),
    }
}

/// The exponent of the power of two that brings a magnitude into [1, 2): ⌊log2 x⌋; 0 for zero.
pub(crate) fn binade(x: f64) -> i32 {
    crate::instruments::unit::datum(x).exponent_of_leading_bit()
}

/// x · 2^e.
pub(crate) fn scaled(x: f64, e: i32) -> f64 {
    libm::ldexp(x, e)
}
