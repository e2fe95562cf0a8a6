//! Arithmetic on arrays of codes: operations, and dot and matrix products.

pub(crate) mod operations;
pub(crate) mod products;
