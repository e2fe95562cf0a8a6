//! Kernels with AArch64's vectors, NEON, which every such processor has, and its instructions for
//! AES where they are there.
//!
//! As in `x86_64/`, functions with target features are safe to call from functions with the same
//! features, [`Neon`] and [`Aes`] are the proofs that let the others in, and loads and stores go
//! through references to arrays. There are no stores past the caches.

#![allow(clippy::wildcard_imports, reason = "a kernel uses dozens of intrinsics")]

mod block;
mod decode;
mod elementwise;
mod encode;
mod exact;
mod lanes;
mod packing;
mod products;
mod random;
mod recode;
mod statistics;

use std::ops::Range;

use smallfloat::random::Philox;

use crate::arch::kernels::Kernels;
use crate::arch::level::Level;
use crate::arch::vectors::elements::{with_lanes, with_types};
use crate::arch::vectors::scaled::whole_blocks;
use crate::arch::vectors::tiles;
use crate::ars5::Ars5;
use crate::element::classes::{NarrowClasses, Seen};
use crate::element::{Codes, CodesMut, Lanes, LanesMut};
use crate::event_counts::EventCounts;
use crate::plan::arithmetic::{ArithmeticPlan, OrderPlan, Subnormals};
use crate::plan::blocks::PowerScales;
use crate::plan::class_table::Pair;
use crate::plan::decode::{DecodePlan, DecodePlans};
use crate::plan::encode::EncodePlan;
use crate::plan::exact::ExactPlan;
use crate::plan::nibbles::Nibbles;
use crate::plan::partial_sums::{Partial, ScaledRows, ScaledTile};
use crate::plan::recode::RecodeTable;
use crate::plan::tally::Tally;

/// Proof that the machine has NEON.
#[derive(Clone, Copy, Debug)]
struct Neon(());

/// Proof that the machine has instructions for AES.
#[derive(Clone, Copy, Debug)]
struct Aes(());

/// The proofs of a level: of NEON, which the machine has, and of AES if it has that too.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Machine {
    neon: Neon,
    aes: Option<Aes>,
}

/// Nothing: there are no stores past the caches that would have to be ordered.
pub(in crate::arch) fn fence() {}

/// Nothing: processors find out by themselves what a loop will read.
pub(in crate::arch) fn prefetch(_: *const u8) {}

/// Of the register that controls floating-point instructions, FPCR: the other meaning of
/// binary16's largest exponent, how subnormals and NaNs are treated (FEAT_AFP among it), the
/// rounding mode, and which exceptions trap.
const ALTERNATIVE_HALF: u64 = 1 << 26;
const FLUSHES: u64 = 1 << 24 | 1 << 19 | 1;
const DEFAULT_NAN: u64 = 1 << 25;
const ALTERNATIVE_HANDLING: u64 = 0b110;
const ROUNDING: u64 = 0b11 << 22;
const TRAPS: u64 = 0b1001_1111 << 8;

/// Returns the register.
fn control() -> u64 {
    let control: u64;
    // SAFETY: the instruction reads a register that every program may read.
    unsafe { std::arch::asm!("mrs {}, fpcr", out(reg) control, options(nomem, nostack, preserves_flags)) };
    control
}

/// Sets the register.
fn set_control(control: u64) {
    // SAFETY: the value is one that the register had, or that with bits cleared, so that no
    // reserved bit is set; results that are computed on either side of this come from memory on
    // their side, which the instruction is taken to change.
    unsafe { std::arch::asm!("msr fpcr, {}", in(reg) control, options(nostack, preserves_flags)) };
}

impl Kernels for Machine {
    fn new(level: Level) -> Option<Self> {
        let aes = || std::arch::is_aarch64_feature_detected!("aes").then_some(Aes(()));
        (level >= Level::Neon).then(|| Self { neon: Neon(()), aes: aes() })
    }

    fn supports(level: Level) -> bool {
        level <= Level::Neon
    }

    fn rounds_to_nearest() -> bool {
        control() & (ROUNDING | TRAPS | ALTERNATIVE_HALF | ALTERNATIVE_HANDLING) == 0
    }

    fn enter_default_environment() -> Option<u32> {
        const ALL: u64 = ROUNDING | TRAPS | ALTERNATIVE_HALF | ALTERNATIVE_HANDLING | FLUSHES | DEFAULT_NAN;
        let control = control();
        (control & ALL != 0).then(|| {
            set_control(control & !ALL);
            u32::try_from(control).expect("the register's upper half is reserved")
        })
    }

    fn restore_environment(control: u32) {
        set_control(u64::from(control));
    }

    fn encode(self, plan: &EncodePlan, source: Lanes<'_>, codes: CodesMut<'_>, _: bool) -> Option<Tally> {
        with_types!(source, codes, |x, codes| encode::encode(self.neon, plan, x, codes))
    }

    fn encode_only(self, plan: &EncodePlan, source: Lanes<'_>, codes: CodesMut<'_>, _: bool) -> Option<()> {
        with_types!(source, codes, |x, codes| encode::encode_only(self.neon, plan, x, codes))
    }

    fn encode_random(
        self,
        plan: &EncodePlan,
        source: Lanes<'_>,
        codes: CodesMut<'_>,
        words: &[u32],
        mask: u32,
    ) -> Option<Tally> {
        with_types!(source, codes, |x, codes| {
            encode::stochastic::encode_random(self.neon, plan, x, codes, words, mask)
        })
    }

    fn encode_blocks(
        self,
        plan: &EncodePlan,
        rule: PowerScales,
        length: usize,
        values: &[f32],
        scales: &mut [u8],
        codes: &mut [u8],
    ) -> Option<bool> {
        block::encode_blocks(self.neon, plan, rule, length, values, scales, codes)
    }

    fn largest_of_groups(self, length: usize, values: &[f32], largest: &mut [f32]) -> Option<u32> {
        block::fill_largest(self.neon, length, values, largest)
    }

    fn decode(self, plans: &DecodePlans, codes: Codes<'_>, values: LanesMut<'_>, _: bool) -> Option<()> {
        match (codes, values) {
            // The conversion to binary16 must mean the usual one.
            (_, LanesMut::F16(_)) if control() & ALTERNATIVE_HALF != 0 => return None,
            (Codes::Bytes(codes), values) => {
                let plan = plans.bytes.as_ref()?;
                with_lanes!(values, LanesMut, |values| decode::decode(self.neon, plan, codes, values));
            }
            (Codes::Halves(codes), LanesMut::F32(values)) => {
                decode::decode_wide(self.neon, plans.half_words.as_ref()?, codes, values);
            }
            (Codes::Halves(codes), LanesMut::F64(values)) => {
                decode::decode_wide(self.neon, plans.half_words.as_ref()?, codes, values);
            }
            (Codes::Halves(_) | Codes::Words(_) | Codes::Longs(_), _) => return None,
        }
        Some(())
    }

    fn recode(self, table: &RecodeTable, codes: &[u8], results: &mut [u8]) -> Option<EventCounts> {
        Some(recode::recode(self.neon, table, codes, results))
    }

    fn compute(self, plan: &ArithmeticPlan, operands: [&[u8]; 3], results: &mut [f32]) -> Option<()> {
        elementwise::compute(self.neon, plan, operands, results);
        Some(())
    }

    fn choose(self, plan: &OrderPlan, operands: [&[u8]; 2], results: &mut [u8]) -> Option<bool> {
        Some(elementwise::choose(self.neon, plan, operands, results))
    }

    fn has_subnormal(self, subnormals: Subnormals, codes: &[u8]) -> Option<bool> {
        Some(elementwise::has_subnormal(self.neon, subnormals, codes))
    }

    fn stays_within(self, range: [u32; 2], values: &[f32]) -> Option<bool> {
        Some(elementwise::stays_within(self.neon, range, values))
    }

    fn pack4<'a, 'b>(self, codes: &'a [u8], bytes: &'b mut [u8], order: Nibbles) -> (&'a [u8], &'b mut [u8]) {
        packing::pack4(self.neon, codes, bytes, order)
    }

    fn unpack4<'a, 'b>(
        self,
        bytes: &'a [u8],
        codes: &'b mut [u8],
        order: Nibbles,
    ) -> (&'a [u8], &'b mut [u8]) {
        packing::unpack4(self.neon, bytes, codes, order)
    }

    fn pack6<'a, 'b>(self, codes: &'a [u8], bytes: &'b mut [u8]) -> (&'a [u8], &'b mut [u8]) {
        packing::pack6(self.neon, codes, bytes)
    }

    fn unpack6<'a, 'b>(self, bytes: &'a [u8], codes: &'b mut [u8]) -> (&'a [u8], &'b mut [u8]) {
        packing::unpack6(self.neon, bytes, codes)
    }

    fn add_classes(self, classes: &NarrowClasses, values: Lanes<'_>, sums: &mut [Pair]) -> Option<Seen> {
        match values {
            Lanes::F32(x) => Some(statistics::add_classes(self.neon, classes, x, sums)),
            Lanes::F16(x) => Some(statistics::add_classes(self.neon, classes, x, sums)),
            Lanes::Bf16(x) => Some(statistics::add_classes(self.neon, classes, x, sums)),
            Lanes::F64(_) => None,
        }
    }

    fn largest(self, classes: &NarrowClasses, values: Lanes<'_>) -> Option<u32> {
        match values {
            Lanes::F32(x) => Some(statistics::largest(self.neon, classes, x)),
            Lanes::F16(x) => Some(statistics::largest(self.neon, classes, x)),
            Lanes::Bf16(x) => Some(statistics::largest(self.neon, classes, x)),
            Lanes::F64(_) => None,
        }
    }

    fn fill_philox(self, philox: &Philox, first: u64, blocks: &mut [[u32; 4]]) -> Option<()> {
        random::fill_philox(self.neon, philox, first, blocks);
        Some(())
    }

    fn fill_ars5(self, ars5: &Ars5, first: u64, blocks: &mut [[u32; 4]]) -> Option<()> {
        random::fill_ars5(self.aes?, ars5, first, blocks);
        Some(())
    }

    fn add_products(self, plans: [&DecodePlan; 2], codes: [&[u8]; 2], sums: &mut [f32; 32]) -> usize {
        products::add_products(self.neon, plans, codes, sums)
    }

    fn exact_sum(self, plan: &ExactPlan, codes: [&[u8]; 2]) -> Option<(i128, usize)> {
        exact::exact_sum(self.neon, plan, codes)
    }

    fn totals(self, partial: &[Partial], sums: &mut [f32]) -> Option<()> {
        products::totals(self.neon, partial, sums);
        Some(())
    }

    fn add_rows(
        self,
        rows: [&[f32]; 2],
        stride: usize,
        part: &Range<usize>,
        sums: &mut [Partial],
    ) -> Option<()> {
        products::add_rows(self.neon, rows, stride, part, sums);
        Some(())
    }

    fn tile_columns(self) -> usize {
        tiles::COLUMNS
    }

    fn block_columns(self) -> Option<usize> {
        Some(products::BLOCK_COLUMNS)
    }

    fn add_blocks(self, tile: &ScaledTile<'_>, results: &mut [f32]) {
        products::add_blocks(self.neon, tile, results);
    }

    fn has_vector_products(self) -> bool {
        true
    }

    fn decodes_by_nibbles(self) -> bool {
        false
    }

    fn products_with_vector(
        self,
        plan: &DecodePlan,
        vector: &[f32],
        rows: &[u8],
        stride: usize,
        sums: &mut [f32],
    ) {
        products::products_with_vector(self.neon, plan, vector, rows, stride, sums);
    }

    fn blocks_with_vector(self, length: usize, size: usize) -> usize {
        whole_blocks(length, size)
    }

    fn add_blocks_with_vector(self, plan: &DecodePlan, of: &ScaledRows<'_>, results: &mut [f32]) {
        products::add_blocks_with_vector(self.neon, plan, of, results);
    }
}
