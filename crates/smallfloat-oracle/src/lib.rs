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
mod flags;
mod format;
pub mod formats;
pub mod hardware;
pub mod ops;
mod policy;
mod rational;
mod round;
mod runs;
pub mod selection;
mod table;
mod text;

pub use dyadic::Dyadic;
pub use flags::Flags;
pub use format::{OracleFormat, Specials, Subnormals, Value};
pub use policy::{
    NanCode, NegativeRule, NegativeZero, NoNanRule, Policy, Rounding, Saturation, ZeroRule, preset,
};
pub use rational::{Exact, Rational, Real};
pub use round::convert;
pub use runs::{Run, f32_runs};
pub use table::Table;
pub use text::parse;
