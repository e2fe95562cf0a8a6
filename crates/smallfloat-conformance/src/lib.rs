//! Whether an implementation of small floating-point formats conforms.
//!
//! | module | what |
//! | --- | --- |
//! | [`vectors`] | test vectors for hardware and libraries: generated, checked, mistakes named |
//! | [`kappa`] | how far an implementation is from the defined results, in steps from value to value (κ of the P3109 draft) |
//! | [`implementation`] | implementations in common use, to be measured: through `f32`, through bfloat16, flushing, polynomials, tables |
//!
//! Results depend neither on the machine nor on the number of threads.
#![forbid(unsafe_code)]

mod error;
pub mod implementation;
pub mod kappa;
mod monotone;
mod named;
pub mod vectors;

pub use error::Error;
