//! What commands print: tables, JSON, progress and text for numbers.

pub(crate) mod declaration;
pub(crate) mod families;
pub(crate) mod fields;
pub(crate) mod json;
pub(crate) mod output;
pub(crate) mod progress;
pub(crate) mod report;
pub(crate) mod text;
pub(crate) mod yaml;
