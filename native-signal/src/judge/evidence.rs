//! The evidence about one signal when it is judged.

use super::error_state::ErrorVote;
use crate::sensed::Sensed;

/// The signal that is judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Trigger {
    /// SIGQUIT: a request for a dump of the Java threads.
    #[default]
    Quit,
    /// Signal 35, bionic's `BIONIC_SIGNAL_DEBUGGER`: a request for a dump of the native threads. The system sends it
    /// when the dump requested by SIGQUIT failed or took too long.
    NativeDump,
}

/// The head of main's message queue, where it can be read at all: from Android 17 on `MessageQueue.mMessages` is
/// always null for apps that target it, which reads as [`Head::Empty`] and proves nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Head {
    /// Not read.
    #[default]
    Unknown,
    /// There was no message.
    Empty,
    /// Its `when` is 0, which is no time: it was posted at the front of the queue.
    AtFront,
    /// Its `when` minus now, in milliseconds of uptime: negative if it is late.
    When(i64),
}

/// What is known about one signal. Everything about main is meant *as of the signal*: main may recover while the
/// system collects its dump, so take the values when the signal is sensed and not when it is judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    /// CLOCK_BOOTTIME when the signal was sensed.
    pub at_ns: u64,
    /// Which signal it was.
    pub trigger: Trigger,
    /// As [`Sensed::si_code`]. It is recorded and decides nothing.
    pub si_code: i32,
    /// As [`Sensed::si_pid`].
    pub si_pid: i32,
    /// As [`Sensed::si_uid`].
    pub si_uid: u32,
    /// Whether we asked for this dump ourselves (print on demand).
    pub asked_by_us: bool,
    /// Whether a tool has asked a JVM to let it attach, which it does by SIGQUIT.
    pub tool_attaches: bool,
    /// Whether the app was in the foreground; `None` if that is not known.
    pub foreground: Option<bool>,
    /// Which message main was in, by any number that does not repeat within minutes (its start time, its sequence
    /// number). `None`: in no message, or not known.
    pub message: Option<u64>,
    /// How long main had been in that message, by our own record. `None`: not known. `Some(0)`: main waits for
    /// messages.
    pub running_ms: Option<u64>,
    /// How long, of the time until the signal, the process was frozen and nothing in it ran (`trace_rules::looper::Watch::frozen_ns`), in
    /// milliseconds. It does not count towards main's lateness.
    pub frozen_ms: u64,
    /// The head of main's queue, if it could be read.
    pub head: Head,
    /// The vote of the system's list of processes in error.
    pub errors: ErrorVote,
    /// Whether signal 35 came with it, before or after.
    pub signal_35: bool,
}

impl From<&Sensed> for Evidence {
    /// The evidence of the signal alone; the caller adds the rest.
    ///
    /// ```
    /// use native_signal::{Evidence, Forwarded, Sensed};
    ///
    /// let forwarded = Forwarded::ToCatcher { tid: 7 };
    /// let sensed = Sensed { time_ns: 9, si_code: 0, si_pid: 1234, si_uid: 1000, forwarded };
    /// let evidence = Evidence { foreground: Some(true), ..Evidence::from(&sensed) };
    /// assert_eq!((evidence.at_ns, evidence.si_uid, evidence.running_ms), (9, 1000, None));
    /// ```
    fn from(sensed: &Sensed) -> Self {
        Evidence {
            at_ns: sensed.time_ns,
            si_code: sensed.si_code,
            si_pid: sensed.si_pid,
            si_uid: sensed.si_uid,
            ..Evidence::default()
        }
    }
}
