//! f32, f16 or bf16 → 8-bit codes by StochasticA, with words that are given: away iff ⌊ν·2^N⌋ + R ≥ 2^N.
//!
//! The significand is shifted to the grid; what falls below is ν as a fraction of 2^32, exact but for bits that no rule looks
//! at. With w = R·2^(32−N), the rule says: ν·2^32 + w carries out of 32 bits. In Tesla's hole, D = 2^M + 1 grid steps wide, a
//! value that is J steps and a fraction f above the hole's lower end has ν = (J + f)/D, so nothing needs to be divided:
//! away iff J·2^32 + f·2^32 + D·w ≥ D·2^32.

use std::arch::x86_64::*;

use super::Avx2;
use super::encode::{BLOCK, Constants, Lanes, Sums, finish};
use super::lanes::{STEP, Source, store, words};
use super::loops::{find, random_loop, shape};
use crate::plan::{Low, Plan};
use crate::tally::Tally;

random_loop!(Avx2, Source, "avx2,f16c,popcnt");

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
    fn new(plan: &Plan, mask: u32) -> Self {
        let m = plan.trailing;
        let binade = 1_u32 << m;
        // One less: what does not move away is taken off afterwards.
        let base = (plan.lowest_field << m).wrapping_sub(1);
        Self {
            mask: words(mask),
            hidden: words(1 << 23),
            fraction: words((1 << 23) - 1),
            lowest_field: words(plan.lowest_field),
            shift: words(23 - m),
            width: words(32),
            trailing: _mm_cvtsi32_si128(m.cast_signed()),
            rest: _mm_cvtsi32_si128((32 - m).cast_signed()),
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

/// Encodes 32 elements.
#[inline]
#[target_feature(enable = "avx2,f16c,popcnt")]
fn step<S: Source, const SHAPE: u8>(
    x: &[S; STEP],
    random: &[u32; STEP],
    k: &Constants,
    r: &Rounding,
    sums: &mut Sums,
) -> __m256i {
    let zero = _mm256_setzero_si256();
    let (mut signs, mut below_infinity, mut less_one, mut index) =
        ([zero; 4], [zero; 4], [zero; 4], [zero; 4]);
    for i in 0..4 {
        // SAFETY: this function has the features that loads need.
        let x = unsafe { S::load(x, i) };
        let magnitude = _mm256_and_si256(x, k.magnitude);
        signs[i] = x;
        below_infinity[i] = _mm256_sub_epi32(k.infinity, magnitude);
        less_one[i] = _mm256_sub_epi32(magnitude, k.one);
        sums.least = _mm256_min_epu32(sums.least, less_one[i]);
        let capped = _mm256_min_epu32(magnitude, k.cap);

        let exponent = _mm256_srli_epi32::<23>(capped);
        let significand = _mm256_or_si256(_mm256_and_si256(capped, r.fraction), r.hidden);
        let field = _mm256_max_epi32(exponent, r.lowest_field);
        let shift = _mm256_sub_epi32(_mm256_add_epi32(field, r.shift), exponent);
        // Shifts by 32 or more, negative counts among them, give zero.
        let whole = _mm256_srlv_epi32(significand, shift);
        let left = _mm256_sllv_epi32(significand, _mm256_sub_epi32(r.width, shift));
        let right = _mm256_srlv_epi32(significand, _mm256_sub_epi32(shift, r.width));
        let below = _mm256_or_si256(left, right);
        let low = _mm256_add_epi32(whole, _mm256_sll_epi32(field, r.trailing));
        let random: &[u32; 8] = &random.as_chunks().0[i];
        // SAFETY: the reference is to 32 readable bytes.
        let word = unsafe { _mm256_loadu_si256(random.as_ptr().cast()) };
        let word = _mm256_and_si256(word, r.mask);
        let stays = no_carry(_mm256_add_epi32(below, word), below);
        let rounded = _mm256_sub_epi32(_mm256_add_epi32(low, stays), r.base);
        // The hidden bit that zero does not have is no difference.
        let back = _mm256_sllv_epi32(whole, shift);
        let mut differs =
            _mm256_and_si256(_mm256_xor_si256(back, significand), _mm256_cmpgt_epi32(capped, zero));
        index[i] = rounded;
        if SHAPE == shape::HOLE {
            // `base` is one too low for the place itself.
            let place = _mm256_sub_epi32(_mm256_sub_epi32(low, r.base), k.one);
            let in_hole = _mm256_and_si256(
                _mm256_cmpgt_epi32(place, r.before_hole),
                _mm256_cmpgt_epi32(r.hole_end, place),
            );
            let steps = _mm256_sub_epi32(place, r.last_below);
            let product = _mm256_add_epi32(_mm256_sll_epi32(word, r.trailing), word);
            let sum = _mm256_add_epi32(product, below);
            // D·w = w·2^M + w; its upper half and both carries, a carry being 1 less than "no carry" taken off.
            let mut high = _mm256_add_epi32(steps, _mm256_srl_epi32(word, r.rest));
            high = _mm256_add_epi32(high, _mm256_add_epi32(no_carry(product, word), no_carry(sum, below)));
            // Away iff steps + upper half + carries ≥ D = 2^M + 1: here two are missing.
            let away = _mm256_cmpgt_epi32(high, r.before_hole);
            // The places of the grid that join the ends of the hole.
            let end = _mm256_add_epi32(r.binade, _mm256_and_si256(away, r.last_below));
            index[i] = _mm256_blendv_epi8(rounded, end, in_hole);
            let no_value = _mm256_and_si256(in_hole, _mm256_cmpgt_epi32(place, r.last_below));
            differs = _mm256_or_si256(differs, no_value);
        }
        sums.inexact = _mm256_or_si256(sums.inexact, differs);
        let tiny = _mm256_and_si256(differs, _mm256_cmpgt_epi32(k.min_normal, capped));
        sums.tiny = _mm256_or_si256(sums.tiny, tiny);
    }
    let grid =
        _mm256_packus_epi16(_mm256_packus_epi32(index[0], index[1]), _mm256_packus_epi32(index[2], index[3]));
    let lanes = Lanes { x: signs, below_infinity, less_one, refused: [zero; 4] };
    finish::<SHAPE, { find::RANDOM }>(grid, &lanes, k, sums)
}
