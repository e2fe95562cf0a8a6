//! Test vectors for hardware and other implementations: generated, read back, and explained.
//!
//! A [`UnitUnderTest`] is what is under test: an operation with its formats and policies. A
//! [`Plan`] says which operands it is given, [`generate`] writes a line for each with the defined
//! result and flags in one of four [`Layout`]s, and [`check`] reads what a simulator or a library
//! gave for the same operands, counts what differs and names the [`Mistake`] that would explain it.
//!
//! Coverage models, in the words of the literature: *levels* and weighted operands as in TestFloat
//! (J. Hauser, Berkeley TestFloat, "Testing"); boundaries of binades, special significands,
//! rounding and sticky patterns, and cancellation as in the floating-point coverage models of IBM's
//! FPgen (M. Aharoni et al., "FPgen: a test generation framework for datapath floating-point
//! verification", 2003).
//!
//! ```
//! use smallfloat_conformance::vectors::{Layout, Level, Plan, UnitUnderTest, VectorSet};
//! let unit: UnitUnderTest = UnitUnderTest::new("Negate<e2m1fn, e2m1fn>".parse()?, None)?;
//! let plan = Plan::new(&unit, Some(Level::Exhaustive), 0, None)?;
//! let mut text = Vec::new();
//! VectorSet::new(unit, plan, None).write(Layout::TestFloat, &mut text)?;
//! let text = String::from_utf8(text)?;
//! assert!(text.ends_with("\ne 6 00\nf 7 00\n"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod catalogue;
mod check;
mod directed;
mod explain;
mod generate;
mod header;
mod layout;
mod mistake;
mod outcome;
mod plan;
mod pools;
mod random;
mod read;
mod unit;

pub use check::{CheckOptions, Hypothesis, Mismatch, Report, check};
pub use explain::{Nearer, Place};
pub use generate::{VectorSet, WriteError, generate};
pub use header::{FlagSet, Header};
pub use layout::Layout;
pub use mistake::Mistake;
pub use outcome::Outcome;
pub use plan::{Level, Plan, Section};
pub use unit::{CLASSES, Field, UnitUnderTest};
