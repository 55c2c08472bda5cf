//! The library in the app: records what every thread does, so that after an ANR, a kill or a crash the file
//! says what the main thread was doing.
//!
//! # What it does
//! [`start`] maps a recording ([`trace_format`] draws it), makes the calling thread the recorded main thread,
//! and starts three threads of its own: `anrscope-worker` (files), `anrscope-timer` (the looper timer)
//! and `anrscope-signal` (SIGQUIT, see [`native_signal`]). From then on [`enter`], [`exit`] and the other calls
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
//! # What it is not
//! It judges nothing: the recording holds facts, and whoever reads it draws the conclusion.

#![cfg(any(target_os = "linux", target_os = "android"))]

mod clock;
mod guard;
mod jni;
mod looper;
mod mapping;
mod owners;
mod pool;
mod recorder;
mod start;
mod texts;
mod thread;
mod waits;
mod worker;
mod writer;

pub use looper::{message_begin, message_end};
pub use native_signal::Thresholds;
pub use start::{Config, Destination, StartError, start};
pub use waits::{released, wait_begin, wait_end};

use recorder::{Recorder, record};
use trace_format::event::{Event, Frame, Stage, TextId};

/// The calling thread enters the method with this id (1 to 0xFEFFF; others are ignored).
#[inline]
pub fn enter(id: u32) {
    if trace_format::ids::is_method(id) {
        record(&Event::Enter(id).encode());
    }
}

/// The calling thread leaves the method with this id.
#[inline]
pub fn exit(id: u32) {
    if trace_format::ids::is_method(id) {
        record(&Event::Exit(id).encode());
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

/// A sample of a counter of the application's own.
pub fn counter(name: TextId, value: f64) {
    record(&Event::Counter(name, value).encode());
}

/// The id of `text`, which is stored once; [`TextId`] 0 where there is no recording or no room. Keep it:
/// this locks, and allocates at a text's first use.
#[must_use]
pub fn text(text: &str) -> TextId {
    Recorder::active().map_or(TextId(0), |r| r.texts.intern(&r.mapping, text))
}

/// Gives the calling thread a name in the recording, 32 bytes at most; by default it has the kernel's.
pub fn name_thread(name: &str) {
    if let Some(recorder) = Recorder::active() {
        thread::with_writer(recorder, |thread| thread.rename(name));
    }
}

/// Says something about the recorder itself to whoever reads the recording. Not for a hot path.
pub(crate) fn notice(text: &str) {
    if let Some(recorder) = Recorder::active() {
        let text = recorder.texts.intern(&recorder.mapping, text);
        recorder.service(&Event::Notice(text));
    }
}
