//! [`QuantizedLinear`]: candle's linear layer with operands in small formats.

use std::sync::OnceLock;

use candle_core::{DType, Error, Module, Result, Tensor, bail};
use candle_nn::{Linear, VarBuilder};
use smallfloat_train::{Accumulation, ClassConfig, Config, preset};

use crate::elements::check;
use crate::product::Product;
use crate::quantize::{Quantize, QuantizeState};

/// The formats of a layer's operands.
#[derive(Clone, PartialEq, Debug)]
pub struct LinearConfig {
    /// Of the input.
    pub input: ClassConfig,
    /// Of the weight.
    pub weight: ClassConfig,
    /// Of the gradient of the product.
    pub gradient: ClassConfig,
    /// How products accumulate.
    pub accumulate: Accumulation,
    /// The seed of random words, for classes that round stochastically.
    pub seed: u64,
}

impl LinearConfig {
    /// Returns the rounding of CFloat8_1_4_3 forward and CFloat8_1_5_2 backward. Biases follow by
    /// delayed scaling with a history of 16 tensors: the recipe of NVIDIA's Transformer Engine,
    /// with powers of two for its scales. No loss scale is needed, because the gradient's bias
    /// follows the gradient.
    ///
    /// # Errors
    /// Never for the preset that comes with the crate.
    pub fn cfloat8() -> Result<Self> {
        Ok(Self::from(&preset("cfloat8").map_err(Error::wrap)?))
    }
}

/// The operands' classes of a configuration for training: one of [`preset`]'s, or read from TOML.
/// What it says of weights between steps and of a loss scale is not a layer's business.
impl From<&Config> for LinearConfig {
    fn from(config: &Config) -> Self {
        Self {
            input: config.activations.clone(),
            weight: config.weights.clone(),
            gradient: config.gradients.clone(),
            accumulate: Accumulation::F32,
            seed: 0,
        }
    }
}

/// y = Q(x)·Q(W)ᵀ + b, for rows x of any number of dimensions, in the place of
/// [`candle_nn::Linear`].
///
/// Backward: dx = Q(dy)·Q(W), dW = Q(dy)ᵀ·Q(x), with the codes of the forward pass; encoding counts
/// as the identity ([`Gradient::Through`](crate::Gradient)), and b has the unrounded gradient.
/// Input, weight and gradient have formats and biases of their own, and products accumulate in
/// binary32 or exactly. Clones share them.
#[derive(Clone, Debug)]
pub struct QuantizedLinear {
    weight: Tensor,
    bias: Option<Tensor>,
    input: Quantize,
    weights: Quantize,
    gradient: Quantize,
    accumulate: Accumulation,
}

/// The state of a layer's three quantizers, for checkpoints.
pub type LinearState = [QuantizeState; 3];

impl QuantizedLinear {
    /// Returns a layer of a weight with a row for each output, and a bias. The name is for reports
    /// and random words.
    ///
    /// # Errors
    /// A weight that is no f32 matrix on the CPU, a bias of another length than its rows, and what
    /// [`Quantize::new`] refuses.
    pub fn new(name: &str, weight: Tensor, bias: Option<Tensor>, config: &LinearConfig) -> Result<Self> {
        check(&weight, &format!("{name}.weight"), &[DType::F32])?;
        let &[outputs, _] = weight.dims() else {
            bail!("{name}.weight: its shape is {:?}, it must be a matrix", weight.dims());
        };
        if let Some(bias) = &bias {
            check(bias, &format!("{name}.bias"), &[DType::F32])?;
            if bias.dims() != [outputs] {
                bail!("{name}.bias: its shape is {:?}, it must be [{outputs}]", bias.dims());
            }
        }
        let quantize = |what: &str, class| {
            Ok::<_, Error>(Quantize::new(format!("{name}.{what}"), class)?.with_seed(config.seed))
        };
        Ok(Self {
            input: quantize("input", &config.input)?,
            weights: quantize("weight", &config.weight)?,
            gradient: quantize("gradient", &config.gradient)?,
            accumulate: config.accumulate,
            weight,
            bias,
        })
    }

    /// Makes a layer of the weight and bias of candle's.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn from_linear(name: &str, linear: &Linear, config: &LinearConfig) -> Result<Self> {
        Self::new(name, linear.weight().clone(), linear.bias().cloned(), config)
    }

    /// Returns the weight.
    pub fn weight(&self) -> &Tensor {
        &self.weight
    }

    /// Returns the bias that is added: a vector, and no format's.
    pub fn bias(&self) -> Option<&Tensor> {
        self.bias.as_ref()
    }

    /// Returns how input, weight and gradient are rounded.
    pub fn quantizers(&self) -> [&Quantize; 3] {
        [&self.input, &self.weights, &self.gradient]
    }

    /// Shall biases follow the tensors? In an evaluation they should not:
    /// [`Quantize::set_learning`].
    pub fn set_learning(&self, learning: bool) {
        for quantize in self.quantizers() {
            quantize.set_learning(learning);
        }
    }

    /// Returns the state, for a checkpoint; weights are the framework's to save.
    pub fn state(&self) -> LinearState {
        self.quantizers().map(Quantize::state)
    }

    /// Restores a saved state.
    ///
    /// # Errors
    /// A state of a layer with another name or configuration.
    pub fn restore(&self, state: LinearState) -> Result<()> {
        self.quantizers().into_iter().zip(state).try_for_each(|(quantize, state)| quantize.restore(state))
    }
}

impl Module for QuantizedLinear {
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let name = self.input.name();
        check(x, &name, &[DType::F32])?;
        let inputs = self.weight.dim(1)?;
        if x.dims().last() != Some(&inputs) {
            bail!("{name}: its shape is {:?}, rows must have {inputs} elements", x.dims());
        }
        let op = Product {
            input: self.input.clone(),
            weight: self.weights.clone(),
            gradient: self.gradient.clone(),
            accumulate: self.accumulate,
            kept: OnceLock::new(),
        };
        let y = x.contiguous()?.apply_op2(&self.weight.contiguous()?, op)?;
        match &self.bias {
            Some(bias) => y.broadcast_add(bias),
            None => Ok(y),
        }
    }
}

/// Returns a layer whose weight and bias have [`candle_nn::linear`]'s names and first values, and
/// whose name is the builder's prefix.
///
/// # Errors
/// As [`QuantizedLinear::new`], and a builder without such tensors.
pub fn quantized_linear(
    inputs: usize,
    outputs: usize,
    config: &LinearConfig,
    vb: VarBuilder,
) -> Result<QuantizedLinear> {
    let name = vb.prefix();
    QuantizedLinear::from_linear(&name, &candle_nn::linear(inputs, outputs, vb)?, config)
}

/// Makes a layer without a bias.
///
/// # Errors
/// As [`quantized_linear`].
pub fn quantized_linear_no_bias(
    inputs: usize,
    outputs: usize,
    config: &LinearConfig,
    vb: VarBuilder,
) -> Result<QuantizedLinear> {
    let name = vb.prefix();
    QuantizedLinear::from_linear(&name, &candle_nn::linear_no_bias(inputs, outputs, vb)?, config)
}
