//! Slices of wide floats ⇄ codes of small formats, with the bits of the core's scalar functions.
//!
//! In one call, for a slice or for typed scalars:
//!
//! ```
//! use smallfloat::{E4M3Fn, formats::E5M2};
//! use smallfloat_kernels as kernels;
//!
//! let x: Vec<E4M3Fn> = kernels::encode_as::<E4M3Fn>(&[1.0_f32, 1.1, -0.3]);
//! assert_eq!(kernels::decode_scalars::<f32>(&x)?, [1.0, 1.125, -0.3125]);
//! assert_eq!(kernels::dot::<f32>(&x, &x), 2.36328125);
//!
//! let (codes, counts) = kernels::encode(&[0.1_f64, 1e9], &E5M2, &E5M2.default_projection())?;
//! assert_eq!((codes, counts.overflowed), (vec![0x2e, 0x7c], 1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | function | what |
//! | --- | --- |
//! | [`encode`], [`encode_u16`] | floats → a `Vec` of codes, with counts; [`encode_seeded`] rounds stochastically, [`encode_with_flags`] gives each element's flags |
//! | [`encode_as`], [`encode_as_with`] | floats → a `Vec` of typed scalars |
//! | [`decode`], [`decode_scalars`] | codes or typed scalars → a `Vec` of floats |
//! | [`dot`] | an exact dot product of typed scalars, rounded once to any type |
//! | [`AsCodes`], [`AsScalars`] | typed scalars ⇄ codes in place |
//!
//! For many slices, and for everything else, these are kept:
//!
//! | type | what |
//! | --- | --- |
//! | [`Encoder`] | f32, f64, binary16 or bfloat16 → codes, with flags and counts of events |
//! | [`Decoder`] | codes → the same |
//! | [`Recode`] | codes → codes of another format or bias |
//! | [`Elementwise`] | a numeric operation on slices of codes: add, multiply, fma, exp, … |
//! | [`ClassSums`] | one pass of statistics from which every bias's exact squared error follows |
//! | [`Dot`] | dot products and matrix products of codes, with a named accumulator |
//! | [`MatrixUnit`], [`Fused`] | accumulators as GPUs have them; [`FusedDot`] and [`ScaledDot`] take values |
//! | [`PowerScales`], [`StepTable`] | f32 in blocks → codes, with a scale for each block |
//! | [`pack4`], [`pack6`] | codes of 4 and 6 bits side by side in bytes, and back |
//! | [`KernelConstants`] | a conversion as plain integers, for kernels on other devices, and their algorithm |
//! | [`Level`] | which instructions are used; nothing else depends on it |
//! | [`ErrorSums`] | signal and error of a quantized slice, the same for any number of threads |
//!
//! ```
//! use smallfloat::Format;
//! use smallfloat_kernels::{Decoder, Encoder};
//!
//! let format = Format::cfloat8_1_4_3(7)?;
//! let encoder = Encoder::<f32>::new(&format, &format.default_projection())?;
//! let x = [1.0_f32, 1.1, -0.3, 1e9];
//! let mut codes = [0_u8; 4];
//! let events = encoder.encode(&x, &mut codes);
//! assert_eq!(codes, [0x38, 0x39, 0xaa, 0x7f]);
//! assert_eq!(events.overflowed, 1);
//!
//! let mut back = [0_f32; 4];
//! Decoder::<f32>::new(&format, None)?.decode(&codes, &mut back);
//! assert_eq!(back, [1.0, 1.125, -0.3125, 480.0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Wherever codes are read or written, slices of the typed scalars of `smallfloat` may stand
//! instead of integers:
//!
//! ```
//! use smallfloat::{Bf16, E2M1Fn};
//! use smallfloat_kernels::Encoder;
//!
//! let mut x = [E2M1Fn::ZERO; 3];
//! let projection = E2M1Fn::FORMAT.default_projection();
//! Encoder::<Bf16>::new(&E2M1Fn::FORMAT, &projection)?.encode(&[1.1, 2.4, -9.0].map(Bf16::from_f32), &mut x);
//! assert_eq!(x.map(E2M1Fn::to_f32), [1.0, 2.0, -6.0]);
//! # Ok::<(), smallfloat_kernels::Error>(())
//! ```
//!
//! # What is refused, and when
//!
//! Formats and roundings that a type can't serve are errors of its constructor. Slices that don't
//! belong together (their lengths, scalars of another format, codes too narrow) panic before
//! anything is written, with a message that says both. A stochastic rounding takes its words from a
//! [`Generator`]: [`Encoder::seeded`], [`Elementwise::seeded`], or [`RandomWords`] per call.
//!
//! # Features
//!
//! `rayon` (default): threads. `half`: the types of that crate as elements, beside our own [`F16`]
//! and [`Bf16`].
//!
//! Results are those of [`smallfloat::convert`], element by element: encoders and decoders are
//! tables that the core fills, or vector kernels that tests hold to these tables. Nothing depends
//! on the number of threads, the length or the alignment of slices, or the data's class.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![expect(clippy::inline_always, reason = "lane code must melt into its loop")]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod arch;
mod arithmetic;
mod ars5;
mod block;
mod break_even;
mod convert;
mod decode;
mod dot;
mod element;
mod encode;
mod environment;
mod error;
mod event_counts;
mod packing;
mod parallel;
mod plan;
mod portable;
mod random;
#[cfg(test)]
mod simd_coverage;
mod statistics;
mod target;

pub use arch::level::Level;
pub use arithmetic::elementwise::Elementwise;
pub use ars5::Ars5;
pub use block::steps::StepTable;
#[doc(hidden)]
pub use block::steps::{quotients_to_odd, to_odd};
#[doc(hidden)]
pub use block::{largest_bits, largest_of_groups};
pub use convert::{
    Scalar, decode, decode_scalars, dot, encode, encode_as, encode_as_with, encode_seeded, encode_u16,
    encode_with_flags,
};
pub use decode::Decoder;
pub use dot::fused::scaled::{ScaledDot, divide_by_global_scales};
pub use dot::fused::unit::{Gpu, MatrixUnit};
pub use dot::fused::{Fused, FusedDot, GroupSum, Output};
pub use dot::{Accumulate, Dot, Scales};
pub use element::views::{AsCodes, AsScalars};
pub use element::{Code, Element};
#[doc(hidden)]
pub use element::{Lanes, LanesMut};
pub use encode::Encoder;
pub use encode::recode::Recode;
pub use environment::with_default_environment;
pub use error::Error;
pub use event_counts::EventCounts;
#[cfg(feature = "half")]
pub use half::{bf16, f16};
pub use packing::{pack4, pack6, unpack4, unpack6};
pub use parallel::{meanwhile, on_this_thread, parallel_fold, parallel_map, threads};
pub use plan::blocks::PowerScales;
pub use plan::nibbles::Nibbles;
pub use portable::KernelConstants;
pub use random::{Generator, RandomWords};
pub use smallfloat::{Bf16, F16};
pub use statistics::class_sums::{ClassSum, ClassSums, amax};
pub use statistics::error_sums::ErrorSums;
#[doc(hidden)]
pub use statistics::error_sums::ScaledErrors;
pub use target::Target;
