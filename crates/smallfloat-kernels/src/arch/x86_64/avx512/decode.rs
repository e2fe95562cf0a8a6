//! Codes of at most 8 bits → f32, bf16, f64 or f16: byte tables of all magnitudes (VPERMI2B), the
//! sign where a code keeps it. f64 and f16 are conversions of the f32, which must not be subnormal
//! then.

use std::arch::x86_64::*;

use half::{bf16, f16};

use crate::arch::machine::Avx512;
use crate::arch::machine::avx2::decode::Destination as NarrowClasses;
use crate::arch::machine::avx2::lanes::elements_to_alignment;
use crate::arch::machine::avx512::lanes::{STEP, bytes, words};
use crate::plan::decode::{DecodePlan, Signs};

/// A destination: how the 16-bit halves of 64 codes are stored.
pub(crate) trait Destination: NarrowClasses {
    /// Which code each byte of the reordered codes is, so that interleaving leaves the halves where
    /// stores want them.
    const PLACES: [u8; STEP];

    /// Stores the halves, past the caches if `STREAM`.
    ///
    /// # Safety
    /// The machine must have AVX-512 F and BW; with `STREAM`, `values` must be aligned to 64 bytes.
    unsafe fn store_wide<const STREAM: bool>(values: &mut [Self; STEP], halves: [__m512i; 2]);
}

/// # Safety
/// The machine must have AVX-512 F; `to` must be writable and, with `STREAM`, aligned.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn put<const STREAM: bool>(to: *mut __m512i, vector: __m512i) {
    // SAFETY: the caller's promise.
    unsafe { if STREAM { _mm512_stream_si512(to, vector) } else { _mm512_storeu_si512(to, vector) } }
}

/// The words of 64 binary32 whose places are [`f32::PLACES`](Destination::PLACES).
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn singles([low, high]: [__m512i; 2]) -> [__m512i; 4] {
    let upper = words(0xffff_0000);
    [
        _mm512_slli_epi32::<16>(low),
        _mm512_and_si512(low, upper),
        _mm512_slli_epi32::<16>(high),
        _mm512_and_si512(high, upper),
    ]
}

impl Destination for f32 {
    /// Halves at even places of a 128-bit lane's lower half are shifted into the first vector,
    /// those at odd places masked into the second; its upper half makes the other two vectors.
    const PLACES: [u8; STEP] = {
        let mut places = [0; STEP];
        let mut i = 0;
        while i < STEP {
            let (lane, byte) = (i / 16, i % 16);
            let vector = 2 * (byte / 8) + byte % 2;
            #[expect(clippy::cast_possible_truncation, reason = "below 64")]
            let code = (16 * vector + 4 * lane + byte % 8 / 2) as u8;
            places[i] = code;
            i += 1;
        }
        places
    };

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    unsafe fn store_wide<const STREAM: bool>(values: &mut [Self; STEP], halves: [__m512i; 2]) {
        for (sixteen, vector) in values.as_chunks_mut::<16>().0.iter_mut().zip(singles(halves)) {
            // SAFETY: the reference is to 64 writable bytes; the caller has checked the alignment.
            unsafe { put::<STREAM>(sixteen.as_mut_ptr().cast(), vector) };
        }
    }
}

impl Destination for f64 {
    const PLACES: [u8; STEP] = f32::PLACES;

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    unsafe fn store_wide<const STREAM: bool>(values: &mut [Self; STEP], halves: [__m512i; 2]) {
        for (sixteen, vector) in values.as_chunks_mut::<16>().0.iter_mut().zip(singles(halves)) {
            let eights = [_mm512_castsi512_si256(vector), _mm512_extracti64x4_epi64::<1>(vector)];
            for (eight, singles) in sixteen.as_chunks_mut::<8>().0.iter_mut().zip(eights) {
                let vector = _mm512_castpd_si512(_mm512_cvtps_pd(_mm256_castsi256_ps(singles)));
                // SAFETY: the reference is to 64 writable bytes; the caller has checked the
                // alignment.
                unsafe { put::<STREAM>(eight.as_mut_ptr().cast(), vector) };
            }
        }
    }
}

impl Destination for f16 {
    const PLACES: [u8; STEP] = f32::PLACES;

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    unsafe fn store_wide<const STREAM: bool>(values: &mut [Self; STEP], halves: [__m512i; 2]) {
        const EXACT: i32 = _MM_FROUND_TO_NEAREST_INT;
        let [a, b, c, d] = singles(halves);
        for (many, [low, high]) in values.as_chunks_mut::<32>().0.iter_mut().zip([[a, b], [c, d]]) {
            let low = _mm512_cvtps_ph::<EXACT>(_mm512_castsi512_ps(low));
            let high = _mm512_cvtps_ph::<EXACT>(_mm512_castsi512_ps(high));
            let vector = _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high);
            // SAFETY: the reference is to 64 writable bytes; the caller has checked the alignment.
            unsafe { put::<STREAM>(many.as_mut_ptr().cast(), vector) };
        }
    }
}

impl Destination for bf16 {
    /// The lower halves of 128-bit lanes make the first vector, the upper ones the second.
    const PLACES: [u8; STEP] = {
        let mut places = [0; STEP];
        let mut i = 0;
        while i < STEP {
            let (lane, byte) = (i / 16, i % 16);
            #[expect(clippy::cast_possible_truncation, reason = "below 64")]
            let code = (32 * (byte / 8) + 8 * lane + byte % 8) as u8;
            places[i] = code;
            i += 1;
        }
        places
    };

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    unsafe fn store_wide<const STREAM: bool>(values: &mut [Self; STEP], halves: [__m512i; 2]) {
        for (many, vector) in values.as_chunks_mut::<32>().0.iter_mut().zip(halves) {
            // SAFETY: the reference is to 64 writable bytes; the caller has checked the alignment.
            unsafe { put::<STREAM>(many.as_mut_ptr().cast(), vector) };
        }
    }
}

/// Decodes a slice, past the caches if `stream`.
pub(crate) fn decode<D: Destination>(
    _: Avx512,
    plan: &DecodePlan,
    codes: &[u8],
    values: &mut [D],
    stream: bool,
) {
    assert_eq!(codes.len(), values.len(), "codes and values must have the same length");
    let head = if stream { elements_to_alignment(values, STEP).min(values.len()) } else { 0 };
    let (codes_head, codes) = codes.split_at(head);
    let (values_head, values) = values.split_at_mut(head);
    // SAFETY: the proof says that the machine has these instructions; after the head, a stream is
    // aligned.
    unsafe {
        match (plan.signs, stream) {
            (Some(signs), true) => {
                run::<D, _, false>(&Halved::new(plan, signs), codes_head, values_head);
                run::<D, _, true>(&Halved::new(plan, signs), codes, values);
            }
            (Some(signs), false) => run::<D, _, false>(&Halved::new(plan, signs), codes, values),
            (None, true) => {
                run::<D, _, false>(&Whole::new(plan), codes_head, values_head);
                run::<D, _, true>(&Whole::new(plan), codes, values);
            }
            (None, false) => run::<D, _, false>(&Whole::new(plan), codes, values),
        }
    }
}

/// # Safety
/// The machine must have what [`Avx512`] proves; with `STREAM`, `values` must be aligned to 64
/// bytes.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
unsafe fn run<D: Destination, T: Table, const STREAM: bool>(table: &T, codes: &[u8], values: &mut [D]) {
    let (steps, rest) = codes.as_chunks::<STEP>();
    let (value_steps, value_rest) = values.as_chunks_mut::<STEP>();
    let places = load(&D::PLACES);
    for (code, value) in steps.iter().zip(value_steps) {
        let code = _mm512_permutexvar_epi8(places, load(code));
        // SAFETY: this function has the features that tables need.
        let [low, high] = unsafe { table.look_up(code) };
        // SAFETY: the caller's promise; steps keep the alignment of the slice.
        unsafe { D::store_wide::<STREAM>(value, interleave(low, high)) };
    }
    if STREAM {
        // Streamed stores are not ordered with later ones of this thread as others see them.
        _mm_sfence();
    }
    if !rest.is_empty() {
        let (mut code, mut value) = ([0; STEP], [D::default(); STEP]);
        code[..rest.len()].copy_from_slice(rest);
        let code = _mm512_permutexvar_epi8(places, load(&code));
        // SAFETY: this function has the features that tables need.
        let [low, high] = unsafe { table.look_up(code) };
        // SAFETY: ordinary stores need no alignment.
        unsafe { D::store_wide::<false>(&mut value, interleave(low, high)) };
        value_rest.copy_from_slice(&value[..rest.len()]);
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load(codes: &[u8; STEP]) -> __m512i {
    // SAFETY: the reference is to 64 readable bytes; the load needs no alignment.
    unsafe { _mm512_loadu_si512(codes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn interleave(low: __m512i, high: __m512i) -> [__m512i; 2] {
    [_mm512_unpacklo_epi8(low, high), _mm512_unpackhi_epi8(low, high)]
}

/// The values of 64 codes, by the table of a decoder.
///
/// # Safety
/// The machine must have AVX-512 F, BW and VBMI.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
pub(super) unsafe fn values<T: Table>(code: &[u8; STEP], table: &T) -> [__m512; 4] {
    // SAFETY: this function has the features that tables need.
    let [low, high] = unsafe { table.look_up(_mm512_permutexvar_epi8(load(&f32::PLACES), load(code))) };
    let [a, b, c, d] = singles(interleave(low, high));
    [_mm512_castsi512_ps(a), _mm512_castsi512_ps(b), _mm512_castsi512_ps(c), _mm512_castsi512_ps(d)]
}

/// How codes become the low and the high bytes of their halves.
pub(super) trait Table {
    /// # Safety
    /// The machine must have AVX-512 F, BW and VBMI.
    unsafe fn look_up(&self, code: __m512i) -> [__m512i; 2];
}

/// The bytes of 128 halves: two vectors for low bytes, two for high ones.
type Half = [[__m512i; 2]; 2];

#[inline]
#[target_feature(enable = "avx512f")]
fn half(plan: &DecodePlan, upper: bool) -> Half {
    let load = |table: &[u8; 256]| {
        let quarters: &[[u8; STEP]] = table.as_chunks().0;
        let quarters = if upper { &quarters[2..] } else { quarters };
        [load(&quarters[0]), load(&quarters[1])]
    };
    [load(&plan.bytes[0]), load(&plan.bytes[1])]
}

/// Tables of 128 codes, and signs for the others.
pub(super) struct Halved {
    tables: Half,
    first: __m512i,
    span: __m512i,
    sign: __m512i,
}

impl Halved {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    pub(super) fn new(plan: &DecodePlan, signs: Signs) -> Self {
        let (first, span, sign) = (bytes(signs.first), bytes(signs.span), bytes(signs.sign));
        Self { tables: half(plan, false), first, span, sign }
    }
}

impl Table for Halved {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    unsafe fn look_up(&self, code: __m512i) -> [__m512i; 2] {
        // Only the seven low bits of an index count.
        let [low, high] = self.tables;
        let low = _mm512_permutex2var_epi8(low[0], code, low[1]);
        let high = _mm512_permutex2var_epi8(high[0], code, high[1]);
        let turned = _mm512_cmple_epu8_mask(_mm512_sub_epi8(code, self.first), self.span);
        // Adding a byte's highest bit turns it.
        [low, _mm512_mask_add_epi8(high, turned, high, self.sign)]
    }
}

/// Tables of all codes, for formats without a sign or with another value in the place of −0.
pub(super) struct Whole {
    lower: Half,
    upper: Half,
}

impl Whole {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    pub(super) fn new(plan: &DecodePlan) -> Self {
        Self { lower: half(plan, false), upper: half(plan, true) }
    }
}

impl Table for Whole {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    unsafe fn look_up(&self, code: __m512i) -> [__m512i; 2] {
        let upper = _mm512_movepi8_mask(code);
        let mut bytes = [code; 2];
        for ((bytes, lower_table), upper_table) in bytes.iter_mut().zip(&self.lower).zip(&self.upper) {
            let lower = _mm512_permutex2var_epi8(lower_table[0], code, lower_table[1]);
            let high = _mm512_permutex2var_epi8(upper_table[0], code, upper_table[1]);
            *bytes = _mm512_mask_mov_epi8(lower, upper, high);
        }
        bytes
    }
}
