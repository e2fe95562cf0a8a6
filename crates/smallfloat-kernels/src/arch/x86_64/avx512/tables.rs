//! Tables of bytes in registers, which every lane of a vector looks up at once.

use std::arch::x86_64::*;

use crate::arch::machine::avx512::lanes::STEP;

/// A vector of 64 bytes.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub(crate) fn load<const N: usize>(table: &[u8; N]) -> __m512i {
    const { assert!(N == STEP, "a vector") };
    // SAFETY: the reference is to 64 readable bytes; the load needs no alignment.
    unsafe { _mm512_loadu_si512(table.as_ptr().cast()) }
}

/// Stores a vector.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub(crate) fn store(result: &mut [u8; STEP], codes: __m512i) {
    // SAFETY: the reference is to 64 writable bytes; the store needs no alignment.
    unsafe { _mm512_storeu_si512(result.as_mut_ptr().cast(), codes) }
}

/// A table of 128 bytes; indices have seven bits, and what is above them is ignored.
pub(crate) struct Table128([__m512i; 2]);

impl Table128 {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    pub(crate) fn new(table: &[u8; 128]) -> Self {
        let (halves, _) = table.as_chunks::<STEP>();
        Self([load(&halves[0]), load(&halves[1])])
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    pub(crate) fn at(&self, indices: __m512i) -> __m512i {
        _mm512_permutex2var_epi8(self.0[0], indices, self.0[1])
    }
}

/// A table of 256 bytes.
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
