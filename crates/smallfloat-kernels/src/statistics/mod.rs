//! Statistics of slices: class sums, from which every bias's error follows, and error sums.

pub(crate) mod accumulator;
pub(crate) mod class_sums;
pub(crate) mod error_sums;
