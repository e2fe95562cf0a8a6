//! Experiments on real training: two small models, and the tensors of their products.
//!
//! | model | learns | from |
//! | --- | --- | --- |
//! | convolutional net | handwritten digits | `smallfloat-train`'s digits, 8 × 8 pixels |
//! | transformer | each pixel of such an image from those before it | the same, as a text |

pub(super) mod biases_in_use;
pub(super) mod direct_cast;
pub(super) mod gradient_formats;
pub(super) mod tensor_biases;

use smallfloat::{Format, FormatSpec};
use smallfloat_tensor::{BiasPolicy, Magnitudes};
use smallfloat_train::data::{Dataset, digit_pixels, digits};
use smallfloat_train::{Accumulation, Architecture, Config, RunOptions, Trainer, preset};

use crate::error::Error;
use crate::instruments::data::Role;

/// Steps of a run.
const STEPS: usize = 200;
/// Pixels of a window of the transformer: an image's, and a line break.
const CONTEXT: usize = 65;

/// The models.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::experiments) enum Net {
    Convolutional,
    Transformer,
}

impl Net {
    const ALL: [Self; 2] = [Self::Convolutional, Self::Transformer];

    pub(in crate::experiments) const fn name(self) -> &'static str {
        match self {
            Self::Convolutional => "convolutional net",
            Self::Transformer => "transformer",
        }
    }

    /// A run from its beginning, whose products accumulate in binary32.
    fn trainer(self, config: Config, steps: usize, seed: u64) -> Result<Trainer, Error> {
        self.trainer_with(config, Accumulation::F32, steps, seed)
    }

    /// A run from its beginning.
    pub(in crate::experiments) fn trainer_with(
        self,
        config: Config,
        accumulate: Accumulation,
        steps: usize,
        seed: u64,
    ) -> Result<Trainer, Error> {
        let (architecture, batch) = match self {
            Self::Convolutional => (Architecture::Cnn { height: 8, width: 8 }, 32),
            Self::Transformer => {
                (Architecture::CharTransformer { layers: 2, channels: 64, heads: 4, context: CONTEXT }, 8)
            }
        };
        let data: Box<dyn Dataset> = match self {
            Self::Convolutional => Box::new(digits().map_err(failed)?),
            Self::Transformer => Box::new(digit_pixels(CONTEXT).map_err(failed)?),
        };
        let steps = steps as u64;
        let warm_up = steps / 10;
        let defaults = RunOptions::new(architecture, config);
        let options = RunOptions { steps, batch, warm_up, seed, accumulate, ..defaults };
        Trainer::new(options, data).map_err(failed)
    }
}

pub(in crate::experiments) fn failed(error: impl std::fmt::Display) -> Error {
    Error::Step { step: "training", cause: error.to_string() }
}

pub(in crate::experiments) fn preset_of(name: &str) -> Result<Config, Error> {
    preset(name).map_err(failed)
}

/// A tensor of a training step, as it was before any rounding.
struct Recorded {
    role: Role,
    /// How many elements follow each other in a row.
    row: usize,
    values: Vec<f32>,
}

/// The weights that products multiply by: name, shape (outputs, inputs) and values. Vectors and
/// embeddings are no operands.
fn weights(trainer: &mut Trainer) -> Vec<(String, [usize; 2], Vec<f32>)> {
    let layers: Vec<String> = trainer
        .quantizers()
        .iter()
        .filter_map(|quantizer| {
            quantizer.name.strip_suffix(".weights").map(|layer| format!("{layer}.weight"))
        })
        .collect();
    let operands = trainer.parameters().list.iter().filter(|parameter| layers.contains(&parameter.name));
    operands
        .map(|parameter| {
            let shape = parameter.shape[..].try_into().expect("an operand is a matrix");
            (parameter.name.clone(), shape, parameter.weights.values())
        })
        .collect()
}

/// The tensors of all products of some steps of a run in binary32: `at` counts from 1 and ascends.
fn record(net: Net, at: &[usize], steps: usize, seed: u64) -> Result<Vec<Recorded>, Error> {
    let mut trainer = net.trainer(preset_of("f32")?, steps, seed)?;
    let mut tensors = Vec::new();
    for number in 1..=at.last().copied().unwrap_or(0) {
        let wanted = at.contains(&number);
        if wanted {
            // Those that this step multiplies by.
            let matrices = weights(&mut trainer);
            tensors.extend(matrices.into_iter().map(|(_, [_, row], values)| Recorded {
                role: Role::Weights,
                row,
                values,
            }));
        }
        trainer.quantizers().into_iter().for_each(|quantizer| quantizer.record(wanted));
        trainer.step().map_err(failed)?;
        if !wanted {
            continue;
        }
        let shapes = weights(&mut trainer);
        for quantizer in trainer.quantizers() {
            let (layer, class) = quantizer.name.rsplit_once('.').expect("a layer and a class");
            let named = |(name, ..): &&(String, [usize; 2], _)| name.strip_suffix(".weight") == Some(layer);
            let [outputs, inputs] = shapes.iter().find(named).expect("a layer has weights").1;
            let (role, row) = match class {
                "activations" => (Role::Activations, inputs),
                "gradients" => (Role::Gradients, outputs),
                // Plain weights pass no quantizer.
                _ => continue,
            };
            let values = quantizer.recorded().expect("it records").to_vec();
            tensors.push(Recorded { role, row, values });
        }
    }
    Ok(tensors)
}

/// The format with its own bias, or with the one of least squared error for these values.
fn at_best_bias(spec: &FormatSpec, magnitudes: &Magnitudes) -> Result<Format, Error> {
    if !spec.has_free_bias() || spec.bias().is_some() {
        return Ok(spec.format()?);
    }
    let step = "choosing a bias";
    BiasPolicy::LeastError
        .choose(spec, Some(magnitudes))
        .map_err(|error| Error::Step { step, cause: error.to_string() })
}

/// The precision of a format at any bias.
fn precision(spec: &FormatSpec) -> Result<u32, Error> {
    Ok(spec.format().or_else(|_| spec.with_bias(15))?.precision())
}
