//! Whether an implementation of small floating-point formats conforms.
//!
//! | module | what |
//! | --- | --- |
//! | [`vectors`] | test vectors for hardware and libraries: generated and checked |
//! | [`diagnosis`] | which mistake explains what differs, and where it differs |
//! | [`explain`](mod@explain) | one wrong result, in words |
//! | [`kappa`] | how far an implementation is from the defined results, in steps from value to value (κ of the P3109 draft) |
//! | [`implementation`] | implementations in common use, to be measured: through `f32`, through bfloat16, flushing, polynomials, tables |
//!
//! A converter's results are checked, and its mistake is named:
//!
//! ```
//! use smallfloat_conformance::diagnosis::diagnose;
//! use smallfloat_conformance::vectors::{CheckOptions, FlagSet, UnitUnderTest, check};
//!
//! // 1.5, 1.1, -1.1 and 1.1875 in binary32, and what it made of them.
//! let given = "3fc00000 3c\n3f8ccccd 38\nbf8ccccd b8\n3f980000 39\n";
//! let unit = UnitUnderTest::convert(&"binary32".parse()?, &"e4m3fn".parse()?, None, None, None)?;
//! let options = CheckOptions { unit: Some(unit.into()), flags: Some(FlagSet::None), ..CheckOptions::default() };
//! let report = check(given.as_bytes(), &options)?;
//! assert_eq!((report.vectors, report.mismatches), (4, 3));
//! let diagnosis = diagnose(&report);
//! let cause = diagnosis.cause().expect("one mistake explains all");
//! assert!(cause.mistake.to_string().contains("truncates"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The vectors themselves come from a [`VectorSet`](vectors::VectorSet), κ of a function from
//! [`kappa::sweep`].
//!
//! Results depend neither on the machine nor on the number of threads.
#![forbid(unsafe_code)]

pub mod coverage;
pub mod diagnosis;
mod error;
pub mod explain;
mod features;
pub mod implementation;
pub mod kappa;
mod monotone;
mod named;
mod terms;
pub mod vectors;

pub use error::Error;
