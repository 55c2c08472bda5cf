//! What is done when the end of a message does not come, on the timer's thread.

use native_signal::StallEvent;
use trace_format::event::{Event, Stall};

use crate::main_thread::{usage, watch};
use crate::monitors::timers::Timers;
use crate::recorder::Recorder;
use crate::sigquit::sensing::WhileStuck;
use crate::time::clock;

/// Starts the timer thread, which begins with the message that is open then.
pub(crate) fn start_timer() -> std::io::Result<()> {
    let Some(timer) = watch::timer() else { return Ok(()) };
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
