//! |x| → its index on the destination's grid, in every deterministic rounding (`plan/encode.rs`
//! says how). Where AVX2 joins exponent and significand by one multiplication, here the
//! significand is what the sum has above c, and the exponent is c's, shifted.

use std::arch::aarch64::*;

use crate::arch::machine::encode::Constants;
use crate::arch::vectors::choices::{Detail, Rounds, Shape};

/// Elements that a directed rounding moves away from zero: all bits set.
#[inline]
#[target_feature(enable = "neon")]
fn moves_away(x: uint32x4_t, k: &Constants) -> uint32x4_t {
    let negative = vcltzq_s32(vreinterpretq_s32_u32(x));
    vandq_u32(veorq_u32(negative, k.toward), k.moves)
}

/// The index of a capped magnitude with the base still on it, of which the low 16 bits count, and
/// which elements are exact on the grid (all bits set; only where the mode needs or `D` asks for
/// it).
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn round<H: Shape, M: Rounds, D: Detail>(
    x: uint32x4_t,
    capped: uint32x4_t,
    k: &Constants,
) -> (uint32x4_t, uint32x4_t) {
    if H::INTEGER.unwrap_or(k.integer) {
        return round_integer::<M, D>(x, capped, k);
    }
    let power = vandq_u32(vmaxq_u32(capped, k.lowest), k.exponent);
    let lifted = vaddq_u32(power, k.lift);
    let (anchor, magnitude) = (vreinterpretq_f32_u32(lifted), vreinterpretq_f32_u32(capped));
    let sum = vaddq_f32(anchor, magnitude);
    let mut rounded = vreinterpretq_u32_f32(sum);
    let mut exact = vdupq_n_u32(0);
    if !M::NEAREST_EVEN || D::EXACTNESS {
        // Exact, as c ≤ sum < 2c.
        let back = vsubq_f32(sum, anchor);
        let back_word = vreinterpretq_u32_f32(back);
        exact = vceqq_u32(back_word, capped);
        if M::NEAREST_AWAY {
            // A tie that went to the even place below: |x| − back is half a place, c·2^-24.
            let rest = vreinterpretq_u32_f32(vsubq_f32(magnitude, back));
            let tie = vceqq_u32(rest, vsubq_u32(lifted, k.half_step));
            rounded = vsubq_u32(rounded, tie);
        }
        if M::DIRECTED || M::TO_ODD {
            // Toward zero first: the words of positive numbers sort as the numbers do.
            let truncated = vaddq_u32(rounded, vcgtq_u32(back_word, capped));
            rounded = if M::TO_ODD {
                vorrq_u32(truncated, vbicq_u32(k.one, exact))
            } else {
                vsubq_u32(truncated, vbicq_u32(moves_away(x, k), exact))
            };
        }
    }
    (vaddq_u32(vsubq_u32(rounded, lifted), vshlq_u32(power, k.cut)), exact)
}

/// Rounds where a code is the upper part of a magnitude.
#[inline]
#[target_feature(enable = "neon")]
fn round_integer<M: Rounds, D: Detail>(
    x: uint32x4_t,
    capped: uint32x4_t,
    k: &Constants,
) -> (uint32x4_t, uint32x4_t) {
    let mut exact = vdupq_n_u32(0);
    if M::DIRECTED || M::TO_ODD || D::EXACTNESS {
        exact = vceqzq_u32(vandq_u32(capped, k.below));
    }
    let truncated = vshlq_u32(capped, k.cut);
    let index = if M::TO_ODD {
        vorrq_u32(truncated, vbicq_u32(k.one, exact))
    } else if M::DIRECTED {
        vsubq_u32(truncated, vbicq_u32(moves_away(x, k), exact))
    } else if M::NEAREST_AWAY {
        vshlq_u32(vaddq_u32(capped, k.half_cut), k.cut)
    } else {
        // A tie goes up where the place above half is odd: half less one, and that place's bit.
        let odd = vandq_u32(truncated, k.one);
        vshlq_u32(vaddq_u32(capped, vaddq_u32(k.almost_half_cut, odd)), k.cut)
    };
    (index, exact)
}
