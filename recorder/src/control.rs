//! What can be changed while it runs. Each change is an event of the service ring: the recording shows it, and since
//! when.

use trace_format::event::{Change, Control, Event};
use trace_format::layout::State;

use crate::recorder::{self, Recorder};
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

/// Records nothing until [`resume`], as in the background. What was open stays open.
pub fn pause() {
    if TIME.pace() != Pace::Off {
        change(Pace::Off, Change::Paused, 0);
    }
}

/// Goes on after [`pause`], with this clock.
pub fn resume(clock: Clock) {
    if TIME.pace() == Pace::Off {
        change(clock.pace(), Change::Resumed, 0);
    }
}

/// Whether [`pause`] was called last, and not [`resume`].
pub fn is_paused() -> bool {
    TIME.pace() == Pace::Off && Recorder::active().is_some()
}

/// From each thread's first event on, whether only main is recorded. Threads that are recorded already go on.
pub fn set_main_only(on: bool) {
    recorder::set_main_only(on);
}

/// Ends recording for good: the file says that it ended in order.
pub fn stop() {
    Recorder::deactivate(Some(State::Ended));
}

/// Switches a method off, or on again. What it calls goes on being recorded. A call that is open when its method goes
/// off has no end in the recording.
pub fn set_method(id: u32, on: bool) {
    if switches::set(id, on) {
        tell(if on { Change::MethodOn } else { Change::MethodOff }, id, 0);
    }
}

fn change(pace: Pace, change: Change, method: u32) {
    if Recorder::active().is_none() {
        return;
    }
    coarse::set_pace(pace);
    if Recorder::active().is_none() {
        // Ended meanwhile, and so it stays.
        coarse::set_pace(Pace::Off);
        return;
    }
    tell(change, method, 0);
}

pub(crate) fn tell(change: Change, method: u32, rate: u64) {
    let Some(recorder) = Recorder::active() else { return };
    // The reader says it in words, with the method's name.
    recorder.service(&Event::Control(Control { change, method, rate }));
}
