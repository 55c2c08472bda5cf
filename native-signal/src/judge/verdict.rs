//! What a signal can have been, and how sure that is.

use std::fmt;

/// What a signal was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// An ANR of this process.
    Anr,
    /// Perhaps one: worth keeping, to be settled by the system's exit info on the next start.
    SuspectedAnr,
    /// Another process's ANR; this one was dumped as a bystander.
    SomebodyElses,
    /// A request for a dump: ours, a shell's, a bug report's, or the system's while nothing is wrong here.
    DumpRequested,
    /// One more signal of an ANR that was told already.
    Duplicate,
    /// Too little is known to say, or (Matrix) nothing confirmed it.
    Unknown,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Verdict::Anr => "ANR",
            Verdict::SuspectedAnr => "suspected ANR",
            Verdict::SomebodyElses => "somebody else's ANR",
            Verdict::DumpRequested => "dump requested",
            Verdict::Duplicate => "duplicate",
            Verdict::Unknown => "unknown",
        })
    }
}

impl Verdict {
    /// How much of an ANR it is; a duplicate is one of something that is at least as much.
    pub(super) fn rank(self) -> u8 {
        match self {
            Verdict::Anr => 2,
            Verdict::SuspectedAnr => 1,
            _ => 0,
        }
    }
}

/// How sure a verdict is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// One weak sign.
    Low,
    /// What was seen fits, and nobody confirmed it.
    Medium,
    /// Confirmed from outside, or there is nothing to doubt.
    High,
}

impl Confidence {
    pub(super) fn more(self) -> Self {
        match self {
            Confidence::Low => Confidence::Medium,
            Confidence::Medium | Confidence::High => Confidence::High,
        }
    }

    pub(super) fn less(self) -> Self {
        match self {
            Confidence::High => Confidence::Medium,
            Confidence::Medium | Confidence::Low => Confidence::Low,
        }
    }
}

impl fmt::Display for Confidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Confidence::Low => "low confidence",
            Confidence::Medium => "medium confidence",
            Confidence::High => "high confidence",
        })
    }
}
