//! [`ModelParameters`]: weights and optimizer state as codes, with no other copy of them.

use crate::codes::coder::{Coders, Elements, EncodedTensor};
use crate::codes::quantizer::{Moment, QuantizerState, TensorQuantizer};
use crate::config::{ClassConfig, Config, OnNonfinite};
use crate::error::{Error, Result};
use crate::random::RandomSequence;

/// A tensor that is kept between steps.
#[derive(Clone, Debug)]
pub struct Kept {
    quantizer: TensorQuantizer,
    codes: EncodedTensor,
    root: bool,
}

impl Kept {
    fn new(
        name: String,
        (class, nonfinite): (&ClassConfig, OnNonfinite),
        values: Vec<f32>,
        seed: u64,
        coders: &mut Coders,
    ) -> Result<Self> {
        let mut kept = Self {
            quantizer: TensorQuantizer::new(name, class)?.with_nonfinite(nonfinite),
            codes: EncodedTensor::plain(Vec::new()),
            root: class.root,
        };
        kept.store(values, 0, seed, coders)?;
        Ok(kept)
    }

    /// Returns the values.
    pub fn values(&self) -> Vec<f32> {
        let mut values = self.codes.values();
        if self.root {
            for value in &mut values {
                *value *= *value;
            }
        }
        values
    }

    /// Returns the elements as they lie in memory.
    pub fn codes(&self) -> &EncodedTensor {
        &self.codes
    }

    /// Returns the quantizer that encodes.
    pub fn quantizer(&self) -> &TensorQuantizer {
        &self.quantizer
    }

    /// Rounds values into the store, with [`TensorQuantizer::random_words`].
    ///
    /// # Errors
    /// As [`TensorQuantizer::encode`].
    pub fn store(&mut self, mut values: Vec<f32>, step: u64, seed: u64, coders: &mut Coders) -> Result<()> {
        if self.root {
            for value in &mut values {
                *value = value.sqrt();
            }
        }
        let words = self.quantizer.random_words(seed, step, values.len());
        let moment = Moment { step, learning: true, counting: false };
        self.codes = self.quantizer.encode(coders, values, moment, words)?;
        Ok(())
    }
}

/// A tensor that learns.
#[derive(Clone, Debug)]
pub struct ModelParameter {
    /// Its name: that of the layer, and `weight`, `bias` or `gain`.
    pub name: String,
    /// Dimensions; a linear layer's weight has a row for each output.
    pub shape: Vec<usize>,
    /// The parameter.
    pub weights: Kept,
    /// The optimizer's first moment.
    pub first_moment: Kept,
    /// Adam's second moment; none with [`Optimizer::Momentum`](crate::Optimizer).
    pub second_moment: Option<Kept>,
    /// The gradient of the present step.
    pub gradient: Vec<f32>,
}

/// All parameters of a model.
#[derive(Debug)]
pub struct ModelParameters {
    /// In the order in which layers were made.
    pub list: Vec<ModelParameter>,
    /// What all random words derive from.
    pub seed: u64,
    config: Config,
    has_second: bool,
    coders: Coders,
}

/// The values of a parameter before the first step.
#[derive(Clone, Copy, Debug)]
pub enum First {
    /// One number everywhere.
    Constant(f32),
    /// Normally distributed with mean 0 and this standard deviation.
    Normal(f32),
}

impl ModelParameters {
    /// Returns parameters without any tensor yet.
    pub fn new(config: &Config, seed: u64, has_second: bool) -> Self {
        Self { list: Vec::new(), seed, config: config.clone(), has_second, coders: Coders::default() }
    }

    /// Adds a parameter and gives its index.
    ///
    /// # Errors
    /// A class of the configuration that does not go together.
    pub fn add(&mut self, name: &str, shape: &[usize], first: First) -> Result<usize> {
        let count = shape.iter().product();
        let sequence = RandomSequence::new(self.seed, &format!("{name}.first"));
        let values: Vec<f32> = match first {
            First::Constant(value) => vec![value; count],
            First::Normal(deviation) => (0..count as u64).map(|i| deviation * sequence.normal(i)).collect(),
        };
        let (state, seed, nonfinite) = (&self.config.state, self.seed, self.config.nonfinite);
        let mut kept = |what: &str, class, values| {
            Kept::new(format!("{name}.{what}"), (class, nonfinite), values, seed, &mut self.coders)
        };
        let second_moment = if self.has_second {
            Some(kept("second_moment", &state.second_moment, vec![0.0; count])?)
        } else {
            None
        };
        let parameter = ModelParameter {
            name: name.into(),
            shape: shape.to_vec(),
            weights: kept("weights", &state.weights, values)?,
            first_moment: kept("first_moment", &state.first_moment, vec![0.0; count])?,
            second_moment,
            gradient: vec![0.0; count],
        };
        self.list.push(parameter);
        Ok(self.list.len() - 1)
    }

    /// Returns the configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Returns the coders of the whole run.
    pub fn coders(&mut self) -> &mut Coders {
        &mut self.coders
    }

    pub(crate) fn with_coders(&mut self) -> (&mut [ModelParameter], &mut Coders) {
        (&mut self.list, &mut self.coders)
    }

    /// Returns how many elements learn.
    pub fn count(&self) -> usize {
        self.list.iter().map(|parameter| parameter.gradient.len()).sum()
    }

    /// Returns how many tensors are kept between steps.
    pub fn kept(&self) -> impl Iterator<Item = &Kept> {
        self.list
            .iter()
            .flat_map(|p| [Some(&p.weights), Some(&p.first_moment), p.second_moment.as_ref()])
            .flatten()
    }

    /// Puts back what was kept, tensor by tensor: `each` has the state and the elements of a name
    /// and a length.
    pub(crate) fn restore(
        &mut self,
        mut each: impl FnMut(&str, usize) -> Result<(QuantizerState, Elements)>,
    ) -> Result<()> {
        let (list, coders) = self.with_coders();
        for parameter in list {
            let kept = [
                Some(&mut parameter.weights),
                Some(&mut parameter.first_moment),
                parameter.second_moment.as_mut(),
            ];
            for kept in kept.into_iter().flatten() {
                let (state, data) = each(&kept.quantizer.name, kept.codes.data.len())?;
                kept.quantizer.restore(state)?;
                let same_type = std::mem::discriminant(&data) == std::mem::discriminant(&kept.codes.data);
                if !same_type {
                    return Err(Error::config(format!(
                        "{} is of another type in the checkpoint",
                        kept.quantizer.name
                    )));
                }
                kept.codes = kept.quantizer.adopt(coders, data)?;
            }
        }
        Ok(())
    }

    /// Returns the bytes of memory that all of them take: the elements, and a byte for each bias
    /// that some policy chooses.
    pub fn kept_bytes(&self) -> usize {
        self.kept().map(|kept| kept.codes.data.bytes() + usize::from(kept.quantizer.bias().is_some())).sum()
    }

    /// Forgets all gradients.
    pub fn clear_gradients(&mut self) {
        for parameter in &mut self.list {
            parameter.gradient.fill(0.0);
        }
    }
}
