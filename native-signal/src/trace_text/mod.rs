//! Captures the system's trace text while the Signal Catcher writes it.
//!
//! Opt-in, for hosts and for Android below 11; from API 30 on `ApplicationExitInfo.getTraceInputStream` gives the
//! same text on the next start without any hook, and should be used. Only a slot of the global offset table is
//! changed: the address of `write` in *one* loaded object is replaced by our function, which calls the original and
//! then copies what a single thread wrote to a file, pipe or socket into a preallocated buffer. When the
//! writes have ceased, the slot and its page's protection (RELRO) are restored, and only then the text is
//! passed on, on our own thread.
//!
//! No code is patched, no symbol of ART is used, and nothing is hooked that could not be unhooked at that moment: see
//! [`HookError`]. If other code hooks `write` in the same object after us and before the end, our function stays
//! reachable and calls the original; [`TraceText::unhooked`] then is an error, and no further capture begins in this process. The
//! library that holds this crate must not be unloaded after the first capture.

mod error;
mod hook;
mod patch;
mod protection;
mod target;

pub use error::{HookError, UnhookError};
pub use target::Target;

use crate::mask::spawn_quiet;
use crate::{catcher, task};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

const THREAD: &str = "anrscope-text";
/// The interval between two checks whether the writes have ceased, during a capture.
const TICK: Duration = Duration::from_millis(20);

/// The thread whose writes are copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writer {
    /// ART's Signal Catcher.
    SignalCatcher,
    /// A thread of this process by its id.
    Thread(i32),
}

/// The limits of a capture: its end and its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The size of the buffer in bytes; it is allocated before anything is hooked. Default: 1 MiB.
    pub capacity: usize,
    /// The text is complete when no write has begun or been going on for this long. Default: 500 ms.
    pub quiet: Duration,
    /// It ends after this, complete or not. Default: 20 s, the time that the system waits for a dump.
    pub deadline: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { capacity: 1 << 20, quiet: Duration::from_millis(500), deadline: Duration::from_secs(20) }
    }
}

/// Why a capture ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// There were writes, and they ceased.
    Quiet,
    /// The deadline passed, with or without writes.
    Deadline,
    /// [`TraceCapture::cancel`] was called.
    Cancelled,
}

/// The text that the thread wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceText {
    /// The bytes, in the order of the writes, exactly as many as each write took.
    pub bytes: Vec<u8>,
    /// The number of writes.
    pub writes: usize,
    /// How many more bytes there were that did not fit into the buffer.
    pub lost: usize,
    /// Why the capture ended.
    pub ended: Ended,
    /// Whether the hook was removed and the slots are restored.
    pub unhooked: Result<(), UnhookError>,
}

/// A running capture. Dropping this handle does not end it.
#[derive(Debug)]
pub struct TraceCapture {
    thread: JoinHandle<()>,
    cancelled: Arc<AtomicBool>,
}

impl TraceCapture {
    /// Ends the capture within some 20 ms, with what was written so far.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Release);
    }

    /// Waits until the callback has got the text. Not on the writing thread.
    ///
    /// # Errors
    ///
    /// The callback panicked; the hook was removed before.
    pub fn wait(self) -> thread::Result<()> {
        self.thread.join()
    }
}

/// Hooks `write` in `target` and copies what `writer` writes until it is quiet; then unhooks and calls `on_text`, once,
/// on a thread named `anrscope-text`. The hook is in place when this returns, so a SIGQUIT may be sent or forwarded at
/// once. Call it from any thread, but not from a signal handler, and not while a dump is being written.
///
/// # Errors
///
/// Nothing was changed; see [`HookError`].
pub fn capture_trace_text(
    target: &Target,
    writer: Writer,
    limits: Limits,
    on_text: impl FnOnce(TraceText) + Send + 'static,
) -> Result<TraceCapture, HookError> {
    let tid = match writer {
        Writer::SignalCatcher => catcher::find(0).map_err(HookError::Io)?,
        Writer::Thread(tid) => task::lives(tid).map_err(HookError::Io)?.then_some(tid),
    };
    let tid = tid.filter(|&tid| tid > 0).ok_or(HookError::NoThread)?;

    let claim = hook::Claim::take()?;
    let patch = patch::place(target, hook::address(), &claim)?;
    let running = claim.start(tid, limits.capacity);

    let cancelled = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&cancelled);
    // Through a channel, so that the patch is not lost if the thread cannot be started.
    let (hand_over, taken) = std::sync::mpsc::sync_channel(1);
    let body = move || {
        let Ok((running, patch)) = taken.recv() else { return };
        on_text(finish(running, patch, limits, &seen));
    };
    match spawn_quiet(THREAD, body) {
        Ok(thread) => {
            // The thread waits for the patch and ends only afterwards.
            let _ = hand_over.send((running, patch));
            Ok(TraceCapture { thread, cancelled })
        }
        Err(error) => {
            // A hook that could not be removed is noted, and the next call refuses.
            let _ = unhook(running, patch);
            Err(HookError::Io(error))
        }
    }
}

/// Waits for the end, then restores everything.
fn finish(running: hook::Running, patch: patch::Patch, limits: Limits, cancelled: &AtomicBool) -> TraceText {
    let begin = Instant::now();
    let mut writes = 0;
    let mut last = begin;
    let ended = loop {
        if cancelled.load(Ordering::Acquire) {
            break Ended::Cancelled;
        }
        let (now, in_progress) = running.progress();
        if now != writes || in_progress {
            (writes, last) = (now, Instant::now());
        }
        if writes > 0 && last.elapsed() >= limits.quiet {
            break Ended::Quiet;
        }
        if begin.elapsed() >= limits.deadline {
            break Ended::Deadline;
        }
        thread::park_timeout(TICK);
    };
    let (bytes, writes, lost, unhooked) = unhook(running, patch);
    TraceText { bytes, writes, lost, ended, unhooked }
}

fn unhook(running: hook::Running, patch: patch::Patch) -> (Vec<u8>, usize, usize, Result<(), UnhookError>) {
    let unhooked = patch.remove();
    let (claim, bytes, writes, lost) = running.stop();
    if unhooked.is_err() {
        claim.leave_behind();
    }
    (bytes, writes, lost, unhooked)
}
