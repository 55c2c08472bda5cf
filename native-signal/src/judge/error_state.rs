//! Polls `ActivityManager.getProcessesInErrorState` until it lists this process or the time is up.

use super::sender::Identity;
use std::time::Duration;
use trace_format::verdict::Policy;

/// One entry of the system's list of processes in error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessInError {
    /// Its pid.
    pub pid: i32,
    /// Its uid.
    pub uid: u32,
    /// Whether its condition is `NOT_RESPONDING` (2); the others are crashes.
    pub not_responding: bool,
}

/// The source of the system's list of processes in error. On Android that is
/// `ActivityManager.getProcessesInErrorState()`, a binder call: never call it on the main thread, which is the one that hangs.
///
/// Returns the current list, in the system's order. It is empty for "none" and for "null" alike: at least OPPO's system returns
/// null for true ANRs, and a background ANR without a dialog never gets into the list.
pub type ErrorState = dyn FnMut() -> Vec<ProcessInError> + Send;

/// The answer of the error state. A vote and never a gate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ErrorVote {
    /// The system was not polled, or not yet.
    #[default]
    NotAsked,
    /// Polled to the end, and no process was listed as not responding.
    Nothing,
    /// This process is listed as not responding.
    Ours {
        /// The poll that listed it, counted from 1.
        poll: u32,
    },
    /// Polled to the end: another process was listed as not responding, and never this one.
    OtherProcess {
        /// Its pid.
        pid: i32,
        /// Its uid.
        uid: u32,
    },
}

/// The polls for one signal.
#[derive(Debug)]
pub struct ErrorPolls {
    policy: Policy,
    own: Identity,
    asked: u32,
    other: Option<ProcessInError>,
}

impl ErrorPolls {
    /// How often the list is polled, at most. Matrix's number, used by both policies: with
    /// [`ErrorPolls::INTERVAL`] the 20 s that the system waits for dumps.
    pub const POLLS: u32 = 40;
    /// The pause between two polls.
    pub const INTERVAL: Duration = Duration::from_millis(500);

    /// A series of polls that has not begun.
    pub fn new(policy: Policy, own: Identity) -> Self {
        ErrorPolls { policy, own, asked: 0, other: None }
    }

    /// Takes the answer to one poll. `Some` ends the polls.
    ///
    /// Matrix reads an answer up to the first process of another uid that does not respond, and ignores other
    /// processes of our uid. anrscope's policy reads every answer to its end (the system's order means nothing) and counts any
    /// other process.
    pub fn answer(&mut self, list: &[ProcessInError]) -> Option<ErrorVote> {
        self.asked += 1;
        for process in list.iter().filter(|process| process.not_responding) {
            if process.uid == self.own.uid && process.pid == self.own.pid {
                return Some(ErrorVote::Ours { poll: self.asked });
            }
            match self.policy {
                Policy::Matrix if process.uid == self.own.uid => {}
                Policy::Matrix => {
                    self.other = Some(*process);
                    break;
                }
                Policy::Anrscope => self.other = Some(*process),
            }
        }
        (self.asked >= Self::POLLS).then_some(match self.other {
            Some(ProcessInError { pid, uid, .. }) => ErrorVote::OtherProcess { pid, uid },
            None => ErrorVote::Nothing,
        })
    }

    /// Polls until the vote is known: up to 20 s with a `pause` that sleeps for the given time. If `pause`
    /// returns `false` (the process is about to end, the app is shutting down) the result is [`ErrorVote::NotAsked`].
    ///
    /// Write everything worth keeping to disk before you call this: a background ANR is killed meanwhile.
    pub fn run(
        mut self,
        mut state: impl FnMut() -> Vec<ProcessInError>,
        mut pause: impl FnMut(Duration) -> bool,
    ) -> ErrorVote {
        loop {
            if let Some(vote) = self.answer(&state()) {
                return vote;
            }
            if !pause(Self::INTERVAL) {
                return ErrorVote::NotAsked;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: Identity = Identity { pid: 9, uid: 10_001 };

    #[test]
    fn forty_polls_with_a_pause_between_each() {
        let mut polls = 0;
        let mut waited = Duration::ZERO;
        let vote = ErrorPolls::new(Policy::Anrscope, OWN).run(
            &mut || {
                polls += 1;
                Vec::new()
            },
            |pause| {
                waited += pause;
                true
            },
        );
        assert_eq!((vote, polls, waited), (ErrorVote::Nothing, 40, Duration::from_millis(39 * 500)));
    }

    #[test]
    fn a_pause_can_end_the_polls() {
        let vote = ErrorPolls::new(Policy::Matrix, OWN).run(&mut Vec::new, |_| false);
        assert_eq!(vote, ErrorVote::NotAsked);
    }
}
