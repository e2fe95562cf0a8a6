//! Arguments that several commands share.

pub(crate) mod files;
pub(crate) mod flags;
pub(crate) mod input;
pub(crate) mod operands;
pub(crate) mod quantize;
pub(crate) mod results;
pub(crate) mod rounding;
pub(crate) mod schemes;
pub(crate) mod unit;
