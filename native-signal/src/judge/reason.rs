//! The reasons of a judgement.

use super::error_state::ErrorVote;
use super::evidence::Head;
use std::fmt;
use trace_format::verdict::{self, Outcome, Sender};

/// The source of a lateness of main.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LateBy {
    /// The age of the message that main is in, from our own record.
    Message,
    /// How late the head of main's queue is.
    QueueHead,
}

/// Main's lateness, judged by the limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lateness {
    /// Main has reached the limit of an ANR.
    Stuck,
    /// Main is late, but below the limit.
    Late,
    /// Main is not late.
    InTime,
}

/// One reason of a judgement. They are listed in the order in which they were weighed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The sender.
    SentBy {
        /// Who that is.
        sender: Sender,
        /// `si_pid` as it came.
        pid: i32,
        /// `si_uid` as it came.
        uid: u32,
    },
    /// This process requested the dump.
    AskedByUs,
    /// A tool attached to the JVM.
    ToolAttaches,
    /// Main's lateness.
    Main {
        /// The lateness, judged by the limits.
        lateness: Lateness,
        /// The age of its message or the lateness of its queue, ms.
        late_ms: u64,
        /// The limit from which on it is stuck, or for one in time the limit from which on it would be late, ms.
        limit_ms: u64,
        /// The source of the lateness.
        by: LateBy,
    },
    /// The process was frozen; that time does not count towards main's lateness.
    Frozen {
        /// How long, ms.
        ms: u64,
    },
    /// Nothing is known about main.
    MainUnknown,
    /// The vote of the system's list of processes in error. Some vendors' systems never list a process.
    ErrorState(ErrorVote),
    /// Signal 35 came as well.
    Signal35,
    /// Matrix's rule for the head of the queue says that main is blocked.
    HeadBlocked {
        /// How late the head is, ms.
        late_ms: u64,
        /// The limit that it exceeds, ms.
        limit_ms: u64,
    },
    /// Matrix's rule for the head of the queue does not apply.
    HeadNotBlocked(Head),
    /// The same ANR was reported before.
    SameAs {
        /// Its outcome then.
        outcome: Outcome,
        /// How long before, ms.
        before_ms: u64,
    },
}

impl Reason {
    /// The reason in a word for programs, as a recording has it.
    pub const fn code(&self) -> &'static str {
        match self {
            Reason::SentBy { .. } => "sent-by",
            Reason::AskedByUs => "asked-by-us",
            Reason::ToolAttaches => "tool-attaches",
            Reason::Main { lateness: Lateness::Stuck, .. } => "main-stuck",
            Reason::Main { lateness: Lateness::Late, .. } => "main-late",
            Reason::Main { lateness: Lateness::InTime, .. } => "main-in-time",
            Reason::Frozen { .. } => "frozen",
            Reason::MainUnknown => "main-unknown",
            Reason::ErrorState(ErrorVote::Ours { .. }) => "error-state-ours",
            Reason::ErrorState(ErrorVote::OtherProcess { .. }) => "error-state-somebody-elses",
            Reason::ErrorState(ErrorVote::Nothing) => "error-state-empty",
            Reason::ErrorState(ErrorVote::NotAsked) => "error-state-not-asked",
            Reason::Signal35 => "signal-35",
            Reason::HeadBlocked { .. } => "head-blocked",
            Reason::HeadNotBlocked(_) => "head-not-blocked",
            Reason::SameAs { .. } => "same-as",
        }
    }
}

impl From<&Reason> for verdict::Reason {
    fn from(reason: &Reason) -> Self {
        verdict::Reason { code: reason.code().to_owned(), text: reason.to_string() }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Reason::SentBy { sender, pid, uid } => match sender {
                Sender::Ourselves => f.write_str("sent from this process"),
                Sender::System => f.write_str("sent by the system (uid 1000)"),
                Sender::Root => f.write_str("sent by root"),
                Sender::Shell => f.write_str("sent from a shell (uid 2000)"),
                Sender::OwnApp => write!(f, "sent by process {pid} of the same uid"),
                Sender::OtherApp => write!(f, "sent by another app (uid {uid})"),
                Sender::Unknown => write!(f, "sent by an unknown process (pid {pid}, uid {uid})"),
            },
            Reason::AskedByUs => f.write_str("asked for by us"),
            Reason::ToolAttaches => f.write_str("a tool attached to the JVM"),
            Reason::Main { lateness, late_ms, limit_ms, by } => {
                match by {
                    LateBy::Message => write!(f, "main has been in one message for {late_ms} ms")?,
                    LateBy::QueueHead => write!(f, "the head of main's queue is {late_ms} ms late")?,
                }
                match lateness {
                    Lateness::Stuck => write!(f, ": stuck ({limit_ms} ms or more)"),
                    Lateness::Late => write!(f, ": late, but not yet stuck ({limit_ms} ms)"),
                    Lateness::InTime => write!(f, ": not late ({limit_ms} ms)"),
                }
            }
            Reason::Frozen { ms } => write!(f, "the process was frozen for {ms} ms more"),
            Reason::MainUnknown => f.write_str("nothing is known about main"),
            Reason::ErrorState(vote) => match vote {
                ErrorVote::Ours { poll } => {
                    write!(f, "the system lists us as not responding (poll {poll})")
                }
                ErrorVote::OtherProcess { pid, uid } => {
                    write!(f, "the system lists process {pid} (uid {uid}) as not responding, not us")
                }
                ErrorVote::Nothing => f.write_str("the system lists no process as not responding"),
                ErrorVote::NotAsked => f.write_str("the system was not asked who is not responding"),
            },
            Reason::Signal35 => f.write_str("a native dump was asked for as well (signal 35)"),
            Reason::HeadBlocked { late_ms, limit_ms } => {
                write!(f, "the head of main's queue is {late_ms} ms late (more than {limit_ms} ms)")
            }
            Reason::HeadNotBlocked(head) => match head {
                Head::Unknown => f.write_str("the head of main's queue could not be read"),
                Head::Empty => f.write_str("main's queue showed no message"),
                Head::AtFront => f.write_str("the head of main's queue was posted at the front"),
                Head::When(when) => write!(f, "the head of main's queue is due in {when} ms"),
            },
            Reason::SameAs { outcome, before_ms } => {
                write!(f, "reported {before_ms} ms before as: {}", outcome.name())
            }
        }
    }
}
