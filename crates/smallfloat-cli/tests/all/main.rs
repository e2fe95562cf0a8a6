//! The command as its users see it: one binary, so that tests are linked once and run side by side.

mod common;

mod against;
mod bias_report;
mod checkpoint;
mod command;
mod coverage;
mod diagnosis;
mod documents;
mod errors;
mod eval;
mod eval_blocks;
mod explore;
mod first_sight;
mod formats;
mod hostile;
mod kappa;
mod lab;
mod lists;
mod operands;
mod packs;
mod schemes;
mod shards;
mod supports;
mod train;
#[cfg(target_os = "linux")]
mod trouble;
mod vectors;
