
// A way into the rounding to odd for the proofs: `build` adds these lines to a copy of lanes.rs.
/// # Safety
/// The machine must have AVX2 and F16C.
#[inline(never)]
#[target_feature(enable = "avx2,f16c")]
pub unsafe fn odd_f64(values: &[f64; STEP], out: &mut [u32; 8]) {
    // SAFETY: the array is 32 writable bytes; the store needs no alignment.
    unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), <f64 as Source>::load(values, 0)) }
}
