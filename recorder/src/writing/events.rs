//! Events of the calling thread, one call each.

use trace_format::event::{Encoded, Event, Frame, Stage, TextId};

use crate::recorder::Recorder;
use crate::writing::thread;

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

/// Gives the calling thread a name in the recording, 32 bytes at most; by default it has the kernel's.
pub fn name_thread(name: &str) {
    if let Some(recorder) = Recorder::active() {
        thread::with_writer(recorder, |thread| thread.rename(name));
    }
}

/// Records `event` on the calling thread with the time of now, and gives that time; `None` if nothing is
/// being recorded.
#[inline]
pub fn record(event: &Encoded) -> Option<u64> {
    let recorder = Recorder::active()?;
    thread::with_writer(recorder, |thread| thread.put(event)).flatten()
}
