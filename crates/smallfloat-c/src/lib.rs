//! The C library: what `include/smallfloat.h` declares.
//!
//! Formats, projections and operations are made by the names that the rest of smallfloat has, and
//! are opaque. Nothing is global: a handle may be used from any number of threads at once, and what
//! went wrong is a status with a text that goes where the caller says. No panic leaves this crate.
//!
//! | module | what |
//! | --- | --- |
//! | [`status`] | statuses, errors, and the border itself |
//! | [`format`](mod@format) | handles of formats and projections |
//! | [`operation`] | handles of operations, and calls one by one |
//! | [`batch`] | operations on arrays, by the kernels |
//! | [`dot`] | sums of products and matrix products with any accumulator |
//! | [`explain`] | what is wrong with a result, in words |
//! | [`fixed`] | functions with the format in their name |
#![expect(non_camel_case_types, reason = "the names of C")]
#![expect(clippy::missing_safety_doc, reason = "the header's first lines say it for all functions")]
#![expect(clippy::missing_panics_doc, reason = "no panic leaves a function of this crate")]

pub mod batch;
pub mod dot;
pub mod explain;
pub mod fixed;
pub mod format;
mod kernel;
mod memo;
pub mod operation;
pub mod status;
