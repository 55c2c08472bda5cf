//! Events of the calling thread, one call each.

use trace_format::event::{Encoded, Event, Frame, Stage, TextId};

use crate::recorder::Recorder;
use crate::writing::thread;

/// Records that the calling thread enters the method with this id (1 to 0xFE7FF; others are ignored).
#[inline]
pub fn enter(id: u32) {
    method(id, true);
}

/// Records that the calling thread leaves the method with this id.
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

/// Records the start of a frame on the calling thread.
pub fn frame_begin(frame: &Frame) {
    record(&Event::FrameBegin(*frame).encode());
}

/// Records the end of the frame.
pub fn frame_end() {
    record(&Event::FrameEnd.encode());
}

/// Records the start of a stage of the frame.
pub fn stage_begin(stage: Stage) {
    record(&Event::StageBegin(stage).encode());
}

/// Records the end of the stage.
pub fn stage_end(stage: Stage) {
    record(&Event::StageEnd(stage).encode());
}

/// Records an instant of the app.
pub fn mark(text: TextId) {
    record(&Event::Mark(text).encode());
}

/// Records that an activity of this class gained or lost window focus.
pub fn focus(class: TextId, gained: bool) {
    record(&Event::Focus(class, gained).encode());
}

/// Records a value of a counter of the app.
pub fn counter(name: TextId, value: f64) {
    record(&Event::Counter(name, value).encode());
}

/// Names the calling thread in the recording, 32 bytes at most; by default it has the kernel's name.
pub fn name_thread(name: &str) {
    if let Some(recorder) = Recorder::active() {
        thread::with_writer(recorder, |thread| thread.rename(name));
    }
}

/// Records `event` on the calling thread with the current time, and returns that time; `None` if nothing is
/// being recorded.
#[inline]
pub fn record(event: &Encoded) -> Option<u64> {
    let recorder = Recorder::active()?;
    thread::with_writer(recorder, |thread| thread.put(event)).flatten()
}
