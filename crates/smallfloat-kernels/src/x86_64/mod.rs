//! Kernels with x86-64 instructions. All of the crate's `unsafe` is below here.
//!
//! Functions with target features are safe to call from functions with the same features; [`Avx2`] and [`Avx512`] are the
//! proofs that let the others in. Loads and stores go through references to arrays, so that no address is computed by hand.
//! What has no kernel with AVX-512 goes to the one with AVX2: [`Vectors`] holds both proofs.

#![allow(clippy::wildcard_imports, reason = "a kernel uses dozens of intrinsics")]

mod avx512;
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

pub(crate) use decode_wide::decode_wide;
pub(crate) use dot::sum_of_integers;
pub(crate) use elementwise::{choose, compute, has_subnormal, stays_within};
pub(crate) use gemm::{Fma, add_rows, products_with_vector, totals};
pub(crate) use gemv::{Interleaved, products_with_rows};
pub(crate) use packing::{pack4, pack6, unpack4, unpack6};
pub(crate) use recode::{RecodeTable, recode};
pub(crate) use statistics::{CAPACITY, COUNT, Pair, TABLES, add_classes, error_sums, largest};

use smallfloat::random::Philox;

use crate::Level;
use crate::decode_plan::DecodePlan;
use crate::plan::{Low, Mode, Plan};
use crate::random::Ars5;
use crate::tally::Tally;
use avx512::lanes::Source;
use lanes::Target;

/// Proof that the machine has AVX2, F16C, POPCNT and AES-NI.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx2(());

impl Avx2 {
    /// The proof, at the level that asks for it.
    pub(crate) fn new(level: Level) -> Option<Self> {
        (level >= Level::Avx2 && Level::Avx2.is_available()).then_some(Self(()))
    }
}

/// Proof that the machine has what [`Level::Avx512`] lists.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx512(());

/// The proofs for a level: of AVX2, which the machine has, and of AVX-512, if the level asks for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Vectors {
    pub(crate) narrow: Avx2,
    wide: Option<Avx512>,
}

impl Vectors {
    /// The proofs, at a level that asks for the first at least.
    pub(crate) fn new(level: Level) -> Option<Self> {
        let wide = level >= Level::Avx512 && Level::Avx512.is_available();
        Some(Self { narrow: Avx2::new(level)?, wide: wide.then_some(Avx512(())) })
    }

    /// The proof of AVX-512, if its encoders do what the plan says in codes of this type.
    fn encoder<'a, T: Target>(self, plan: &Plan, codes: &'a mut [T]) -> Option<(Avx512, &'a mut [u8])> {
        let mode = match plan.mode {
            Mode::Even => true,
            // Its stochastic kernels know no unsigned formats, and count signs only where they flush.
            Mode::Random => plan.signed && (plan.low == Low::Flush || !plan.infinity_by_sign),
            _ => false,
        };
        Some((self.wide.filter(|_| mode && !plan.integer)?, T::as_bytes(codes)?))
    }
}

/// Encodes a slice in a deterministic mode and says what happened.
pub(crate) fn encode<S: Source, T: Target>(
    vectors: Vectors,
    plan: &Plan,
    source: &[S],
    codes: &mut [T],
    stream: bool,
) -> Tally {
    match vectors.encoder(plan, codes) {
        Some((proof, codes)) => avx512::encode::encode(proof, plan, source, codes, stream),
        None => encode::encode(vectors.narrow, plan, source, codes, stream),
    }
}

/// Encodes a slice in a deterministic mode and counts nothing.
pub(crate) fn encode_only<S: Source, T: Target>(
    vectors: Vectors,
    plan: &Plan,
    source: &[S],
    codes: &mut [T],
    stream: bool,
) {
    match vectors.encoder(plan, codes) {
        Some((proof, codes)) => avx512::encode::encode_only(proof, plan, source, codes, stream),
        None => encode::encode_only(vectors.narrow, plan, source, codes, stream),
    }
}

/// Encodes a slice by StochasticA with a word for each element, of which the upper bits that `mask` has are used.
pub(crate) fn encode_random<S: Source, T: Target>(
    vectors: Vectors,
    plan: &Plan,
    source: &[S],
    codes: &mut [T],
    random: &[u32],
    mask: u32,
) -> Tally {
    match vectors.encoder(plan, codes) {
        Some((proof, codes)) => avx512::stochastic::encode_random(proof, plan, source, codes, random, mask),
        None => stochastic::encode_random(vectors.narrow, plan, source, codes, random, mask),
    }
}

/// Decodes a slice of bytes, past the caches if `stream`.
pub(crate) fn decode<D: avx512::decode::Destination>(
    vectors: Vectors,
    plan: &DecodePlan,
    codes: &[u8],
    values: &mut [D],
    stream: bool,
) {
    match vectors.wide {
        Some(proof) => avx512::decode::decode(proof, plan, codes, values, stream),
        None => decode::decode(vectors.narrow, plan, codes, values, stream),
    }
}

/// Adds the products of whole steps, the i-th to the partial sum i mod 32, in order. Gives how many elements that were.
pub(crate) fn add_products(
    vectors: Vectors,
    plans: [&DecodePlan; 2],
    codes: [&[u8]; 2],
    sums: &mut [f32; 32],
) -> usize {
    match vectors.wide {
        Some(proof) => avx512::dot::add_products(proof, plans, codes, sums),
        None => dot::add_products(vectors.narrow, plans, codes, sums),
    }
}

/// The words of Philox's blocks from `first` on.
pub(crate) fn fill_philox(vectors: Vectors, philox: &Philox, first: u64, blocks: &mut [[u32; 4]]) {
    match vectors.wide {
        Some(proof) => avx512::random::fill_philox(proof, philox, first, blocks),
        None => random::fill_philox(vectors.narrow, philox, first, blocks),
    }
}

/// The words of Ars5's blocks from `first` on.
pub(crate) fn fill_ars5(vectors: Vectors, ars5: &Ars5, first: u64, blocks: &mut [[u32; 4]]) {
    match vectors.wide {
        Some(proof) => avx512::random::fill_ars5(proof, ars5, first, blocks),
        None => random::fill_ars5(vectors.narrow, ars5, first, blocks),
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
