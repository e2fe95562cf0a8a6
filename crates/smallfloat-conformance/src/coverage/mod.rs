//! How much of a unit vectors reach: bins of crosses of features, counted over files, with what is
//! unreachable left out, so that 100 % means 100 %.
//!
//! A [`Coverage`] is made for a [`VectorUnit`](crate::vectors::VectorUnit) (a
//! [`UnitCoverage`] for one with ports), takes vectors from any number of files and the JSON of
//! earlier runs, and lists the bins that are missing, with operands that reach them.
//!
//! ```
//! use smallfloat_conformance::coverage::Coverage;
//! use smallfloat_conformance::vectors::UnitUnderTest;
//!
//! let unit = UnitUnderTest::new("Add<e2m1fn, e2m1fn, e2m1fn>".parse()?, None)?;
//! let mut coverage = Coverage::new(unit)?;
//! coverage.count(&[0x2, 0x3])?; // 1 + 1.5
//! let rounding = coverage.crosses().find(|cross| cross.name() == "rounding").expect("it rounds");
//! assert_eq!((rounding.hit(), rounding.missing().count() + 1), (1, rounding.reachable()));
//! // Operands for all the rest.
//! for operands in coverage.closing() {
//!     coverage.count(&operands)?;
//! }
//! assert_eq!(coverage.percent(), 100.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod functions;
mod lists;
mod model;
mod settings;
mod stored;
mod sums;
mod systemverilog;
mod tally;

pub use settings::UnitCoverage;
pub use tally::{Bin, Coverage, CrossCoverage};
