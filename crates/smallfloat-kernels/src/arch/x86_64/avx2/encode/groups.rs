//! Groups of f32 with scales of powers of two → 8-bit codes, 32 elements at once: to nearest, into
//! signed formats with gradual underflow.

use std::arch::x86_64::*;
use std::slice::{from_mut, from_ref};

use crate::arch::machine::Avx2;
use crate::arch::machine::avx2::block::fill_largest;
use crate::arch::machine::avx2::encode::{Constants, Sums, fit, step};
use crate::arch::machine::avx2::lanes::{STEP, store};
use crate::arch::machine::choices::{CodesOnly, Fit, Gradual, NearestEven};
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
                encode_piece::<16, 2>(plan, rule, largest, values, scales, codes);
            } else {
                encode_piece::<32, 1>(plan, rule, largest, values, scales, codes);
            }
        }
    }
    Some(true)
}

/// Encodes groups of `L` elements with these largest magnitudes; a step has `G` groups.
#[target_feature(enable = "avx2,f16c,popcnt")]
fn encode_piece<const L: usize, const G: usize>(
    plan: &EncodePlan,
    rule: PowerScales,
    largest: &[f32],
    values: &[f32],
    scales: &mut [u8],
    codes: &mut [u8],
) {
    let k = Constants::new::<f32, u8>(plan);
    let mut inverses = [0.0; GROUPS];
    for ((inverse, scale), amax) in inverses.iter_mut().zip(scales).zip(largest) {
        *scale = rule.code(amax.to_bits());
        *inverse = PowerScales::inverse(*scale);
    }
    let inverses = inverses.as_chunks::<G>().0;
    let (steps, rest) = values.as_chunks::<STEP>();
    let (code_steps, code_rest) = codes.as_chunks_mut::<STEP>();
    let mut last = ([0.0; STEP], [0; STEP]);
    last.0[..rest.len()].copy_from_slice(rest);
    let has_rest = usize::from(!rest.is_empty());
    let mut sums = Sums::new();
    // The step has one call, for whole steps and for the last one: so it is always inlined.
    for is_last in [false, true] {
        let (steps, code_steps, inverses) = if is_last {
            (&from_ref(&last.0)[..has_rest], &mut from_mut(&mut last.1)[..has_rest], &inverses[steps.len()..])
        } else {
            (steps, &mut *code_steps, inverses)
        };
        for ((x, codes), inverses) in steps.iter().zip(code_steps).zip(inverses) {
            let quotients = quotients::<L, G>(x, inverses);
            let code = step::<f32, u8, Gradual, NearestEven, CodesOnly>(&quotients, &k, &mut sums);
            // SAFETY: this function has the level's instructions, and the store needs no alignment.
            unsafe { store(codes, &code, false) };
        }
    }
    code_rest.copy_from_slice(&last.1[..rest.len()]);
}

/// The elements over their groups' scales. What underflows becomes zero either way.
#[inline]
#[target_feature(enable = "avx2")]
fn quotients<const L: usize, const G: usize>(x: &[f32; STEP], inverses: &[f32; G]) -> [f32; STEP] {
    let mut quotients = [0.0; STEP];
    let eights = x.as_chunks::<LANES>().0.iter().zip(quotients.as_chunks_mut::<LANES>().0);
    for (i, (x, quotients)) in eights.enumerate() {
        let inverse = _mm256_set1_ps(inverses[i * LANES / L]);
        // SAFETY: the references are to 32 bytes; loads and stores need no alignment.
        unsafe {
            let x = _mm256_loadu_ps(x.as_ptr());
            _mm256_storeu_ps(quotients.as_mut_ptr(), _mm256_mul_ps(x, inverse));
        }
    }
    quotients
}
