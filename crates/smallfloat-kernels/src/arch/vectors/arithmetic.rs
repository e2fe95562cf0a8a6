//! Sums and products of codes in binary32: what to compute, and loops over slices, the same for
//! every level. A level supplies what happens in a step.

use crate::plan::arithmetic::{ArithmeticPlan, Compute};

/// What a loop computes: a product of the first two operands, a sum with the last one, or both.
pub(in crate::arch) trait Operation {
    const MULTIPLIES: bool;
    const ADDS: bool;
}

pub(in crate::arch) enum Sum {}
impl Operation for Sum {
    const MULTIPLIES: bool = false;
    const ADDS: bool = true;
}

pub(in crate::arch) enum Product {}
impl Operation for Product {
    const MULTIPLIES: bool = true;
    const ADDS: bool = false;
}

pub(in crate::arch) enum Fma {}
impl Operation for Fma {
    const MULTIPLIES: bool = true;
    const ADDS: bool = true;
}

/// The decoders of three operands at a level, which takes `N` codes of each in a step.
pub(in crate::arch) trait Operands<const N: usize>: Sized {
    /// Computes `N` results: sums rounded to odd where they are not exact if `ODD`, the sign of a
    /// NaN made certain if `NAN`.
    ///
    /// # Safety
    /// The machine must have the level's instructions.
    unsafe fn step<O: Operation, const ODD: bool, const NAN: bool>(
        &self,
        codes: [&[u8; N]; 3],
        results: &mut [f32; N],
    );

    /// Makes the decoders and computes by [`for_steps`], with the level's instructions. Decoders
    /// are made here, since the compiler keeps what a function makes itself in registers.
    ///
    /// # Safety
    /// The machine must have the level's instructions.
    unsafe fn run<O: Operation, const ODD: bool, const NAN: bool>(
        plan: &ArithmeticPlan,
        codes: [&[u8]; 3],
        results: &mut [f32],
    );
}

/// Computes in binary32; an operation of two operands ignores the third.
///
/// # Safety
/// The machine must have the level's instructions.
pub(in crate::arch) unsafe fn compute<D: Operands<N>, const N: usize>(
    plan: &ArithmeticPlan,
    codes: [&[u8]; 3],
    results: &mut [f32],
) {
    let used = if plan.compute == Compute::Fma { 3 } else { 2 };
    assert!(
        codes[..used].iter().all(|codes| codes.len() == results.len()),
        "slices must have the same length"
    );
    // SAFETY: the caller's promise.
    unsafe {
        match (plan.compute, plan.odd, plan.nan_has_sign) {
            (Compute::Sum, false, false) => D::run::<Sum, false, false>(plan, codes, results),
            (Compute::Sum, false, true) => D::run::<Sum, false, true>(plan, codes, results),
            (Compute::Sum, true, false) => D::run::<Sum, true, false>(plan, codes, results),
            (Compute::Sum, true, true) => D::run::<Sum, true, true>(plan, codes, results),
            (Compute::Product, _, false) => D::run::<Product, false, false>(plan, codes, results),
            (Compute::Product, _, true) => D::run::<Product, false, true>(plan, codes, results),
            (Compute::Fma, false, false) => D::run::<Fma, false, false>(plan, codes, results),
            (Compute::Fma, false, true) => D::run::<Fma, false, true>(plan, codes, results),
            (Compute::Fma, true, false) => D::run::<Fma, true, false>(plan, codes, results),
            (Compute::Fma, true, true) => D::run::<Fma, true, true>(plan, codes, results),
        }
    }
}

/// Takes all steps; zeros fill the last one.
///
/// # Safety
/// The machine must have the level's instructions.
#[inline(always)]
pub(in crate::arch) unsafe fn for_steps<
    D: Operands<N>,
    O: Operation,
    const ODD: bool,
    const NAN: bool,
    const N: usize,
>(
    operands: &D,
    [x, y, z]: [&[u8]; 3],
    results: &mut [f32],
) {
    let z = if O::MULTIPLIES && O::ADDS { z } else { y };
    let ((x, x_rest), (y, y_rest), (z, z_rest)) = (x.as_chunks(), y.as_chunks(), z.as_chunks());
    let (result_steps, result_rest) = results.as_chunks_mut::<N>();
    for (((x, y), z), result) in x.iter().zip(y).zip(z).zip(result_steps) {
        // SAFETY: the caller's promise.
        unsafe { operands.step::<O, ODD, NAN>([x, y, z], result) };
    }
    if !result_rest.is_empty() {
        let padded = |rest: &[u8]| {
            let mut codes = [0; N];
            codes[..rest.len()].copy_from_slice(rest);
            codes
        };
        let (x, y, z) = (padded(x_rest), padded(y_rest), padded(z_rest));
        let mut result = [0.0; N];
        // SAFETY: the caller's promise.
        unsafe { operands.step::<O, ODD, NAN>([&x, &y, &z], &mut result) };
        result_rest.copy_from_slice(&result[..result_rest.len()]);
    }
}
