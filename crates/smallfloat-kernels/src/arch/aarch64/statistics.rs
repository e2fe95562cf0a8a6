//! Sums over rounding classes, and largest magnitudes.
//!
//! Classes are numbered as in `element/classes.rs`, four elements at once. What a class adds up —
//! its count and Σt in one 64-bit word, Σt² in another — is one addition of a vector in memory for
//! each element. Neighbours go to two tables in turn, so that a run of equal elements does not wait
//! for its own last sum.

use std::arch::aarch64::*;

use smallfloat::{Bf16, F16};

use crate::arch::machine::Neon;
use crate::arch::machine::lanes::{STEP, places, words};
use crate::element::classes::{NarrowClasses, Seen};
use crate::plan::class_table::{COUNT, Pair, TABLES};

/// A float of at most 32 bits, whose bits lanes of 32 bits hold.
pub(crate) trait Bits: Copy + Default {
    /// Four elements' bits, the `quarter`-th four of 16.
    ///
    /// # Safety
    /// The machine must have NEON.
    unsafe fn load(values: &[Self; STEP], quarter: usize) -> uint32x4_t;
}

impl Bits for f32 {
    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn load(values: &[Self; STEP], quarter: usize) -> uint32x4_t {
        let four: &[Self; 4] = &values.as_chunks().0[quarter];
        // SAFETY: the reference is to 16 readable bytes.
        unsafe { vld1q_u32(four.as_ptr().cast()) }
    }
}

macro_rules! half_bits {
    ($($type:ty),*) => {
        $(
            impl Bits for $type {
                #[inline]
                #[target_feature(enable = "neon")]
                unsafe fn load(values: &[Self; STEP], quarter: usize) -> uint32x4_t {
                    let four: &[Self; 4] = &values.as_chunks().0[quarter];
                    // SAFETY: the reference is to 8 readable bytes.
                    vmovl_u16(unsafe { vld1_u16(four.as_ptr().cast()) })
                }
            }
        )*
    };
}

half_bits!(F16, Bf16);

/// Adds elements to the sums of their classes; at most
/// [`CAPACITY`](crate::plan::class_table::CAPACITY) since the sums were zero.
pub(crate) fn add_classes<T: Bits>(
    _: Neon,
    rounding_classes: &NarrowClasses,
    values: &[T],
    sums: &mut [Pair],
) -> Seen {
    // SAFETY: the proof says that the machine has NEON.
    unsafe { add_all(rounding_classes, values, sums) }
}

/// The bits of the largest finite magnitude.
pub(crate) fn largest<T: Bits>(_: Neon, rounding_classes: &NarrowClasses, values: &[T]) -> u32 {
    // SAFETY: the proof says that the machine has NEON.
    unsafe { largest_of(rounding_classes, values) }
}

#[target_feature(enable = "neon")]
fn largest_of<T: Bits>(rounding_classes: &NarrowClasses, values: &[T]) -> u32 {
    let (steps, rest) = values.as_chunks::<STEP>();
    let mut amax = [words(0); 4];
    for x in steps.iter().chain(&padded(rest)) {
        for (i, amax) in amax.iter_mut().enumerate() {
            // SAFETY: this function has the features that loads need.
            let x = unsafe { T::load(x, i) };
            let magnitude = vandq_u32(x, words(rounding_classes.magnitude));
            *amax = vmaxq_u32(*amax, finite(magnitude, rounding_classes));
        }
    }
    vmaxvq_u32(vmaxq_u32(vmaxq_u32(amax[0], amax[1]), vmaxq_u32(amax[2], amax[3])))
}

/// What is left of a slice, with zeros after it; nothing if there is nothing.
fn padded<T: Bits>(rest: &[T]) -> Option<[T; STEP]> {
    if rest.is_empty() {
        return None;
    }
    let mut step = [T::default(); STEP];
    step[..rest.len()].copy_from_slice(rest);
    Some(step)
}

/// Finite magnitudes, and zeros in place of others.
#[inline]
#[target_feature(enable = "neon")]
fn finite(magnitude: uint32x4_t, rounding_classes: &NarrowClasses) -> uint32x4_t {
    vandq_u32(magnitude, vcltq_u32(magnitude, words(rounding_classes.infinity)))
}

#[target_feature(enable = "neon")]
fn add_all<T: Bits>(rounding_classes: &NarrowClasses, values: &[T], sums: &mut [Pair]) -> Seen {
    let (steps, rest) = values.as_chunks::<STEP>();
    let (mut amax, mut highest) = (words(0), words(0));
    for x in steps {
        step(x, rounding_classes, sums, &mut amax, &mut highest);
    }
    if let Some(x) = padded(rest) {
        step(&x, rounding_classes, sums, &mut amax, &mut highest);
        // Zeros are the first class, and their t is zero.
        for lane in rest.len()..STEP {
            sums[lane % TABLES][0] -= 1 << COUNT;
        }
    }
    Seen {
        denormal: false,
        negative: vmaxvq_u32(highest) > rounding_classes.magnitude + 1,
        amax: u64::from(vmaxvq_u32(amax)),
    }
}

/// Adds 16 elements.
#[inline]
#[target_feature(enable = "neon")]
fn step<T: Bits>(
    x: &[T; STEP],
    rounding_classes: &NarrowClasses,
    sums: &mut [Pair],
    amax: &mut uint32x4_t,
    highest: &mut uint32x4_t,
) {
    let count = words(1 << (COUNT - 32));
    // The place of the first class: twice 2, and one more for every second element.
    // SAFETY: the reference is to 16 readable bytes.
    let first = unsafe { vld1q_u32([4_u32, 5, 4, 5].as_ptr()) };
    for i in 0..4 {
        // SAFETY: this function has the features that loads need.
        let x = unsafe { T::load(x, i) };
        let magnitude = vandq_u32(x, words(rounding_classes.magnitude));
        *highest = vmaxq_u32(*highest, x);
        *amax = vmaxq_u32(*amax, finite(magnitude, rounding_classes));
        let (low, high) = (words(rounding_classes.low), words(rounding_classes.high));
        let clamped = vminq_u32(vmaxq_u32(magnitude, low), high);
        let t = vandq_u32(clamped, words((1 << rounding_classes.shift) - 1));
        // Comparisons are −1 where they hold: the class is 2·range + 2 with one less for each of
        // two that hold, and one more for each of two others; the place in the tables twice that.
        let range = vshlq_u32(vsubq_u32(clamped, low), places(0, rounding_classes.shift));
        let less = vaddq_u32(vceqzq_u32(t), vceqzq_u32(magnitude));
        let infinity = words(rounding_classes.infinity);
        let more = vaddq_u32(vcgeq_u32(magnitude, infinity), vcgtq_u32(magnitude, infinity));
        let class = vaddq_u32(vaddq_u32(range, range), vsubq_u32(less, more));
        let mut place = [0_u32; 4];
        // SAFETY: the reference is to 16 writable bytes.
        unsafe { vst1q_u32(place.as_mut_ptr(), vaddq_u32(vaddq_u32(class, class), first)) };

        let counted =
            [vreinterpretq_u64_u32(vzip1q_u32(t, count)), vreinterpretq_u64_u32(vzip2q_u32(t, count))];
        let squares = [vmull_u32(vget_low_u32(t), vget_low_u32(t)), vmull_high_u32(t, t)];
        for j in 0..2 {
            add(&mut sums[place[2 * j] as usize], vzip1q_u64(counted[j], squares[j]));
            add(&mut sums[place[2 * j + 1] as usize], vzip2q_u64(counted[j], squares[j]));
        }
    }
}

#[inline]
#[target_feature(enable = "neon")]
fn add(sum: &mut Pair, term: uint64x2_t) {
    // SAFETY: the reference is to 16 readable and writable bytes.
    unsafe { vst1q_u64(sum.as_mut_ptr(), vaddq_u64(vld1q_u64(sum.as_ptr()), term)) };
}
