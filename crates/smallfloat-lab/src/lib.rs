//! Numerics experiments with small floating-point formats.
//!
//! | module | what |
//! | --- | --- |
//! | [`experiments`] | the experiments of the P3109 working group's talk: saturation, masks, norms, losses, zeros, subnormals |
//! | [`kappa`] | how far an implementation is from the defined results, in steps from value to value |
//! | [`vectors`] | test vectors for other implementations: generated, checked, mistakes named |
//! | [`explorer`] | the model behind a page on which formats are looked at |
//! | [`words`] | formats, codes and values in words |
//! | [`variant`] | implementations that people really use, to be measured: through `f32`, through bfloat16, flushing, polynomials, tables |
//!
//! No experiment depends on the machine or on the number of threads.
#![forbid(unsafe_code)]

mod error;
pub mod experiments;
pub mod explorer;
pub mod kappa;
mod runs;
pub mod variant;
pub mod vectors;
pub mod words;

pub use error::Error;
