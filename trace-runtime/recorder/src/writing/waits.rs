//! Waits, and the owners of what is waited for.

use std::sync::atomic::Ordering;

use trace_format::event::{Event, Wait, WaitKind};

use crate::recorder::Recorder;
use crate::writing::thread::{ThreadWriter, with_writer};

/// Records that the calling thread is about to wait. The owner of `wait.lock`, if that is not 0, is looked up now.
pub fn wait_begin(wait: Wait) {
    let Some(recorder) = Recorder::active() else { return };
    with_writer(recorder, |thread| {
        let event = about_to_wait(recorder, thread, wait);
        thread.put(&event.encode())
    });
}

/// Records that the wait is over. After a [`WaitKind::Monitor`] the calling thread owns `lock`.
pub fn wait_end(kind: WaitKind, lock: u64) {
    let Some(recorder) = Recorder::active() else { return };
    with_writer(recorder, |thread| {
        thread.put(&Event::WaitEnd.encode());
        waited(recorder, thread, kind, lock);
    });
}

/// As [`wait_begin`], for Java, on the thread of this writer. Returns what [`ThreadWriter::method_for_java`] returns.
pub fn wait_begin_for_java(thread: &mut ThreadWriter, wait: Wait, behind: u64) -> u64 {
    let Some(recorder) = Recorder::active() else { return thread.give_up(behind) };
    let event = about_to_wait(recorder, thread, wait);
    thread.typed_for_java(&event.encode(), behind)
}

/// As [`wait_end`], for Java.
pub fn wait_end_for_java(thread: &mut ThreadWriter, kind: WaitKind, lock: u64, behind: u64) -> u64 {
    let Some(recorder) = Recorder::active() else { return thread.give_up(behind) };
    let behind = thread.typed_for_java(&Event::WaitEnd.encode(), behind);
    waited(recorder, thread, kind, lock);
    behind
}

#[inline]
fn about_to_wait(recorder: &Recorder, thread: &ThreadWriter, wait: Wait) -> Event {
    let lock = wait.lock;
    let owner = if lock == 0 { 0 } else { recorder.owners.owner(lock) };
    // Entering a monitor that the thread owns already is no wait.
    let owner = if owner == thread.uid() { 0 } else { owner };
    if thread.is_main() && owner != 0 {
        recorder.main_waits_for.store(lock, Ordering::Relaxed);
    }
    Event::WaitBegin(Wait { owner, ..wait })
}

#[inline]
fn waited(recorder: &Recorder, thread: &ThreadWriter, kind: WaitKind, lock: u64) {
    if thread.is_main() {
        recorder.main_waits_for.store(0, Ordering::Relaxed);
    }
    if kind == WaitKind::Monitor && lock != 0 {
        recorder.owners.acquired(lock, thread.uid());
    }
}

/// Notes that the calling thread has left `lock`. Only updates the table of owners.
pub fn released(lock: u64) {
    let Some(recorder) = Recorder::active() else { return };
    with_writer(recorder, |thread| recorder.owners.released(lock, thread.uid()));
}

/// Notes that the calling thread has taken `lock`. Only updates the table of owners.
pub fn acquired(lock: u64) {
    let Some(recorder) = Recorder::active() else { return };
    with_writer(recorder, |thread| recorder.owners.acquired(lock, thread.uid()));
}

/// Notes that the calling thread has given `lock` up, however often it had entered it: it waits to be notified. Only
/// updates the table of owners.
pub fn gave_up(lock: u64) {
    let Some(recorder) = Recorder::active() else { return };
    with_writer(recorder, |thread| recorder.owners.gave_up(lock, thread.uid()));
}
