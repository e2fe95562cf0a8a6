//! Numerics experiments with small floating-point formats.
//!
//! | module | what |
//! | --- | --- |
//! | [`kappa`] | how far an implementation is from the defined results, in steps from value to value |
//! | [`explorer`] | the model behind a page on which formats are looked at |
//! | [`words`] | formats, codes and values in words |
//! | [`variant`] | implementations that people really use, to be measured: through `f32`, through bfloat16, flushing, polynomials, tables |
//!
//! No experiment depends on the machine or on the number of threads.
#![forbid(unsafe_code)]

mod error;
pub mod explorer;
pub mod kappa;
mod runs;
pub mod variant;
pub mod words;

pub use error::Error;
