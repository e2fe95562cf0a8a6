//! Exact sums of products of codes by their digits (`plan/digits.rs`). One instruction multiplies
//! 64 digits without a sign by 64 with one, and adds each four products to an integer of 32 bits.

use std::arch::x86_64::*;

use crate::arch::machine::Avx512;
use crate::arch::machine::avx512::lanes::{STEP, bytes};
use crate::plan::digits::{BITS, Digits, MOST, NO_NUMBER};

/// Places of products.
const PLACES: usize = 2 * MOST - 1;
/// Steps whose sums two lanes of 32 bits hold together.
const STEPS: usize = 1024;
/// Places whose sums a lane of 64 bits holds, and what they are together.
const GROUP: usize = 5;
const GROUP_BITS: u32 = 5 * BITS;
const _: () = {
    let digit = (1_u64 << BITS) - 1;
    let two_lanes = 2 * STEPS as u64 * MOST as u64 * 4 * digit * digit;
    assert!(two_lanes < 1 << 31 && 8 * two_lanes * ((1 << GROUP_BITS) / digit) < 1 << 63);
};

/// Σ x·y, or `None` if one of the elements is no number.
pub(crate) fn exact_sum(_: Avx512, digits: [&Digits; 2], [x, y]: [&[u8]; 2]) -> Option<i128> {
    assert_eq!(x.len(), y.len(), "both slices must have the same length");
    // Fewer digits change their signs.
    let (digits, codes) = match digits {
        [a, b] if a.count < b.count => ([b, a], [y, x]),
        digits => (digits, [x, y]),
    };
    // SAFETY: the proof says that the machine has these instructions.
    unsafe {
        match digits.map(|digits| digits.count) {
            [1, _] => run::<1, 1>(digits, codes),
            [2, _] => run::<2, 2>(digits, codes),
            [3, 1] => run::<3, 1>(digits, codes),
            [3, _] => run::<3, 3>(digits, codes),
            [_, 1] => run::<5, 1>(digits, codes),
            [_, 2 | 3] => run::<5, 3>(digits, codes),
            _ => run::<5, 5>(digits, codes),
        }
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vnni")]
fn run<const X: usize, const Y: usize>(digits: [&Digits; 2], [x, y]: [&[u8]; 2]) -> Option<i128> {
    let tables = (Tables::<X>::new(digits[0]), Tables::<Y>::new(digits[1]));
    let zero = _mm512_setzero_si512();
    let (mut lowest, mut least, mut total) = (zero, [zero; 2], 0);
    for (x, y) in x.chunks(STEPS * STEP).zip(y.chunks(STEPS * STEP)) {
        let mut sums = Sums { places: [zero; PLACES], lowest, least };
        let ((x, x_rest), (y, y_rest)) = (x.as_chunks(), y.as_chunks());
        for (x, y) in x.iter().zip(y) {
            sums.add(&tables, [load(x), load(y)]);
        }
        if !x_rest.is_empty() {
            sums.add(&tables, [load_some(x_rest), load_some(y_rest)]);
        }
        (lowest, least) = (sums.lowest, sums.least);
        for (group, places) in (0..).zip(sums.places[..X + Y - 1].chunks(GROUP)) {
            total += i128::from(joined(places)) << (group * GROUP_BITS);
        }
    }
    let mut has_other = _mm512_test_epi8_mask(lowest, bytes(NO_NUMBER)) != 0;
    for (digits, least) in digits.into_iter().zip(least) {
        has_other |= digits.lacks_negative_zero && _mm512_cmpeq_epi8_mask(least, bytes(0x80)) != 0;
    }
    (!has_other).then_some(total)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load(bytes: &[u8; STEP]) -> __m512i {
    // SAFETY: the reference is to 64 readable bytes; the load needs no alignment.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}

/// Codes, fewer than 64, and zeros behind them.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn load_some(codes: &[u8]) -> __m512i {
    // SAFETY: the mask has a bit for each byte of the slice; others are not read.
    unsafe { _mm512_maskz_loadu_epi8((1 << codes.len()) - 1, codes.as_ptr().cast()) }
}

/// The tables of so many digits.
struct Tables<const N: usize> {
    digits: [[__m512i; 2]; N],
    sign: __m512i,
}

impl<const N: usize> Tables<N> {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn new(digits: &Digits) -> Self {
        let mut tables = [[_mm512_setzero_si512(); 2]; N];
        for (table, digits) in tables.iter_mut().zip(&digits.tables) {
            let halves = digits.as_chunks().0;
            *table = [load(&halves[0]), load(&halves[1])];
        }
        Self { digits: tables, sign: bytes(digits.sign) }
    }

    /// The digits of magnitudes.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    fn look_up(&self, codes: __m512i) -> [__m512i; N] {
        let mut digits = [codes; N];
        for (digit, table) in digits.iter_mut().zip(&self.digits) {
            // Only the seven low bits of an index count.
            *digit = _mm512_permutex2var_epi8(table[0], codes, table[1]);
        }
        digits
    }
}

/// What steps add up.
struct Sums {
    /// Products of digits.
    places: [__m512i; PLACES],
    /// All bits of lowest digits.
    lowest: __m512i,
    /// The least codes, as bytes with a sign.
    least: [__m512i; 2],
}

impl Sums {
    /// Adds the products of 64 codes.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vnni")]
    fn add<const X: usize, const Y: usize>(&mut self, tables: &(Tables<X>, Tables<Y>), [x, y]: [__m512i; 2]) {
        self.least = [_mm512_min_epi8(self.least[0], x), _mm512_min_epi8(self.least[1], y)];
        let negative = _mm512_test_epi8_mask(x, tables.0.sign) ^ _mm512_test_epi8_mask(y, tables.1.sign);
        let (x, mut y) = (tables.0.look_up(x), tables.1.look_up(y));
        // lowest | x | y.
        self.lowest = _mm512_ternarylogic_epi32::<0b1111_1110>(self.lowest, x[0], y[0]);
        for y in &mut y {
            *y = _mm512_mask_sub_epi8(*y, negative, _mm512_setzero_si512(), *y);
        }
        for (i, x) in x.iter().enumerate() {
            for (j, y) in y.iter().enumerate() {
                self.places[i + j] = _mm512_dpbusd_epi32(self.places[i + j], *x, *y);
            }
        }
    }
}

/// The sum of all lanes of some places, the lowest one first.
#[inline]
#[target_feature(enable = "avx512f")]
fn joined(places: &[__m512i]) -> i64 {
    let mut sums = _mm512_setzero_si512();
    for place in places.iter().rev() {
        let lanes = _mm256_add_epi32(_mm512_castsi512_si256(*place), _mm512_extracti64x4_epi64::<1>(*place));
        sums = _mm512_add_epi64(_mm512_slli_epi64::<BITS>(sums), _mm512_cvtepi32_epi64(lanes));
    }
    _mm512_reduce_add_epi64(sums)
}
