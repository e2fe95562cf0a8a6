//! Sums and products of codes in binary32, with vectors of sixteen; `avx2/elementwise.rs` has the
//! other operations.

use std::arch::x86_64::*;

use crate::arch::machine::Avx512;
use crate::arch::machine::avx2::elementwise::{Fma, Operation, Product, Sum};
use crate::arch::machine::avx512::decode::{Halved, Table, Whole, values};
use crate::arch::machine::avx512::lanes::STEP;
use crate::plan::arithmetic::{ArithmeticPlan, Compute};

/// Computes in binary32; an operation of two operands ignores the third.
pub(crate) fn compute(_: Avx512, plan: &ArithmeticPlan, codes: [&[u8]; 3], results: &mut [f32]) {
    let used = if plan.compute == Compute::Fma { 3 } else { 2 };
    assert!(
        codes[..used].iter().all(|codes| codes.len() == results.len()),
        "slices must have the same length"
    );
    // SAFETY: the proof says that the machine has these instructions.
    unsafe { with_tables(plan, codes, results) }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi")]
fn with_tables(plan: &ArithmeticPlan, codes: [&[u8]; 3], results: &mut [f32]) {
    let [x, y, z] = &plan.operands;
    match plan.operands.each_ref().map(|operand| operand.signs) {
        [Some(a), Some(b), Some(c)] => {
            let tables = [&Halved::new(x, a), &Halved::new(y, b), &Halved::new(z, c)];
            dispatch(plan, tables, codes, results);
        }
        _ => dispatch(plan, [&Whole::new(x), &Whole::new(y), &Whole::new(z)], codes, results),
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi")]
fn dispatch<T: Table>(plan: &ArithmeticPlan, tables: [&T; 3], codes: [&[u8]; 3], results: &mut [f32]) {
    match (plan.compute, plan.odd, plan.nan_has_sign) {
        (Compute::Sum, false, false) => run::<T, Sum, false, false>(tables, codes, results),
        (Compute::Sum, false, true) => run::<T, Sum, false, true>(tables, codes, results),
        (Compute::Sum, true, false) => run::<T, Sum, true, false>(tables, codes, results),
        (Compute::Sum, true, true) => run::<T, Sum, true, true>(tables, codes, results),
        (Compute::Product, _, false) => run::<T, Product, false, false>(tables, codes, results),
        (Compute::Product, _, true) => run::<T, Product, false, true>(tables, codes, results),
        (Compute::Fma, false, false) => run::<T, Fma, false, false>(tables, codes, results),
        (Compute::Fma, false, true) => run::<T, Fma, false, true>(tables, codes, results),
        (Compute::Fma, true, false) => run::<T, Fma, true, false>(tables, codes, results),
        (Compute::Fma, true, true) => run::<T, Fma, true, true>(tables, codes, results),
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi")]
fn run<T: Table, O: Operation, const ODD: bool, const NAN: bool>(
    tables: [&T; 3],
    [x, y, z]: [&[u8]; 3],
    results: &mut [f32],
) {
    let z = if O::MULTIPLIES && O::ADDS { z } else { y };
    let ((x, x_rest), (y, y_rest), (z, z_rest)) = (x.as_chunks(), y.as_chunks(), z.as_chunks());
    let (result_steps, result_rest) = results.as_chunks_mut::<STEP>();
    for (((x, y), z), result) in x.iter().zip(y).zip(z).zip(result_steps) {
        step::<T, O, ODD, NAN>([x, y, z], tables, result);
    }
    if !result_rest.is_empty() {
        let padded = |rest: &[u8]| {
            let mut codes = [0; STEP];
            codes[..rest.len()].copy_from_slice(rest);
            codes
        };
        let (x, y, z) = (padded(x_rest), padded(y_rest), padded(z_rest));
        let mut result = [0.0; STEP];
        step::<T, O, ODD, NAN>([&x, &y, &z], tables, &mut result);
        result_rest.copy_from_slice(&result[..result_rest.len()]);
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vbmi")]
fn step<T: Table, O: Operation, const ODD: bool, const NAN: bool>(
    [x, y, z]: [&[u8; STEP]; 3],
    [table_x, table_y, table_z]: [&T; 3],
    results: &mut [f32; STEP],
) {
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
