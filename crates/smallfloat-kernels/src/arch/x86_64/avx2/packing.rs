//! Codes of 4 and 6 bits ⇄ packed bytes (`packing.rs` draws them), 32 codes or more at a time. What
//! is left over is the caller's.

use std::arch::x86_64::*;

use crate::arch::machine::Avx2;
use crate::arch::machine::avx2::lanes::{STEP, bytes as splat, words};
use crate::plan::nibbles::Nibbles;

/// Bytes of 32 codes of 6 bits.
const PACKED_SIX: usize = STEP / 4 * 3;

/// Packs pairs of 4-bit codes.
pub(crate) fn pack4<'a, 'b>(
    _: Avx2,
    codes: &'a [u8],
    bytes: &'b mut [u8],
    order: Nibbles,
) -> (&'a [u8], &'b mut [u8]) {
    // SAFETY: the proof says that the machine has AVX2.
    unsafe { pack4_steps(codes, bytes, order) }
}

#[target_feature(enable = "avx2")]
fn pack4_steps<'a, 'b>(codes: &'a [u8], bytes: &'b mut [u8], order: Nibbles) -> (&'a [u8], &'b mut [u8]) {
    // A pair's codes times these, added: one half-word each.
    let weights = _mm256_set1_epi16(match order {
        Nibbles::LowFirst => 16 << 8 | 1,
        Nibbles::HighFirst => 1 << 8 | 16,
    });
    let nibble = splat(15);
    let (steps, rest) = codes.as_chunks::<{ 2 * STEP }>();
    let (packed, left) = bytes.split_at_mut(steps.len() * STEP);
    for (code, byte) in steps.iter().zip(packed.as_chunks_mut::<STEP>().0) {
        let halves = code.as_chunks::<STEP>().0;
        // SAFETY: the references are to 32 readable bytes each.
        let (a, b) = unsafe {
            (_mm256_loadu_si256(halves[0].as_ptr().cast()), _mm256_loadu_si256(halves[1].as_ptr().cast()))
        };
        let a = _mm256_maddubs_epi16(_mm256_and_si256(a, nibble), weights);
        let b = _mm256_maddubs_epi16(_mm256_and_si256(b, nibble), weights);
        let joined = _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packus_epi16(a, b));
        // SAFETY: the reference is to 32 writable bytes.
        unsafe { _mm256_storeu_si256(byte.as_mut_ptr().cast(), joined) };
    }
    (rest, left)
}

/// Unpacks bytes to pairs of 4-bit codes.
pub(crate) fn unpack4<'a, 'b>(
    _: Avx2,
    bytes: &'a [u8],
    codes: &'b mut [u8],
    order: Nibbles,
) -> (&'a [u8], &'b mut [u8]) {
    // SAFETY: the proof says that the machine has AVX2.
    unsafe { unpack4_steps(bytes, codes, order) }
}

#[target_feature(enable = "avx2")]
fn unpack4_steps<'a, 'b>(bytes: &'a [u8], codes: &'b mut [u8], order: Nibbles) -> (&'a [u8], &'b mut [u8]) {
    let nibble = splat(15);
    // The last byte may be half filled.
    let count = codes.len() / (2 * STEP);
    let (packed, rest) = bytes.split_at(count * STEP);
    let (steps, left) = codes.split_at_mut(count * 2 * STEP);
    for (byte, code) in packed.as_chunks::<STEP>().0.iter().zip(steps.as_chunks_mut::<{ 2 * STEP }>().0) {
        // SAFETY: the reference is to 32 readable bytes.
        let byte = unsafe { _mm256_loadu_si256(byte.as_ptr().cast()) };
        let byte = _mm256_permute4x64_epi64::<0b11_01_10_00>(byte);
        let low = _mm256_and_si256(byte, nibble);
        let high = _mm256_and_si256(_mm256_srli_epi16::<4>(byte), nibble);
        let (first, second) = match order {
            Nibbles::LowFirst => (low, high),
            Nibbles::HighFirst => (high, low),
        };
        let halves = code.as_chunks_mut::<STEP>().0;
        let pairs = [_mm256_unpacklo_epi8(first, second), _mm256_unpackhi_epi8(first, second)];
        for (half, vector) in halves.iter_mut().zip(pairs) {
            // SAFETY: the reference is to 32 writable bytes.
            unsafe { _mm256_storeu_si256(half.as_mut_ptr().cast(), vector) };
        }
    }
    (rest, left)
}

/// Packs fours of 6-bit codes.
pub(crate) fn pack6<'a, 'b>(_: Avx2, codes: &'a [u8], bytes: &'b mut [u8]) -> (&'a [u8], &'b mut [u8]) {
    // SAFETY: the proof says that the machine has AVX2.
    unsafe { pack6_steps(codes, bytes) }
}

#[target_feature(enable = "avx2")]
fn pack6_steps<'a, 'b>(codes: &'a [u8], bytes: &'b mut [u8]) -> (&'a [u8], &'b mut [u8]) {
    // Two codes to 12 bits, two of those to 24, and three bytes of each four side by side.
    let pairs = _mm256_set1_epi16(64 << 8 | 1);
    let fours = words(1 << 28 | 1);
    #[rustfmt::skip]
    let three = _mm256_broadcastsi128_si256(_mm_setr_epi8(
        0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1,
    ));
    let together = _mm256_setr_epi32(0, 1, 2, 4, 5, 6, 3, 7);
    let (steps, rest) = codes.as_chunks::<STEP>();
    let (packed, left) = bytes.split_at_mut(steps.len() * PACKED_SIX);
    for (code, byte) in steps.iter().zip(packed.as_chunks_mut::<PACKED_SIX>().0) {
        // SAFETY: the reference is to 32 readable bytes.
        let code = unsafe { _mm256_loadu_si256(code.as_ptr().cast()) };
        let twelve = _mm256_maddubs_epi16(_mm256_and_si256(code, splat(63)), pairs);
        let word = _mm256_madd_epi16(twelve, fours);
        let joined = _mm256_permutevar8x32_epi32(_mm256_shuffle_epi8(word, three), together);
        let (first, last) = byte.split_at_mut(16);
        // SAFETY: the references are to 16 and 8 writable bytes.
        unsafe {
            _mm_storeu_si128(first.as_mut_ptr().cast(), _mm256_castsi256_si128(joined));
            _mm_storel_epi64(last.as_mut_ptr().cast(), _mm256_extracti128_si256::<1>(joined));
        }
    }
    (rest, left)
}

/// Unpacks bytes to fours of 6-bit codes.
pub(crate) fn unpack6<'a, 'b>(_: Avx2, bytes: &'a [u8], codes: &'b mut [u8]) -> (&'a [u8], &'b mut [u8]) {
    // SAFETY: the proof says that the machine has AVX2.
    unsafe { unpack6_steps(bytes, codes) }
}

#[target_feature(enable = "avx2")]
fn unpack6_steps<'a, 'b>(bytes: &'a [u8], codes: &'b mut [u8]) -> (&'a [u8], &'b mut [u8]) {
    // Bytes 0..11 of the first half and 4..15 of the second, three in each four.
    #[rustfmt::skip]
    let spread = _mm256_setr_epi8(
        0, 1, 2, -1, 3, 4, 5, -1, 6, 7, 8, -1, 9, 10, 11, -1,
        4, 5, 6, -1, 7, 8, 9, -1, 10, 11, 12, -1, 13, 14, 15, -1,
    );
    let fields = [words(0x3f), words(0x3f << 8), words(0x3f << 16), words(0x3f << 24)];
    let count = codes.len() / STEP;
    let (packed, rest) = bytes.split_at(count * PACKED_SIX);
    let (steps, left) = codes.split_at_mut(count * STEP);
    for (byte, code) in packed.as_chunks::<PACKED_SIX>().0.iter().zip(steps.as_chunks_mut::<STEP>().0) {
        let (first, last) = (byte.as_chunks::<16>().0, byte[8..].as_chunks::<16>().0);
        // SAFETY: the references are to 16 readable bytes each.
        let vector = unsafe {
            _mm256_set_m128i(
                _mm_loadu_si128(last[0].as_ptr().cast()),
                _mm_loadu_si128(first[0].as_ptr().cast()),
            )
        };
        let word = _mm256_shuffle_epi8(vector, spread);
        let one = _mm256_and_si256(word, fields[0]);
        let two = _mm256_and_si256(_mm256_slli_epi32::<2>(word), fields[1]);
        let three = _mm256_and_si256(_mm256_slli_epi32::<4>(word), fields[2]);
        let four = _mm256_and_si256(_mm256_slli_epi32::<6>(word), fields[3]);
        let all = _mm256_or_si256(_mm256_or_si256(one, two), _mm256_or_si256(three, four));
        // SAFETY: the reference is to 32 writable bytes.
        unsafe { _mm256_storeu_si256(code.as_mut_ptr().cast(), all) };
    }
    (rest, left)
}
