//! Idle handlers: a slice for each, and a report for one that does not return in time.

use std::sync::OnceLock;

use native_signal::{StallEvent, StallTimer, Thresholds};
use trace_format::event::{Event, TextId};
use trace_rules::idle::IdleRun;
use trace_rules::looper::{Limits, Poll, ProcessState, Watch};
use trace_rules::report::{Issue, LagKind, StackStyle};

use crate::guard;
use crate::monitors::config::options::{self, Setting};
use crate::monitors::stacks::java_stack;
use crate::monitors::stacks::sampler::{self, Answer, Wanted};
use crate::monitors::{app_state, reports};
use crate::time::clock;
use crate::writing::events::record;

static RUN: IdleRun = IdleRun::new();
static TIMER: OnceLock<Option<StallTimer>> = OnceLock::new();

/// The age at which a handler is first polled, ns.
const SUSPECT_NS: u64 = 500_000_000;

/// Records that a handler of this class begins. On main.
pub(crate) fn begin(class: TextId) {
    let Some(now) = record(&Event::IdleBegin(class).encode()) else { return };
    RUN.begin(class.0, now);
    if let Some(timer) = TIMER.get_or_init(start_timer) {
        timer.message_begin(now);
    }
}

/// Records that the handler returned or threw.
pub(crate) fn end() {
    let now = record(&Event::IdleEnd.encode());
    RUN.end(now.unwrap_or(0));
    if let Some(Some(timer)) = TIMER.get() {
        timer.message_end();
    }
}

/// Starts a separate timer: main is in no message while it is idle, and the messages' timer must not report
/// an idle handler. Its thread sleeps while no handler runs.
fn start_timer() -> Option<StallTimer> {
    let suspect_ns = SUSPECT_NS.min(options::number(Setting::IdleMs) * 1_000_000);
    let thresholds = Thresholds { suspect_ns, stall_ns: suspect_ns, tick_ns: suspect_ns.min(100_000_000) };
    let mut watch = Watch::new(limits());
    let observer = Box::new(move |event| {
        guard::disarm_on_panic(|| {
            if matches!(event, StallEvent::Tick { .. } | StallEvent::Stalled { .. }) {
                poll(&mut watch);
            }
        });
    });
    StallTimer::start(thresholds, clock::boottime, observer).ok()
}

fn limits() -> Limits {
    Limits { lag_ms: options::number(Setting::IdleMs), anr_ms: 0, too_late_ms: 0 }
}

/// Polls the running handler. On the timer's thread.
fn poll(watch: &mut Watch) {
    if !options::is_enabled(Setting::Idle) {
        return;
    }
    watch.set_limits(limits());
    let poll = Poll { now_ns: clock::boottime(), begun_ns: RUN.begun_ns(), ..Poll::default() };
    let seen = watch.poll(poll, &mut ProcessState::default);
    if seen.lag.is_none() {
        return;
    }
    // Main is in it now: later its stack would be another one.
    let (scene, foreground) = (app_state::scene_name(), app_state::is_foreground());
    let lag = Lag { begun_ns: RUN.begun_ns(), scene, foreground };
    sampler::ask(Wanted::Stack, Box::new(move |answer| answered(&lag, &answer)));
}

/// A handler that does not return in time.
#[derive(Debug)]
struct Lag {
    begun_ns: u64,
    scene: String,
    foreground: bool,
}

/// Reports the handler, with main's stack if main is still in it.
fn answered(lag: &Lag, answer: &Answer) {
    if answer.debugger {
        return;
    }
    let still = RUN.begun_ns() == lag.begun_ns;
    reports::report(&Issue::Lag {
        kind: LagKind::IdleHandler,
        scene: &lag.scene,
        thread_stack: &java_stack::styled(if still { &answer.stack } else { "" }, StackStyle::Whole),
        foreground: lag.foreground,
    });
}
