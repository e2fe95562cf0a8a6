//! Layers: a forward pass that keeps what the backward pass needs, and the backward pass.

pub(crate) mod attention;
pub(crate) mod convolution;
pub(crate) mod embedding;
pub(crate) mod linear;
pub(crate) mod loss;
pub(crate) mod norm;
pub(crate) mod pointwise;

pub use attention::Attention;
pub use convolution::{Convolution, Pool};
pub use embedding::Embedding;
pub use linear::Linear;
pub use loss::{Loss, cross_entropy};
pub use norm::Norm;
pub use pointwise::{Gelu, Relu};

use crate::arithmetic::product::Accumulation;
use crate::codes::quantizer::{Moment, TensorQuantizer};
use crate::error::Result;
use crate::matrix::Matrix;
use crate::parameters::ModelParameters;

/// The context of a pass.
#[derive(Debug)]
pub struct Pass<'a> {
    /// Weights to read; gradients to add to.
    pub parameters: &'a mut ModelParameters,
    /// How products accumulate.
    pub accumulate: Accumulation,
    /// Which step, and what it is for.
    pub moment: Moment,
    /// Bytes of activations kept for the backward pass.
    pub saved: Saved,
}

/// Bytes of what forward passes keep for backward passes.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Saved {
    /// As they are kept, codes as codes.
    pub bytes: usize,
    /// If all were binary32.
    pub as_f32: usize,
}

impl Pass<'_> {
    /// Notes that so many elements are kept in so many bytes.
    pub(crate) fn keeps(&mut self, elements: usize, bytes: usize) {
        self.saved.bytes += bytes;
        self.saved.as_f32 += 4 * elements;
    }
}

/// A function with a gradient.
pub trait Layer: Send {
    /// The result; keeps what [`backward`](Self::backward) needs.
    ///
    /// # Errors
    /// What encoding refuses.
    fn forward(&mut self, pass: &mut Pass<'_>, x: Matrix) -> Result<Matrix>;

    /// The gradient of the last forward pass's input from that of its result; adds the parameters'
    /// gradients to theirs.
    ///
    /// # Errors
    /// What encoding refuses.
    fn backward(&mut self, pass: &mut Pass<'_>, gradient: Matrix) -> Result<Matrix>;

    /// The quantizers of the layer, in an order that never changes.
    fn quantizers(&mut self) -> Vec<&mut TensorQuantizer> {
        Vec::new()
    }
}

/// Layers one after the other.
#[derive(Default)]
pub struct Chain(pub Vec<Box<dyn Layer>>);

impl Layer for Chain {
    fn forward(&mut self, pass: &mut Pass<'_>, x: Matrix) -> Result<Matrix> {
        self.0.iter_mut().try_fold(x, |x, layer| layer.forward(pass, x))
    }

    fn backward(&mut self, pass: &mut Pass<'_>, gradient: Matrix) -> Result<Matrix> {
        self.0.iter_mut().rev().try_fold(gradient, |gradient, layer| layer.backward(pass, gradient))
    }

    fn quantizers(&mut self) -> Vec<&mut TensorQuantizer> {
        self.0.iter_mut().flat_map(|layer| layer.quantizers()).collect()
    }
}

/// x + f(x).
pub struct Residual(pub Chain);

impl Layer for Residual {
    fn forward(&mut self, pass: &mut Pass<'_>, x: Matrix) -> Result<Matrix> {
        let mut y = self.0.forward(pass, x.clone())?;
        y.add(&x);
        Ok(y)
    }

    fn backward(&mut self, pass: &mut Pass<'_>, gradient: Matrix) -> Result<Matrix> {
        let mut inner = self.0.backward(pass, gradient.clone())?;
        inner.add(&gradient);
        Ok(inner)
    }

    fn quantizers(&mut self) -> Vec<&mut TensorQuantizer> {
        self.0.quantizers()
    }
}
