//! [`Trainer`]: a run, step by step.

use std::collections::BTreeSet;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::arithmetic::product::{Accumulation, BlockFormats, scaled_dot, unit_dot};
use crate::codes::quantizer::{Moment, Tally, TensorQuantizer};
use crate::config::{Config, OnNonfinite};
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::layers::loss::Loss;
use crate::layers::{Pass, Saved};
use crate::models::{Architecture, Model, ModelKind};
use crate::parameters::ModelParameters;
use crate::run::footprint;
use crate::run::optimizer::{Optimizer, Schedule};
use crate::run::report::{BiasHistory, Memory, RunReport};

/// The options of a run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunOptions {
    /// A name for the configuration, for reports.
    pub name: String,
    /// Formats, rounding, biases.
    pub config: Config,
    /// The model.
    pub architecture: Architecture,
    /// Steps.
    pub steps: u64,
    /// Sequences or images of a step.
    pub batch: usize,
    /// The optimizer.
    pub optimizer: Optimizer,
    /// The largest learning rate.
    pub rate: f32,
    /// Steps until it is reached.
    pub warm_up: u64,
    /// What all random numbers derive from.
    pub seed: u64,
    /// How quantized products accumulate.
    pub accumulate: Accumulation,
    /// The most bytes of memory that the run may need, by an estimate that is made before it
    /// begins. Changes no result, so checkpoints do not have it.
    #[serde(skip, default = "default_memory_limit")]
    pub memory_limit: u64,
}

/// The limit of [`RunOptions::new`]: 8 GiB.
fn default_memory_limit() -> u64 {
    8 << 30
}

impl RunOptions {
    /// Returns a run as the published tables have it: 500 steps of Adam at 0.002 with 50 steps of
    /// warm-up, batches of 32, seed 0, 8 GiB of memory at most.
    pub fn new(architecture: Architecture, config: Config) -> Self {
        Self {
            name: "custom".into(),
            config,
            architecture,
            steps: 500,
            batch: 32,
            optimizer: Optimizer::ADAM,
            rate: 2e-3,
            warm_up: 50,
            seed: 0,
            accumulate: Accumulation::F32,
            memory_limit: default_memory_limit(),
        }
    }

    /// Returns whether [`Trainer::new`] would begin this run: what it checks, without the work.
    ///
    /// # Errors
    /// Options that do not go together, a batch larger than the data, and a run that needs more
    /// memory than its limit.
    pub fn check(&self, data: &dyn Dataset) -> Result<()> {
        self.check_options()?;
        footprint::check(self.architecture, self.batch, data, self.memory_limit)
    }

    fn check_options(&self) -> Result<()> {
        if self.steps == 0 || self.batch == 0 {
            return Err(Error::config("a run needs one step and one sequence or image in it at least"));
        }
        if !(self.rate > 0.0 && self.rate.is_finite()) {
            return Err(Error::config(format!("learning rate {}: take a positive number", self.rate)));
        }
        self.architecture.check()?;
        self.config.check()?;
        for (name, class) in self.config.classes() {
            TensorQuantizer::new(name, class).map_err(|error| Error::config(format!("{name}: {error}")))?;
        }
        if self.architecture.kind() == ModelKind::CharTransformer {
            self.config.activations.check_sign("activations")?;
        }
        self.check_accumulator()
    }

    /// Checks that the operands of every product go with the accumulator.
    fn check_accumulator(&self) -> Result<()> {
        let accumulate = self.accumulate;
        if accumulate == Accumulation::F32 {
            return Ok(());
        }
        let Config { activations, weights, gradients, .. } = &self.config;
        for (a, b) in [(activations, weights), (gradients, weights), (gradients, activations)] {
            match (accumulate, a.scheme, b.scheme) {
                (Accumulation::Unit(unit), Some(a), Some(b)) => {
                    let [a, b] = [a, b].map(|one| BlockFormats::of_scheme(one.scheme()));
                    scaled_dot(unit, &a?, &b?)?;
                }
                (_, None, None) => {
                    if a.format.is_plain() || b.format.is_plain() {
                        return Err(Error::config(format!(
                            "{accumulate} sums need formats for activations, weights and gradients: f32 is none of \
                             their operands"
                        )));
                    }
                    let (a, b) = (a.format.at_some_bias()?, b.format.at_some_bias()?);
                    match accumulate {
                        Accumulation::Unit(unit) => drop(unit_dot(unit, &a, &b)?),
                        _ => crate::arithmetic::exact::check(&a, &b)?,
                    }
                }
                (Accumulation::Unit(_), ..) => {
                    return Err(Error::config(format!(
                        "{accumulate} sums need formats for activations, weights and gradients, or schemes for all three"
                    )));
                }
                (_, one, other) => {
                    let scheme = one.or(other).expect("one of the two was matched");
                    return Err(Error::config(format!(
                        "{accumulate} sums have no place for the scales of {scheme}'s blocks: accumulate in f32 or as \
                         blackwell does, or take formats"
                    )));
                }
            }
        }
        Ok(())
    }
}

/// The report of a step.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Step {
    /// Its number, from 1 on.
    pub number: u64,
    /// The mean loss of its batch, in nats.
    pub loss: f64,
    /// What happened to the operands of its products.
    pub operands: Tally,
    /// Tokens or images.
    pub elements: usize,
}

/// A run.
pub struct Trainer {
    options: RunOptions,
    data: Box<dyn Dataset>,
    parameters: ModelParameters,
    model: Model,
    done: u64,
    losses: Vec<f64>,
    seconds: f64,
    saved: Saved,
}

impl Trainer {
    /// Returns a run from its beginning.
    ///
    /// # Errors
    /// Options that do not go together, a batch larger than the data, and a run that needs more
    /// memory than its limit.
    pub fn new(options: RunOptions, data: Box<dyn Dataset>) -> Result<Self> {
        options.check(data.as_ref())?;
        let mut parameters =
            ModelParameters::new(&options.config, options.seed, options.optimizer.has_second_moment());
        let model = Model::new(&mut parameters, options.architecture, data.classes())?;
        Ok(Self {
            options,
            data,
            parameters,
            model,
            done: 0,
            losses: Vec::new(),
            seconds: 0.0,
            saved: Saved::default(),
        })
    }

    /// Returns the options.
    pub fn options(&self) -> &RunOptions {
        &self.options
    }

    /// Returns the parameters and the optimizer's state.
    pub fn parameters(&self) -> &ModelParameters {
        &self.parameters
    }

    /// Replaces a parameter's values, rounded into its store as after a step.
    ///
    /// # Errors
    /// A name that no parameter has, another number of values than it has, and what encoding
    /// refuses.
    pub fn store_weights(&mut self, name: &str, values: Vec<f32>) -> Result<()> {
        let (done, seed) = (self.done, self.options.seed);
        let (list, coders) = self.parameters.with_coders();
        let Some(parameter) = list.iter_mut().find(|parameter| parameter.name == name) else {
            let names: Vec<&str> = list.iter().map(|parameter| parameter.name.as_str()).collect();
            return Err(Error::config(format!("no parameter `{name}`: there are {}", names.join(", "))));
        };
        let count = parameter.gradient.len();
        if values.len() != count {
            return Err(Error::config(format!("{} values for {name}, which has {count}", values.len())));
        }
        parameter.weights.store(values, done, seed, coders)
    }

    /// Returns the steps done.
    pub fn done(&self) -> u64 {
        self.done
    }

    /// Returns the next step; `None` when all are done.
    ///
    /// # Errors
    /// [`Error::Nonfinite`] where a tensor or the loss has a NaN or an infinity.
    pub fn step(&mut self) -> Result<Option<Step>> {
        if self.done >= self.options.steps {
            return Ok(None);
        }
        let began = Instant::now();
        let number = self.done + 1;
        let before = self.operands();
        let batch = self.data.batch(self.options.seed, self.done, self.options.batch);
        let scale = self.options.config.loss_scale.unwrap_or(1.0);
        self.parameters.clear_gradients();
        let mut pass = Pass {
            parameters: &mut self.parameters,
            accumulate: self.options.accumulate,
            moment: Moment { step: number, learning: true, counting: number == self.options.steps },
            saved: Saved::default(),
        };
        let Loss { mean, gradient, .. } = self.model.loss(&mut pass, &batch, scale)?;
        if self.options.config.nonfinite == OnNonfinite::Refuse && !mean.is_finite() {
            #[expect(clippy::cast_possible_truncation, reason = "NaN and infinities stay what they are")]
            let value = mean as f32;
            let tensor = "loss".to_owned();
            return Err(Error::Nonfinite { step: number, tensor, count: 1, elements: 1, value, index: 0 });
        }
        self.model.backward(&mut pass, &batch, gradient)?;
        self.saved = pass.saved;
        let schedule =
            Schedule { peak: self.options.rate, warm_up: self.options.warm_up, steps: self.options.steps };
        self.options.optimizer.step(&mut self.parameters, number, schedule.rate(number), scale)?;
        self.done = number;
        self.losses.push(mean);
        self.seconds += began.elapsed().as_secs_f64();
        let after = self.operands();
        let operands = after.since(before);
        Ok(Some(Step { number, loss: mean, operands, elements: batch.labels.len() }))
    }

    pub(crate) fn data(&self) -> &dyn Dataset {
        self.data.as_ref()
    }

    pub(crate) fn seconds(&self) -> f64 {
        self.seconds
    }

    pub(crate) fn parameters_mut(&mut self) -> &mut ModelParameters {
        &mut self.parameters
    }

    /// Returns the quantizers of all layers, in an order that never changes.
    pub fn quantizers(&mut self) -> Vec<&mut TensorQuantizer> {
        self.model.quantizers()
    }

    pub(crate) fn go_on_from(&mut self, done: u64, seconds: f64, losses: Vec<f64>) {
        (self.done, self.seconds, self.losses) = (done, seconds, losses);
    }

    /// Returns the loss of every step so far.
    pub fn losses(&self) -> &[f64] {
        &self.losses
    }

    /// What happened to the operands of all products so far.
    fn operands(&mut self) -> Tally {
        self.model.quantizers().iter().map(|quantizer| quantizer.tally()).fold(Tally::default(), Tally::merge)
    }

    /// Returns the mean loss and the share of right answers on data that is not learnt from.
    /// Changes nothing.
    ///
    /// # Errors
    /// What encoding refuses.
    pub fn validate(&mut self) -> Result<(f64, f64)> {
        let (mut loss, mut correct, mut count) = (0.0, 0, 0);
        for batch in self.data.validation() {
            let mut pass = Pass {
                parameters: &mut self.parameters,
                accumulate: self.options.accumulate,
                moment: Moment { step: self.done, learning: false, counting: false },
                saved: Saved::default(),
            };
            let result = self.model.loss(&mut pass, &batch, 1.0)?;
            #[expect(clippy::cast_precision_loss, reason = "batches are small")]
            let rows = batch.labels.len() as f64;
            loss += result.mean * rows;
            correct += result.correct;
            count += batch.labels.len();
        }
        #[expect(clippy::cast_precision_loss, reason = "far fewer than 2^53")]
        let [correct, count] = [correct, count].map(|n| n as f64);
        Ok((loss / count, correct / count))
    }

    /// Returns the report, with a validation.
    ///
    /// # Errors
    /// As [`validate`](Self::validate).
    pub fn report(&mut self) -> Result<RunReport> {
        let (validation_loss, validation_accuracy) = self.validate()?;
        let mut biases: Vec<BiasHistory> =
            self.model.quantizers().into_iter().map(|q| bias_report(q)).collect();
        biases.extend(self.parameters.kept().map(|kept| bias_report(kept.quantizer())));
        biases.retain(|bias| bias.format != "binary32");
        let distinct: BTreeSet<(&str, i32)> =
            biases.iter().filter_map(|b| Some((b.format.as_str(), b.bias?))).collect();
        let (state, parameters) = (self.parameters.kept_bytes(), self.parameters.count());
        #[expect(clippy::cast_precision_loss, reason = "far fewer than 2^53")]
        let bytes_per_parameter = state as f64 / parameters as f64;
        Ok(RunReport {
            preset: self.options.name.clone(),
            data: self.data.name().to_owned(),
            seed: self.options.seed,
            steps: self.done,
            seconds: self.seconds,
            train_loss: self.losses.last().copied(),
            validation_loss,
            validation_accuracy,
            parameters,
            bytes_per_parameter,
            memory: Memory {
                state,
                activations: self.saved.bytes,
                activations_as_f32: self.saved.as_f32,
                gradients: 4 * parameters,
            },
            distinct_biases: distinct.len(),
            biases,
            losses: self.losses.clone(),
        })
    }
}

fn bias_report(quantizer: &TensorQuantizer) -> BiasHistory {
    let spec = quantizer.scheme().map_or_else(|| quantizer.spec().to_string(), |scheme| scheme.to_string());
    BiasHistory {
        tensor: quantizer.name.clone(),
        format: spec.split(':').next().expect("a text has a first part").to_owned(),
        bias: quantizer.bias(),
        first: quantizer.first_bias(),
        changes: quantizer.changes().to_vec(),
        elements: quantizer.tally(),
        exponents: quantizer.exponents().cloned(),
    }
}
