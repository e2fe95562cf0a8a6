//! The generators' rounds, the same for every level: a level supplies operations on its vectors. As
//! in `blocks.rs`, these functions are inlined into others that have the level's instructions.

use crate::ars5::KEY_STEPS;

/// Fills in the words of blocks from `first` on: whole groups at once, what is left one by one.
pub(in crate::arch) fn fill<const GROUP: usize>(
    first: u64,
    blocks: &mut [[u32; 4]],
    fill_groups: impl FnOnce(&mut [[[u32; 4]; GROUP]]),
    block: impl Fn(u64) -> [u32; 4],
) {
    let (groups, rest) = blocks.as_chunks_mut::<GROUP>();
    let done = (GROUP * groups.len()) as u64;
    fill_groups(groups);
    for (words, i) in rest.iter_mut().zip(done..) {
        *words = block(first.wrapping_add(i));
    }
}

/// Lanes of 64 bits with a word in their lower halves: that is what a multiplication reads, so
/// upper halves may hold anything.
pub(in crate::arch) trait Lanes64: Copy {
    /// A number in every lane.
    ///
    /// # Safety
    /// The machine must have the level's instructions.
    unsafe fn splat(x: u64) -> Self;

    /// The products of the words.
    ///
    /// # Safety
    /// The machine must have the level's instructions.
    unsafe fn product(self, other: Self) -> Self;

    /// Exclusive or of the products' upper halves, a word and a key.
    ///
    /// # Safety
    /// The machine must have the level's instructions.
    unsafe fn mixed(product: Self, word: Self, key: Self) -> Self;
}

/// Philox's ten rounds on two vectors of blocks at once, which hides the multiplications' latency.
///
/// # Safety
/// The machine must have the level's instructions.
#[inline(always)]
pub(in crate::arch) unsafe fn philox_rounds<V: Lanes64>(states: &mut [[V; 4]; 2], seed: u64) {
    const MULTIPLIERS: [u64; 2] = [0xd251_1f53, 0xcd9e_8d57];
    const STEPS: [u64; 2] = [0x9e37_79b9, 0xbb67_ae85];
    // SAFETY: the caller's promise.
    unsafe {
        let multipliers = [V::splat(MULTIPLIERS[0]), V::splat(MULTIPLIERS[1])];
        let mut key = [seed, seed >> 32];
        for _ in 0..10 {
            let keys = [V::splat(key[0]), V::splat(key[1])];
            for [a, b, c, d] in &mut *states {
                let (p, q) = (a.product(multipliers[0]), c.product(multipliers[1]));
                *a = V::mixed(q, *b, keys[0]);
                *c = V::mixed(p, *d, keys[1]);
                (*b, *d) = (q, p);
            }
            key = [key[0].wrapping_add(STEPS[0]), key[1].wrapping_add(STEPS[1])];
        }
    }
}

/// Blocks of 128 bits.
pub(in crate::arch) trait Blocks128: Copy {
    /// Two numbers in every block.
    ///
    /// # Safety
    /// The machine must have the level's instructions.
    unsafe fn pair(low: u64, high: u64) -> Self;

    /// Sums of the halves.
    ///
    /// # Safety
    /// The machine must have the level's instructions.
    unsafe fn plus(self, other: Self) -> Self;

    /// Exclusive or with a key.
    ///
    /// # Safety
    /// The machine must have the level's instructions.
    unsafe fn first_key(self, key: Self) -> Self;

    /// A round of AES.
    ///
    /// # Safety
    /// The machine must have the level's instructions.
    unsafe fn round(self, key: Self) -> Self;

    /// The last round of AES.
    ///
    /// # Safety
    /// The machine must have the level's instructions.
    unsafe fn last_round(self, key: Self) -> Self;
}

/// The keys of Ars5's rounds.
///
/// # Safety
/// The machine must have the level's instructions.
#[inline(always)]
pub(in crate::arch) unsafe fn ars5_keys<V: Blocks128>(seed: u64) -> [V; 6] {
    // SAFETY: the caller's promise.
    unsafe {
        let step = V::pair(KEY_STEPS[0], KEY_STEPS[1]);
        let mut keys = [V::pair(seed, 0); 6];
        for i in 1..6 {
            keys[i] = keys[i - 1].plus(step);
        }
        keys
    }
}

/// Counters → words by five rounds; several vectors at once hide their latency.
///
/// # Safety
/// The machine must have the level's instructions.
#[inline(always)]
pub(in crate::arch) unsafe fn ars5_rounds<V: Blocks128, const N: usize>(states: &mut [V; N], keys: &[V; 6]) {
    // SAFETY: the caller's promise.
    unsafe {
        for state in &mut *states {
            *state = state.first_key(keys[0]);
        }
        for key in &keys[1..5] {
            for state in &mut *states {
                *state = state.round(*key);
            }
        }
        for state in states {
            *state = state.last_round(keys[5]);
        }
    }
}
