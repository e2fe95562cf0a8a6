//! Operations on codes of at most 8 bits: sums and products in binary32, minima and maxima on the
//! bytes themselves.
//!
//! `arithmetic.rs` says why a result in binary32, exact or rounded to odd, is all that the one
//! rounding needs.

use std::arch::x86_64::*;

use crate::arch::machine::Avx2;
use crate::arch::machine::avx2::decode::wide::put;
use crate::arch::machine::avx2::decode::{Constants, values};
use crate::arch::machine::avx2::lanes::{STEP, any, bytes, words};
use crate::arch::vectors::arithmetic::{self, Operands, Operation};
use crate::arch::vectors::blocks::{Step, for_steps};
use crate::arch::vectors::choices::CodesOnly;
use crate::plan::arithmetic::{ArithmeticPlan, OrderPlan, Subnormals};

/// Computes in binary32; an operation of two operands ignores the third.
pub(crate) fn compute(_: Avx2, plan: &ArithmeticPlan, codes: [&[u8]; 3], results: &mut [f32]) {
    // SAFETY: the proof says that the machine has AVX2.
    unsafe { arithmetic::compute::<Decoders, STEP>(plan, codes, results) };
}

struct Decoders([Constants; 3]);

impl Operands<STEP> for Decoders {
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn step<O: Operation, const ODD: bool, const NAN: bool>(
        &self,
        [x, y, z]: [&[u8; STEP]; 3],
        results: &mut [f32; STEP],
    ) {
        let [kx, ky, kz] = &self.0;
        let (x, y) = (values(x, kx), values(y, ky));
        let z = if O::MULTIPLIES && O::ADDS { values(z, kz) } else { y };
        for (i, eight) in results.as_chunks_mut::<8>().0.iter_mut().enumerate() {
            let mut result = x[i];
            if O::MULTIPLIES {
                result = with_nan::<NAN>(_mm256_mul_ps(result, y[i]), result, y[i]);
            }
            if O::ADDS {
                result = with_nan::<NAN>(sum::<ODD>(result, z[i]), result, z[i]);
            }
            // SAFETY: the reference is to 32 writable bytes; the store needs no alignment.
            unsafe { _mm256_storeu_ps(eight.as_mut_ptr(), result) };
        }
    }

    #[target_feature(enable = "avx2")]
    unsafe fn run<O: Operation, const ODD: bool, const NAN: bool>(
        plan: &ArithmeticPlan,
        codes: [&[u8]; 3],
        results: &mut [f32],
    ) {
        let [x, y, z] = &plan.operands;
        let decoders = Self([Constants::new::<f32>(x), Constants::new::<f32>(y), Constants::new::<f32>(z)]);
        // SAFETY: this function has the level's instructions.
        unsafe { arithmetic::for_steps::<_, O, ODD, NAN, STEP>(&decoders, codes, results) };
    }
}

/// a + b, rounded to odd where it is not exact.
#[inline]
#[target_feature(enable = "avx2")]
fn sum<const ODD: bool>(a: __m256, b: __m256) -> __m256 {
    let sum = _mm256_add_ps(a, b);
    if !ODD {
        return sum;
    }
    // What the addition has rounded off, exactly (Knuth's TwoSum); NaN where the sum is not finite.
    let b_part = _mm256_sub_ps(sum, a);
    let a_part = _mm256_sub_ps(sum, b_part);
    let error = _mm256_add_ps(_mm256_sub_ps(a, a_part), _mm256_sub_ps(b, b_part));
    let inexact = _mm256_castps_si256(_mm256_cmp_ps::<_CMP_NEQ_OQ>(error, _mm256_setzero_ps()));
    // Toward zero where the error points there; then the last bit says that something was cut off.
    let inward = _mm256_srai_epi32::<31>(_mm256_castps_si256(_mm256_xor_ps(error, sum)));
    let truncated = _mm256_add_epi32(_mm256_castps_si256(sum), _mm256_and_si256(inward, inexact));
    _mm256_castsi256_ps(_mm256_or_si256(truncated, _mm256_srli_epi32::<31>(inexact)))
}

/// The result with a NaN's sign made certain: the first NaN operand's, or + where there is none.
#[inline]
#[target_feature(enable = "avx2")]
fn with_nan<const NAN: bool>(result: __m256, a: __m256, b: __m256) -> __m256 {
    if !NAN {
        return result;
    }
    let quiet = _mm256_castsi256_ps(_mm256_set1_epi32(0x7fc0_0000));
    let from_b = _mm256_blendv_ps(quiet, b, _mm256_cmp_ps::<_CMP_UNORD_Q>(b, b));
    let nan = _mm256_blendv_ps(from_b, a, _mm256_cmp_ps::<_CMP_UNORD_Q>(a, a));
    _mm256_blendv_ps(result, nan, _mm256_cmp_ps::<_CMP_UNORD_Q>(result, result))
}

/// Returns whether every magnitude is zero or in the range, both given by their bits.
pub(crate) fn stays_within(_: Avx2, range: [u32; 2], values: &[f32]) -> bool {
    // SAFETY: the proof says that the machine has AVX2.
    unsafe { all_within(range, values) }
}

#[target_feature(enable = "avx2")]
fn all_within([low, high]: [u32; 2], values: &[f32]) -> bool {
    let (eights, rest) = values.as_chunks::<8>();
    // Zeros wrap to the largest number.
    let (mut least, mut greatest) = (_mm256_set1_epi32(-1), _mm256_setzero_si256());
    for eight in eights {
        // SAFETY: the reference is to 32 readable bytes; the load needs no alignment.
        let bits = unsafe { _mm256_loadu_si256(eight.as_ptr().cast()) };
        let magnitude = _mm256_and_si256(bits, words(0x7fff_ffff));
        least = _mm256_min_epu32(least, _mm256_sub_epi32(magnitude, words(1)));
        greatest = _mm256_max_epi32(greatest, magnitude);
    }
    let is_outside = any(_mm256_cmpgt_epi32(greatest, words(high)))
        || crate::arch::machine::avx2::lanes::least(least) < low - 1;
    let is_inside = |value: &f32| value.abs().to_bits() == 0 || (low..=high).contains(&value.abs().to_bits());
    !is_outside && rest.iter().all(is_inside)
}

/// Returns whether any code is subnormal.
pub(crate) fn has_subnormal(_: Avx2, subnormals: Subnormals, codes: &[u8]) -> bool {
    // SAFETY: the proof says that the machine has AVX2.
    unsafe { any_within(codes, subnormals.magnitude, 1, subnormals.last) }
}

/// Returns whether (code & mask) − first is below `count` for any code.
#[target_feature(enable = "avx2")]
fn any_within(codes: &[u8], mask: u8, first: u8, count: u8) -> bool {
    let (steps, rest) = codes.as_chunks::<STEP>();
    let mut least = bytes(0xff);
    for code in steps {
        // SAFETY: the reference is to 32 readable bytes.
        let code = unsafe { _mm256_loadu_si256(code.as_ptr().cast()) };
        let place = _mm256_sub_epi8(_mm256_and_si256(code, bytes(mask)), bytes(first));
        least = _mm256_min_epu8(least, place);
    }
    any(_mm256_subs_epu8(bytes(count), least))
        || rest.iter().any(|code| (code & mask).wrapping_sub(first) < count)
}

/// Minima or maxima of two slices; whether NaN is among the operands.
pub(crate) fn choose(_: Avx2, plan: &OrderPlan, [x, y]: [&[u8]; 2], results: &mut [u8]) -> bool {
    assert!(x.len() == results.len() && y.len() == results.len(), "slices must have the same length");
    // SAFETY: the proof says that the machine has AVX2.
    unsafe {
        match (plan.minimum, plan.magnitudes) {
            (true, false) => choose_all::<true, false>(plan, x, y, results),
            (false, false) => choose_all::<false, false>(plan, x, y, results),
            (true, true) => choose_all::<true, true>(plan, x, y, results),
            (false, true) => choose_all::<false, true>(plan, x, y, results),
        }
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn choose_all<const MINIMUM: bool, const MAGNITUDES: bool>(
    plan: &OrderPlan,
    x: &[u8],
    y: &[u8],
    results: &mut [u8],
) -> bool {
    let choosing = Choosing::<MINIMUM, MAGNITUDES> { plan };
    let mut nan = _mm256_setzero_si256();
    // SAFETY: this function has the level's instructions.
    unsafe { for_steps(&choosing, x, y, results, &mut nan, false) };
    any(nan)
}

struct Choosing<'a, const MINIMUM: bool, const MAGNITUDES: bool> {
    plan: &'a OrderPlan,
}

impl<const MINIMUM: bool, const MAGNITUDES: bool> Step<CodesOnly, STEP>
    for Choosing<'_, MINIMUM, MAGNITUDES>
{
    type From = u8;
    type With = u8;
    type To = u8;
    type Sums = __m256i;
    type Vectors = __m256i;

    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn step(&self, x: &[u8; STEP], y: &[u8; STEP], nan: &mut __m256i) -> __m256i {
        choose_step::<MINIMUM, MAGNITUDES>(self.plan, x, y, nan)
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn store(results: &mut [u8; STEP], codes: __m256i, stream: bool) {
        // SAFETY: the reference is to 32 writable bytes; the alignment is the caller's promise.
        unsafe { put(results.as_mut_ptr().cast(), codes, stream) };
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn choose_step<const MINIMUM: bool, const MAGNITUDES: bool>(
    plan: &OrderPlan,
    x: &[u8; STEP],
    y: &[u8; STEP],
    nan: &mut __m256i,
) -> __m256i {
    // SAFETY: the references are to 32 readable bytes each.
    let (x, y) = unsafe { (_mm256_loadu_si256(x.as_ptr().cast()), _mm256_loadu_si256(y.as_ptr().cast())) };
    let (x, y) = (_mm256_and_si256(x, bytes(plan.codes)), _mm256_and_si256(y, bytes(plan.codes)));
    let (x_key, y_key) = (key::<MAGNITUDES>(plan, x), key::<MAGNITUDES>(plan, y));
    let best = if MINIMUM { _mm256_min_epu8(x_key, y_key) } else { _mm256_max_epu8(x_key, y_key) };
    let mut chosen = _mm256_blendv_epi8(y, x, _mm256_cmpeq_epi8(best, x_key));
    if let Some(codes) = &plan.nan {
        let is_nan = |code| {
            let place = _mm256_sub_epi8(_mm256_and_si256(code, bytes(codes.mask)), bytes(codes.first));
            _mm256_cmpeq_epi8(_mm256_min_epu8(place, bytes(codes.last)), place)
        };
        let canonical = |code, is_nan| {
            let negative = is_negative(plan, code);
            let results = _mm256_blendv_epi8(bytes(codes.results[0]), bytes(codes.results[1]), negative);
            _mm256_blendv_epi8(code, results, is_nan)
        };
        let (x_nan, y_nan) = (is_nan(x), is_nan(y));
        let (x, y) = (canonical(x, x_nan), canonical(y, y_nan));
        let (for_x, for_y) = if plan.passes_nan_over { (y, x) } else { (x, y) };
        chosen = _mm256_blendv_epi8(_mm256_blendv_epi8(chosen, for_y, y_nan), for_x, x_nan);
        *nan = _mm256_or_si256(*nan, _mm256_or_si256(x_nan, y_nan));
    }
    chosen
}

/// All bits of the codes with a sign.
#[inline]
#[target_feature(enable = "avx2")]
fn is_negative(plan: &OrderPlan, code: __m256i) -> __m256i {
    let unsigned = _mm256_cmpeq_epi8(_mm256_and_si256(code, bytes(plan.sign)), _mm256_setzero_si256());
    _mm256_andnot_si256(unsigned, bytes(0xff))
}

/// Bytes in the order of the values; with `MAGNITUDES` in that of the magnitudes, and of equal ones
/// in that of the values.
#[inline]
#[target_feature(enable = "avx2")]
fn key<const MAGNITUDES: bool>(plan: &OrderPlan, code: __m256i) -> __m256i {
    let negative = is_negative(plan, code);
    if MAGNITUDES {
        let magnitude = _mm256_and_si256(code, bytes(plan.magnitude));
        return _mm256_sub_epi8(
            _mm256_add_epi8(magnitude, magnitude),
            _mm256_xor_si256(negative, bytes(0xff)),
        );
    }
    let flipped = _mm256_and_si256(negative, bytes(plan.magnitude));
    _mm256_xor_si256(_mm256_xor_si256(code, flipped), bytes(plan.sign))
}
