//! One place for threads: the same work on one or many.

use std::cell::Cell;
use std::iter;
#[cfg(feature = "rayon")]
use std::sync::Mutex;
use std::time::{Duration, Instant};

use smallfloat::Flags;

use crate::event_counts::EventCounts;

/// Elements a thread takes at once.
const BLOCK: usize = 1 << 16;
/// Elements whose time tells how long the others take.
const PROBE: usize = 1 << 12;
/// Work that takes less is done before other threads are awake.
const AWAKENING: Duration = Duration::from_micros(50);

/// Where the pieces of a slice begin, of which the first one is short.
fn start_of(piece: usize) -> usize {
    piece.checked_sub(1).map_or(0, |piece| PROBE + piece * BLOCK)
}

/// Calls `work` for 0..`count` on the threads of rayon's current pool. Compiled once: rayon's own
/// loops are compiled anew for each of their many uses, and were a twentieth of the command.
#[cfg(feature = "rayon")]
fn share(count: usize, work: &(dyn Fn(usize) + Sync)) {
    use rayon::prelude::*;
    match count {
        1 => work(0),
        _ => (0..count).into_par_iter().for_each(work),
    }
}

/// Applies `work(number, piece)` to pieces and returns the results in order. The work is no type of
/// its own: this is compiled for each kind of piece, not for each of its many uses.
fn map_pieces<P: Send, R: Send>(
    pieces: impl Iterator<Item = P>,
    work: &(dyn Fn(usize, P) -> R + Sync),
) -> Vec<R> {
    let mut results = Vec::with_capacity(pieces.size_hint().0);
    #[cfg(feature = "rayon")]
    if !is_alone() {
        let mut slots = Vec::with_capacity(pieces.size_hint().0);
        for piece in pieces {
            slots.push(Mutex::new((Some(piece), None)));
        }
        share(slots.len(), &|i| {
            let mut slot = slots[i].lock().expect("a piece belongs to one call");
            slot.1 = slot.0.take().map(|piece| work(i, piece));
        });
        for slot in slots {
            let (_, result) = slot.into_inner().expect("no call has panicked");
            results.push(result.expect("every piece has been run"));
        }
        return results;
    }
    for (i, piece) in pieces.enumerate() {
        results.push(work(i, piece));
    }
    results
}

/// As [`map_pieces`], on the calling thread alone where the first piece takes so little time that
/// waking threads for the others, which are `times` as much work, would take longer.
fn map_quick_pieces<P: Send, R: Send>(
    times: usize,
    mut pieces: impl Iterator<Item = P>,
    work: &(dyn Fn(usize, P) -> R + Sync),
) -> Vec<R> {
    let Some(first) = pieces.next() else { return Vec::new() };
    // One thread needs no clock, which WebAssembly does not have.
    let begun = (times > 0 && threads() > 1).then(Instant::now);
    let mut results = vec![work(0, first)];
    let times = u32::try_from(times).unwrap_or(u32::MAX);
    let is_long = begun.is_some_and(|begun| begun.elapsed().saturating_mul(times) > AWAKENING);
    let work = |i: usize, piece: P| work(i + 1, piece);
    let others = || map_pieces(pieces, &work);
    results.extend(if is_long { others() } else { on_this_thread(others) });
    results
}

/// Work on a piece of a source that begins at an index: it writes the piece's codes.
type Encode<'w, T, C> = dyn Fn(usize, &[T], &mut [C]) -> EventCounts + Sync + 'w;
/// As [`Encode`], with a second slice that is written.
type EncodeTwo<'w, T, C, F> = dyn Fn(usize, &[T], &mut [C], &mut [F]) -> EventCounts + Sync + 'w;
/// Work that fills pieces of two slices that begin at an index.
type FillTwo<'w, R, F> = dyn Fn(usize, &mut [R], &mut [F]) -> Flags + Sync + 'w;

/// Applies `work(start, source, codes)` to pieces of two slices of one length and joins the events.
pub(crate) fn zip<T: Sync, C: Send>(source: &[T], codes: &mut [C], work: &Encode<'_, T, C>) -> EventCounts {
    if source.len() <= BLOCK || threads() == 1 {
        return work(0, source, codes);
    }
    let (first, source) = source.split_at(PROBE);
    let (first_codes, codes) = codes.split_at_mut(PROBE);
    let pieces = source.chunks(BLOCK).zip(codes.chunks_mut(BLOCK));
    let pieces = iter::once((first, first_codes)).chain(pieces);
    let events = map_quick_pieces(source.len() / PROBE, pieces, &|i, (source, codes): (&[T], &mut [C])| {
        work(start_of(i), source, codes)
    });
    events.into_iter().fold(EventCounts::default(), EventCounts::merge)
}

/// As [`zip`] for two slices that are written.
pub(crate) fn zip_two<T: Sync, C: Send, F: Send>(
    source: &[T],
    codes: &mut [C],
    flags: &mut [F],
    work: &EncodeTwo<'_, T, C, F>,
) -> EventCounts {
    if source.len() <= BLOCK || threads() == 1 {
        return work(0, source, codes, flags);
    }
    let (first, source) = source.split_at(PROBE);
    let (first_codes, codes) = codes.split_at_mut(PROBE);
    let (first_flags, flags) = flags.split_at_mut(PROBE);
    let pieces = source.chunks(BLOCK).zip(codes.chunks_mut(BLOCK)).zip(flags.chunks_mut(BLOCK));
    let pieces = iter::once(((first, first_codes), first_flags)).chain(pieces);
    let work = |i: usize, ((source, codes), flags): ((&[T], &mut [C]), &mut [F])| {
        work(start_of(i), source, codes, flags)
    };
    let events = map_quick_pieces(source.len() / PROBE, pieces, &work);
    events.into_iter().fold(EventCounts::default(), EventCounts::merge)
}

/// Fills pieces of two slices of one length by `work(start, piece, flags)` and joins the flags.
pub(crate) fn fill_two<R: Send, F: Send>(
    results: &mut [R],
    flags: &mut [F],
    work: &FillTwo<'_, R, F>,
) -> Flags {
    if results.len() <= BLOCK || threads() == 1 {
        return work(0, results, flags);
    }
    let times = results.len() / PROBE - 1;
    let (first, results) = results.split_at_mut(PROBE);
    let (first_flags, flags) = flags.split_at_mut(PROBE);
    let pieces = results.chunks_mut(BLOCK).zip(flags.chunks_mut(BLOCK));
    let pieces = iter::once((first, first_flags)).chain(pieces);
    let raised = map_quick_pieces(times, pieces, &|i, (piece, flags): (&mut [R], &mut [F])| {
        work(start_of(i), piece, flags)
    });
    raised.into_iter().fold(Flags::NONE, Flags::union)
}

/// Fills pieces of a slice by `work(start, piece)` and joins the flags.
pub(crate) fn fill<R: Send>(results: &mut [R], work: &(dyn Fn(usize, &mut [R]) -> Flags + Sync)) -> Flags {
    if results.len() <= BLOCK || threads() == 1 {
        return work(0, results);
    }
    let times = results.len() / PROBE - 1;
    let (first, results) = results.split_at_mut(PROBE);
    let pieces = iter::once(first).chain(results.chunks_mut(BLOCK));
    let raised = map_quick_pieces(times, pieces, &|i, piece: &mut [R]| work(start_of(i), piece));
    raised.into_iter().fold(Flags::NONE, Flags::union)
}

thread_local! {
    static ALONE: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work` on the calling thread alone: kernels, and what asks for [`threads`], start no
/// threads in it and ask no pool of rayon's, which would hand the work to another thread even if it
/// has only one.
pub fn on_this_thread<R>(work: impl FnOnce() -> R) -> R {
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            ALONE.set(self.0);
        }
    }
    let _restore = Restore(ALONE.replace(true));
    work()
}

/// Returns whether this runs within [`on_this_thread`].
#[cfg(feature = "rayon")]
fn is_alone() -> bool {
    ALONE.get()
}

/// Returns how many threads work is shared among: those of rayon's current pool, or one within
/// [`on_this_thread`] and without the feature `rayon`.
pub fn threads() -> usize {
    #[cfg(feature = "rayon")]
    if !is_alone() {
        return rayon::current_num_threads();
    }
    1
}

/// Applies `work(number, chunk)` to the chunks of `size` elements of a slice.
pub(crate) fn chunks<R: Send>(slice: &mut [R], size: usize, work: &(dyn Fn(usize, &mut [R]) + Sync)) {
    map_pieces(slice.chunks_mut(size), &|i, piece: &mut [R]| work(i, piece));
}

/// As [`chunks`] for work that may be quick.
pub(crate) fn quick_chunks<R: Send>(slice: &mut [R], size: usize, work: &(dyn Fn(usize, &mut [R]) + Sync)) {
    let times = slice.len().saturating_sub(1) / size;
    map_quick_pieces(times, slice.chunks_mut(size), &|i, piece: &mut [R]| work(i, piece));
}

/// Returns the values of `each` for 0..`count`, in order, computed on [`threads`] threads.
pub fn parallel_map<R: Send>(count: usize, each: impl Fn(usize) -> R + Sync) -> Vec<R> {
    // Few pieces of cheap elements, and a piece for each of a few that are dear.
    let size = count.div_ceil(64 * threads()).max(1);
    let piece = |_, start: usize| (start..count.min(start + size)).map(&each).collect::<Vec<R>>();
    map_pieces((0..count).step_by(size), &piece).into_iter().flatten().collect()
}

/// Returns what `work` gives on a thread of rayon's current pool, and what `here` gives meanwhile
/// on this one; one after the other within [`on_this_thread`] and without the feature `rayon`.
///
/// # Panics
/// If one of them does.
pub fn meanwhile<R: Send, S>(work: impl FnOnce() -> R + Send, here: impl FnOnce() -> S) -> (R, S) {
    #[cfg(feature = "rayon")]
    if !is_alone() {
        let mut result = None;
        // Threads of the pool that wait here take other work, so all of them may.
        let found = rayon::in_place_scope(|scope| {
            scope.spawn(|_| result = Some(work()));
            here()
        });
        return (result.expect("the scope has ended"), found);
    }
    (work(), here())
}

/// Returns 0..`count` folded by `fold` into accumulators that begin as `empty` gives them, one for
/// each of some ranges of neighbours, and these joined in order by `merge`; on [`threads`] threads.
pub fn parallel_fold<R: Send>(
    count: u64,
    empty: impl Fn() -> R + Sync,
    fold: impl Fn(R, u64) -> R + Sync,
    merge: impl Fn(R, R) -> R,
) -> R {
    let size = count.div_ceil(16 * threads() as u64).max(1);
    let ranges: Vec<u64> = (0..count).step_by(usize::try_from(size).unwrap_or(usize::MAX)).collect();
    let part = |_, start: u64| (start..count.min(start + size)).fold(empty(), &fold);
    map_pieces(ranges.into_iter(), &part).into_iter().reduce(merge).unwrap_or_else(empty)
}

/// Applies work that may be quick to pieces of at most `block` elements and returns the results in
/// order.
pub(crate) fn map_blocks<T: Sync, R: Send>(
    block: usize,
    source: &[T],
    work: impl Fn(usize, &[T]) -> R + Sync,
) -> Vec<R> {
    let times = source.len().saturating_sub(1) / block;
    map_quick_pieces(times, source.chunks(block), &|i, piece: &[T]| work(i * block, piece))
}

/// Splits a long slice into one part a thread and gives the results in order; `None` if they would
/// have fewer than `least` elements.
pub(crate) fn in_parts<T: Sync, R: Send>(
    source: &[T],
    least: usize,
    work: impl Fn(usize, &[T]) -> R + Sync,
) -> Option<Vec<R>> {
    let parts = threads();
    let worth = parts > 1 && source.len() >= parts * least.max(BLOCK);
    let size = source.len().div_ceil(parts);
    worth.then(|| map_pieces(source.chunks(size), &|i, piece: &[T]| work(i * size, piece)))
}

#[cfg(all(test, feature = "rayon"))]
mod tests {
    use std::array;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use rayon::ThreadPoolBuilder;
    use smallfloat::Flags;

    use super::{
        BLOCK, Duration, EventCounts, chunks, fill, fill_two, in_parts, map_blocks, on_this_thread,
        parallel_fold, parallel_map, quick_chunks, threads, zip, zip_two,
    };

    fn with_threads<T: Send>(count: usize, work: impl FnOnce() -> T + Send) -> T {
        ThreadPoolBuilder::new().num_threads(count).build().expect("a pool").install(work)
    }

    #[test]
    fn pieces_know_where_they_are() {
        // What is not one piece is a short one and those after it.
        for (length, pieces) in
            [(0, 1), (5, 1), (BLOCK, 1), (BLOCK + 1, 2), (2 * BLOCK, 3), (3 * BLOCK + 7, 4)]
        {
            let numbers: Vec<usize> = (0..length).collect();
            let calls = AtomicUsize::new(0);
            let number = |start: usize, results: &mut [usize]| {
                calls.fetch_add(1, Ordering::Relaxed);
                results.iter_mut().zip(start..).for_each(|(result, number)| *result = number);
            };
            let calls = || calls.swap(0, Ordering::Relaxed);

            let mut results = vec![0; length];
            let events = zip(&numbers, &mut results, &|start, piece, results| {
                assert!(piece.first().is_none_or(|&first| first == start));
                number(start, results);
                EventCounts { elements: piece.len() as u64, ..EventCounts::default() }
            });
            assert_eq!((&results, events.elements, calls()), (&numbers, length as u64, pieces));

            let mut results = vec![0; length];
            let flags = fill(&mut results, &|start, results| {
                number(start, results);
                if start + results.len() == length { Flags::INEXACT } else { Flags::OVERFLOW }
            });
            assert_eq!((&results, calls()), (&numbers, pieces));
            let expected = if pieces == 1 { Flags::INEXACT } else { Flags::INEXACT | Flags::OVERFLOW };
            assert_eq!(flags, expected);

            let mut results = vec![0; length];
            chunks(&mut results, 1000, &|i, chunk| number(i * 1000, chunk));
            assert_eq!((&results, calls()), (&numbers, length.div_ceil(1000)));

            let mut results = vec![0; length];
            quick_chunks(&mut results, 1000, &|i, chunk| number(i * 1000, chunk));
            assert_eq!((&results, calls()), (&numbers, length.div_ceil(1000)));

            let blocks = map_blocks(3000, &numbers, |start, piece| (start, piece.to_vec()));
            assert!(blocks.iter().all(|(start, block)| block[0] == *start && block.len() <= 3000));
            assert_eq!(blocks.into_iter().flat_map(|(_, block)| block).collect::<Vec<_>>(), numbers);
            assert_eq!(parallel_map(length, |i| i), numbers);
            let push = |mut all: Vec<usize>, i: u64| {
                all.push(usize::try_from(i).expect("an index"));
                all
            };
            let folded = parallel_fold(length as u64, Vec::new, push, |early, late| [early, late].concat());
            assert_eq!(folded, numbers);
        }
    }

    /// Threads are woken for work that takes long, and not for what is done before they are awake.
    #[test]
    fn short_work_stays_on_this_thread() {
        fn is_shared(pause: Duration) -> [bool; 5] {
            let here = std::thread::current().id();
            let shared = AtomicUsize::new(0);
            let seen = |_| {
                shared.fetch_add(usize::from(std::thread::current().id() != here), Ordering::Relaxed);
                std::thread::sleep(pause);
            };
            let (mut results, mut flags) = (vec![0_u8; 3 * BLOCK], vec![0_u8; 3 * BLOCK]);
            let source = results.clone();
            let is_shared = || shared.swap(0, Ordering::Relaxed) > 0;
            [
                fill(&mut results, &|at, _| (seen(at), Flags::NONE).1) == Flags::NONE && is_shared(),
                fill_two(&mut results, &mut flags, &|at, _, _| (seen(at), Flags::NONE).1) == Flags::NONE
                    && is_shared(),
                zip(&source, &mut results, &|at, _, _| (seen(at), EventCounts::default()).1).elements == 0
                    && is_shared(),
                zip_two(&source, &mut results, &mut flags, &|at, _, _, _| {
                    (seen(at), EventCounts::default()).1
                })
                .elements
                    == 0
                    && is_shared(),
                (quick_chunks(&mut results, 9999, &|at, _| seen(at)), is_shared()).1,
            ]
        }
        let is_shared = |pause| with_threads(2, move || is_shared(pause));
        assert_eq!(is_shared(Duration::from_millis(5)), [true; 5]);
        // A thread may lose its processor meanwhile.
        let short = (0..20).map(|_| is_shared(Duration::ZERO)).reduce(|a, b| array::from_fn(|i| a[i] & b[i]));
        assert_eq!(short, Some([false; 5]));
    }

    #[test]
    fn alone_means_on_this_thread() {
        let here = std::thread::current().id();
        let numbers = vec![0_u8; 3 * BLOCK];
        let ids = || parallel_map(9, |_| std::thread::current().id());
        assert!(on_this_thread(ids).iter().all(|&id| id == here));
        on_this_thread(|| {
            assert_eq!((threads(), in_parts(&numbers, 1, |_, _| ())), (1, None));
            assert!(parallel_map(100, |_| std::thread::current().id()).iter().all(|&id| id == here));
            chunks(&mut numbers.clone(), 7, &|_, _| assert_eq!(std::thread::current().id(), here));
            fill(&mut numbers.clone(), &|start, results| {
                assert_eq!((start, results.len(), std::thread::current().id()), (0, 3 * BLOCK, here));
                Flags::NONE
            });
        });
        // A pool's threads are asked again afterwards, even after a panic.
        assert!(std::panic::catch_unwind(|| on_this_thread(|| panic!("on purpose"))).is_err());
        assert!(ids().iter().all(|&id| id != here));
        assert_eq!(with_threads(3, threads), 3);
    }

    #[test]
    fn parts_are_one_a_thread() {
        let numbers: Vec<usize> = (0..3 * BLOCK).collect();
        let parts = |threads, length: usize, least| {
            with_threads(threads, || in_parts(&numbers[..length], least, |start, part| (start, part.len())))
        };
        assert_eq!(with_threads(3, threads), 3);
        assert_eq!(parts(1, 3 * BLOCK, 1), None);
        assert_eq!(parts(2, 2 * BLOCK - 1, 1), None);
        assert_eq!(parts(2, 2 * BLOCK, 1), Some(vec![(0, BLOCK), (BLOCK, BLOCK)]));
        let half = 3 * BLOCK / 2;
        assert_eq!(parts(2, 3 * BLOCK, half), Some(vec![(0, half), (half, half)]));
        assert_eq!(parts(2, 3 * BLOCK, half + 1), None);
    }
}
