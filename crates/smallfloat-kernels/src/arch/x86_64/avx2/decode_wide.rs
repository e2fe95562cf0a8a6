//! Codes of at most 16 bits in half-words → f32 or f64, by `decode_plan.rs`. The one multiplication
//! is exact and of normal numbers or zeros, so the host's settings do not matter.

use std::arch::x86_64::*;

use crate::arch::machine::Avx2;
use crate::arch::machine::avx2::lanes::{STEP, elements_to_alignment, words};
use crate::plan::decode::{INFINITY, NAN, WidePlan};

/// Codes of one vector.
const EIGHT: usize = STEP / 4;

/// A destination: how the words of eight codes are stored.
pub(crate) trait WideDestination: Copy + Default {
    /// Stores the values, past the caches if `STREAM`.
    ///
    /// # Safety
    /// The machine must have AVX2; with `STREAM`, `values` must be aligned to 32 bytes.
    unsafe fn store<const STREAM: bool>(values: &mut [Self; EIGHT], words: __m256i);
}

impl WideDestination for f32 {
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn store<const STREAM: bool>(values: &mut [Self; EIGHT], words: __m256i) {
        // SAFETY: the reference is to 32 writable bytes; the caller has checked the alignment.
        unsafe { put::<STREAM>(values.as_mut_ptr().cast(), words) };
    }
}

impl WideDestination for f64 {
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn store<const STREAM: bool>(values: &mut [Self; EIGHT], words: __m256i) {
        for (four, vector) in values.as_chunks_mut::<4>().0.iter_mut().zip(widen(words)) {
            // SAFETY: the reference is to 32 writable bytes; the caller has checked the alignment.
            unsafe { put::<STREAM>(four.as_mut_ptr().cast(), vector) };
        }
    }
}

/// Eight binary32 → binary64, exactly; subnormals must not be among them.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn widen(words: __m256i) -> [__m256i; 2] {
    let floats = _mm256_castsi256_ps(words);
    let (low, high) = (_mm256_castps256_ps128(floats), _mm256_extractf128_ps::<1>(floats));
    [_mm256_castpd_si256(_mm256_cvtps_pd(low)), _mm256_castpd_si256(_mm256_cvtps_pd(high))]
}

/// Stores a vector, past the caches if `STREAM`.
///
/// # Safety
/// `to` must be writable and, with `STREAM`, aligned.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) unsafe fn put<const STREAM: bool>(to: *mut __m256i, vector: __m256i) {
    // SAFETY: the caller's promise.
    unsafe { if STREAM { _mm256_stream_si256(to, vector) } else { _mm256_storeu_si256(to, vector) } }
}

/// Decodes a slice, past the caches if `stream`.
pub(crate) fn decode_wide<D: WideDestination>(
    _: Avx2,
    plan: &WidePlan,
    codes: &[u16],
    values: &mut [D],
    stream: bool,
) {
    assert_eq!(codes.len(), values.len(), "codes and values must have the same length");
    let head = if stream { elements_to_alignment(values, STEP).min(values.len()) } else { 0 };
    let (codes_head, codes) = codes.split_at(head);
    let (values_head, values) = values.split_at_mut(head);
    let specials = plan.last_finite < plan.index_mask || plan.nan_code != u32::MAX;
    // SAFETY: the proof says that the machine has these instructions; after the head, a stream is
    // aligned.
    unsafe {
        match (plan.first_linear > 0, specials) {
            (true, true) => both::<D, true, true>(plan, [codes_head, codes], [values_head, values], stream),
            (true, false) => both::<D, true, false>(plan, [codes_head, codes], [values_head, values], stream),
            (false, true) => both::<D, false, true>(plan, [codes_head, codes], [values_head, values], stream),
            (false, false) => {
                both::<D, false, false>(plan, [codes_head, codes], [values_head, values], stream);
            }
        }
    }
}

/// A head, and the rest, past the caches if `stream`. Subnormals and specials cost their
/// instructions only where a format has them.
///
/// # Safety
/// The machine must have AVX2; with `stream`, the second part of `values` must be aligned to 32
/// bytes.
#[target_feature(enable = "avx2")]
unsafe fn both<D: WideDestination, const SUBNORMALS: bool, const SPECIALS: bool>(
    plan: &WidePlan,
    codes: [&[u16]; 2],
    [head, values]: [&mut [D]; 2],
    stream: bool,
) {
    // SAFETY: the caller's promise.
    unsafe {
        run::<D, false, SUBNORMALS, SPECIALS>(plan, codes[0], head);
        if stream {
            run::<D, true, SUBNORMALS, SPECIALS>(plan, codes[1], values);
        } else {
            run::<D, false, SUBNORMALS, SPECIALS>(plan, codes[1], values);
        }
    }
}

/// # Safety
/// The machine must have AVX2; with `STREAM`, `values` must be aligned to 32 bytes.
#[target_feature(enable = "avx2")]
unsafe fn run<D: WideDestination, const STREAM: bool, const SUBNORMALS: bool, const SPECIALS: bool>(
    plan: &WidePlan,
    codes: &[u16],
    values: &mut [D],
) {
    let k = Constants::new(plan);
    let (steps, rest) = codes.as_chunks::<EIGHT>();
    let (value_steps, value_rest) = values.as_chunks_mut::<EIGHT>();
    for (code, value) in steps.iter().zip(value_steps) {
        let words = step::<SUBNORMALS, SPECIALS>(code, &k);
        // SAFETY: the caller's promise; steps keep the alignment of the slice.
        unsafe { D::store::<STREAM>(value, words) };
    }
    if STREAM {
        // Streamed stores are not ordered with later ones of this thread as others see them.
        _mm_sfence();
    }
    if !rest.is_empty() {
        let (mut code, mut value) = ([0; EIGHT], [D::default(); EIGHT]);
        code[..rest.len()].copy_from_slice(rest);
        let words = step::<SUBNORMALS, SPECIALS>(&code, &k);
        // SAFETY: ordinary stores need no alignment.
        unsafe { D::store::<false>(&mut value, words) };
        value_rest.copy_from_slice(&value[..rest.len()]);
    }
}

/// The plan as vectors.
struct Constants {
    code_mask: __m256i,
    index_mask: __m256i,
    shift: __m128i,
    offset: __m256i,
    first_linear: __m256i,
    smallest: __m256,
    last_finite: __m256i,
    last_number: __m256i,
    nan_code: __m256i,
    /// What brings a code's highest bit to that of a word, and the sign there.
    to_top: __m128i,
    sign: __m256i,
}

impl Constants {
    #[inline]
    #[target_feature(enable = "avx2")]
    fn new(plan: &WidePlan) -> Self {
        Self {
            code_mask: words(plan.index_mask | plan.sign_mask),
            index_mask: words(plan.index_mask),
            shift: _mm_cvtsi32_si128(plan.shift.cast_signed()),
            offset: words(plan.offset),
            first_linear: words(plan.first_linear),
            smallest: _mm256_castsi256_ps(words(plan.smallest)),
            last_finite: words(plan.last_finite),
            last_number: words(plan.last_number),
            nan_code: words(plan.nan_code),
            to_top: _mm_cvtsi32_si128((32 - plan.width).cast_signed()),
            sign: words(if plan.sign_mask == 0 { 0 } else { 1 << 31 }),
        }
    }
}

/// The words of eight codes.
#[inline]
#[target_feature(enable = "avx2")]
fn step<const SUBNORMALS: bool, const SPECIALS: bool>(code: &[u16; EIGHT], k: &Constants) -> __m256i {
    // SAFETY: the reference is to 16 readable bytes.
    let code = _mm256_cvtepu16_epi32(unsafe { _mm_loadu_si128(code.as_ptr().cast()) });
    let index = _mm256_and_si256(code, k.index_mask);
    let mut word = _mm256_add_epi32(_mm256_sll_epi32(index, k.shift), k.offset);
    if SUBNORMALS {
        let subnormal = _mm256_castps_si256(_mm256_mul_ps(_mm256_cvtepi32_ps(index), k.smallest));
        word = _mm256_blendv_epi8(word, subnormal, _mm256_cmpgt_epi32(k.first_linear, index));
    }
    if SPECIALS {
        word = _mm256_blendv_epi8(word, words(INFINITY), _mm256_cmpgt_epi32(index, k.last_finite));
    }
    word = _mm256_or_si256(word, _mm256_and_si256(_mm256_sll_epi32(code, k.to_top), k.sign));
    if SPECIALS {
        let on_zero = _mm256_cmpeq_epi32(_mm256_and_si256(code, k.code_mask), k.nan_code);
        let is_nan = _mm256_or_si256(_mm256_cmpgt_epi32(index, k.last_number), on_zero);
        word = _mm256_blendv_epi8(word, words(NAN), is_nan);
    }
    word
}
