//! Training with every class of tensors in a small format of its own: weights, activations,
//! gradients, optimizer state.
//!
//! | type | what |
//! | --- | --- |
//! | [`Config`], [`preset`] | which format, rounding and bias policy each class has, as TOML |
//! | [`Trainer`] | a run: a model, data, parameters and optimizer state as codes |
//! | [`TensorQuantizer`] | encodes tensors of one kind, with a bias that follows them |
//! | [`product()`] | products of encoded matrices, in binary32 or exact |
//! | [`layers`] | layers with their gradients |
//!
//! A run is a function of its options and data: random numbers are addressed by seed, name and
//! index, sums have fixed orders, and nothing depends on the number of threads. With
//! [`Accumulation::Exact`] the quantized products have one answer on every machine.
//!
//! ```
//! use smallfloat_train::{RunOptions, Trainer, data::digits, preset, Architecture};
//!
//! let options = RunOptions { steps: 3, batch: 32, ..RunOptions::new(Architecture::Mlp { inputs: 64 }, preset("cfloat8")?) };
//! let mut trainer = Trainer::new(options, Box::new(digits()?))?;
//! while let Some(step) = trainer.step()? {
//!     assert!(step.loss.is_finite());
//! }
//! # Ok::<(), smallfloat_train::Error>(())
//! ```
#![forbid(unsafe_code)]

mod arithmetic;
mod codes;
mod config;
pub mod data;
mod error;
mod functions;
pub mod layers;
mod matrix;
mod models;
mod parameters;
mod random;
mod run;

pub use arithmetic::operand::MatrixOperand;
pub use arithmetic::product::{Accumulation, product};
pub use codes::blocks::Blocks;
pub use codes::coder::{Coder, Coders, Elements, EncodedTensor};
pub use codes::quantizer::{BiasChange, Exponents, Moment, QuantizerState, Tally, TensorQuantizer};
pub use codes::scale::ScaleController;
pub use config::presets::{ConfigPreset, PRESETS, preset};
pub use config::scheme::BlockScheme;
pub use config::{ClassConfig, Config, OnNonfinite, Round, Spec, StateConfig};
pub use error::{Error, Result};
pub use matrix::Matrix;
pub use models::{Architecture, Model, ModelKind};
pub use parameters::{First, Kept, ModelParameter, ModelParameters};
pub use random::RandomSequence;
pub use run::optimizer::{Optimizer, Schedule};
pub use run::report::{BiasHistory, Memory, RunReport};
pub use run::trainer::{RunOptions, Step, Trainer};
