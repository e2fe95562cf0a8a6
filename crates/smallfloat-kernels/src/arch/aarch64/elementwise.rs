//! Operations on codes of at most 8 bits: sums and products in binary32, minima and maxima on the
//! bytes themselves.
//!
//! `plan/arithmetic.rs` says why a result in binary32, exact or rounded to odd, is all that the one
//! rounding needs.

use std::arch::aarch64::*;

use crate::arch::machine::Neon;
use crate::arch::machine::decode::{Constants, values};
use crate::arch::machine::lanes::{STEP, Vector, any, load, words};
use crate::arch::vectors::arithmetic::{self, Operands, Operation};
use crate::arch::vectors::blocks::{Step, for_steps};
use crate::arch::vectors::choices::CodesOnly;
use crate::plan::arithmetic::{ArithmeticPlan, OrderPlan, Subnormals};

/// Computes in binary32; an operation of two operands ignores the third.
pub(crate) fn compute(_: Neon, plan: &ArithmeticPlan, codes: [&[u8]; 3], results: &mut [f32]) {
    // SAFETY: the proof says that the machine has NEON.
    unsafe { arithmetic::compute::<Decoders, STEP>(plan, codes, results) };
}

struct Decoders([Constants; 3]);

impl Operands<STEP> for Decoders {
    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn step<O: Operation, const ODD: bool, const NAN: bool>(
        &self,
        [x, y, z]: [&[u8; STEP]; 3],
        results: &mut [f32; STEP],
    ) {
        let [kx, ky, kz] = &self.0;
        let (x, y) = (values(x, kx), values(y, ky));
        let z = if O::MULTIPLIES && O::ADDS { values(z, kz) } else { y };
        for (i, four) in results.as_chunks_mut::<4>().0.iter_mut().enumerate() {
            let mut result = x[i];
            if O::MULTIPLIES {
                result = with_nan::<NAN>(vmulq_f32(result, y[i]), result, y[i]);
            }
            if O::ADDS {
                result = with_nan::<NAN>(sum::<ODD>(result, z[i]), result, z[i]);
            }
            // SAFETY: the reference is to 16 writable bytes.
            unsafe { vst1q_f32(four.as_mut_ptr(), result) };
        }
    }

    #[target_feature(enable = "neon")]
    unsafe fn run<O: Operation, const ODD: bool, const NAN: bool>(
        plan: &ArithmeticPlan,
        codes: [&[u8]; 3],
        results: &mut [f32],
    ) {
        let [x, y, z] = &plan.operands;
        let decoders = Self([Constants::new(x), Constants::new(y), Constants::new(z)]);
        // SAFETY: this function has the level's instructions.
        unsafe { arithmetic::for_steps::<_, O, ODD, NAN, STEP>(&decoders, codes, results) };
    }
}

/// a + b, rounded to odd where it is not exact.
#[inline]
#[target_feature(enable = "neon")]
fn sum<const ODD: bool>(a: float32x4_t, b: float32x4_t) -> float32x4_t {
    let sum = vaddq_f32(a, b);
    if !ODD {
        return sum;
    }
    // What the addition has rounded off, exactly (Knuth's TwoSum); NaN where the sum is not finite.
    let b_part = vsubq_f32(sum, a);
    let a_part = vsubq_f32(sum, b_part);
    let error = vaddq_f32(vsubq_f32(a, a_part), vsubq_f32(b, b_part));
    let zero = vdupq_n_f32(0.0);
    let inexact = vorrq_u32(vcltq_f32(error, zero), vcgtq_f32(error, zero));
    // Toward zero where the error points there; then the last bit says that something was cut off.
    let word = vreinterpretq_u32_f32(sum);
    let inward = vcltzq_s32(vreinterpretq_s32_u32(veorq_u32(vreinterpretq_u32_f32(error), word)));
    let truncated = vaddq_u32(word, vandq_u32(inward, inexact));
    vreinterpretq_f32_u32(vorrq_u32(truncated, vshrq_n_u32::<31>(inexact)))
}

/// The lanes that are NaN: all bits set.
#[inline]
#[target_feature(enable = "neon")]
fn is_nan(x: float32x4_t) -> uint32x4_t {
    vmvnq_u32(vceqq_f32(x, x))
}

/// The result with a NaN's sign made certain: the first NaN operand's, or + where there is none.
#[inline]
#[target_feature(enable = "neon")]
fn with_nan<const NAN: bool>(result: float32x4_t, a: float32x4_t, b: float32x4_t) -> float32x4_t {
    if !NAN {
        return result;
    }
    let quiet = vreinterpretq_f32_u32(words(0x7fc0_0000));
    let nan = vbslq_f32(is_nan(a), a, vbslq_f32(is_nan(b), b, quiet));
    vbslq_f32(is_nan(result), nan, result)
}

/// Returns whether every magnitude is zero or in the range, both given by their bits.
pub(crate) fn stays_within(_: Neon, range: [u32; 2], values: &[f32]) -> bool {
    // SAFETY: the proof says that the machine has NEON.
    unsafe { all_within(range, values) }
}

#[target_feature(enable = "neon")]
fn all_within([low, high]: [u32; 2], values: &[f32]) -> bool {
    let (fours, rest) = values.as_chunks::<4>();
    // Zeros wrap to the largest number.
    let (mut least, mut greatest) = (words(u32::MAX), words(0));
    for four in fours {
        // SAFETY: the reference is to 16 readable bytes.
        let magnitude = vandq_u32(unsafe { vld1q_u32(four.as_ptr().cast()) }, words(0x7fff_ffff));
        least = vminq_u32(least, vsubq_u32(magnitude, words(1)));
        greatest = vmaxq_u32(greatest, magnitude);
    }
    let is_inside = |value: &f32| value.abs().to_bits() == 0 || (low..=high).contains(&value.abs().to_bits());
    vmaxvq_u32(greatest) <= high && vminvq_u32(least) >= low - 1 && rest.iter().all(is_inside)
}

/// Returns whether any code is subnormal.
pub(crate) fn has_subnormal(_: Neon, subnormals: Subnormals, codes: &[u8]) -> bool {
    // SAFETY: the proof says that the machine has NEON.
    unsafe { any_within(codes, subnormals.magnitude, 1, subnormals.last) }
}

/// Returns whether (code & mask) − first is below `count` for any code.
#[target_feature(enable = "neon")]
fn any_within(codes: &[u8], mask: u8, first: u8, count: u8) -> bool {
    let (steps, rest) = codes.as_chunks::<STEP>();
    let mut least = vdupq_n_u8(0xff);
    for code in steps {
        let place = vsubq_u8(vandq_u8(load(code), vdupq_n_u8(mask)), vdupq_n_u8(first));
        least = vminq_u8(least, place);
    }
    vminvq_u8(least) < count || rest.iter().any(|code| (code & mask).wrapping_sub(first) < count)
}

/// Minima or maxima of two slices; whether NaN is among the operands.
pub(crate) fn choose(_: Neon, plan: &OrderPlan, [x, y]: [&[u8]; 2], results: &mut [u8]) -> bool {
    assert!(x.len() == results.len() && y.len() == results.len(), "slices must have the same length");
    // SAFETY: the proof says that the machine has NEON.
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
#[target_feature(enable = "neon")]
fn choose_all<const MINIMUM: bool, const MAGNITUDES: bool>(
    plan: &OrderPlan,
    x: &[u8],
    y: &[u8],
    results: &mut [u8],
) -> bool {
    let choosing = Choosing::<MINIMUM, MAGNITUDES> { plan };
    let mut nan = vdupq_n_u8(0);
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
    type Sums = Vector;
    type Vectors = Vector;

    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn step(&self, x: &[u8; STEP], y: &[u8; STEP], nan: &mut Vector) -> Vector {
        choose_step::<MINIMUM, MAGNITUDES>(self.plan, x, y, nan)
    }

    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn store(results: &mut [u8; STEP], codes: Vector, _: bool) {
        // SAFETY: the reference is to 16 writable bytes.
        unsafe { vst1q_u8(results.as_mut_ptr(), codes) };
    }
}

#[inline]
#[target_feature(enable = "neon")]
fn choose_step<const MINIMUM: bool, const MAGNITUDES: bool>(
    plan: &OrderPlan,
    x: &[u8; STEP],
    y: &[u8; STEP],
    nan: &mut Vector,
) -> Vector {
    let bytes = |byte: u8| vdupq_n_u8(byte);
    let (x, y) = (vandq_u8(load(x), bytes(plan.codes)), vandq_u8(load(y), bytes(plan.codes)));
    let (x_key, y_key) = (key::<MAGNITUDES>(plan, x), key::<MAGNITUDES>(plan, y));
    let is_first = if MINIMUM { vcleq_u8(x_key, y_key) } else { vcgeq_u8(x_key, y_key) };
    let mut chosen = vbslq_u8(is_first, x, y);
    if let Some(codes) = &plan.nan {
        let is_nan = |code| {
            let place = vsubq_u8(vandq_u8(code, bytes(codes.mask)), bytes(codes.first));
            vcleq_u8(place, bytes(codes.last))
        };
        let canonical = |code, is_nan| {
            let negative = vtstq_u8(code, bytes(plan.sign));
            vbslq_u8(is_nan, vbslq_u8(negative, bytes(codes.results[1]), bytes(codes.results[0])), code)
        };
        let (x_nan, y_nan) = (is_nan(x), is_nan(y));
        let (x, y) = (canonical(x, x_nan), canonical(y, y_nan));
        let (for_x, for_y) = if plan.passes_nan_over { (y, x) } else { (x, y) };
        chosen = vbslq_u8(x_nan, for_x, vbslq_u8(y_nan, for_y, chosen));
        *nan = vorrq_u8(*nan, vorrq_u8(x_nan, y_nan));
    }
    chosen
}

/// Bytes in the order of the values; with `MAGNITUDES` in that of the magnitudes, and of equal ones
/// in that of the values.
#[inline]
#[target_feature(enable = "neon")]
fn key<const MAGNITUDES: bool>(plan: &OrderPlan, code: Vector) -> Vector {
    let negative = vtstq_u8(code, vdupq_n_u8(plan.sign));
    let magnitude = vdupq_n_u8(plan.magnitude);
    if MAGNITUDES {
        let magnitude = vandq_u8(code, magnitude);
        return vsubq_u8(vaddq_u8(magnitude, magnitude), vmvnq_u8(negative));
    }
    veorq_u8(veorq_u8(code, vandq_u8(negative, magnitude)), vdupq_n_u8(plan.sign))
}
