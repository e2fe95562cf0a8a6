//! A run: its steps and optimizer, what it needs and keeps, and what it reports.

mod checkpoint;
mod footprint;
pub(crate) mod optimizer;
pub(crate) mod report;
pub(crate) mod trainer;
