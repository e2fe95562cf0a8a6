//! Groups of f32 with a scale each: their largest magnitudes, and their 8-bit codes, 16 elements at
//! once.

use std::arch::aarch64::*;

use crate::arch::machine::Neon;
use crate::arch::machine::encode::{Constants, Sums, step};
use crate::arch::machine::lanes::{STEP, store, words};
use crate::arch::vectors::blocks::{GroupStep, for_groups};
use crate::arch::vectors::choices::{CodesOnly, Fit, Gradual, NearestEven, fit};
use crate::plan::blocks::PowerScales;
use crate::plan::encode::{EncodePlan, INFINITY, Mode};

/// Elements of a vector.
const LANES: usize = 4;

/// Groups whose scales are chosen before their elements are encoded, which are in the first cache
/// still.
const GROUPS: usize = 64;

/// Fills in the largest magnitudes of groups, and returns the bits of the largest of all; `None`
/// for lengths of no whole vectors.
pub(crate) fn fill_largest(_: Neon, length: usize, values: &[f32], largest: &mut [f32]) -> Option<u32> {
    assert_eq!(values.len(), length * largest.len(), "every group has a largest magnitude");
    if length == 0 || !length.is_multiple_of(LANES) {
        return None;
    }
    let (vectors, _) = values.as_chunks::<LANES>();
    // SAFETY: the proof says that the machine has these instructions.
    unsafe {
        Some(match length {
            // Groups of a known length stay in registers.
            16 => fill_all::<4>(vectors.as_chunks::<4>().0, largest),
            32 => fill_all::<8>(vectors.as_chunks::<8>().0, largest),
            _ => fill_groups(vectors.chunks_exact(length / LANES), largest),
        })
    }
}

/// For groups of `V` vectors.
#[target_feature(enable = "neon")]
fn fill_all<const V: usize>(groups: &[[[f32; LANES]; V]], largest: &mut [f32]) -> u32 {
    fill_groups(groups.iter().map(<[_; V]>::as_slice), largest)
}

#[inline(always)]
fn fill_groups<'a>(groups: impl Iterator<Item = &'a [[f32; LANES]]>, largest: &mut [f32]) -> u32 {
    let mut most = 0;
    for (group, largest) in groups.zip(largest) {
        // SAFETY: who calls this has a proof that the machine has NEON.
        let found = unsafe { largest_word(group) };
        *largest = f32::from_bits(found);
        most = found.max(most);
    }
    most
}

/// The largest magnitude.
#[inline]
#[target_feature(enable = "neon")]
fn largest_word(vectors: &[[f32; LANES]]) -> u32 {
    let mut lanes = words(0);
    for vector in vectors {
        // SAFETY: the reference is to 16 readable bytes.
        let x = unsafe { vld1q_u32(vector.as_ptr().cast()) };
        lanes = vmaxq_u32(lanes, vandq_u32(x, words(0x7fff_ffff)));
    }
    vmaxvq_u32(lanes)
}

/// Encodes groups with scales of powers of two, to nearest, into signed formats with gradual
/// underflow, and says whether all elements are finite; `None` for other groups and plans.
pub(crate) fn encode_blocks(
    token: Neon,
    plan: &EncodePlan,
    rule: PowerScales,
    length: usize,
    values: &[f32],
    scales: &mut [u8],
    codes: &mut [u8],
) -> Option<bool> {
    assert_eq!(values.len(), codes.len(), "elements and codes must have the same length");
    assert_eq!(values.len(), length * scales.len(), "every group needs a scale");
    if !(matches!(plan.mode, Mode::Even) && matches!(fit(plan), Fit::Gradual) && [16, 32].contains(&length)) {
        return None;
    }
    let pieces = values.chunks(GROUPS * length).zip(codes.chunks_mut(GROUPS * length));
    let mut largest = [0.0; GROUPS];
    for ((values, codes), scales) in pieces.zip(scales.chunks_mut(GROUPS)) {
        let largest = &mut largest[..scales.len()];
        if fill_largest(token, length, values, largest)? >= INFINITY {
            return Some(false);
        }
        // SAFETY: the proof says that the machine has these instructions.
        unsafe { encode_piece(plan, rule, largest, values, scales, codes) };
    }
    Some(true)
}

/// The encoding of quotients.
struct Blocks {
    k: Constants,
}

/// Encodes groups with these largest magnitudes; a step is a group, or half of one.
#[target_feature(enable = "neon")]
fn encode_piece(
    plan: &EncodePlan,
    rule: PowerScales,
    largest: &[f32],
    values: &[f32],
    scales: &mut [u8],
    codes: &mut [u8],
) {
    let blocks = Blocks { k: Constants::new::<f32, u8>(plan) };
    let steps = values.len() / STEP / scales.len();
    let mut inverses = [0.0; 2 * GROUPS];
    for ((scale, amax), inverses) in scales.iter_mut().zip(largest).zip(inverses.chunks_exact_mut(steps)) {
        *scale = rule.code(amax.to_bits());
        inverses.fill(PowerScales::inverse(*scale));
    }
    // SAFETY: this function has the level's instructions.
    unsafe { for_groups::<_, STEP, 1>(&blocks, values, &inverses[..values.len() / STEP], codes) };
}

impl GroupStep<STEP, 1> for Blocks {
    type From = f32;
    type With = f32;
    type To = u8;

    /// What underflows in a quotient becomes zero either way.
    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn step(&self, x: &[f32; STEP], [inverse]: &[f32; 1], codes: &mut [u8; STEP]) {
        let mut quotients = [0.0; STEP];
        for (x, quotient) in x.as_chunks::<LANES>().0.iter().zip(quotients.as_chunks_mut::<LANES>().0) {
            // SAFETY: the references are to 16 bytes.
            unsafe { vst1q_f32(quotient.as_mut_ptr(), vmulq_n_f32(vld1q_f32(x.as_ptr()), *inverse)) };
        }
        // Nothing is added up.
        let code = step::<f32, u8, Gradual, NearestEven, CodesOnly>(&quotients, &self.k, &mut Sums::new());
        store(codes, &code);
    }
}
