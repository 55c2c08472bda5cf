//! Whether a SIGQUIT was an ANR, and why one says so.
//!
//! Pure logic: no I/O, no clock, no thread of its own. The caller collects [`Evidence`] when a signal is sensed, asks
//! [`Judge::judge`] for a first verdict, lets [`ErrorPolls`] ask the system for up to 20 s *after everything worth
//! keeping is on disk*, and then has [`Judge::reconsider`] weigh the same signal again.
//!
//! ```
//! use native_signal::{ErrorPolls, ErrorState, Evidence, Identity, Judge, Policy, Verdict};
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
//! assert_eq!(first.verdict, Verdict::SuspectedAnr);
//!
//! let mut system = || vec![native_signal::ProcessInError { pid: 4321, uid: 10_123, not_responding: true }];
//! evidence.errors = ErrorPolls::new(Policy::default(), own).run(&mut system, |pause| {
//!     std::thread::sleep(pause);
//!     true
//! });
//! let last = judge.reconsider(&evidence);
//! assert_eq!(last.verdict, Verdict::Anr);
//! assert_eq!(last.reasons.last().unwrap().to_string(), "the system lists us as not responding (poll 1)");
//! ```

mod anrscope;
mod error_state;
mod evidence;
mod judgement;
mod matrix;
mod policy;
mod reason;
mod sender;
mod verdict;

pub use error_state::{ErrorPolls, ErrorState, ErrorVote, ProcessInError};
pub use evidence::{Evidence, Head, Trigger};
pub use judgement::Judgement;
pub use policy::Policy;
pub use reason::{LateBy, Reason};
pub use sender::{Identity, Sender};
pub use verdict::{Confidence, Verdict};

/// An ANR, or the suspicion of one, that was told.
#[derive(Clone, Copy, Debug)]
struct Told {
    at_ns: u64,
    message: Option<u64>,
    verdict: Verdict,
}

/// Judges signals one after another and remembers what it told.
#[derive(Debug)]
pub struct Judge {
    policy: Policy,
    own: Identity,
    told: Option<Told>,
}

impl Judge {
    /// Two signals of one ANR come within this: the time that the system waits for all dumps of one ANR, after which
    /// it takes the next one. Counted from the signal that was told, so that a storm does not stretch it.
    pub const WINDOW_MS: u64 = 20_000;

    /// A judge that has told nothing yet.
    pub fn new(policy: Policy, own: Identity) -> Self {
        Judge { policy, own, told: None }
    }

    /// Judges a signal that was not judged before. From any thread but a signal handler: it allocates its reasons.
    ///
    /// By our policy a signal is a [`Verdict::Duplicate`] if by itself it would be an ANR or the suspicion of one,
    /// something at least as strong was told less than [`Judge::WINDOW_MS`] before, and it is about the same: main is
    /// in the same message as then (or in none that is known, as then), or main is not seen to be late and only the
    /// error state still names us, which it does for as long as the dialog is up. A stronger verdict is told again; a signal that
    /// was for somebody else hides none of ours after it, even in the same message.
    pub fn judge(&mut self, evidence: &Evidence) -> Judgement {
        let mut judgement = self.weigh(evidence);
        let since = self.told.and_then(|told| {
            let before_ms = evidence.at_ns.saturating_sub(told.at_ns) / 1_000_000;
            (before_ms < Self::WINDOW_MS).then_some((told, before_ms))
        });
        if let Some((told, before_ms)) = since
            && self.is_duplicate(evidence, &judgement, told)
        {
            judgement.verdict = Verdict::Duplicate;
            judgement.reasons.push(Reason::SameAs { verdict: told.verdict, before_ms });
            return judgement;
        }
        self.remember(evidence, judgement.verdict);
        judgement
    }

    /// Judges a signal again that [`Judge::judge`] did not call a duplicate, with evidence that came since. It is no
    /// duplicate of itself, and what is told of it now is what the next one is compared with.
    pub fn reconsider(&mut self, evidence: &Evidence) -> Judgement {
        let judgement = self.weigh(evidence);
        if self.told.is_some_and(|told| told.at_ns == evidence.at_ns) {
            self.told = None;
        }
        // Another signal may have been told while the system was asked about this one.
        if self.told.is_none_or(|told| told.at_ns < evidence.at_ns) {
            self.remember(evidence, judgement.verdict);
        }
        judgement
    }

    fn weigh(&self, evidence: &Evidence) -> Judgement {
        match self.policy {
            Policy::Matrix => matrix::weigh(evidence, self.own),
            Policy::Anrscope => anrscope::weigh(evidence, self.own),
        }
    }

    fn is_duplicate(&self, evidence: &Evidence, judgement: &Judgement, told: Told) -> bool {
        match self.policy {
            // Within 20 s of a report it does not even look at the next signal 35, unless it is its own.
            Policy::Matrix => {
                evidence.trigger == Trigger::NativeDump && judgement.verdict != Verdict::DumpRequested
            }
            Policy::Anrscope => {
                let rank = judgement.verdict.rank();
                let main_is_late = judgement
                    .reasons
                    .iter()
                    .any(|reason| matches!(reason, Reason::MainStuck { .. } | Reason::MainLate { .. }));
                rank > 0 && rank <= told.verdict.rank() && (evidence.message == told.message || !main_is_late)
            }
        }
    }

    fn remember(&mut self, evidence: &Evidence, verdict: Verdict) {
        if verdict.rank() > 0 {
            self.told = Some(Told { at_ns: evidence.at_ns, message: evidence.message, verdict });
        }
    }
}
