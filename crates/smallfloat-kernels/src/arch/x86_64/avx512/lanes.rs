//! Loads of 64 elements of any source as binary32 bits, and other small pieces the wide kernels
//! share.

use std::arch::x86_64::*;

use smallfloat::{Bf16, F16};

use crate::arch::machine::avx2::lanes;

/// Elements of one step of every kernel: as many codes as a vector holds.
pub(crate) const STEP: usize = 64;

/// A wide float that becomes binary32 bits without rounding.
pub(crate) trait Source: lanes::Source {
    /// Sixteen elements as binary32 bits, the `quarter`-th sixteen of 64; NaN stays NaN.
    ///
    /// # Safety
    /// The machine must have AVX-512 F and BW.
    unsafe fn load_wide(values: &[Self; STEP], quarter: usize) -> __m512i;
}

impl Source for f32 {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    unsafe fn load_wide(values: &[Self; STEP], quarter: usize) -> __m512i {
        let sixteen: &[Self; 16] = &values.as_chunks().0[quarter];
        // SAFETY: the reference is to 64 readable bytes; the load needs no alignment.
        unsafe { _mm512_loadu_si512(sixteen.as_ptr().cast()) }
    }
}

macro_rules! half_source {
    ($type:ty, |$halves:ident| $widen:expr) => {
        impl Source for $type {
            #[inline]
            #[target_feature(enable = "avx512f,avx512bw")]
            unsafe fn load_wide(values: &[Self; STEP], quarter: usize) -> __m512i {
                let sixteen: &[Self; 16] = &values.as_chunks().0[quarter];
                // SAFETY: the reference is to 32 readable bytes; the load needs no alignment.
                let $halves = unsafe { _mm256_loadu_si256(sixteen.as_ptr().cast()) };
                $widen
            }
        }
    };
}

/// Rounds to odd, by the narrower vectors' conversion.
impl Source for f64 {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    unsafe fn load_wide(values: &[Self; STEP], quarter: usize) -> __m512i {
        let half: &[Self; lanes::STEP] = &values.as_chunks().0[quarter / 2];
        let eighth = quarter % 2 * 2;
        // SAFETY: the level that asks for AVX-512 asks for AVX2 and F16C too.
        let [low, high] =
            unsafe { [lanes::Source::load(half, eighth), lanes::Source::load(half, eighth + 1)] };
        _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high)
    }
}

half_source!(Bf16, |halves| _mm512_slli_epi32::<16>(_mm512_cvtepu16_epi32(halves)));
// The conversion is exact, subnormals included, whatever the host's denormal settings.
half_source!(F16, |halves| _mm512_castps_si512(_mm512_cvtph_ps(halves)));

/// 16-bit lanes of two vectors from 32-bit lanes of four, with signed saturation.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub(crate) fn narrow_words(lanes: [__m512i; 4]) -> [__m512i; 2] {
    [_mm512_packs_epi32(lanes[0], lanes[1]), _mm512_packs_epi32(lanes[2], lanes[3])]
}

/// 32-bit lanes of four vectors → bytes, with signed saturation. Bytes come in the order that
/// [`in_order`] undoes.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub(crate) fn narrow_signed(lanes: [__m512i; 4]) -> __m512i {
    let [low, high] = narrow_words(lanes);
    _mm512_packs_epi16(low, high)
}

/// Bytes in the order in which narrowing leaves them → in the order of the elements.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub(crate) fn in_order(bytes: __m512i) -> __m512i {
    let order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    _mm512_permutexvar_epi32(order, bytes)
}

/// A vector of one byte.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub(crate) fn bytes(byte: u8) -> __m512i {
    _mm512_set1_epi8(byte.cast_signed())
}

/// A choice as a mask of any 64 lanes: masks, unlike flags, are combined with others as they are.
#[inline]
pub(crate) fn chosen(choice: bool) -> u64 {
    if choice { u64::MAX } else { 0 }
}

/// A vector of one 32-bit word.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub(crate) fn words(word: u32) -> __m512i {
    _mm512_set1_epi32(word.cast_signed())
}

/// How many bits are set.
#[inline]
#[target_feature(enable = "popcnt")]
pub(crate) fn count(mask: u64) -> u64 {
    u64::from(mask.count_ones())
}

/// Stores 64 codes, past the caches if `stream`.
///
/// # Safety
/// With `stream`, `to` must be aligned to 64 bytes.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub(crate) unsafe fn store(to: &mut [u8; STEP], codes: __m512i, stream: bool) {
    let to = to.as_mut_ptr().cast();
    // SAFETY: the reference is to 64 writable bytes; the caller has checked the alignment.
    unsafe { if stream { _mm512_stream_si512(to, codes) } else { _mm512_storeu_si512(to, codes) } };
}
