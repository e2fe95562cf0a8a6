//! f32, f16 or bf16 → 8-bit codes to nearest even, with flags and counts.
//!
//! `plan.rs` says how the rounding works. Everything about specials happens on bytes, 32 at once: a value's index on the grid,
//! capped at the first one beyond the range, and three more bytes narrowed with saturation from x (its sign), ∞ − |x|
//! (negative for NaN, zero for ∞) and |x| − 1 (negative for zero). The speed does not depend on the data: no element
//! takes a branch.

use std::arch::x86_64::*;

use super::Avx2;
use super::lanes::{
    STEP, Source, any, bytes, elements_to_alignment, in_order, least, narrow_signed, negatives, prefetch,
    store, store_past_caches, sum_of_bytes, words,
};
use super::loops::{find, nearest_loops, shape};
use crate::plan::{INFINITY, Low, Plan};
use crate::tally::Tally;

nearest_loops!(Avx2, Source, "avx2,f16c,popcnt");

/// The plan as vectors.
#[expect(clippy::struct_excessive_bools, reason = "five independent choices")]
pub(super) struct Constants {
    pub(super) magnitude: __m256i,
    pub(super) one: __m256i,
    pub(super) infinity: __m256i,
    pub(super) cap: __m256i,
    pub(super) lowest: __m256i,
    pub(super) exponent: __m256i,
    pub(super) lift: __m256i,
    pub(super) weights: __m256i,
    pub(super) base: __m256i,
    pub(super) shift: __m128i,
    pub(super) top: __m256i,
    pub(super) sign: __m256i,
    /// Codes narrower than a byte, whose sign bit is not a byte's.
    pub(super) narrow: bool,
    pub(super) drops_zero_sign: bool,
    pub(super) overflow: [__m256i; 2],
    pub(super) infinite: [__m256i; 2],
    pub(super) nan: [__m256i; 2],
    pub(super) infinity_differs: bool,
    pub(super) min_normal: __m256i,
    pub(super) first_normal: u8,
    pub(super) last_below: __m256i,
    pub(super) half_hole: __m256i,
    pub(super) binade: __m256i,
    pub(super) to_zero: __m256i,
    pub(super) flush: bool,
    pub(super) hole: bool,
    pub(super) signed: bool,
    pub(super) source_min_normal: u32,
}

impl Constants {
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn new<S: Source>(plan: &Plan) -> Self {
        let m = plan.trailing;
        let lift = 23 - m;
        let pair = |codes: [u8; 2]| [bytes(codes[0]), bytes(codes[1])];
        // A high half-word holds the exponent field at bit 7: low half-words join at 7 − m.
        let weights = 1 << 16 | 1 << (7 - m);
        let binade = 1_u8 << m;
        Self {
            magnitude: words(0x7fff_ffff),
            one: words(1),
            infinity: words(INFINITY),
            cap: words(plan.cap),
            lowest: words(plan.lowest_field << 23),
            exponent: words(INFINITY),
            lift: words(lift << 23),
            weights: words(weights),
            base: words((plan.lowest_field + lift) << 23 | (plan.lowest_field + lift) << 7),
            shift: _mm_cvtsi32_si128((7 - m).cast_signed()),
            top: bytes(plan.top),
            sign: bytes(plan.sign_bit),
            narrow: plan.sign_bit != 0x80,
            drops_zero_sign: plan.negative_zero == 0,
            overflow: pair(plan.overflow.codes),
            infinite: pair(plan.infinity.codes),
            nan: pair(plan.nan.codes),
            infinity_differs: plan.infinity.codes != plan.overflow.codes,
            min_normal: words(plan.min_normal),
            first_normal: plan.first_normal,
            last_below: bytes(binade - 1),
            half_hole: bytes((binade + binade / 2).wrapping_sub(1)),
            binade: bytes(binade),
            to_zero: words(plan.to_zero),
            flush: plan.low == Low::Flush,
            hole: plan.low == Low::Hole,
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
    pub(super) negative_infinite: u64,
    /// The least |x| − 1, zeros last.
    pub(super) least: __m256i,
    /// The least index − 1, zeros last.
    pub(super) least_index: __m256i,
    pub(super) inexact: __m256i,
    pub(super) tiny: __m256i,
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
            negative_infinite: 0,
            least: ones,
            least_index: ones,
            inexact: zero,
            tiny: zero,
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn add_to(&self, tally: &mut Tally, padding: u64, k: &Constants) {
        let infinite = sum_of_bytes(self.infinite);
        tally.nan += self.nan;
        tally.infinite += infinite;
        tally.negative_infinite += self.negative_infinite;
        tally.overflow += sum_of_bytes(self.top) - self.nan - infinite;
        tally.refused += sum_of_bytes(self.refused);
        tally.zero += sum_of_bytes(self.zero) - padding;
        tally.exact_zero += self.exact_zero - padding;
        tally.denormal |= least(self.least) < k.source_min_normal - 1;
        let low = _mm256_subs_epu8(bytes(k.first_normal), self.least_index);
        tally.low |= any(low);
        tally.inexact |= any(self.inexact);
        tally.tiny |= any(self.tiny);
    }
}

/// Indices on Tesla's grid → codes: the lower half of the binade that is none joins the largest subnormal, the upper half the
/// smallest normal value. Ties of the grid and of the format are the same, and both go to the even code.
#[inline]
#[target_feature(enable = "avx2")]
fn join_hole(grid: __m256i, k: &Constants) -> __m256i {
    let upper = _mm256_cmpgt_epi8(_mm256_subs_epu8(grid, k.half_hole), _mm256_setzero_si256());
    let subnormal = _mm256_min_epu8(grid, k.last_below);
    let above = _mm256_subs_epu8(_mm256_subs_epu8(grid, k.binade), k.binade);
    _mm256_sub_epi8(_mm256_add_epi8(subnormal, above), upper)
}

/// The lanes whose finite value a sign keeps out of an unsigned format: they are zero from here on.
#[inline]
#[target_feature(enable = "avx2")]
fn refuse(x: __m256i, magnitude: __m256i, k: &Constants) -> __m256i {
    let not_zero = _mm256_cmpgt_epi32(magnitude, k.to_zero);
    let finite = _mm256_cmpgt_epi32(k.infinity, magnitude);
    _mm256_and_si256(_mm256_srai_epi32::<31>(x), _mm256_and_si256(not_zero, finite))
}

/// Encodes 32 elements.
#[inline]
#[target_feature(enable = "avx2,f16c,popcnt")]
fn step<S: Source, const SHAPE: u8, const FIND: u8>(
    x: &[S; STEP],
    k: &Constants,
    sums: &mut Sums,
) -> __m256i {
    let zero = _mm256_setzero_si256();
    let (mut signs, mut below_infinity, mut less_one, mut sum, mut negative) =
        ([zero; 4], [zero; 4], [zero; 4], [zero; 4], [zero; 4]);
    for i in 0..4 {
        // SAFETY: this function has the features that loads need.
        let x = unsafe { S::load(x, i) };
        let magnitude = _mm256_and_si256(x, k.magnitude);
        signs[i] = x;
        below_infinity[i] = _mm256_sub_epi32(k.infinity, magnitude);
        if FIND != find::CODES {
            less_one[i] = _mm256_sub_epi32(magnitude, k.one);
            sums.least = _mm256_min_epu32(sums.least, less_one[i]);
        }
        let mut capped = _mm256_min_epu32(magnitude, k.cap);
        if SHAPE == shape::RARE && !k.signed {
            let refused = refuse(x, magnitude, k);
            capped = _mm256_andnot_si256(refused, capped);
            negative[i] = refused;
        }
        let power = _mm256_and_si256(_mm256_max_epi32(capped, k.lowest), k.exponent);
        let anchor = _mm256_castsi256_ps(_mm256_add_epi32(power, k.lift));
        let rounded = _mm256_add_ps(anchor, _mm256_castsi256_ps(capped));
        if FIND >= find::EXACT {
            let back = _mm256_castps_si256(_mm256_sub_ps(rounded, anchor));
            let differs = _mm256_xor_si256(back, capped);
            sums.inexact = _mm256_or_si256(sums.inexact, differs);
            if FIND == find::FLAGS {
                let tiny = _mm256_and_si256(differs, _mm256_cmpgt_epi32(k.min_normal, capped));
                sums.tiny = _mm256_or_si256(sums.tiny, tiny);
            }
        }
        sum[i] = _mm256_madd_epi16(_mm256_castps_si256(rounded), k.weights);
    }
    let join = |a, b| {
        let field_and_rest = _mm256_packus_epi32(a, b);
        _mm256_srl_epi16(_mm256_sub_epi16(field_and_rest, k.base), k.shift)
    };
    let grid = _mm256_packus_epi16(join(sum[0], sum[1]), join(sum[2], sum[3]));
    finish::<SHAPE, FIND>(grid, &Lanes { x: signs, below_infinity, less_one, refused: negative }, k, sums)
}

/// What bytes are narrowed from, for 32 elements.
pub(super) struct Lanes {
    /// The elements, for their signs.
    pub(super) x: [__m256i; 4],
    /// ∞ − |x|: negative for NaN, zero for ∞.
    pub(super) below_infinity: [__m256i; 4],
    /// |x| − 1: negative for zero.
    pub(super) less_one: [__m256i; 4],
    /// Refused elements: all bits set.
    pub(super) refused: [__m256i; 4],
}

/// Indices on the grid → codes, with everything that is special about specials.
#[inline]
#[target_feature(enable = "avx2,popcnt")]
pub(super) fn finish<const SHAPE: u8, const FIND: u8>(
    grid: __m256i,
    lanes: &Lanes,
    k: &Constants,
    sums: &mut Sums,
) -> __m256i {
    let zero = _mm256_setzero_si256();
    let top = _mm256_cmpeq_epi8(grid, k.top);
    let mut index = grid;
    if SHAPE == shape::HOLE || (SHAPE == shape::RARE && k.hole) {
        index = join_hole(grid, k);
        if FIND >= find::EXACT && FIND != find::RANDOM {
            let hole = _mm256_cmpeq_epi8(
                _mm256_min_epu8(_mm256_max_epu8(grid, k.binade), _mm256_add_epi8(k.binade, k.last_below)),
                grid,
            );
            sums.inexact = _mm256_or_si256(sums.inexact, hole);
            sums.tiny = _mm256_or_si256(sums.tiny, hole);
        }
    }
    if SHAPE == shape::RARE && k.flush {
        let flushed = _mm256_cmpeq_epi8(_mm256_min_epu8(grid, k.last_below), grid);
        index = _mm256_andnot_si256(flushed, grid);
        if FIND >= find::EXACT {
            let lost = _mm256_and_si256(flushed, grid);
            sums.inexact = _mm256_or_si256(sums.inexact, lost);
            sums.tiny = _mm256_or_si256(sums.tiny, lost);
        }
    }

    let mut sign = narrow_signed(lanes.x);
    if k.narrow {
        sign = _mm256_cmpgt_epi8(zero, sign);
    }
    let is_nan = narrow_signed(lanes.below_infinity);
    let is_infinite = _mm256_cmpeq_epi8(is_nan, zero);
    let is_zero = _mm256_cmpeq_epi8(index, zero);
    let mut kept_sign = _mm256_and_si256(sign, k.sign);
    if k.drops_zero_sign {
        kept_sign = _mm256_andnot_si256(is_zero, kept_sign);
    }
    let pick = |pair: &[__m256i; 2]| _mm256_blendv_epi8(pair[0], pair[1], sign);
    let mut code = _mm256_xor_si256(index, kept_sign);
    code = _mm256_blendv_epi8(code, pick(&k.overflow), top);
    if k.infinity_differs {
        code = _mm256_blendv_epi8(code, pick(&k.infinite), is_infinite);
    }
    code = _mm256_blendv_epi8(code, pick(&k.nan), is_nan);
    let mut counted_zero = is_zero;
    if SHAPE == shape::RARE && !k.signed {
        let refused = narrow_signed(lanes.refused);
        code = _mm256_blendv_epi8(code, k.overflow[1], refused);
        counted_zero = _mm256_andnot_si256(refused, is_zero);
        if FIND != find::CODES {
            sums.refused = _mm256_sub_epi8(sums.refused, refused);
            sums.negative_infinite += negatives(_mm256_and_si256(is_infinite, sign));
        }
    }
    if FIND != find::CODES {
        sums.top = _mm256_sub_epi8(sums.top, top);
        sums.infinite = _mm256_sub_epi8(sums.infinite, is_infinite);
        sums.zero = _mm256_sub_epi8(sums.zero, counted_zero);
        sums.nan += negatives(is_nan);
        sums.exact_zero += negatives(narrow_signed(lanes.less_one));
    }
    if FIND >= find::LOW {
        let index_less_one = _mm256_add_epi8(grid, _mm256_cmpeq_epi8(zero, zero));
        sums.least_index = _mm256_min_epu8(sums.least_index, index_less_one);
    }
    in_order(code)
}
