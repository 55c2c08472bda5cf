//! Detects changes of main's priority and timer slack, which make it slower.
//!
//! No hooks: the shim reads both at the end of a message that was slow. A change is detected there and not at the call that
//! made it, so the report has the stack of the message.

/// The changes since the last check.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tuned {
    /// Main's nice value, if it changed.
    pub nice: Option<i32>,
    /// Main's timer slack in ns, if it changed and is above the limit.
    pub slack_ns: Option<u64>,
}

/// Remembers main's priority and timer slack.
#[derive(Clone, Copy, Debug)]
pub struct Tuning {
    nice: i32,
    slack_ns: u64,
}

impl Tuning {
    /// With the values at the start.
    #[must_use]
    pub fn new(nice: i32, slack_ns: u64) -> Self {
        Tuning { nice, slack_ns }
    }

    /// Compares with the current values. A slack above `limit_ns` is worth a report.
    pub fn check(&mut self, nice: i32, slack_ns: u64, limit_ns: u64) -> Tuned {
        let was = std::mem::replace(self, Tuning { nice, slack_ns });
        Tuned {
            nice: (nice != was.nice).then_some(nice),
            slack_ns: (slack_ns != was.slack_ns && slack_ns > limit_ns).then_some(slack_ns),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kernel's default slack, as in the option `slack_ns`.
    const LIMIT_NS: u64 = 50_000;

    #[test]
    fn each_change_is_reported_once_and_slack_only_above_its_limit() {
        let mut tuning = Tuning::new(-10, 50_000);
        assert_eq!(tuning.check(-10, 50_000, LIMIT_NS), Tuned { nice: None, slack_ns: None });
        assert_eq!(tuning.check(10, 50_001, LIMIT_NS), Tuned { nice: Some(10), slack_ns: Some(50_001) });
        assert_eq!(tuning.check(10, 50_001, LIMIT_NS), Tuned { nice: None, slack_ns: None });
        assert_eq!(tuning.check(10, 40_000, LIMIT_NS), Tuned { nice: None, slack_ns: None });
    }
}
