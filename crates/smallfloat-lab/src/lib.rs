//! Numerics experiments with small floating-point formats, and the model behind the explorer.
//!
//! | module | what |
//! | --- | --- |
//! | [`experiments`] | those of the P3109 working group's talk (saturation, masks, norms, losses, zeros, subnormals), tables of papers, real training |
//! | [`explorer`] | the model behind a page on which formats are looked at |
//! | [`describe`] | formats, codes and values as text |
//!
//! No experiment depends on the number of threads, and none but those that train models, whose
//! products are binary32, on the machine.
#![forbid(unsafe_code)]

pub mod describe;
mod error;
pub mod experiments;
pub mod explorer;
mod instruments;
mod named;

pub use error::Error;
