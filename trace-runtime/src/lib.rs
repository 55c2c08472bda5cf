//! The library in the app: records what every thread does, so that after an ANR, a kill or a crash the file
//! says what the main thread was doing.
//!
//! # What it does
//! [`start`] maps a recording ([`trace_format`] draws it), makes the calling thread the recorded main thread,
//! and starts a thread, `anrscope-worker` (files), which starts three more: `anrscope-ticker` (coarse time, while anybody
//! records), `anrscope-signal` (SIGQUIT, see [`native_signal`]) and `anrscope-timer` (the looper timer). From then on [`enter`], [`exit`] and the other calls
//! write words into the mapping with plain stores. What is stored is in the file, whatever becomes of the
//! process.
//!
//! # What it costs and what it never does
//! An event is a clock read and two stores: no allocation after a thread's first event, no lock, no system
//! call (a new block, once in a thousand words, takes a short lock unless the thread is main). A fault of its
//! own ends the recording and nothing else. A forked child records nothing. It never opens the network and
//! writes one file.
//!
//! # From Java
//! `dev.anrscope.MethodBeat` is the face that instrumented classes call. If the library cannot be loaded all
//! of it does nothing.
//!
//! # SIGQUIT
//! A SIGQUIT is in the recording as an event as soon as it is handed on, with who sent it and what main was in. Then it
//! is judged ([`Config::policy`]; [`set_foreground`] and [`set_error_state_source`] say what only the embedder knows),
//! and the verdict follows as a section with its reasons. The system is asked last, on a thread of its own, and a second
//! verdict says what that changed. [`dump`] asks for a thread dump, [`capture_trace_text`] keeps its text.
//! Whoever reads the recording has the facts beside the verdict.

#![cfg(any(target_os = "linux", target_os = "android"))]

/// The atomics that [`time_word`] uses; its model check gives it others.
mod atomic {
    pub(crate) use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
}
mod block;
mod budget;
mod clock;
mod control;
mod cost;
mod cycles;
mod door;
mod file;
mod guard;
mod home;
mod jni;
mod kept_sizes;
#[cfg(all(test, loom))]
mod loom_door;
#[cfg(all(test, loom))]
mod loom_models;
#[cfg(all(test, loom))]
mod loom_time_word;
mod looper;
mod mapping;
pub mod matrix_ring;
pub mod monitors;
mod moving;
mod owners;
mod pool;
mod process_facts;
mod recorder;
mod ring;
mod sensing;
mod slice;
mod start;
mod switches;
mod sync;
mod texts;
mod thread;
mod ticker;
mod time_word;
mod trace_text;
mod usage;
mod verdict;
mod waits;
mod worker;
mod writer;

pub use budget::Budget;
pub use control::{Clock, pause, resume, set_clock, set_method, stop};
pub use file::Destination;
pub use looper::{message_begin, message_end};
pub use native_signal::{ErrorState, Policy, ProcessInError, Target, Thresholds, Writer};
pub use ring::{Mark, Overwritten};
pub use sensing::{DumpError, dump};
pub use slice::Slice;
pub use start::{Config, StartError, Threads, start};
pub use trace_text::{TraceTextSource, capture_trace_text};
pub use verdict::{set_error_state_source, set_foreground};
pub use waits::{released, wait_begin, wait_end};
pub use worker::{set_destination, wait_for_file};

use recorder::{Recorder, record};
use ring::Ring;
use trace_format::event::{Event, Frame, Stage, TextId};

/// The calling thread enters the method with this id (1 to 0xFEFFF; others are ignored).
#[inline]
pub fn enter(id: u32) {
    method(id, true);
}

/// The calling thread leaves the method with this id.
#[inline]
pub fn exit(id: u32) {
    method(id, false);
}

#[inline]
fn method(id: u32, begin: bool) {
    if let Some(recorder) = Recorder::active() {
        thread::with_writer(recorder, |thread| thread.method(id, begin));
    }
}

/// A frame begins on the calling thread.
pub fn frame_begin(frame: &Frame) {
    record(&Event::FrameBegin(*frame).encode());
}

/// The frame ends.
pub fn frame_end() {
    record(&Event::FrameEnd.encode());
}

/// A stage of the frame begins.
pub fn stage_begin(stage: Stage) {
    record(&Event::StageBegin(stage).encode());
}

/// The stage ends.
pub fn stage_end(stage: Stage) {
    record(&Event::StageEnd(stage).encode());
}

/// An instant of the application's own.
pub fn mark(text: TextId) {
    record(&Event::Mark(text).encode());
}

/// An activity of this class gained or lost window focus.
pub fn focus(class: TextId, gained: bool) {
    record(&Event::Focus(class, gained).encode());
}

/// A sample of a counter of the application's own.
pub fn counter(name: TextId, value: f64) {
    record(&Event::Counter(name, value).encode());
}

/// The id of `text`, which is stored once; [`TextId`] 0 where there is no recording or no room. Keep it:
/// this locks, and allocates at a text's first use.
#[must_use]
pub fn text(text: &str) -> TextId {
    Recorder::active().map_or(TextId(0), |r| r.texts.intern(text))
}

/// The text with this id, for who writes a report. Not on a hot path.
pub(crate) fn text_of(id: u32) -> Option<String> {
    Recorder::active()?.texts.text_of(TextId(id))
}

/// Gives the calling thread a name in the recording, 32 bytes at most; by default it has the kernel's.
pub fn name_thread(name: &str) {
    if let Some(recorder) = Recorder::active() {
        thread::with_writer(recorder, |thread| thread.rename(name));
    }
}

/// A mark in main's record: the place behind what main has written so far. On any thread. It stores nothing and
/// needs no release; to look whether its words are still there, or copy them, see [`is_valid`] and
/// [`copy_since`].
///
/// `None` if nothing is being recorded (or main fills its whole ring faster than the calling thread looks).
#[must_use]
pub fn mark_here() -> Option<Mark> {
    Recorder::active()?.main_blocks.mark()
}

/// Whether all that main wrote since the mark is still there. That may change at once: a copy that
/// [`copy_since`] gave does not.
#[must_use]
pub fn is_valid(mark: &Mark) -> bool {
    Recorder::active().is_some_and(|recorder| recorder.main_blocks.is_valid(mark))
}

/// Copies what main wrote from the mark to now into `slice`, whose memory is used again. On any thread, while
/// main writes on: the copy is right or refused.
///
/// # Errors
/// [`Overwritten`] if the ring has wrapped over the mark, or did while copying, or nothing is recorded any more;
/// `slice` is empty then.
pub fn copy_since(mark: &Mark, slice: &mut Slice) -> Result<(), Overwritten> {
    slice.clear();
    Recorder::active().ok_or(Overwritten)?.main_blocks.copy_since(mark, slice)
}

/// Says something about the recorder itself to whoever reads the recording. Not for a hot path.
pub(crate) fn notice(text: &str) {
    if let Some(recorder) = Recorder::active() {
        let text = recorder.texts.intern(text);
        recorder.service(&Event::Notice(text));
    }
}
