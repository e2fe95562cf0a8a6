//! The generators' words, sixteen blocks at a time.

use std::arch::x86_64::*;

use smallfloat::random::Philox;

use crate::arch::machine::Avx512;
use crate::ars5::{Ars5, KEY_STEPS};

/// Blocks made at once.
const GROUP: usize = 16;

/// The words of Philox's blocks from `first` on.
pub(crate) fn fill_philox(_: Avx512, philox: &Philox, first: u64, blocks: &mut [[u32; 4]]) {
    // SAFETY: the proof says that the machine has these instructions.
    let done = unsafe { philox_groups(philox, first, blocks.as_chunks_mut().0) };
    for (words, number) in blocks.iter_mut().zip(0..).skip(done) {
        *words = philox.block(first.wrapping_add(number));
    }
}

/// The words of Ars5's blocks from `first` on.
pub(crate) fn fill_ars5(_: Avx512, ars5: &Ars5, first: u64, blocks: &mut [[u32; 4]]) {
    // SAFETY: the proof says that the machine has these instructions.
    let done = unsafe { ars5_groups(ars5, first, blocks.as_chunks_mut().0) };
    for (words, number) in blocks.iter_mut().zip(0..).skip(done) {
        *words = ars5.block(first.wrapping_add(number));
    }
}

/// A 64-bit number in every lane.
#[inline]
#[target_feature(enable = "avx512f")]
fn wide(x: u64) -> __m512i {
    _mm512_set1_epi64(x.cast_signed())
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
fn philox_groups(philox: &Philox, first: u64, groups: &mut [[[u32; 4]; GROUP]]) -> usize {
    const MULTIPLIERS: [u64; 2] = [0xd251_1f53, 0xcd9e_8d57];
    const STEPS: [u64; 2] = [0x9e37_79b9, 0xbb67_ae85];
    let multipliers = [wide(MULTIPLIERS[0]), wide(MULTIPLIERS[1])];
    for (group, i) in groups.iter_mut().zip(0..) {
        let number = first.wrapping_add(GROUP as u64 * i);
        let lane = |i: u64| {
            _mm512_add_epi64(wide(number.wrapping_add(i)), _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7))
        };
        let (stream_low, stream_high) = (wide(philox.stream), wide(philox.stream >> 32));
        let (one, two) = (lane(0), lane(8));
        let mut states = [
            [one, _mm512_srli_epi64::<32>(one), stream_low, stream_high],
            [two, _mm512_srli_epi64::<32>(two), stream_low, stream_high],
        ];
        let mut key = [philox.seed, philox.seed >> 32];
        for _ in 0..10 {
            let keys = [wide(key[0]), wide(key[1])];
            for [a, b, c, d] in &mut states {
                let p = _mm512_mul_epu32(*a, multipliers[0]);
                let q = _mm512_mul_epu32(*c, multipliers[1]);
                // 0x96: exclusive or of three.
                *a = _mm512_ternarylogic_epi64::<0x96>(_mm512_srli_epi64::<32>(q), *b, keys[0]);
                *c = _mm512_ternarylogic_epi64::<0x96>(_mm512_srli_epi64::<32>(p), *d, keys[1]);
                (*b, *d) = (q, p);
            }
            key = [key[0].wrapping_add(STEPS[0]), key[1].wrapping_add(STEPS[1])];
        }
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
    GROUP * groups.len()
}

/// Four vectors of four blocks hide the rounds' latency.
#[target_feature(enable = "avx512f,vaes")]
fn ars5_groups(ars5: &Ars5, first: u64, groups: &mut [[[u32; 4]; GROUP]]) -> usize {
    let pair = |low: u64, high: u64| {
        let (low, high) = (low.cast_signed(), high.cast_signed());
        _mm512_setr_epi64(low, high, low, high, low, high, low, high)
    };
    let step = pair(KEY_STEPS[0], KEY_STEPS[1]);
    let mut keys = [pair(ars5.seed, 0); 6];
    for i in 1..6 {
        keys[i] = _mm512_add_epi64(keys[i - 1], step);
    }
    for (group, i) in groups.iter_mut().zip(0..) {
        let counter = pair(first.wrapping_add(GROUP as u64 * i), ars5.stream);
        let mut states = [counter; 4];
        for (i, state) in (0..).step_by(4).zip(&mut states) {
            let places = _mm512_setr_epi64(i, 0, i + 1, 0, i + 2, 0, i + 3, 0);
            *state = _mm512_xor_si512(_mm512_add_epi64(counter, places), keys[0]);
        }
        for key in &keys[1..5] {
            for state in &mut states {
                *state = _mm512_aesenc_epi128(*state, *key);
            }
        }
        for (out, state) in group.as_chunks_mut::<4>().0.iter_mut().zip(states) {
            store(out, _mm512_aesenclast_epi128(state, keys[5]));
        }
    }
    GROUP * groups.len()
}
