//! What installs and documents the command itself.

pub(crate) mod about;
pub(crate) mod completions;
pub(crate) mod man;
