//! Limit kernels: the same bytes read and written, nothing computed.

/// Reads f32, writes one byte for each: what of it is no more than narrowing needs.
#[cfg(target_arch = "x86_64")]
pub fn f32_to_u8(x: &[f32], codes: &mut [u8]) {
    #[target_feature(enable = "avx2")]
    fn run(x: &[f32], codes: &mut [u8]) {
        use std::arch::x86_64::*;
        for (x, code) in x.as_chunks::<32>().0.iter().zip(codes.as_chunks_mut::<32>().0) {
            // SAFETY: the references are to 128 readable and 32 writable bytes.
            unsafe {
                let at = |i: usize| _mm256_loadu_si256(x.as_ptr().add(8 * i).cast());
                let low = _mm256_packs_epi32(at(0), at(1));
                let high = _mm256_packs_epi32(at(2), at(3));
                _mm256_storeu_si256(code.as_mut_ptr().cast(), _mm256_packs_epi16(low, high));
            }
        }
    }
    // SAFETY: the program refuses to start without AVX2.
    unsafe { run(x, codes) }
}

/// Reads bytes, writes an f32 for each; past the caches if `STREAM`.
#[cfg(target_arch = "x86_64")]
pub fn u8_to_f32<const STREAM: bool>(codes: &[u8], x: &mut [f32]) {
    #[target_feature(enable = "avx2")]
    fn run<const STREAM: bool>(codes: &[u8], x: &mut [f32]) {
        use std::arch::x86_64::*;
        let head = (x.as_ptr().addr().next_multiple_of(32) - x.as_ptr().addr()) / 4;
        let x = &mut x[head..];
        for (code, x) in codes.as_chunks::<32>().0.iter().zip(x.as_chunks_mut::<32>().0) {
            // SAFETY: the references are to 32 readable and 128 writable bytes; streams are
            // aligned.
            unsafe {
                let y = _mm256_loadu_si256(code.as_ptr().cast());
                for i in 0..4 {
                    let to: *mut __m256i = x.as_mut_ptr().add(8 * i).cast();
                    if STREAM { _mm256_stream_si256(to, y) } else { _mm256_storeu_si256(to, y) }
                }
            }
        }
    }
    // SAFETY: the program refuses to start without AVX2.
    unsafe { run::<STREAM>(codes, x) }
}

/// Reads bytes of two slices, writes one.
pub fn two_u8_to_u8(a: &[u8], b: &[u8], codes: &mut [u8]) {
    for ((a, b), code) in a.iter().zip(b).zip(codes) {
        *code = a ^ b;
    }
}

/// Reads f32 and keeps one vector.
#[cfg(target_arch = "x86_64")]
pub fn read_f32(x: &[f32]) -> u32 {
    #[target_feature(enable = "avx2")]
    fn run(x: &[f32]) -> u32 {
        use std::arch::x86_64::*;
        let mut sums = [_mm256_setzero_si256(); 4];
        for x in x.as_chunks::<32>().0 {
            for (i, sum) in sums.iter_mut().enumerate() {
                // SAFETY: the reference is to 128 readable bytes.
                *sum = _mm256_or_si256(*sum, unsafe { _mm256_loadu_si256(x.as_ptr().add(8 * i).cast()) });
            }
        }
        let sum = _mm256_or_si256(_mm256_or_si256(sums[0], sums[1]), _mm256_or_si256(sums[2], sums[3]));
        _mm256_movemask_epi8(sum).cast_unsigned()
    }
    // SAFETY: the program refuses to start without AVX2.
    unsafe { run(x) }
}

/// Reads two slices of bytes.
#[cfg(target_arch = "x86_64")]
pub fn read_two_u8(a: &[u8], b: &[u8]) -> u32 {
    #[target_feature(enable = "avx2")]
    fn run(a: &[u8], b: &[u8]) -> u32 {
        use std::arch::x86_64::*;
        let mut sum = _mm256_setzero_si256();
        for (a, b) in a.as_chunks::<32>().0.iter().zip(b.as_chunks::<32>().0) {
            // SAFETY: the references are to 32 readable bytes each.
            let (a, b) =
                unsafe { (_mm256_loadu_si256(a.as_ptr().cast()), _mm256_loadu_si256(b.as_ptr().cast())) };
            sum = _mm256_xor_si256(sum, _mm256_or_si256(a, b));
        }
        _mm256_movemask_epi8(sum).cast_unsigned()
    }
    // SAFETY: the program refuses to start without AVX2.
    unsafe { run(a, b) }
}

/// Reads f32, writes a half-word for each.
#[cfg(target_arch = "x86_64")]
pub fn f32_to_u16(x: &[f32], codes: &mut [u16]) {
    #[target_feature(enable = "avx2")]
    fn run(x: &[f32], codes: &mut [u16]) {
        use std::arch::x86_64::*;
        for (x, code) in x.as_chunks::<16>().0.iter().zip(codes.as_chunks_mut::<16>().0) {
            // SAFETY: the references are to 64 readable and 32 writable bytes.
            unsafe {
                let at = |i: usize| _mm256_loadu_si256(x.as_ptr().add(8 * i).cast());
                _mm256_storeu_si256(code.as_mut_ptr().cast(), _mm256_packs_epi32(at(0), at(1)));
            }
        }
    }
    // SAFETY: the program refuses to start without AVX2.
    unsafe { run(x, codes) }
}

/// Reads half-words, writes an f32 for each.
#[cfg(target_arch = "x86_64")]
pub fn u16_to_f32(codes: &[u16], x: &mut [f32]) {
    #[target_feature(enable = "avx2")]
    fn run(codes: &[u16], x: &mut [f32]) {
        use std::arch::x86_64::*;
        for (code, x) in codes.as_chunks::<16>().0.iter().zip(x.as_chunks_mut::<16>().0) {
            // SAFETY: the references are to 32 readable and 64 writable bytes.
            unsafe {
                let y = _mm256_loadu_si256(code.as_ptr().cast());
                _mm256_storeu_si256(x.as_mut_ptr().cast(), y);
                _mm256_storeu_si256(x.as_mut_ptr().add(8).cast(), y);
            }
        }
    }
    // SAFETY: the program refuses to start without AVX2.
    unsafe { run(codes, x) }
}

/// Reads f64, writes a byte for each.
#[cfg(target_arch = "x86_64")]
pub fn f64_to_u8(x: &[f64], codes: &mut [u8]) {
    #[target_feature(enable = "avx2")]
    fn run(x: &[f64], codes: &mut [u8]) {
        use std::arch::x86_64::*;
        for (x, code) in x.as_chunks::<32>().0.iter().zip(codes.as_chunks_mut::<32>().0) {
            // SAFETY: the references are to 256 readable and 32 writable bytes.
            unsafe {
                let at = |i: usize| _mm256_loadu_si256(x.as_ptr().add(4 * i).cast());
                let pair = |i: usize| _mm256_packs_epi32(at(2 * i), at(2 * i + 1));
                let low = _mm256_packs_epi16(pair(0), pair(1));
                let high = _mm256_packs_epi16(pair(2), pair(3));
                _mm256_storeu_si256(code.as_mut_ptr().cast(), _mm256_packs_epi16(low, high));
            }
        }
    }
    // SAFETY: the program refuses to start without AVX2.
    unsafe { run(x, codes) }
}
