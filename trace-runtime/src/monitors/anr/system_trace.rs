//! When a snapshot of the running system trace is requested: once a message of main is `system_trace_ms` old. The shims'
//! thread `anrscope-sampler` takes the request and passes it on (`PlatformProfiles.java`).

use crate::monitors::config::options::{Setting, number};
use crate::monitors::stacks::sampler::{self, Wanted};

/// The shortest time between two requests, ns. The platform limits how often an app gets a trace, with one limit for
/// all triggers (AOSP `RateLimiter`, API 35 and 36): stalls that repeat must not use up what an ANR needs.
const MIN_INTERVAL_NS: u64 = 600_000_000_000;

/// The requests of this process. Owned by the timer thread.
#[derive(Debug, Default)]
pub(crate) struct SystemTrace {
    /// The message that was the last to be old enough.
    since_ns: u64,
    /// When a trace was requested last, ns.
    asked_ns: Option<u64>,
}

impl SystemTrace {
    /// Requests a trace if one is due at `now_ns` of the message that began at `since_ns`.
    pub(crate) fn poll(&mut self, since_ns: u64, now_ns: u64) {
        if self.is_due(since_ns, now_ns, number(Setting::SystemTraceMs)) {
            sampler::ask(Wanted::SystemTrace, Box::new(drop));
        }
    }

    fn is_due(&mut self, since_ns: u64, now_ns: u64, age_ms: u64) -> bool {
        let old = age_ms > 0 && now_ns.saturating_sub(since_ns) >= age_ms * 1_000_000;
        if !old || self.since_ns == since_ns {
            return false;
        }
        self.since_ns = since_ns;
        let due = self.asked_ns.is_none_or(|asked| now_ns.saturating_sub(asked) >= MIN_INTERVAL_NS);
        if due {
            self.asked_ns = Some(now_ns);
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_trace_is_requested_for_a_stall_and_none_soon_after() {
        use trace_format::time::SECOND;
        let mut trace = SystemTrace::default();
        let mut due = |since: u64, now: u64| trace.is_due(since * SECOND, now * SECOND, 3_000);
        assert!(!due(10, 12) && due(10, 13) && !due(10, 14) && !due(10, 900));
        assert!(!due(20, 24), "another stall, 11 s after the request");
        assert!(!due(20, 900), "each stall is decided once");
        assert!(!due(612, 614) && !due(609, 612) && due(611, 614));
        assert!(!trace.is_due(1_400 * SECOND, 1_500 * SECOND, 0), "off");
    }
}
