//! The migration of a recording from memory to its file. The worker does it, beside the writers; no thread
//! waits for it.
//!
//! 1. The header without its magic, the texts and the thread table. The tables' locks are held while they are
//!    copied: some microseconds, for threads that start, end or use a new text.
//! 2. From here on the rings open blocks in the file.
//! 3. Every writer's [gate](crate::gate) is closed, and each is asked to migrate its block at its next event.
//!    The blocks in memory are copied. Then the magic is written: the file is a recording.
//! 4. A writer that was preempted in the middle of an event finishes that event in memory, in Java one word. So
//!    the worker retries, at growing intervals, until every writer has migrated or four seconds have passed. An
//!    idle thread is not waited for: it migrates at its next event. After [`SETTLED`] all that is written is
//!    reported to be in the file at once.
//!
//! One gap remains: an event that a thread started before the migration, was preempted in, and finished after
//! the last retry gets into the file with that thread's next event. It is lost if the process is killed in
//! between.

use std::sync::atomic::Ordering;
use std::time::Duration;

use trace_format::layout::{HEADER_LEN, MAGIC, RegionKind, header};

use crate::memory::mapping::Mapping;
use crate::memory::storage::Remaining;
use crate::recorder::{Recorder, TOUCH_MAIN};

/// By then a thread that was preempted in the middle of an event is assumed to have finished it.
pub(crate) const SETTLED: Duration = Duration::from_millis(120);

/// Starts the migration to `file`, which has the memory's layout, and perhaps one region more behind it.
pub(crate) fn start(recorder: &'static Recorder, file: &'static Mapping) -> Remaining {
    let memory = recorder.memory;
    // Behind the magic, and around the live fields.
    file.copy_from(memory, header::MAGIC + 8, header::LAST_ALIVE - 8);
    file.copy_from(memory, header::CLAMPED + 8, HEADER_LEN - header::CLAMPED - 8);
    // The file may have slots for native stacks, which the memory has not.
    file.write_regions();
    recorder.texts.move_to(file);
    let region = memory.region(RegionKind::Threads);
    let (offset, length) = (region.offset as usize, region.length as usize);
    // Before the lock is taken, so that no store under the lock waits for the file system.
    file.touch(offset, length);
    let mut table = recorder.table();
    file.copy_from(memory, offset, length);
    *table = file;
    drop(table);
    recorder.set_live(file);

    recorder.main_blocks.storage.set_file(file, RegionKind::MainRing);
    recorder.main_blocks.touch(TOUCH_MAIN);
    recorder.service_blocks.storage.set_file(file, RegionKind::ServiceRing);
    recorder.pool_blocks.set_file(file, RegionKind::PoolRing);
    recorder.request_migration();
    let left = copy_to_file(recorder);
    std::sync::atomic::fence(Ordering::Release);
    file.store_u64(header::MAGIC, u64::from_le_bytes(MAGIC));
    left
}

/// Copies what is in memory, as far as that is possible now.
pub(crate) fn copy_to_file(recorder: &'static Recorder) -> Remaining {
    let (memory, file) = (recorder.memory, recorder.live());
    for field in [header::DROPPED, header::CLAMPED] {
        let counted = memory.u64(field).swap(0, Ordering::Relaxed);
        file.u64(field).fetch_add(counted, Ordering::Relaxed);
    }
    file.u64(header::LAST_ALIVE)
        .fetch_max(memory.u64(header::LAST_ALIVE).load(Ordering::Relaxed), Ordering::Relaxed);
    let state = memory.u32(header::STATE).load(Ordering::SeqCst);
    if state != 0 {
        file.store_u32(header::STATE, state);
    }
    let mut remaining = recorder.main_blocks.copy_to_file().max(recorder.service_blocks.copy_to_file());
    let storage = &recorder.pool_blocks;
    recorder.pool.visit(
        |number| storage.touch(number as usize),
        |number, left| remaining = remaining.max(storage.copy_to_file(number as usize, left)),
    );
    remaining
}
