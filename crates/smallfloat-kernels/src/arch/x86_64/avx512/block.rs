//! Groups of f32 with a scale each → 8-bit codes, 64 elements at once.
//!
//! A group's largest magnitude stays in registers: its scale follows from it, and elements are
//! divided by a power of two in integers, by adding to their exponents. What that makes less than
//! the smallest normal value is lifted to it, as when there is no scale, and rounds to zero. Zeros
//! and subnormals have no exponent to add to, which matters only to groups whose elements are so
//! small that the scale brings them near the destination's smallest values: these take a few
//! instructions more ([`normalized`]).

use std::arch::x86_64::*;
use std::slice::{from_mut, from_ref};

use crate::arch::machine::Avx512;
use crate::arch::machine::avx512::decode::{Halved, Table, Whole, values as decoded};
use crate::arch::machine::avx512::encode::{Constants, narrow_grid};
use crate::arch::machine::avx512::lanes::{STEP, bytes, in_order, narrow_signed, store, words};
use crate::arch::vectors::blocks::{GroupStep, for_groups, prefetch};
use crate::plan::blocks::{PowerScales, Row};
use crate::plan::decode::DecodePlan;
use crate::plan::encode::{EncodePlan, INFINITY, Mode, SubnormalGrid};

/// Elements of a vector.
const LANES: usize = 16;

/// The least code of a scale whose groups may take zeros and subnormals for 2^(1 − code).
const LEAST_USUAL: u32 = 32;

/// Returns whether the loop encodes as the plan says.
fn fits(plan: &EncodePlan) -> bool {
    let usual = plan.mode == Mode::Even && plan.low == SubnormalGrid::Gradual;
    // Half the smallest value is above what stands for zeros.
    let above = plan.lowest_field > 127 - LEAST_USUAL + 2 + plan.trailing;
    usual && above && plan.signed && !plan.integer
}

/// Encodes groups and says whether all elements are finite; `None` for other groups and plans.
pub(crate) fn encode_blocks(
    _: Avx512,
    plan: &EncodePlan,
    rule: PowerScales,
    length: usize,
    values: &[f32],
    scales: &mut [u8],
    codes: &mut [u8],
) -> Option<bool> {
    assert_eq!(values.len(), codes.len(), "elements and codes must have the same length");
    assert_eq!(values.len(), length * scales.len(), "every group needs a scale");
    if !fits(plan) {
        return None;
    }
    // SAFETY: the proof says that the machine has these instructions.
    unsafe {
        match length {
            16 => Some(all::<16, 4>(plan, rule, values, scales, codes)),
            32 => Some(all::<32, 2>(plan, rule, values, scales, codes)),
            64 => Some(all::<64, 1>(plan, rule, values, scales, codes)),
            _ => None,
        }
    }
}

/// Groups whose scales are chosen before their elements are encoded. One loop for both would wait
/// for each step's largest magnitude.
const GROUPS: usize = 128;

/// Encodes groups of `L` elements, of which a step has `G`.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vnni")]
fn all<const L: usize, const G: usize>(
    plan: &EncodePlan,
    rule: PowerScales,
    values: &[f32],
    scales: &mut [u8],
    codes: &mut [u8],
) -> bool {
    let k = Constants::new::<f32, u8>(plan);
    let (mut largest, mut chosen) = ([0.0; GROUPS], Chosen { scales: [0; GROUPS], raise: [0; GROUPS] });
    let pieces = values.chunks(GROUPS * L).zip(codes.chunks_mut(GROUPS * L));
    for ((values, codes), scales) in pieces.zip(scales.chunks_mut(GROUPS)) {
        if fill_all::<L, G>(values, &mut largest[..scales.len()]) >= INFINITY {
            return false;
        }
        let has_small = choose(rule, &largest, &mut chosen);
        match scales.first_chunk_mut::<GROUPS>() {
            Some(whole) => *whole = chosen.scales,
            None => scales.copy_from_slice(&chosen.scales[..scales.len()]),
        }
        let raise = &chosen.raise[..values.len() / L];
        if has_small {
            encode_piece::<G, true>(&k, raise, values, codes);
        } else {
            encode_piece::<G, false>(&k, raise, values, codes);
        }
    }
    true
}

/// What is chosen for groups.
struct Chosen {
    /// Codes of scales.
    scales: [u8; GROUPS],
    /// What is added to magnitudes: division by the scale.
    raise: [i32; GROUPS],
}

/// Chooses the scales of groups. Returns whether a scale is so small that zeros and subnormals need
/// care.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn choose(rule: PowerScales, largest: &[f32; GROUPS], chosen: &mut Chosen) -> bool {
    let (carry, exponent) = (words(rule.carry), words(rule.exponent));
    let mut small = 0;
    let parts = largest.as_chunks::<LANES>().0.iter().zip(chosen.scales.as_chunks_mut::<LANES>().0);
    for ((amax, scales), raise) in parts.zip(chosen.raise.as_chunks_mut::<LANES>().0) {
        // SAFETY: the reference is to 64 readable bytes; the load needs no alignment.
        let amax = unsafe { _mm512_loadu_si512(amax.as_ptr().cast()) };
        let field = _mm512_srli_epi32::<23>(_mm512_add_epi32(amax, carry));
        let code = _mm512_max_epi32(_mm512_sub_epi32(field, exponent), _mm512_setzero_si512());
        // Groups of zeros stay what they are.
        let some = _mm512_test_epi32_mask(amax, amax);
        small |= _mm512_mask_cmplt_epu32_mask(some, code, words(LEAST_USUAL));
        let exponents = _mm512_maskz_slli_epi32::<23>(some, _mm512_sub_epi32(words(127), code));
        // SAFETY: the references are to 64 and 16 writable bytes; the stores need no alignment.
        unsafe {
            _mm512_storeu_si512(raise.as_mut_ptr().cast(), exponents);
            _mm_storeu_si128(scales.as_mut_ptr().cast(), _mm512_cvtepi32_epi8(code));
        }
    }
    small != 0
}

/// The encoding of groups with chosen scales. `SMALL` says that one may be so small that zeros and
/// subnormals need care.
struct Blocks<'a, const SMALL: bool> {
    k: &'a Constants,
}

/// Encodes the elements of groups, of which a step has `G`.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vnni")]
fn encode_piece<const G: usize, const SMALL: bool>(
    k: &Constants,
    raise: &[i32],
    values: &[f32],
    codes: &mut [u8],
) {
    // SAFETY: this function has the level's instructions.
    unsafe { for_groups::<_, STEP, G>(&Blocks::<SMALL> { k }, values, raise, codes) };
}

impl<const G: usize, const SMALL: bool> GroupStep<STEP, G> for Blocks<'_, SMALL> {
    type From = f32;
    type With = i32;
    type To = u8;

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vnni")]
    unsafe fn step(&self, x: &[f32; STEP], raise: &[i32; G], codes: &mut [u8; STEP]) {
        // While these are encoded, the next groups come.
        prefetch(x, GROUPS * STEP / G * size_of::<f32>());
        let k = self.k;
        let x = load(x);
        let mut sum = [_mm512_setzero_si512(); 4];
        for i in 0..4 {
            let raise = _mm512_set1_epi32(raise[i * G / 4]);
            let mut magnitude = _mm512_and_si512(x[i], k.magnitude);
            if SMALL {
                magnitude = normalized(magnitude, raise);
            }
            let quotient = _mm512_max_epi32(_mm512_add_epi32(magnitude, raise), words(1 << 23));
            sum[i] = k.sum(quotient);
        }
        let index = narrow_grid(sum, k);
        let negative = _mm512_movepi8_mask(narrow_signed(x));
        let with_sign = negative & !(_mm512_testn_epi8_mask(index, index) & k.drops_zero_sign);
        let code = _mm512_mask_add_epi8(index, with_sign, index, k.sign);
        let top = _mm512_cmpge_epu8_mask(index, k.top);
        let overflow = _mm512_mask_blend_epi8(negative, k.overflow[0], k.overflow[1]);
        let code = in_order::<u8>(_mm512_mask_mov_epi8(code, top, overflow));
        // SAFETY: this function has the level's instructions, and the store needs no alignment.
        unsafe { store(codes, [code; 2], false) };
    }
}

/// The magnitudes of zeros and subnormals in groups of small scales as if exponents went on below
/// binary32's: a number of places, and the exponent of a place.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn normalized(magnitude: __m512i, raise: __m512i) -> __m512i {
    let is_small = _mm512_cmpgt_epi32_mask(raise, words((127 - LEAST_USUAL) << 23));
    let is_subnormal = _mm512_mask_cmplt_epu32_mask(is_small, magnitude, words(1 << 23));
    let places = _mm512_castps_si512(_mm512_cvtepi32_ps(magnitude));
    _mm512_mask_sub_epi32(magnitude, is_subnormal, places, words(149 << 23))
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn load(x: &[f32; STEP]) -> [__m512i; 4] {
    let sixteens: &[[f32; LANES]] = x.as_chunks().0;
    let mut vectors = [_mm512_setzero_si512(); 4];
    for i in 0..4 {
        // SAFETY: the reference is to 64 readable bytes; the load needs no alignment.
        vectors[i] = unsafe { _mm512_loadu_si512(sixteens[i].as_ptr().cast()) };
    }
    vectors
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn magnitudes(x: [__m512i; 4], mask: __m512i) -> [__m512i; 4] {
    let mut magnitudes = x;
    for i in 0..4 {
        magnitudes[i] = _mm512_and_si512(x[i], mask);
    }
    magnitudes
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn max(a: __m512i, b: __m512i) -> __m512i {
    _mm512_max_epu32(a, b)
}

/// The halves of two vectors side by side, the larger of their lanes.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn halves(a: __m512i, b: __m512i) -> __m512i {
    max(_mm512_shuffle_i32x4::<0b01_00_01_00>(a, b), _mm512_shuffle_i32x4::<0b11_10_11_10>(a, b))
}

/// The largest of the magnitudes of each group of `L`: the i-th quarter of the result has that of
/// the group which the i-th vector is of, in every lane.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn largest_of_groups<const L: usize>(x: [__m512i; 4]) -> __m512i {
    // Quarters of vectors: 2, 3, 0, 1 and 1, 0, 3, 2; and so the words of quarters.
    const HALVES: i32 = 0b01_00_11_10;
    const PAIRS: i32 = 0b10_11_00_01;
    let groups = match L {
        16 => {
            let (a, b) = (halves(x[0], x[1]), halves(x[2], x[3]));
            max(_mm512_shuffle_i32x4::<0b10_00_10_00>(a, b), _mm512_shuffle_i32x4::<0b11_01_11_01>(a, b))
        }
        32 => {
            let all = halves(max(x[0], x[1]), max(x[2], x[3]));
            max(all, _mm512_shuffle_i32x4::<PAIRS>(all, all))
        }
        _ => {
            let all = max(max(x[0], x[1]), max(x[2], x[3]));
            let all = max(all, _mm512_shuffle_i32x4::<HALVES>(all, all));
            max(all, _mm512_shuffle_i32x4::<PAIRS>(all, all))
        }
    };
    let groups = max(groups, _mm512_shuffle_epi32::<HALVES>(groups));
    max(groups, _mm512_shuffle_epi32::<PAIRS>(groups))
}

/// Fills in the largest magnitudes of groups, and returns the bits of the largest of all.
pub(crate) fn fill_largest(_: Avx512, length: usize, values: &[f32], largest: &mut [f32]) -> u32 {
    assert_eq!(values.len(), length * largest.len(), "every group has a largest magnitude");
    // SAFETY: the proof says that the machine has these instructions.
    unsafe {
        match length {
            16 => fill_all::<16, 4>(values, largest),
            32 => fill_all::<32, 2>(values, largest),
            _ => fill_long(length, values, largest),
        }
    }
}

#[target_feature(enable = "avx512f,avx512bw")]
fn fill_all<const L: usize, const G: usize>(values: &[f32], largest: &mut [f32]) -> u32 {
    let mut all = _mm512_setzero_si512();
    let (steps, rest) = values.as_chunks::<STEP>();
    let (results, rest_results) = largest.as_chunks_mut::<G>();
    let places = if L == 16 {
        _mm512_setr_epi32(0, 4, 8, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    } else {
        _mm512_setr_epi32(0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    };
    let mut last = ([0.0; STEP], [0.0; G]);
    last.0[..rest.len()].copy_from_slice(rest);
    let has_rest = usize::from(!rest.is_empty());
    for is_last in [false, true] {
        let (steps, results) = if is_last {
            (&from_ref(&last.0)[..has_rest], &mut from_mut(&mut last.1)[..has_rest])
        } else {
            (steps, &mut *results)
        };
        for (x, results) in steps.iter().zip(results) {
            let groups = largest_of_groups::<L>(magnitudes(load(x), words(0x7fff_ffff)));
            all = max(all, groups);
            let found = firsts(_mm512_permutexvar_epi32(places, groups));
            // A copy of slices would be a call.
            for (result, found) in results.iter_mut().zip(found) {
                *result = found;
            }
        }
    }
    rest_results.copy_from_slice(&last.1[..rest.len() / L]);
    _mm512_reduce_max_epu32(all)
}

/// Fills in the largest magnitudes of groups of any length, and returns the largest of all.
#[target_feature(enable = "avx512f,avx512bw")]
fn fill_long(length: usize, values: &[f32], largest: &mut [f32]) -> u32 {
    let (mask, mut most) = (words(0x7fff_ffff), 0);
    for (values, largest) in values.chunks_exact(length).zip(largest) {
        let (steps, rest) = values.as_chunks::<STEP>();
        let mut last = [0.0; STEP];
        last[..rest.len()].copy_from_slice(rest);
        let mut all = magnitudes(load(&last), mask);
        for x in steps {
            let x = magnitudes(load(x), mask);
            for i in 0..4 {
                all[i] = max(all[i], x[i]);
            }
        }
        let all = max(max(all[0], all[1]), max(all[2], all[3]));
        let bits = _mm512_reduce_max_epu32(all);
        *largest = f32::from_bits(bits);
        most = bits.max(most);
    }
    most
}

/// The first four words.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn firsts(x: __m512i) -> [f32; 4] {
    let mut words = [0.0; 4];
    // SAFETY: the reference is to 16 writable bytes.
    unsafe { _mm_storeu_si128(words.as_mut_ptr().cast(), _mm512_castsi512_si128(x)) };
    words
}

/// x · over / unit, rounded to odd in binary32.
pub(crate) fn quotients_to_odd(_: Avx512, over: f64, unit: f64, values: &[f32], quotients: &mut [f32]) {
    assert_eq!(values.len(), quotients.len(), "values and quotients must have the same length");
    // SAFETY: the proof says that the machine has these instructions.
    unsafe { all_to_odd(over, unit, values, quotients) };
}

#[target_feature(enable = "avx512f,avx512dq,avx512vl")]
fn all_to_odd(over: f64, unit: f64, values: &[f32], quotients: &mut [f32]) {
    let (over, unit) = (_mm512_set1_pd(over), _mm512_set1_pd(unit));
    let (steps, rest) = values.as_chunks::<8>();
    let (results, rest_results) = quotients.as_chunks_mut::<8>();
    for (x, quotients) in steps.iter().zip(results) {
        step_to_odd(x, over, unit, quotients);
    }
    let (mut last, mut result) = ([0.0; 8], [0.0; 8]);
    last[..rest.len()].copy_from_slice(rest);
    step_to_odd(&last, over, unit, &mut result);
    rest_results.copy_from_slice(&result[..rest.len()]);
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl")]
fn step_to_odd(x: &[f32; 8], over: __m512d, unit: __m512d, quotients: &mut [f32; 8]) {
    const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
    const TRUNCATED: i32 = _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC;
    // SAFETY: the reference is to 32 readable bytes.
    let x = _mm512_cvtps_pd(unsafe { _mm256_loadu_ps(x.as_ptr()) });
    let product = _mm512_mul_round_pd::<NEAREST>(x, over);
    let quotient = _mm512_div_round_pd::<NEAREST>(product, unit);
    // Toward zero, and to the odd one of two: the other has a last bit of 1.
    let near = _mm512_cvt_roundpd_ps::<TRUNCATED>(quotient);
    let inexact = _mm512_cmpneq_pd_mask(_mm512_cvtps_pd(near), quotient);
    let near = _mm256_castps_si256(near);
    let odd = _mm256_mask_or_epi32(near, inexact, near, _mm256_set1_epi32(1));
    // SAFETY: the reference is to 32 writable bytes.
    unsafe { _mm256_storeu_si256(quotients.as_mut_ptr().cast(), odd) };
}

/// Encodes groups of finite elements by comparison with the places of their scales; `None` for
/// groups of other lengths.
pub(crate) fn encode_by_steps(
    _: Avx512,
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
            16 => all_by_steps::<4>(rows, sign, scales, values, codes),
            32 => all_by_steps::<2>(rows, sign, scales, values, codes),
            _ => return None,
        }
    }
    Some(())
}

/// Rows by codes of scales, and the bit of the sign.
struct Steps<'a> {
    rows: &'a [Row; 256],
    sign: __m512i,
}

/// Encodes groups of which a step has `G`.
#[target_feature(enable = "avx512f,avx512bw,avx512dq")]
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
    #[target_feature(enable = "avx512f,avx512bw,avx512dq")]
    unsafe fn step(&self, x: &[f32; STEP], scales: &[u8; G], codes: &mut [u8; STEP]) {
        let x = load(x);
        let (mut places, mut reached) = (x, [0; 4]);
        for i in 0..4 {
            (places[i], reached[i]) = by_row(x[i], &self.rows[usize::from(scales[i * G / 4])]);
        }
        let places = _mm512_and_si512(narrow_signed(places), bytes(7));
        let negative = _mm512_movepi8_mask(narrow_signed(x));
        let code = in_order::<u8>(_mm512_mask_add_epi8(places, negative, places, self.sign));
        // Nothing is added in place: 1 = 0 − (−1).
        let code = _mm512_mask_sub_epi8(code, join_masks(reached), code, bytes(u8::MAX));
        // SAFETY: this function has the level's instructions, and the store needs no alignment.
        unsafe { store(codes, [code; 2], false) };
    }
}

/// Masks of sixteen elements each → one of 64.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn join_masks(masks: [__mmask16; 4]) -> __mmask64 {
    let pair = |low: __mmask16, high: __mmask16| _mm512_kunpackw(u32::from(high), u32::from(low));
    _mm512_kunpackd(u64::from(pair(masks[2], masks[3])), u64::from(pair(masks[0], masks[1])))
}

/// How many places of a row magnitudes reach: a search in three comparisons, as places ascend.
/// Returns 0, 2, 4 or 6, with anything above the lowest three bits, and which are one more.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq")]
fn by_row(x: __m512i, row: &Row) -> (__m512i, __mmask16) {
    let magnitude = _mm512_and_si512(x, words(0x7fff_ffff));
    // The places 3, then 1 or 5, then 0, 2, 4 or 6.
    let upper = _mm512_cmpge_epi32_mask(magnitude, _mm512_set1_epi32(row.places[3]));
    let middle =
        _mm512_mask_blend_epi32(upper, _mm512_set1_epi32(row.places[1]), _mm512_set1_epi32(row.places[5]));
    // Bit 3 chooses between two copies of the row.
    let place = _mm512_mask_blend_epi32(upper, words(8), words(12));
    let reaches = _mm512_cmpge_epi32_mask(magnitude, middle);
    let place = _mm512_mask_or_epi32(place, reaches, place, words(2));
    // SAFETY: the reference is to 32 readable bytes.
    let row = _mm512_broadcast_i64x4(unsafe { _mm256_loadu_si256(row.places.as_ptr().cast()) });
    (place, _mm512_cmpge_epi32_mask(magnitude, _mm512_permutexvar_epi32(place, row)))
}

/// Decodes groups to products with their factors; `None` for groups of other lengths.
pub(crate) fn decode_blocks(
    _: Avx512,
    plan: &DecodePlan,
    length: usize,
    factors: &[f32],
    codes: &[u8],
    values: &mut [f32],
) -> Option<()> {
    assert_eq!(values.len(), codes.len(), "codes and values must have the same length");
    assert_eq!(values.len(), length * factors.len(), "every group needs a factor");
    // SAFETY: the proof says that the machine has these instructions.
    unsafe {
        match (length, plan.signs) {
            (16, Some(_)) => all_products::<4, _>(&Halved::new(plan), factors, codes, values),
            (16, None) => all_products::<4, _>(&Whole::new(plan), factors, codes, values),
            (32, Some(_)) => all_products::<2, _>(&Halved::new(plan), factors, codes, values),
            (32, None) => all_products::<2, _>(&Whole::new(plan), factors, codes, values),
            _ => return None,
        }
    }
    Some(())
}

/// Products of what codes stand for.
struct Products<'a, T> {
    table: &'a T,
}

/// Decodes groups of which a step has `G`.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn all_products<const G: usize, T: Table>(table: &T, factors: &[f32], codes: &[u8], values: &mut [f32]) {
    // SAFETY: this function has the level's instructions.
    unsafe { for_groups::<_, STEP, G>(&Products { table }, codes, factors, values) };
}

impl<const G: usize, T: Table> GroupStep<STEP, G> for Products<'_, T> {
    type From = u8;
    type With = f32;
    type To = f32;

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    unsafe fn step(&self, codes: &[u8; STEP], factors: &[f32; G], values: &mut [f32; STEP]) {
        // SAFETY: this function has the features that tables need.
        let vectors = unsafe { decoded(codes, self.table) };
        for (i, sixteen) in values.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
            let product = _mm512_mul_ps(vectors[i], _mm512_set1_ps(factors[i * G / 4]));
            // SAFETY: the reference is to 64 writable bytes; the store needs no alignment.
            unsafe { _mm512_storeu_ps(sixteen.as_mut_ptr(), product) };
        }
    }
}
