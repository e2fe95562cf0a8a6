//! f32, f16 or bf16 → 8-bit codes by StochasticA, 64 at once; the file of the same name for
//! narrower vectors says how.

use std::arch::x86_64::*;
use std::marker::PhantomData;

use crate::arch::machine::Avx512;
use crate::arch::machine::avx512::encode::{BLOCK, Constants, Lanes, Sums, finish};
use crate::arch::machine::avx512::lanes::{STEP, Source, store, words};
use crate::arch::vectors::blocks::{Step, for_steps};
use crate::arch::vectors::choices::{NearestEven, RandomFlags, Rare, Shape, fit, with_shape};
use crate::plan::encode::EncodePlan;
use crate::plan::tally::Tally;

/// Encodes a slice with a word for each element, of which the upper bits that `mask` has are used.
pub(crate) fn encode_random<S: Source>(
    _: Avx512,
    plan: &EncodePlan,
    source: &[S],
    codes: &mut [u8],
    random: &[u32],
    mask: u32,
) -> Tally {
    assert_eq!(source.len(), codes.len(), "source and codes must have the same length");
    assert_eq!(source.len(), random.len(), "every element needs a word");
    // SAFETY: the proof says that the machine has these instructions.
    unsafe {
        with_shape!(
            fit(plan),
            [Gradual Hole],
            |H| all::<S, H>(plan, source, codes, random, mask),
            all::<S, Rare>(plan, source, codes, random, mask)
        )
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,popcnt")]
fn all<S: Source, H: Shape>(
    plan: &EncodePlan,
    source: &[S],
    codes: &mut [u8],
    random: &[u32],
    mask: u32,
) -> Tally {
    let (k, r) = (Constants::new::<S, u8>(plan), Rounding::new(plan, mask));
    let encoder = Encoding::<S, H> { k, r, types: PhantomData };
    let mut tally = Tally::default();
    for ((x, codes), random) in source.chunks(BLOCK).zip(codes.chunks_mut(BLOCK)).zip(random.chunks(BLOCK)) {
        let mut sums = Sums::new();
        // SAFETY: this function has the level's instructions.
        let padding = unsafe { for_steps::<RandomFlags, _, _>(&encoder, x, random, codes, &mut sums, false) };
        sums.add_to(&mut tally, padding, &encoder.k);
    }
    tally
}

/// The encoding of blocks.
struct Encoding<S, H> {
    k: Constants,
    r: Rounding,
    types: PhantomData<(S, H)>,
}

impl<S: Source, H: Shape> Step<RandomFlags, STEP> for Encoding<S, H> {
    type From = S;
    type With = u32;
    type To = u8;
    type Sums = Sums;
    type Vectors = __m512i;

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,popcnt")]
    unsafe fn step(&self, x: &[S; STEP], random: &[u32; STEP], sums: &mut Sums) -> __m512i {
        step::<S, H>(x, random, &self.k, &self.r, sums)
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    unsafe fn store(codes: &mut [u8; STEP], vectors: __m512i, stream: bool) {
        // SAFETY: the caller's promise.
        unsafe { store(codes, [vectors; 2], stream) };
    }
}

/// What this rounding needs beside the constants of all.
struct Rounding {
    mask: __m512i,
    hidden: __m512i,
    fraction: __m512i,
    lowest_field: __m512i,
    shift: __m512i,
    width: __m512i,
    trailing: __m128i,
    rest: __m128i,
    base: __m512i,
    /// 2^M − 1, 2^M and 2^M + 1.
    last_below: __m512i,
    binade: __m512i,
    hole_width: __m512i,
}

impl Rounding {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn new(plan: &EncodePlan, mask: u32) -> Self {
        let m = plan.trailing;
        let binade = 1_u32 << m;
        Self {
            mask: words(mask),
            hidden: words(1 << 23),
            fraction: words((1 << 23) - 1),
            lowest_field: words(plan.lowest_field),
            shift: words(23 - m),
            width: words(32),
            trailing: _mm_cvtsi32_si128(m.cast_signed()),
            rest: _mm_cvtsi32_si128((32 - m).cast_signed()),
            base: words(plan.lowest_field << m),
            last_below: words(binade - 1),
            binade: words(binade),
            hole_width: words(binade + 1),
        }
    }
}

/// Encodes 64 elements.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,popcnt")]
fn step<S: Source, H: Shape>(
    x: &[S; STEP],
    random: &[u32; STEP],
    k: &Constants,
    r: &Rounding,
    sums: &mut Sums,
) -> __m512i {
    let zero = _mm512_setzero_si512();
    let (mut signs, mut below_infinity, mut less_one, mut index) =
        ([zero; 4], [zero; 4], [zero; 4], [zero; 4]);
    for i in 0..4 {
        // SAFETY: this function has the features that loads need.
        let x = unsafe { S::load_wide(x, i) };
        let magnitude = _mm512_and_si512(x, k.magnitude);
        signs[i] = x;
        below_infinity[i] = _mm512_sub_epi32(k.infinity, magnitude);
        less_one[i] = _mm512_sub_epi32(magnitude, k.one);
        sums.least = _mm512_min_epu32(sums.least, less_one[i]);
        let capped = _mm512_min_epu32(magnitude, k.cap);

        let exponent = _mm512_srli_epi32::<23>(capped);
        let significand = _mm512_or_si512(_mm512_and_si512(capped, r.fraction), r.hidden);
        let field = _mm512_max_epi32(exponent, r.lowest_field);
        let shift = _mm512_sub_epi32(_mm512_add_epi32(field, r.shift), exponent);
        // Shifts by 32 or more, negative counts among them, give zero.
        let whole = _mm512_srlv_epi32(significand, shift);
        let left = _mm512_sllv_epi32(significand, _mm512_sub_epi32(r.width, shift));
        let right = _mm512_srlv_epi32(significand, _mm512_sub_epi32(shift, r.width));
        let below = _mm512_or_si512(left, right);
        let place = _mm512_add_epi32(whole, _mm512_sll_epi32(field, r.trailing));
        let place = _mm512_sub_epi32(place, r.base);
        let random: &[u32; 16] = &random.as_chunks().0[i];
        // SAFETY: the reference is to 64 readable bytes.
        let word = unsafe { _mm512_loadu_si512(random.as_ptr().cast()) };
        let word = _mm512_and_si512(word, r.mask);
        let away = _mm512_cmplt_epu32_mask(_mm512_add_epi32(below, word), below);
        index[i] = _mm512_mask_add_epi32(place, away, place, k.one);
        // The hidden bit that zero does not have is no difference.
        let not_zero = _mm512_test_epi32_mask(capped, capped);
        let back = _mm512_sllv_epi32(whole, shift);
        let mut differs = _mm512_mask_cmpneq_epi32_mask(not_zero, back, significand);
        if H::HOLE == Some(true) {
            let steps = _mm512_sub_epi32(place, r.last_below);
            let in_hole = _mm512_cmplt_epu32_mask(steps, r.hole_width);
            // D·w = w·2^M + w; its upper half and both carries.
            let product = _mm512_add_epi32(_mm512_sll_epi32(word, r.trailing), word);
            let sum = _mm512_add_epi32(product, below);
            let mut high = _mm512_add_epi32(steps, _mm512_srl_epi32(word, r.rest));
            high = _mm512_mask_add_epi32(high, _mm512_cmplt_epu32_mask(product, word), high, k.one);
            high = _mm512_mask_add_epi32(high, _mm512_cmplt_epu32_mask(sum, below), high, k.one);
            let away = _mm512_mask_cmpge_epu32_mask(in_hole, high, r.hole_width);
            // The places of the grid that join the ends of the hole.
            index[i] = _mm512_mask_mov_epi32(index[i], in_hole, r.binade);
            index[i] = _mm512_mask_add_epi32(index[i], away, r.binade, r.last_below);
            differs |= _mm512_mask_cmpgt_epi32_mask(in_hole, place, r.last_below);
        }
        sums.inexact |= u64::from(differs);
        let tiny = _mm512_mask_cmpgt_epi32_mask(differs, k.min_normal, capped);
        sums.tiny |= u64::from(tiny);
    }
    let [low, high] = [_mm512_packus_epi32(index[0], index[1]), _mm512_packus_epi32(index[2], index[3])];
    let grid = _mm512_packus_epi16(low, high);
    let lanes = Lanes { x: signs, below_infinity, less_one };
    finish::<u8, H, NearestEven, RandomFlags>(grid, &lanes, 0, k, sums)
}
