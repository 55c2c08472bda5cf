//! `ActivityManager.getProcessesInErrorState`, asked until it answers for us or we give up.

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

/// Who asks the system for its list of processes in error. On Android that is
/// `ActivityManager.getProcessesInErrorState()`, a binder call: never on the main thread, which is the one that hangs.
pub trait ErrorState {
    /// The list now, in the system's order. Empty for "none" and for "null" alike: at least OPPO's system answers null
    /// for true ANRs, and a background ANR without a dialog never gets into the list.
    fn processes_in_error(&mut self) -> Vec<ProcessInError>;
}

impl<F: FnMut() -> Vec<ProcessInError>> ErrorState for F {
    fn processes_in_error(&mut self) -> Vec<ProcessInError> {
        self()
    }
}

/// What the error state said. A vote and never a gate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ErrorVote {
    /// Nobody was asked, or not yet.
    #[default]
    NotAsked,
    /// Asked to the end, and nobody was not responding.
    Nothing,
    /// We are not responding.
    Ours {
        /// In which poll that was said, counted from 1.
        poll: u32,
    },
    /// Asked to the end: another process was not responding, and never we.
    SomebodyElses {
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
    /// How often the list is asked for, at most. Matrix's number, used by both policies: with
    /// [`ErrorPolls::INTERVAL`] the 20 s that the system waits for dumps.
    pub const POLLS: u32 = 40;
    /// The pause between two polls.
    pub const INTERVAL: Duration = Duration::from_millis(500);

    /// Polls that have not begun.
    pub fn new(policy: Policy, own: Identity) -> Self {
        ErrorPolls { policy, own, asked: 0, other: None }
    }

    /// Takes the answer to one poll. `Some` ends the polls.
    ///
    /// Matrix reads an answer up to the first process of another uid that does not respond, and passes over other
    /// processes of our uid. Ours reads every answer to its end (the system's order says nothing) and counts any other
    /// process.
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
            Some(ProcessInError { pid, uid, .. }) => ErrorVote::SomebodyElses { pid, uid },
            None => ErrorVote::Nothing,
        })
    }

    /// Asks until the vote is known: up to 20 s with a `pause` that sleeps for what it is given. A `pause` that
    /// answers `false` (the process is about to end, the app is shutting down) breaks off: [`ErrorVote::NotAsked`].
    ///
    /// Whatever is worth keeping must be on disk before this is called: a background ANR is killed meanwhile.
    pub fn run(mut self, state: &mut dyn ErrorState, mut pause: impl FnMut(Duration) -> bool) -> ErrorVote {
        loop {
            if let Some(vote) = self.answer(&state.processes_in_error()) {
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
    fn a_pause_can_break_it_off() {
        let vote = ErrorPolls::new(Policy::Matrix, OWN).run(&mut Vec::new, |_| false);
        assert_eq!(vote, ErrorVote::NotAsked);
    }
}
