//! The work of the timer thread: what happens while a message of main does not end.

use native_signal::Wakeup;
use trace_format::event::{Event, Stall};
use trace_rules::looper::PollResult;

use crate::main_thread::{message_watch, usage};
use crate::monitors::anr::timers::{self, Timers};
use crate::monitors::config::options::{Setting, number};
use crate::monitors::looper::unknown;
use crate::monitors::native_stacks::capturing;
use crate::monitors::stacks::samples;
use crate::monitors::system_state;
use crate::recorder::Recorder;
use crate::sigquit::sensing::{self, WhileStalled};
use crate::sigquit::trace_text;
use crate::time::clock;

/// Starts the timer thread, beginning with the message that is open at that time.
pub(crate) fn start() -> std::io::Result<()> {
    let Some(timer) = message_watch::timer() else { return Ok(()) };
    let mut on_stall = OnStall::default();
    timer.run(clock::boottime, Box::new(move |wakeup| on_stall.on(wakeup)))
}

/// The time between two wake-ups while nothing is recorded, ns.
const WITHOUT_RECORDER_NS: u64 = 1_000_000_000;

/// The state of the timer thread.
#[derive(Default)]
struct OnStall {
    passive: WhileStalled,
    usage: usage::Watch,
    timers: Timers,
    /// When native stacks are due.
    native_stacks: samples::Rate,
    system_state: system_state::Watch,
}

impl OnStall {
    /// Returns the time until the next wake-up, ns.
    fn on(&mut self, wakeup: Wakeup) -> u64 {
        let Some(recorder) = Recorder::active() else { return WITHOUT_RECORDER_NS };
        let Wakeup { since_ns, now_ns, .. } = wakeup;
        sensing::keep_handled();
        unknown::watched(since_ns);
        if since_ns == 0 {
            unknown::check(recorder, now_ns);
        }
        let mut poll = message_watch::poll(wakeup);
        poll.unconfirmed = wakeup.is_suspicion && !unknown::is_confirmed(since_ns);
        if timers::is_over(since_ns) {
            poll.begun_ns = 0;
        }
        poll.debugger = samples::debugger();
        let seen = message_watch::decide(poll, timers::limits());
        if self.timers.report(recorder, &poll, &seen) {
            trace_text::quiet();
        }
        if seen.suspect || seen.recovered.is_some() {
            self.record(recorder, poll.begun_ns, wakeup.is_suspicion, &seen);
        }
        let suspect = seen.suspect.then_some(poll.begun_ns);
        self.system_state.poll_if_due(recorder, suspect, clock::boottime());
        message_watch::sleeps();
        seen.sleep_ns
    }

    /// Records a stall and its end, and examines main while its message is suspect.
    fn record(&mut self, recorder: &Recorder, since_ns: u64, is_suspicion: bool, seen: &PollResult) {
        let now = clock::boottime();
        recorder.alive(now);
        if let Some(stuck_since) = seen.recovered {
            self.passive = WhileStalled::default();
            recorder.service(&Event::Recovered(Stall { stuck_since }));
            usage::record(recorder);
        }
        if !seen.suspect || is_suspicion && !unknown::is_work(recorder, since_ns) {
            return;
        }
        if seen.anr.is_some() {
            recorder.service(&Event::Clock(clock::all()));
            recorder.service(&Event::Stall(Stall { stuck_since: since_ns }));
            usage::record(recorder);
        }
        native_signal::check_pending();
        self.passive.tick(since_ns);
        // First: a native stack needs no suspension of main, a Java stack does.
        if capturing::is_enabled()
            && self.native_stacks.is_due(since_ns, now, number(Setting::NativeStackIntervalMs))
        {
            capturing::stalled(since_ns);
        }
        if self.timers.sample(since_ns, now) {
            trace_text::stalled(since_ns, now);
        }
        self.usage.sample(recorder, now);
    }
}
