//! Codes of 4 and 6 bits in bytes and packed.
//!
//! ```text
//! pack4, LowFirst     byte i = code 2i in bits 3..0, code 2i+1 in bits 7..4
//! pack4, HighFirst    byte i = code 2i in bits 7..4, code 2i+1 in bits 3..0
//! pack6               bytes 3i..3i+2, as a little-endian number of 24 bits: code 4i+j in bits 6j+5..6j
//! ```
//!
//! These are the orders of
//! [schemes](https://github.com/smallfloat/smallfloat/blob/main/docs/schemes.md); `LowFirst` and
//! six bits are those of compressed-tensors (`pack_fp4_to_uint8`, `pack_fp6_to_uint8`, version
//! 0.20). Higher bits of a code are ignored. A last byte, or the last three, are filled up with
//! zeros.

use crate::arch::level::Level;
use crate::arch::{Kernels, Machine};
use crate::plan::nibbles::Nibbles;

/// Packs or unpacks what kernels can, and leaves the rest of both slices.
macro_rules! by_kernel {
    ($level:expr, $name:ident($from:ident, $to:ident $(, $order:ident)?)) => {
        match Machine::new($level) {
            Some(machine) => machine.$name($from, $to $(, $order)?),
            None => ($from, $to),
        }
    };
}

/// Codes and bytes of the smallest group that fills whole bytes.
const PAIR: (usize, usize) = (2, 1);
const FOUR: (usize, usize) = (4, 3);

fn check(codes: usize, bytes: usize, (unit, unit_bytes): (usize, usize)) {
    let needed = codes.div_ceil(unit) * unit_bytes;
    assert!(bytes == needed, "{codes} codes take another number of bytes than {bytes}: {needed}");
}

/// Packs 4-bit codes, two a byte.
///
/// ```
/// use smallfloat_kernels::{Level, Nibbles, pack4};
/// let mut bytes = [0; 2];
/// pack4(Level::detected(), &[0x1, 0xe, 0x7], &mut bytes, Nibbles::LowFirst);
/// assert_eq!(bytes, [0xe1, 0x07]);
/// ```
///
/// # Panics
/// If `bytes` is not ⌈codes / 2⌉ long.
pub fn pack4(level: Level, codes: &[u8], bytes: &mut [u8], order: Nibbles) {
    check(codes.len(), bytes.len(), PAIR);
    let (codes, bytes) = by_kernel!(level, pack4(codes, bytes, order));
    for (pair, byte) in codes.chunks(PAIR.0).zip(bytes) {
        let (first, second) = (pair[0] & 15, pair.get(1).map_or(0, |code| code & 15));
        *byte = match order {
            Nibbles::LowFirst => first | second << 4,
            Nibbles::HighFirst => first << 4 | second,
        };
    }
}

/// Unpacks 4-bit codes.
///
/// # Panics
/// If `bytes` is not ⌈codes / 2⌉ long.
pub fn unpack4(level: Level, bytes: &[u8], codes: &mut [u8], order: Nibbles) {
    check(codes.len(), bytes.len(), PAIR);
    let (bytes, codes) = by_kernel!(level, unpack4(bytes, codes, order));
    for (&byte, pair) in bytes.iter().zip(codes.chunks_mut(PAIR.0)) {
        let both = match order {
            Nibbles::LowFirst => [byte & 15, byte >> 4],
            Nibbles::HighFirst => [byte >> 4, byte & 15],
        };
        pair.copy_from_slice(&both[..pair.len()]);
    }
}

/// Packs 6-bit codes, four in three bytes.
///
/// ```
/// use smallfloat_kernels::{Level, pack6};
/// let mut bytes = [0; 3];
/// // 0x01 | 0x02 << 6 | 0x3f << 12 | 0x20 << 18 = 0x83f081
/// pack6(Level::detected(), &[0x01, 0x02, 0x3f, 0x20], &mut bytes);
/// assert_eq!(bytes, [0x81, 0xf0, 0x83]);
/// ```
///
/// # Panics
/// If `bytes` is not 3 · ⌈codes / 4⌉ long.
pub fn pack6(level: Level, codes: &[u8], bytes: &mut [u8]) {
    check(codes.len(), bytes.len(), FOUR);
    let (codes, bytes) = by_kernel!(level, pack6(codes, bytes));
    for (four, three) in codes.chunks(FOUR.0).zip(bytes.chunks_exact_mut(FOUR.1)) {
        let word = four.iter().rev().fold(0_u32, |word, &code| word << 6 | u32::from(code & 63));
        three.copy_from_slice(&word.to_le_bytes()[..FOUR.1]);
    }
}

/// Unpacks 6-bit codes.
///
/// # Panics
/// If `bytes` is not 3 · ⌈codes / 4⌉ long.
pub fn unpack6(level: Level, bytes: &[u8], codes: &mut [u8]) {
    check(codes.len(), bytes.len(), FOUR);
    let (bytes, codes) = by_kernel!(level, unpack6(bytes, codes));
    for (three, four) in bytes.chunks_exact(FOUR.1).zip(codes.chunks_mut(FOUR.0)) {
        let word = u32::from_le_bytes([three[0], three[1], three[2], 0]);
        for (code, shift) in four.iter_mut().zip([0, 6, 12, 18]) {
            *code = (word >> shift & 63).to_le_bytes()[0];
        }
    }
}
