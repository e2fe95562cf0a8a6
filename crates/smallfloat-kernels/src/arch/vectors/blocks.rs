//! Loops over slices, the same for every level: steps of as many elements as a vector of codes
//! holds, blocks of steps, and what is left over. A level supplies what happens in a step.
//!
//! These functions have no target features. They are inlined into functions that do, and only there
//! their steps are inlined too.

use std::slice::{from_mut, from_ref};

use crate::arch::machine;
use crate::arch::vectors::choices::{Counts, Detail, Flags, Nearness};
use crate::plan::tally::Tally;

/// What a level does with `N` elements, finding out as much as `D` says.
///
/// Constants are parts of the value itself, and sums are a variable of each block: only so does the
/// compiler see that both can be registers.
pub(in crate::arch) trait Step<D: Detail, const N: usize> {
    /// The elements that are read.
    type From: Copy + Default;
    /// What is read beside each: a random word, a second operand, or `()`.
    type With: Copy + Default;
    /// The elements that are written.
    type To: Copy + Default;

    /// What is read is asked for some steps before, where results go past the caches.
    const PREFETCH: bool = false;
    /// What steps add up.
    type Sums;
    /// The vectors of what is written.
    type Vectors;

    /// Takes a step.
    ///
    /// # Safety
    /// The machine must have the level's instructions.
    unsafe fn step(
        &self,
        from: &[Self::From; N],
        with: &[Self::With; N],
        sums: &mut Self::Sums,
    ) -> Self::Vectors;

    /// Writes what came out of a step, past the caches if `stream`.
    ///
    /// # Safety
    /// The machine must have the level's instructions; with `stream`, `to` must be aligned to the
    /// level's vectors.
    unsafe fn store(to: &mut [Self::To; N], vectors: Self::Vectors, stream: bool);
}

/// Nothing beside each of so many elements.
pub(in crate::arch) fn nothing(length: usize) -> &'static [()] {
    &[(); usize::MAX][..length]
}

/// Takes all steps of slices of one length. Defaults fill the last one; returns how many.
///
/// # Safety
/// The machine must have the level's instructions; with `stream`, `to` must be aligned to the
/// level's vectors.
#[inline(always)]
pub(in crate::arch) unsafe fn for_steps<D: Detail, K: Step<D, N>, const N: usize>(
    kernel: &K,
    from: &[K::From],
    with: &[K::With],
    to: &mut [K::To],
    sums: &mut K::Sums,
    stream: bool,
) -> u64 {
    let (steps, rest) = from.as_chunks::<N>();
    let (with_steps, with_rest) = with.as_chunks::<N>();
    let (to_steps, to_rest) = to.as_chunks_mut::<N>();
    let (mut last, mut last_with, mut last_to) =
        ([K::From::default(); N], [K::With::default(); N], [K::To::default(); N]);
    last[..rest.len()].copy_from_slice(rest);
    last_with[..rest.len()].copy_from_slice(with_rest);
    let has_rest = usize::from(!rest.is_empty());
    // The step has one call, in a loop for whole steps and for the last one: so it is always
    // inlined.
    for is_last in [false, true] {
        let (steps, with_steps, to_steps, stream) = if is_last {
            (
                &from_ref(&last)[..has_rest],
                &from_ref(&last_with)[..has_rest],
                &mut from_mut(&mut last_to)[..has_rest],
                false,
            )
        } else {
            (steps, with_steps, &mut *to_steps, stream)
        };
        let nothing = [K::With::default(); N];
        for (i, (from, to)) in steps.iter().zip(to_steps).enumerate() {
            // Going through nothing would cost instructions.
            let with = if size_of::<K::With>() == 0 { &nothing } else { &with_steps[i] };
            // SAFETY: the caller's promise; steps keep the alignment of the slice, and ordinary
            // stores need none.
            unsafe {
                let vectors = kernel.step(from, with, sums);
                if stream && K::PREFETCH {
                    prefetch(from, AHEAD);
                }
                K::store(to, vectors, stream);
            }
        }
    }
    let mut padding = 0;
    if !rest.is_empty() {
        to_rest.copy_from_slice(&last_to[..rest.len()]);
        padding = (N - rest.len()) as u64;
    }
    if stream {
        machine::fence();
    }
    padding
}

/// What a level does with `N` elements that lie in `G` groups.
pub(in crate::arch) trait GroupStep<const N: usize, const G: usize> {
    /// The elements that are read.
    type From: Copy + Default;
    /// What each group has.
    type With: Copy + Default;
    /// The elements that are written.
    type To: Copy + Default;

    /// Takes a step.
    ///
    /// # Safety
    /// The machine must have the level's instructions.
    unsafe fn step(&self, from: &[Self::From; N], with: &[Self::With; G], to: &mut [Self::To; N]);
}

/// Takes all steps of groups, which are whole. Defaults fill the last one.
///
/// # Safety
/// The machine must have the level's instructions.
#[inline(always)]
pub(in crate::arch) unsafe fn for_groups<K: GroupStep<N, G>, const N: usize, const G: usize>(
    kernel: &K,
    from: &[K::From],
    with: &[K::With],
    to: &mut [K::To],
) {
    let (steps, rest) = from.as_chunks::<N>();
    let (with_steps, with_rest) = with.as_chunks::<G>();
    let (to_steps, to_rest) = to.as_chunks_mut::<N>();
    let (mut last, mut last_with, mut last_to) =
        ([K::From::default(); N], [K::With::default(); G], [K::To::default(); N]);
    last[..rest.len()].copy_from_slice(rest);
    last_with[..with_rest.len()].copy_from_slice(with_rest);
    let has_rest = usize::from(!rest.is_empty());
    // The step has one call, as in `for_steps`.
    for is_last in [false, true] {
        let (steps, with_steps, to_steps) = if is_last {
            (
                &from_ref(&last)[..has_rest],
                &from_ref(&last_with)[..has_rest],
                &mut from_mut(&mut last_to)[..has_rest],
            )
        } else {
            (steps, with_steps, &mut *to_steps)
        };
        for ((from, with), to) in steps.iter().zip(with_steps).zip(to_steps) {
            // SAFETY: the caller's promise.
            unsafe { kernel.step(from, with, to) };
        }
    }
    to_rest.copy_from_slice(&last_to[..rest.len()]);
}

/// A deterministic encoder at a level.
pub(in crate::arch) trait BlockEncoder {
    /// The elements that are read.
    type From;
    /// The storage of codes.
    type To;
    /// Bytes of a vector.
    const ALIGNMENT: usize;
    /// Elements between two looks at the flags: counters hold it, and flags that are settled need
    /// no more work.
    const BLOCK: usize;
    /// Elements before the first look.
    const FIRST_BLOCK: usize;

    /// Encodes a block, past the caches if `stream`, and finds out as much as `D` says.
    ///
    /// # Safety
    /// The machine must have the level's instructions.
    unsafe fn encode<D: Detail>(
        &self,
        source: &[Self::From],
        codes: &mut [Self::To],
        stream: bool,
        tally: &mut Tally,
    );
}

/// Encodes a slice and says what happened.
///
/// Inexact and underflow are properties of a slice once any element has them. Blocks look for bits
/// that no normal value keeps, which costs next to nothing; where a value came near the subnormals,
/// exactness is looked for again at length until underflow is found.
///
/// # Safety
/// The machine must have the level's instructions.
#[inline(always)]
pub(in crate::arch) unsafe fn encode_by_blocks<E: BlockEncoder>(
    encoder: &E,
    mut source: &[E::From],
    mut codes: &mut [E::To],
    stream: bool,
) -> Tally {
    let mut tally = Tally::default();
    // Small but exact values need the longest look again and again: do not look twice.
    let mut look = false;
    // Streamed stores need aligned addresses: elements before the first one are a block of their
    // own. What settles the flags of most slices comes soon.
    let head = if stream { elements_to_alignment(codes, E::ALIGNMENT) } else { 0 };
    let mut block = if head > 0 { head } else { E::FIRST_BLOCK };
    while !source.is_empty() {
        let length = block.min(source.len());
        block = E::BLOCK;
        let (x, code);
        (x, source) = source.split_at(length);
        (code, codes) = codes.split_at_mut(length);
        if tally.is_underflow_settled() {
            // SAFETY: the caller's promise.
            unsafe { encoder.encode::<Counts>(x, code, stream, &mut tally) };
            continue;
        }
        let mut found = Tally::default();
        if !look {
            // SAFETY: the caller's promise.
            unsafe { encoder.encode::<Nearness>(x, code, stream, &mut found) };
            look = found.low && !found.is_underflow_settled();
            if look {
                found = Tally::default();
            }
        }
        if look {
            // SAFETY: the caller's promise.
            unsafe { encoder.encode::<Flags>(x, code, stream, &mut found) };
            look = found.low && !found.is_underflow_settled();
        }
        tally.add(&found);
    }
    tally
}

/// A decoder at a level.
pub(in crate::arch) trait Decoder {
    /// The storage of codes.
    type From;
    /// The values.
    type To;
    /// Bytes of a vector.
    const ALIGNMENT: usize;

    /// Decodes by [`for_steps`] with the level's instructions, past the caches if `STREAM`.
    ///
    /// # Safety
    /// The machine must have the level's instructions; with `STREAM`, `values` must be aligned.
    unsafe fn decode<const STREAM: bool>(&self, codes: &[Self::From], values: &mut [Self::To]);
}

/// Decodes a slice, past the caches if `stream`.
///
/// # Safety
/// The machine must have the level's instructions.
#[inline(always)]
pub(in crate::arch) unsafe fn decode<D: Decoder>(
    decoder: &D,
    codes: &[D::From],
    values: &mut [D::To],
    stream: bool,
) {
    assert_eq!(codes.len(), values.len(), "codes and values must have the same length");
    if !stream {
        // SAFETY: the caller's promise.
        unsafe { decoder.decode::<false>(codes, values) };
        return;
    }
    let head = elements_to_alignment(values, D::ALIGNMENT).min(values.len());
    let (head_codes, codes) = codes.split_at(head);
    let (head, values) = values.split_at_mut(head);
    // SAFETY: the caller's promise; after the head, values are aligned.
    unsafe {
        decoder.decode::<false>(head_codes, head);
        decoder.decode::<true>(codes, values);
    }
}

/// Returns how many elements come before the first one that a streamed store of so many bytes could
/// write.
pub(in crate::arch) fn elements_to_alignment<T>(values: &[T], alignment: usize) -> usize {
    let bytes = values.as_ptr().addr().next_multiple_of(alignment) - values.as_ptr().addr();
    bytes / size_of::<T>()
}

/// How many bytes further loops over one slice ask for cache lines.
const AHEAD: usize = 4096;

/// Asks for the cache lines that a loop reads some steps later, so many bytes further.
#[inline]
pub(in crate::arch) fn prefetch<S, const N: usize>(x: &[S; N], bytes: usize) {
    for line in (0..size_of_val(x)).step_by(64) {
        machine::prefetch(x.as_ptr().cast::<u8>().wrapping_add(bytes + line));
    }
}
