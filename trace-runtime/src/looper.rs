//! The Looper of the main thread: message begin and end, and the timer that notices when an end does not
//! come.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use native_signal::{StallEvent, StallTimer, Thresholds};
use trace_format::event::{Event, Message, Stall};

use crate::monitors::frames;
use crate::recorder::Recorder;
use crate::sensing::{self, WhileStuck};
use crate::{clock, ticker, usage};

static TIMER: OnceLock<StallTimer> = OnceLock::new();
/// Messages open on main, one inside of the other: a dialog may run a nested loop.
static DEPTH: AtomicU32 = AtomicU32::new(0);

/// A message begins on the calling thread. On main it is watched from now on.
#[inline]
pub fn message_begin(message: &Message) {
    on_looper(&Event::MessageBegin(*message), |recorder, now| {
        let nested = DEPTH.fetch_add(1, Ordering::Relaxed);
        watch(recorder, now);
        frames::message_begin(nested.min(u8::MAX.into()) as u8);
    });
}

/// The calling thread's message ends.
#[inline]
pub fn message_end() {
    if Recorder::active().is_some_and(|recorder| crate::thread::gettid() == recorder.main_tid) {
        // A frame ends before its message.
        frames::message_end(DEPTH.load(Ordering::Relaxed).saturating_sub(1).min(u8::MAX.into()) as u8);
    }
    on_looper(&Event::MessageEnd, |recorder, now| {
        // An end without its begin (recording began in between) leaves the depth at 0.
        let outer = DEPTH.load(Ordering::Relaxed).saturating_sub(1);
        DEPTH.store(outer, Ordering::Relaxed);
        // A nested loop that goes on shows that the message around it is not stuck: its time starts anew.
        if outer > 0 {
            watch(recorder, now)
        } else {
            watch_nothing(recorder)
        }
        sensing::check_displaced(now);
    });
}

/// Records a message's bound, and calls `on_main` with its time if this is the main thread.
fn on_looper(event: &Event, on_main: impl FnOnce(&'static Recorder, u64)) {
    let Some(recorder) = Recorder::active() else { return };
    let now = crate::thread::with_writer(recorder, |thread| {
        let now = thread.put(&event.encode())?;
        thread.is_main().then_some(now)
    });
    if let Some(now) = now.flatten() {
        on_main(recorder, now);
    }
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

/// Starts the timer thread.
pub(crate) fn start_timer(thresholds: Thresholds) -> std::io::Result<()> {
    let (mut stuck, mut usage) = (WhileStuck::default(), usage::Watch::default());
    let observer = Box::new(move |event| on_stall(event, &mut stuck, &mut usage));
    let timer = StallTimer::start(thresholds, clock::boottime, observer)?;
    // A second start is refused before it comes here.
    let _ = TIMER.set(timer);
    Ok(())
}

/// Runs on the timer thread.
fn on_stall(event: StallEvent, stuck: &mut WhileStuck, usage: &mut usage::Watch) {
    let Some(recorder) = Recorder::active() else { return };
    let now = clock::boottime();
    recorder.alive(now);
    match event {
        StallEvent::Tick { since_ns } => {
            stuck.tick(since_ns);
            usage.late(recorder, now);
        }
        StallEvent::Stalled { since_ns, .. } => {
            recorder.service(&Event::Clock(clock::all()));
            recorder.service(&Event::Stall(Stall { stuck_since: since_ns }));
            usage.look(recorder);
        }
        StallEvent::Recovered { since_ns, .. } => {
            stuck.rest();
            recorder.service(&Event::Recovered(Stall { stuck_since: since_ns }));
            usage.look(recorder);
        }
    }
}
