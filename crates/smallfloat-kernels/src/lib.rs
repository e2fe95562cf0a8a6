//! Slices of wide floats ⇄ codes of small formats, with the bits of the core's scalar functions.
//!
//! | type | what |
//! | --- | --- |
//! | [`Encoder`] | f32, f64, binary16 or bfloat16 → codes, with flags and counts of events |
//! | [`Decoder`] | codes → the same |
//! | [`Recode`] | codes → codes of another format or bias |
//! | [`Elementwise`] | a numeric operation on slices of codes: add, multiply, fma, exp, … |
//! | [`ClassSums`] | one pass of statistics from which every bias's exact squared error follows |
//! | [`Dot`] | dot products and matrix products of codes, with a named accumulator |
//! | [`pack4`], [`pack6`] | codes of 4 and 6 bits side by side in bytes, and back |
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
mod decode;
mod dot;
mod element;
mod encode;
mod error;
mod event_counts;
mod packing;
mod parallel;
mod plan;
mod random;
#[cfg(test)]
mod simd_coverage;
mod statistics;
mod target;

pub use arch::level::Level;
pub use arithmetic::elementwise::Elementwise;
pub use ars5::Ars5;
pub use decode::Decoder;
pub use dot::{Accumulate, Dot, Scales};
pub use element::{Code, Element};
pub use encode::Encoder;
pub use encode::recode::Recode;
pub use error::Error;
pub use event_counts::EventCounts;
pub use half::{bf16, f16};
pub use packing::{pack4, pack6, unpack4, unpack6};
pub use plan::nibbles::Nibbles;
pub use random::{Generator, RandomWords};
pub use statistics::class_sums::{ClassSum, ClassSums, amax};
pub use statistics::error_sums::ErrorSums;
pub use target::Target;
