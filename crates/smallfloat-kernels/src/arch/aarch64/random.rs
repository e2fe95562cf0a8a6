//! The generators' words, many blocks at a time.

use std::arch::aarch64::*;

use smallfloat::random::Philox;

use crate::arch::machine::{Aes, Neon};
use crate::arch::vectors::generators::{Blocks128, ars5_keys, ars5_rounds, fill};
use crate::ars5::Ars5;

/// Blocks made at once.
const GROUP: usize = 8;

/// Fills in the words of Philox's blocks from `first` on.
pub(crate) fn fill_philox(_: Neon, philox: &Philox, first: u64, blocks: &mut [[u32; 4]]) {
    // SAFETY: the proof says that the machine has NEON.
    fill(first, blocks, |groups| unsafe { philox_groups(philox, first, groups) }, |i| philox.block(i));
}

/// Fills in the words of Ars5's blocks from `first` on.
pub(crate) fn fill_ars5(_: Aes, ars5: &Ars5, first: u64, blocks: &mut [[u32; 4]]) {
    // SAFETY: the proof says that the machine has AES's instructions.
    fill(first, blocks, |groups| unsafe { ars5_groups(ars5, first, groups) }, |i| ars5.block(i));
}

/// The upper and the lower halves of the products of words.
#[inline]
#[target_feature(enable = "neon")]
fn product(words: uint32x4_t, multiplier: uint32x2_t) -> [uint32x4_t; 2] {
    let low = vreinterpretq_u32_u64(vmull_u32(vget_low_u32(words), multiplier));
    let high = vreinterpretq_u32_u64(vmull_high_u32(words, vcombine_u32(multiplier, multiplier)));
    [vuzp2q_u32(low, high), vuzp1q_u32(low, high)]
}

/// Four blocks a set of vectors, one vector for each of a block's words. Two sets at once hide the
/// multiplications' latency.
#[target_feature(enable = "neon")]
fn philox_groups(philox: &Philox, first: u64, groups: &mut [[[u32; 4]; GROUP]]) {
    const MULTIPLIERS: [u32; 2] = [0xd251_1f53, 0xcd9e_8d57];
    const STEPS: [u32; 2] = [0x9e37_79b9, 0xbb67_ae85];
    #[expect(clippy::cast_possible_truncation, reason = "the halves of a number")]
    let halves = |x: u64| [x as u32, (x >> 32) as u32];
    let multipliers = [vdup_n_u32(MULTIPLIERS[0]), vdup_n_u32(MULTIPLIERS[1])];
    let stream = halves(philox.stream);
    for (group, i) in groups.iter_mut().zip(0..) {
        let number = first.wrapping_add(GROUP as u64 * i);
        let mut states = [[vdupq_n_u32(0); 4]; 2];
        for (state, j) in states.iter_mut().zip(0..) {
            let mut numbers = [[0_u32; 2]; 4];
            for (halves_of_number, k) in numbers.iter_mut().zip(4 * j..) {
                *halves_of_number = halves(number.wrapping_add(k));
            }
            // SAFETY: the reference is to 32 readable bytes.
            let uint32x4x2_t(low, high) = unsafe { vld2q_u32(numbers.as_ptr().cast()) };
            *state = [low, high, vdupq_n_u32(stream[0]), vdupq_n_u32(stream[1])];
        }
        let mut key = halves(philox.seed);
        for _ in 0..10 {
            for [a, b, c, d] in &mut states {
                let [p, q] = [product(*a, multipliers[0]), product(*c, multipliers[1])];
                *a = veorq_u32(veorq_u32(q[0], *b), vdupq_n_u32(key[0]));
                *c = veorq_u32(veorq_u32(p[0], *d), vdupq_n_u32(key[1]));
                (*b, *d) = (q[1], p[1]);
            }
            key = [key[0].wrapping_add(STEPS[0]), key[1].wrapping_add(STEPS[1])];
        }
        for (out, [a, b, c, d]) in group.as_chunks_mut::<4>().0.iter_mut().zip(states) {
            // SAFETY: the reference is to four blocks, 64 writable bytes.
            unsafe { vst4q_u32(out.as_mut_ptr().cast(), uint32x4x4_t(a, b, c, d)) };
        }
    }
}

impl Blocks128 for uint8x16_t {
    #[inline]
    #[target_feature(enable = "neon,aes")]
    unsafe fn pair(low: u64, high: u64) -> Self {
        vreinterpretq_u8_u64(vcombine_u64(vcreate_u64(low), vcreate_u64(high)))
    }

    #[inline]
    #[target_feature(enable = "neon,aes")]
    unsafe fn plus(self, other: Self) -> Self {
        vreinterpretq_u8_u64(vaddq_u64(vreinterpretq_u64_u8(self), vreinterpretq_u64_u8(other)))
    }

    #[inline]
    #[target_feature(enable = "neon,aes")]
    unsafe fn first_key(self, key: Self) -> Self {
        veorq_u8(self, key)
    }

    /// The instruction takes a key before it substitutes bytes: here none, as Ars5's come after.
    #[inline]
    #[target_feature(enable = "neon,aes")]
    unsafe fn round(self, key: Self) -> Self {
        veorq_u8(vaesmcq_u8(vaeseq_u8(self, vdupq_n_u8(0))), key)
    }

    #[inline]
    #[target_feature(enable = "neon,aes")]
    unsafe fn last_round(self, key: Self) -> Self {
        veorq_u8(vaeseq_u8(self, vdupq_n_u8(0)), key)
    }
}

/// Eight blocks at once hide the rounds' latency.
#[target_feature(enable = "neon,aes")]
fn ars5_groups(ars5: &Ars5, first: u64, groups: &mut [[[u32; 4]; GROUP]]) {
    // SAFETY: this function has the features that blocks need.
    let keys = unsafe { ars5_keys::<uint8x16_t>(ars5.seed) };
    for (group, i) in groups.iter_mut().zip(0..) {
        let number = first.wrapping_add(GROUP as u64 * i);
        let mut states = [vdupq_n_u8(0); GROUP];
        for (i, state) in (0..).zip(&mut states) {
            // SAFETY: this function has the features that blocks need.
            *state = unsafe { uint8x16_t::pair(number.wrapping_add(i), ars5.stream) };
        }
        // SAFETY: this function has the features that blocks need.
        unsafe { ars5_rounds(&mut states, &keys) };
        for (out, state) in group.iter_mut().zip(states) {
            // SAFETY: the reference is to 16 writable bytes.
            unsafe { vst1q_u8(out.as_mut_ptr().cast(), state) };
        }
    }
}
