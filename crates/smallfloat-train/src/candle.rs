//! Small formats in models of the candle framework: [`FakeQuantize`] and [`QuantizedLinear`].
//!
//! candle's tensors stay binary32; they are rounded onto a format's values where they become operands of products, forward and
//! backward, with this crate's bias policies. For parameters and optimizer state as codes take [`Trainer`](crate::Trainer).

use std::sync::{Arc, Mutex, PoisonError};

use candle_core::{CpuStorage, CustomOp1, Layout, Result, Shape, Tensor, bail};

use crate::{Class, Coders, Config, Moment, Quantizer};

/// Rounds tensors of one kind onto a format's values. Its clones share one bias.
#[derive(Clone, Debug)]
pub struct FakeQuantize(Arc<Mutex<(Quantizer, Coders, u64)>>);

impl FakeQuantize {
    /// For tensors of a class.
    ///
    /// # Errors
    /// A bias or policy that the format does not take, and stochastic rounding, which needs words that nobody gives here.
    pub fn new(name: &str, class: &Class) -> crate::Result<Self> {
        if class.rounding != crate::Round::NearestEven {
            return Err(crate::Error::config("operands of products are rounded to nearest here"));
        }
        Ok(Self(Arc::new(Mutex::new((Quantizer::new(name, class)?, Coders::default(), 0)))))
    }

    /// The present bias, or the exponent of the scale.
    pub fn bias(&self) -> Option<i32> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).0.bias()
    }

    /// The tensor on the format's values. Backward this is the identity (straight-through).
    ///
    /// # Errors
    /// A tensor that is not binary32 on the CPU.
    pub fn forward(&self, x: &Tensor) -> Result<Tensor> {
        x.apply_op1(Forward(self.clone()))
    }

    /// The tensor itself; backward its gradient is rounded.
    ///
    /// # Errors
    /// A tensor that is not binary32 on the CPU.
    pub fn backward(&self, x: &Tensor) -> Result<Tensor> {
        x.apply_op1(Backward(self.clone()))
    }

    fn rounded(&self, values: Vec<f32>) -> Result<Vec<f32>> {
        let mut shared = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (quantizer, coders, step) = &mut *shared;
        *step += 1;
        let moment = Moment { step: *step, learning: true, counting: false };
        let codes = quantizer.encode(coders, values, moment, None).map_err(candle_core::Error::wrap)?;
        Ok(codes.values())
    }
}

/// The elements in C order.
fn elements(storage: &CpuStorage, layout: &Layout) -> Result<Vec<f32>> {
    let values = storage.as_slice::<f32>()?;
    match layout.contiguous_offsets() {
        Some((first, end)) => Ok(values[first..end].to_vec()),
        None => Ok(layout.strided_index().map(|i| values[i]).collect()),
    }
}

struct Forward(FakeQuantize);

impl CustomOp1 for Forward {
    fn name(&self) -> &'static str {
        "fake-quantize"
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        Ok((CpuStorage::F32(self.0.rounded(elements(storage, layout)?)?), layout.shape().clone()))
    }

    fn bwd(&self, _: &Tensor, _: &Tensor, gradient: &Tensor) -> Result<Option<Tensor>> {
        Ok(Some(gradient.clone()))
    }
}

struct Backward(FakeQuantize);

impl CustomOp1 for Backward {
    fn name(&self) -> &'static str {
        "fake-quantize-gradient"
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        Ok((CpuStorage::F32(elements(storage, layout)?), layout.shape().clone()))
    }

    fn bwd(&self, _: &Tensor, _: &Tensor, gradient: &Tensor) -> Result<Option<Tensor>> {
        let values = gradient.flatten_all()?.to_vec1::<f32>()?;
        let rounded = self.0.rounded(values)?;
        Ok(Some(Tensor::from_vec(rounded, gradient.shape(), gradient.device())?))
    }
}

/// y = Q(x)·Q(W)ᵀ + b, with the gradient of the product rounded as well: the layer that this crate's own models are made of.
#[derive(Clone, Debug)]
pub struct QuantizedLinear {
    weight: Tensor,
    bias: Option<Tensor>,
    activations: FakeQuantize,
    weights: FakeQuantize,
    gradients: FakeQuantize,
}

impl QuantizedLinear {
    /// A layer on a weight with a row for each output; give variables' tensors, so that they learn.
    ///
    /// # Errors
    /// A weight that is no matrix, and what [`FakeQuantize::new`] refuses.
    pub fn new(name: &str, weight: Tensor, bias: Option<Tensor>, config: &Config) -> Result<Self> {
        if weight.rank() != 2 {
            bail!("{name}: the weight has {} dimensions, a matrix is wanted", weight.rank());
        }
        let quantize = |what: &str, class| {
            FakeQuantize::new(&format!("{name}.{what}"), class).map_err(candle_core::Error::wrap)
        };
        Ok(Self {
            activations: quantize("activations", &config.activations)?,
            weights: quantize("weights", &config.weights)?,
            gradients: quantize("gradients", &config.gradients)?,
            weight,
            bias,
        })
    }

    /// The biases of inputs, weights and gradients.
    pub fn biases(&self) -> [Option<i32>; 3] {
        [&self.activations, &self.weights, &self.gradients].map(FakeQuantize::bias)
    }

    /// The product for rows of inputs.
    ///
    /// # Errors
    /// Shapes that do not fit.
    pub fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let product = self.activations.forward(x)?.matmul(&self.weights.forward(&self.weight)?.t()?)?;
        let product = self.gradients.backward(&product)?;
        match &self.bias {
            Some(bias) => product.broadcast_add(bias),
            None => Ok(product),
        }
    }
}
