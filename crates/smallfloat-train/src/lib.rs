//! Training with every class of tensors in a small format of its own: weights, activations,
//! gradients, optimizer state.
//!
//! | type | what |
//! | --- | --- |
//! | [`Config`], [`preset`] | which format, rounding and bias policy each class has, as TOML |
//! | [`Trainer`] | a run: a model, data, parameters and optimizer state as codes |
//! | [`Quantizer`] | encodes tensors of one kind, with a bias that follows them |
//! | [`product()`] | products of encoded matrices, in binary32 or exact |
//! | [`layers`] | layers with their gradients |
//!
//! A run is a function of its options and data: random numbers are addressed by seed, name and
//! index, sums have fixed orders, and nothing depends on the number of threads. With
//! [`Accumulate::Exact`] the quantized products have one answer on every machine.
//!
//! ```
//! use smallfloat_train::{Options, Trainer, data::digits, preset, Architecture};
//!
//! let options = Options { steps: 3, batch: 32, ..Options::new(Architecture::Mlp { inputs: 64 }, preset("cfloat8")?) };
//! let mut trainer = Trainer::new(options, Box::new(digits()?))?;
//! while let Some(step) = trainer.step()? {
//!     assert!(step.loss.is_finite());
//! }
//! # Ok::<(), smallfloat_train::Error>(())
//! ```
#![forbid(unsafe_code)]

mod checkpoint;
mod coder;
mod config;
pub mod data;
mod error;
mod exact;
mod footprint;
mod functions;
pub mod layers;
mod matrix;
mod models;
mod named;
mod operand;
mod optimizer;
mod parameters;
mod presets;
mod product;
mod quantizer;
mod random;
mod report;
mod scale;
mod slope;
mod trainer;

pub use coder::{Coder, Coders, Codes, Data};
pub use config::{Class, Config, Nonfinite, Round, Spec, StateConfig};
pub use error::{Error, Result};
pub use matrix::Matrix;
pub use models::{Architecture, Model, ModelKind};
pub use operand::Operand;
pub use optimizer::{Optimizer, Schedule};
pub use parameters::{First, Kept, Parameter, Parameters};
pub use presets::{PRESETS, Preset, preset};
pub use product::{Accumulate, product};
pub use quantizer::{BiasChange, Exponents, Moment, Quantizer, QuantizerState, Tally};
pub use random::Sequence;
pub use report::{BiasReport, Memory, Report};
pub use scale::ScaleController;
pub use trainer::{Options, Step, Trainer};
