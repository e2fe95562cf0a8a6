//! The pictures of reports, as SVG.

pub(crate) mod bias_costs;
pub(crate) mod canvas;
pub(crate) mod checkpoint;
mod factors;
pub(crate) mod kappa;
pub(crate) mod lab;
#[cfg(feature = "train")]
pub(crate) mod train;
