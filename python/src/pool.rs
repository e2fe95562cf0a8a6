//! Memory of large results: on huge pages, and kept for the next result when an array goes away.
//!
//! Fresh pages cost more than most kernels: the system clears them, one fault for each. An array
//! of at least [`LEAST`] bytes gets memory of ours as its base object, and when it goes away up to
//! [`KEPT`] blocks stay here. The system may take their pages whenever it needs them (`MADV_FREE`).

use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;

/// Smaller results come from NumPy.
const LEAST: usize = 4 << 20;

/// How many blocks are kept.
const KEPT: usize = 4;

/// The sum of the kept blocks' sizes in bytes.
const MOST: usize = 1 << 30;

/// The size of a huge page, in which lengths are counted.
const PAGE: usize = 2 << 20;

static FREE: Mutex<Vec<Block>> = Mutex::new(Vec::new());

/// The kept blocks; a thread that panicked meanwhile leaves a list that is whole.
fn free() -> MutexGuard<'static, Vec<Block>> {
    FREE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A mapping of the process's memory.
struct Block {
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: a mapping belongs to no thread.
unsafe impl Send for Block {}

impl Block {
    fn map(length: usize) -> Option<Self> {
        // SAFETY: a new private mapping; nothing that exists is changed.
        let start = unsafe {
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            libc::mmap(
                std::ptr::null_mut(),
                length,
                protection,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return None;
        }
        let block = Self { start: NonNull::new(start.cast())?, length };
        // Without huge pages it is slower, and right.
        block.advise(libc::MADV_HUGEPAGE);
        Some(block)
    }

    fn advise(&self, advice: libc::c_int) {
        // SAFETY: the mapping is ours; both kinds of advice leave what is in use as it is, and what
        // is free may be lost.
        unsafe { libc::madvise(self.start.as_ptr().cast(), self.length, advice) };
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and no array has it.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.length) };
    }
}

/// Memory that an array has, the array's base object.
#[pyclass(frozen, module = "smallfloat._core", name = "Memory")]
pub(crate) struct Memory(Option<Block>);

// SAFETY: Python only holds it; the elements are the array's matter.
unsafe impl Sync for Memory {}

impl Memory {
    /// Memory of at least so many bytes, or `None` where NumPy's own is as good.
    pub(crate) fn new(bytes: usize) -> Option<Self> {
        if bytes < LEAST {
            return None;
        }
        let length = bytes.checked_next_multiple_of(PAGE)?;
        let mut free = free();
        let found = free.iter().position(|block| block.length == length);
        let found = found.map(|at| free.swap_remove(at));
        drop(free);
        Some(Self(Some(found.or_else(|| Block::map(length))?)))
    }

    pub(crate) fn start(&self) -> *mut u8 {
        self.0.as_ref().expect("a block is there until the drop").start.as_ptr()
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        let Some(block) = self.0.take() else { return };
        if block.length > MOST {
            return;
        }
        block.advise(libc::MADV_FREE);
        let mut free = free();
        free.push(block);
        while free.len() > KEPT || free.iter().map(|block| block.length).sum::<usize>() > MOST {
            free.remove(0);
        }
    }
}
