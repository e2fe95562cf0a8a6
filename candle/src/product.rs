//! The product of a quantized linear layer, as an operation with two operands and their gradients.

use std::sync::OnceLock;

use candle_core::{CpuStorage, CustomOp2, DType, Device, Error, Layout, Result, Shape, Tensor, bail};
use smallfloat_train::{Accumulation, EncodedTensor, MatrixOperand, product};

use crate::Quantize;
use crate::elements::{elements, with_elements};

/// Y = Q(X)·Q(W)ᵀ. Backward: dX = Q(dY)·Q(W), dW = Q(dY)ᵀ·Q(X), of the very codes of the forward
/// pass. These codes, one byte per element for 8-bit formats, are what it keeps.
pub(crate) struct Product {
    pub(crate) input: Quantize,
    pub(crate) weight: Quantize,
    pub(crate) gradient: Quantize,
    pub(crate) accumulate: Accumulation,
    pub(crate) kept: OnceLock<[EncodedTensor; 2]>,
}

impl Product {
    fn multiply(&self, a: &MatrixOperand<'_>, b: &MatrixOperand<'_>) -> Result<Vec<f32>> {
        product(a, b, self.accumulate).map_err(Error::wrap)
    }
}

impl CustomOp2 for Product {
    fn name(&self) -> &'static str {
        "quantized-linear"
    }

    fn cpu_fwd(
        &self,
        x: &CpuStorage,
        x_layout: &Layout,
        w: &CpuStorage,
        w_layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let (outputs, inputs) = w_layout.shape().dims2()?;
        let x = self.input.encode(elements(x, x_layout)?, DType::F32)?;
        let w = self.weight.encode(elements(w, w_layout)?, DType::F32)?;
        let y =
            self.multiply(&MatrixOperand::new(&x, inputs), &MatrixOperand::new(&w, inputs).transpose())?;
        let mut shape = x_layout.dims().to_vec();
        if let Some(last) = shape.last_mut() {
            *last = outputs;
        }
        // Set once: an operation has one forward pass.
        let _ = self.kept.set([x, w]);
        Ok((CpuStorage::F32(y), shape.into()))
    }

    fn bwd(
        &self,
        x: &Tensor,
        w: &Tensor,
        _: &Tensor,
        dy: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let Some([x_codes, w_codes]) = self.kept.get() else {
            bail!("{}: backward before forward", self.name());
        };
        let (outputs, inputs) = w.dims2()?;
        let codes = with_elements(dy, |dy| self.gradient.encode(dy, DType::F32))?;
        let dy = MatrixOperand::new(&codes, outputs);
        // What nobody asks for is not computed: the data's gradient at the beginning of a model,
        // say.
        let of = |operand: &Tensor, product: &dyn Fn() -> Result<Vec<f32>>| {
            operand
                .track_op()
                .then(|| Tensor::from_vec(product()?, operand.shape(), &Device::Cpu))
                .transpose()
        };
        Ok((
            of(x, &|| self.multiply(&dy, &MatrixOperand::new(w_codes, inputs)))?,
            of(w, &|| self.multiply(&dy.transpose(), &MatrixOperand::new(x_codes, inputs)))?,
        ))
    }
}
