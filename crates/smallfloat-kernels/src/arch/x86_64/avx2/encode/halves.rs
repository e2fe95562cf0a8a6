//! binary32 → binary16 and bfloat16 to nearest even, where a projection gives the codes that the
//! machine's own conversion and a carry give: overflow is ∞, and only NaN is replaced
//! (`EncodePlan::is_ieee`). Counts are taken from the codes where they can be, and from the words
//! of binary32 where not.

use std::arch::x86_64::*;

use crate::arch::machine::avx2::encode::{Constants, Sums};
use crate::arch::machine::avx2::lanes::{STEP, Source};
use crate::arch::vectors::choices::{Detail, Shape};

/// Encodes 32 elements, and finds out as much as `D` says, exactness left out.
#[inline]
#[target_feature(enable = "avx2,f16c")]
pub(super) fn step<S: Source, H: Shape, D: Detail>(
    x: &[S; STEP],
    k: &Constants,
    sums: &mut Sums,
) -> [__m256i; 2] {
    let mut codes = [_mm256_setzero_si256(); 2];
    for (pair, code) in codes.iter_mut().enumerate() {
        // SAFETY: this function has the features that loads need.
        let words = unsafe { [S::load(x, 2 * pair), S::load(x, 2 * pair + 1)] };
        if D::COUNTS {
            count_words::<D>(words, k, sums);
        }
        let rounded = if H::CONVERTS { by_conversion(words) } else { by_carry(words, k) };
        *code = replace::<D>(rounded, k, sums);
    }
    codes
}

/// Sixteen elements by the machine's instruction, which heeds no setting that flushes subnormal
/// results.
#[inline]
#[target_feature(enable = "avx2,f16c")]
fn by_conversion([low, high]: [__m256i; 2]) -> __m256i {
    const EVEN: i32 = _MM_FROUND_TO_NEAREST_INT;
    let low = _mm256_cvtps_ph::<EVEN>(_mm256_castsi256_ps(low));
    let high = _mm256_cvtps_ph::<EVEN>(_mm256_castsi256_ps(high));
    _mm256_set_m128i(high, low)
}

/// Sixteen elements by a carry into the upper halves.
#[inline]
#[target_feature(enable = "avx2")]
fn by_carry([low, high]: [__m256i; 2], k: &Constants) -> __m256i {
    let codes = _mm256_packus_epi32(upper_half(low, k), upper_half(high, k));
    _mm256_permute4x64_epi64::<0b11_01_10_00>(codes)
}

#[inline]
#[target_feature(enable = "avx2")]
fn upper_half(x: __m256i, k: &Constants) -> __m256i {
    let odd = _mm256_and_si256(_mm256_srli_epi32::<16>(x), k.one);
    let rounded = _mm256_add_epi32(_mm256_add_epi32(x, k.almost_half), odd);
    // A NaN's carry would change its sign: it keeps its word, with a bit that the upper half must
    // have.
    let nan = _mm256_cmpgt_epi32(_mm256_and_si256(x, k.magnitude), k.infinity);
    let quiet = _mm256_or_si256(x, k.quiet);
    _mm256_srli_epi32::<16>(_mm256_blendv_epi8(rounded, quiet, nan))
}

/// Replaces NaN, and counts what codes tell.
#[inline]
#[target_feature(enable = "avx2")]
fn replace<D: Detail>(codes: __m256i, k: &Constants, sums: &mut Sums) -> __m256i {
    let magnitude = _mm256_andnot_si256(k.sign, codes);
    let is_nan = _mm256_cmpgt_epi16(magnitude, k.top);
    if D::COUNTS {
        let zero = _mm256_cmpeq_epi16(magnitude, _mm256_setzero_si256());
        let at_top = _mm256_or_si256(is_nan, _mm256_cmpeq_epi16(magnitude, k.top));
        sums.nans = _mm256_sub_epi16(sums.nans, is_nan);
        sums.top = _mm256_sub_epi16(sums.top, at_top);
        sums.zero = _mm256_sub_epi16(sums.zero, zero);
    }
    if D::NEARNESS {
        let less_one = _mm256_add_epi16(magnitude, _mm256_set1_epi16(-1));
        sums.least_index = _mm256_min_epu16(sums.least_index, less_one);
    }
    let nan = _mm256_xor_si256(k.nan[0], _mm256_and_si256(codes, k.nan_sign));
    _mm256_blendv_epi8(codes, nan, is_nan)
}

/// Counts what only the words of binary32 tell: zeros, infinities and subnormals of the source.
#[inline]
#[target_feature(enable = "avx2")]
fn count_words<D: Detail>([low, high]: [__m256i; 2], k: &Constants, sums: &mut Sums) {
    let (low, high) = (_mm256_and_si256(low, k.magnitude), _mm256_and_si256(high, k.magnitude));
    let (less_low, less_high) = (_mm256_sub_epi32(low, k.one), _mm256_sub_epi32(high, k.one));
    sums.least = _mm256_min_epu32(sums.least, _mm256_min_epu32(less_low, less_high));
    // Narrowing with saturation keeps what is negative, and what is zero.
    let zero = _mm256_srai_epi16::<15>(_mm256_packs_epi32(less_low, less_high));
    sums.exact_zeros = _mm256_sub_epi16(sums.exact_zeros, zero);
    let from_infinity =
        _mm256_packs_epi32(_mm256_sub_epi32(low, k.infinity), _mm256_sub_epi32(high, k.infinity));
    let infinite = _mm256_cmpeq_epi16(from_infinity, _mm256_setzero_si256());
    sums.infinite = _mm256_sub_epi16(sums.infinite, infinite);
    if D::NEARNESS {
        let capped = _mm256_or_si256(_mm256_min_epu32(low, k.cap), _mm256_min_epu32(high, k.cap));
        sums.bits = _mm256_or_si256(sums.bits, capped);
    }
}
