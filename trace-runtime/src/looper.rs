//! The Looper of the main thread: message begin and end, and the timer that notices when an end does not
//! come.
//!
//! The order at a message's bounds is always the same, on every API level: the record first, then the rules of
//! [`monitors::messages`], then the timer. A slice that is taken because of what the rules say has both bounds in it.

use std::sync::OnceLock;
use std::sync::atomic::Ordering;

use native_signal::{StallEvent, StallTimer, Thresholds};
use trace_format::event::{Event, Message, Stall};
use trace_rules::looper::Tag;

use crate::monitors::timers::Timers;
use crate::monitors::{frames, messages};
use crate::recorder::Recorder;
use crate::ring::Ring;
use crate::sensing::{self, WhileStuck};
use crate::{clock, ticker, usage};

static TIMER: OnceLock<StallTimer> = OnceLock::new();

/// A message begins on the calling thread. On main it is watched from now on. One that begins inside of another is taken
/// for a nested loop's.
#[inline]
pub fn message_begin(message: &Message) {
    begin(message, 0);
}

/// The calling thread's innermost message ends.
#[inline]
pub fn message_end() {
    end(None, 0);
}

/// A message begins. `stack` is the address of anything on the stack of the call that tells it, 0 if it is not known: it
/// tells a nested loop from a message that never ended ([`trace_rules::looper::Pairing`]).
#[inline]
pub(crate) fn begin(message: &Message, stack: usize) {
    let Some(recorder) = Recorder::active() else { return };
    let event = Event::MessageBegin(*message).encode();
    let begun = crate::thread::with_writer(recorder, |thread| {
        let Some(lost) = messages::with(thread, |main| main.lost_at(stack)) else {
            thread.put(&event);
            return None;
        };
        for _ in 0..lost {
            thread.put(&Event::MessageEnd.encode());
        }
        let mark = recorder.main_blocks.mark();
        let now = thread.put(&event)?;
        let tag = Tag { target: message.target.0, callback: message.callback.0, what: message.what };
        let begun = messages::with(thread, |main| main.begin(now, tag, stack, mark))?;
        Some((now, begun.nested))
    });
    if let Some((now, nested)) = begun.flatten() {
        watch(recorder, now);
        frames::message_begin(nested);
    }
}

/// A message ends: the one that `tag` and `stack` (as of [`begin`]) tell, the innermost without. One that fits no open
/// message on main changes nothing if another is open: it would end that one in the record.
#[inline]
pub(crate) fn end(tag: Option<Tag>, stack: usize) {
    let Some(recorder) = Recorder::active() else { return };
    let found = crate::thread::with_writer(recorder, |thread| {
        let found = messages::with(thread, |main| (main.ends(tag, stack), main.open()));
        if found.is_none() {
            thread.put(&Event::MessageEnd.encode());
        }
        found
    });
    let Some((nested, open)) = found.flatten() else { return };
    if let Some(nested) = nested {
        // A frame ends before its message.
        frames::message_end(nested);
    }
    let ended = crate::thread::with_writer(recorder, |thread| {
        let mut now = None;
        // Ones inside of it whose ends were lost end with it.
        let ends = match nested {
            Some(nested) => open - usize::from(nested),
            // Its begin is in the record, too, or there is none that it could end.
            None => usize::from(open == 0 || messages::with(thread, |main| main.is_beyond()) == Some(true)),
        };
        for _ in 0..ends {
            now = thread.put(&Event::MessageEnd.encode());
        }
        // While recording is paused nothing is written, and what is open ends nevertheless.
        let now = now.unwrap_or_else(clock::now);
        let still_open = messages::with(thread, |main| match nested {
            Some(nested) => Some(main.end(now, nested)),
            None => {
                main.nobodys_end(now, tag);
                // Without a begin: recording began in between.
                (open == 0).then_some(0)
            }
        });
        Some((now, still_open.flatten()?))
    });
    let Some((now, open)) = ended.flatten() else { return };
    // A nested loop that goes on shows that the message around it is not stuck: its time starts anew.
    if open > 0 {
        watch(recorder, now)
    } else {
        watch_nothing(recorder)
    }
    sensing::check_displaced(now);
}

fn watch(recorder: &Recorder, now: u64) {
    recorder.message_since.store(now, Ordering::Relaxed);
    if let Some(timer) = TIMER.get() {
        timer.message_begin(now);
    }
}

fn watch_nothing(recorder: &Recorder) {
    recorder.message_since.store(0, Ordering::Relaxed);
    ticker::message_ended();
    if let Some(timer) = TIMER.get() {
        timer.message_end();
    }
}

/// Nobody tells of messages, and by main's record it is in a call that began then, or in none that is known. Not on main, and on one
/// thread at a time: there is no Printer with which main would tell the timer itself.
pub(crate) fn outermost(begun_ns: Option<u64>) {
    let Some(recorder) = Recorder::active() else { return };
    let known = recorder.message_since.load(Ordering::Relaxed);
    match begun_ns {
        Some(begun) if known != begun => watch(recorder, begun),
        None if known != 0 => {
            recorder.message_since.store(0, Ordering::Relaxed);
            if let Some(timer) = TIMER.get() {
                timer.message_end();
            }
        }
        _ => {}
    }
}

/// Nothing is known of main's messages from now on, until somebody tells.
pub(crate) fn nobody_tells() {
    outermost(None);
    if let Some(recorder) = Recorder::active() {
        recorder.message_since.store(Recorder::NO_LOOPER, Ordering::Relaxed);
    }
}

/// LAG and ANR from these ages of a message on, ms; 0 for never.
pub(crate) fn set_limits(lag_ms: u64, anr_ms: u64) {
    let Some(timer) = TIMER.get() else { return };
    let defaults = Thresholds::default();
    let limit_ns = |ms: u64| Some(ms.saturating_mul(1_000_000)).filter(|ns| *ns > 0);
    let stall_ns = limit_ns(anr_ms).unwrap_or(defaults.stall_ns);
    let suspect_ns = defaults.suspect_ns.min(stall_ns).min(limit_ns(lag_ms).unwrap_or(u64::MAX));
    timer.set_thresholds(Thresholds { suspect_ns, stall_ns, ..defaults });
}

/// Messages are told to the timer from now on.
pub(crate) fn prepare_timer(thresholds: Thresholds) {
    // A second start is refused before it comes here.
    let _ = TIMER.set(StallTimer::new(thresholds));
}

/// Starts the timer thread, which begins with the message that is open then.
pub(crate) fn start_timer() -> std::io::Result<()> {
    let Some(timer) = TIMER.get() else { return Ok(()) };
    let mut on_stall = OnStall::default();
    timer.run(clock::boottime, Box::new(move |event| on_stall.on(event)))
}

/// What runs on the timer thread.
#[derive(Default)]
struct OnStall {
    stuck: WhileStuck,
    usage: usage::Watch,
    timers: Timers,
}

impl OnStall {
    fn on(&mut self, event: StallEvent) {
        let Some(recorder) = Recorder::active() else { return };
        if let StallEvent::Look { since_ns, now_ns, late_ns } = event {
            self.timers.look(recorder, since_ns, now_ns, late_ns);
            return;
        }
        let now = clock::boottime();
        recorder.alive(now);
        match event {
            StallEvent::Look { .. } => {}
            StallEvent::Tick { since_ns } => {
                self.stuck.tick(since_ns);
                self.timers.stuck(since_ns, now);
                self.usage.late(recorder, now);
            }
            StallEvent::Stalled { since_ns, .. } => {
                recorder.service(&Event::Clock(clock::all()));
                recorder.service(&Event::Stall(Stall { stuck_since: since_ns }));
                usage::look(recorder);
            }
            StallEvent::Recovered { since_ns, .. } => {
                self.stuck.rest();
                recorder.service(&Event::Recovered(Stall { stuck_since: since_ns }));
                usage::look(recorder);
            }
        }
    }
}
