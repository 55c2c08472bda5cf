//! Idle handlers: a slice for each, and a report for one that does not return in time.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use native_signal::{StallTimer, Wakeup};
use trace_format::event::{Event, TextId};
use trace_rules::idle;
use trace_rules::looper::{Limits, Watch};
use trace_rules::report::{Issue, LagKind, StackStyle};

use crate::guard;
use crate::main_thread::message_watch;
use crate::monitors::config::options::{self, Setting};
use crate::monitors::stacks::java_stack;
use crate::monitors::stacks::sampler::{self, Answer, Wanted};
use crate::monitors::{app_state, reports};
use crate::time::clock;
use crate::writing::events::record;

static BEGUN: AtomicU64 = AtomicU64::new(0);
static TIMER: OnceLock<Option<StallTimer>> = OnceLock::new();

/// The age at which a handler is first polled, ms.
const SUSPECT_MS: u64 = 500;
/// The interval of polls from then on, ms.
const TICK_MS: u64 = 100;

/// Records that a handler of this class begins. On main.
pub(crate) fn begin(class: TextId) {
    let Some(now) = record(&Event::IdleBegin(class).encode()) else { return };
    BEGUN.store(now.max(1), Ordering::Release);
    if let Some(timer) = TIMER.get_or_init(start_timer) {
        timer.message_begin(now);
    }
}

/// Records that the handler returned or threw.
pub(crate) fn end() {
    record(&Event::IdleEnd.encode());
    BEGUN.store(0, Ordering::Release);
    if let Some(Some(timer)) = TIMER.get() {
        timer.message_end();
    }
}

/// Starts a separate timer: main is in no message while it is idle, and the messages' timer must not report
/// an idle handler. Its thread sleeps while no handler runs.
fn start_timer() -> Option<StallTimer> {
    let mut watch = Watch::new(limits());
    let observer = Box::new(move |wakeup| {
        guard::disarm_on_panic(|| poll(&mut watch, wakeup)).unwrap_or(SUSPECT_MS * 1_000_000)
    });
    let timer = StallTimer::new();
    timer.run(clock::boottime, observer).ok()?;
    Some(timer)
}

fn limits() -> Limits {
    let lag_ms = if options::is_enabled(Setting::Idle) { options::number(Setting::IdleMs) } else { 0 };
    Limits { suspect_ms: SUSPECT_MS, tick_ms: TICK_MS, lag_ms, ..idle::LIMITS }
}

/// Polls the running handler, and returns the time until the next poll, ns. On the timer's thread. A handler that does not return
/// in time is reported, with main's stack if main is still in it.
fn poll(watch: &mut Watch, wakeup: Wakeup) -> u64 {
    watch.set_limits(limits());
    let seen = watch.poll(message_watch::poll(wakeup));
    if seen.lag.is_some() {
        // Main is in it now: later its stack would be another one.
        let (scene, foreground) = (app_state::scene_name(), app_state::is_foreground());
        let then = move |answer: Answer| {
            if answer.debugger {
                return;
            }
            let still = BEGUN.load(Ordering::Acquire) == wakeup.since_ns;
            let stack = java_stack::styled(if still { &answer.stack } else { "" }, StackStyle::Whole);
            let kind = LagKind::IdleHandler;
            reports::report(&Issue::Lag { kind, scene: &scene, thread_stack: &stack, foreground });
        };
        sampler::ask(Wanted::Stack, Box::new(then));
    }
    seen.sleep_ns
}
