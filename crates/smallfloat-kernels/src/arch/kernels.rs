//! [`Kernels`]: what an instruction set can do.

use std::fmt::Debug;
use std::ops::Range;

use smallfloat::Flags;
use smallfloat::random::Philox;

use crate::arch::level::Level;
use crate::ars5::Ars5;
use crate::element::classes::{NarrowClasses, Seen};
use crate::element::{Codes, CodesMut, Lanes, LanesMut};
use crate::event_counts::EventCounts;
use crate::plan::arithmetic::{ArithmeticPlan, OrderPlan, Subnormals};
use crate::plan::blocks::{PowerScales, Row};
use crate::plan::byte_lanes::BytePlan;
use crate::plan::class_table::Pair;
use crate::plan::decode::{DecodePlan, DecodePlans};
use crate::plan::encode::EncodePlan;
use crate::plan::exact::ExactPlan;
use crate::plan::nibbles::{Interleaved, NibblePlan, Nibbles};
use crate::plan::partial_sums::{Partial, ScaledRows, ScaledTile};
use crate::plan::recode::RecodeTable;
use crate::plan::tally::Tally;

/// The kernels of an instruction set; a value is the proof that the machine has the instructions.
///
/// `None` means that there is no kernel for these arguments and nothing was written. Slices that
/// belong together have lengths that the callers have checked.
pub(crate) trait Kernels: Copy + Debug {
    /// Returns the proof at a level that asks for these instructions.
    fn new(level: Level) -> Option<Self>;

    /// Returns whether the machine can run a level other than the portable one.
    fn supports(level: Level) -> bool;

    /// Returns whether the host's floating-point environment is one in which kernels may add:
    /// rounding to nearest, every exception masked. Whether subnormals are flushed does not matter.
    fn rounds_to_nearest() -> bool {
        true
    }

    /// Sets the thread's floating-point environment to the one that Rust expects: rounding to
    /// nearest, every exception masked, subnormals kept. Returns what it was, if it was another.
    fn enter_default_environment() -> Option<u32> {
        None
    }

    /// Sets the thread's floating-point environment to one that
    /// [`enter_default_environment`](Self::enter_default_environment) gave.
    fn restore_environment(_: u32) {}

    /// Encodes in a deterministic mode, past the caches if `stream`, and counts what happened.
    fn encode(self, _: &EncodePlan, _: Lanes<'_>, _: CodesMut<'_>, _stream: bool) -> Option<Tally> {
        None
    }

    /// Encodes in a deterministic mode and counts nothing.
    fn encode_only(self, _: &EncodePlan, _: Lanes<'_>, _: CodesMut<'_>, _stream: bool) -> Option<()> {
        None
    }

    /// Encodes by StochasticA with a word per element, of which the upper bits that `mask` has are
    /// used.
    fn encode_random(
        self,
        _: &EncodePlan,
        _: Lanes<'_>,
        _: CodesMut<'_>,
        _words: &[u32],
        _mask: u32,
    ) -> Option<Tally> {
        None
    }

    /// Encodes groups of a length with scales of powers of two, whose codes it fills in, and
    /// returns whether all elements are finite; if not, codes are anything.
    fn encode_blocks(
        self,
        _: &EncodePlan,
        _: PowerScales,
        _length: usize,
        _values: &[f32],
        _scales: &mut [u8],
        _codes: &mut [u8],
    ) -> Option<bool> {
        None
    }

    /// Encodes groups of a length by the rows of their scales, and the bit of the sign.
    fn encode_by_steps(
        self,
        _: (&[Row; 256], u32),
        _length: usize,
        _scales: &[u8],
        _values: &[f32],
        _codes: &mut [u8],
    ) -> Option<()> {
        None
    }

    /// Fills in the largest magnitudes of groups of a length, and returns the bits of the largest
    /// of all.
    fn largest_of_groups(self, _length: usize, _values: &[f32], _largest: &mut [f32]) -> Option<u32> {
        None
    }

    /// Fills in x · over / unit as binary64 has it, rounded to odd in binary32.
    fn quotients_to_odd(self, _over: f64, _unit: f64, _values: &[f32], _quotients: &mut [f32]) -> Option<()> {
        None
    }

    /// Decodes, past the caches if `stream`.
    fn decode(self, _: &DecodePlans, _: Codes<'_>, _: LanesMut<'_>, _stream: bool) -> Option<()> {
        None
    }

    /// Decodes groups of a length to products with their factors.
    fn decode_blocks(
        self,
        _: &DecodePlan,
        _length: usize,
        _factors: &[f32],
        _codes: &[u8],
        _values: &mut [f32],
    ) -> Option<()> {
        None
    }

    /// Converts bytes to bytes and counts what happened.
    fn recode(self, _: &RecodeTable, _codes: &[u8], _results: &mut [u8]) -> Option<EventCounts> {
        None
    }

    /// Fills in the exact results in binary32 of an operation on codes, or results that round
    /// alike.
    fn compute(self, _: &ArithmeticPlan, _operands: [&[u8]; 3], _results: &mut [f32]) -> Option<()> {
        None
    }

    /// Returns whether sums and products in lanes of a byte have a kernel.
    fn combines_in_bytes(self) -> bool {
        false
    }

    /// Adds or multiplies codes, and returns the flags if they are wanted.
    fn combine(
        self,
        _: &BytePlan,
        _operands: [&[u8]; 2],
        _results: &mut [u8],
        _wants_flags: bool,
    ) -> Option<Flags> {
        None
    }

    /// Selects one of two codes by their order, and returns whether a NaN was among them.
    fn choose(self, _: &OrderPlan, _operands: [&[u8]; 2], _results: &mut [u8]) -> Option<bool> {
        None
    }

    /// Returns whether a subnormal is among the codes.
    fn has_subnormal(self, _: Subnormals, _codes: &[u8]) -> Option<bool> {
        None
    }

    /// Returns whether all magnitudes' bits lie in a range, whose ends are included.
    fn stays_within(self, _range: [u32; 2], _values: &[f32]) -> Option<bool> {
        None
    }

    /// Packs codes of 4 bits and returns what is left of both slices.
    fn pack4<'a, 'b>(self, codes: &'a [u8], bytes: &'b mut [u8], _: Nibbles) -> (&'a [u8], &'b mut [u8]) {
        (codes, bytes)
    }

    /// Unpacks codes of 4 bits and returns what is left of both slices.
    fn unpack4<'a, 'b>(self, bytes: &'a [u8], codes: &'b mut [u8], _: Nibbles) -> (&'a [u8], &'b mut [u8]) {
        (bytes, codes)
    }

    /// Packs codes of 6 bits and returns what is left of both slices.
    fn pack6<'a, 'b>(self, codes: &'a [u8], bytes: &'b mut [u8]) -> (&'a [u8], &'b mut [u8]) {
        (codes, bytes)
    }

    /// Unpacks codes of 6 bits and returns what is left of both slices.
    fn unpack6<'a, 'b>(self, bytes: &'a [u8], codes: &'b mut [u8]) -> (&'a [u8], &'b mut [u8]) {
        (bytes, codes)
    }

    /// Adds elements to the sums of their classes; at most
    /// [`CAPACITY`](crate::plan::class_table::CAPACITY) since the sums were zero.
    fn add_classes(self, _: &NarrowClasses, _values: Lanes<'_>, _sums: &mut [Pair]) -> Option<Seen> {
        None
    }

    /// Returns the bits of the largest finite magnitude.
    fn largest(self, _: &NarrowClasses, _values: Lanes<'_>) -> Option<u32> {
        None
    }

    /// Runs a loop compiled for these instructions; it must be `#[inline(always)]`.
    fn vectorize<R>(self, run: impl FnOnce() -> R) -> R {
        run()
    }

    /// Fills in the words of Philox's blocks from `first` on.
    fn fill_philox(self, _: &Philox, _first: u64, _blocks: &mut [[u32; 4]]) -> Option<()> {
        None
    }

    /// Fills in the words of Ars5's blocks from `first` on.
    fn fill_ars5(self, _: &Ars5, _first: u64, _blocks: &mut [[u32; 4]]) -> Option<()> {
        None
    }

    /// Adds the products of whole steps, the i-th to the partial sum i mod 32, in order, and
    /// returns how many elements those were.
    fn add_products(self, _: [&DecodePlan; 2], _codes: [&[u8]; 2], _sums: &mut [f32; 32]) -> usize {
        0
    }

    /// Fills in the sums of the products of whole steps as [`add_products`](Self::add_products)
    /// adds them up, of codes decoded by their nibbles, and returns how many elements those were.
    fn products_by_nibbles(self, _: [&NibblePlan; 2], _codes: [&[u8]; 2], _sums: &mut [f32; 32]) -> usize {
        unreachable!("the caller asked has_vector_products")
    }

    /// Returns Σ x·y of the first elements in the plan's integers, and how many those were; `None`
    /// if one of them is no number.
    fn exact_sum(self, _: &ExactPlan, _codes: [&[u8]; 2]) -> Option<(i128, usize)> {
        Some((0, 0))
    }

    /// Fills in the totals of partial sums.
    fn totals(self, _: &[Partial], _sums: &mut [f32]) -> Option<()> {
        None
    }

    /// Adds the products of rows of A and up to [`tile_columns`](Self::tile_columns) rows of B, in
    /// a part of their length that is a multiple of eight, to the partial sums of their pairs, row
    /// of A by row of A. `stride` is from one row to the next.
    fn add_rows(
        self,
        _rows: [&[f32]; 2],
        _stride: usize,
        _part: &Range<usize>,
        _sums: &mut [Partial],
    ) -> Option<()> {
        None
    }

    /// Returns how many rows of B [`add_rows`](Self::add_rows) takes at once.
    fn tile_columns(self) -> usize {
        4
    }

    /// Returns how many rows of B [`add_blocks`](Self::add_blocks) takes, if there is such a
    /// kernel.
    fn block_columns(self) -> Option<usize> {
        None
    }

    /// Returns whether [`add_blocks`](Self::add_blocks) is faster than [`add_rows`](Self::add_rows)
    /// for rows that are one block, too.
    fn prefers_columns(self) -> bool {
        false
    }

    /// Adds to each result, row of A by row of A, the blocks' sums times their scales.
    fn add_blocks(self, _: &ScaledTile<'_>, _results: &mut [f32]) {
        unreachable!("the caller asked block_columns")
    }

    /// Returns whether there are products of a vector and rows of codes, and by nibbles.
    fn has_vector_products(self) -> bool {
        false
    }

    /// Returns whether products are faster where codes are decoded by their nibbles.
    fn decodes_by_nibbles(self) -> bool {
        true
    }

    /// Fills in the sums of products of a vector and rows of codes, decoded by their nibbles.
    fn products_with_rows(self, _: &NibblePlan, _: &Interleaved, _rows: &[u8], _sums: &mut [f32]) {
        unreachable!("the caller asked has_vector_products")
    }

    /// Fills in the sums of products of a vector and as many codes from the start of each row. Rows
    /// are `stride` apart.
    fn products_with_vector(
        self,
        _: &DecodePlan,
        _vector: &[f32],
        _rows: &[u8],
        _stride: usize,
        _sums: &mut [f32],
    ) {
        unreachable!("the caller asked has_vector_products")
    }

    /// Returns how many of the first blocks of a row of so many elements
    /// [`add_blocks_with_vector`](Self::add_blocks_with_vector) takes, which have `size` elements.
    fn blocks_with_vector(self, _length: usize, _size: usize) -> usize {
        0
    }

    /// Adds the sums of these blocks of products, times their scales, to the results.
    fn add_blocks_with_vector(self, _: &DecodePlan, _: &ScaledRows<'_>, _results: &mut [f32]) {
        unreachable!("the caller asked blocks_with_vector")
    }
}
