//! [`fake_quantize`]: a tensor on a format's values, as an operation with a gradient.

use std::sync::OnceLock;

use candle_core::backend::BackendStorage;
use candle_core::{CpuStorage, CustomOp1, DType, Layout, Result, Shape, Tensor};
use smallfloat_train::EncodedTensor;

use crate::elements::{check, elements, storage};
use crate::{Gradient, Quantize};

/// Returns the tensor rounded onto the values of `projection`'s format: encoded and decoded again,
/// by the kernels. Its gradient is [`projection.gradient()`](Quantize::gradient).
///
/// Any shape and layout. Elements are f32, or f16 or bf16 if these have every value of the format
/// at its bias.
///
/// # Errors
/// A tensor on another device or of another type, and a format that has values which the type has
/// not.
pub fn fake_quantize(x: &Tensor, projection: &Quantize) -> Result<Tensor> {
    check(x, &projection.name(), &[DType::F32, DType::F16, DType::BF16])?;
    x.contiguous()?.apply_op1(Rounding { projection: projection.clone(), range: OnceLock::new() })
}

struct Rounding {
    projection: Quantize,
    /// The least and the largest value, as they were in the forward pass; none where nothing is
    /// clamped.
    range: OnceLock<[f64; 2]>,
}

impl CustomOp1 for Rounding {
    fn name(&self) -> &'static str {
        "fake-quantize"
    }

    fn cpu_fwd(&self, from: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let dtype = from.dtype();
        let codes = self.projection.encode(elements(from, layout)?, dtype)?;
        if let Some(range) = range(&codes) {
            // Set once: an operation has one forward pass.
            let _ = self.range.set(range);
        }
        Ok((storage(codes.values(), dtype)?, layout.shape().clone()))
    }

    fn bwd(&self, x: &Tensor, _: &Tensor, dy: &Tensor) -> Result<Option<Tensor>> {
        let (Gradient::ZeroWhereClamped, Some([least, largest])) =
            (self.projection.gradient(), self.range.get())
        else {
            return Ok(Some(dy.clone()));
        };
        // Without its history, which would be kept alive.
        let x = x.detach().to_dtype(DType::F32)?;
        let clamped = (x.lt(*least)? + x.gt(*largest)?)?;
        Ok(Some(clamped.where_cond(&dy.zeros_like()?, dy)?))
    }
}

/// The finite range of a tensor's format, without its scale.
fn range(codes: &EncodedTensor) -> Option<[f64; 2]> {
    let format = &codes.coder.as_ref()?.format;
    let scale = f64::from(-codes.exponent).exp2();
    let [least, largest] = [format.min_finite(), format.max_finite()].map(|end| end.to_f64());
    Some([least? * scale, largest? * scale])
}
