//! One file a command: its arguments, its examples, and `run`.

pub(crate) mod convert;
pub(crate) mod formats;
pub(crate) mod show;
pub(crate) mod table;
