//! Independent exact arithmetic that tests smallfloat; shares no code with it.
//!
//! Everything here is meant to be checked by reading. Numbers are exact (big integers, no rounding
//! anywhere but in [`Table::round`]); formats are described by five plain parameters and decoded by
//! enumeration; rounding is done by looking up the two neighbours in a sorted list and comparing
//! the exact number with points between them. Speed was given up wherever it would have cost a line
//! of doubt.
//!
//! The path of a conversion: [`OracleFormat::value`] turns a code into a [`Value`], which becomes
//! an [`Exact`]; [`ops`] combine those; [`Table::round`] with a [`Policy`] gives a code and
//! [`Flags`].

pub mod blocks;
mod dyadic;
pub mod fast;
mod format;
pub mod formats;
pub mod hardware;
pub mod ops;
mod rational;
mod rounding;
pub mod selection;
mod text;

pub use dyadic::{Dyadic, Integer};
pub use format::{OracleFormat, Specials, Subnormals, Value};
pub use rational::{Exact, Rational, Real};
pub use rounding::{
    Flags, NanCode, NegativeRule, NegativeZero, NoNanRule, Policy, Rounding, Run, Saturation, Sought, Table,
    ZeroRule, convert, f32_runs, preset,
};
pub use text::parse;
