//! Sums over rounding classes, and largest magnitudes.
//!
//! Classes are numbered as in `key.rs`, eight elements at once. What a class adds up — its count
//! and Σt in one 64-bit word, Σt² in another — is one 128-bit addition in memory for each element.
//! Neighbours go to two tables in turn, so that a run of equal elements does not wait for its own
//! last sum.

use std::arch::x86_64::*;

use smallfloat::{Bf16, F16};

use crate::arch::machine::Avx2;
use crate::arch::machine::avx2::lanes::{STEP, words};
use crate::element::classes::{NarrowClasses, Seen};
use crate::plan::class_table::{COUNT, Pair, TABLES};

/// A float of at most 32 bits, whose bits lanes of 32 bits hold.
pub(crate) trait Bits: Copy + Default {
    /// Eight elements' bits, the `eighth`-th eight of 32.
    ///
    /// # Safety
    /// The machine must have AVX2.
    unsafe fn load(values: &[Self; STEP], eighth: usize) -> __m256i;
}

impl Bits for f32 {
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn load(values: &[Self; STEP], eighth: usize) -> __m256i {
        let eight: &[Self; 8] = &values.as_chunks().0[eighth];
        // SAFETY: the reference is to 32 readable bytes; the load needs no alignment.
        unsafe { _mm256_loadu_si256(eight.as_ptr().cast()) }
    }
}

macro_rules! half_bits {
    ($type:ty) => {
        impl Bits for $type {
            #[inline]
            #[target_feature(enable = "avx2")]
            unsafe fn load(values: &[Self; STEP], eighth: usize) -> __m256i {
                let eight: &[Self; 8] = &values.as_chunks().0[eighth];
                // SAFETY: the reference is to 16 readable bytes; the load needs no alignment.
                _mm256_cvtepu16_epi32(unsafe { _mm_loadu_si128(eight.as_ptr().cast()) })
            }
        }
    };
}

half_bits!(F16);
half_bits!(Bf16);

/// Adds elements to the sums of their classes; at most
/// [`CAPACITY`](crate::plan::class_table::CAPACITY) since the sums were zero.
pub(crate) fn add_classes<T: Bits>(
    _: Avx2,
    rounding_classes: &NarrowClasses,
    values: &[T],
    sums: &mut [Pair],
) -> Seen {
    // SAFETY: the proof says that the machine has AVX2.
    unsafe { add_all(rounding_classes, values, sums) }
}

/// The bits of the largest finite magnitude.
pub(crate) fn largest<T: Bits>(_: Avx2, rounding_classes: &NarrowClasses, values: &[T]) -> u32 {
    // SAFETY: the proof says that the machine has AVX2.
    unsafe { largest_of(rounding_classes, values) }
}

#[target_feature(enable = "avx2")]
fn largest_of<T: Bits>(rounding_classes: &NarrowClasses, values: &[T]) -> u32 {
    let (steps, rest) = values.as_chunks::<STEP>();
    let mut amax = [_mm256_setzero_si256(); 4];
    for x in steps.iter().chain(&padded(rest)) {
        for (i, amax) in amax.iter_mut().enumerate() {
            // SAFETY: this function has the features that loads need.
            let x = unsafe { T::load(x, i) };
            let magnitude = _mm256_and_si256(x, words(rounding_classes.magnitude));
            *amax = _mm256_max_epi32(*amax, finite(magnitude, rounding_classes));
        }
    }
    let two = [_mm256_max_epi32(amax[0], amax[1]), _mm256_max_epi32(amax[2], amax[3])];
    greatest(_mm256_max_epi32(two[0], two[1]))
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
#[target_feature(enable = "avx2")]
fn finite(magnitude: __m256i, rounding_classes: &NarrowClasses) -> __m256i {
    _mm256_and_si256(magnitude, _mm256_cmpgt_epi32(words(rounding_classes.infinity), magnitude))
}

/// The greatest of eight words.
#[inline]
#[target_feature(enable = "avx2")]
fn greatest(lanes: __m256i) -> u32 {
    let mut array = [0_u32; 8];
    // SAFETY: the reference is to 32 writable bytes; the store needs no alignment.
    unsafe { _mm256_storeu_si256(array.as_mut_ptr().cast(), lanes) };
    array.into_iter().fold(0, u32::max)
}

#[target_feature(enable = "avx2")]
fn add_all<T: Bits>(rounding_classes: &NarrowClasses, values: &[T], sums: &mut [Pair]) -> Seen {
    let (steps, rest) = values.as_chunks::<STEP>();
    let (mut amax, mut highest) = (_mm256_setzero_si256(), _mm256_setzero_si256());
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
    let highest = greatest(highest);
    Seen {
        denormal: false,
        negative: highest > rounding_classes.magnitude + 1,
        amax: u64::from(greatest(amax)),
    }
}

/// Adds 32 elements.
#[inline]
#[target_feature(enable = "avx2")]
fn step<T: Bits>(
    x: &[T; STEP],
    rounding_classes: &NarrowClasses,
    sums: &mut [Pair],
    amax: &mut __m256i,
    highest: &mut __m256i,
) {
    let zero = _mm256_setzero_si256();
    let shift = _mm_cvtsi32_si128(rounding_classes.shift.cast_signed());
    let count = _mm256_set1_epi32(1 << (COUNT - 32));
    for i in 0..4 {
        // SAFETY: this function has the features that loads need.
        let x = unsafe { T::load(x, i) };
        let magnitude = _mm256_and_si256(x, words(rounding_classes.magnitude));
        *highest = _mm256_max_epu32(*highest, x);
        *amax = _mm256_max_epi32(*amax, finite(magnitude, rounding_classes));
        let clamped = _mm256_min_epi32(
            _mm256_max_epi32(magnitude, words(rounding_classes.low)),
            words(rounding_classes.high),
        );
        let t = _mm256_and_si256(clamped, words((1 << rounding_classes.shift) - 1));
        // Comparisons are −1 where they hold: the class is 2·range + 2 with one less for each of
        // two that hold, and one more for each of two others; the place in the tables twice that,
        // and one more for every second element.
        let range = _mm256_srl_epi32(_mm256_sub_epi32(clamped, words(rounding_classes.low)), shift);
        let less = _mm256_add_epi32(_mm256_cmpeq_epi32(t, zero), _mm256_cmpeq_epi32(magnitude, zero));
        let more = _mm256_add_epi32(
            _mm256_cmpgt_epi32(magnitude, words(rounding_classes.infinity - 1)),
            _mm256_cmpgt_epi32(magnitude, words(rounding_classes.infinity)),
        );
        let class = _mm256_add_epi32(_mm256_add_epi32(range, range), _mm256_sub_epi32(less, more));
        let place =
            _mm256_add_epi32(_mm256_add_epi32(class, class), _mm256_setr_epi32(4, 5, 4, 5, 4, 5, 4, 5));
        let mut places = [0_u32; 8];
        // SAFETY: the reference is to 32 writable bytes; the store needs no alignment.
        unsafe { _mm256_storeu_si256(places.as_mut_ptr().cast(), place) };

        let odd = _mm256_srli_epi64::<32>(t);
        let counted =
            [_mm256_blend_epi32::<0b1010_1010>(t, count), _mm256_blend_epi32::<0b1010_1010>(odd, count)];
        let squares = [_mm256_mul_epu32(t, t), _mm256_mul_epu32(odd, odd)];
        // Elements 0 and 4, 1 and 5, 2 and 6, 3 and 7.
        let pairs = [
            _mm256_unpacklo_epi64(counted[0], squares[0]),
            _mm256_unpacklo_epi64(counted[1], squares[1]),
            _mm256_unpackhi_epi64(counted[0], squares[0]),
            _mm256_unpackhi_epi64(counted[1], squares[1]),
        ];
        for j in 0..4 {
            add(&mut sums[places[j] as usize], _mm256_castsi256_si128(pairs[j]));
            add(&mut sums[places[j + 4] as usize], _mm256_extracti128_si256::<1>(pairs[j]));
        }
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn add(sum: &mut Pair, term: __m128i) {
    let to = sum.as_mut_ptr().cast();
    // SAFETY: the reference is to 16 readable and writable bytes; neither access needs alignment.
    unsafe { _mm_storeu_si128(to, _mm_add_epi64(_mm_loadu_si128(to), term)) };
}
