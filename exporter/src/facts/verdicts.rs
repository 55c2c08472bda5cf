//! The process's own verdicts on its SIGQUITs.

use std::collections::BTreeMap;

use answers::text::clean;
use trace_format::verdict::{Confidence, Counters, Outcome, Verdict};

/// Maximum number of verdicts kept. A recorder writes a thousand that are not ANRs, and an ANR takes seconds.
const MAX_KEPT: usize = 2048;

/// The final verdict on each signal.
#[derive(Debug, Default)]
pub(super) struct Verdicts {
    /// By the time at which the signal was sensed.
    pub(super) by_signal: BTreeMap<u64, Verdict>,
    /// The counters of the latest signal.
    pub(super) counters: Option<Counters>,
}

impl Verdicts {
    /// Adds a verdict; returns 1 if the limit is exceeded.
    pub(super) fn add(&mut self, verdict: Verdict) -> u64 {
        let signal = verdict.sigquit.sensed;
        if self.by_signal.len() >= MAX_KEPT && !self.by_signal.contains_key(&signal) {
            return 1;
        }
        if self.by_signal.keys().next_back().is_none_or(|latest| *latest <= signal) {
            self.counters = Some(verdict.counters);
        }
        match self.by_signal.get(&signal) {
            Some(last) if last.reconsidered && !verdict.reconsidered => {}
            _ => drop(self.by_signal.insert(signal, verdict)),
        }
        0
    }
}

/// The outcome for people.
pub(crate) fn outcome_name(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Anr => "ANR",
        Outcome::SuspectedAnr => "suspected ANR",
        Outcome::OtherProcess => "somebody else's ANR",
        Outcome::DumpRequested => "dump requested",
        Outcome::ToolAttached => "tool attached",
        Outcome::Duplicate => "one more signal of the same ANR",
        Outcome::Unknown => "unknown",
    }
}

/// The confidence for people.
pub(crate) fn confidence_name(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::Low => "low confidence",
        Confidence::Medium => "medium confidence",
        Confidence::High => "high confidence",
    }
}

/// `ANR (high confidence)`.
pub(crate) fn verdict_name(verdict: &Verdict) -> String {
    format!("{} ({})", outcome_name(verdict.outcome), confidence_name(verdict.confidence))
}

/// All reasons on one line.
pub(crate) fn reasons_text(verdict: &Verdict) -> String {
    let texts: Vec<_> = verdict.reasons.iter().map(|r| clean(&r.text)).collect();
    texts.join("; ")
}
