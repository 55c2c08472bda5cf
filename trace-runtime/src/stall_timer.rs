//! The work of the timer thread: what happens while a message of main does not end.

use native_signal::StallEvent;
use trace_format::event::{Event, Stall};

use crate::main_thread::{message_watch, usage};
use crate::monitors::anr::timers::Timers;
use crate::monitors::looper::unknown;
use crate::recorder::Recorder;
use crate::sigquit::sensing::{self, WhileStalled};
use crate::sigquit::trace_text;
use crate::time::clock;

/// Starts the timer thread, beginning with the message that is open at that time.
pub(crate) fn start() -> std::io::Result<()> {
    let Some(timer) = message_watch::timer() else { return Ok(()) };
    let mut on_stall = OnStall::default();
    timer.run(clock::boottime, Box::new(move |event| on_stall.on(event)))
}

/// The state of the timer thread.
#[derive(Default)]
struct OnStall {
    passive: WhileStalled,
    usage: usage::Watch,
    timers: Timers,
}

impl OnStall {
    fn on(&mut self, event: StallEvent) {
        let Some(recorder) = Recorder::active() else { return };
        if let StallEvent::Poll { since_ns, now_ns, late_ns } = event {
            sensing::keep_handled();
            unknown::watched(since_ns);
            if since_ns == 0 {
                unknown::check(recorder, now_ns);
            }
            let since_ns = if unknown::is_suspicion(since_ns) { 0 } else { since_ns };
            if self.timers.poll(recorder, since_ns, now_ns, late_ns) {
                trace_text::quiet();
            }
            return;
        }
        let now = clock::boottime();
        recorder.alive(now);
        let (StallEvent::Tick { since_ns }
        | StallEvent::Stalled { since_ns, .. }
        | StallEvent::Recovered { since_ns, .. }
        | StallEvent::Poll { since_ns, .. }) = event;
        if unknown::tick(recorder, since_ns) {
            return;
        }
        match event {
            StallEvent::Poll { .. } => {}
            StallEvent::Tick { since_ns } => {
                native_signal::check_pending();
                self.passive.tick(since_ns);
                if self.timers.sample(since_ns, now) {
                    trace_text::stalled(since_ns, now);
                }
                self.usage.sample(recorder, now);
            }
            StallEvent::Stalled { since_ns, .. } => {
                recorder.service(&Event::Clock(clock::all()));
                recorder.service(&Event::Stall(Stall { stuck_since: since_ns }));
                usage::record(recorder);
            }
            StallEvent::Recovered { since_ns, .. } => {
                self.passive.rest();
                recorder.service(&Event::Recovered(Stall { stuck_since: since_ns }));
                usage::record(recorder);
            }
        }
    }
}
