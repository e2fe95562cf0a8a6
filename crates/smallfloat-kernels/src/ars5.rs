//! [`Ars5`]: a generator of random words by AES rounds.

/// Five AES rounds of a 128-bit counter, after ARS of Salmon et al., "Parallel random numbers: as
/// easy as 1, 2, 3" (2011), section 4.1.
///
/// Counter = (low, high half of the block's number, low, high half of the stream), key = (low, high
/// half of the seed, 0, 0), both four little-endian 32-bit words. The state is counter ⊕ key;
/// before each round the key's two 64-bit halves grow by 0x9e3779b97f4a7c15 and 0xbb67ae8584caa73b;
/// a round is FIPS 197's SubBytes, ShiftRows, MixColumns and AddRoundKey, the fifth one without
/// MixColumns. It is a generator for simulations, no cipher.
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
    /// Returns the four words of elements `4 · block .. 4 · block + 4`, by table look-ups.
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
    // 3 generates the field's units and 0xf6 is its inverse: p runs through all units, q through
    // their inverses.
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

/// SubBytes, ShiftRows and, if `mix`, MixColumns of a state of two little-endian halves (FIPS 197,
/// section 5.1).
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

#[cfg(test)]
mod tests {
    use super::{SUBSTITUTION, substitution};

    /// FIPS 197, section 4.2: a product of polynomials, and what is left of it modulo x^8 + x^4 +
    /// x^3 + x + 1.
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
