//! Small floating-point formats of machine learning, exactly.
//!
//! One idea carries this crate: **a number format is a finite set of exact values, and every
//! operation is decode → one exact mathematical function → project (round once, then apply the
//! range policy) → encode.** [`project`] is the only function that rounds.
//!
//! ```
//! use smallfloat::{Format, Preset, Rounding};
//!
//! // Tesla's 8-bit format with 4 exponent bits and a bias of 7.
//! let cfloat8 = Format::cfloat8_1_4_3(7)?;
//! let rounded = cfloat8.encode_f32(1.1, &cfloat8.default_projection());
//! assert_eq!(rounded.value, 0x39);
//! assert_eq!(cfloat8.decode(0x39).to_f64(), Some(1.125));
//!
//! // Any format of the catalogue by name, any rounding.
//! let e5m2: Format = "e5m2".parse()?;
//! let up = Preset::Ieee.projection(&e5m2).with_rounding(Rounding::TowardPositive);
//! assert_eq!(e5m2.encode_f64(1.0001, &up).value, 0x3d);
//!
//! // A type for each fixed format, with the face of Rust's own floats.
//! use smallfloat::E4M3Fn;
//! let x: E4M3Fn = "1.1".parse()?;
//! assert_eq!((x * x).to_f32(), 1.25);
//! # Ok::<(), smallfloat::Error>(())
//! ```
//!
//! # Where things are
//!
//! | module | what |
//! | --- | --- |
//! | [`Format`] | the descriptor of a format, and everything that follows from it |
//! | [`formats`] | the catalogue: named formats as constants |
//! | [`Codebook`] | values in a list: NF4, SF4, bitsandbytes' FP4, integers |
//! | [`Datum`], [`Exact`] | what a code means; an operation's result before rounding |
//! | [`Projection`], [`Preset`], [`project`] | rounding × saturation × what to do with the unrepresentable |
//! | [`Flags`], [`Rounded`] | exception flags, returned with every result |
//! | [`FlagPolicy`] | when they are raised, and which NaN a result is |
//! | [`random`] | Philox4x32-10, addressed by (seed, stream, element) |
//! | [`scalar`] | types with operators: listed below |
//! | `math` | exponentials, logarithms, trigonometric and hyperbolic functions, correctly rounded (feature `math`) |
//! | `p3109` | IEEE P3109's operations by name, on single codes and on blocks (feature `math`) |
//! | [`text`] | how values print; decimal and hexadecimal text, rounded once (feature `alloc`) |
//! | [`semantics`] | what every result has to be, in words: the project's specification |
//!
//! # Typed scalars
//!
//! | types | what |
//! | --- | --- |
//! | [`E4M3Fn`], [`E5M2`] | OCP's 8-bit formats |
//! | [`E4M3Fnuz`], [`E5M2Fnuz`], [`E4M3B11Fnuz`] | the same without −0, NaN in its place |
//! | [`E4M3`], [`E3M4`] | 8 bits after IEEE 754's model |
//! | [`E3M2Fn`], [`E2M3Fn`], [`E2M1Fn`] | OCP's 6- and 4-bit formats, a code in a byte |
//! | [`E8M0Fnu`] | the scale of MX blocks, a power of two |
//! | [`UE5M3`], [`UE4M3`] | the scales of other blocks, no sign |
//! | [`E3M0Fn`] | the powers of two of 4 bits |
//! | [`F16`], [`Bf16`] | IEEE 754 binary16 and bfloat16 |
//! | [`CFloat8_1_4_3`], [`CFloat8_1_5_2`], [`Shp`], [`Uhp`] | Tesla's formats, the bias in the type |
//! | [`Binary8p1se`], [`Binary8p2se`], [`Binary8p3se`], [`Binary8p4se`], [`Binary8p5se`], [`Binary8p6se`], [`Binary8p7se`] | P3109's signed, extended 8-bit formats |
//! | [`Binary8p3sf`], [`Binary8p4sf`], [`Binary8p5sf`] | P3109's signed, finite ones |
//! | [`Binary8p1ue`], [`Binary8p1uf`] | P3109's powers of two |
//! | [`Binary6p3se`], [`Binary6p4se`], [`Binary6p3sf`], [`Binary6p4sf`] | P3109's 6-bit formats |
//! | [`Binary4p2se`], [`Binary4p2sf`] | P3109's 4-bit formats |
//! | [`define_format!`] | a type for any other format of at most 16 bits |
//! | [`Dynamic`] | a code with a format that is known at run time |
//!
//! # Cargo features
//!
//! * `alloc`: text (parsing; values print without), sums without limits.
//! * `std` (default): implies `alloc`.
//! * `math`: roots, logarithms, exponentials, trigonometric and hyperbolic functions, and
//!   operations on numbers of any size (module `math`); implies `alloc` and adds `dashu-int` 0.6.
//!
//! Each of the others implements the traits of one crate for the typed scalars, and adds that crate
//! as a dependency:
//!
//! * `num-traits` 0.2: `Bounded`, `NumCast`, `FromPrimitive`, `ToPrimitive`, `One`, `MulAdd`, where
//!   the format has it `Zero`; with `alloc` also `Num`, `Signed`, and `FloatCore` for the types
//!   after IEEE 754's model; these have `Float` too with `std` and `math`, every function correctly
//!   rounded.
//! * `serde` 1: scalars as their codes; [`scalar`]'s modules `as_value` and `as_string` write
//!   values.
//! * `bytemuck` 1: `Pod` for types whose every byte is a code, `NoUninit` and `Zeroable` for all.
//! * `zerocopy` 0.8: `FromBytes` for types whose every byte is a code, `IntoBytes`, `Immutable`,
//!   `KnownLayout` for all.
//! * `half` 2: conversions that lose nothing, to and from `half::f16` and `half::bf16`.
//! * `arbitrary` 1: every code, each as likely.
//! * `rand` 0.10: `StandardUniform`, an exact uniform number in [0, 1) rounded down.
//!
//! Without features the crate needs neither an allocator nor an operating system. It contains no
//! `unsafe` code, has no mandatory dependency, and rounds with integers only.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![no_std]
#![forbid(unsafe_code)]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(feature = "alloc")]
extern crate alloc;
#[cfg(test)]
extern crate std;

mod cast;
pub mod codebook;
mod evaluate;
mod format;
#[cfg(feature = "math")]
pub mod math;
#[cfg(feature = "alloc")]
mod natural;
pub mod ops;
#[cfg(feature = "math")]
pub mod p3109;
mod projection;
pub mod random;
pub mod scalar;
#[doc = include_str!("semantics.md")]
pub mod semantics {}
pub mod text;

pub use codebook::Codebook;
#[cfg(feature = "math")]
pub use evaluate::table::ExactTable;
pub use format::datum::{Class, Datum};
pub use format::error::{Error, ErrorKind, Snippet};
pub use format::formats;
#[doc(hidden)]
pub use format::key::key_of as __key_of;
pub use format::name::FormatSpec;
#[doc(hidden)]
pub use format::name::closest as __closest;
pub use format::{Domain, Family, Format, Parameters, Signedness, Specials, Subnormals};
pub use projection::convert::{convert, convert_with, project_with};
pub use projection::exact::Exact;
pub use projection::flag_policy::{
    DenormalRule, FlagOrder, FlagPolicy, InvalidRule, LostInfinity, NanResult, Tininess, ZeroTimesInfinity,
};
pub use projection::flags::{Flags, Rounded};
pub use projection::grid::{GridPosition, Remainder};
pub use projection::preset::Preset;
pub use projection::rounding::{RandomBits, Rounding};
pub use projection::{
    MissingNan, MissingZero, NanRule, NegativeRule, NegativeZero, Projection, Saturation, Unrepresentable,
    project,
};
pub use scalar::*;
