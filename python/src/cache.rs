//! What calls share: encoders and decoders by what they do, and pools of threads.
//!
//! Building an encoder costs thousands of conversions, a call on a few elements costs some; so
//! encoders stay.

use std::any::Any;
use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use lru::LruCache;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use smallfloat::{Format, Projection};
use smallfloat_kernels::{Decoder, Element, Encoder};

use crate::array::Kind;
use crate::value_error;

/// Codecs that stay: those of the biases of Tesla's formats, twice.
const CODECS: NonZeroUsize = NonZeroUsize::new(256).unwrap();

/// Arrays up to this length use encoders that are cheap to build.
const SHORT: usize = 1 << 12;

/// Slices up to this length are one piece for the kernels: no thread is asked.
pub(crate) const PIECE: usize = 1 << 16;

#[derive(Clone, PartialEq, Eq, Hash)]
enum Key {
    Encoder(Format, Projection, Kind, bool),
    Decoder(Format, Option<Projection>, Kind),
}

type Codecs = LruCache<Key, Arc<dyn Any + Send + Sync>>;

static CODEC_CACHE: LazyLock<Mutex<Codecs>> = LazyLock::new(|| Mutex::new(LruCache::new(CODECS)));
static POOLS: LazyLock<Mutex<HashMap<usize, Arc<ThreadPool>>>> = LazyLock::new(Mutex::default);

/// A lock that is held for a moment, never over a call of Python or a kernel.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn shared<T: Any + Send + Sync>(key: Key, build: impl FnOnce() -> PyResult<T>) -> PyResult<Arc<T>> {
    let found = lock(&CODEC_CACHE).get(&key).cloned();
    if let Some(found) = found.and_then(|found| found.downcast().ok()) {
        return Ok(found);
    }
    let built = Arc::new(build()?);
    lock(&CODEC_CACHE).put(key, Arc::clone(&built) as Arc<dyn Any + Send + Sync>);
    Ok(built)
}

/// The encoder for arrays of this length.
pub(crate) fn encoder<T: Element>(
    format: &Format,
    projection: &Projection,
    kind: Kind,
    length: usize,
) -> PyResult<Arc<Encoder<T>>> {
    let short = length <= SHORT;
    shared(Key::Encoder(*format, *projection, kind, short), || {
        let length = if short { SHORT } else { usize::MAX };
        Encoder::for_length(format, projection, length).map_err(value_error)
    })
}

/// The decoder to a type of numbers.
pub(crate) fn decoder<T: Element>(
    format: &Format,
    projection: Option<&Projection>,
    kind: Kind,
) -> PyResult<Arc<Decoder<T>>> {
    shared(Key::Decoder(*format, projection.copied(), kind), || {
        Decoder::new(format, projection).map_err(value_error)
    })
}

/// Runs `work` with so many threads at most; `None` takes one a core.
///
/// The pools are ours, because rayon's own would be dead in a child process after a fork.
pub(crate) fn with_threads<R: Send>(
    threads: Option<usize>,
    length: usize,
    work: impl FnOnce() -> R + Send,
) -> PyResult<R> {
    if length <= PIECE {
        return Ok(work());
    }
    let threads = threads.unwrap_or(0);
    let found = lock(&POOLS).get(&threads).cloned();
    let pool = if let Some(pool) = found {
        pool
    } else {
        let name = |i| format!("smallfloat-{i}");
        let built = ThreadPoolBuilder::new().num_threads(threads).thread_name(name).build();
        let built = Arc::new(built.map_err(value_error)?);
        Arc::clone(lock(&POOLS).entry(threads).or_insert(built))
    };
    Ok(pool.install(work))
}

/// Leaves behind what a fork can't take along: threads, and tables that another thread was filling.
#[pyfunction]
pub(crate) fn forget_after_fork() {
    // Dropping a pool would wait for threads that are not there any more.
    std::mem::forget(std::mem::take(&mut *lock(&POOLS)));
    std::mem::forget(std::mem::replace(&mut *lock(&CODEC_CACHE), LruCache::new(CODECS)));
}
