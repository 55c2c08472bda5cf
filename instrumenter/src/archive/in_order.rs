//! Parallel creation of chunks that are written in order.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rayon::ThreadPool;

/// The most finished chunks that may wait for a slow one before their threads wait too.
const WAITING: usize = 64;

/// Why not all chunks were written.
pub(crate) enum Failed<E> {
    /// The first chunk that failed.
    Make(E),
    Write(io::Error),
}

/// The written chunks.
pub(crate) struct Written<T> {
    /// The position and the result of each chunk.
    pub(crate) chunks: Vec<(u64, T)>,
    /// The end of the last chunk.
    pub(crate) end: u64,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Sink<'a, W, T> {
    out: &'a mut W,
    /// The position and the result of each chunk.
    written: Vec<(u64, T)>,
    at: u64,
}

type Made<T, E> = Result<(Vec<u8>, T), E>;

struct Shared<'a, W, T, E> {
    ready: Mutex<BTreeMap<usize, Made<T, E>>>,
    sink: Mutex<Sink<'a, W, T>>,
    /// Buffers of written chunks, reused because touching fresh memory is expensive.
    buffers: Mutex<Vec<Vec<u8>>>,
    next: AtomicUsize,
    failed: Mutex<Option<Failed<E>>>,
}

impl<W: Write, T, E> Shared<'_, W, T, E> {
    /// Writes the chunks that are ready, in order.
    fn drain(&self, sink: &mut Sink<'_, W, T>) {
        loop {
            let turn = sink.written.len();
            let Some(made) = lock(&self.ready).remove(&turn) else { return };
            let failure = match made {
                Ok((bytes, note)) => match sink.out.write_all(&bytes) {
                    Ok(()) => {
                        sink.written.push((sink.at, note));
                        sink.at += bytes.len() as u64;
                        lock(&self.buffers).push(bytes);
                        continue;
                    }
                    Err(error) => Failed::Write(error),
                },
                Err(error) => Failed::Make(error),
            };
            *lock(&self.failed) = Some(failure);
            // No further chunk is started.
            self.next.store(usize::MAX / 2, Ordering::Relaxed);
            return;
        }
    }
}

/// Calls `make` to fill a buffer for each of `count` chunks on all threads of `pool`, and writes them in order from
/// position `at`.
///
/// The result does not depend on the number of threads, nor does the error, which is that of the first chunk that
/// fails.
pub(crate) fn write_in_order<W: Write + Send, S, T: Send, E: Send>(
    pool: &ThreadPool,
    out: &mut W,
    at: u64,
    count: usize,
    state: impl Fn() -> S + Sync,
    make: impl Fn(&mut S, usize, &mut Vec<u8>) -> Result<T, E> + Sync,
) -> Result<Written<T>, Failed<E>> {
    let shared = Shared {
        ready: Mutex::default(),
        sink: Mutex::new(Sink { out, written: Vec::with_capacity(count), at }),
        buffers: Mutex::default(),
        next: AtomicUsize::new(0),
        failed: Mutex::default(),
    };
    let work = || {
        let mut state = state();
        loop {
            let index = shared.next.fetch_add(1, Ordering::Relaxed);
            if index >= count {
                return;
            }
            let mut buffer = lock(&shared.buffers).pop().unwrap_or_default();
            buffer.clear();
            let made = make(&mut state, index, &mut buffer).map(|note| (buffer, note));
            let waiting = {
                let mut ready = lock(&shared.ready);
                ready.insert(index, made);
                ready.len()
            };
            if waiting > WAITING {
                shared.drain(&mut lock(&shared.sink));
            } else if let Ok(mut sink) = shared.sink.try_lock() {
                shared.drain(&mut sink);
            }
        }
    };
    pool.scope(|scope| (0..pool.current_num_threads()).for_each(|_| scope.spawn(|_| work())));
    // Chunks that became ready while another thread was writing.
    shared.drain(&mut lock(&shared.sink));
    match shared.failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(failed) => Err(failed),
        None => {
            let sink = shared.sink.into_inner().unwrap_or_else(PoisonError::into_inner);
            Ok(Written { chunks: sink.written, end: sink.at })
        }
    }
}
