//! Test vectors for hardware and other implementations: generated, read back, and explained.
//!
//! A [`UnitUnderTest`] is what is under test: an operation with its formats and policies. Units
//! without policies are [`FixedUnit`]s, and a [`VectorUnit`] is either. A
//! [`VectorPlan`] says which operands it is given, [`generate`] writes a line for each with the
//! defined result and flags in one of four [`LineLayout`]s, and [`check`] reads what a simulator or
//! a library gave for the same operands and counts what differs. [`crate::diagnosis`] says which
//! mistake would explain it.
//!
//! Coverage models, in the words of the literature: *levels* and weighted operands as in TestFloat
//! (J. Hauser, Berkeley TestFloat, "Testing"); boundaries of binades, special significands,
//! rounding and sticky patterns, and cancellation as in the floating-point coverage models of IBM's
//! FPgen (M. Aharoni et al., "FPgen: a test generation framework for datapath floating-point
//! verification", 2003).
//!
//! ```
//! use smallfloat_conformance::vectors::{
//!     CoverageLevel, LineLayout, UnitUnderTest, VectorPlan, VectorSet,
//! };
//! let unit: UnitUnderTest = UnitUnderTest::new("Negate<e2m1fn, e2m1fn>".parse()?, None)?;
//! let plan = VectorPlan::new(&unit, Some(CoverageLevel::Exhaustive), 0, None)?;
//! let mut text = Vec::new();
//! VectorSet::new(unit, plan, None).write(LineLayout::TestFloat, &mut text)?;
//! let text = String::from_utf8(text)?;
//! assert!(text.contains("\ne 6 00\nf 7 00\n# sha256: "));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod any_unit;
mod check;
mod dots;
mod explain;
mod fixed;
pub(crate) mod generate;
mod header;
mod layout;
mod level;
mod outcome;
pub(crate) mod ports;
mod unit;

pub use any_unit::VectorUnit;
pub(crate) use check::OperandFile;
pub use check::{CheckOptions, CheckReport, Mismatch, check};
pub use dots::BlockScales;
pub(crate) use dots::{DotProduct, ScaledSums, scale, times};
pub(crate) use explain::below_tie;
pub use explain::{Nearer, Neighbours};
pub use fixed::FixedUnit;
pub use generate::{LineKind, Section, Selection, Shard, VectorPlan, VectorSet, WriteError, generate};
pub use header::{FlagSet, VectorHeader};
pub use layout::LineLayout;
pub use level::CoverageLevel;
pub use outcome::CallOutcome;
pub use ports::Ports;
pub use smallfloat_kernels::Accumulate;
pub use unit::{CLASSES, Field, UnitUnderTest, under};
