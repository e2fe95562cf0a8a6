//! One place for threads: the same work on one or many.

use smallfloat::Flags;

use crate::Events;

/// Elements a thread takes at once.
#[cfg(feature = "rayon")]
const BLOCK: usize = 1 << 16;

/// Applies `work(start, source, codes)` to pieces of two slices of one length and joins the events.
pub(crate) fn zip<T: Sync, C: Send>(
    source: &[T],
    codes: &mut [C],
    work: impl Fn(usize, &[T], &mut [C]) -> Events + Sync,
) -> Events {
    #[cfg(feature = "rayon")]
    if source.len() > BLOCK {
        use rayon::prelude::*;
        return source
            .par_chunks(BLOCK)
            .zip(codes.par_chunks_mut(BLOCK))
            .enumerate()
            .map(|(i, (source, codes))| work(i * BLOCK, source, codes))
            .reduce(Events::default, Events::merge);
    }
    work(0, source, codes)
}

/// Fills pieces of a slice by `work(start, piece)` and joins the flags.
pub(crate) fn fill<R: Send>(results: &mut [R], work: impl Fn(usize, &mut [R]) -> Flags + Sync) -> Flags {
    #[cfg(feature = "rayon")]
    if results.len() > BLOCK {
        use rayon::prelude::*;
        return results
            .par_chunks_mut(BLOCK)
            .enumerate()
            .map(|(i, piece)| work(i * BLOCK, piece))
            .reduce(|| Flags::NONE, Flags::union);
    }
    work(0, results)
}

/// Threads that work is shared among.
pub(crate) fn threads() -> usize {
    #[cfg(feature = "rayon")]
    return rayon::current_num_threads();
    #[cfg(not(feature = "rayon"))]
    1
}

/// Applies `work(number, chunk)` to the chunks of `size` elements of a slice.
pub(crate) fn chunks<R: Send>(slice: &mut [R], size: usize, work: impl Fn(usize, &mut [R]) + Sync) {
    #[cfg(feature = "rayon")]
    if slice.len() > size {
        use rayon::prelude::*;
        slice.par_chunks_mut(size).enumerate().for_each(|(i, chunk)| work(i, chunk));
        return;
    }
    slice.chunks_mut(size).enumerate().for_each(|(i, chunk)| work(i, chunk));
}

/// The values of `each` for 0..count, in order.
pub(crate) fn collect<T: Send>(count: usize, each: impl Fn(usize) -> T + Sync) -> Vec<T> {
    #[cfg(feature = "rayon")]
    {
        use rayon::prelude::*;
        (0..count).into_par_iter().map(&each).collect()
    }
    #[cfg(not(feature = "rayon"))]
    (0..count).map(each).collect()
}

/// Applies `work` to pieces of at most `block` elements and gives the results in order.
pub(crate) fn map_blocks<T: Sync, R: Send>(
    block: usize,
    source: &[T],
    work: impl Fn(usize, &[T]) -> R + Sync,
) -> Vec<R> {
    #[cfg(feature = "rayon")]
    {
        use rayon::prelude::*;
        source.par_chunks(block).enumerate().map(|(i, piece)| work(i * block, piece)).collect()
    }
    #[cfg(not(feature = "rayon"))]
    source.chunks(block).enumerate().map(|(i, piece)| work(i * block, piece)).collect()
}

/// Splits a long slice into one part a thread and gives the results in order; `None` if they would have
/// fewer than `least` elements.
pub(crate) fn in_parts<T: Sync, R: Send>(
    source: &[T],
    least: usize,
    work: impl Fn(usize, &[T]) -> R + Sync,
) -> Option<Vec<R>> {
    #[cfg(feature = "rayon")]
    {
        let parts = rayon::current_num_threads();
        if parts > 1 && source.len() >= parts * least.max(BLOCK) {
            return Some(map_blocks(source.len().div_ceil(parts), source, work));
        }
    }
    let _ = (source, least, work);
    None
}
