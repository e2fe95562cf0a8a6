//! [`Generator`] and [`RandomWords`]: where stochastic rounding takes its random words from.
//!
//! Both generators are functions of a key (the seed), a counter (four elements share a block) and nothing else, so chunks,
//! threads and machines never change a word. Element i takes word i mod 4 of block ⌊i/4⌋ (`docs/semantics.md` S5).

use smallfloat::random::Philox;

use crate::Level;

/// A counter-based generator of random words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Generator {
    /// Philox4x32-10, the default.
    Philox(Philox),
    /// [`Ars5`], faster where the machine has AES instructions.
    Ars5(Ars5),
}

/// Five AES rounds of a 128-bit counter, after ARS of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011),
/// section 4.1.
///
/// Counter = (low, high half of the block's number, low, high half of the stream), key = (low, high half of the seed, 0, 0),
/// both four little-endian 32-bit words. The state is counter ⊕ key; before each round the key's two 64-bit halves grow by
/// 0x9e3779b97f4a7c15 and 0xbb67ae8584caa73b; a round is FIPS 197's SubBytes, ShiftRows, MixColumns and AddRoundKey, the
/// fifth one without MixColumns. It is a generator for simulations, no cipher.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Ars5 {
    /// The seed; the same seed gives the same words, always and everywhere.
    pub seed: u64,
    /// Which of 2^64 sequences: tensors take theirs from their names.
    pub stream: u64,
}

/// What the key's halves grow by: the golden ratio and √3, less their integer parts.
pub(crate) const KEY_STEPS: [u64; 2] = [0x9e37_79b9_7f4a_7c15, 0xbb67_ae85_84ca_a73b];

impl Ars5 {
    /// The four words of elements `4 · block .. 4 · block + 4`, by table look-ups.
    ///
    /// ```
    /// // All counter and key bits zero; the answer is that of an implementation from the text of FIPS 197.
    /// let words = smallfloat_kernels::Ars5 { seed: 0, stream: 0 }.block(0);
    /// assert_eq!(words, [0x7ecce06f, 0x7cdc3bca, 0x15513c87, 0x29d24c9b]);
    /// ```
    pub fn block(&self, block: u64) -> [u32; 4] {
        let mut key = [self.seed, 0];
        // The key's upper half is zero at first.
        let mut state = [block ^ key[0], self.stream];
        for round in 0..5 {
            key = [key[0].wrapping_add(KEY_STEPS[0]), key[1].wrapping_add(KEY_STEPS[1])];
            state = aes_round(state, round < 4);
            state = [state[0] ^ key[0], state[1] ^ key[1]];
        }
        let [a, b] = state.map(u64::to_le_bytes);
        let word = |bytes: [u8; 8], i: usize| {
            u32::from_le_bytes([bytes[i], bytes[i + 1], bytes[i + 2], bytes[i + 3]])
        };
        [word(a, 0), word(a, 4), word(b, 0), word(b, 4)]
    }
}

/// Multiplication by x in AES's field of 256 elements, x^8 = x^4 + x^3 + x + 1.
const fn times_x(a: u8) -> u8 {
    a << 1 ^ if a & 0x80 == 0 { 0 } else { 0x1b }
}

/// FIPS 197, section 5.1.1: the inverse in the field, then an affine map of its bits.
static SUBSTITUTION: [u8; 256] = substitution();

const fn substitution() -> [u8; 256] {
    let mut table = [0; 256];
    // 3 generates the field's units and 0xf6 is its inverse: p runs through all units, q through their inverses.
    let (mut p, mut q) = (1_u8, 1_u8);
    loop {
        p ^= times_x(p);
        q ^= q << 1;
        q ^= q << 2;
        q ^= q << 4;
        q ^= if q & 0x80 == 0 { 0 } else { 0x09 };
        let mixed = q ^ q.rotate_left(1) ^ q.rotate_left(2) ^ q.rotate_left(3) ^ q.rotate_left(4);
        table[p as usize] = mixed ^ 0x63;
        if p == 1 {
            break;
        }
    }
    table[0] = 0x63;
    table
}

/// SubBytes, ShiftRows and, if `mix`, MixColumns of a state of two little-endian halves (FIPS 197, section 5.1).
fn aes_round(state: [u64; 2], mix: bool) -> [u64; 2] {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&state[0].to_le_bytes());
    bytes[8..].copy_from_slice(&state[1].to_le_bytes());
    let mut out = [0; 16];
    for (column, out) in out.as_chunks_mut::<4>().0.iter_mut().enumerate() {
        let s: [u8; 4] =
            std::array::from_fn(|row| SUBSTITUTION[usize::from(bytes[(4 * (column + row) + row) % 16])]);
        let all = s[0] ^ s[1] ^ s[2] ^ s[3];
        *out = if mix {
            std::array::from_fn(|row| s[row] ^ all ^ times_x(s[row] ^ s[(row + 1) % 4]))
        } else {
            s
        };
    }
    let half = |i: usize| u64::from_le_bytes(std::array::from_fn(|byte| out[i + byte]));
    [half(0), half(8)]
}

impl From<Philox> for Generator {
    fn from(philox: Philox) -> Self {
        Self::Philox(philox)
    }
}

impl From<Ars5> for Generator {
    fn from(ars5: Ars5) -> Self {
        Self::Ars5(ars5)
    }
}

impl Generator {
    /// The generator's name, to be stored with results: `philox4x32-10` or `ars5`.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Philox(_) => "philox4x32-10",
            Self::Ars5(_) => "ars5",
        }
    }

    /// The four words of elements `4 · block .. 4 · block + 4`.
    pub fn block(&self, block: u64) -> [u32; 4] {
        match self {
            Self::Philox(philox) => philox.block(block),
            Self::Ars5(ars5) => ars5.block(block),
        }
    }

    /// The words of blocks from `first` on, with the instructions of a level. The same at every level.
    pub fn fill_blocks(&self, level: Level, first: u64, blocks: &mut [[u32; 4]]) {
        #[cfg(target_arch = "x86_64")]
        if let Some(vectors) = crate::x86_64::Vectors::new(level) {
            return match self {
                Self::Philox(philox) => crate::x86_64::fill_philox(vectors, philox, first, blocks),
                Self::Ars5(ars5) => crate::x86_64::fill_ars5(vectors, ars5, first, blocks),
            };
        }
        let _ = level;
        for (words, number) in blocks.iter_mut().zip(first..) {
            *words = self.block(number);
        }
    }
}

/// The words of one element after another.
pub(crate) struct WordByWord {
    generator: Generator,
    element: u64,
    block: [u32; 4],
}

impl WordByWord {
    pub(crate) fn new(generator: Generator, first_element: u64) -> Self {
        let begins_block = first_element.is_multiple_of(4);
        let block = if begins_block { [0; 4] } else { generator.block(first_element / 4) };
        Self { generator, element: first_element, block }
    }

    #[inline(always)]
    pub(crate) fn next(&mut self) -> u32 {
        let place = (self.element % 4) as usize;
        if place == 0 {
            self.block = self.generator.block(self.element / 4);
        }
        self.element = self.element.wrapping_add(1);
        self.block[place]
    }
}

/// The words of a slice of elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RandomWords {
    /// The generator.
    pub generator: Generator,
    /// The index of the slice's first element in the whole tensor.
    pub first_element: u64,
}

#[cfg(test)]
mod tests {
    use super::{Ars5, Generator, Philox, SUBSTITUTION, WordByWord, substitution};

    #[test]
    fn generators_have_names() {
        assert_eq!(Generator::Philox(Philox { seed: 1, stream: 2 }).name(), "philox4x32-10");
        assert_eq!(Generator::Ars5(Ars5 { seed: 1, stream: 2 }).name(), "ars5");
    }

    /// From any element on, to the last and around to the first.
    #[test]
    fn words_one_by_one() {
        let generator = Generator::Philox(Philox { seed: 1, stream: 2 });
        for first in [0, 1, 3, 4, 7, u64::MAX - 2] {
            let mut words = WordByWord::new(generator, first);
            for i in 0..9 {
                let element = first.wrapping_add(i);
                let block = generator.block(element / 4);
                assert_eq!(
                    words.next(),
                    block[usize::try_from(element % 4).expect("one of four")],
                    "{first} + {i}"
                );
            }
        }
    }

    /// FIPS 197, section 4.2: a product of polynomials, and what is left of it modulo x^8 + x^4 + x^3 + x + 1.
    fn times(a: u16, b: u16) -> u16 {
        let product = (0..8).filter(|i| b >> i & 1 == 1).fold(0, |sum, i| sum ^ a << i);
        (0..8).rev().fold(product, |rest, i| if rest >> (i + 8) & 1 == 1 { rest ^ 0x11b << i } else { rest })
    }

    #[test]
    fn substitution_is_that_of_fips_197() {
        let table = substitution();
        for a in 0..256 {
            let inverse = (1..256).find(|&b| times(a, b) == 1).unwrap_or(0);
            let bit = |i: u16| {
                [0, 4, 5, 6, 7].iter().fold(0x63 >> i & 1, |sum, k| sum ^ inverse >> ((i + k) % 8) & 1)
            };
            let expected: u16 = (0..8).map(|i| bit(i) << i).sum();
            assert_eq!(u16::from(table[usize::from(a)]), expected, "{a:#x}");
        }
        assert_eq!(table, SUBSTITUTION);
    }
}
