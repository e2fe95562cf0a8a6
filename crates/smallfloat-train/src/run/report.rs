//! [`RunReport`]: what a run did, for people and programs.

use serde::{Deserialize, Serialize};

use crate::codes::quantizer::{BiasChange, Tally};

/// A run's results.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct RunReport {
    /// The name of the configuration.
    pub preset: String,
    /// The data's name.
    pub data: String,
    /// The seed.
    pub seed: u64,
    /// Steps done.
    pub steps: u64,
    /// Seconds that steps took, evaluations left out.
    pub seconds: f64,
    /// The loss of the last step, in nats; `None` before the first.
    pub train_loss: Option<f64>,
    /// The mean loss of the part that is not learnt from, in nats.
    pub validation_loss: f64,
    /// The share of it whose most likely label is right.
    pub validation_accuracy: f64,
    /// The number of parameters.
    pub parameters: usize,
    /// Bytes of memory for weights and optimizer state, for each parameter.
    pub bytes_per_parameter: f64,
    /// What is kept in a step.
    pub memory: Memory,
    /// Distinct pairs of format and bias in use at the end.
    pub distinct_biases: usize,
    /// Bias by bias.
    pub biases: Vec<BiasHistory>,
    /// The loss of every step.
    pub losses: Vec<f64>,
}

/// Bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Memory {
    /// Weights and optimizer state.
    pub state: usize,
    /// Activations kept from a forward for a backward pass.
    pub activations: usize,
    /// Bytes if all of them were binary32.
    pub activations_as_f32: usize,
    /// Gradients of parameters, which are binary32 until the optimizer has seen them.
    pub gradients: usize,
}

/// A tensor's bias through a run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct BiasHistory {
    /// Layer and class.
    pub tensor: String,
    /// The format.
    pub format: String,
    /// The bias at the end, or the exponent of the scale; none where the format has its own.
    pub bias: Option<i32>,
    /// That at the beginning.
    pub first: Option<i32>,
    /// Every change.
    pub changes: Vec<BiasChange>,
    /// What happened to the elements.
    pub elements: Tally,
    /// Of the last step's tensor: how many elements have each of binary32's exponents from −127
    /// (zeros and subnormals) on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exponents: Option<Vec<u64>>,
}
