//! |x| → its index on the destination's grid, in every deterministic rounding (`plan/encode.rs` says how).

use std::arch::x86_64::*;

use crate::arch::machine::avx2::encode::Constants;
use crate::arch::machine::avx2::lanes::Target;
use crate::arch::vectors::choices::{Detail, Rounds, Shape};

/// Elements that a directed rounding moves away from zero: all bits set.
#[inline]
#[target_feature(enable = "avx2")]
fn moves_away(x: __m256i, k: &Constants) -> __m256i {
    _mm256_and_si256(_mm256_xor_si256(_mm256_srai_epi32::<31>(x), k.toward), k.moves)
}

/// The index of a capped magnitude, as `encode.rs` joins it, and which elements are exact on the
/// grid (all bits set; only where the mode needs or `D` asks for it).
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn round<T: Target, H: Shape, M: Rounds, D: Detail>(
    x: __m256i,
    capped: __m256i,
    k: &Constants,
) -> (__m256i, __m256i) {
    if H::INTEGER.unwrap_or(k.integer) {
        return round_integer::<M, D>(x, capped, k);
    }
    let power = _mm256_and_si256(_mm256_max_epi32(capped, k.lowest), k.exponent);
    let lifted = _mm256_add_epi32(power, k.lift);
    let anchor = _mm256_castsi256_ps(lifted);
    let magnitude = _mm256_castsi256_ps(capped);
    let sum = _mm256_add_ps(anchor, magnitude);
    let mut rounded = _mm256_castps_si256(sum);
    let mut exact = _mm256_setzero_si256();
    if !M::NEAREST_EVEN || D::EXACTNESS {
        // Exact, as c ≤ sum < 2c.
        let back = _mm256_sub_ps(sum, anchor);
        let back_word = _mm256_castps_si256(back);
        exact = _mm256_cmpeq_epi32(back_word, capped);
        if M::NEAREST_AWAY {
            // A tie that went to the even place below: |x| − back is half a place, c·2^-24.
            let rest = _mm256_castps_si256(_mm256_sub_ps(magnitude, back));
            let tie = _mm256_cmpeq_epi32(rest, _mm256_sub_epi32(lifted, k.half_step));
            rounded = _mm256_sub_epi32(rounded, tie);
        }
        if M::DIRECTED || M::TO_ODD {
            // Toward zero first: the words of positive numbers sort as the numbers do.
            let truncated = _mm256_add_epi32(rounded, _mm256_cmpgt_epi32(back_word, capped));
            rounded = if M::TO_ODD {
                _mm256_or_si256(truncated, _mm256_andnot_si256(exact, k.one))
            } else {
                _mm256_sub_epi32(truncated, _mm256_andnot_si256(exact, moves_away(x, k)))
            };
        }
    }
    if T::BITS == 8 {
        (_mm256_madd_epi16(rounded, k.weights), exact)
    } else {
        // The sum may need more than 16 bits before the base is taken off.
        (_mm256_sub_epi32(_mm256_madd_epi16(rounded, k.weights), k.base), exact)
    }
}

/// Rounds where a code is the upper part of a magnitude.
#[inline]
#[target_feature(enable = "avx2")]
fn round_integer<M: Rounds, D: Detail>(x: __m256i, capped: __m256i, k: &Constants) -> (__m256i, __m256i) {
    let mut exact = _mm256_setzero_si256();
    if M::DIRECTED || M::TO_ODD || D::EXACTNESS {
        exact = _mm256_cmpeq_epi32(_mm256_and_si256(capped, k.below), exact);
    }
    let truncated = _mm256_srl_epi32(capped, k.cut);
    let index = if M::TO_ODD {
        _mm256_or_si256(truncated, _mm256_andnot_si256(exact, k.one))
    } else if M::DIRECTED {
        _mm256_sub_epi32(truncated, _mm256_andnot_si256(exact, moves_away(x, k)))
    } else if M::NEAREST_AWAY {
        _mm256_srl_epi32(_mm256_add_epi32(capped, k.half_cut), k.cut)
    } else {
        // A tie goes up where the place above half is odd: half less one, and that place's bit.
        let odd = _mm256_and_si256(truncated, k.one);
        let almost_half = _mm256_sub_epi32(k.half_cut, k.one);
        _mm256_srl_epi32(_mm256_add_epi32(capped, _mm256_add_epi32(almost_half, odd)), k.cut)
    };
    (index, exact)
}
