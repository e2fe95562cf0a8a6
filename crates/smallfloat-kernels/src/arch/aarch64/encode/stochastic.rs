//! f32, f16, bf16 or, for few random bits, f64 → codes of 8 or 16 bits by StochasticA, with words
//! that are given: away iff ⌊ν·2^N⌋ + R ≥ 2^N.
//!
//! The significand is shifted to the grid; what falls below is ν as a fraction of 2^32, exact but
//! for bits that no rule looks at. With w = R·2^(32−N), the rule says: ν·2^32 + w carries out of 32
//! bits. In Tesla's hole, D = 2^M + 1 grid steps wide, a value that is J steps and a fraction f
//! above the hole's lower end has ν = (J + f)/D, so nothing needs to be divided: away iff J·2^32 +
//! f·2^32 + D·w ≥ D·2^32.

use std::arch::aarch64::*;
use std::marker::PhantomData;

use crate::arch::machine::Neon;
use crate::arch::machine::encode::{BLOCK, Constants, Fours, Lanes, Sums, finish_all, looked_at};
use crate::arch::machine::lanes::{STEP, Source, Target, Vector, places, store, words};
use crate::arch::vectors::blocks::{Step, for_steps};
use crate::arch::vectors::choices::{NearestEven, RandomFlags, Rare, Shape, fit, with_shape};
use crate::plan::encode::EncodePlan;
use crate::plan::tally::Tally;

/// Encodes a slice with a word for each element, of which the upper bits that `mask` has are used.
pub(crate) fn encode_random<S: Source, T: Target>(
    _: Neon,
    plan: &EncodePlan,
    source: &[S],
    codes: &mut [T],
    random: &[u32],
    mask: u32,
) -> Tally {
    assert_eq!(source.len(), codes.len(), "source and codes must have the same length");
    assert_eq!(source.len(), random.len(), "every element needs a word");
    // SAFETY: the proof says that the machine has these instructions.
    unsafe {
        with_shape!(
            fit(plan),
            [Gradual Hole Integer Unsigned],
            |H| all::<S, T, H>(plan, source, codes, random, mask),
            all::<S, T, Rare>(plan, source, codes, random, mask)
        )
    }
}

#[inline(never)]
#[target_feature(enable = "neon")]
fn all<S: Source, T: Target, H: Shape>(
    plan: &EncodePlan,
    source: &[S],
    codes: &mut [T],
    random: &[u32],
    mask: u32,
) -> Tally {
    let (k, r) = (Constants::new::<S, T>(plan), Rounding::new(plan, mask));
    let encoder = Encoding::<S, T, H> { k, r, types: PhantomData };
    let mut tally = Tally::default();
    for ((x, codes), random) in source.chunks(BLOCK).zip(codes.chunks_mut(BLOCK)).zip(random.chunks(BLOCK)) {
        let mut sums = Sums::new();
        // SAFETY: this function has the level's instructions.
        let padding = unsafe { for_steps::<RandomFlags, _, _>(&encoder, x, random, codes, &mut sums, false) };
        sums.add_to::<T>(&mut tally, padding, &encoder.k);
    }
    tally
}

/// The encoding of blocks.
struct Encoding<S, T, H> {
    k: Constants,
    r: Rounding,
    types: PhantomData<(S, T, H)>,
}

impl<S: Source, T: Target, H: Shape> Step<RandomFlags, STEP> for Encoding<S, T, H> {
    type From = S;
    type With = u32;
    type To = T;
    type Sums = Sums;
    type Vectors = [Vector; 2];

    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn step(&self, x: &[S; STEP], random: &[u32; STEP], sums: &mut Sums) -> [Vector; 2] {
        step::<S, T, H>(x, random, &self.k, &self.r, sums)
    }

    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn store(codes: &mut [T; STEP], vectors: [Vector; 2], _: bool) {
        store(codes, &vectors);
    }
}

/// What this rounding needs beside the constants of all.
struct Rounding {
    mask: uint32x4_t,
    hidden: uint32x4_t,
    fraction: uint32x4_t,
    lowest_field: uint32x4_t,
    shift: uint32x4_t,
    width: int32x4_t,
    trailing: int32x4_t,
    rest: int32x4_t,
    /// What is left of 32 bits after those that a code keeps.
    uncut: int32x4_t,
    base: uint32x4_t,
    /// 2^M − 2, 2^M − 1, 2^M and 2^(M+1).
    before_hole: uint32x4_t,
    last_below: uint32x4_t,
    binade: uint32x4_t,
    hole_end: uint32x4_t,
}

impl Rounding {
    #[inline]
    #[target_feature(enable = "neon")]
    fn new(plan: &EncodePlan, mask: u32) -> Self {
        let m = plan.trailing;
        let binade = 1_u32 << m;
        Self {
            mask: words(mask),
            hidden: words(1 << 23),
            fraction: words((1 << 23) - 1),
            lowest_field: words(plan.lowest_field),
            shift: words(23 - m),
            width: places(32, 0),
            trailing: places(m, 0),
            rest: places(0, 32 - m),
            uncut: places(9 + m, 0),
            base: words(if plan.integer { 0 } else { plan.lowest_field << m }),
            before_hole: words(binade - 2),
            last_below: words(binade - 1),
            binade: words(binade),
            hole_end: words(2 * binade),
        }
    }
}

/// All bits set, which is −1, in lanes where a sum of unsigned numbers carried.
#[inline]
#[target_feature(enable = "neon")]
fn carried(sum: uint32x4_t, addend: uint32x4_t) -> uint32x4_t {
    vcltq_u32(sum, addend)
}

/// A capped magnitude in places of the grid.
struct Split {
    /// Whole places, counted from where `Rounding::base` says.
    place: uint32x4_t,
    /// ν as a fraction of 2^32.
    below: uint32x4_t,
    exact: uint32x4_t,
}

#[inline]
#[target_feature(enable = "neon")]
fn split<H: Shape>(capped: uint32x4_t, k: &Constants, r: &Rounding) -> Split {
    if H::INTEGER.unwrap_or(k.integer) {
        let below = vshlq_u32(capped, r.uncut);
        return Split { place: vshlq_u32(capped, k.cut), below, exact: vceqzq_u32(below) };
    }
    let exponent = vshrq_n_u32::<23>(capped);
    let significand = vorrq_u32(vandq_u32(capped, r.fraction), r.hidden);
    let field = vmaxq_u32(exponent, r.lowest_field);
    let shift = vsubq_u32(vaddq_u32(field, r.shift), exponent);
    // Shifts read eight bits of their counts; by 64 places everything has gone.
    let shift = vreinterpretq_s32_u32(vminq_u32(shift, words(64)));
    let whole = vshlq_u32(significand, vnegq_s32(shift));
    // To the left, or where all of it lies below the last place to the right.
    let below = vshlq_u32(significand, vsubq_s32(r.width, shift));
    let place = vaddq_u32(whole, vshlq_u32(field, r.trailing));
    let back = vshlq_u32(whole, shift);
    // The hidden bit that zero does not have is no difference.
    let exact = vorrq_u32(vceqq_u32(back, significand), vceqzq_u32(capped));
    Split { place, below, exact }
}

/// Encodes 16 elements.
#[inline]
#[target_feature(enable = "neon")]
fn step<S: Source, T: Target, H: Shape>(
    x: &[S; STEP],
    random: &[u32; STEP],
    k: &Constants,
    r: &Rounding,
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
            sums.see(magnitude, k);
            let capped = vminq_u32(magnitude, k.cap);
            let random: &[u32; 4] = &random.as_chunks().0[2 * pair + i];
            // SAFETY: the reference is to 16 readable bytes.
            let word = unsafe { vld1q_u32(random.as_ptr()) };
            let (index, exact) = round::<H>(capped, vandq_u32(word, r.mask), k, r);
            fours.index[i] = index;
            sums.see_exactness::<H>(exact, looked_at::<H>(x, magnitude, k), k);
        }
        lanes.narrow(pair, &fours, vdupq_n_u16(0));
    }
    finish_all::<T, H, NearestEven, RandomFlags>(&lanes, k, sums)
}

/// The index of a capped magnitude, and whether it is exact: all bits set.
#[inline]
#[target_feature(enable = "neon")]
fn round<H: Shape>(
    capped: uint32x4_t,
    word: uint32x4_t,
    k: &Constants,
    r: &Rounding,
) -> (uint32x4_t, uint32x4_t) {
    let Split { place, below, exact } = split::<H>(capped, k, r);
    let place = vsubq_u32(place, r.base);
    let rounded = vsubq_u32(place, carried(vaddq_u32(below, word), below));
    if !H::HOLE.unwrap_or(k.hole) {
        return (rounded, exact);
    }
    let in_hole = vandq_u32(vcgtq_u32(place, r.before_hole), vcltq_u32(place, r.hole_end));
    let steps = vsubq_u32(place, r.last_below);
    let product = vaddq_u32(vshlq_u32(word, r.trailing), word);
    let sum = vaddq_u32(product, below);
    // D·w = w·2^M + w; its upper half and both carries.
    let upper = vaddq_u32(steps, vshlq_u32(word, r.rest));
    let high = vsubq_u32(upper, vaddq_u32(carried(product, word), carried(sum, below)));
    // Away iff steps + upper half + carries ≥ D = 2^M + 1. Below the hole, where steps wrap around,
    // nothing is asked.
    let away = vcgtq_u32(high, r.binade);
    // The places of the grid that join the ends of the hole.
    let end = vaddq_u32(r.binade, vandq_u32(away, r.last_below));
    let no_value = vandq_u32(in_hole, vcgtq_u32(place, r.last_below));
    (vbslq_u32(in_hole, end, rounded), vbicq_u32(exact, no_value))
}
