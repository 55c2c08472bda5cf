//! What is said of one signal.

use super::reason::Reason;
use super::verdict::{Confidence, Verdict};
use std::fmt;

/// A verdict with its reasons.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// What it was.
    pub verdict: Verdict,
    /// How sure that is.
    pub confidence: Confidence,
    /// Why, in the order in which it was weighed.
    pub reasons: Vec<Reason>,
}

impl fmt::Display for Judgement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.verdict, self.confidence)?;
        for (index, reason) in self.reasons.iter().enumerate() {
            write!(f, "{} {reason}", if index == 0 { ":" } else { ";" })?;
        }
        Ok(())
    }
}
