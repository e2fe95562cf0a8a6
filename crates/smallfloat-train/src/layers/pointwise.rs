//! [`Gelu`] and [`Relu`]: functions of each element.

use crate::error::Result;
use crate::functions::{gelu, gelu_slope};
use crate::layers::{Layer, Pass};
use crate::matrix::Matrix;

macro_rules! pointwise {
    ($($(#[$doc:meta])* $name:ident: $function:expr, $slope:expr;)*) => {
        $(
            $(#[$doc])*
            #[derive(Debug, Default)]
            pub struct $name(Option<Matrix>);

            impl Layer for $name {
                fn forward(&mut self, pass: &mut Pass<'_>, x: Matrix) -> Result<Matrix> {
                    let y = x.map($function);
                    pass.keeps(x.values.len(), 4 * x.values.len());
                    self.0 = Some(x);
                    Ok(y)
                }

                fn backward(&mut self, _: &mut Pass<'_>, gradient: Matrix) -> Result<Matrix> {
                    let Some(x) = self.0.take() else { return Ok(gradient) };
                    Ok(x.map2(&gradient, |x, dy| dy * ($slope)(x)))
                }
            }
        )*
    };
}

pointwise! {
    /// The Gaussian error linear unit (Hendrycks and Gimpel, arXiv 1606.08415), by its tanh form.
    Gelu: gelu, gelu_slope;
    /// max(x, 0), with slope 0 at 0; NaN stays NaN.
    Relu: |x| if x <= 0.0 { 0.0 } else { x }, |x: f32| if x.is_nan() { x } else { f32::from(x > 0.0) };
}
