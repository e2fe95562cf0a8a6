//! Random words that depend on nothing but (seed, stream, element).
//!
//! Philox4x32-10 of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011): a
//! counter-based generator, so any chunking and any number of threads give the same bits.
//! Addressing follows [semantics](crate::semantics) S5.

const MULTIPLIERS: [u32; 2] = [0xd251_1f53, 0xcd9e_8d57];
const KEY_STEPS: [u32; 2] = [0x9e37_79b9, 0xbb67_ae85];

#[expect(clippy::cast_possible_truncation, reason = "the low half is wanted")]
const fn lo(x: u64) -> u32 {
    x as u32
}

const fn hi(x: u64) -> u32 {
    lo(x >> 32)
}

/// Returns four words: ten rounds of Philox on one counter.
///
/// ```
/// // The first known answer of the Random123 distribution.
/// let words = smallfloat::random::philox4x32_10([0; 4], [0; 2]);
/// assert_eq!(words, [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]);
/// ```
pub const fn philox4x32_10(counter: [u32; 4], key: [u32; 2]) -> [u32; 4] {
    let ([mut a, mut b, mut c, mut d], [mut k0, mut k1]) = (counter, key);
    let mut round = 0;
    while round < 10 {
        let p = MULTIPLIERS[0] as u64 * a as u64;
        let q = MULTIPLIERS[1] as u64 * c as u64;
        [a, b, c, d] = [hi(q) ^ b ^ k0, lo(q), hi(p) ^ d ^ k1, lo(p)];
        k0 = k0.wrapping_add(KEY_STEPS[0]);
        k1 = k1.wrapping_add(KEY_STEPS[1]);
        round += 1;
    }
    [a, b, c, d]
}

/// A reproducible sequence of random words: key = seed, counter = (element / 4, stream).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Philox {
    /// The seed; the same seed gives the same words, always and everywhere.
    pub seed: u64,
    /// Which of 2^64 independent sequences: tensors take theirs from their names.
    pub stream: u64,
}

impl Philox {
    /// Returns the sequence of a seed, stream 0.
    ///
    /// ```
    /// use smallfloat::random::Philox;
    /// assert_eq!(Philox::new(42), Philox { seed: 42, stream: 0 });
    /// assert_eq!(Philox::new(42).with_stream(7), Philox { seed: 42, stream: 7 });
    /// ```
    pub const fn new(seed: u64) -> Self {
        Self { seed, stream: 0 }
    }

    /// Returns another of the seed's sequences.
    #[must_use]
    pub const fn with_stream(self, stream: u64) -> Self {
        Self { stream, ..self }
    }

    /// Returns the four words of elements `4 · block .. 4 · block + 4`.
    pub const fn block(&self, block: u64) -> [u32; 4] {
        let counter = [lo(block), hi(block), lo(self.stream), hi(self.stream)];
        philox4x32_10(counter, [lo(self.seed), hi(self.seed)])
    }

    /// Returns the word of one element.
    pub const fn word(&self, element: u64) -> u32 {
        self.block(element / 4)[(element % 4) as usize]
    }
}

/// The sequence of a seed, stream 0.
impl From<u64> for Philox {
    fn from(seed: u64) -> Self {
        Self::new(seed)
    }
}
