//! The judgement of one signal.

use std::fmt;
use trace_format::verdict::{Confidence, Outcome, Reason};

/// A verdict with its reasons.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Judgement {
    /// What the signal was.
    pub outcome: Outcome,
    /// How sure the outcome is.
    pub confidence: Confidence,
    /// The reasons, in the order in which they were weighed.
    pub reasons: Vec<Reason>,
}

impl fmt::Display for Judgement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} confidence)", self.outcome.name(), self.confidence)?;
        for (index, reason) in self.reasons.iter().enumerate() {
            write!(f, "{} {}", if index == 0 { ":" } else { ";" }, reason.text)?;
        }
        Ok(())
    }
}
