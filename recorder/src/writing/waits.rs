//! Waits, and the owners of what is waited for.

use std::sync::atomic::Ordering;

use trace_format::TextId;
use trace_format::event::{Event, Wait, WaitKind};

use crate::recorder::Recorder;
use crate::writing::thread::with_writer;

/// Records that the calling thread is about to wait. `lock` identifies what it waits for (0: nothing that has
/// an owner); the owner is looked up now.
pub fn wait_begin(kind: WaitKind, lock: u64, class: TextId) {
    let Some(recorder) = Recorder::active() else { return };
    let owner = if lock == 0 { 0 } else { recorder.owners.owner(lock) };
    with_writer(recorder, |thread| {
        // Entering a monitor that the thread owns already is no wait.
        let owner = if owner == thread.uid() { 0 } else { owner };
        if thread.is_main() && owner != 0 {
            recorder.main_waits_for.store(lock, Ordering::Relaxed);
        }
        thread.put(&Event::WaitBegin(Wait { kind, owner, lock, class }).encode())
    });
}

/// Records that the wait is over. After a [`WaitKind::Monitor`] the calling thread owns `lock`.
pub fn wait_end(kind: WaitKind, lock: u64) {
    let Some(recorder) = Recorder::active() else { return };
    with_writer(recorder, |thread| {
        thread.put(&Event::WaitEnd.encode());
        if thread.is_main() {
            recorder.main_waits_for.store(0, Ordering::Relaxed);
        }
        if kind == WaitKind::Monitor && lock != 0 {
            recorder.owners.acquired(lock, thread.uid());
        }
    });
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
