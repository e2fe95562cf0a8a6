//! Tables of papers, run again.
//!
//! | experiment | paper |
//! | --- | --- |
//! | [`exponent_bits`] | Kuzmin et al., "FP8 Quantization: The Power of the Exponent" (arXiv 2208.09225) |
//! | [`few_bits`] | Fitzgibbon and Felix, "On Stochastic Rounding with Few Random Bits" (arXiv 2504.20634) |

pub(super) mod exponent_bits;
pub(super) mod few_bits;
mod quadrature;
