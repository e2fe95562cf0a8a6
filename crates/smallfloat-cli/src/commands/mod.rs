//! One file a command: its arguments, its examples, and `run`.

pub(crate) mod apply;
mod bias_report;
pub(crate) mod compare;
pub(crate) mod convert;
pub(crate) mod dequantize;
pub(crate) mod eval;
#[cfg(feature = "explore")]
pub(crate) mod explore;
pub(crate) mod finalize;
pub(crate) mod formats;
pub(crate) mod inspect;
pub(crate) mod kappa;
pub(crate) mod lab;
mod operands;
pub(crate) mod plan;
pub(crate) mod quantize;
pub(crate) mod sample;
pub(crate) mod show;
pub(crate) mod supports;
pub(crate) mod table;
#[cfg(feature = "train")]
pub(crate) mod train;
pub(crate) mod vectors;
mod vectors_check;
pub(crate) mod verify;
