//! Decides whether a SIGQUIT was an ANR, with reasons.
//!
//! Pure logic: no I/O, no clock, no thread. The caller collects [`Evidence`] when a signal is sensed, asks
//! [`Judge::judge`] for a first verdict, polls the system with [`ErrorPolls`] for up to 20 s *after everything worth
//! keeping is on disk*, and then calls [`Judge::reconsider`] to weigh the same signal again.
//!
//! ```
//! use native_signal::{ErrorPolls, Evidence, Identity, Judge, Outcome, Policy};
//!
//! let own = Identity { pid: 4321, uid: 10_123 };
//! let mut judge = Judge::new(Policy::default(), own);
//! let mut evidence = Evidence {
//!     at_ns: 1_000_000_000,
//!     si_pid: 1234,
//!     si_uid: 1000, // the system
//!     foreground: Some(true),
//!     message: Some(7),
//!     running_ms: Some(3_000),
//!     ..Evidence::default()
//! };
//! let first = judge.judge(&evidence);
//! assert_eq!(first.outcome, Outcome::SuspectedAnr);
//!
//! let mut system = || vec![native_signal::ProcessInError { pid: 4321, uid: 10_123, not_responding: true }];
//! evidence.errors = ErrorPolls::new(Policy::default(), own).run(&mut system, |pause| {
//!     std::thread::sleep(pause);
//!     true
//! });
//! let last = judge.reconsider(&evidence);
//! assert_eq!(last.outcome, Outcome::Anr);
//! assert_eq!(last.reasons.last().unwrap().text, "the system lists us as not responding (poll 1)");
//! ```

mod anrscope;
mod error_state;
mod evidence;
mod judgement;
mod matrix;
mod reason;
mod sender;

pub use error_state::{ErrorPolls, ErrorState, ErrorVote, ProcessInError};
pub use evidence::{Evidence, Head, Trigger};
pub use judgement::Judgement;
pub use sender::Identity;
pub use trace_format::verdict::{Confidence, Outcome, Policy, Reason, Sender};

use anrscope::{MAIN_LATE, MAIN_STUCK};
use reason::reason;
use trace_format::android::ANR_LIMIT_MS;

/// How much of an ANR an outcome is; a duplicate is one of something that is at least as much.
fn rank(outcome: Outcome) -> u8 {
    match outcome {
        Outcome::Anr => 2,
        Outcome::SuspectedAnr => 1,
        _ => 0,
    }
}

/// An ANR, or the suspicion of one, that was reported.
#[derive(Clone, Copy, Debug)]
struct Reported {
    at_ns: u64,
    message: Option<u64>,
    outcome: Outcome,
}

/// Judges signals one after another and remembers the last one that it reported.
#[derive(Debug)]
pub struct Judge {
    policy: Policy,
    own: Identity,
    anr_ms: u64,
    reported: Option<Reported>,
}

impl Judge {
    /// Two signals of one ANR come within this: the time that the system waits for all dumps of one ANR, after which
    /// it takes the next one. Counted from the signal that was reported, so that a storm does not extend it.
    pub const WINDOW_MS: u64 = 20_000;

    /// A judge that has seen no signal yet.
    pub fn new(policy: Policy, own: Identity) -> Self {
        Judge { policy, own, anr_ms: ANR_LIMIT_MS, reported: None }
    }

    /// Main counts as stuck in the foreground from `anr_ms` on, [`ANR_LIMIT_MS`] unless set, and in the background from twice
    /// as much on; 0 stands for the default. [`Policy::Matrix`] has fixed limits.
    pub fn set_anr_ms(&mut self, anr_ms: u64) {
        self.anr_ms = if anr_ms == 0 { ANR_LIMIT_MS } else { anr_ms };
    }

    /// Judges a signal that was not judged before. From any thread but a signal handler: it allocates its reasons.
    ///
    /// By anrscope's policy a signal is a [`Outcome::Duplicate`] if by itself it would be an ANR or the suspicion of one,
    /// something at least as strong was reported less than [`Judge::WINDOW_MS`] before, and it is about the same: main is
    /// in the same message as then (or in no known one, as then), or main is not late and only the
    /// error state still lists this process, which it does for as long as the dialog is up. A stronger verdict is reported again; a
    /// signal for another process suppresses no later one, even in the same message.
    pub fn judge(&mut self, evidence: &Evidence) -> Judgement {
        let mut judgement = self.weigh(evidence);
        let since = self.reported.and_then(|reported| {
            let before_ms = evidence.at_ns.saturating_sub(reported.at_ns) / 1_000_000;
            (before_ms < Self::WINDOW_MS).then_some((reported, before_ms))
        });
        if let Some((reported, before_ms)) = since
            && self.is_duplicate(evidence, &judgement, reported)
        {
            judgement.outcome = Outcome::Duplicate;
            let text = format!("reported {before_ms} ms before as: {}", reported.outcome.name());
            judgement.reasons.push(reason("same-as", text));
            return judgement;
        }
        self.remember(evidence, judgement.outcome);
        judgement
    }

    /// Judges a signal again that [`Judge::judge`] did not call a duplicate, with evidence that came since. It is no
    /// duplicate of itself, and the next signal is compared with the new judgement.
    pub fn reconsider(&mut self, evidence: &Evidence) -> Judgement {
        let judgement = self.weigh(evidence);
        if self.reported.is_some_and(|reported| reported.at_ns == evidence.at_ns) {
            self.reported = None;
        }
        // Another signal may have been reported while the system was polled about this one.
        if self.reported.is_none_or(|reported| reported.at_ns < evidence.at_ns) {
            self.remember(evidence, judgement.outcome);
        }
        judgement
    }

    fn weigh(&self, evidence: &Evidence) -> Judgement {
        match self.policy {
            Policy::Matrix => matrix::weigh(evidence, self.own),
            Policy::Anrscope => anrscope::weigh(evidence, self.own, self.anr_ms),
        }
    }

    fn is_duplicate(&self, evidence: &Evidence, judgement: &Judgement, reported: Reported) -> bool {
        match self.policy {
            // Within 20 s of a report it ignores the next signal 35, unless it is its own.
            Policy::Matrix => {
                evidence.trigger == Trigger::NativeDump && judgement.outcome != Outcome::DumpRequested
            }
            Policy::Anrscope => {
                let strength = rank(judgement.outcome);
                let main_is_late =
                    judgement.reasons.iter().any(|why| [MAIN_STUCK, MAIN_LATE].contains(&why.code.as_str()));
                strength > 0
                    && strength <= rank(reported.outcome)
                    && (evidence.message == reported.message || !main_is_late)
            }
        }
    }

    fn remember(&mut self, evidence: &Evidence, outcome: Outcome) {
        if rank(outcome) > 0 {
            self.reported = Some(Reported { at_ns: evidence.at_ns, message: evidence.message, outcome });
        }
    }
}
