//! Parallel creation of chunks that are written in order.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rayon::ThreadPool;

/// The most finished chunks that may wait for a slow one before their threads wait too.
const WAITING: usize = 64;

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
    failed: Option<io::Error>,
}

struct Shared<'a, W, T> {
    ready: Mutex<BTreeMap<usize, (Vec<u8>, T)>>,
    sink: Mutex<Sink<'a, W, T>>,
    /// Buffers of written chunks, reused because touching fresh memory is expensive.
    buffers: Mutex<Vec<Vec<u8>>>,
    next: AtomicUsize,
}

impl<W: Write, T> Shared<'_, W, T> {
    /// Writes the chunks that are ready, in order.
    fn drain(&self, sink: &mut Sink<'_, W, T>) {
        loop {
            let turn = sink.written.len();
            let Some((bytes, note)) = lock(&self.ready).remove(&turn) else { return };
            if let Err(error) = sink.out.write_all(&bytes) {
                sink.failed = Some(error);
                // No further chunk is started.
                self.next.store(usize::MAX / 2, Ordering::Relaxed);
                return;
            }
            sink.written.push((sink.at, note));
            sink.at += bytes.len() as u64;
            lock(&self.buffers).push(bytes);
        }
    }
}

/// Calls `make` to fill a buffer for each of `count` chunks on all threads of `pool`, and writes them in order from
/// position `at`. The result does not depend on the number of threads.
///
/// # Errors
///
/// The error of the first write that fails.
pub(crate) fn write_in_order<W: Write + Send, S, T: Send>(
    pool: &ThreadPool,
    out: &mut W,
    at: u64,
    count: usize,
    state: impl Fn() -> S + Sync,
    make: impl Fn(&mut S, usize, &mut Vec<u8>) -> T + Sync,
) -> io::Result<Written<T>> {
    let shared = Shared {
        ready: Mutex::default(),
        sink: Mutex::new(Sink { out, written: Vec::with_capacity(count), at, failed: None }),
        buffers: Mutex::default(),
        next: AtomicUsize::new(0),
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
            let note = make(&mut state, index, &mut buffer);
            let waiting = {
                let mut ready = lock(&shared.ready);
                ready.insert(index, (buffer, note));
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
    let sink = shared.sink.into_inner().unwrap_or_else(PoisonError::into_inner);
    match sink.failed {
        Some(error) => Err(error),
        None => Ok(Written { chunks: sink.written, end: sink.at }),
    }
}
