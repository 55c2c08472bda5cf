//! Who makes main slower: its priority and its timer slack.
//!
//! No hooks: the shim reads both at the end of a message that was slow. A change is noticed there and not at the call that
//! made it, so the report's stack is that of the message.

/// A timer slack above this is worth a report, ns (Matrix's limit; the kernel's default is 50,000).
pub const SLACK_NS: u64 = 50_000;

/// What changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tuned {
    /// Main's nice value, if it is another than before.
    pub nice: Option<i32>,
    /// Main's timer slack in ns, if it is another than before and above [`SLACK_NS`].
    pub slack_ns: Option<u64>,
}

/// Remembers main's priority and timer slack.
#[derive(Clone, Copy, Debug)]
pub struct Tuning {
    nice: i32,
    slack_ns: u64,
}

impl Tuning {
    /// As they are at the start.
    #[must_use]
    pub fn new(nice: i32, slack_ns: u64) -> Self {
        Tuning { nice, slack_ns }
    }

    /// As they are now.
    pub fn look(&mut self, nice: i32, slack_ns: u64) -> Tuned {
        self.look_above(nice, slack_ns, SLACK_NS)
    }

    /// As they are now, with another limit than [`SLACK_NS`].
    pub fn look_above(&mut self, nice: i32, slack_ns: u64, limit_ns: u64) -> Tuned {
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

    #[test]
    fn each_change_is_told_once_and_slack_only_above_its_limit() {
        let mut tuning = Tuning::new(-10, 50_000);
        assert_eq!(tuning.look(-10, 50_000), Tuned { nice: None, slack_ns: None });
        assert_eq!(tuning.look(10, 50_001), Tuned { nice: Some(10), slack_ns: Some(50_001) });
        assert_eq!(tuning.look(10, 50_001), Tuned { nice: None, slack_ns: None });
        assert_eq!(tuning.look(10, 40_000), Tuned { nice: None, slack_ns: None });
    }
}
