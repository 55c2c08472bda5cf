//! Changes while recording: pause, clock, methods on and off. Each change is an event of the service ring, so
//! the recording shows when it was made.

use trace_format::event::{Change, Control, Event};
use trace_format::layout::State;

use crate::recorder::Recorder;
use crate::time::coarse::{self, TIME};
use crate::time::time_word::Pace;
use crate::writing::switches;

/// How methods get their time. Everything else (messages, frames, waits, marks) always has the exact time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Clock {
    /// Every event reads the clock.
    #[default]
    Precise,
    /// Methods copy a time that is refreshed every millisecond while anything is recorded, and exactly at every
    /// message, frame, wait and mark.
    Coarse,
}

impl Clock {
    pub(crate) fn pace(self) -> Pace {
        match self {
            Self::Precise => Pace::Precise,
            Self::Coarse => Pace::Coarse,
        }
    }
}

/// Changes the clock from each thread's next event on. Does nothing while recording is paused.
pub fn set_clock(clock: Clock) {
    let pace = TIME.pace();
    if pace != Pace::Off && pace != clock.pace() {
        change(clock.pace(), if clock == Clock::Coarse { Change::Coarse } else { Change::Precise }, 0);
    }
}

/// Pauses recording until [`resume`], as in the background. Open calls stay open.
pub fn pause() {
    if TIME.pace() != Pace::Off {
        change(Pace::Off, Change::Paused, 0);
    }
}

/// Resumes after [`pause`], with this clock.
pub fn resume(clock: Clock) {
    if TIME.pace() == Pace::Off {
        change(clock.pace(), Change::Resumed, 0);
    }
}

/// Notes that the program's classes no longer call the recorder, until [`note_resumed`]: readers show a pause. Recording goes
/// on, so that calls which are under way have their ends; otherwise they would seem to continue when the classes call again.
pub fn note_paused() {
    record_change(Change::Paused, 0, 0);
}

/// Notes that the program's classes call the recorder again.
pub fn note_resumed() {
    record_change(Change::Resumed, 0, 0);
}

/// The clock that methods get their time from; `None` while recording is paused.
pub fn clock() -> Option<Clock> {
    match TIME.pace() {
        Pace::Off => None,
        Pace::Precise => Some(Clock::Precise),
        Pace::Coarse => Some(Clock::Coarse),
    }
}

/// Whether recording is paused.
pub fn is_paused() -> bool {
    TIME.pace() == Pace::Off && Recorder::active().is_some()
}

/// Ends recording for good: the file says that it ended in order.
pub fn stop() {
    Recorder::deactivate(Some(State::Ended));
}

/// Switches a method off, or on again. Its callees are still recorded. A call that is open when its method is
/// switched off has no end in the recording.
pub fn set_method(id: u32, on: bool) {
    if switches::set(id, on) {
        record_change(if on { Change::MethodOn } else { Change::MethodOff }, id, 0);
    }
}

fn change(pace: Pace, change: Change, method: u32) {
    if Recorder::active().is_none() {
        return;
    }
    coarse::set_pace(pace);
    if Recorder::active().is_none() {
        // Recording ended meanwhile, and must stay so.
        coarse::set_pace(Pace::Off);
        return;
    }
    record_change(change, method, 0);
}

pub(crate) fn record_change(change: Change, method: u32, rate: u64) {
    let Some(recorder) = Recorder::active() else { return };
    // The reader shows it in words, with the method's name.
    recorder.service(&Event::Control(Control { change, method, rate }));
}
