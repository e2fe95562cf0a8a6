//! Products of encoded matrices, in binary32 or exact.

pub(crate) mod exact;
pub(crate) mod operand;
pub(crate) mod product;
