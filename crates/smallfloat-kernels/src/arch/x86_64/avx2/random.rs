//! The generators' words, many blocks at a time.

use std::arch::x86_64::*;

use smallfloat::random::Philox;

use crate::arch::machine::Avx2;
use crate::ars5::{Ars5, KEY_STEPS};

/// The words of Philox's blocks from `first` on.
pub(crate) fn fill_philox(_: Avx2, philox: &Philox, first: u64, blocks: &mut [[u32; 4]]) {
    // SAFETY: the proof says that the machine has AVX2.
    unsafe { philox_blocks(philox, first, blocks) }
}

/// The words of Ars5's blocks from `first` on.
pub(crate) fn fill_ars5(_: Avx2, ars5: &Ars5, first: u64, blocks: &mut [[u32; 4]]) {
    // SAFETY: the proof says that the machine has AES-NI.
    unsafe { ars5_blocks(ars5, first, blocks) }
}

/// A 64-bit number in every lane.
#[inline]
#[target_feature(enable = "avx2")]
fn wide(x: u64) -> __m256i {
    _mm256_set1_epi64x(x.cast_signed())
}

/// Four blocks a vector, each of a block's words in the low half of its own 64-bit lane: that is
/// what a multiplication reads, so high halves may hold anything. Two vectors at once hide the
/// multiplications' latency.
#[target_feature(enable = "avx2")]
fn philox_blocks(philox: &Philox, first: u64, blocks: &mut [[u32; 4]]) {
    const MULTIPLIERS: [u64; 2] = [0xd251_1f53, 0xcd9e_8d57];
    const STEPS: [u64; 2] = [0x9e37_79b9, 0xbb67_ae85];
    let (groups, rest) = blocks.as_chunks_mut::<8>();
    let multipliers = [wide(MULTIPLIERS[0]), wide(MULTIPLIERS[1])];
    let count = groups.len() as u64;
    for (group, number) in groups.iter_mut().zip((0..count).map(|i| first.wrapping_add(8 * i))) {
        let lane = |i: i64| _mm256_add_epi64(wide(number), _mm256_setr_epi64x(i, i + 1, i + 2, i + 3));
        let (stream_low, stream_high) = (wide(philox.stream), wide(philox.stream >> 32));
        let (one, two) = (lane(0), lane(4));
        let mut states = [
            [one, _mm256_srli_epi64::<32>(one), stream_low, stream_high],
            [two, _mm256_srli_epi64::<32>(two), stream_low, stream_high],
        ];
        let mut key = [philox.seed, philox.seed >> 32];
        for _ in 0..10 {
            let keys = [wide(key[0]), wide(key[1])];
            for [a, b, c, d] in &mut states {
                let p = _mm256_mul_epu32(*a, multipliers[0]);
                let q = _mm256_mul_epu32(*c, multipliers[1]);
                *a = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64::<32>(q), *b), keys[0]);
                *c = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64::<32>(p), *d), keys[1]);
                (*b, *d) = (q, p);
            }
            key = [key[0].wrapping_add(STEPS[0]), key[1].wrapping_add(STEPS[1])];
        }
        for (out, [a, b, c, d]) in group.as_chunks_mut::<4>().0.iter_mut().zip(states) {
            let join = |low, high| _mm256_blend_epi32::<0b1010_1010>(low, _mm256_slli_epi64::<32>(high));
            let (ab, cd) = (join(a, b), join(c, d));
            let (even, odd) = (_mm256_unpacklo_epi64(ab, cd), _mm256_unpackhi_epi64(ab, cd));
            let pairs =
                [_mm256_permute2x128_si256::<0x20>(even, odd), _mm256_permute2x128_si256::<0x31>(even, odd)];
            for (out, pair) in out.as_chunks_mut::<2>().0.iter_mut().zip(pairs) {
                // SAFETY: the reference is to two blocks, 32 writable bytes.
                unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), pair) };
            }
        }
    }
    for (words, number) in rest.iter_mut().zip((0..8).map(|i| first.wrapping_add(8 * count + i))) {
        *words = philox.block(number);
    }
}

/// Eight blocks at once hide the rounds' latency.
#[target_feature(enable = "avx2,aes")]
fn ars5_blocks(ars5: &Ars5, first: u64, blocks: &mut [[u32; 4]]) {
    let pair = |low: u64, high: u64| _mm_set_epi64x(high.cast_signed(), low.cast_signed());
    let step = pair(KEY_STEPS[0], KEY_STEPS[1]);
    let mut keys = [pair(ars5.seed, 0); 6];
    for i in 1..6 {
        keys[i] = _mm_add_epi64(keys[i - 1], step);
    }
    let (groups, rest) = blocks.as_chunks_mut::<8>();
    let count = groups.len() as u64;
    for (group, number) in groups.iter_mut().zip((0..count).map(|i| first.wrapping_add(8 * i))) {
        let counter = pair(number, ars5.stream);
        let mut states = [counter; 8];
        for (i, state) in (0..).zip(&mut states) {
            *state = _mm_xor_si128(_mm_add_epi64(counter, _mm_set_epi64x(0, i)), keys[0]);
        }
        for key in &keys[1..5] {
            for state in &mut states {
                *state = _mm_aesenc_si128(*state, *key);
            }
        }
        for (out, state) in group.iter_mut().zip(states) {
            // SAFETY: the reference is to 16 writable bytes.
            unsafe { _mm_storeu_si128(out.as_mut_ptr().cast(), _mm_aesenclast_si128(state, keys[5])) };
        }
    }
    for (words, number) in rest.iter_mut().zip((0..8).map(|i| first.wrapping_add(8 * count + i))) {
        *words = ars5.block(number);
    }
}
