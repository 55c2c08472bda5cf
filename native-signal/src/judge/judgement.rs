//! What is said of one signal.

use super::reason::Reason;
use std::fmt;
use trace_format::verdict::{Confidence, Outcome};

/// A verdict with its reasons.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// What it was.
    pub outcome: Outcome,
    /// How sure that is.
    pub confidence: Confidence,
    /// Why, in the order in which it was weighed.
    pub reasons: Vec<Reason>,
}

impl fmt::Display for Judgement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} confidence)", self.outcome.name(), self.confidence)?;
        for (index, reason) in self.reasons.iter().enumerate() {
            write!(f, "{} {reason}", if index == 0 { ":" } else { ";" })?;
        }
        Ok(())
    }
}
