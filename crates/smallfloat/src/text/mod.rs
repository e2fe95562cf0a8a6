//! Decimal and hexadecimal text: [`Decimal`] prints a value as it is, `parse` reads a number
//! exactly, `Shortest` is the shortest decimal that rounds to a code.
//!
//! Parsing and `Shortest` need the feature `alloc`.

mod decimal;
#[cfg(feature = "alloc")]
mod literal;
#[cfg(feature = "alloc")]
mod parse;
mod powers;
#[cfg(feature = "alloc")]
mod shortest;

pub use decimal::Decimal;
pub(crate) use decimal::{Style, print};
#[cfg(feature = "alloc")]
pub use literal::Literal;
#[cfg(feature = "alloc")]
pub(crate) use parse::nearest;
#[cfg(feature = "alloc")]
pub use parse::parse;
#[cfg(feature = "alloc")]
pub use shortest::Shortest;
