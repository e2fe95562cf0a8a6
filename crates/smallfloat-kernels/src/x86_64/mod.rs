//! Kernels with x86-64 instructions. All of the crate's `unsafe` is below here.
//!
//! Functions with target features are safe to call from functions with the same features; [`Avx2`] is the proof that lets
//! the others in. Loads and stores go through references to arrays, so that no address is computed by hand.

#![allow(clippy::wildcard_imports, reason = "a kernel uses dozens of intrinsics")]

mod decode;
mod decode_wide;
mod dot;
mod elementwise;
mod encode;
mod gemm;
mod gemv;
mod halves;
mod lanes;
mod packing;
mod random;
mod recode;
mod rounding;
mod statistics;
mod stochastic;

pub(crate) use decode::decode;
pub(crate) use decode_wide::decode_wide;
pub(crate) use dot::{add_products, sum_of_integers};
pub(crate) use elementwise::{choose, compute, has_subnormal, stays_within};
pub(crate) use encode::{encode, encode_only};
pub(crate) use gemm::{Fma, add_rows, products_with_vector, totals};
pub(crate) use gemv::{Interleaved, products_with_rows};
pub(crate) use packing::{pack4, pack6, unpack4, unpack6};
pub(crate) use random::{fill_ars5, fill_philox};
pub(crate) use recode::{RecodeTable, recode};
pub(crate) use statistics::{CAPACITY, COUNT, Pair, TABLES, add_classes, largest};
pub(crate) use stochastic::encode_random;

use crate::Level;

/// Proof that the machine has AVX2, F16C, POPCNT and AES-NI.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx2(());

impl Avx2 {
    /// The proof, at the level that asks for it.
    pub(crate) fn new(level: Level) -> Option<Self> {
        (level >= Level::Avx2 && Level::Avx2.is_available()).then_some(Self(()))
    }
}

/// Is the host's floating-point environment one in which kernels may add? Rounding must be to nearest and every exception
/// masked; whether subnormals are flushed does not matter.
pub(crate) fn rounds_to_nearest() -> bool {
    const ROUNDING: u32 = 0b11 << 13;
    const MASKS: u32 = 0b11_1111 << 7;
    let mut control = 0_u32;
    // SAFETY: the instruction stores four bytes at the address of a live u32 and changes nothing else.
    unsafe { std::arch::asm!("stmxcsr [{}]", in(reg) &raw mut control, options(nostack, preserves_flags)) };
    control & (ROUNDING | MASKS) == MASKS
}
