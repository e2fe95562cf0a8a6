//! Typed scalars: a type for each fixed format, with the face of Rust's own floats.
//!
//! ```
//! use smallfloat::{E4M3Fn, CFloat8_1_4_3, Bf16};
//!
//! let x = E4M3Fn::from_f32(1.1); // 1.125, the nearest of its values
//! let y = (x * x + E4M3Fn::ONE).sqrt();
//! assert_eq!(y.to_f32(), 1.5);
//! assert_eq!(y.convert::<Bf16>().to_string(), "1.5");
//!
//! // Tesla's formats have their bias in the type; `Dynamic` has any format at run time.
//! const HALF: CFloat8_1_4_3<11> = CFloat8_1_4_3::from_f32(0.5);
//! assert_eq!(HALF.to_bits(), 0x50);
//! ```
//!
//! # What a scalar does
//!
//! * **Every operation is exact, then rounded once**, as if by
//!   [`Operation::evaluate`](crate::ops::operation::Operation::evaluate): operators, `mul_add`,
//!   `sqrt`, conversions and parsing. Conversions to `f32` and `f64` are exact. Nothing rounds
//!   twice, and no host arithmetic rounds at all.
//! * **The policy is the format's default preset**
//!   ([`Format::default_projection`](crate::Format::default_projection),
//!   [semantics](crate::semantics) S2): E5M2 overflows to ∞, E4M3FN to NaN, Tesla's formats clamp;
//!   NaN becomes the largest value in Tesla's 8-bit formats and a zero in FP6 and FP4. The forms
//!   that end in `_with` take a [`Projection`](crate::Projection) and return the result with its
//!   [`Flags`](crate::Flags).
//! * **Special cases** are IEEE 754's, for the `Binary…` types P3109's: one zero, and x / 0 is NaN
//!   (S1).
//! * **`==` and `<` compare values**, as with `f32`: NaN equals nothing and −0 equals 0. So there
//!   is no `Eq`, `Ord` or `Hash`; [`Ordered`] has them, by the total order.
//! * **A constant exists where the format has the value.** `E5M2::INFINITY` is a value;
//!   `E4M3Fn::INFINITY` does not compile, since E4M3FN has none. Where a bias in the type decides,
//!   as for `CFloat8_1_4_3::<BIAS>::ONE`, use of a missing value does not compile either. Generic
//!   code asks [`SmallFloat::from_datum`].
//! * **`From` is only for what loses nothing**; anything else is a method whose name says what it
//!   does.
//! * **`Iterator::sum` is exact and rounds once** at the end, in any order the same; `product`
//!   rounds after each factor.
//! * **`Display` and `Debug` print the value as it is**: the shortest decimal that reads back as
//!   the same `f64` (`448`, `0.0999755859375`; `{:?}` has `448.0`), or with a precision (`{:.3}`)
//!   the exact value rounded to it; [`text::Decimal`](crate::text::Decimal) says all of it.
//!   `shortest()` is the shortest decimal that rounds to the value within the type (`450`, `0.1`).
//!   `{:x}` and `{:b}` print the code, as with `half`. Parsing and `shortest()` need the feature
//!   `alloc`.
//! * **4- and 6-bit types live in a byte** whose high bits are always 0: `from_bits` drops them,
//!   `try_from_bits` refuses.
//!
//! # A format of your own
//!
//! [`define_format!`](crate::define_format) gives any [`Format`](crate::Format) of at most 16 bits
//! a type with all of this:
//!
//! ```
//! use smallfloat::{Format, Parameters, Specials};
//!
//! smallfloat::define_format! {
//!     /// Eight bits with five of precision, every code a number.
//!     pub type E3M4Fn(u8) = Format::minifloat(Parameters::signed(8, 5, Specials::Finite));
//! }
//! assert_eq!(E3M4Fn::MAX.to_f32(), 31.0);
//! assert_eq!((E3M4Fn::from_f32(1.1) * E3M4Fn::from_f32(2.0)).to_f32(), 2.25);
//! ```
//!
//! # Slices
//!
//! [`ScalarSlice`] has conversions of whole slices from and to `f32` and `f64`, and sums and dot
//! products into any type, rounded once; the crate `smallfloat-kernels` has faster ones.
//!
//! # Optional features
//!
//! `math`: `exp`, `ln`, `sin`, `tanh`, `atan2` and so on, with the standard library's names where
//! it has them.
//!
//! `num-traits`, `serde` (codes; `as_value` and `as_string` beside), `bytemuck`, `zerocopy`,
//! `half`, `arbitrary`, `rand`. The derives of `bytemuck` and `zerocopy` check what they claim, so
//! that the crate stays without `unsafe` code: every type is `NoUninit` and `IntoBytes`; `Pod` and
//! `FromBytes` are only those whose every byte is a code.

mod adapters;
mod arith;
pub(crate) mod code;
mod custom;
mod define;
mod dynamic;
mod fmt;
mod from;
mod list;
#[cfg(feature = "math")]
mod math;
mod methods;
mod ordered;
mod slice;
#[cfg(all(test, feature = "alloc"))]
mod tests;
mod traits;

use list::for_each_scalar;

#[cfg(all(feature = "serde", feature = "alloc"))]
pub use adapters::serde::as_string;
#[cfg(feature = "serde")]
pub use adapters::serde::as_value;
pub use define::*;
pub use dynamic::Dynamic;
pub use ordered::Ordered;
pub use slice::{FromExact, ScalarSlice};
pub use traits::SmallFloat;
