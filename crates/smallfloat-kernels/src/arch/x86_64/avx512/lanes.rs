//! Loads of 64 elements of any source as binary32 bits, and other small pieces the wide kernels
//! share.

use std::arch::x86_64::*;

use smallfloat::{Bf16, F16};

use crate::arch::machine::avx2::lanes::{self, Target};

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

/// 32-bit lanes → those of codes, as [`narrow_signed`]: of all for bytes, of one half for
/// half-words.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub(crate) fn narrow<T: Target>(lanes: [__m512i; 4], part: usize) -> __m512i {
    if T::BITS == 8 { narrow_signed(lanes) } else { narrow_words(lanes)[part] }
}

/// Codes in the order in which narrowing leaves them → in the order of the elements.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub(crate) fn in_order<T: Target>(codes: __m512i) -> __m512i {
    if T::BITS == 8 {
        let order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
        _mm512_permutexvar_epi32(order, codes)
    } else {
        _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), codes)
    }
}

/// The lanes of codes: bytes, or half-words of 16 bits. Masks have a bit for each.
macro_rules! by_width {
    ($($(#[$doc:meta])* $name:ident($($operand:ident: $type:ty),*) -> $result:ty { $byte:expr, $half:expr })*) => {
        $(
            $(#[$doc])*
            #[inline]
            #[target_feature(enable = "avx512f,avx512bw")]
            pub(crate) fn $name<T: Target>($($operand: $type),*) -> $result {
                if T::BITS == 8 { $byte } else { $half }
            }
        )*
    };
}

/// The mask of half-words.
#[expect(clippy::cast_possible_truncation, reason = "a vector has 32 of them")]
fn halves(mask: __mmask64) -> __mmask32 {
    mask as __mmask32
}

by_width! {
    /// All lanes as this code.
    codes(code: u16) -> __m512i { bytes(code.to_le_bytes()[0]), _mm512_set1_epi16(code.cast_signed()) }
    /// Lanes of `a` that are no less, as unsigned numbers.
    at_least(a: __m512i, b: __m512i) -> __mmask64 {
        _mm512_cmpge_epu8_mask(a, b), u64::from(_mm512_cmpge_epu16_mask(a, b))
    }
    /// Lanes of `a` that are no greater.
    at_most(a: __m512i, b: __m512i) -> __mmask64 {
        _mm512_cmple_epu8_mask(a, b), u64::from(_mm512_cmple_epu16_mask(a, b))
    }
    /// Lanes of `a` that are greater.
    above(a: __m512i, b: __m512i) -> __mmask64 {
        _mm512_cmpgt_epu8_mask(a, b), u64::from(_mm512_cmpgt_epu16_mask(a, b))
    }
    /// Lanes with bits of both.
    some_set(a: __m512i, b: __m512i) -> __mmask64 {
        _mm512_test_epi8_mask(a, b), u64::from(_mm512_test_epi16_mask(a, b))
    }
    /// Lanes without bits of both.
    none_set(a: __m512i, b: __m512i) -> __mmask64 {
        _mm512_testn_epi8_mask(a, b), u64::from(_mm512_testn_epi16_mask(a, b))
    }
    /// The uppermost bits.
    signs(a: __m512i) -> __mmask64 { _mm512_movepi8_mask(a), u64::from(_mm512_movepi16_mask(a)) }
    /// The lesser one.
    lesser(a: __m512i, b: __m512i) -> __m512i { _mm512_min_epu8(a, b), _mm512_min_epu16(a, b) }
    /// a − b, or zero where that is negative.
    subtract_to_zero(a: __m512i, b: __m512i) -> __m512i { _mm512_subs_epu8(a, b), _mm512_subs_epu16(a, b) }
    /// a − b where the mask is set, a elsewhere.
    subtract(a: __m512i, mask: __mmask64, b: __m512i) -> __m512i {
        _mm512_mask_sub_epi8(a, mask, a, b), _mm512_mask_sub_epi16(a, halves(mask), a, b)
    }
    /// a + b where the mask is set, a elsewhere.
    add_where(a: __m512i, mask: __mmask64, b: __m512i) -> __m512i {
        _mm512_mask_add_epi8(a, mask, a, b), _mm512_mask_add_epi16(a, halves(mask), a, b)
    }
    /// b where the mask is set, a elsewhere.
    put(a: __m512i, mask: __mmask64, b: __m512i) -> __m512i {
        _mm512_mask_mov_epi8(a, mask, b), _mm512_mask_mov_epi16(a, halves(mask), b)
    }
    /// a where the mask is set, zero elsewhere.
    keep(mask: __mmask64, a: __m512i) -> __m512i {
        _mm512_maskz_mov_epi8(mask, a), _mm512_maskz_mov_epi16(halves(mask), a)
    }
    /// The second one where the mask is set, the first one elsewhere.
    blend(mask: __mmask64, pair: [__m512i; 2]) -> __m512i {
        _mm512_mask_blend_epi8(mask, pair[0], pair[1]), _mm512_mask_blend_epi16(halves(mask), pair[0], pair[1])
    }
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

/// Stores 64 codes, past the caches if `stream`: bytes are the first vector.
///
/// # Safety
/// With `stream`, `to` must be aligned to 64 bytes.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub(crate) unsafe fn store<T: Target>(to: &mut [T; STEP], codes: [__m512i; 2], stream: bool) {
    let to: *mut __m512i = to.as_mut_ptr().cast();
    for (part, codes) in codes.into_iter().take(size_of::<T>()).enumerate() {
        // SAFETY: the reference is to 64 codes, which are that many vectors; the caller has checked
        // the alignment.
        unsafe {
            let to = to.add(part);
            if stream { _mm512_stream_si512(to, codes) } else { _mm512_storeu_si512(to, codes) }
        }
    }
}

/// A vector of 64 bytes.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub(crate) fn load_bytes<const N: usize>(table: &[u8; N]) -> __m512i {
    const { assert!(N == STEP, "a vector") };
    // SAFETY: the reference is to 64 readable bytes; the load needs no alignment.
    unsafe { _mm512_loadu_si512(table.as_ptr().cast()) }
}

/// Stores a vector.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub(crate) fn store_bytes(result: &mut [u8; STEP], codes: __m512i) {
    // SAFETY: the reference is to 64 writable bytes; the store needs no alignment.
    unsafe { _mm512_storeu_si512(result.as_mut_ptr().cast(), codes) }
}

/// A table of 128 bytes in registers; indices have seven bits, and what is above them is ignored.
pub(crate) struct Table128([__m512i; 2]);

impl Table128 {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    pub(crate) fn new(table: &[u8; 128]) -> Self {
        let (halves, _) = table.as_chunks::<STEP>();
        Self([load_bytes(&halves[0]), load_bytes(&halves[1])])
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    pub(crate) fn at(&self, indices: __m512i) -> __m512i {
        _mm512_permutex2var_epi8(self.0[0], indices, self.0[1])
    }
}

/// A table of 256 bytes in registers.
pub(crate) struct Table256([Table128; 2]);

impl Table256 {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    pub(crate) fn new(table: &[u8; 256]) -> Self {
        let (halves, _) = table.as_chunks::<128>();
        Self([Table128::new(&halves[0]), Table128::new(&halves[1])])
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    pub(crate) fn at(&self, indices: __m512i) -> __m512i {
        let upper = _mm512_movepi8_mask(indices);
        _mm512_mask_blend_epi8(upper, self.0[0].at(indices), self.0[1].at(indices))
    }
}
