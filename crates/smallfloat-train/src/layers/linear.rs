//! [`Linear`]: the layer whose products are of small floats.

use crate::arithmetic::operand::MatrixOperand;
use crate::arithmetic::product::product;
use crate::codes::coder::EncodedTensor;
use crate::codes::quantizer::TensorQuantizer;
use crate::error::Result;
use crate::layers::{Layer, Pass};
use crate::matrix::Matrix;
use crate::parameters::{First, ModelParameters};

/// y = Q(x)·Q(W)ᵀ + b. Backward: dx = Q(dy)·Q(W), dW = Q(dy)ᵀ·Q(x), db = sums of dy. Encoding
/// counts as the identity there, which is the straight-through definition (Bengio et al., arXiv
/// 1308.3432).
pub struct Linear {
    weight: usize,
    bias: Option<usize>,
    outputs: usize,
    inputs: usize,
    activations: TensorQuantizer,
    weights: TensorQuantizer,
    gradients: TensorQuantizer,
    /// Whether there is a layer before it that wants a gradient.
    passes_on: bool,
    saved: Option<Saved>,
}

struct Saved {
    activations: EncodedTensor,
    weights: EncodedTensor,
}

impl Linear {
    /// A layer with first weights of this standard deviation and first biases of zero.
    ///
    /// # Errors
    /// A class of the configuration that does not go together.
    pub fn new(
        parameters: &mut ModelParameters,
        name: &str,
        [inputs, outputs]: [usize; 2],
        deviation: f32,
    ) -> Result<Self> {
        let config = parameters.config().clone();
        let quantizer = |what: &str, class| {
            TensorQuantizer::new(format!("{name}.{what}"), class).map(|q| q.with_nonfinite(config.nonfinite))
        };
        Ok(Self {
            weight: parameters.add(
                &format!("{name}.weight"),
                &[outputs, inputs],
                First::Normal(deviation),
            )?,
            bias: Some(parameters.add(&format!("{name}.bias"), &[outputs], First::Constant(0.0))?),
            outputs,
            inputs,
            activations: quantizer("activations", &config.activations)?,
            weights: quantizer("weights", &config.weights)?,
            gradients: quantizer("gradients", &config.gradients)?,
            passes_on: true,
            saved: None,
        })
    }

    /// Returns the layer for the beginning of a model, where the gradient of the input is not
    /// computed.
    #[must_use]
    pub fn first(mut self) -> Self {
        self.passes_on = false;
        self
    }

    /// Returns the length of an input's row.
    pub fn inputs(&self) -> usize {
        self.inputs
    }
}

impl Layer for Linear {
    fn forward(&mut self, pass: &mut Pass<'_>, x: Matrix) -> Result<Matrix> {
        let moment = pass.moment;
        let count = x.values.len();
        let seed = pass.parameters.seed;
        let mut activations =
            self.activations.encode_matrix(pass.parameters.coders(), x.values, self.inputs, moment, seed)?;
        let kept = &pass.parameters.list[self.weight].weights;
        let mut weights = if pass.parameters.config().stored_operands()
            || self.weights.is_plain() && kept.codes().coder.is_none()
        {
            kept.codes().clone()
        } else {
            let values = kept.values();
            self.weights.encode_matrix(pass.parameters.coders(), values, self.inputs, moment, seed)?
        };
        let mut y = Matrix {
            columns: self.outputs,
            values: product(
                &MatrixOperand::new(&activations, self.inputs),
                &MatrixOperand::new(&weights, self.inputs).transpose(),
                pass.accumulate,
            )?,
        };
        if let Some(bias) = self.bias {
            let bias = pass.parameters.list[bias].weights.values();
            for row in y.values.chunks_exact_mut(self.outputs) {
                for (y, b) in row.iter_mut().zip(&bias) {
                    *y += b;
                }
            }
        }
        activations.for_backward();
        weights.for_backward();
        let unrounded = self.activations.unrounded_bytes() + self.weights.unrounded_bytes();
        pass.keeps(count, activations.data.bytes() + unrounded);
        self.saved = Some(Saved { activations, weights });
        Ok(y)
    }

    fn backward(&mut self, pass: &mut Pass<'_>, gradient: Matrix) -> Result<Matrix> {
        let Some(Saved { activations, weights }) = self.saved.take() else { return Ok(gradient) };
        if let Some(bias) = self.bias {
            gradient.add_columns_to(&mut pass.parameters.list[bias].gradient);
        }
        let rows = gradient.rows();
        let (seed, moment) = (pass.parameters.seed, pass.moment);
        let values = gradient.values;
        let codes =
            self.gradients.encode_matrix(pass.parameters.coders(), values, self.outputs, moment, seed)?;
        let dy = MatrixOperand::new(&codes, self.outputs);
        let dw = product(&dy.transpose(), &MatrixOperand::new(&activations, self.inputs), pass.accumulate)?;
        self.weights.learn(&weights, &dw, pass.moment)?;
        for (sum, dw) in pass.parameters.list[self.weight].gradient.iter_mut().zip(dw) {
            *sum += dw;
        }
        if !self.passes_on && !self.activations.learns_by_gradient() {
            return Ok(Matrix::zeros(rows, 0));
        }
        let values = product(&dy, &MatrixOperand::new(&weights, self.inputs), pass.accumulate)?;
        self.activations.learn(&activations, &values, pass.moment)?;
        Ok(if self.passes_on { Matrix { columns: self.inputs, values } } else { Matrix::zeros(rows, 0) })
    }

    fn quantizers(&mut self) -> Vec<&mut TensorQuantizer> {
        vec![&mut self.activations, &mut self.weights, &mut self.gradients]
    }
}
