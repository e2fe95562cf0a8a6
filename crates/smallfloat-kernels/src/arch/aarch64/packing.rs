//! Codes of 4 and 6 bits ⇄ packed bytes (`packing.rs` draws them), 32 or 64 codes at a time: loads
//! and stores take every second, third or fourth byte. What is left over is the caller's.

use std::arch::aarch64::*;

use crate::arch::machine::Neon;
use crate::arch::machine::lanes::{STEP, load};
use crate::plan::nibbles::Nibbles;

/// Bytes of 64 codes of 6 bits.
const PACKED_SIX: usize = 3 * STEP;

/// Packs pairs of 4-bit codes.
pub(crate) fn pack4<'a, 'b>(
    _: Neon,
    codes: &'a [u8],
    bytes: &'b mut [u8],
    order: Nibbles,
) -> (&'a [u8], &'b mut [u8]) {
    // SAFETY: the proof says that the machine has NEON.
    unsafe { pack4_steps(codes, bytes, order) }
}

#[target_feature(enable = "neon")]
fn pack4_steps<'a, 'b>(codes: &'a [u8], bytes: &'b mut [u8], order: Nibbles) -> (&'a [u8], &'b mut [u8]) {
    let nibble = vdupq_n_u8(15);
    let (steps, rest) = codes.as_chunks::<{ 2 * STEP }>();
    let (packed, left) = bytes.split_at_mut(steps.len() * STEP);
    for (code, byte) in steps.iter().zip(packed.as_chunks_mut::<STEP>().0) {
        // SAFETY: the reference is to 32 readable bytes.
        let uint8x16x2_t(first, second) = unsafe { vld2q_u8(code.as_ptr()) };
        let joined = match order {
            Nibbles::LowFirst => vsliq_n_u8::<4>(vandq_u8(first, nibble), second),
            Nibbles::HighFirst => vsliq_n_u8::<4>(vandq_u8(second, nibble), first),
        };
        // SAFETY: the reference is to 16 writable bytes.
        unsafe { vst1q_u8(byte.as_mut_ptr(), joined) };
    }
    (rest, left)
}

/// Unpacks bytes to pairs of 4-bit codes.
pub(crate) fn unpack4<'a, 'b>(
    _: Neon,
    bytes: &'a [u8],
    codes: &'b mut [u8],
    order: Nibbles,
) -> (&'a [u8], &'b mut [u8]) {
    // SAFETY: the proof says that the machine has NEON.
    unsafe { unpack4_steps(bytes, codes, order) }
}

#[target_feature(enable = "neon")]
fn unpack4_steps<'a, 'b>(bytes: &'a [u8], codes: &'b mut [u8], order: Nibbles) -> (&'a [u8], &'b mut [u8]) {
    let nibble = vdupq_n_u8(15);
    // The last byte may be half filled.
    let count = codes.len() / (2 * STEP);
    let (packed, rest) = bytes.split_at(count * STEP);
    let (steps, left) = codes.split_at_mut(count * 2 * STEP);
    for (byte, code) in packed.as_chunks::<STEP>().0.iter().zip(steps.as_chunks_mut::<{ 2 * STEP }>().0) {
        let byte = load(byte);
        let (low, high) = (vandq_u8(byte, nibble), vshrq_n_u8::<4>(byte));
        let pairs = match order {
            Nibbles::LowFirst => uint8x16x2_t(low, high),
            Nibbles::HighFirst => uint8x16x2_t(high, low),
        };
        // SAFETY: the reference is to 32 writable bytes.
        unsafe { vst2q_u8(code.as_mut_ptr(), pairs) };
    }
    (rest, left)
}

/// Packs fours of 6-bit codes.
pub(crate) fn pack6<'a, 'b>(_: Neon, codes: &'a [u8], bytes: &'b mut [u8]) -> (&'a [u8], &'b mut [u8]) {
    // SAFETY: the proof says that the machine has NEON.
    unsafe { pack6_steps(codes, bytes) }
}

#[target_feature(enable = "neon")]
fn pack6_steps<'a, 'b>(codes: &'a [u8], bytes: &'b mut [u8]) -> (&'a [u8], &'b mut [u8]) {
    let six = vdupq_n_u8(63);
    let (steps, rest) = codes.as_chunks::<{ 4 * STEP }>();
    let (packed, left) = bytes.split_at_mut(steps.len() * PACKED_SIX);
    for (code, byte) in steps.iter().zip(packed.as_chunks_mut::<PACKED_SIX>().0) {
        // SAFETY: the reference is to 64 readable bytes.
        let uint8x16x4_t(a, b, c, d) = unsafe { vld4q_u8(code.as_ptr()) };
        let (a, b, c) = (vandq_u8(a, six), vandq_u8(b, six), vandq_u8(c, six));
        let three = uint8x16x3_t(
            vsliq_n_u8::<6>(a, b),
            vsliq_n_u8::<4>(vshrq_n_u8::<2>(b), c),
            vsliq_n_u8::<2>(vshrq_n_u8::<4>(c), d),
        );
        // SAFETY: the reference is to 48 writable bytes.
        unsafe { vst3q_u8(byte.as_mut_ptr(), three) };
    }
    (rest, left)
}

/// Unpacks bytes to fours of 6-bit codes.
pub(crate) fn unpack6<'a, 'b>(_: Neon, bytes: &'a [u8], codes: &'b mut [u8]) -> (&'a [u8], &'b mut [u8]) {
    // SAFETY: the proof says that the machine has NEON.
    unsafe { unpack6_steps(bytes, codes) }
}

#[target_feature(enable = "neon")]
fn unpack6_steps<'a, 'b>(bytes: &'a [u8], codes: &'b mut [u8]) -> (&'a [u8], &'b mut [u8]) {
    let six = vdupq_n_u8(63);
    let count = codes.len() / (4 * STEP);
    let (packed, rest) = bytes.split_at(count * PACKED_SIX);
    let (steps, left) = codes.split_at_mut(count * 4 * STEP);
    for (byte, code) in packed.as_chunks::<PACKED_SIX>().0.iter().zip(steps.as_chunks_mut::<{ 4 * STEP }>().0)
    {
        // SAFETY: the reference is to 48 readable bytes.
        let uint8x16x3_t(x, y, z) = unsafe { vld3q_u8(byte.as_ptr()) };
        let four = uint8x16x4_t(
            vandq_u8(x, six),
            vandq_u8(vsliq_n_u8::<2>(vshrq_n_u8::<6>(x), y), six),
            vandq_u8(vsliq_n_u8::<4>(vshrq_n_u8::<4>(y), z), six),
            vshrq_n_u8::<2>(z),
        );
        // SAFETY: the reference is to 64 writable bytes.
        unsafe { vst4q_u8(code.as_mut_ptr(), four) };
    }
    (rest, left)
}
