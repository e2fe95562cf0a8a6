//! From exact numbers to codes: policies, the one rounding, flags, and the runs of `f32` inputs
//! that round alike.

mod convert;
mod flags;
mod policy;
mod runs;
mod table;

pub use convert::{Sought, convert};
pub use flags::Flags;
pub use policy::{
    NanCode, NegativeRule, NegativeZero, NoNanRule, Policy, Rounding, Saturation, ZeroRule, preset,
};
pub use runs::{Run, f32_runs};
pub use table::Table;
