//! The temporary files and folders of this process, so that a program that is told to stop can
//! remove them first.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What is there now. Locked while a temporary is made, renamed or removed.
static LIVE: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Locked while a folder's files take their places.
static PUBLISHING: Mutex<()> = Mutex::new(());

/// A panic elsewhere leaves the set whole: each change is one step.
fn lock<T>(mutex: &'static Mutex<T>) -> MutexGuard<'static, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A temporary that is removed if the process is told to stop. Dropped after the temporary itself.
#[derive(Debug)]
pub(crate) struct Registered(PathBuf);

impl Drop for Registered {
    fn drop(&mut self) {
        lock(&LIVE).remove(&self.0);
    }
}

/// Makes a temporary, and registers it under its path.
pub(crate) fn make<T, E>(
    make: impl FnOnce() -> Result<T, E>,
    path: impl FnOnce(&T) -> PathBuf,
) -> Result<(T, Registered), E> {
    let mut live = lock(&LIVE);
    let made = make()?;
    let path = path(&made);
    live.insert(path.clone());
    Ok((made, Registered(path)))
}

/// Runs a step, such as a rename, that a request to stop does not come between.
pub(crate) fn uninterrupted<T>(step: impl FnOnce() -> T) -> T {
    let _live = lock(&LIVE);
    step()
}

/// While the result lives, [`remove_temporaries`] waits.
pub(crate) fn publishing() -> MutexGuard<'static, ()> {
    lock(&PUBLISHING)
}

/// Removes the temporary files and folders of this process, for a program that is about to end: on
/// Ctrl-C or another signal, from a thread that waits for it. A folder whose files are taking their
/// places is finished first. Afterwards no output can be begun or finished: threads that try to
/// wait until the process ends.
pub fn remove_temporaries() {
    let publishing = lock(&PUBLISHING);
    let live = lock(&LIVE);
    for path in live.iter() {
        // What can't be removed is found by the next run.
        if fs::remove_file(path).is_err() {
            let _ = fs::remove_dir_all(path);
        }
    }
    // Never unlocked again.
    std::mem::forget((publishing, live));
}
