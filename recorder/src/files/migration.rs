//! The move from memory to the file. The worker does it, beside the writers; nobody waits for it.
//!
//! 1. The header without its magic, the texts and the thread table. The tables' locks are held while they are copied:
//!    some microseconds, for threads that come, go or use a new text.
//! 2. The rings are told that there is a file: blocks are opened there from here on.
//! 3. Every writer's [gate](crate::gate) is closed, and each is asked to take its block along at its next event. What is in
//!    memory is brought. Then the magic: it is a recording.
//! 4. A writer that was stopped in the middle of an event finishes it in memory: one event, in Java one word. So the
//!    worker looks again, in growing intervals, until every writer has followed or four seconds have passed: a thread that
//!    rests is not waited for, it follows when it goes on. After [`SETTLED`] it is said that whatever is written is
//!    in the file at once.
//!
//! What remains: an event that a thread began before the move, was stopped in, and finished later than the last look,
//! is in the file with that thread's next event, and lost if the process is killed between the two.

use std::sync::atomic::Ordering;
use std::time::Duration;

use trace_format::layout::{HEADER_LEN, MAGIC, RegionKind, header};

use crate::memory::mapping::Mapping;
use crate::memory::storage::Left;
use crate::recorder::{Recorder, TOUCH_MAIN};

/// A thread that was stopped in the middle of an event is taken to have finished it by then.
pub(crate) const SETTLED: Duration = Duration::from_millis(120);

/// Moves everything to `file`, which has the memory's layout.
pub(crate) fn move_in(recorder: &'static Recorder, file: &'static Mapping) -> Left {
    let memory = recorder.memory;
    // Behind the magic, and around the live fields.
    file.copy_from(memory, header::MAGIC + 8, header::LAST_ALIVE - 8);
    file.copy_from(memory, header::CLAMPED + 8, HEADER_LEN - header::CLAMPED - 8);
    recorder.texts.move_to(file);
    let region = memory.region(RegionKind::Threads);
    let (offset, length) = (region.offset as usize, region.length as usize);
    // Outside of the lock, so that inside of it no store waits for the file system.
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
    recorder.ask_to_follow();
    let left = bring(recorder);
    std::sync::atomic::fence(Ordering::Release);
    file.store_u64(header::MAGIC, u64::from_le_bytes(MAGIC));
    left
}

/// Brings what is in memory, as far as that can be done now.
pub(crate) fn bring(recorder: &'static Recorder) -> Left {
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
    let mut left_to_do = recorder.main_blocks.bring().max(recorder.service_blocks.bring());
    let storage = &recorder.pool_blocks;
    recorder.pool.visit(
        |number| storage.touch(number as usize),
        |number, left| left_to_do = left_to_do.max(storage.bring(number as usize, left)),
    );
    left_to_do
}
