//! Sums and products of codes in binary32, with vectors of sixteen; `avx2/elementwise.rs` has the
//! other operations.

use std::arch::x86_64::*;

use crate::arch::machine::Avx512;
use crate::arch::machine::avx512::decode::{Halved, Table, Whole, values};
use crate::arch::machine::avx512::lanes::STEP;
use crate::arch::vectors::arithmetic::{self, Operands, Operation};
use crate::plan::arithmetic::ArithmeticPlan;

/// Computes in binary32; an operation of two operands ignores the third.
pub(crate) fn compute(_: Avx512, plan: &ArithmeticPlan, codes: [&[u8]; 3], results: &mut [f32]) {
    // SAFETY: the proof says that the machine has these instructions.
    unsafe {
        if plan.operands.iter().all(|operand| operand.signs.is_some()) {
            arithmetic::compute::<Tables<Halved>, STEP>(plan, codes, results);
        } else {
            arithmetic::compute::<Tables<Whole>, STEP>(plan, codes, results);
        }
    }
}

struct Tables<T>([T; 3]);

impl<T: Table> Operands<STEP> for Tables<T> {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi")]
    unsafe fn step<O: Operation, const ODD: bool, const NAN: bool>(
        &self,
        [x, y, z]: [&[u8; STEP]; 3],
        results: &mut [f32; STEP],
    ) {
        let [table_x, table_y, table_z] = &self.0;
        // SAFETY: this function has the features that tables need.
        let (x, y) = unsafe { (values(x, table_x), values(y, table_y)) };
        // SAFETY: as above.
        let z = if O::MULTIPLIES && O::ADDS { unsafe { values(z, table_z) } } else { y };
        for (i, sixteen) in results.as_chunks_mut::<16>().0.iter_mut().enumerate() {
            let mut result = x[i];
            if O::MULTIPLIES {
                result = with_nan::<NAN>(_mm512_mul_ps(result, y[i]), result, y[i]);
            }
            if O::ADDS {
                result = with_nan::<NAN>(sum::<ODD>(result, z[i]), result, z[i]);
            }
            // SAFETY: the reference is to 64 writable bytes; the store needs no alignment.
            unsafe { _mm512_storeu_ps(sixteen.as_mut_ptr(), result) };
        }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi")]
    unsafe fn run<O: Operation, const ODD: bool, const NAN: bool>(
        plan: &ArithmeticPlan,
        codes: [&[u8]; 3],
        results: &mut [f32],
    ) {
        let [x, y, z] = &plan.operands;
        // SAFETY: this function has the level's instructions.
        unsafe {
            let tables = Self([T::new(x), T::new(y), T::new(z)]);
            arithmetic::for_steps::<_, O, ODD, NAN, STEP>(&tables, codes, results);
        }
    }
}

/// a + b, rounded to odd where it is not exact.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn sum<const ODD: bool>(a: __m512, b: __m512) -> __m512 {
    let sum = _mm512_add_ps(a, b);
    if !ODD {
        return sum;
    }
    // What the addition has rounded off, exactly (Knuth's TwoSum); NaN where the sum is not finite.
    let b_part = _mm512_sub_ps(sum, a);
    let a_part = _mm512_sub_ps(sum, b_part);
    let error = _mm512_add_ps(_mm512_sub_ps(a, a_part), _mm512_sub_ps(b, b_part));
    let inexact = _mm512_cmp_ps_mask::<_CMP_NEQ_OQ>(error, _mm512_setzero_ps());
    // Toward zero where the error points there; then the last bit says that something was cut off.
    let bits = _mm512_castps_si512(sum);
    let inward = inexact & _mm512_movepi32_mask(_mm512_castps_si512(_mm512_xor_ps(error, sum)));
    let truncated = _mm512_mask_sub_epi32(bits, inward, bits, _mm512_set1_epi32(1));
    _mm512_castsi512_ps(_mm512_mask_or_epi32(truncated, inexact, truncated, _mm512_set1_epi32(1)))
}

/// The result with a NaN's sign made certain: the first NaN operand's, or + where there is none.
#[inline]
#[target_feature(enable = "avx512f")]
fn with_nan<const NAN: bool>(result: __m512, a: __m512, b: __m512) -> __m512 {
    if !NAN {
        return result;
    }
    let is_nan = |x| _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(x, x);
    let quiet = _mm512_castsi512_ps(_mm512_set1_epi32(0x7fc0_0000));
    let from_b = _mm512_mask_mov_ps(quiet, is_nan(b), b);
    let nan = _mm512_mask_mov_ps(from_b, is_nan(a), a);
    _mm512_mask_mov_ps(result, is_nan(result), nan)
}
