//! Kernels with x86-64 instructions. All of the crate's `unsafe` is below here.
//!
//! Functions with target features are safe to call from functions with the same features; [`Avx2`]
//! and [`Avx512`] are the proofs that let the others in. Loads and stores go through references to
//! arrays, so that no address is computed by hand. What has no kernel with AVX-512 goes to the one
//! with AVX2: [`Vectors`] holds both proofs.

#![allow(clippy::wildcard_imports, reason = "a kernel uses dozens of intrinsics")]

mod avx2;
mod avx512;

use std::ops::Range;

use smallfloat::Flags;
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
use crate::plan::blocks::{PowerScales, Row};
use crate::plan::byte_lanes::BytePlan;
use crate::plan::class_table::Pair;
use crate::plan::decode::{DecodePlan, DecodePlans};
use crate::plan::encode::{EncodePlan, Mode, SubnormalGrid};
use crate::plan::exact::ExactPlan;
use crate::plan::nibbles::{Interleaved, NibblePlan, Nibbles};
use crate::plan::partial_sums::{Partial, ScaledRows, ScaledTile};
use crate::plan::recode::RecodeTable;
use crate::plan::tally::Tally;

/// Proof that the machine has AVX2, F16C, POPCNT and AES-NI.
#[derive(Clone, Copy, Debug)]
struct Avx2(());

/// Proof that the machine has AVX2 and FMA.
#[derive(Clone, Copy, Debug)]
struct Fma(());

/// Proof that the machine has what [`Level::Avx512`] lists.
#[derive(Clone, Copy, Debug)]
struct Avx512(());

/// The proofs of a level: of AVX2, which the machine has, of FMA if it has that too, and of AVX-512
/// if the level asks for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Machine {
    avx2: Avx2,
    fma: Option<Fma>,
    avx512: Option<Avx512>,
}

impl Machine {
    /// Returns the proof of AVX-512, if its encoders do what the plan says, and no conversion of
    /// the machine is faster.
    fn wide_encoder(self, plan: &EncodePlan) -> Option<Avx512> {
        let fits = match plan.mode {
            Mode::Even => !plan.is_ieee,
            Mode::Away | Mode::Directed(_) | Mode::Odd => true,
            // Its stochastic kernels know no unsigned formats, and count signs only where they
            // flush.
            Mode::Random => plan.signed && (plan.low == SubnormalGrid::Flush || !plan.infinity_by_sign),
        };
        self.avx512.filter(|_| fits && !plan.integer)
    }
}

/// Orders stores past the caches, as others see them, with later stores of this thread.
#[inline]
pub(in crate::arch) fn fence() {
    // SAFETY: every x86-64 machine has the instruction.
    unsafe { std::arch::x86_64::_mm_sfence() };
}

/// Asks for the cache line of an address, any address.
#[inline]
pub(in crate::arch) fn prefetch(address: *const u8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    #[allow(unused_unsafe, reason = "safe since Rust 1.90 or so")]
    // SAFETY: a hint about an address that is never read.
    unsafe {
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
}

/// Every exception masked, which is all of the register that Rust expects.
const MASKS: u32 = 0b11_1111 << 7;

/// Returns the register that controls floating-point instructions, MXCSR.
fn control() -> u32 {
    let mut control = 0_u32;
    // SAFETY: the instruction stores four bytes at the address of a live u32 and changes nothing
    // else.
    unsafe {
        std::arch::asm!("stmxcsr [{}]", in(reg) &raw mut control, options(nostack, preserves_flags));
    }
    control
}

/// Sets that register.
fn set_control(control: u32) {
    // SAFETY: the value is the default or one that the register had, so that no reserved bit is
    // set; results that are computed on either side of this come from memory on their side, which
    // the instruction is taken to change.
    unsafe {
        std::arch::asm!("ldmxcsr [{}]", in(reg) &raw const control, options(nostack, preserves_flags));
    }
}

impl Kernels for Machine {
    fn new(level: Level) -> Option<Self> {
        if level < Level::Avx2 || !Self::supports(Level::Avx2) {
            return None;
        }
        let wide = level >= Level::Avx512 && Self::supports(Level::Avx512);
        Some(Self {
            avx2: Avx2(()),
            fma: std::arch::is_x86_feature_detected!("fma").then_some(Fma(())),
            avx512: wide.then_some(Avx512(())),
        })
    }

    fn supports(level: Level) -> bool {
        use std::arch::is_x86_feature_detected as has;
        let avx2 = || has!("avx2") && has!("f16c") && has!("popcnt") && has!("aes");
        match level {
            Level::Portable => true,
            Level::Neon => false,
            Level::Avx2 => avx2(),
            Level::Avx512 => {
                let foundation = has!("avx512f") && has!("avx512bw") && has!("avx512dq") && has!("avx512vl");
                let rest = has!("avx512vbmi") && has!("avx512vnni") && has!("vaes");
                foundation && rest && avx2()
            }
        }
    }

    fn rounds_to_nearest() -> bool {
        const ROUNDING: u32 = 0b11 << 13;
        control() & (ROUNDING | MASKS) == MASKS
    }

    fn enter_default_environment() -> Option<u32> {
        // Everything but the exceptions that have been raised.
        const CONTROL: u32 = 0xffc0;
        let control = control();
        (control & CONTROL != MASKS).then(|| {
            set_control(MASKS);
            control
        })
    }

    fn restore_environment(control: u32) {
        set_control(control);
    }

    fn encode(
        self,
        plan: &EncodePlan,
        source: Lanes<'_>,
        codes: CodesMut<'_>,
        stream: bool,
    ) -> Option<Tally> {
        // Narrower vectors do what is rarer, so that not every kernel is compiled for everything.
        let codes = match (self.wide_encoder(plan), codes, source) {
            (Some(token), CodesMut::Bytes(codes), Lanes::F32(x)) => {
                return Some(avx512::encode::encode_f32(token, plan, x, codes, stream));
            }
            (Some(token), CodesMut::Halves(codes), Lanes::F32(x)) => {
                return Some(avx512::encode::encode_f32(token, plan, x, codes, stream));
            }
            (Some(token), CodesMut::Bytes(codes), source) if plan.mode == Mode::Even => {
                return with_lanes!(source, Lanes, |x| {
                    Some(avx512::encode::encode(token, plan, x, codes, stream))
                });
            }
            (_, codes, _) => codes,
        };
        with_types!(source, codes, |x, codes| avx2::encode::encode(self.avx2, plan, x, codes, stream))
    }

    fn encode_only(
        self,
        plan: &EncodePlan,
        source: Lanes<'_>,
        codes: CodesMut<'_>,
        stream: bool,
    ) -> Option<()> {
        if plan.mode != Mode::Even {
            // Counts cost little beside rarer modes.
            return self.encode(plan, source, codes, stream).map(|_| ());
        }
        let codes = match (self.wide_encoder(plan), codes, source) {
            (Some(token), CodesMut::Halves(codes), Lanes::F32(x)) => {
                avx512::encode::encode_only(token, plan, x, codes, stream);
                return Some(());
            }
            (Some(token), CodesMut::Bytes(codes), source) => {
                return with_lanes!(source, Lanes, |x| {
                    let _: () = avx512::encode::encode_only(token, plan, x, codes, stream);
                    Some(())
                });
            }
            (_, codes, _) => codes,
        };
        with_types!(source, codes, |x, codes| avx2::encode::encode_only(self.avx2, plan, x, codes, stream))
    }

    fn encode_random(
        self,
        plan: &EncodePlan,
        source: Lanes<'_>,
        codes: CodesMut<'_>,
        words: &[u32],
        mask: u32,
    ) -> Option<Tally> {
        let codes = match (self.wide_encoder(plan), codes) {
            (Some(token), CodesMut::Bytes(codes)) => {
                return with_lanes!(source, Lanes, |x| {
                    Some(avx512::stochastic::encode_random(token, plan, x, codes, words, mask))
                });
            }
            (_, codes) => codes,
        };
        with_types!(source, codes, |x, codes| {
            avx2::encode::stochastic::encode_random(self.avx2, plan, x, codes, words, mask)
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
        match self.avx512 {
            Some(token) => avx512::block::encode_blocks(token, plan, rule, length, values, scales, codes),
            None => avx2::encode::groups::encode_blocks(self.avx2, plan, rule, length, values, scales, codes),
        }
    }

    fn encode_by_steps(
        self,
        rows: (&[Row; 256], u32),
        length: usize,
        scales: &[u8],
        values: &[f32],
        codes: &mut [u8],
    ) -> Option<()> {
        match self.avx512 {
            Some(token) => avx512::block::encode_by_steps(token, rows, length, scales, values, codes),
            None => avx2::block::encode_by_steps(self.avx2, rows, length, scales, values, codes),
        }
    }

    fn largest_of_groups(self, length: usize, values: &[f32], largest: &mut [f32]) -> Option<u32> {
        match self.avx512 {
            Some(token) => Some(avx512::block::fill_largest(token, length, values, largest)),
            None => avx2::block::fill_largest(self.avx2, length, values, largest),
        }
    }

    fn quotients_to_odd(self, over: f64, unit: f64, values: &[f32], quotients: &mut [f32]) -> Option<()> {
        avx512::block::quotients_to_odd(self.avx512?, over, unit, values, quotients);
        Some(())
    }

    fn decode_blocks(
        self,
        plan: &DecodePlan,
        length: usize,
        factors: &[f32],
        codes: &[u8],
        values: &mut [f32],
    ) -> Option<()> {
        avx512::block::decode_blocks(self.avx512?, plan, length, factors, codes, values)
    }

    fn decode(self, plans: &DecodePlans, codes: Codes<'_>, values: LanesMut<'_>, stream: bool) -> Option<()> {
        match codes {
            Codes::Bytes(codes) => {
                let plan = plans.bytes.as_ref()?;
                with_lanes!(values, LanesMut, |values| match self.avx512 {
                    Some(token) => avx512::decode::decode(token, plan, codes, values, stream),
                    None => avx2::decode::decode(self.avx2, plan, codes, values, stream),
                });
            }
            Codes::Halves(codes) => {
                let plan = plans.half_words.as_ref()?;
                match values {
                    LanesMut::F32(values) => {
                        avx2::decode::wide::decode_wide(self.avx2, plan, codes, values, stream);
                    }
                    LanesMut::F64(values) => {
                        avx2::decode::wide::decode_wide(self.avx2, plan, codes, values, stream);
                    }
                    LanesMut::F16(_) | LanesMut::Bf16(_) => return None,
                }
            }
            Codes::Words(_) | Codes::Longs(_) => return None,
        }
        Some(())
    }

    fn recode(self, table: &RecodeTable, codes: &[u8], results: &mut [u8]) -> Option<EventCounts> {
        Some(match self.avx512 {
            Some(token) => avx512::recode::recode(token, table, codes, results),
            None => avx2::recode::recode(self.avx2, table, codes, results),
        })
    }

    fn compute(self, plan: &ArithmeticPlan, operands: [&[u8]; 3], results: &mut [f32]) -> Option<()> {
        match self.avx512 {
            Some(token) => avx512::elementwise::compute(token, plan, operands, results),
            None => avx2::elementwise::compute(self.avx2, plan, operands, results),
        }
        Some(())
    }

    fn combines_in_bytes(self) -> bool {
        self.avx512.is_some()
    }

    fn combine(
        self,
        plan: &BytePlan,
        operands: [&[u8]; 2],
        results: &mut [u8],
        wants_flags: bool,
    ) -> Option<Flags> {
        let token = self.avx512?;
        Some(avx512::byte_lanes::combine(token, plan, operands, results, wants_flags))
    }

    fn choose(self, plan: &OrderPlan, operands: [&[u8]; 2], results: &mut [u8]) -> Option<bool> {
        Some(avx2::elementwise::choose(self.avx2, plan, operands, results))
    }

    fn has_subnormal(self, subnormals: Subnormals, codes: &[u8]) -> Option<bool> {
        Some(avx2::elementwise::has_subnormal(self.avx2, subnormals, codes))
    }

    fn stays_within(self, range: [u32; 2], values: &[f32]) -> Option<bool> {
        Some(avx2::elementwise::stays_within(self.avx2, range, values))
    }

    fn pack4<'a, 'b>(self, codes: &'a [u8], bytes: &'b mut [u8], order: Nibbles) -> (&'a [u8], &'b mut [u8]) {
        avx2::packing::pack4(self.avx2, codes, bytes, order)
    }

    fn unpack4<'a, 'b>(
        self,
        bytes: &'a [u8],
        codes: &'b mut [u8],
        order: Nibbles,
    ) -> (&'a [u8], &'b mut [u8]) {
        avx2::packing::unpack4(self.avx2, bytes, codes, order)
    }

    fn pack6<'a, 'b>(self, codes: &'a [u8], bytes: &'b mut [u8]) -> (&'a [u8], &'b mut [u8]) {
        avx2::packing::pack6(self.avx2, codes, bytes)
    }

    fn unpack6<'a, 'b>(self, bytes: &'a [u8], codes: &'b mut [u8]) -> (&'a [u8], &'b mut [u8]) {
        avx2::packing::unpack6(self.avx2, bytes, codes)
    }

    fn add_classes(self, classes: &NarrowClasses, values: Lanes<'_>, sums: &mut [Pair]) -> Option<Seen> {
        match values {
            Lanes::F32(x) => Some(avx2::statistics::add_classes(self.avx2, classes, x, sums)),
            Lanes::F16(x) => Some(avx2::statistics::add_classes(self.avx2, classes, x, sums)),
            Lanes::Bf16(x) => Some(avx2::statistics::add_classes(self.avx2, classes, x, sums)),
            Lanes::F64(_) => None,
        }
    }

    fn largest(self, classes: &NarrowClasses, values: Lanes<'_>) -> Option<u32> {
        match values {
            Lanes::F32(x) => Some(avx2::statistics::largest(self.avx2, classes, x)),
            Lanes::F16(x) => Some(avx2::statistics::largest(self.avx2, classes, x)),
            Lanes::Bf16(x) => Some(avx2::statistics::largest(self.avx2, classes, x)),
            Lanes::F64(_) => None,
        }
    }

    #[inline]
    fn vectorize<R>(self, run: impl FnOnce() -> R) -> R {
        #[target_feature(enable = "avx2,f16c")]
        fn with_features<R>(run: impl FnOnce() -> R) -> R {
            run()
        }
        // SAFETY: this value is the proof that the machine has AVX2 and F16C.
        unsafe { with_features(run) }
    }

    fn fill_philox(self, philox: &Philox, first: u64, blocks: &mut [[u32; 4]]) -> Option<()> {
        match self.avx512 {
            Some(token) => avx512::random::fill_philox(token, philox, first, blocks),
            None => avx2::random::fill_philox(self.avx2, philox, first, blocks),
        }
        Some(())
    }

    fn fill_ars5(self, ars5: &Ars5, first: u64, blocks: &mut [[u32; 4]]) -> Option<()> {
        match self.avx512 {
            Some(token) => avx512::random::fill_ars5(token, ars5, first, blocks),
            None => avx2::random::fill_ars5(self.avx2, ars5, first, blocks),
        }
        Some(())
    }

    fn add_products(self, plans: [&DecodePlan; 2], codes: [&[u8]; 2], sums: &mut [f32; 32]) -> usize {
        match self.avx512 {
            Some(token) => avx512::dot::add_products(token, plans, codes, sums),
            None => avx2::dot::add_products(self.avx2, plans, codes, sums),
        }
    }

    fn products_by_nibbles(self, plans: [&NibblePlan; 2], codes: [&[u8]; 2], sums: &mut [f32; 32]) -> usize {
        let token = self.fma.expect("the caller asked has_vector_products");
        avx2::dot::products_by_nibbles(token, plans, codes, sums)
    }

    fn exact_sum(self, plan: &ExactPlan, codes: [&[u8]; 2]) -> Option<(i128, usize)> {
        if let (Some(token), Some([x, y])) = (self.avx512, &plan.digits) {
            return Some((avx512::exact::exact_sum(token, [x, y], codes)?, codes[0].len()));
        }
        self.fma.map_or(Some((0, 0)), |token| avx2::exact::exact_sum(token, plan, codes))
    }

    fn totals(self, partial: &[Partial], sums: &mut [f32]) -> Option<()> {
        avx2::gemm::totals(self.fma?, partial, sums);
        Some(())
    }

    fn add_rows(
        self,
        rows: [&[f32]; 2],
        stride: usize,
        part: &Range<usize>,
        sums: &mut [Partial],
    ) -> Option<()> {
        match self.avx512 {
            Some(token) => avx512::gemm::add_rows(token, rows, stride, part, sums),
            None => avx2::gemm::add_rows(self.fma?, rows, stride, part, sums),
        }
        Some(())
    }

    fn tile_columns(self) -> usize {
        if self.avx512.is_some() { avx512::gemm::COLUMNS } else { tiles::COLUMNS }
    }

    fn block_columns(self) -> Option<usize> {
        self.fma?;
        Some(if self.avx512.is_some() { avx512::gemm::BLOCK_COLUMNS } else { avx2::gemm::BLOCK_COLUMNS })
    }

    fn prefers_columns(self) -> bool {
        self.avx512.is_some()
    }

    fn add_blocks(self, tile: &ScaledTile<'_>, results: &mut [f32]) {
        match (self.avx512, self.fma) {
            (Some(token), _) => avx512::gemm::add_blocks(token, tile, results),
            (None, Some(token)) => avx2::gemm::add_blocks(token, tile, results),
            (None, None) => unreachable!("the caller asked block_columns"),
        }
    }

    fn has_vector_products(self) -> bool {
        self.fma.is_some()
    }

    fn decodes_by_nibbles(self) -> bool {
        self.avx512.is_none()
    }

    fn products_with_rows(self, plan: &NibblePlan, x: &Interleaved, rows: &[u8], sums: &mut [f32]) {
        let token = self.fma.expect("the caller asked has_vector_products");
        avx2::gemv::products_with_rows(token, plan, x, rows, sums);
    }

    fn products_with_vector(
        self,
        plan: &DecodePlan,
        vector: &[f32],
        rows: &[u8],
        stride: usize,
        sums: &mut [f32],
    ) {
        if let Some(token) = self.avx512 {
            return avx512::gemv::products_with_vector(token, plan, vector, rows, stride, sums);
        }
        let token = self.fma.expect("the caller asked has_vector_products");
        avx2::gemm::products_with_vector(token, plan, vector, rows, stride, sums);
    }

    fn blocks_with_vector(self, length: usize, size: usize) -> usize {
        self.fma.map_or(0, |_| whole_blocks(length, size))
    }

    fn add_blocks_with_vector(self, plan: &DecodePlan, of: &ScaledRows<'_>, results: &mut [f32]) {
        match (self.avx512, self.fma) {
            (Some(token), _) => avx512::gemv::add_blocks_with_vector(token, plan, of, results),
            (None, Some(token)) => avx2::gemm::add_blocks_with_vector(token, plan, of, results),
            (None, None) => unreachable!("the caller asked blocks_with_vector"),
        }
    }
}
