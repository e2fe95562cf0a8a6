//! Tests of the mathematical engine, one file an idea.

mod balls;
mod basic;
mod extremes;
mod reals;
mod shortcuts;
mod special;
mod values;
