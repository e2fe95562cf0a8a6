//! Loads of 32 elements of any source as binary32 bits, and other small pieces all kernels share.

use std::arch::x86_64::*;

use half::{bf16, f16};

/// Elements of one step of every kernel: as many codes as a vector holds.
pub(crate) const STEP: usize = 32;

/// A wide float that becomes binary32 bits without rounding.
pub(crate) trait Source: Copy + Default {
    /// The smallest normal value, as binary32 bits.
    const MIN_NORMAL: u32;

    /// Eight elements as binary32 bits, the `eighth`-th eight of 32; NaN stays NaN.
    ///
    /// # Safety
    /// The machine must have AVX2 and F16C.
    unsafe fn load(values: &[Self; STEP], eighth: usize) -> __m256i;
}

impl Source for f32 {
    const MIN_NORMAL: u32 = 0x0080_0000;

    #[inline]
    #[target_feature(enable = "avx2,f16c")]
    unsafe fn load(values: &[Self; STEP], eighth: usize) -> __m256i {
        let eight: &[Self; 8] = &values.as_chunks().0[eighth];
        // SAFETY: the reference is to 32 readable bytes; the load needs no alignment.
        unsafe { _mm256_loadu_si256(eight.as_ptr().cast()) }
    }
}

macro_rules! half_source {
    ($type:ty, $min_normal:expr, |$halves:ident| $widen:expr) => {
        impl Source for $type {
            const MIN_NORMAL: u32 = $min_normal;

            #[inline]
            #[target_feature(enable = "avx2,f16c")]
            unsafe fn load(values: &[Self; STEP], eighth: usize) -> __m256i {
                let eight: &[Self; 8] = &values.as_chunks().0[eighth];
                // SAFETY: the reference is to 16 readable bytes; the load needs no alignment.
                let $halves = unsafe { _mm_loadu_si128(eight.as_ptr().cast()) };
                $widen
            }
        }
    };
}

half_source!(bf16, 0x0080_0000, |halves| _mm256_slli_epi32::<16>(_mm256_cvtepu16_epi32(halves)));
// The conversion is exact, subnormals included, whatever the host's denormal settings.
half_source!(f16, 0x3880_0000, |halves| _mm256_castps_si256(_mm256_cvtph_ps(halves)));

/// 32-bit lanes of four vectors → bytes, with signed saturation. Bytes come in the order that [`in_order`] undoes.
#[inline]
#[target_feature(enable = "avx2")]
pub(crate) fn narrow_signed(lanes: [__m256i; 4]) -> __m256i {
    let low = _mm256_packs_epi32(lanes[0], lanes[1]);
    let high = _mm256_packs_epi32(lanes[2], lanes[3]);
    _mm256_packs_epi16(low, high)
}

/// Bytes in the order in which narrowing leaves them → in the order of the elements.
#[inline]
#[target_feature(enable = "avx2")]
pub(crate) fn in_order(bytes: __m256i) -> __m256i {
    _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7))
}

/// A vector of one byte.
#[inline]
#[target_feature(enable = "avx2")]
pub(crate) fn bytes(byte: u8) -> __m256i {
    _mm256_set1_epi8(byte.cast_signed())
}

/// A vector of one 32-bit word.
#[inline]
#[target_feature(enable = "avx2")]
pub(crate) fn words(word: u32) -> __m256i {
    _mm256_set1_epi32(word.cast_signed())
}

/// Σ of the 32 bytes.
#[inline]
#[target_feature(enable = "avx2")]
pub(crate) fn sum_of_bytes(bytes: __m256i) -> u64 {
    let sums = _mm256_sad_epu8(bytes, _mm256_setzero_si256());
    let halves = _mm_add_epi64(_mm256_castsi256_si128(sums), _mm256_extracti128_si256::<1>(sums));
    (_mm_cvtsi128_si64(halves) + _mm_extract_epi64::<1>(halves)).cast_unsigned()
}

/// How many bytes are negative.
#[inline]
#[target_feature(enable = "avx2,popcnt")]
pub(crate) fn negatives(bytes: __m256i) -> u64 {
    u64::from(_mm256_movemask_epi8(bytes).cast_unsigned().count_ones())
}

/// Is any bit set?
#[inline]
#[target_feature(enable = "avx2")]
pub(crate) fn any(bits: __m256i) -> bool {
    _mm256_testz_si256(bits, bits) == 0
}

/// The least of the eight unsigned words.
#[inline]
#[target_feature(enable = "avx2")]
pub(crate) fn least(words: __m256i) -> u32 {
    let x = _mm_min_epu32(_mm256_castsi256_si128(words), _mm256_extracti128_si256::<1>(words));
    let x = _mm_min_epu32(x, _mm_shuffle_epi32::<0b01_00_11_10>(x));
    let x = _mm_min_epu32(x, _mm_shuffle_epi32::<0b10_11_00_01>(x));
    _mm_cvtsi128_si32(x).cast_unsigned()
}

/// How many elements come before the first one that a streamed store of so many bytes could write.
pub(crate) fn elements_to_alignment<T>(values: &[T], alignment: usize) -> usize {
    let bytes = values.as_ptr().addr().next_multiple_of(alignment) - values.as_ptr().addr();
    bytes / size_of::<T>()
}

/// Asks for the cache lines that the loop reads some steps later.
#[inline]
#[target_feature(enable = "avx2")]
pub(crate) fn prefetch<S, const N: usize>(x: &[S; N]) {
    const AHEAD: usize = 4096;
    for line in (0..size_of_val(x)).step_by(64) {
        let ahead = x.as_ptr().cast::<i8>().wrapping_add(AHEAD + line);
        #[allow(unused_unsafe, reason = "safe since Rust 1.90 or so")]
        // SAFETY: a hint about an address that is never read; any address will do.
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(ahead);
        }
    }
}

/// Stores 32 codes.
#[inline]
#[target_feature(enable = "avx2")]
pub(crate) fn store(to: &mut [u8; STEP], codes: __m256i) {
    // SAFETY: the reference is to 32 writable bytes; the store needs no alignment.
    unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), codes) };
}

/// Stores 32 codes past the caches.
///
/// # Safety
/// `to` must be aligned to 32 bytes.
#[inline]
#[target_feature(enable = "avx2")]
pub(crate) unsafe fn store_past_caches(to: &mut [u8; STEP], codes: __m256i) {
    // SAFETY: the reference is to 32 writable bytes; the caller has checked the alignment.
    unsafe { _mm256_stream_si256(to.as_mut_ptr().cast(), codes) };
}
