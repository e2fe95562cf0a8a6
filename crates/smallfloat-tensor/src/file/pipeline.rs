//! [`ordered`]: independent pieces of work on several threads, their results taken in order.
//!
//! A thread takes the next piece as soon as it is done with one, so that threads wait for each
//! other only where the results pile up. Results are folded by the caller's thread, one after the
//! other, whoever has made them: what is written, digested and added up does not depend on the
//! number of threads, and the first error is the first in order.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use smallfloat_kernels::with_default_environment;

use crate::error::Result;

/// Pieces per thread that are taken and not yet folded: they bound what waits in memory.
const AHEAD: u64 = 4;

struct State<R> {
    /// The next piece to be taken.
    next: u64,
    /// The next result to be folded.
    folded: u64,
    done: BTreeMap<u64, Result<R>>,
    stopped: bool,
}

struct Shared<R> {
    state: Mutex<State<R>>,
    changed: Condvar,
    count: u64,
    ahead: u64,
}

impl<R> Shared<R> {
    /// A panic elsewhere leaves the state whole: each change is one step.
    fn lock(&self) -> MutexGuard<'_, State<R>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State<R>>) -> MutexGuard<'a, State<R>> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    fn stop(&self) {
        self.lock().stopped = true;
        self.changed.notify_all();
    }

    /// The next piece, if one may be begun now.
    fn take(&self, state: &mut State<R>) -> Option<u64> {
        let piece = state.next;
        let may = piece < self.count && piece < state.folded + self.ahead;
        state.next += u64::from(may);
        may.then_some(piece)
    }

    fn put(&self, piece: u64, result: Result<R>) {
        self.lock().done.insert(piece, result);
        self.changed.notify_all();
    }

    fn work<S>(&self, mut scratch: S, work: &impl Fn(&mut S, u64) -> Result<R>) -> S {
        let mut state = self.lock();
        while !state.stopped && state.next < self.count {
            match self.take(&mut state) {
                Some(piece) => {
                    drop(state);
                    self.put(piece, work(&mut scratch, piece));
                    state = self.lock();
                }
                None => state = self.wait(state),
            }
        }
        scratch
    }
}

/// Ends the work of all threads if one of them panics, so that nobody waits for what it has not
/// done.
struct StopOnPanic<'a, R>(&'a Shared<R>);

impl<R> Drop for StopOnPanic<'_, R> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.stop();
        }
    }
}

/// Calls `work` for 0..count on as many threads as the thread pool has, each with its own
/// `scratch`, and `fold` with the results in order, on this thread. Gives the scratch of all
/// threads, in no particular order.
///
/// `work` runs outside of the thread pool; slices of at most
/// [`ErrorSums::BLOCK`](smallfloat_kernels::ErrorSums::BLOCK) elements never return to it.
pub(crate) fn ordered<S: Send, R: Send>(
    count: u64,
    scratch: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, u64) -> Result<R> + Sync,
    fold: impl FnMut(R) -> Result<()>,
) -> Result<Vec<S>> {
    // The threads that are begun in it inherit the environment.
    with_default_environment(|| in_environment(count, scratch, work, fold))
}

fn in_environment<S: Send, R: Send>(
    count: u64,
    scratch: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, u64) -> Result<R> + Sync,
    mut fold: impl FnMut(R) -> Result<()>,
) -> Result<Vec<S>> {
    // The pool is not asked, and so not begun, for what one thread does.
    let threads = if count < 2 { 1 } else { count.min(smallfloat_kernels::threads() as u64) };
    if threads < 2 {
        let mut scratch = scratch();
        for piece in 0..count {
            fold(work(&mut scratch, piece)?)?;
        }
        return Ok(vec![scratch]);
    }
    let state = State { next: 0, folded: 0, done: BTreeMap::new(), stopped: false };
    let shared = Shared { state: Mutex::new(state), changed: Condvar::new(), count, ahead: AHEAD * threads };
    std::thread::scope(|scope| {
        let (shared, scratch, work) = (&shared, &scratch, &work);
        let _guard = StopOnPanic(shared);
        let spawn = |_| {
            scope.spawn(move || {
                let _guard = StopOnPanic(shared);
                shared.work(scratch(), work)
            })
        };
        let helpers: Vec<_> = (1..threads).map(spawn).collect();
        let mut own = scratch();
        let folded = fold_all(shared, &mut own, work, &mut fold);
        shared.stop();
        let joined = helpers
            .into_iter()
            .map(|helper| helper.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        let mut all: Vec<S> = joined.collect();
        all.push(own);
        folded.map(|()| all)
    })
}

/// Folds what is there, and else works.
fn fold_all<S, R>(
    shared: &Shared<R>,
    scratch: &mut S,
    work: &impl Fn(&mut S, u64) -> Result<R>,
    fold: &mut impl FnMut(R) -> Result<()>,
) -> Result<()> {
    let mut state = shared.lock();
    while state.folded < shared.count && !state.stopped {
        let first = state.folded;
        if let Some(result) = state.done.remove(&first) {
            drop(state);
            fold(result?)?;
            state = shared.lock();
            state.folded += 1;
            shared.changed.notify_all();
        } else if let Some(piece) = shared.take(&mut state) {
            drop(state);
            let result = work(scratch, piece);
            state = shared.lock();
            state.done.insert(piece, result);
        } else {
            state = shared.wait(state);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::error::Error;

    fn with_threads<T: Send>(threads: usize, job: impl FnOnce() -> T + Send) -> T {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(job)
    }

    #[test]
    fn results_come_in_order_and_every_piece_once() {
        for threads in [1, 2, 3, 7, 16] {
            for count in [0, 1, 2, 5, 1000] {
                let (seen, scratch) = with_threads(threads, || {
                    let mut seen = Vec::new();
                    let work = |done: &mut u64, piece: u64| {
                        *done += 1;
                        // Some pieces take longer than those after them.
                        if piece.is_multiple_of(7) {
                            std::thread::yield_now();
                        }
                        Ok(piece * piece)
                    };
                    let fold = |square| {
                        seen.push(square);
                        Ok(())
                    };
                    let scratch = ordered(count, || 0_u64, work, fold).unwrap();
                    (seen, scratch)
                });
                assert_eq!(seen, (0..count).map(|i| i * i).collect::<Vec<_>>(), "{threads} threads");
                assert_eq!(scratch.iter().sum::<u64>(), count);
                assert!(scratch.len() <= threads);
            }
        }
    }

    #[test]
    fn the_first_error_in_order_is_told_and_ends_the_work() {
        for threads in [1, 2, 7] {
            let begun = AtomicU64::new(0);
            let (folded, error) = with_threads(threads, || {
                let mut folded = 0;
                let work = |(): &mut (), piece: u64| {
                    begun.fetch_add(1, Ordering::Relaxed);
                    if piece >= 100 {
                        return Err(Error::option(format!("piece {piece}")));
                    }
                    Ok(())
                };
                let fold = |()| {
                    folded += 1;
                    Ok(())
                };
                let error = ordered(1_000_000, || (), work, fold).unwrap_err();
                (folded, error)
            });
            assert_eq!((folded, error.to_string().contains("piece 100")), (100, true), "{error}");
            assert!(begun.into_inner() <= 100 + AHEAD * threads as u64);
        }
        let fold = |piece| Err(Error::option(format!("fold {piece}")));
        let error = with_threads(3, || ordered(50, || (), |(), piece| Ok(piece), fold).unwrap_err());
        assert!(error.to_string().contains("fold 0"), "{error}");
    }

    #[test]
    fn one_thread_is_the_callers() {
        let here = std::thread::current().id();
        let of_pieces = || {
            let mut ids = Vec::new();
            let work = |(): &mut (), _| {
                std::thread::sleep(std::time::Duration::from_micros(100));
                Ok(std::thread::current().id())
            };
            let fold = |id| {
                ids.push(id);
                Ok(())
            };
            ordered(100, || (), work, fold).unwrap();
            ids
        };
        assert!(smallfloat_kernels::on_this_thread(of_pieces).iter().all(|&id| id == here));
        // A panic does not leave it so.
        let panicked =
            std::panic::catch_unwind(|| smallfloat_kernels::on_this_thread(|| panic!("on purpose")));
        assert!(panicked.is_err());
        assert!(with_threads(3, of_pieces).iter().any(|&id| id != here));
    }

    #[test]
    fn a_panic_ends_all_threads() {
        let run = || {
            ordered(
                1000,
                || (),
                |(), piece| {
                    assert_ne!(piece, 500);
                    Ok(())
                },
                |()| Ok(()),
            )
        };
        let outcome = std::panic::catch_unwind(|| with_threads(4, || run().is_ok()));
        assert!(outcome.is_err());
    }
}
