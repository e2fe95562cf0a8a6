//! f32, f16, bf16 or, for few random bits, f64 → codes of 8 or 16 bits by StochasticA, with words
//! that are given: away iff ⌊ν·2^N⌋ + R ≥ 2^N.
//!
//! The significand is shifted to the grid; what falls below is ν as a fraction of 2^32, exact but
//! for bits that no rule looks at. With w = R·2^(32−N), the rule says: ν·2^32 + w carries out of 32
//! bits. In Tesla's hole, D = 2^M + 1 grid steps wide, a value that is J steps and a fraction f
//! above the hole's lower end has ν = (J + f)/D, so nothing needs to be divided: away iff J·2^32 +
//! f·2^32 + D·w ≥ D·2^32.

use std::arch::x86_64::*;
use std::marker::PhantomData;

use crate::arch::machine::Avx2;
use crate::arch::machine::avx2::encode::{BLOCK, Constants, Eights, Lanes, Sums, finish_all, looked_at};
use crate::arch::machine::avx2::lanes::{STEP, Source, Target, store, words};
use crate::arch::vectors::blocks::{Step, for_steps};
use crate::arch::vectors::choices::{NearestEven, RandomFlags, Rare, Shape, fit, with_shape};
use crate::plan::encode::EncodePlan;
use crate::plan::tally::Tally;

/// Encodes a slice with a word for each element, of which the upper bits that `mask` has are used.
pub(crate) fn encode_random<S: Source, T: Target>(
    _: Avx2,
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

#[target_feature(enable = "avx2,f16c,popcnt")]
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
    type Vectors = [__m256i; 2];

    #[inline]
    #[target_feature(enable = "avx2,f16c,popcnt")]
    unsafe fn step(&self, x: &[S; STEP], random: &[u32; STEP], sums: &mut Sums) -> [__m256i; 2] {
        step::<S, T, H>(x, random, &self.k, &self.r, sums)
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn store(codes: &mut [T; STEP], vectors: [__m256i; 2], stream: bool) {
        // SAFETY: the caller's promise.
        unsafe { store(codes, &vectors, stream) };
    }
}

/// What this rounding needs beside the constants of all.
struct Rounding {
    mask: __m256i,
    hidden: __m256i,
    fraction: __m256i,
    lowest_field: __m256i,
    shift: __m256i,
    width: __m256i,
    trailing: __m128i,
    rest: __m128i,
    /// What is left of 32 bits after those that a code keeps.
    uncut: __m128i,
    base: __m256i,
    /// 2^M − 2, 2^M − 1, 2^M and 2^(M+1).
    before_hole: __m256i,
    last_below: __m256i,
    binade: __m256i,
    hole_end: __m256i,
}

impl Rounding {
    #[inline]
    #[target_feature(enable = "avx2")]
    fn new(plan: &EncodePlan, mask: u32) -> Self {
        let m = plan.trailing;
        let binade = 1_u32 << m;
        // One less: what does not move away is taken off afterwards.
        let base = if plan.integer { 0 } else { plan.lowest_field << m }.wrapping_sub(1);
        Self {
            mask: words(mask),
            hidden: words(1 << 23),
            fraction: words((1 << 23) - 1),
            lowest_field: words(plan.lowest_field),
            shift: words(23 - m),
            width: words(32),
            trailing: _mm_cvtsi32_si128(m.cast_signed()),
            rest: _mm_cvtsi32_si128((32 - m).cast_signed()),
            uncut: _mm_cvtsi32_si128((9 + m).cast_signed()),
            base: words(base),
            before_hole: words(binade - 2),
            last_below: words(binade - 1),
            binade: words(binade),
            hole_end: words(2 * binade),
        }
    }
}

/// All bits set in lanes where a sum of unsigned numbers did not carry.
#[inline]
#[target_feature(enable = "avx2")]
fn no_carry(sum: __m256i, addend: __m256i) -> __m256i {
    _mm256_cmpeq_epi32(_mm256_max_epu32(sum, addend), sum)
}

/// A capped magnitude in places of the grid.
struct Split {
    /// Whole places, counted from where `Rounding::base` says.
    place: __m256i,
    /// ν as a fraction of 2^32.
    below: __m256i,
    exact: __m256i,
}

#[inline]
#[target_feature(enable = "avx2")]
fn split<H: Shape>(capped: __m256i, k: &Constants, r: &Rounding) -> Split {
    let zero = _mm256_setzero_si256();
    if H::INTEGER.unwrap_or(k.integer) {
        let below = _mm256_sll_epi32(capped, r.uncut);
        return Split {
            place: _mm256_srl_epi32(capped, k.cut),
            below,
            exact: _mm256_cmpeq_epi32(below, zero),
        };
    }
    let exponent = _mm256_srli_epi32::<23>(capped);
    let significand = _mm256_or_si256(_mm256_and_si256(capped, r.fraction), r.hidden);
    let field = _mm256_max_epi32(exponent, r.lowest_field);
    let shift = _mm256_sub_epi32(_mm256_add_epi32(field, r.shift), exponent);
    // Shifts by 32 or more, negative counts among them, give zero.
    let whole = _mm256_srlv_epi32(significand, shift);
    let left = _mm256_sllv_epi32(significand, _mm256_sub_epi32(r.width, shift));
    let right = _mm256_srlv_epi32(significand, _mm256_sub_epi32(shift, r.width));
    let place = _mm256_add_epi32(whole, _mm256_sll_epi32(field, r.trailing));
    let back = _mm256_sllv_epi32(whole, shift);
    // The hidden bit that zero does not have is no difference.
    let exact = _mm256_or_si256(_mm256_cmpeq_epi32(back, significand), _mm256_cmpeq_epi32(capped, zero));
    Split { place, below: _mm256_or_si256(left, right), exact }
}

/// Encodes 32 elements.
#[inline]
#[target_feature(enable = "avx2,f16c,popcnt")]
fn step<S: Source, T: Target, H: Shape>(
    x: &[S; STEP],
    random: &[u32; STEP],
    k: &Constants,
    r: &Rounding,
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
            eights.less_one[i] = _mm256_sub_epi32(magnitude, k.one);
            sums.least = _mm256_min_epu32(sums.least, eights.less_one[i]);
            let capped = _mm256_min_epu32(magnitude, k.cap);
            let random: &[u32; 8] = &random.as_chunks().0[2 * pair + i];
            // SAFETY: the reference is to 32 readable bytes.
            let word = unsafe { _mm256_loadu_si256(random.as_ptr().cast()) };
            let exact;
            (*place, exact) = round::<H>(capped, _mm256_and_si256(word, r.mask), k, r);
            sums.see_exactness::<H>(exact, looked_at::<H>(x, magnitude, k), k);
        }
        lanes.narrow(pair, &eights);
        *half = _mm256_packus_epi32(index[0], index[1]);
    }
    finish_all::<T, H, NearestEven, RandomFlags>(halves, &lanes, k, sums)
}

/// The index of a capped magnitude, and whether it is exact: all bits set.
#[inline]
#[target_feature(enable = "avx2")]
fn round<H: Shape>(capped: __m256i, word: __m256i, k: &Constants, r: &Rounding) -> (__m256i, __m256i) {
    let Split { place, below, exact } = split::<H>(capped, k, r);
    let stays = no_carry(_mm256_add_epi32(below, word), below);
    let rounded = _mm256_sub_epi32(_mm256_add_epi32(place, stays), r.base);
    if !H::HOLE.unwrap_or(k.hole) {
        return (rounded, exact);
    }
    // `base` is one too low for the place itself.
    let place = _mm256_sub_epi32(_mm256_sub_epi32(place, r.base), k.one);
    let in_hole =
        _mm256_and_si256(_mm256_cmpgt_epi32(place, r.before_hole), _mm256_cmpgt_epi32(r.hole_end, place));
    let steps = _mm256_sub_epi32(place, r.last_below);
    let product = _mm256_add_epi32(_mm256_sll_epi32(word, r.trailing), word);
    let sum = _mm256_add_epi32(product, below);
    // D·w = w·2^M + w; its upper half and both carries, a carry being 1 less than "no carry" taken
    // off.
    let mut high = _mm256_add_epi32(steps, _mm256_srl_epi32(word, r.rest));
    high = _mm256_add_epi32(high, _mm256_add_epi32(no_carry(product, word), no_carry(sum, below)));
    // Away iff steps + upper half + carries ≥ D = 2^M + 1: here two are missing.
    let away = _mm256_cmpgt_epi32(high, r.before_hole);
    // The places of the grid that join the ends of the hole.
    let end = _mm256_add_epi32(r.binade, _mm256_and_si256(away, r.last_below));
    let no_value = _mm256_and_si256(in_hole, _mm256_cmpgt_epi32(place, r.last_below));
    (_mm256_blendv_epi8(rounded, end, in_hole), _mm256_andnot_si256(no_value, exact))
}
