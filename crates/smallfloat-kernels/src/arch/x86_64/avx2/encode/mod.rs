//! f32, f16, bf16 or f64 → codes of 8 or 16 bits in every deterministic rounding, with flags and
//! counts.
//!
//! `plan/encode.rs` says how the rounding works, `rounding.rs` does it. Everything about specials
//! happens on the lanes of codes, 32 bytes at once: a value's index on the grid, capped at the
//! first one beyond the range, and three more lanes narrowed with saturation from x (its sign), ∞ −
//! |x| (negative for NaN, zero for ∞) and |x| − 1 (negative for zero). The speed does not depend on
//! the data: no element takes a branch.

pub(in crate::arch) mod groups;
mod halves;
mod rounding;
pub(in crate::arch) mod stochastic;

use std::arch::x86_64::*;
use std::marker::PhantomData;

use self::rounding::round;
use crate::arch::machine::Avx2;
use crate::arch::machine::avx2::lanes::{
    STEP, Source, Target, add, any, codes as splat, count, equal, greater, in_order, larger, least, less,
    lesser, narrow_signed, store, subtract, sum_of_bytes, words,
};
use crate::arch::vectors::blocks::{
    BlockEncoder, Step, elements_to_alignment, encode_by_blocks, for_steps, nothing,
};
use crate::arch::vectors::choices::{
    Bfloat16, Binary16, CodesOnly, Detail, Directed, Flags, NearestAway, NearestEven, Rare, Rounds, Shape,
    ToOdd, fit, with_shape,
};
use crate::plan::encode::{EncodePlan, INFINITY, Mode, SubnormalGrid};
use crate::plan::tally::Tally;

/// Elements between two looks at the flags: counters of a byte hold it.
pub(super) const BLOCK: usize = 64 * STEP;

/// Encodes a slice and says what happened.
pub(crate) fn encode<S: Source, T: Target>(
    _: Avx2,
    plan: &EncodePlan,
    source: &[S],
    codes: &mut [T],
    stream: bool,
) -> Tally {
    assert_eq!(source.len(), codes.len(), "source and codes must have the same length");
    // SAFETY: the proof says that the machine has these instructions.
    unsafe { dispatch(plan, source, codes, stream) }
}

/// Encodes a slice and counts nothing.
pub(crate) fn encode_only<S: Source, T: Target>(
    _: Avx2,
    plan: &EncodePlan,
    source: &[S],
    codes: &mut [T],
    stream: bool,
) {
    assert_eq!(source.len(), codes.len(), "source and codes must have the same length");
    // SAFETY: the proof says that the machine has these instructions.
    unsafe { only_codes(plan, source, codes, stream) }
}

#[target_feature(enable = "avx2,f16c,popcnt")]
fn dispatch<S: Source, T: Target>(plan: &EncodePlan, source: &[S], codes: &mut [T], stream: bool) -> Tally {
    match plan.mode {
        Mode::Even if fits_binary16::<T>(plan) => all::<S, T, Binary16>(plan, source, codes, stream),
        Mode::Even if fits_bfloat16::<T>(plan) => all::<S, T, Bfloat16>(plan, source, codes, stream),
        Mode::Even => with_shape!(
            fit(plan),
            [Gradual Hole Integer Unsigned],
            |H| all::<S, T, H>(plan, source, codes, stream),
            once::<S, T, NearestEven>(plan, source, codes, stream)
        ),
        Mode::Away => once::<S, T, NearestAway>(plan, source, codes, stream),
        Mode::Directed(_) => once::<S, T, Directed>(plan, source, codes, stream),
        Mode::Odd => once::<S, T, ToOdd>(plan, source, codes, stream),
        Mode::Random => unreachable!("stochastic rounding has a kernel of its own"),
    }
}

/// Returns whether the machine's conversion to binary16 is the plan's.
fn fits_binary16<T: Target>(plan: &EncodePlan) -> bool {
    T::BITS == 16 && plan.is_ieee && !plan.integer
}

/// Returns whether bfloat16's carry is the plan's.
fn fits_bfloat16<T: Target>(plan: &EncodePlan) -> bool {
    T::BITS == 16 && plan.is_ieee && plan.integer
}

#[target_feature(enable = "avx2,f16c,popcnt")]
fn only_codes<S: Source, T: Target>(plan: &EncodePlan, source: &[S], codes: &mut [T], stream: bool) {
    match plan.mode {
        Mode::Even if fits_binary16::<T>(plan) => uncounted::<S, T, Binary16>(plan, source, codes, stream),
        Mode::Even if fits_bfloat16::<T>(plan) => uncounted::<S, T, Bfloat16>(plan, source, codes, stream),
        // Counts cost little beside all the choices of rare shapes and modes.
        Mode::Even => with_shape!(
            fit(plan),
            [Gradual Hole Integer Unsigned],
            |H| uncounted::<S, T, H>(plan, source, codes, stream),
            _ = dispatch(plan, source, codes, stream)
        ),
        _ => _ = dispatch(plan, source, codes, stream),
    }
}

#[target_feature(enable = "avx2,f16c,popcnt")]
fn uncounted<S: Source, T: Target, H: Shape>(plan: &EncodePlan, source: &[S], codes: &mut [T], stream: bool) {
    let encoder = Encoding::<S, T, H, NearestEven>::new(plan);
    encoder.run::<CodesOnly>(source, codes, stream, &mut Tally::default());
}

#[target_feature(enable = "avx2,f16c,popcnt")]
fn all<S: Source, T: Target, H: Shape>(
    plan: &EncodePlan,
    source: &[S],
    codes: &mut [T],
    stream: bool,
) -> Tally {
    let encoder = Encoding::<S, T, H, NearestEven>::new(plan);
    // SAFETY: this function has the level's instructions.
    unsafe { encode_by_blocks(&encoder, source, codes, stream) }
}

impl<S: Source, T: Target, H: Shape> BlockEncoder for Encoding<S, T, H, NearestEven> {
    type From = S;
    type To = T;
    const ALIGNMENT: usize = STEP;
    const BLOCK: usize = BLOCK;
    const FIRST_BLOCK: usize = 16 * STEP;

    #[inline]
    #[target_feature(enable = "avx2,f16c,popcnt")]
    unsafe fn encode<D: Detail>(&self, source: &[S], codes: &mut [T], stream: bool, tally: &mut Tally) {
        self.run::<D>(source, codes, stream, tally);
    }
}

/// The rarer modes and shapes, which find out everything about every block. Blocks of other types
/// than f32 are widened first, so that all types share one loop.
#[target_feature(enable = "avx2,f16c,popcnt")]
fn once<S: Source, T: Target, M: Rounds>(
    plan: &EncodePlan,
    source: &[S],
    codes: &mut [T],
    stream: bool,
) -> Tally {
    let encoder = Encoding::<f32, T, Rare, M> { k: Constants::new::<S, T>(plan), types: PhantomData };
    let mut wide = [0.0; BLOCK];
    let mut tally = Tally::default();
    let head = if stream { elements_to_alignment(codes, STEP).min(source.len()) } else { 0 };
    let (heads, tails) = (source.split_at(head), codes.split_at_mut(head));
    for (source, codes) in [(heads.0, tails.0), (heads.1, tails.1)] {
        for (x, code) in source.chunks(BLOCK).zip(codes.chunks_mut(BLOCK)) {
            // SAFETY: this function has the level's instructions.
            let x = unsafe { S::widened(x, &mut wide) };
            rare_block(&encoder, x, code, stream, &mut tally);
        }
    }
    tally
}

#[inline(never)]
#[target_feature(enable = "avx2,f16c,popcnt")]
fn rare_block<T: Target, M: Rounds>(
    encoder: &Encoding<f32, T, Rare, M>,
    source: &[f32],
    codes: &mut [T],
    stream: bool,
    tally: &mut Tally,
) {
    encoder.run::<Flags>(source, codes, stream, tally);
}

/// The encoding of blocks.
struct Encoding<S, T, H, M> {
    k: Constants,
    types: PhantomData<(S, T, H, M)>,
}

impl<S: Source, T: Target, H: Shape, M: Rounds> Encoding<S, T, H, M> {
    #[inline]
    #[target_feature(enable = "avx2")]
    fn new(plan: &EncodePlan) -> Self {
        Self { k: Constants::new::<S, T>(plan), types: PhantomData }
    }

    /// Encodes a block, and finds out as much as `D` says.
    #[inline]
    #[target_feature(enable = "avx2,f16c,popcnt")]
    fn run<D: Detail>(&self, source: &[S], codes: &mut [T], stream: bool, tally: &mut Tally) {
        let stream = stream && codes.as_ptr().addr().is_multiple_of(STEP);
        let mut sums = Sums::new();
        // SAFETY: this function has the level's instructions, and streams have checked the
        // alignment.
        let padding =
            unsafe { for_steps::<D, _, _>(self, source, nothing(source.len()), codes, &mut sums, stream) };
        if D::COUNTS {
            sums.add_to::<T>(tally, padding, &self.k);
        }
    }
}

impl<S: Source, T: Target, H: Shape, M: Rounds, D: Detail> Step<D, STEP> for Encoding<S, T, H, M> {
    type From = S;
    type With = ();
    type To = T;
    type Sums = Sums;
    type Vectors = [__m256i; 2];
    const PREFETCH: bool = true;

    #[inline]
    #[target_feature(enable = "avx2,f16c,popcnt")]
    unsafe fn step(&self, x: &[S; STEP], _: &[(); STEP], sums: &mut Sums) -> [__m256i; 2] {
        step::<S, T, H, M, D>(x, &self.k, sums)
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn store(codes: &mut [T; STEP], vectors: [__m256i; 2], stream: bool) {
        // SAFETY: the caller's promise.
        unsafe { store(codes, &vectors, stream) };
    }
}

/// The plan as vectors.
#[expect(clippy::struct_excessive_bools, reason = "independent choices")]
pub(super) struct Constants {
    pub(super) magnitude: __m256i,
    pub(super) one: __m256i,
    pub(super) infinity: __m256i,
    pub(super) cap: __m256i,
    pub(super) lowest: __m256i,
    pub(super) exponent: __m256i,
    pub(super) lift: __m256i,
    pub(super) half_step: __m256i,
    pub(super) weights: __m256i,
    pub(super) base: __m256i,
    pub(super) shift: __m128i,
    /// The bits below the last place of normal values, and how many.
    pub(super) below: __m256i,
    pub(super) cut: __m128i,
    pub(super) half_cut: __m256i,
    /// One less than half of what a code of the upper half leaves out.
    pub(super) almost_half: __m256i,
    /// A bit of NaN's words that the upper half has.
    pub(super) quiet: __m256i,
    /// Of a directed rounding: what makes the sign of elements that move away negative, if any
    /// does.
    pub(super) toward: __m256i,
    pub(super) moves: __m256i,
    pub(super) top: __m256i,
    pub(super) sign: __m256i,
    /// Codes whose sign bit is not that of a byte.
    pub(super) narrow: bool,
    pub(super) drops_zero_sign: bool,
    pub(super) overflow: [__m256i; 2],
    pub(super) infinite: [__m256i; 2],
    pub(super) nan: [__m256i; 2],
    /// The sign bit, if NaN's code has it.
    pub(super) nan_sign: __m256i,
    pub(super) infinity_differs: bool,
    pub(super) infinity_by_sign: bool,
    pub(super) min_normal: u32,
    /// What [`looked_at`] has of x.
    looked_at: __m256i,
    pub(super) first_normal: __m256i,
    pub(super) last_below: __m256i,
    pub(super) half_hole: __m256i,
    pub(super) hole_end: __m256i,
    pub(super) binade: __m256i,
    pub(super) flush: bool,
    pub(super) hole: bool,
    pub(super) integer: bool,
    pub(super) signed: bool,
    pub(super) source_min_normal: u32,
}

impl Constants {
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn new<S: Source, T: Target>(plan: &EncodePlan) -> Self {
        let m = plan.trailing;
        let lift = 23 - m;
        let pair = |codes: [u16; 2]| [splat::<T>(codes[0]), splat::<T>(codes[1])];
        // A high half-word holds the exponent field at bit 7: low half-words join at 7 − m, or at 0
        // if there are more bits.
        let weights = 1 << m.saturating_sub(7) << 16 | 1 << 7_u32.saturating_sub(m);
        let binade = 1_u16 << m;
        let base = if T::BITS == 8 {
            words((plan.lowest_field + lift) << 23 | (plan.lowest_field + lift) << 7)
        } else {
            words((plan.lowest_field + lift) << m.max(7))
        };
        let [positive_moves, negative_moves] = match plan.mode {
            Mode::Directed(moves) => moves,
            _ => [false, false],
        };
        Self {
            magnitude: words(0x7fff_ffff),
            one: words(1),
            infinity: words(INFINITY),
            cap: words(plan.cap),
            lowest: words(plan.lowest_field << 23),
            exponent: words(INFINITY),
            lift: words(lift << 23),
            half_step: words(24 << 23),
            weights: words(weights),
            base,
            shift: _mm_cvtsi32_si128(7_u32.saturating_sub(m).cast_signed()),
            below: words((1 << lift) - 1),
            cut: _mm_cvtsi32_si128(lift.cast_signed()),
            half_cut: words(1 << (lift - 1)),
            almost_half: words(0x7fff),
            quiet: words(1 << 22),
            toward: words(if positive_moves { u32::MAX } else { 0 }),
            moves: words(if positive_moves || negative_moves { u32::MAX } else { 0 }),
            top: splat::<T>(plan.top),
            sign: splat::<T>(plan.sign_bit),
            narrow: T::BITS != 8 || plan.sign_bit != 0x80,
            drops_zero_sign: plan.negative_zero == 0,
            overflow: pair(plan.overflow.codes),
            infinite: pair(plan.infinity.codes),
            nan: pair(plan.nan.codes),
            nan_sign: splat::<T>(plan.nan.codes[0] ^ plan.nan.codes[1]),
            infinity_differs: plan.infinity.codes != plan.overflow.codes,
            infinity_by_sign: plan.infinity_by_sign,
            min_normal: plan.min_normal,
            looked_at: words(if plan.signed { 0x7fff_ffff } else { u32::MAX }),
            first_normal: splat::<T>(plan.first_normal),
            last_below: splat::<T>(binade - 1),
            half_hole: splat::<T>((binade + binade / 2).wrapping_sub(1)),
            hole_end: splat::<T>(2 * binade - 1),
            binade: splat::<T>(binade),
            flush: plan.low == SubnormalGrid::Flush,
            hole: plan.low == SubnormalGrid::Hole,
            integer: plan.integer,
            signed: plan.signed,
            source_min_normal: S::MIN_NORMAL,
        }
    }
}

/// What the steps of a loop add up.
pub(super) struct Sums {
    pub(super) top: __m256i,
    pub(super) zero: __m256i,
    pub(super) infinite: __m256i,
    pub(super) refused: __m256i,
    pub(super) nan: u64,
    pub(super) exact_zero: u64,
    /// NaNs, counted by lanes.
    pub(super) nans: __m256i,
    /// Exact zeros, counted by lanes.
    pub(super) exact_zeros: __m256i,
    pub(super) negative_infinite: __m256i,
    /// The least |x| − 1, zeros last.
    pub(super) least: __m256i,
    /// The least index − 1, zeros last.
    pub(super) least_index: __m256i,
    /// All bits of capped magnitudes.
    pub(super) bits: __m256i,
    /// The least inexact magnitude; all bits set if none.
    pub(super) least_inexact: __m256i,
    /// Codes whose value is inexact for being no value, all of them below the smallest normal one.
    pub(super) lost: __m256i,
}

impl Sums {
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn new() -> Self {
        let (zero, ones) = (_mm256_setzero_si256(), _mm256_set1_epi32(-1));
        Self {
            top: zero,
            zero,
            infinite: zero,
            refused: zero,
            nan: 0,
            exact_zero: 0,
            nans: zero,
            exact_zeros: zero,
            negative_infinite: zero,
            least: ones,
            least_index: ones,
            bits: zero,
            least_inexact: ones,
            lost: zero,
        }
    }

    /// Keeps the least inexact magnitude.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn see_exactness<H: Shape>(&mut self, exact: __m256i, looked_at: __m256i, k: &Constants) {
        let mut exact = exact;
        if H::UNSIGNED != Some(false) {
            exact = _mm256_or_si256(exact, _mm256_srai_epi32::<31>(looked_at));
        }
        let inexact = _mm256_or_si256(exact, _mm256_min_epu32(looked_at, k.cap));
        self.least_inexact = _mm256_min_epu32(self.least_inexact, inexact);
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn add_to<T: Target>(&self, tally: &mut Tally, padding: u64, k: &Constants) {
        // Counters of half-words stay below 256 too.
        let infinite = sum_of_bytes(self.infinite);
        let nan = self.nan + sum_of_bytes(self.nans);
        tally.nan += nan;
        tally.infinite += infinite;
        tally.negative_infinite += sum_of_bytes(self.negative_infinite);
        tally.overflow += sum_of_bytes(self.top) - nan - infinite;
        tally.refused += sum_of_bytes(self.refused);
        tally.zero += sum_of_bytes(self.zero) - padding;
        tally.exact_zero += self.exact_zero + sum_of_bytes(self.exact_zeros) - padding;
        tally.denormal |= least(self.least) < k.source_min_normal - 1;
        tally.low |= any(less::<T>(k.first_normal, self.least_index));
        let (lost, least_inexact) = (any(self.lost), least(self.least_inexact));
        tally.inexact |= lost || least_inexact != u32::MAX || any(_mm256_and_si256(self.bits, k.below));
        tally.tiny |= lost || least_inexact < k.min_normal;
    }
}

/// Indices on Tesla's grid → codes, to nearest: the lower half of the binade that is none joins the
/// largest subnormal, the upper half the smallest normal value. Ties of the grid and of the format
/// are the same, and both go to the even code.
#[inline]
#[target_feature(enable = "avx2")]
fn join_hole<T: Target>(grid: __m256i, k: &Constants) -> __m256i {
    let upper = greater::<T>(less::<T>(grid, k.half_hole), _mm256_setzero_si256());
    let subnormal = lesser::<T>(grid, k.last_below);
    let above = less::<T>(less::<T>(grid, k.binade), k.binade);
    subtract::<T>(add::<T>(subnormal, above), upper)
}

/// Joins the two in the rarer modes; `away` are the elements that a directed rounding moves away
/// from zero.
#[inline]
#[target_feature(enable = "avx2")]
fn join_hole_rarely<T: Target, M: Rounds>(grid: __m256i, away: __m256i, k: &Constants) -> __m256i {
    let last = if M::DIRECTED {
        _mm256_blendv_epi8(k.hole_end, k.last_below, away)
    } else if M::TO_ODD {
        // The largest subnormal is odd.
        k.hole_end
    } else {
        k.half_hole
    };
    let lower = equal::<T>(lesser::<T>(grid, last), grid);
    let upper = _mm256_andnot_si256(lower, ones());
    let subnormal = lesser::<T>(grid, k.last_below);
    let above = less::<T>(less::<T>(grid, k.binade), k.binade);
    subtract::<T>(add::<T>(subnormal, above), upper)
}

#[inline]
#[target_feature(enable = "avx2")]
fn ones() -> __m256i {
    _mm256_set1_epi32(-1)
}

/// The magnitude of x, with its sign in formats without one: there negative elements are refused or
/// become zeros that are counted, and nothing else about them matters. Such words are beyond all
/// others.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn looked_at<H: Shape>(x: __m256i, magnitude: __m256i, k: &Constants) -> __m256i {
    match H::UNSIGNED {
        Some(false) => magnitude,
        Some(true) => x,
        None => _mm256_and_si256(x, k.looked_at),
    }
}

/// Returns whether the format has no sign.
#[inline]
pub(super) fn is_unsigned<H: Shape>(k: &Constants) -> bool {
    H::UNSIGNED.unwrap_or(!k.signed)
}

/// Encodes 32 elements, by the machine's conversion where there is one that finds out enough.
#[inline]
#[target_feature(enable = "avx2,f16c,popcnt")]
fn step<S: Source, T: Target, H: Shape, M: Rounds, D: Detail>(
    x: &[S; STEP],
    k: &Constants,
    sums: &mut Sums,
) -> [__m256i; 2] {
    if (H::CONVERTS || H::CARRIES) && !D::EXACTNESS {
        halves::step::<S, H, D>(x, k, sums)
    } else {
        by_grid::<S, T, H, M, D>(x, k, sums)
    }
}

#[inline]
#[target_feature(enable = "avx2,f16c,popcnt")]
fn by_grid<S: Source, T: Target, H: Shape, M: Rounds, D: Detail>(
    x: &[S; STEP],
    k: &Constants,
    sums: &mut Sums,
) -> [__m256i; 2] {
    let zero = _mm256_setzero_si256();
    let mut lanes = Lanes::new();
    let mut halves = [zero; 2];
    for (pair, half) in halves.iter_mut().enumerate() {
        let mut eights = Eights::new();
        let mut index = [zero; 2];
        for (i, place) in index.iter_mut().enumerate() {
            // SAFETY: this function has the features that loads need.
            let x = unsafe { S::load(x, 2 * pair + i) };
            let magnitude = _mm256_and_si256(x, k.magnitude);
            eights.x[i] = x;
            eights.below_infinity[i] = _mm256_sub_epi32(k.infinity, magnitude);
            if D::COUNTS {
                eights.less_one[i] = _mm256_sub_epi32(magnitude, k.one);
                sums.least = _mm256_min_epu32(sums.least, eights.less_one[i]);
            }
            let capped = _mm256_min_epu32(magnitude, k.cap);
            let (rounded, exact) = round::<T, H, M, D>(x, capped, k);
            *place = rounded;
            let looked_at = looked_at::<H>(x, magnitude, k);
            if D::NEARNESS {
                sums.bits = _mm256_or_si256(sums.bits, _mm256_min_epu32(looked_at, k.cap));
            }
            if D::EXACTNESS {
                sums.see_exactness::<H>(exact, looked_at, k);
            }
        }
        lanes.narrow(pair, &eights);
        let packed = _mm256_packus_epi32(index[0], index[1]);
        *half = if H::INTEGER.unwrap_or(k.integer) {
            packed
        } else if T::BITS == 8 {
            _mm256_srl_epi16(_mm256_sub_epi16(packed, k.base), k.shift)
        } else {
            _mm256_srl_epi16(packed, k.shift)
        };
    }
    finish_all::<T, H, M, D>(halves, &lanes, k, sums)
}

/// What the lanes of codes are narrowed from, for two vectors of eight elements.
pub(super) struct Eights {
    /// The elements, for their signs.
    pub(super) x: [__m256i; 2],
    /// ∞ − |x|: negative for NaN, zero for ∞.
    pub(super) below_infinity: [__m256i; 2],
    /// |x| − 1: negative for zero.
    pub(super) less_one: [__m256i; 2],
}

impl Eights {
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn new() -> Self {
        let zero = [_mm256_setzero_si256(); 2];
        Self { x: zero, below_infinity: zero, less_one: zero }
    }
}

/// Sums of 32 elements in lanes of 16 bits: narrowed as soon as they are known, they need
/// fewer registers.
pub(super) struct Lanes {
    x: [__m256i; 2],
    below_infinity: [__m256i; 2],
    less_one: [__m256i; 2],
}

impl Lanes {
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn new() -> Self {
        let zero = [_mm256_setzero_si256(); 2];
        Self { x: zero, below_infinity: zero, less_one: zero }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn narrow(&mut self, pair: usize, eights: &Eights) {
        self.x[pair] = _mm256_packs_epi32(eights.x[0], eights.x[1]);
        self.below_infinity[pair] = _mm256_packs_epi32(eights.below_infinity[0], eights.below_infinity[1]);
        self.less_one[pair] = _mm256_packs_epi32(eights.less_one[0], eights.less_one[1]);
    }
}

/// Indices on the grid, in lanes of 16 bits, → codes.
#[inline]
#[target_feature(enable = "avx2,popcnt")]
pub(super) fn finish_all<T: Target, H: Shape, M: Rounds, D: Detail>(
    [low, high]: [__m256i; 2],
    lanes: &Lanes,
    k: &Constants,
    sums: &mut Sums,
) -> [__m256i; 2] {
    if T::BITS == 8 {
        let grid = _mm256_packus_epi16(low, high);
        [finish::<T, H, M, D>(grid, lanes, 0, k, sums), grid]
    } else {
        [finish::<T, H, M, D>(low, lanes, 0, k, sums), finish::<T, H, M, D>(high, lanes, 1, k, sums)]
    }
}

/// Indices on the grid → codes, with everything that is special about specials.
#[inline]
#[target_feature(enable = "avx2,popcnt")]
fn finish<T: Target, H: Shape, M: Rounds, D: Detail>(
    grid: __m256i,
    lanes: &Lanes,
    part: usize,
    k: &Constants,
    sums: &mut Sums,
) -> __m256i {
    let zero = _mm256_setzero_si256();
    let mut sign = narrow_signed::<T>(&lanes.x, part);
    if k.narrow {
        sign = greater::<T>(zero, sign);
    }
    let top = equal::<T>(grid, k.top);
    let mut index = grid;
    if H::HOLE.unwrap_or(k.hole) {
        if M::NEAREST_EVEN {
            index = join_hole::<T>(grid, k);
        } else {
            let negative = greater::<T>(zero, sign);
            let away = _mm256_and_si256(_mm256_xor_si256(negative, k.toward), k.moves);
            index = join_hole_rarely::<T, M>(grid, away, k);
        }
    }
    if H::FLUSH.unwrap_or(k.flush) {
        let flushed = equal::<T>(lesser::<T>(grid, k.last_below), grid);
        index = _mm256_andnot_si256(flushed, grid);
        if D::EXACTNESS {
            sums.lost = _mm256_or_si256(sums.lost, _mm256_and_si256(flushed, grid));
        }
    }

    let below_infinity = narrow_signed::<T>(&lanes.below_infinity, part);
    let is_infinite = equal::<T>(below_infinity, zero);
    let is_nan = if T::BITS == 8 { below_infinity } else { greater::<T>(zero, below_infinity) };
    let is_zero = equal::<T>(index, zero);
    let mut refused = zero;
    if is_unsigned::<H>(k) {
        // Negative values that do not become zero.
        let finite = greater::<T>(below_infinity, zero);
        let not_zero = _mm256_andnot_si256(is_zero, finite);
        refused = _mm256_and_si256(greater::<T>(zero, sign), not_zero);
    }
    if H::HOLE.unwrap_or(k.hole) && D::PLACES_IN_HOLE {
        let hole = equal::<T>(lesser::<T>(larger::<T>(grid, k.binade), k.hole_end), grid);
        sums.lost = _mm256_or_si256(sums.lost, _mm256_andnot_si256(refused, hole));
    }
    let pick = |pair: &[__m256i; 2]| _mm256_blendv_epi8(pair[0], pair[1], sign);
    let mut code = index;
    if H::UNSIGNED != Some(true) {
        let mut kept_sign = _mm256_and_si256(sign, k.sign);
        if k.drops_zero_sign {
            kept_sign = _mm256_andnot_si256(is_zero, kept_sign);
        }
        code = _mm256_xor_si256(index, kept_sign);
    }
    code = _mm256_blendv_epi8(code, pick(&k.overflow), top);
    if k.infinity_differs {
        code = _mm256_blendv_epi8(code, pick(&k.infinite), is_infinite);
    }
    code = _mm256_blendv_epi8(code, pick(&k.nan), is_nan);
    if is_unsigned::<H>(k) {
        code = _mm256_blendv_epi8(code, k.overflow[1], refused);
        if D::COUNTS {
            sums.refused = subtract::<T>(sums.refused, refused);
        }
    }
    if D::COUNTS && H::INFINITY_BY_SIGN.unwrap_or(k.infinity_by_sign) {
        let negative = _mm256_and_si256(is_infinite, greater::<T>(zero, sign));
        sums.negative_infinite = subtract::<T>(sums.negative_infinite, negative);
    }
    if D::COUNTS {
        sums.top = subtract::<T>(sums.top, _mm256_andnot_si256(refused, top));
        sums.infinite = subtract::<T>(sums.infinite, is_infinite);
        sums.zero = subtract::<T>(sums.zero, is_zero);
        sums.nan += count::<T>(is_nan);
        let less_one = narrow_signed::<T>(&lanes.less_one, part);
        sums.exact_zero += count::<T>(if T::BITS == 8 { less_one } else { greater::<T>(zero, less_one) });
    }
    if D::NEARNESS {
        let less_one = _mm256_or_si256(add::<T>(grid, ones()), refused);
        sums.least_index = lesser::<T>(sums.least_index, less_one);
    }
    in_order::<T>(code)
}
