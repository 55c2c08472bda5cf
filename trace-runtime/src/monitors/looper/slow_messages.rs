//! Slow messages (Matrix's "evil methods"): on main the comparison alone, on the worker the slice, the tree and the report.

use trace_rules::looper::Ended;
use trace_rules::report::{Issue, slow_log};

use crate::files::worker;
use crate::memory::mark::Mark;
use crate::monitors::config::options::{Setting, is_enabled};
use crate::monitors::stacks::calls;
use crate::monitors::stacks::calls::CallStack;
use crate::monitors::{app_state, reports};

/// A message was slow: `cost_ms` by its own time, without loops nested in it. On main, after the message's end is in the record.
pub(crate) fn ended(ended: &Ended, cost_ms: u64, mark: Option<Mark>) {
    let Ended { begun_ns, ended_ns, own_ns, .. } = *ended;
    worker::then(Box::new(move || {
        // The scene is that of now: an activity that this very message started is in it.
        let stack = calls::since(mark.as_ref(), begun_ns, ended_ns);
        let scene = app_state::scene_name();
        // With a nested loop in it, main was not busy with it all the time that the lines say.
        let nested_loop = own_ns < ended_ns.saturating_sub(begun_ns);
        let cost_ms = if nested_loop { i64::try_from(cost_ms).unwrap_or(i64::MAX) } else { stack.cost_ms };
        tell(cost_ms, &scene, &stack);
    }));
}

/// The report, and its block in the log. Not on main.
pub(crate) fn tell(cost_ms: i64, scene: &str, stack: &CallStack) {
    reports::tell(&Issue::SlowMessage { cost_ms, scene, stack: &stack.text, key: &stack.key, cpu_ms: None });
    if is_enabled(Setting::Log) {
        let trace = Some((&*stack.key, &*stack.log_text()));
        reports::log(slow_log(cost_ms, scene, app_state::is_foreground(), trace));
    }
}
