//! Loads of 16 elements of any source as binary32 bits, lanes of codes of 8 or 16 bits, and other
//! small pieces all kernels share.

use std::arch::aarch64::*;
use std::arch::asm;

use smallfloat::{Bf16, F16};

use crate::plan::encode::INFINITY;

/// Elements of one step of every kernel: as many bytes as a vector holds.
pub(crate) const STEP: usize = 16;

/// A vector of codes, in lanes of 8 or of 16 bits.
pub(crate) type Vector = uint8x16_t;

/// A wide float that becomes binary32 bits, exactly or rounded to odd.
pub(crate) trait Source: Copy + Default {
    /// The word of the smallest normal value, or any above those of subnormals.
    const MIN_NORMAL: u32;

    /// Four elements as binary32 bits, the `quarter`-th four of 16; NaN stays NaN.
    ///
    /// # Safety
    /// The machine must have NEON.
    unsafe fn load(values: &[Self; STEP], quarter: usize) -> uint32x4_t;

    /// The elements as [`load`](Self::load) has them, in `room`, which is at least as long.
    ///
    /// # Safety
    /// The machine must have NEON.
    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn widened<'a>(values: &'a [Self], room: &'a mut [f32]) -> &'a [f32] {
        let room = &mut room[..values.len()];
        let (steps, rest) = values.as_chunks::<STEP>();
        let (wide_steps, wide_rest) = room.as_chunks_mut::<STEP>();
        let widen = |step: &[Self; STEP], wide: &mut [f32; STEP]| {
            for (quarter, wide) in wide.as_chunks_mut::<4>().0.iter_mut().enumerate() {
                // SAFETY: this function has the level's instructions; the reference is to 16
                // writable bytes.
                unsafe { vst1q_u32(wide.as_mut_ptr().cast(), Self::load(step, quarter)) };
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
    #[target_feature(enable = "neon")]
    unsafe fn load(values: &[Self; STEP], quarter: usize) -> uint32x4_t {
        let four: &[Self; 4] = &values.as_chunks().0[quarter];
        // SAFETY: the reference is to 16 readable bytes.
        unsafe { vld1q_u32(four.as_ptr().cast()) }
    }

    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn widened<'a>(values: &'a [Self], _: &'a mut [f32]) -> &'a [f32] {
        values
    }
}

impl Source for Bf16 {
    const MIN_NORMAL: u32 = 0x0080_0000;

    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn load(values: &[Self; STEP], quarter: usize) -> uint32x4_t {
        let four: &[Self; 4] = &values.as_chunks().0[quarter];
        // SAFETY: the reference is to 8 readable bytes.
        vshll_n_u16::<16>(unsafe { vld1_u16(four.as_ptr().cast()) })
    }
}

impl Source for F16 {
    const MIN_NORMAL: u32 = 0x3880_0000;

    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn load(values: &[Self; STEP], quarter: usize) -> uint32x4_t {
        let four: &[Self; 4] = &values.as_chunks().0[quarter];
        let words: uint32x4_t;
        // SAFETY: the reference is to 8 readable bytes. The instruction, whose intrinsic is younger
        // than the oldest supported Rust, converts four binary16 to binary32: exactly, subnormals
        // included, whether or not the host flushes them.
        unsafe {
            let halves = vld1_u16(four.as_ptr().cast());
            asm!("fcvtl {0:v}.4s, {1:v}.4h", out(vreg) words, in(vreg) halves,
                options(pure, nomem, nostack, preserves_flags));
        }
        words
    }
}

/// Rounds to odd, so that the rounding to a narrower format afterwards is the only one:
/// `plan/encode.rs` says where that holds. Magnitudes below binary32's normal ones, which are below
/// every place that decides, become the words 1 (subnormal) and 3; those beyond its range a finite
/// value above every cap. Integer instructions only, so no setting of the host matters.
impl Source for f64 {
    const MIN_NORMAL: u32 = 2;

    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn load(values: &[Self; STEP], quarter: usize) -> uint32x4_t {
        // Exponent fields of binary64 for 2^-126 and 2^128, in upper halves; what the fields of
        // both formats differ by.
        const MIN_NORMAL: u32 = 897 << 20;
        const BEYOND: u32 = 1151 << 20;
        const OFFSET: u32 = 896 << 23;
        let four: &[Self; 4] = &values.as_chunks().0[quarter];
        // SAFETY: the reference is to 32 readable bytes.
        let uint32x4x2_t(low, high) = unsafe { vld2q_u32(four.as_ptr().cast()) };
        let one = words(1);
        let sign = vandq_u32(high, words(1 << 31));
        let magnitude = veorq_u32(high, sign);
        let sticky = vminq_u32(vshlq_n_u32::<3>(low), one);
        let inside = vminq_u32(vmaxq_u32(magnitude, words(MIN_NORMAL)), words(BEYOND - 1));
        let upper = vsubq_u32(vshlq_n_u32::<3>(inside), words(OFFSET));
        let mut narrow = vorrq_u32(vorrq_u32(upper, vshrq_n_u32::<29>(low)), sticky);
        let not_zero = vminq_u32(vorrq_u32(magnitude, low), one);
        let normal = vandq_u32(vcgtq_u32(magnitude, words((1 << 20) - 1)), words(2));
        let below = vcltq_u32(magnitude, words(MIN_NORMAL));
        narrow = vbslq_u32(below, vorrq_u32(not_zero, normal), narrow);
        let rest = vorrq_u32(veorq_u32(magnitude, words(0x7ff0_0000)), low);
        let special = vorrq_u32(vminq_u32(rest, one), words(INFINITY));
        let is_special = vcgtq_u32(magnitude, words(0x7fef_ffff));
        vorrq_u32(vbslq_u32(is_special, special, narrow), sign)
    }
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

/// The lanes of codes: bytes, or half-words of 16 bits.
macro_rules! by_width {
    ($($(#[$doc:meta])* $name:ident($($operand:ident),*) = $byte:ident, $half:ident;)*) => {
        $(
            $(#[$doc])*
            #[inline]
            #[target_feature(enable = "neon")]
            pub(crate) fn $name<T: Target>($($operand: Vector),*) -> Vector {
                if T::BITS == 8 {
                    $byte($($operand),*)
                } else {
                    vreinterpretq_u8_u16($half($(vreinterpretq_u16_u8($operand)),*))
                }
            }
        )*
    };
}

by_width! {
    /// Equal lanes: all bits set.
    equal(a, b) = vceqq_u8, vceqq_u16;
    /// Lanes of `a` that are greater, unsigned: all bits set.
    greater(a, b) = vcgtq_u8, vcgtq_u16;
    /// a + b, wrapping.
    add(a, b) = vaddq_u8, vaddq_u16;
    /// a − b, wrapping.
    subtract(a, b) = vsubq_u8, vsubq_u16;
    /// a − b of unsigned numbers, at least 0.
    less(a, b) = vqsubq_u8, vqsubq_u16;
    /// The lesser, unsigned.
    lesser(a, b) = vminq_u8, vminq_u16;
    /// The greater, unsigned.
    larger(a, b) = vmaxq_u8, vmaxq_u16;
}

/// Vectors of codes of 16 elements.
pub(crate) const fn parts(bits: u32) -> usize {
    (bits / 8) as usize
}

/// All bits of the lanes whose highest bit is set.
#[inline]
#[target_feature(enable = "neon")]
pub(crate) fn negative<T: Target>(lanes: Vector) -> Vector {
    if T::BITS == 8 {
        vcltzq_s8(vreinterpretq_s8_u8(lanes))
    } else {
        vreinterpretq_u8_u16(vcltzq_s16(vreinterpretq_s16_u8(lanes)))
    }
}

/// A vector of one code.
#[inline]
#[target_feature(enable = "neon")]
pub(crate) fn codes<T: Target>(code: u16) -> Vector {
    let [low, _] = code.to_le_bytes();
    if T::BITS == 8 { vdupq_n_u8(low) } else { vreinterpretq_u8_u16(vdupq_n_u16(code)) }
}

/// A vector of one 32-bit word.
#[inline]
#[target_feature(enable = "neon")]
pub(crate) fn words(word: u32) -> uint32x4_t {
    vdupq_n_u32(word)
}

/// A vector of one count of places, which is negative where shifts go to the right.
#[inline]
#[target_feature(enable = "neon")]
pub(crate) fn places(left: u32, right: u32) -> int32x4_t {
    vdupq_n_s32(left.cast_signed() - right.cast_signed())
}

/// Returns whether any bit is set.
#[inline]
#[target_feature(enable = "neon")]
pub(crate) fn any(bits: Vector) -> bool {
    vmaxvq_u8(bits) != 0
}

/// Stores the codes of a step.
#[inline]
#[target_feature(enable = "neon")]
pub(crate) fn store<T: Target>(to: &mut [T; STEP], vectors: &[Vector; 2]) {
    let to: *mut u8 = to.as_mut_ptr().cast();
    for (part, vector) in vectors[..parts(T::BITS)].iter().enumerate() {
        // SAFETY: the reference is to 16 codes, which are that many vectors.
        unsafe { vst1q_u8(to.add(STEP * part), *vector) };
    }
}

/// Sixteen bytes.
#[inline]
#[target_feature(enable = "neon")]
pub(crate) fn load(bytes: &[u8; STEP]) -> Vector {
    // SAFETY: the reference is to 16 readable bytes.
    unsafe { vld1q_u8(bytes.as_ptr()) }
}
