//! The words of stochastic rounding: Philox4x32-10 and ars5 against implementations of their own,
//! and their statistics.
//!
//! Known answers of both stand in `tesla_tables.rs` and the kernels' `stochastic.rs`; here whole
//! ranges of counters and keys are compared with arithmetic written from the papers. Statistics are
//! of 2^22 words, with `SMALLFLOAT_EXTENSIVE=1` of 10^8: seeds are fixed, so a bound that holds
//! holds always, and five standard deviations say that something is wrong and not that luck was
//! bad. What these tests can't find, the suites of `verification/randomness` look for.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "low parts are wanted where words are cut; counts stay far below 2^53"
)]

use smallfloat::random::Philox;
use smallfloat_kernels::{Ars5, Generator, Level};
use smallfloat_proof::{Scramble, extensive};

/// Seeds and streams: nothing set, one bit set, all, and some.
const KEYS: [(u64, u64); 4] =
    [(0, 0), (1, 0), (u64::MAX, u64::MAX), (0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210)];

/// The product of two polynomials over GF(2), modulo x^8 + x^4 + x^3 + x + 1 (FIPS 197, section
/// 4.2).
fn product(a: u8, b: u8) -> u8 {
    let mut wide = (0..8).filter(|i| b >> i & 1 == 1).fold(0_u16, |sum, i| sum ^ u16::from(a) << i);
    for i in (8..15).rev() {
        if wide >> i & 1 == 1 {
            wide ^= 0x11b << (i - 8);
        }
    }
    wide.to_le_bytes()[0]
}

/// FIPS 197, section 5.1.1: the inverse, found by trying all, then the affine map bit by bit.
fn substitution_table() -> [u8; 256] {
    let mut table = [0; 256];
    for (byte, out) in (0..=u8::MAX).zip(&mut table) {
        let inverse = (0..=u8::MAX).find(|&b| product(byte, b) == 1).unwrap_or(0);
        let bit = |i: u32| inverse >> (i % 8) & 1;
        *out = (0..8)
            .map(|i| (bit(i) ^ bit(i + 4) ^ bit(i + 5) ^ bit(i + 6) ^ bit(i + 7) ^ (0x63 >> i & 1)) << i)
            .sum();
    }
    table
}

/// Five rounds of AES on a counter, by bytes in the order of FIPS 197, the key schedule of Salmon
/// et al. (2011), section 4.1.
fn ars5_by_bytes(table: &[u8; 256], (seed, stream): (u64, u64), block: u64) -> [u32; 4] {
    let mut key = u128::from(seed);
    let mut state = ((u128::from(stream) << 64 | u128::from(block)) ^ key).to_le_bytes();
    for round in 1..=5 {
        let low = (key as u64).wrapping_add(0x9e37_79b9_7f4a_7c15);
        let high = ((key >> 64) as u64).wrapping_add(0xbb67_ae85_84ca_a73b);
        key = u128::from(high) << 64 | u128::from(low);
        // Byte r + 4c is row r of column c; row r moves r columns.
        let shifted: [u8; 16] = std::array::from_fn(|i| table[usize::from(state[(i + 4 * (i % 4)) % 16])]);
        let mixed: [u8; 16] = std::array::from_fn(|i| {
            let (row, column) = (i % 4, i / 4 * 4);
            (0..4).fold(0, |sum, r| sum ^ product([2, 3, 1, 1][(r + 4 - row) % 4], shifted[column + r]))
        });
        let last = if round == 5 { shifted } else { mixed };
        state = (u128::from_le_bytes(last) ^ key).to_le_bytes();
    }
    let words = u128::from_le_bytes(state);
    std::array::from_fn(|i| (words >> (32 * i)) as u32)
}

/// Salmon et al. (2011), section 3.3: a round is two products whose high halves meet the other
/// words and the key.
fn philox_by_paper((seed, stream): (u64, u64), block: u64) -> [u32; 4] {
    let counter = u128::from(stream) << 64 | u128::from(block);
    let mut words: [u64; 4] = std::array::from_fn(|i| (counter >> (32 * i)) as u64 & 0xffff_ffff);
    for round in 0..10 {
        let key = |half: u64, step: u64| (half + round * step) & 0xffff_ffff;
        let keys = [key(seed & 0xffff_ffff, 0x9e37_79b9), key(seed >> 32, 0xbb67_ae85)];
        let (p, q) = (0xd251_1f53 * words[0], 0xcd9e_8d57 * words[2]);
        words =
            [q >> 32 ^ words[1] ^ keys[0], q & 0xffff_ffff, p >> 32 ^ words[3] ^ keys[1], p & 0xffff_ffff];
    }
    words.map(|word| word as u32)
}

#[test]
fn words_are_those_of_other_implementations() {
    let table = substitution_table();
    let mut random = Scramble(1);
    let mut cases: Vec<((u64, u64), u64)> = Vec::new();
    for key in KEYS {
        cases.extend([0, 1, u64::from(u32::MAX), 1 << 32, u64::MAX].map(|block| (key, block)));
    }
    let count = if extensive() { 1_000_000 } else { 10_000 };
    cases.extend((0..count).map(|_| ((random.bits(), random.bits()), random.bits())));
    for &((seed, stream), block) in &cases {
        let ars5 = Ars5 { seed, stream }.block(block);
        assert_eq!(
            ars5,
            ars5_by_bytes(&table, (seed, stream), block),
            "ars5 {seed:#x} {stream:#x} {block:#x}"
        );
        let philox = Philox { seed, stream }.block(block);
        assert_eq!(philox, philox_by_paper((seed, stream), block), "philox {seed:#x} {stream:#x} {block:#x}");
    }
    println!("words: {} counters of each generator compared", cases.len());
}

/// Counts of what the words show.
struct Counts {
    words: u64,
    /// Ones at each place of a word.
    ones: [u64; 32],
    /// Values of the four bytes.
    bytes: [Vec<u64>; 4],
    /// Values of the upper half of a word, which N ≤ 16 random bits are made of.
    halves: Vec<u64>,
    /// The upper byte of a word and of the next one.
    pairs: Vec<u64>,
    /// The upper byte of a word and of the one a block later.
    blocks: Vec<u64>,
}

impl Counts {
    fn of(generator: Generator, words: u64) -> Self {
        let mut counts = Self {
            words,
            ones: [0; 32],
            bytes: std::array::from_fn(|_| vec![0; 256]),
            halves: vec![0; 1 << 16],
            pairs: vec![0; 1 << 16],
            blocks: vec![0; 1 << 16],
        };
        let mut buffer = vec![[0; 4]; 1 << 12];
        // Words before the first are the last of the counter's range.
        let mut before = generator.block(u64::MAX);
        let mut left = words / 4;
        let mut first = 0;
        while left > 0 {
            let length = left.min(buffer.len() as u64);
            let blocks = &mut buffer[..usize::try_from(length).expect("a short buffer")];
            generator.fill_blocks(Level::detected(), first, blocks);
            for block in blocks {
                counts.add(&before, block);
                before = *block;
            }
            (first, left) = (first + length, left - length);
        }
        counts
    }

    fn add(&mut self, before: &[u32; 4], block: &[u32; 4]) {
        let mut last = before[3];
        for (word, far) in block.iter().zip(before) {
            for (place, ones) in self.ones.iter_mut().enumerate() {
                *ones += u64::from(word >> place & 1);
            }
            for (counts, byte) in self.bytes.iter_mut().zip(word.to_le_bytes()) {
                counts[usize::from(byte)] += 1;
            }
            self.halves[(word >> 16) as usize] += 1;
            self.pairs[(last >> 24 << 8 | word >> 24) as usize] += 1;
            self.blocks[(far >> 24 << 8 | word >> 24) as usize] += 1;
            last = *word;
        }
    }

    /// The largest distance of a bit's ones from half the words, in standard deviations.
    fn worst_bit(&self) -> f64 {
        let half = self.words as f64 / 2.0;
        self.ones.iter().map(|&ones| (ones as f64 - half).abs() / (half / 2.0).sqrt()).fold(0.0, f64::max)
    }
}

/// How far χ² of equally likely cells lies from what chance gives, in standard deviations (Wilson
/// and Hilferty, 1931).
fn deviation(cells: &[u64]) -> f64 {
    let (count, total) = (cells.len() as f64, cells.iter().sum::<u64>() as f64);
    let each = total / count;
    let chi_square: f64 = cells.iter().map(|&seen| (seen as f64 - each).powi(2) / each).sum();
    let degrees = count - 1.0;
    let spread = 2.0 / (9.0 * degrees);
    ((chi_square / degrees).cbrt() - (1.0 - spread)) / spread.sqrt()
}

#[test]
fn statistics_are_those_of_chance() {
    let words = if extensive() { 100_000_000 } else { 1 << 22 };
    println!("| generator | seed, stream | words | worst bit | bytes | upper halves | neighbours | blocks |");
    println!("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |");
    for (seed, stream) in KEYS {
        for generator in [Generator::from(Philox { seed, stream }), Ars5 { seed, stream }.into()] {
            let counts = Counts::of(generator, words);
            let bytes = counts.bytes.iter().map(|cells| deviation(cells).abs()).fold(0.0, f64::max);
            let found = [
                counts.worst_bit(),
                bytes,
                deviation(&counts.halves),
                deviation(&counts.pairs),
                deviation(&counts.blocks),
            ];
            let shown = found.map(|x| format!("{x:.2}")).join(" | ");
            println!("| {} | {seed:#x}, {stream:#x} | {words} | {shown} |", generator.name());
            assert!(found.iter().all(|x| x.abs() < 5.0), "{}, seed {seed:#x}: {found:?}", generator.name());
        }
    }
}

/// The measure is no check that can't fail: cells too even and cells too uneven lie outside of its
/// bounds.
#[test]
fn uneven_and_too_even_cells_are_seen() {
    let mut cells: Vec<u64> = vec![1000; 256];
    assert!(deviation(&cells) < -5.0, "too even to be chance");
    cells.iter_mut().step_by(2).for_each(|cell| *cell += 100);
    assert!(deviation(&cells) > 5.0, "each second one too often");
}

/// Blocks whose numbers differ in one bit differ in half of their bits, whichever bit it is.
#[test]
fn each_bit_of_a_block_s_number_changes_half_of_its_words() {
    for generator in [Generator::from(Philox { seed: 5, stream: 6 }), Ars5 { seed: 5, stream: 6 }.into()] {
        for bit in 0..64 {
            let changed: u32 = (0..256_u64)
                .map(|i| {
                    let block = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
                    let (a, b) = (generator.block(block), generator.block(block ^ 1 << bit));
                    a.iter().zip(b).map(|(a, b)| (a ^ b).count_ones()).sum::<u32>()
                })
                .sum();
            // Of 2^15 bits half: 2^14, with a standard deviation of 90.5.
            assert!(changed.abs_diff(1 << 14) < 453, "{}: bit {bit} changes {changed}", generator.name());
        }
    }
}
