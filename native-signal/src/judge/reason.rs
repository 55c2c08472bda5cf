//! The reasons of a judgement, by a code for programs and in words for people.

use super::error_state::ErrorVote;
use trace_format::verdict::{Reason, Sender};

/// A reason as a recording has it.
pub(super) fn reason(code: &str, text: impl Into<String>) -> Reason {
    Reason { code: code.to_owned(), text: text.into() }
}

/// Names the sender. `pid` and `uid` are the signal's, as they came.
pub(super) fn sent_by(sender: Sender, pid: i32, uid: u32) -> Reason {
    let text = match sender {
        Sender::Ourselves => "sent from this process".to_owned(),
        Sender::System => "sent by the system (uid 1000)".to_owned(),
        Sender::Root => "sent by root".to_owned(),
        Sender::Shell => "sent from a shell (uid 2000)".to_owned(),
        Sender::OwnApp => format!("sent by process {pid} of the same uid"),
        Sender::OtherApp => format!("sent by another app (uid {uid})"),
        Sender::Unknown => format!("sent by an unknown process (pid {pid}, uid {uid})"),
    };
    reason("sent-by", text)
}

/// This process requested the dump.
pub(super) fn asked_by_us() -> Reason {
    reason("asked-by-us", "asked for by us")
}

/// The vote of the system's list of processes in error. Some vendors' systems never list a process.
pub(super) fn error_state(vote: ErrorVote) -> Reason {
    match vote {
        ErrorVote::Ours { poll } => {
            reason("error-state-ours", format!("the system lists us as not responding (poll {poll})"))
        }
        ErrorVote::OtherProcess { pid, uid } => reason(
            "error-state-somebody-elses",
            format!("the system lists process {pid} (uid {uid}) as not responding, not us"),
        ),
        ErrorVote::Nothing => reason("error-state-empty", "the system lists no process as not responding"),
        ErrorVote::NotAsked => {
            reason("error-state-not-asked", "the system was not asked who is not responding")
        }
    }
}
