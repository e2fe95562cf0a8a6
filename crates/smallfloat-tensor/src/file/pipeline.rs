//! [`ordered`]: independent pieces of work on several threads, their results taken in order.
//!
//! A thread takes the next piece as soon as it is done with one, so that threads wait for each
//! other only where the results pile up. Results are folded by the caller's thread, one after the
//! other, whoever has made them: what is written, digested and added up does not depend on the
//! number of threads, and the first error is the first in order.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use smallfloat_kernels::with_default_environment;

use crate::error::Result;

/// Pieces per thread that are taken and not yet folded: they bound what waits in memory.
const AHEAD: usize = 4;

/// Calls `work` for 0..count on as many threads as the thread pool has, each with its own
/// `scratch`, and `fold` with the results in order, on this thread. Gives the scratch of all
/// threads that had work, in no particular order.
///
/// `work` runs outside of the thread pool; slices of at most
/// [`ErrorSums::BLOCK`](smallfloat_kernels::ErrorSums::BLOCK) elements never return to it.
pub(crate) fn ordered<S: Send, R: Send>(
    count: u64,
    scratch: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, u64) -> Result<R> + Sync,
    mut fold: impl FnMut(R) -> Result<()>,
) -> Result<Vec<S>> {
    // The pool is not asked, and so not begun, for what one thread does.
    let threads = match usize::try_from(count) {
        Ok(0 | 1) => 1,
        pieces => smallfloat_kernels::threads().min(pieces.unwrap_or(usize::MAX)),
    };
    let ahead = AHEAD * threads;
    let (scratches, results) = (slots::<S>(threads), slots::<Result<R>>(ahead));
    let place = |piece: u64| lock(&results[index_of(piece, ahead)]);
    let work = |thread: usize, piece: u64| {
        let result = work(lock(&scratches[thread]).get_or_insert_with(&scratch), piece);
        *place(piece) = Some(result);
    };
    let mut fold = |piece| {
        let result = place(piece).take();
        fold(result.expect("a piece is folded once, after its work")?)
    };
    // The threads that are begun in it inherit the environment.
    with_default_environment(|| run(&Pieces::new(count, ahead), threads, &work, &mut fold))?;
    Ok(filled(scratches))
}

/// Returns places that threads put values into. Compiled for each kind of value, and not for each
/// use of [`ordered`]; so is [`filled`].
fn slots<T>(count: usize) -> Vec<Mutex<Option<T>>> {
    let mut slots = Vec::with_capacity(count);
    slots.resize_with(count, Mutex::default);
    slots
}

/// Returns the values that were put into slots.
fn filled<T>(slots: Vec<Mutex<Option<T>>>) -> Vec<T> {
    let mut values = Vec::with_capacity(slots.len());
    for slot in slots {
        values.extend(slot.into_inner().expect("no work has panicked"));
    }
    values
}

/// A panic elsewhere leaves what is locked whole: each change is one step.
fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The place of a piece among as many places as pieces may be begun and not yet folded.
fn index_of(piece: u64, ahead: usize) -> usize {
    usize::try_from(piece % ahead as u64).expect("less than a usize")
}

struct State {
    /// The next piece to be taken.
    next: u64,
    /// The next piece to be folded.
    folded: u64,
    /// Whether the work on a piece is done and not yet folded.
    done: Vec<bool>,
    stopped: bool,
    /// How many threads wait: telling nobody costs a call of the system too.
    waiting: usize,
}

/// Which pieces are begun, done and folded. It knows nothing of results, so that it is compiled
/// once and not for each use.
struct Pieces {
    state: Mutex<State>,
    changed: Condvar,
    count: u64,
    ahead: usize,
}

impl Pieces {
    fn new(count: u64, ahead: usize) -> Self {
        let state = State { next: 0, folded: 0, done: vec![false; ahead], stopped: false, waiting: 0 };
        Self { state: Mutex::new(state), changed: Condvar::new(), count, ahead }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    fn wait<'a>(&self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        state.waiting += 1;
        let mut state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        state.waiting -= 1;
        state
    }

    /// Tells the threads that wait, if there are any.
    fn tell(&self, state: &State) {
        if state.waiting > 0 {
            self.changed.notify_all();
        }
    }

    fn stop(&self) {
        self.lock().stopped = true;
        self.changed.notify_all();
    }

    /// The next piece, if one may be begun now.
    fn take(&self, state: &mut State) -> Option<u64> {
        let piece = state.next;
        let may = piece < self.count && piece < state.folded + self.ahead as u64;
        state.next += u64::from(may);
        may.then_some(piece)
    }

    fn work(&self, work: &dyn Fn(u64)) {
        let mut state = self.lock();
        while !state.stopped && state.next < self.count {
            match self.take(&mut state) {
                Some(piece) => {
                    drop(state);
                    work(piece);
                    state = self.lock();
                    state.done[index_of(piece, self.ahead)] = true;
                    self.tell(&state);
                }
                None => state = self.wait(state),
            }
        }
    }

    /// Folds what is there, and else works.
    fn fold_all(&self, work: &dyn Fn(u64), fold: &mut dyn FnMut(u64) -> Result<()>) -> Result<()> {
        let mut state = self.lock();
        while state.folded < self.count && !state.stopped {
            let first = state.folded;
            if std::mem::take(&mut state.done[index_of(first, self.ahead)]) {
                drop(state);
                fold(first)?;
                state = self.lock();
                state.folded += 1;
                self.tell(&state);
            } else if let Some(piece) = self.take(&mut state) {
                drop(state);
                work(piece);
                state = self.lock();
                state.done[index_of(piece, self.ahead)] = true;
            } else {
                state = self.wait(state);
            }
        }
        Ok(())
    }
}

/// Ends the work of all threads if one of them panics, so that nobody waits for what it has not
/// done.
struct StopOnPanic<'a>(&'a Pieces);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.stop();
        }
    }
}

/// Works on this and `threads - 1` others, and folds on this.
fn run(
    pieces: &Pieces,
    threads: usize,
    work: &(dyn Fn(usize, u64) + Sync),
    fold: &mut dyn FnMut(u64) -> Result<()>,
) -> Result<()> {
    std::thread::scope(|scope| {
        let _guard = StopOnPanic(pieces);
        let spawn = |thread| {
            scope.spawn(move || {
                let _guard = StopOnPanic(pieces);
                pieces.work(&|piece| work(thread, piece));
            })
        };
        let helpers: Vec<_> = (1..threads).map(spawn).collect();
        let folded = pieces.fold_all(&|piece| work(0, piece), fold);
        pieces.stop();
        for helper in helpers {
            helper.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
        folded
    })
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
            assert!(begun.into_inner() <= 100 + (AHEAD * threads) as u64);
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
