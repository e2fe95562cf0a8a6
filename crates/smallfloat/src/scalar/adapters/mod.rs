//! The traits of other crates, a file for each.

#[cfg(feature = "arbitrary")]
mod arbitrary;
#[cfg(all(feature = "num-traits", feature = "math", feature = "std"))]
mod float;
#[cfg(feature = "half")]
mod half;
#[cfg(feature = "num-traits")]
mod num_traits;
#[cfg(feature = "rand")]
mod rand;
#[cfg(feature = "serde")]
pub(super) mod serde;
