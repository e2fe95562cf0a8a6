//! Loads of 32 elements of any source as binary32 bits, lanes of codes of 8 or 16 bits, and other
//! small pieces all kernels share.

use std::arch::x86_64::*;

use smallfloat::{Bf16, F16};

use crate::plan::encode::INFINITY;

/// Elements of one step of every kernel: as many codes as a vector holds.
pub(crate) const STEP: usize = 32;

/// A wide float that becomes binary32 bits, exactly or rounded to odd.
pub(crate) trait Source: Copy + Default {
    /// The word of the smallest normal value, or any above those of subnormals.
    const MIN_NORMAL: u32;

    /// Eight elements as binary32 bits, the `eighth`-th eight of 32; NaN stays NaN.
    ///
    /// # Safety
    /// The machine must have AVX2 and F16C.
    unsafe fn load(values: &[Self; STEP], eighth: usize) -> __m256i;

    /// The elements as [`load`](Self::load) has them, in `room`, which is at least as long.
    ///
    /// # Safety
    /// The machine must have AVX2 and F16C.
    #[inline]
    #[target_feature(enable = "avx2,f16c")]
    unsafe fn widened<'a>(values: &'a [Self], room: &'a mut [f32]) -> &'a [f32] {
        let room = &mut room[..values.len()];
        let (steps, rest) = values.as_chunks::<STEP>();
        let (wide_steps, wide_rest) = room.as_chunks_mut::<STEP>();
        let widen = |step: &[Self; STEP], wide: &mut [f32; STEP]| {
            for (eighth, wide) in wide.as_chunks_mut::<8>().0.iter_mut().enumerate() {
                // SAFETY: this function has the level's instructions; the reference is to 32
                // writable bytes, and the store needs no alignment.
                unsafe { _mm256_storeu_si256(wide.as_mut_ptr().cast(), Self::load(step, eighth)) };
            }
        };
        steps.iter().zip(wide_steps).for_each(|(step, wide)| widen(step, wide));
        let (mut last, mut wide) = ([Self::default(); STEP], [0.0; STEP]);
        last[..rest.len()].copy_from_slice(rest);
        widen(&last, &mut wide);
        wide_rest.copy_from_slice(&wide[..rest.len()]);
        room
    }
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

    #[inline]
    #[target_feature(enable = "avx2,f16c")]
    unsafe fn widened<'a>(values: &'a [Self], _: &'a mut [f32]) -> &'a [f32] {
        values
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

half_source!(Bf16, 0x0080_0000, |halves| _mm256_slli_epi32::<16>(_mm256_cvtepu16_epi32(halves)));
// The conversion is exact, subnormals included, whatever the host's denormal settings.
half_source!(F16, 0x3880_0000, |halves| _mm256_castps_si256(_mm256_cvtph_ps(halves)));

/// Rounds to odd, so that the rounding to a narrower format afterwards is the only one:
/// `plan/encode.rs` says where that holds. Magnitudes below binary32's normal ones, which are below
/// every place that decides, become the words 1 (subnormal) and 3; those beyond its range a finite
/// value above every cap. Integer instructions only, so no setting of the host matters.
impl Source for f64 {
    const MIN_NORMAL: u32 = 2;

    #[inline]
    #[target_feature(enable = "avx2,f16c")]
    unsafe fn load(values: &[Self; STEP], eighth: usize) -> __m256i {
        // Exponent fields of binary64 for 2^-126 and 2^128, in upper halves; what the fields of
        // both formats differ by.
        const MIN_NORMAL: u32 = 897 << 20;
        const BEYOND: u32 = 1151 << 20;
        const OFFSET: u32 = 896 << 23;
        let eight: &[Self; 8] = &values.as_chunks().0[eighth];
        let fours = eight.as_chunks::<4>().0;
        // SAFETY: the references are to 32 readable bytes each; the loads need no alignment.
        let (a, b) =
            unsafe { (_mm256_loadu_ps(fours[0].as_ptr().cast()), _mm256_loadu_ps(fours[1].as_ptr().cast())) };
        let halves = [_mm256_shuffle_ps::<0b10_00_10_00>(a, b), _mm256_shuffle_ps::<0b11_01_11_01>(a, b)];
        let low = _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_castps_si256(halves[0]));
        let high = _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_castps_si256(halves[1]));
        let one = words(1);
        let sign = _mm256_and_si256(high, words(1 << 31));
        let magnitude = _mm256_xor_si256(high, sign);
        let sticky = _mm256_min_epu32(_mm256_slli_epi32::<3>(low), one);
        let inside = _mm256_min_epu32(_mm256_max_epu32(magnitude, words(MIN_NORMAL)), words(BEYOND - 1));
        let upper = _mm256_sub_epi32(_mm256_slli_epi32::<3>(inside), words(OFFSET));
        let mut narrow = _mm256_or_si256(_mm256_or_si256(upper, _mm256_srli_epi32::<29>(low)), sticky);
        let not_zero = _mm256_min_epu32(_mm256_or_si256(magnitude, low), one);
        let normal = _mm256_and_si256(_mm256_cmpgt_epi32(magnitude, words((1 << 20) - 1)), words(2));
        let below = _mm256_cmpgt_epi32(words(MIN_NORMAL), magnitude);
        narrow = _mm256_blendv_epi8(narrow, _mm256_or_si256(not_zero, normal), below);
        let rest = _mm256_or_si256(_mm256_xor_si256(magnitude, words(0x7ff0_0000)), low);
        let special = _mm256_or_si256(_mm256_min_epu32(rest, one), words(INFINITY));
        let is_special = _mm256_cmpgt_epi32(magnitude, words(0x7fef_ffff));
        _mm256_or_si256(_mm256_blendv_epi8(narrow, special, is_special), sign)
    }
}

/// The lanes of codes: bytes, or half-words of 16 bits.
macro_rules! by_width {
    ($($(#[$doc:meta])* $name:ident($($operand:ident),*) = $byte:ident, $half:ident;)*) => {
        $(
            $(#[$doc])*
            #[inline]
            #[target_feature(enable = "avx2")]
            pub(crate) fn $name<T: Target>($($operand: __m256i),*) -> __m256i {
                if T::BITS == 8 { $byte($($operand),*) } else { $half($($operand),*) }
            }
        )*
    };
}

by_width! {
    /// Equal lanes: all bits set.
    equal(a, b) = _mm256_cmpeq_epi8, _mm256_cmpeq_epi16;
    /// Lanes of `a` that are greater, as signed numbers.
    greater(a, b) = _mm256_cmpgt_epi8, _mm256_cmpgt_epi16;
    /// a + b, wrapping.
    add(a, b) = _mm256_add_epi8, _mm256_add_epi16;
    /// a − b, wrapping.
    subtract(a, b) = _mm256_sub_epi8, _mm256_sub_epi16;
    /// a − b of unsigned numbers, at least 0.
    less(a, b) = _mm256_subs_epu8, _mm256_subs_epu16;
    /// The lesser, unsigned.
    lesser(a, b) = _mm256_min_epu8, _mm256_min_epu16;
    /// The greater, unsigned.
    larger(a, b) = _mm256_max_epu8, _mm256_max_epu16;
}

/// Vectors of codes of 32 elements.
pub(crate) const fn parts(bits: u32) -> usize {
    (bits / 8) as usize
}

/// Lanes of 16 bits → those of the `part`-th vector of codes, with signed saturation, in the order
/// that [`in_order`] undoes.
#[inline]
#[target_feature(enable = "avx2")]
pub(crate) fn narrow_signed<T: Target>(lanes: &[__m256i; 2], part: usize) -> __m256i {
    if T::BITS == 8 { _mm256_packs_epi16(lanes[0], lanes[1]) } else { lanes[part] }
}

/// Lanes of codes in the order in which narrowing leaves them → in the order of the elements.
#[inline]
#[target_feature(enable = "avx2")]
pub(crate) fn in_order<T: Target>(codes: __m256i) -> __m256i {
    if T::BITS == 8 {
        _mm256_permutevar8x32_epi32(codes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7))
    } else {
        _mm256_permute4x64_epi64::<0b11_01_10_00>(codes)
    }
}

/// A vector of one code.
#[inline]
#[target_feature(enable = "avx2")]
pub(crate) fn codes<T: Target>(code: u16) -> __m256i {
    let [low, _] = code.to_le_bytes();
    if T::BITS == 8 { bytes(low) } else { _mm256_set1_epi16(code.cast_signed()) }
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

/// How many lanes of a mask are set.
#[inline]
#[target_feature(enable = "avx2,popcnt")]
pub(crate) fn count<T: Target>(mask: __m256i) -> u64 {
    u64::from(_mm256_movemask_epi8(mask).cast_unsigned().count_ones() / (T::BITS / 8))
}

/// Returns whether any bit is set.
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

/// The storage of codes.
pub(crate) trait Target: Copy + Default {
    /// Its bits.
    const BITS: u32;
}

impl Target for u8 {
    const BITS: u32 = 8;
}

impl Target for u16 {
    const BITS: u32 = 16;
}

/// Stores the codes of a step, past the caches if `stream`.
///
/// # Safety
/// With `stream`, `to` must be aligned to 32 bytes.
#[inline]
#[target_feature(enable = "avx2")]
pub(crate) unsafe fn store<T: Target>(to: &mut [T; STEP], vectors: &[__m256i; 2], stream: bool) {
    let to: *mut __m256i = to.as_mut_ptr().cast();
    for (part, vector) in vectors[..parts(T::BITS)].iter().enumerate() {
        // SAFETY: the reference is to 32 codes, which are that many vectors; the caller has checked
        // the alignment.
        unsafe {
            if stream {
                _mm256_stream_si256(to.add(part), *vector);
            } else {
                _mm256_storeu_si256(to.add(part), *vector);
            }
        }
    }
}
