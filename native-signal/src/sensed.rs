//! The report about one SIGQUIT, for the observer.

/// One SIGQUIT, as the handler (or the rescue) received it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sensed {
    /// CLOCK_BOOTTIME at entry of the handler; for a rescued one, when it was first seen pending.
    pub time_ns: u64,
    /// How it was sent: `SI_USER` (`kill`), `SI_QUEUE` (`sigqueue`, AOSP's system_server from Android 8 on),
    /// `SI_TKILL` (`tgkill`). No proof of the sender: some vendors' systems send by `kill`.
    pub si_code: i32,
    /// The sender's pid; 0 if it is outside our pid namespace or the signal carries none.
    pub si_pid: i32,
    /// The sender's uid: 1000 is the system, 0 and 2000 a shell or a bug report.
    pub si_uid: u32,
    /// Where it was forwarded.
    pub forwarded: Forwarded,
}

/// The receiver of a SIGQUIT that we took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forwarded {
    /// The Signal Catcher, by `tgkill` in the handler.
    ToCatcher {
        /// Its thread id.
        tid: i32,
    },
    /// The handler that was installed before ours: it was called and has returned.
    ToPreviousHandler,
    /// The Signal Catcher, but only from our thread: the tid known to the handler was gone, and a new search found it.
    LateToCatcher {
        /// The thread id found then.
        tid: i32,
    },
    /// It never reached our handler: it stayed pending for a leader that did not run, was taken from there and sent to this
    /// thread, which is the Signal Catcher or one that runs the previous handler.
    Rescued {
        /// The thread that it was sent to.
        tid: i32,
    },
    /// No receiver was found; it is lost.
    Failed {
        /// Why `tgkill` refused: `ESRCH` for a thread that is gone, `ELOOP` if the supposed catcher ran our handler.
        errno: i32,
    },
}

impl Forwarded {
    /// As two plain numbers, for a slot that a signal handler can fill.
    pub(crate) fn to_words(self) -> (u32, i32) {
        match self {
            Forwarded::ToCatcher { tid } => (0, tid),
            Forwarded::ToPreviousHandler => (1, 0),
            Forwarded::LateToCatcher { tid } => (2, tid),
            Forwarded::Rescued { tid } => (3, tid),
            Forwarded::Failed { errno } => (4, errno),
        }
    }

    /// The inverse of [`Forwarded::to_words`].
    pub(crate) fn from_words(kind: u32, detail: i32) -> Self {
        match kind {
            0 => Forwarded::ToCatcher { tid: detail },
            1 => Forwarded::ToPreviousHandler,
            2 => Forwarded::LateToCatcher { tid: detail },
            3 => Forwarded::Rescued { tid: detail },
            _ => Forwarded::Failed { errno: detail },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_round_trip() {
        for forwarded in [
            Forwarded::ToCatcher { tid: 7 },
            Forwarded::ToPreviousHandler,
            Forwarded::LateToCatcher { tid: 8 },
            Forwarded::Rescued { tid: 9 },
            Forwarded::Failed { errno: libc::ESRCH },
        ] {
            let (kind, detail) = forwarded.to_words();
            assert_eq!(Forwarded::from_words(kind, detail), forwarded);
        }
    }
}
