//! Tests of the mathematical engine, one file an idea.

mod basic;
mod extremes;
mod special;
mod values;
