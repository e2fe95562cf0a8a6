//! f32, f16, bf16 or f64 → codes of 8 or 16 bits in every deterministic rounding, with flags and
//! counts.
//!
//! `plan/encode.rs` says how the rounding works, `rounding.rs` does it. Everything about specials
//! happens on the lanes of codes, 16 bytes at once: a value's index on the grid, capped at the
//! first one beyond the range, the upper part of x (its sign), and by how much |x| exceeds the
//! finite values, narrowed with saturation (1 for ∞, more for NaN). The speed does not depend on
//! the data: no element takes a branch.

mod rounding;
pub(in crate::arch) mod stochastic;

use std::arch::aarch64::*;
use std::marker::PhantomData;

use self::rounding::round;
use crate::arch::machine::Neon;
use crate::arch::machine::lanes::{
    STEP, Source, Target, Vector, add, any, codes as splat, equal, greater, larger, less, lesser, negative,
    places, store, subtract, words,
};
use crate::arch::vectors::blocks::{BlockEncoder, Step, encode_by_blocks, for_steps, nothing};
use crate::arch::vectors::choices::{
    CodesOnly, Detail, Directed, Flags, NearestAway, NearestEven, Rare, Rounds, Shape, ToOdd, fit, with_shape,
};
use crate::plan::encode::{EncodePlan, INFINITY, Mode, SubnormalGrid};
use crate::plan::tally::Tally;

/// Elements between two looks at the flags: counters of a byte hold it, two of them a step too.
pub(super) const BLOCK: usize = 64 * STEP;

/// Encodes a slice and says what happened.
pub(crate) fn encode<S: Source, T: Target>(
    _: Neon,
    plan: &EncodePlan,
    source: &[S],
    codes: &mut [T],
) -> Tally {
    assert_eq!(source.len(), codes.len(), "source and codes must have the same length");
    // SAFETY: the proof says that the machine has these instructions.
    unsafe { dispatch(plan, source, codes) }
}

/// Encodes a slice and counts nothing.
pub(crate) fn encode_only<S: Source, T: Target>(_: Neon, plan: &EncodePlan, source: &[S], codes: &mut [T]) {
    assert_eq!(source.len(), codes.len(), "source and codes must have the same length");
    // SAFETY: the proof says that the machine has these instructions.
    unsafe { only_codes(plan, source, codes) }
}

#[target_feature(enable = "neon")]
fn dispatch<S: Source, T: Target>(plan: &EncodePlan, source: &[S], codes: &mut [T]) -> Tally {
    match plan.mode {
        Mode::Even => with_shape!(
            fit(plan),
            [Gradual Hole Integer Unsigned],
            |H| all::<S, T, H>(plan, source, codes),
            once::<S, T, NearestEven>(plan, source, codes)
        ),
        Mode::Away => once::<S, T, NearestAway>(plan, source, codes),
        Mode::Directed(_) => once::<S, T, Directed>(plan, source, codes),
        Mode::Odd => once::<S, T, ToOdd>(plan, source, codes),
        Mode::Random => unreachable!("stochastic rounding has a kernel of its own"),
    }
}

#[target_feature(enable = "neon")]
fn only_codes<S: Source, T: Target>(plan: &EncodePlan, source: &[S], codes: &mut [T]) {
    match plan.mode {
        // Counts cost little beside all the choices of rare shapes and modes.
        Mode::Even => with_shape!(
            fit(plan),
            [Gradual Hole Integer Unsigned],
            |H| uncounted::<S, T, H>(plan, source, codes),
            _ = dispatch(plan, source, codes)
        ),
        _ => _ = dispatch(plan, source, codes),
    }
}

// Each loop is a function of its own, whose constants are in registers.
#[inline(never)]
#[target_feature(enable = "neon")]
fn uncounted<S: Source, T: Target, H: Shape>(plan: &EncodePlan, source: &[S], codes: &mut [T]) {
    let encoder = Encoding::<S, T, H, NearestEven>::new(plan);
    encoder.run::<CodesOnly>(source, codes, &mut Tally::default());
}

#[inline(never)]
#[target_feature(enable = "neon")]
fn all<S: Source, T: Target, H: Shape>(plan: &EncodePlan, source: &[S], codes: &mut [T]) -> Tally {
    let encoder = Encoding::<S, T, H, NearestEven>::new(plan);
    // SAFETY: this function has the level's instructions.
    unsafe { encode_by_blocks(&encoder, source, codes, false) }
}

impl<S: Source, T: Target, H: Shape> BlockEncoder for Encoding<S, T, H, NearestEven> {
    type From = S;
    type To = T;
    const ALIGNMENT: usize = STEP;
    const BLOCK: usize = BLOCK;
    const FIRST_BLOCK: usize = 32 * STEP;

    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn encode<D: Detail>(&self, source: &[S], codes: &mut [T], _: bool, tally: &mut Tally) {
        self.run::<D>(source, codes, tally);
    }
}

/// The rarer modes and shapes, which find out everything about every block. Blocks of other types
/// than f32 are widened first, so that all types share one loop.
#[target_feature(enable = "neon")]
fn once<S: Source, T: Target, M: Rounds>(plan: &EncodePlan, source: &[S], codes: &mut [T]) -> Tally {
    let encoder = Encoding::<f32, T, Rare, M> { k: Constants::new::<S, T>(plan), types: PhantomData };
    let mut wide = [0.0; BLOCK];
    let mut tally = Tally::default();
    for (x, code) in source.chunks(BLOCK).zip(codes.chunks_mut(BLOCK)) {
        // SAFETY: this function has the level's instructions.
        let x = unsafe { S::widened(x, &mut wide) };
        rare_block(&encoder, x, code, &mut tally);
    }
    tally
}

#[inline(never)]
#[target_feature(enable = "neon")]
fn rare_block<T: Target, M: Rounds>(
    encoder: &Encoding<f32, T, Rare, M>,
    source: &[f32],
    codes: &mut [T],
    tally: &mut Tally,
) {
    encoder.run::<Flags>(source, codes, tally);
}

/// The encoding of blocks.
struct Encoding<S, T, H, M> {
    k: Constants,
    types: PhantomData<(S, T, H, M)>,
}

impl<S: Source, T: Target, H: Shape, M: Rounds> Encoding<S, T, H, M> {
    #[inline]
    #[target_feature(enable = "neon")]
    fn new(plan: &EncodePlan) -> Self {
        Self { k: Constants::new::<S, T>(plan), types: PhantomData }
    }

    /// Encodes a block, and finds out as much as `D` says.
    #[inline]
    #[target_feature(enable = "neon")]
    fn run<D: Detail>(&self, source: &[S], codes: &mut [T], tally: &mut Tally) {
        let mut sums = Sums::new();
        // SAFETY: this function has the level's instructions.
        let padding =
            unsafe { for_steps::<D, _, _>(self, source, nothing(source.len()), codes, &mut sums, false) };
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
    type Vectors = [Vector; 2];

    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn step(&self, x: &[S; STEP], _: &[(); STEP], sums: &mut Sums) -> [Vector; 2] {
        step::<S, T, H, M, D>(x, &self.k, sums)
    }

    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn store(codes: &mut [T; STEP], vectors: [Vector; 2], _: bool) {
        store(codes, &vectors);
    }
}

/// The plan as vectors.
#[expect(clippy::struct_excessive_bools, reason = "independent choices")]
pub(super) struct Constants {
    pub(super) magnitude: uint32x4_t,
    pub(super) one: uint32x4_t,
    pub(super) infinity: uint32x4_t,
    pub(super) cap: uint32x4_t,
    pub(super) lowest: uint32x4_t,
    pub(super) exponent: uint32x4_t,
    pub(super) lift: uint32x4_t,
    pub(super) half_step: uint32x4_t,
    /// To be taken off of indices, modulo 2^16.
    pub(super) base: uint16x8_t,
    /// The bits below the last place of normal values, and the shift that cuts them off.
    pub(super) below: uint32x4_t,
    pub(super) cut: int32x4_t,
    pub(super) half_cut: uint32x4_t,
    pub(super) almost_half_cut: uint32x4_t,
    /// Of a directed rounding: what makes the sign of elements that move away negative, if any
    /// does.
    pub(super) toward: uint32x4_t,
    pub(super) moves: uint32x4_t,
    pub(super) top: Vector,
    pub(super) sign: Vector,
    /// 1 in every lane.
    pub(super) unit: Vector,
    pub(super) drops_zero_sign: bool,
    pub(super) overflow: [Vector; 2],
    pub(super) infinite: [Vector; 2],
    pub(super) nan: [Vector; 2],
    pub(super) infinity_differs: bool,
    pub(super) infinity_by_sign: bool,
    pub(super) min_normal: u32,
    /// What [`looked_at`] has of x.
    looked_at: uint32x4_t,
    pub(super) first_normal: Vector,
    pub(super) last_below: Vector,
    pub(super) half_hole: Vector,
    pub(super) hole_end: Vector,
    pub(super) binade: Vector,
    pub(super) flush: bool,
    pub(super) hole: bool,
    pub(super) integer: bool,
    pub(super) signed: bool,
    pub(super) source_min_normal: u32,
}

impl Constants {
    #[inline]
    #[target_feature(enable = "neon")]
    pub(super) fn new<S: Source, T: Target>(plan: &EncodePlan) -> Self {
        let m = plan.trailing;
        let lift = 23 - m;
        let pair = |codes: [u16; 2]| [splat::<T>(codes[0]), splat::<T>(codes[1])];
        let binade = 1_u16 << m;
        let [base_low, base_high, ..] = (plan.lowest_field << m).to_le_bytes();
        let base = if plan.integer { 0 } else { u16::from_le_bytes([base_low, base_high]) };
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
            base: vdupq_n_u16(base),
            below: words((1 << lift) - 1),
            cut: places(0, lift),
            half_cut: words(1 << (lift - 1)),
            almost_half_cut: words((1 << (lift - 1)) - 1),
            toward: words(if positive_moves { u32::MAX } else { 0 }),
            moves: words(if positive_moves || negative_moves { u32::MAX } else { 0 }),
            top: splat::<T>(plan.top),
            sign: splat::<T>(plan.sign_bit),
            unit: splat::<T>(1),
            drops_zero_sign: plan.negative_zero == 0,
            overflow: pair(plan.overflow.codes),
            infinite: pair(plan.infinity.codes),
            nan: pair(plan.nan.codes),
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
    top: Vector,
    zero: Vector,
    infinite: Vector,
    refused: Vector,
    nan: Vector,
    negative_infinite: Vector,
    /// Exact zeros, counted by lanes.
    exact_zero: uint32x4_t,
    /// The least |x| − 1, zeros last.
    least: uint32x4_t,
    /// The least index − 1, zeros last.
    least_index: Vector,
    /// All bits of capped magnitudes.
    bits: uint32x4_t,
    /// The least inexact magnitude; all bits set if none.
    least_inexact: uint32x4_t,
    /// Codes whose value is inexact for being no value, all of them below the smallest normal one.
    lost: Vector,
}

/// Σ of the 16 bytes. Counters of half-words stay below 256 too.
#[inline]
#[target_feature(enable = "neon")]
fn sum_of_bytes(bytes: Vector) -> u64 {
    u64::from(vaddlvq_u8(bytes))
}

impl Sums {
    #[inline]
    #[target_feature(enable = "neon")]
    pub(super) fn new() -> Self {
        let (zero, ones) = (vdupq_n_u8(0), vdupq_n_u8(0xff));
        Self {
            top: zero,
            zero,
            infinite: zero,
            refused: zero,
            nan: zero,
            negative_infinite: zero,
            exact_zero: words(0),
            least: words(u32::MAX),
            least_index: ones,
            bits: words(0),
            least_inexact: words(u32::MAX),
            lost: zero,
        }
    }

    #[inline]
    #[target_feature(enable = "neon")]
    pub(super) fn add_to<T: Target>(&self, tally: &mut Tally, padding: u64, k: &Constants) {
        let (infinite, nan) = (sum_of_bytes(self.infinite), sum_of_bytes(self.nan));
        tally.nan += nan;
        tally.infinite += infinite;
        tally.negative_infinite += sum_of_bytes(self.negative_infinite);
        tally.overflow += sum_of_bytes(self.top) - nan - infinite;
        tally.refused += sum_of_bytes(self.refused);
        tally.zero += sum_of_bytes(self.zero) - padding;
        tally.exact_zero += u64::from(vaddvq_u32(self.exact_zero)) - padding;
        tally.denormal |= vminvq_u32(self.least) < k.source_min_normal - 1;
        tally.low |= any(less::<T>(k.first_normal, self.least_index));
        let (lost, least_inexact) = (any(self.lost), vminvq_u32(self.least_inexact));
        let has_bits = vmaxvq_u32(vandq_u32(self.bits, k.below)) != 0;
        tally.inexact |= lost || least_inexact != u32::MAX || has_bits;
        tally.tiny |= lost || least_inexact < k.min_normal;
    }
}

/// Indices on Tesla's grid → codes: those up to the `last` lower one join the largest subnormal,
/// the others of the binade that is none the smallest normal value. To nearest, ties of the grid
/// and of the format are the same, and both go to the even code.
#[inline]
#[target_feature(enable = "neon")]
fn join_hole<T: Target, M: Rounds>(grid: Vector, negative: Vector, k: &Constants) -> Vector {
    let last = if M::DIRECTED {
        let toward = vreinterpretq_u8_u32(k.toward);
        let away = vandq_u8(veorq_u8(negative, toward), vreinterpretq_u8_u32(k.moves));
        vbslq_u8(away, k.last_below, k.hole_end)
    } else if M::TO_ODD {
        // The largest subnormal is odd.
        k.hole_end
    } else {
        k.half_hole
    };
    let upper = greater::<T>(grid, last);
    let subnormal = lesser::<T>(grid, k.last_below);
    let above = less::<T>(less::<T>(grid, k.binade), k.binade);
    subtract::<T>(add::<T>(subnormal, above), upper)
}

/// The magnitude of x, with its sign in formats without one: there negative elements are refused or
/// become zeros that are counted, and nothing else about them matters. Such words are beyond all
/// others.
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn looked_at<H: Shape>(x: uint32x4_t, magnitude: uint32x4_t, k: &Constants) -> uint32x4_t {
    match H::UNSIGNED {
        Some(false) => magnitude,
        Some(true) => x,
        None => vandq_u32(x, k.looked_at),
    }
}

/// Returns whether the format has no sign.
#[inline]
pub(super) fn is_unsigned<H: Shape>(k: &Constants) -> bool {
    H::UNSIGNED.unwrap_or(!k.signed)
}

/// Encodes 16 elements.
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn step<S: Source, T: Target, H: Shape, M: Rounds, D: Detail>(
    x: &[S; STEP],
    k: &Constants,
    sums: &mut Sums,
) -> [Vector; 2] {
    let mut lanes = Lanes::new();
    for pair in 0..2 {
        let mut fours = Fours::new();
        for i in 0..2 {
            // SAFETY: this function has the features that loads need.
            let x = unsafe { S::load(x, 2 * pair + i) };
            let magnitude = vandq_u32(x, k.magnitude);
            fours.take(i, x, magnitude, k);
            if D::COUNTS {
                sums.see(magnitude, k);
            }
            let capped = vminq_u32(magnitude, k.cap);
            let (index, exact) = round::<H, M, D>(x, capped, k);
            fours.index[i] = index;
            let looked_at = looked_at::<H>(x, magnitude, k);
            if D::NEARNESS {
                sums.bits = vorrq_u32(sums.bits, vminq_u32(looked_at, k.cap));
            }
            if D::EXACTNESS {
                sums.see_exactness::<H>(exact, looked_at, k);
            }
        }
        lanes.narrow(pair, &fours, k.base);
    }
    finish_all::<T, H, M, D>(&lanes, k, sums)
}

impl Sums {
    /// Counts exact zeros and keeps the least magnitude of the others.
    #[inline]
    #[target_feature(enable = "neon")]
    pub(super) fn see(&mut self, magnitude: uint32x4_t, k: &Constants) {
        self.exact_zero = vsubq_u32(self.exact_zero, vceqzq_u32(magnitude));
        self.least = vminq_u32(self.least, vsubq_u32(magnitude, k.one));
    }

    /// Keeps the least inexact magnitude.
    #[inline]
    #[target_feature(enable = "neon")]
    pub(super) fn see_exactness<H: Shape>(
        &mut self,
        exact: uint32x4_t,
        looked_at: uint32x4_t,
        k: &Constants,
    ) {
        let mut exact = exact;
        if H::UNSIGNED != Some(false) {
            exact = vorrq_u32(exact, vcltzq_s32(vreinterpretq_s32_u32(looked_at)));
        }
        self.least_inexact = vminq_u32(self.least_inexact, vorrq_u32(exact, vminq_u32(looked_at, k.cap)));
    }
}

/// What the lanes of codes are narrowed from, for two vectors of four elements.
pub(super) struct Fours {
    /// The elements, for their signs.
    x: [uint32x4_t; 2],
    /// 0 for finite values, 1 for ∞, more for NaN.
    special: [uint32x4_t; 2],
    /// Indices on the grid, the base still on them.
    pub(super) index: [uint32x4_t; 2],
}

impl Fours {
    #[inline]
    #[target_feature(enable = "neon")]
    pub(super) fn new() -> Self {
        let zero = [words(0); 2];
        Self { x: zero, special: zero, index: zero }
    }

    #[inline]
    #[target_feature(enable = "neon")]
    pub(super) fn take(&mut self, i: usize, x: uint32x4_t, magnitude: uint32x4_t, k: &Constants) {
        self.x[i] = x;
        self.special[i] = vqsubq_u32(magnitude, vsubq_u32(k.infinity, k.one));
    }
}

/// What [`Fours`] has, of 16 elements in lanes of 16 bits: narrowed as soon as they are known, they
/// need fewer registers.
pub(super) struct Lanes {
    x: [uint16x8_t; 2],
    special: [uint16x8_t; 2],
    index: [uint16x8_t; 2],
}

/// The low or the high halves of the lanes of two vectors.
#[inline]
#[target_feature(enable = "neon")]
fn halves<const HIGH: bool>([a, b]: [uint32x4_t; 2]) -> uint16x8_t {
    let (a, b) = (vreinterpretq_u16_u32(a), vreinterpretq_u16_u32(b));
    if HIGH { vuzp2q_u16(a, b) } else { vuzp1q_u16(a, b) }
}

impl Lanes {
    #[inline]
    #[target_feature(enable = "neon")]
    pub(super) fn new() -> Self {
        let zero = [vdupq_n_u16(0); 2];
        Self { x: zero, special: zero, index: zero }
    }

    #[inline]
    #[target_feature(enable = "neon")]
    pub(super) fn narrow(&mut self, pair: usize, fours: &Fours, base: uint16x8_t) {
        self.x[pair] = halves::<true>(fours.x);
        self.special[pair] = vqmovn_high_u32(vqmovn_u32(fours.special[0]), fours.special[1]);
        self.index[pair] = vsubq_u16(halves::<false>(fours.index), base);
    }
}

/// The lanes of the `part`-th vector of codes, of bytes the low or the high ones of the halves.
#[inline]
#[target_feature(enable = "neon")]
fn narrowed<T: Target, const HIGH: bool>(lanes: &[uint16x8_t; 2], part: usize) -> Vector {
    let (a, b) = (vreinterpretq_u8_u16(lanes[0]), vreinterpretq_u8_u16(lanes[1]));
    match (T::BITS, part) {
        (8, _) if HIGH => vuzp2q_u8(a, b),
        (8, _) => vuzp1q_u8(a, b),
        (_, 0) => a,
        _ => b,
    }
}

/// Indices on the grid, in lanes of 16 bits, → codes.
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn finish_all<T: Target, H: Shape, M: Rounds, D: Detail>(
    lanes: &Lanes,
    k: &Constants,
    sums: &mut Sums,
) -> [Vector; 2] {
    let first = finish::<T, H, M, D>(lanes, 0, k, sums);
    if T::BITS == 8 { [first, first] } else { [first, finish::<T, H, M, D>(lanes, 1, k, sums)] }
}

/// Indices on the grid → codes, with everything that is special about specials.
#[inline]
#[target_feature(enable = "neon")]
fn finish<T: Target, H: Shape, M: Rounds, D: Detail>(
    lanes: &Lanes,
    part: usize,
    k: &Constants,
    sums: &mut Sums,
) -> Vector {
    let zero = vdupq_n_u8(0);
    let grid = narrowed::<T, false>(&lanes.index, part);
    let sign = negative::<T>(narrowed::<T, true>(&lanes.x, part));
    let special = if T::BITS == 8 {
        vqmovn_high_u16(vqmovn_u16(lanes.special[0]), lanes.special[1])
    } else {
        narrowed::<T, false>(&lanes.special, part)
    };
    let top = equal::<T>(grid, k.top);
    let mut index = grid;
    if H::HOLE.unwrap_or(k.hole) {
        index = join_hole::<T, M>(grid, sign, k);
    }
    if H::FLUSH.unwrap_or(k.flush) {
        let kept = greater::<T>(grid, k.last_below);
        index = vandq_u8(grid, kept);
        if D::EXACTNESS {
            sums.lost = vorrq_u8(sums.lost, vbicq_u8(grid, kept));
        }
    }
    let is_infinite = equal::<T>(special, k.unit);
    let is_nan = greater::<T>(special, k.unit);
    let is_zero = equal::<T>(index, zero);
    let mut refused = zero;
    if is_unsigned::<H>(k) {
        // Negative values that do not become zero.
        let finite = equal::<T>(special, zero);
        refused = vandq_u8(sign, vbicq_u8(finite, is_zero));
    }
    if H::HOLE.unwrap_or(k.hole) && D::PLACES_IN_HOLE {
        let hole = equal::<T>(lesser::<T>(larger::<T>(grid, k.binade), k.hole_end), grid);
        sums.lost = vorrq_u8(sums.lost, vbicq_u8(hole, refused));
    }
    let pick = |pair: &[Vector; 2]| vbslq_u8(sign, pair[1], pair[0]);
    let mut code = index;
    if H::UNSIGNED != Some(true) {
        let mut kept_sign = vandq_u8(sign, k.sign);
        if k.drops_zero_sign {
            kept_sign = vbicq_u8(kept_sign, is_zero);
        }
        code = veorq_u8(index, kept_sign);
    }
    code = vbslq_u8(top, pick(&k.overflow), code);
    if k.infinity_differs {
        code = vbslq_u8(is_infinite, pick(&k.infinite), code);
    }
    code = vbslq_u8(is_nan, pick(&k.nan), code);
    if is_unsigned::<H>(k) {
        code = vbslq_u8(refused, k.overflow[1], code);
        if D::COUNTS {
            sums.refused = subtract::<T>(sums.refused, refused);
        }
    }
    if D::COUNTS && H::INFINITY_BY_SIGN.unwrap_or(k.infinity_by_sign) {
        sums.negative_infinite = subtract::<T>(sums.negative_infinite, vandq_u8(is_infinite, sign));
    }
    if D::COUNTS {
        sums.top = subtract::<T>(sums.top, vbicq_u8(top, refused));
        sums.infinite = subtract::<T>(sums.infinite, is_infinite);
        sums.zero = subtract::<T>(sums.zero, is_zero);
        sums.nan = subtract::<T>(sums.nan, is_nan);
    }
    if D::NEARNESS {
        let less_one = vorrq_u8(subtract::<T>(grid, k.unit), refused);
        sums.least_index = lesser::<T>(sums.least_index, less_one);
    }
    code
}
