//! Codes of at most 16 bits in half-words → f32 or f64, by `plan/decode.rs`. The one multiplication
//! is exact and of normal numbers or zeros, so the host's settings do not matter.

use std::arch::x86_64::*;
use std::marker::PhantomData;

use crate::arch::machine::Avx2;
use crate::arch::machine::avx2::lanes::{STEP, words};
use crate::arch::vectors::blocks::{self, Decoder, Step, for_steps, nothing};
use crate::arch::vectors::choices::CodesOnly;
use crate::plan::decode::{INFINITY, NAN, WidePlan};

/// Codes of one vector.
const EIGHT: usize = STEP / 4;

/// A destination: how the words of eight codes are stored.
pub(crate) trait WideDestination: Copy + Default {
    /// Stores the values, past the caches if `stream`.
    ///
    /// # Safety
    /// The machine must have AVX2; with `stream`, `values` must be aligned to 32 bytes.
    unsafe fn store(values: &mut [Self; EIGHT], words: __m256i, stream: bool);
}

impl WideDestination for f32 {
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn store(values: &mut [Self; EIGHT], words: __m256i, stream: bool) {
        // SAFETY: the reference is to 32 writable bytes; the caller has checked the alignment.
        unsafe { put(values.as_mut_ptr().cast(), words, stream) };
    }
}

impl WideDestination for f64 {
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn store(values: &mut [Self; EIGHT], words: __m256i, stream: bool) {
        for (four, vector) in values.as_chunks_mut::<4>().0.iter_mut().zip(widen(words)) {
            // SAFETY: the reference is to 32 writable bytes; the caller has checked the alignment.
            unsafe { put(four.as_mut_ptr().cast(), vector, stream) };
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

/// Stores a vector, past the caches if `stream`.
///
/// # Safety
/// `to` must be writable and, with `stream`, aligned.
#[inline]
#[target_feature(enable = "avx2")]
pub(in crate::arch) unsafe fn put(to: *mut __m256i, vector: __m256i, stream: bool) {
    // SAFETY: the caller's promise.
    unsafe { if stream { _mm256_stream_si256(to, vector) } else { _mm256_storeu_si256(to, vector) } }
}

/// Decodes a slice, past the caches if `stream`.
pub(crate) fn decode_wide<D: WideDestination>(
    _: Avx2,
    plan: &WidePlan,
    codes: &[u16],
    values: &mut [D],
    stream: bool,
) {
    // Subnormals and specials cost their instructions only where a format has them.
    let specials = plan.last_finite < plan.index_mask || plan.nan_code != u32::MAX;
    // SAFETY: the proof says that the machine has these instructions.
    unsafe {
        match (plan.first_linear > 0, specials) {
            (true, true) => blocks::decode(&HalfWords::<D, true, true>::new(plan), codes, values, stream),
            (true, false) => blocks::decode(&HalfWords::<D, true, false>::new(plan), codes, values, stream),
            (false, true) => blocks::decode(&HalfWords::<D, false, true>::new(plan), codes, values, stream),
            (false, false) => blocks::decode(&HalfWords::<D, false, false>::new(plan), codes, values, stream),
        }
    }
}

struct HalfWords<'a, D, const SUBNORMALS: bool, const SPECIALS: bool> {
    plan: &'a WidePlan,
    destination: PhantomData<D>,
}

impl<'a, D, const SUBNORMALS: bool, const SPECIALS: bool> HalfWords<'a, D, SUBNORMALS, SPECIALS> {
    fn new(plan: &'a WidePlan) -> Self {
        Self { plan, destination: PhantomData }
    }
}

impl<D: WideDestination, const SUBNORMALS: bool, const SPECIALS: bool> Decoder
    for HalfWords<'_, D, SUBNORMALS, SPECIALS>
{
    type From = u16;
    type To = D;
    const ALIGNMENT: usize = STEP;

    #[target_feature(enable = "avx2")]
    unsafe fn decode<const STREAM: bool>(&self, codes: &[u16], values: &mut [D]) {
        let k = Constants::new(self.plan);
        let kernel = Decoding::<D, SUBNORMALS, SPECIALS> { k, destination: PhantomData };
        // SAFETY: this function has the level's instructions; the rest is the caller's promise.
        unsafe { for_steps(&kernel, codes, nothing(codes.len()), values, &mut (), STREAM) };
    }
}

struct Decoding<D, const SUBNORMALS: bool, const SPECIALS: bool> {
    k: Constants,
    destination: PhantomData<D>,
}

impl<D: WideDestination, const SUBNORMALS: bool, const SPECIALS: bool> Step<CodesOnly, EIGHT>
    for Decoding<D, SUBNORMALS, SPECIALS>
{
    type From = u16;
    type With = ();
    type To = D;
    type Sums = ();
    type Vectors = __m256i;

    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn step(&self, codes: &[u16; EIGHT], _: &[(); EIGHT], (): &mut ()) -> __m256i {
        step::<SUBNORMALS, SPECIALS>(codes, &self.k)
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn store(values: &mut [D; EIGHT], words: __m256i, stream: bool) {
        // SAFETY: the caller's promise.
        unsafe { D::store(values, words, stream) };
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
