//! What multiplies codes: scales by rule, and biases by policy.

pub(crate) mod bias;
pub(crate) mod range;
pub(crate) mod rule;
