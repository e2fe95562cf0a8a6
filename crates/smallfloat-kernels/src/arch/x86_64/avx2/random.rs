//! The generators' words, many blocks at a time.

use std::arch::x86_64::*;

use smallfloat::random::Philox;

use crate::arch::machine::Avx2;
use crate::arch::vectors::generators::{Blocks128, Lanes64, ars5_keys, ars5_rounds, fill, philox_rounds};
use crate::ars5::Ars5;

/// Blocks made at once.
const GROUP: usize = 8;

/// Fills in the words of Philox's blocks from `first` on.
pub(crate) fn fill_philox(_: Avx2, philox: &Philox, first: u64, blocks: &mut [[u32; 4]]) {
    // SAFETY: the proof says that the machine has AVX2.
    fill(first, blocks, |groups| unsafe { philox_groups(philox, first, groups) }, |i| philox.block(i));
}

/// Fills in the words of Ars5's blocks from `first` on.
pub(crate) fn fill_ars5(_: Avx2, ars5: &Ars5, first: u64, blocks: &mut [[u32; 4]]) {
    // SAFETY: the proof says that the machine has AES-NI.
    fill(first, blocks, |groups| unsafe { ars5_groups(ars5, first, groups) }, |i| ars5.block(i));
}

impl Lanes64 for __m256i {
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn splat(x: u64) -> Self {
        _mm256_set1_epi64x(x.cast_signed())
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn product(self, other: Self) -> Self {
        _mm256_mul_epu32(self, other)
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn mixed(product: Self, word: Self, key: Self) -> Self {
        _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64::<32>(product), word), key)
    }
}

impl Blocks128 for __m128i {
    #[inline]
    #[target_feature(enable = "avx2,aes")]
    unsafe fn pair(low: u64, high: u64) -> Self {
        _mm_set_epi64x(high.cast_signed(), low.cast_signed())
    }

    #[inline]
    #[target_feature(enable = "avx2,aes")]
    unsafe fn plus(self, other: Self) -> Self {
        _mm_add_epi64(self, other)
    }

    #[inline]
    #[target_feature(enable = "avx2,aes")]
    unsafe fn first_key(self, key: Self) -> Self {
        _mm_xor_si128(self, key)
    }

    #[inline]
    #[target_feature(enable = "avx2,aes")]
    unsafe fn round(self, key: Self) -> Self {
        _mm_aesenc_si128(self, key)
    }

    #[inline]
    #[target_feature(enable = "avx2,aes")]
    unsafe fn last_round(self, key: Self) -> Self {
        _mm_aesenclast_si128(self, key)
    }
}

/// Four blocks a vector, each of a block's words in the low half of its own 64-bit lane: that is
/// what a multiplication reads, so high halves may hold anything. Two vectors at once hide the
/// multiplications' latency.
#[target_feature(enable = "avx2")]
fn philox_groups(philox: &Philox, first: u64, groups: &mut [[[u32; 4]; GROUP]]) {
    for (group, i) in groups.iter_mut().zip(0..) {
        let number = first.wrapping_add(GROUP as u64 * i);
        // SAFETY: this function has the features that lanes need.
        let wide = |x: u64| unsafe { __m256i::splat(x) };
        let lane = |i: i64| _mm256_add_epi64(wide(number), _mm256_setr_epi64x(i, i + 1, i + 2, i + 3));
        let (stream_low, stream_high) = (wide(philox.stream), wide(philox.stream >> 32));
        let (one, two) = (lane(0), lane(4));
        let mut states = [
            [one, _mm256_srli_epi64::<32>(one), stream_low, stream_high],
            [two, _mm256_srli_epi64::<32>(two), stream_low, stream_high],
        ];
        // SAFETY: this function has the features that lanes need.
        unsafe { philox_rounds(&mut states, philox.seed) };
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
}

/// Eight blocks at once hide the rounds' latency.
#[target_feature(enable = "avx2,aes")]
fn ars5_groups(ars5: &Ars5, first: u64, groups: &mut [[[u32; 4]; GROUP]]) {
    // SAFETY: this function has the features that blocks need.
    let keys = unsafe { ars5_keys::<__m128i>(ars5.seed) };
    for (group, i) in groups.iter_mut().zip(0..) {
        let number = first.wrapping_add(GROUP as u64 * i);
        let counter = _mm_set_epi64x(ars5.stream.cast_signed(), number.cast_signed());
        let mut states = [counter; GROUP];
        for (i, state) in (0..).zip(&mut states) {
            *state = _mm_add_epi64(counter, _mm_set_epi64x(0, i));
        }
        // SAFETY: this function has the features that blocks need.
        unsafe { ars5_rounds(&mut states, &keys) };
        for (out, state) in group.iter_mut().zip(states) {
            // SAFETY: the reference is to 16 writable bytes.
            unsafe { _mm_storeu_si128(out.as_mut_ptr().cast(), state) };
        }
    }
}
