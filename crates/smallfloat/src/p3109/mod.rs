//! Operations by the P3109 draft's spelling: every specialization `Name<format, …, (rounding,
//! saturation)>` from text to result, operations on blocks and scaled operands, and queries.
//!
//! | item | what |
//! | --- | --- |
//! | [`Specialization`] | an operation with its formats and projections; parsed, printed, evaluated on codes |
//! | [`Function`], [`Group`] | the draft's operations by name, and its groups of them |
//! | [`Block`], [`BlockFunction`] | scales with sequences of elements, and what is computed from them |
//! | [`FormatQuery`], [`ProjectionQuery`], [`Property`] | questions about formats and projections |
//! | [`mandatory_minimum`] | what a conforming implementation must supply for a format |
//!
//! Source: P3109 draft (September 2026), sections "Operations", "Block operations", "Conformance".

pub(crate) mod block;
pub(crate) mod block_exact;
pub(crate) mod block_fixed;
pub(crate) mod function;
pub(crate) mod grammar;
pub(crate) mod minimum;
pub(crate) mod modes;
pub(crate) mod query;
pub(crate) mod reader;
pub(crate) mod specialization;

pub use block::{Argument, Block, BlockResult, Sequence};
pub use function::{BlockFunction, Function, Group};
pub use minimum::mandatory_minimum;
pub use query::{FormatQuery, ProjectionQuery, Property};
pub use specialization::{Answer, Parameter, Specialization};
