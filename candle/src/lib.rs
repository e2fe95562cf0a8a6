//! Small floating-point formats in models of the [candle](https://docs.rs/candle-core) framework.
//!
//! | type | what |
//! | --- | --- |
//! | [`fake_quantize`] | a tensor rounded onto a format's values, with a straight-through gradient |
//! | [`Quantize`] | how: format, projection, bias or bias policy, random words, which gradient; counts what happened |
//! | [`QuantizedLinear`] | candle's linear layer with its input, weight and gradient as codes of formats of their own |
//! | [`LinearConfig`] | which formats: CFloat8_1_4_3 forward and CFloat8_1_5_2 backward with biases that follow, or any others |
//!
//! Tensors between layers stay binary32; codes exist where operands of products do. For weights and
//! optimizer state that are codes between steps too take [`smallfloat_train::Trainer`].
//!
//! ```
//! use candle_core::{Device, Tensor};
//! use smallfloat_candle::{ClassConfig, Quantize, fake_quantize};
//!
//! let class = ClassConfig { format: "cfloat8_1_4_3:bias=7".parse()?, ..ClassConfig::default() };
//! let quantize = Quantize::new("x", &class)?;
//! let x = Tensor::new(&[1.0_f32, 1.1, -0.3, 1e9], &Device::Cpu)?;
//! assert_eq!(fake_quantize(&x, &quantize)?.to_vec1::<f32>()?, [1.0, 1.125, -0.3125, 480.0]);
//! assert_eq!(quantize.tally().overflowed, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The gradient of rounding
//!
//! Rounding has slope zero almost everywhere, so that no gradient would pass. [`Gradient`] names
//! the two definitions in use: the identity, or that of clamping to the format's range.
//!
//! # What results depend on
//!
//! A quantizer's bias and random words follow from the tensors that it has seen, in their order;
//! nothing depends on the number of threads. With [`Accumulation::Exact`] the products of
//! [`QuantizedLinear`] are exact sums, rounded once, and so the same on every machine; other
//! operations are the framework's, which promises no order.
//!
//! Tensors must be on the CPU. candle's errors name what is not as it must be; errors of this
//! project's are wrapped in them.

// The page's example is compiled and run with the others.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod elements;
mod fake;
mod linear;
mod product;
mod quantize;

pub use fake::fake_quantize;
pub use linear::{LinearConfig, LinearState, QuantizedLinear, quantized_linear, quantized_linear_no_bias};
pub use quantize::{Gradient, Quantize, QuantizeState};
pub use smallfloat_tensor::BiasPolicy;
pub use smallfloat_train::{Accumulation, BiasChange, ClassConfig, Config, Round, Tally, preset};
