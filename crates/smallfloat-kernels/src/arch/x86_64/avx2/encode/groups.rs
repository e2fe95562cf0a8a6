//! Groups of f32 with scales of powers of two → 8-bit codes, 32 elements at once: to nearest, into
//! signed formats with gradual underflow.

use std::arch::x86_64::*;

use crate::arch::machine::Avx2;
use crate::arch::machine::avx2::block::fill_largest;
use crate::arch::machine::avx2::encode::{Constants, Sums, step};
use crate::arch::machine::avx2::lanes::{STEP, store};
use crate::arch::vectors::blocks::{GroupStep, for_groups};
use crate::arch::vectors::choices::{CodesOnly, Fit, Gradual, NearestEven, fit};
use crate::plan::blocks::PowerScales;
use crate::plan::encode::{EncodePlan, INFINITY, Mode};

/// Elements of a vector.
const LANES: usize = 8;

/// Groups whose scales are chosen before their elements are encoded, which are in the first cache
/// still.
const GROUPS: usize = 64;

/// Encodes groups and says whether all elements are finite; `None` for other groups and plans.
pub(crate) fn encode_blocks(
    token: Avx2,
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
        unsafe {
            if length == 16 {
                encode_piece::<2>(plan, rule, largest, values, scales, codes);
            } else {
                encode_piece::<1>(plan, rule, largest, values, scales, codes);
            }
        }
    }
    Some(true)
}

/// The encoding of quotients.
struct Blocks {
    k: Constants,
}

/// Encodes groups with these largest magnitudes; a step has `G` groups.
#[target_feature(enable = "avx2,f16c,popcnt")]
fn encode_piece<const G: usize>(
    plan: &EncodePlan,
    rule: PowerScales,
    largest: &[f32],
    values: &[f32],
    scales: &mut [u8],
    codes: &mut [u8],
) {
    let blocks = Blocks { k: Constants::new::<f32, u8>(plan) };
    let mut inverses = [0.0; GROUPS];
    let inverses = &mut inverses[..scales.len()];
    for ((inverse, scale), amax) in inverses.iter_mut().zip(scales).zip(largest) {
        *scale = rule.code(amax.to_bits());
        *inverse = PowerScales::inverse(*scale);
    }
    // SAFETY: this function has the level's instructions.
    unsafe { for_groups::<_, STEP, G>(&blocks, values, inverses, codes) };
}

impl<const G: usize> GroupStep<STEP, G> for Blocks {
    type From = f32;
    type With = f32;
    type To = u8;

    /// What underflows in a quotient becomes zero either way.
    #[inline]
    #[target_feature(enable = "avx2,f16c,popcnt")]
    unsafe fn step(&self, x: &[f32; STEP], inverses: &[f32; G], codes: &mut [u8; STEP]) {
        let mut quotients = [0.0; STEP];
        let eights = x.as_chunks::<LANES>().0.iter().zip(quotients.as_chunks_mut::<LANES>().0);
        for (i, (x, quotients)) in eights.enumerate() {
            let inverse = _mm256_set1_ps(inverses[i * G / 4]);
            // SAFETY: the references are to 32 bytes; loads and stores need no alignment.
            unsafe {
                let x = _mm256_loadu_ps(x.as_ptr());
                _mm256_storeu_ps(quotients.as_mut_ptr(), _mm256_mul_ps(x, inverse));
            }
        }
        // Nothing is added up.
        let sums = &mut Sums::new();
        let code = step::<f32, u8, Gradual, NearestEven, CodesOnly>(&quotients, &self.k, sums);
        // SAFETY: this function has the level's instructions, and the store needs no alignment.
        unsafe { store(codes, &code, false) };
    }
}
