//! Kernels with x86-64 instructions. All of the crate's `unsafe` is below here.
//!
//! Functions with target features are safe to call from functions with the same features; [`Avx2`] and [`Avx512`] are the
//! proofs that let the others in. Loads and stores go through references to arrays, so that no address is computed by hand.

#![allow(clippy::wildcard_imports, reason = "a kernel uses dozens of intrinsics")]

mod avx512;
mod decode;
mod dot;
mod encode;
mod lanes;
mod loops;
mod random;
mod stochastic;

pub(crate) use avx512::decode::Destination;
pub(crate) use avx512::lanes::Source;

use crate::Level;
use crate::decode_plan::DecodePlan;
use crate::plan::Plan;
use crate::random::Ars5;
use crate::tally::Tally;
use smallfloat::random::Philox;

/// Proof that the machine has AVX2, F16C, POPCNT and AES-NI.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx2(());

/// Proof that the machine has what [`Level::Avx512`] lists.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx512(());

/// Which kernels run, and the proof that the machine can.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Vectors {
    Avx2(Avx2),
    Avx512(Avx512),
}

impl Vectors {
    /// The proof, at a level that asks for it.
    pub(crate) fn new(level: Level) -> Option<Self> {
        if level >= Level::Avx512 && Level::Avx512.is_available() {
            return Some(Self::Avx512(Avx512(())));
        }
        (level >= Level::Avx2 && Level::Avx2.is_available()).then_some(Self::Avx2(Avx2(())))
    }
}

/// Passes calls on to the kernels of either width.
macro_rules! by_vectors {
    ($($(#[$doc:meta])* fn $name:ident $(<$t:ident: $bound:ident>)? ($($argument:ident: $type:ty),*) $(-> $result:ty)?
        = $module:ident;)+) => {$(
        $(#[$doc])*
        pub(crate) fn $name $(<$t: $bound>)? (vectors: Vectors, $($argument: $type),*) $(-> $result)? {
            match vectors {
                Vectors::Avx2(proof) => $module::$name(proof, $($argument),*),
                Vectors::Avx512(proof) => avx512::$module::$name(proof, $($argument),*),
            }
        }
    )+};
}

by_vectors! {
    /// Encodes a slice to nearest even and says what happened.
    fn encode<S: Source>(plan: &Plan, source: &[S], codes: &mut [u8], stream: bool) -> Tally = encode;
    /// Encodes a slice to nearest even and counts nothing.
    fn encode_only<S: Source>(plan: &Plan, source: &[S], codes: &mut [u8], stream: bool) = encode;
    /// Encodes a slice by StochasticA with a word for each element, of which the upper bits that `mask` has are used.
    fn encode_random<S: Source>(
        plan: &Plan, source: &[S], codes: &mut [u8], random: &[u32], mask: u32
    ) -> Tally = stochastic;
    /// Decodes a slice, past the caches if `stream`.
    fn decode<D: Destination>(plan: &DecodePlan, codes: &[u8], values: &mut [D], stream: bool) = decode;
    /// Adds a[i]·b[i] to the partial sum i mod 32, in order.
    fn add_products(a: &[f32], b: &[f32], sums: &mut [f32; 32]) = dot;
    /// The words of Philox's blocks from `first` on.
    fn fill_philox(philox: &Philox, first: u64, blocks: &mut [[u32; 4]]) = random;
    /// The words of Ars5's blocks from `first` on.
    fn fill_ars5(ars5: &Ars5, first: u64, blocks: &mut [[u32; 4]]) = random;
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
