//! κ: how far an implementation is from the defined results, in steps from value to value.
//!
//! Source: the P3109 draft, section on κ-approximate implementations. With â(x) the defined result
//! and ã(x) the given one:
//!
//! * κ = NaN if for some x exactly one of the two is NaN;
//! * else κ = ∞ if for some x the infinities do not match (both finite and both the same infinity
//!   are matches);
//! * else κ is the largest number of value steps between the two, over all x whose defined result
//!   is finite.
//!
//! An operation with several results (a block) has the worst κ of them. κ may be stated for each of
//! several disjoint sets of operands: a [`Cover`].
//!
//! The draft calls for the number of finite *values* between the two; so −0 and 0 are one value
//! here. (Its trivial bound for binary32, 2^32 − 2^24 − 1, counts the two zeros as two. Numbers
//! differ, by one, only where a result has the wrong sign.)
//!
//! ```
//! use smallfloat::{convert, formats::BFLOAT16, p3109::Specialization};
//! use smallfloat_conformance::kappa::{Kappa, GaugeOptions, sweep};
//!
//! // A unit that takes the square root in bfloat16 and rounds that: all 2^16 operands.
//! let sqrt: Specialization = "Sqrt<bfloat16, e4m3fn, (NearestTiesToEven, SatFinite)>".parse()?;
//! let (to, how) = (*sqrt.result().unwrap(), *sqrt.projection().unwrap());
//! let given = |x: &[u64]| {
//!     let root = f32::from_bits((x[0] as u32) << 16).sqrt();
//!     let rounded = BFLOAT16.encode_f32(root, &BFLOAT16.default_projection()).value;
//!     convert(rounded, &BFLOAT16, &to, &how).value
//! };
//! let gauge = sweep(&sqrt, given, GaugeOptions::default(), &|_| ())?;
//! assert_eq!(gauge.total().kappa(), Kappa::Steps(1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod cover;
mod defined;
mod gauge;
mod line;
mod measurement;
mod operation;
mod profile;
mod sweep;
mod vectors;

use std::fmt;

pub use cover::{Cover, Interval};
pub use defined::Defined;
pub use gauge::{Gauge, GaugeOptions};
pub use line::{LinePlace, ValueLine};
pub use measurement::{Case, HistogramBar, Measurement};
pub(crate) use operation::Definition;
pub use operation::MeasuredOperation;
pub use profile::Profile;
pub use sweep::{MAX_OPERAND_BITS, measure, sweep};
pub use vectors::{OperandCoverage, Vectors};

/// κ of a result or of many; the larger, the worse.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Kappa {
    /// So many steps from value to value at most.
    Steps(u64),
    /// An infinity that does not match.
    Infinite,
    /// A NaN that does not match.
    Nan,
}

impl Kappa {
    /// Returns the number of steps, if NaNs and infinities match.
    pub fn steps(self) -> Option<u64> {
        match self {
            Self::Steps(steps) => Some(steps),
            _ => None,
        }
    }
}

/// A number, `inf` or `NaN`.
impl fmt::Display for Kappa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Steps(steps) => steps.fmt(f),
            Self::Infinite => f.pad("inf"),
            Self::Nan => f.pad("NaN"),
        }
    }
}
