//! Formats, codes, values and operations.

pub(crate) mod call;
pub(crate) mod convert;
pub(crate) mod eval;
pub(crate) mod formats;
pub(crate) mod lists;
pub(crate) mod show;
pub(crate) mod supports;
pub(crate) mod table;
