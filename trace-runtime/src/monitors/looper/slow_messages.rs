//! Slow messages (Matrix's "evil methods"): main only compares the duration; the worker copies the slice,
//! builds the call tree and reports.

use trace_rules::looper::Ended;
use trace_rules::report::{Issue, slow_log};

use crate::files::worker;
use crate::memory::mark::Mark;
use crate::monitors::config::options::{Setting, is_enabled};
use crate::monitors::stacks::calls;
use crate::monitors::stacks::calls::CallStack;
use crate::monitors::{app_state, reports};

/// Reports a slow message: `cost_ms` is its own time, without nested loops. On main, after the message's
/// end is in the record.
pub(crate) fn ended(ended: &Ended, cost_ms: u64, mark: Option<Mark>) {
    let Ended { begun_ns, ended_ns, own_ns, .. } = *ended;
    worker::then(Box::new(move || {
        // The current scene: it includes an activity that this message started.
        let stack = calls::since(mark.as_ref(), begun_ns, ended_ns);
        let scene = app_state::scene_name();
        // A nested loop means that main was not busy with the message all the time that the lines show.
        let nested_loop = own_ns < ended_ns.saturating_sub(begun_ns);
        let cost_ms = if nested_loop { i64::try_from(cost_ms).unwrap_or(i64::MAX) } else { stack.cost_ms };
        report(cost_ms, &scene, &stack);
    }));
}

/// Emits the report, and its block in the log. Not on main.
pub(crate) fn report(cost_ms: i64, scene: &str, stack: &CallStack) {
    reports::report(&Issue::SlowMessage { cost_ms, scene, stack: &stack.text, key: &stack.key });
    if is_enabled(Setting::Log) {
        let trace = Some((&*stack.key, &*stack.log_text()));
        reports::hand_over(slow_log(cost_ms, scene, app_state::is_foreground(), trace));
    }
}
