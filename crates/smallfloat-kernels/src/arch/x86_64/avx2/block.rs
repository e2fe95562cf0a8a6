//! Groups of f32 with a scale each: their largest magnitudes, eight groups at once, and their 8-bit
//! codes, 32 elements at once.

use std::arch::x86_64::*;
use std::slice::{from_mut, from_ref};

use crate::arch::machine::Avx2;
use crate::arch::machine::avx2::lanes::{STEP, Source, bytes, in_order, least, narrow_signed, store, words};
use crate::arch::vectors::blocks::{GroupStep, for_groups};
use crate::plan::blocks::Row;

/// Elements of a vector.
const LANES: usize = 8;

/// Fills in the largest magnitudes of groups, and returns the bits of the largest of all; `None`
/// for lengths of no whole vectors.
pub(crate) fn fill_largest(_: Avx2, length: usize, values: &[f32], largest: &mut [f32]) -> Option<u32> {
    assert_eq!(values.len(), length * largest.len(), "every group has a largest magnitude");
    let (vectors, []) = values.as_chunks::<LANES>() else { return None };
    // SAFETY: the proof says that the machine has these instructions.
    unsafe {
        match length {
            // Groups of a known length stay in registers.
            16 => Some(fill_all(vectors.as_chunks::<2>().0, largest)),
            32 => Some(fill_all(vectors.as_chunks::<4>().0, largest)),
            _ if length.is_multiple_of(LANES) => Some(fill_long(length / LANES, vectors, largest)),
            _ => None,
        }
    }
}

/// For groups of `V` vectors.
#[target_feature(enable = "avx2")]
fn fill_all<const V: usize>(groups: &[[[f32; LANES]; V]], largest: &mut [f32]) -> u32 {
    let mut most = _mm256_setzero_si256();
    let (eights, rest) = groups.as_chunks::<LANES>();
    let (results, rest_results) = largest.as_chunks_mut::<LANES>();
    let mut last = ([[[0.0; LANES]; V]; LANES], [0.0; LANES]);
    last.0[..rest.len()].copy_from_slice(rest);
    let has_rest = usize::from(!rest.is_empty());
    for is_last in [false, true] {
        let (eights, results) = if is_last {
            (&from_ref(&last.0)[..has_rest], &mut from_mut(&mut last.1)[..has_rest])
        } else {
            (eights, &mut *results)
        };
        for (groups, results) in eights.iter().zip(results) {
            let mut lanes = [_mm256_setzero_si256(); LANES];
            for i in 0..LANES {
                lanes[i] = largest_lanes(&groups[i]);
            }
            let found = largest_of_each(lanes);
            most = _mm256_max_epu32(most, found);
            // SAFETY: the reference is to 32 writable bytes; the store needs no alignment.
            unsafe { _mm256_storeu_si256(results.as_mut_ptr().cast(), found) };
        }
    }
    rest_results.copy_from_slice(&last.1[..rest.len()]);
    largest_word(most)
}

/// For groups of any number of vectors.
#[target_feature(enable = "avx2")]
fn fill_long(count: usize, vectors: &[[f32; LANES]], largest: &mut [f32]) -> u32 {
    let mut most = 0;
    for (group, largest) in vectors.chunks_exact(count).zip(largest) {
        let found = largest_word(largest_lanes(group));
        *largest = f32::from_bits(found);
        most = found.max(most);
    }
    most
}

/// The largest magnitudes of each lane.
#[inline]
#[target_feature(enable = "avx2")]
fn largest_lanes(vectors: &[[f32; LANES]]) -> __m256i {
    let mut lanes = _mm256_setzero_si256();
    for vector in vectors {
        // SAFETY: the reference is to 32 readable bytes; the load needs no alignment.
        let x = unsafe { _mm256_loadu_si256(vector.as_ptr().cast()) };
        lanes = _mm256_max_epu32(lanes, _mm256_and_si256(x, words(0x7fff_ffff)));
    }
    lanes
}

/// The largest of eight unsigned words.
#[inline]
#[target_feature(enable = "avx2")]
fn largest_word(words: __m256i) -> u32 {
    !least(_mm256_xor_si256(words, _mm256_set1_epi32(-1)))
}

/// The largest word of each of eight vectors, by a transposition that keeps the greater ones: of
/// words, of pairs, of halves.
#[inline]
#[target_feature(enable = "avx2")]
fn largest_of_each([a, b, c, d, e, f, g, h]: [__m256i; LANES]) -> __m256i {
    let low = greater_pairs(greater_words(a, b), greater_words(c, d));
    let high = greater_pairs(greater_words(e, f), greater_words(g, h));
    _mm256_max_epu32(
        _mm256_permute2x128_si256::<0x20>(low, high),
        _mm256_permute2x128_si256::<0x31>(low, high),
    )
}

/// In each half the greater ones of words 0 and 2, and of 1 and 3, of both operands in turn.
#[inline]
#[target_feature(enable = "avx2")]
fn greater_words(a: __m256i, b: __m256i) -> __m256i {
    _mm256_max_epu32(_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b))
}

/// In each half the greater ones of both pairs of words, of both operands.
#[inline]
#[target_feature(enable = "avx2")]
fn greater_pairs(a: __m256i, b: __m256i) -> __m256i {
    _mm256_max_epu32(_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b))
}

/// Encodes groups of finite elements by comparison with the places of their scales; `None` for
/// groups of other lengths.
pub(crate) fn encode_by_steps(
    _: Avx2,
    (rows, sign): (&[Row; 256], u32),
    length: usize,
    scales: &[u8],
    values: &[f32],
    codes: &mut [u8],
) -> Option<()> {
    assert_eq!(values.len(), codes.len(), "elements and codes must have the same length");
    assert_eq!(values.len(), length * scales.len(), "every group needs a scale");
    // SAFETY: the proof says that the machine has these instructions.
    unsafe {
        match length {
            16 => all_by_steps::<2>(rows, sign, scales, values, codes),
            32 => all_by_steps::<1>(rows, sign, scales, values, codes),
            _ => return None,
        }
    }
    Some(())
}

/// Rows by codes of scales, and the bit of the sign.
struct Steps<'a> {
    rows: &'a [Row; 256],
    sign: __m256i,
}

/// Encodes groups of which a step has `G`.
#[target_feature(enable = "avx2,f16c")]
fn all_by_steps<const G: usize>(
    rows: &[Row; 256],
    sign: u32,
    scales: &[u8],
    values: &[f32],
    codes: &mut [u8],
) {
    let steps = Steps { rows, sign: bytes(1 << sign) };
    // SAFETY: this function has the level's instructions.
    unsafe { for_groups::<_, STEP, G>(&steps, values, scales, codes) };
}

impl<const G: usize> GroupStep<STEP, G> for Steps<'_> {
    type From = f32;
    type With = u8;
    type To = u8;

    #[inline]
    #[target_feature(enable = "avx2,f16c")]
    unsafe fn step(&self, x: &[f32; STEP], scales: &[u8; G], codes: &mut [u8; STEP]) {
        let (mut elements, mut unreached) = ([_mm256_setzero_si256(); 4], [_mm256_setzero_si256(); 4]);
        for i in 0..4 {
            // SAFETY: this function has the level's instructions.
            elements[i] = unsafe { f32::load(x, i) };
            unreached[i] = by_row(elements[i], &self.rows[usize::from(scales[i * G / 4])]);
        }
        let places = _mm256_add_epi8(narrow(unreached), bytes(7));
        // A negative element has a negative lane, whatever it is narrowed to.
        let negative = _mm256_cmpgt_epi8(_mm256_setzero_si256(), narrow(elements));
        let code = in_order::<u8>(_mm256_or_si256(places, _mm256_and_si256(negative, self.sign)));
        // SAFETY: this function has the level's instructions, and the store needs no alignment.
        unsafe { store(codes, &[code; 2], false) };
    }
}

/// Words → bytes with signed saturation, in the order that [`in_order`] undoes.
#[inline]
#[target_feature(enable = "avx2")]
fn narrow(x: [__m256i; 4]) -> __m256i {
    narrow_signed::<u8>(&[_mm256_packs_epi32(x[0], x[1]), _mm256_packs_epi32(x[2], x[3])], 0)
}

/// Looks places up by the lowest two bits of lanes.
#[inline]
#[target_feature(enable = "avx2")]
fn looked_up(places: &[i32; 4], at: __m256i) -> __m256i {
    // SAFETY: the reference is to 16 readable bytes; the load needs no alignment.
    let places = unsafe { _mm_loadu_si128(places.as_ptr().cast()) };
    let places = _mm256_castsi256_ps(_mm256_broadcastsi128_si256(places));
    _mm256_castps_si256(_mm256_permutevar_ps(places, at))
}

/// How many places of a row magnitudes don't reach, negated: a search in three comparisons, as
/// places ascend.
#[inline]
#[target_feature(enable = "avx2")]
fn by_row(x: __m256i, row: &Row) -> __m256i {
    let magnitude = _mm256_and_si256(x, words(0x7fff_ffff));
    let fours = _mm256_cmpgt_epi32(_mm256_set1_epi32(row.places[3]), magnitude);
    let twos = _mm256_cmpgt_epi32(looked_up(&row.odd, fours), magnitude);
    let sum = _mm256_add_epi32(_mm256_add_epi32(fours, fours), twos);
    let ones = _mm256_cmpgt_epi32(looked_up(&row.even, sum), magnitude);
    _mm256_add_epi32(_mm256_add_epi32(sum, sum), ones)
}
