//! The generators' words, sixteen blocks at a time.

use std::arch::x86_64::*;

use smallfloat::random::Philox;

use crate::arch::machine::Avx512;
use crate::arch::vectors::generators::{Blocks128, Lanes64, ars5_keys, ars5_rounds, fill, philox_rounds};
use crate::ars5::Ars5;

/// Blocks made at once.
const GROUP: usize = 16;

/// Fills in the words of Philox's blocks from `first` on.
pub(crate) fn fill_philox(_: Avx512, philox: &Philox, first: u64, blocks: &mut [[u32; 4]]) {
    // SAFETY: the proof says that the machine has these instructions.
    fill(first, blocks, |groups| unsafe { philox_groups(philox, first, groups) }, |i| philox.block(i));
}

/// Fills in the words of Ars5's blocks from `first` on.
pub(crate) fn fill_ars5(_: Avx512, ars5: &Ars5, first: u64, blocks: &mut [[u32; 4]]) {
    // SAFETY: the proof says that the machine has these instructions.
    fill(first, blocks, |groups| unsafe { ars5_groups(ars5, first, groups) }, |i| ars5.block(i));
}

impl Lanes64 for __m512i {
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn splat(x: u64) -> Self {
        _mm512_set1_epi64(x.cast_signed())
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn product(self, other: Self) -> Self {
        _mm512_mul_epu32(self, other)
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn mixed(product: Self, word: Self, key: Self) -> Self {
        // 0x96: exclusive or of three.
        _mm512_ternarylogic_epi64::<0x96>(_mm512_srli_epi64::<32>(product), word, key)
    }
}

/// Four blocks.
impl Blocks128 for __m512i {
    #[inline]
    #[target_feature(enable = "avx512f,vaes")]
    unsafe fn pair(low: u64, high: u64) -> Self {
        let (low, high) = (low.cast_signed(), high.cast_signed());
        _mm512_setr_epi64(low, high, low, high, low, high, low, high)
    }

    #[inline]
    #[target_feature(enable = "avx512f,vaes")]
    unsafe fn plus(self, other: Self) -> Self {
        _mm512_add_epi64(self, other)
    }

    #[inline]
    #[target_feature(enable = "avx512f,vaes")]
    unsafe fn first_key(self, key: Self) -> Self {
        _mm512_xor_si512(self, key)
    }

    #[inline]
    #[target_feature(enable = "avx512f,vaes")]
    unsafe fn round(self, key: Self) -> Self {
        _mm512_aesenc_epi128(self, key)
    }

    #[inline]
    #[target_feature(enable = "avx512f,vaes")]
    unsafe fn last_round(self, key: Self) -> Self {
        _mm512_aesenclast_epi128(self, key)
    }
}

/// Four blocks.
#[inline]
#[target_feature(enable = "avx512f")]
fn store(to: &mut [[u32; 4]; 4], words: __m512i) {
    // SAFETY: the reference is to four blocks, 64 writable bytes.
    unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), words) };
}

/// Eight blocks a vector, each of a block's words in the low half of its own 64-bit lane: that is
/// what a multiplication reads, so high halves may hold anything. Two vectors at once hide the
/// multiplications' latency.
#[target_feature(enable = "avx512f")]
fn philox_groups(philox: &Philox, first: u64, groups: &mut [[[u32; 4]; GROUP]]) {
    for (group, i) in groups.iter_mut().zip(0..) {
        let number = first.wrapping_add(GROUP as u64 * i);
        // SAFETY: this function has the features that lanes need.
        let wide = |x: u64| unsafe { __m512i::splat(x) };
        let lane = |i: u64| {
            _mm512_add_epi64(wide(number.wrapping_add(i)), _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7))
        };
        let (stream_low, stream_high) = (wide(philox.stream), wide(philox.stream >> 32));
        let (one, two) = (lane(0), lane(8));
        let mut states = [
            [one, _mm512_srli_epi64::<32>(one), stream_low, stream_high],
            [two, _mm512_srli_epi64::<32>(two), stream_low, stream_high],
        ];
        // SAFETY: this function has the features that lanes need.
        unsafe { philox_rounds(&mut states, philox.seed) };
        for (out, [a, b, c, d]) in group.as_chunks_mut::<8>().0.iter_mut().zip(states) {
            let join = |low, high| _mm512_mask_shuffle_epi32::<0b10_10_00_00>(low, 0xaaaa, high);
            let (ab, cd) = (join(a, b), join(c, d));
            // Which 64-bit lanes: block i is lane i of both, or i + 8 in the second.
            let lower = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11);
            let upper = _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15);
            let quarters =
                [_mm512_permutex2var_epi64(ab, lower, cd), _mm512_permutex2var_epi64(ab, upper, cd)];
            for (out, quarter) in out.as_chunks_mut::<4>().0.iter_mut().zip(quarters) {
                store(out, quarter);
            }
        }
    }
}

/// Four vectors of four blocks hide the rounds' latency.
#[target_feature(enable = "avx512f,vaes")]
fn ars5_groups(ars5: &Ars5, first: u64, groups: &mut [[[u32; 4]; GROUP]]) {
    // SAFETY: this function has the features that blocks need.
    let keys = unsafe { ars5_keys::<__m512i>(ars5.seed) };
    for (group, i) in groups.iter_mut().zip(0..) {
        // SAFETY: this function has the features that blocks need.
        let counter = unsafe { __m512i::pair(first.wrapping_add(GROUP as u64 * i), ars5.stream) };
        let mut states = [counter; 4];
        for (i, state) in (0..).step_by(4).zip(&mut states) {
            let places = _mm512_setr_epi64(i, 0, i + 1, 0, i + 2, 0, i + 3, 0);
            *state = _mm512_add_epi64(counter, places);
        }
        // SAFETY: this function has the features that blocks need.
        unsafe { ars5_rounds(&mut states, &keys) };
        for (out, state) in group.as_chunks_mut::<4>().0.iter_mut().zip(states) {
            store(out, state);
        }
    }
}
