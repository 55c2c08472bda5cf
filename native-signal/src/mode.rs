//! The modes of the sensor, and the reasons for them.

/// How SIGQUIT is sensed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Our handler runs on the leader and forwards to ART's Signal Catcher.
    BesideCatcher {
        /// The catcher's thread id as last known; 0 if it is gone.
        tid: i32,
    },
    /// Our handler calls the one that was there before.
    BeforePreviousHandler,
    /// Nothing is sensed.
    Passive {
        /// Why.
        reason: PassiveReason,
    },
}

/// Why nothing is sensed. In each case signals are delivered as they would be without the sensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PassiveReason {
    /// No thread "Signal Catcher", and SIGQUIT has the default action (it would kill the process, and must), or had it
    /// before our first [`crate::install`].
    DefaultAction,
    /// No thread "Signal Catcher", and SIGQUIT is ignored.
    Ignored,
    /// The leader blocks SIGQUIT and [`crate::install`] ran on another thread. The handler is installed and idle; call
    /// [`crate::open_in_this_thread`] on the leader.
    LeaderClosed,
    /// There is a previous handler, but the leader blocks SIGQUIT, so that the Signal Catcher gets it. Unblocking it
    /// would deliver it to that handler instead, which may not forward it.
    PreviousHandlerNotReached,
    /// The previous handler is reset after one signal (SA_RESETHAND), which leaves the default action.
    PreviousHandlerOneShot,
    /// The kernel refuses `tgkill` to a thread of this process (seccomp): signals could not be forwarded.
    CannotForward,
    /// Other code set SIGQUIT to the default action or to ignore after [`crate::install`]. The leader blocks it again, and the Signal
    /// Catcher gets it.
    HandlerRemoved,
    /// The observer panicked: signals are only forwarded.
    Disarmed,
}

impl std::fmt::Display for PassiveReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::DefaultAction => "there is no Signal Catcher, and SIGQUIT would end the process",
            Self::Ignored => "there is no Signal Catcher, and SIGQUIT is ignored",
            Self::LeaderClosed => {
                "the main thread blocks SIGQUIT, and the sensor was installed on another thread"
            }
            Self::PreviousHandlerNotReached => {
                "there is a previous handler, but main blocks SIGQUIT, so the Signal Catcher gets it"
            }
            Self::PreviousHandlerOneShot => "the previous handler is reset after one signal (SA_RESETHAND)",
            Self::CannotForward => "this process may not send signals to its own threads (tgkill is refused)",
            Self::HandlerRemoved => "other code in the app removed our handler, so main blocks it again",
            Self::Disarmed => "the observer of SIGQUIT panicked",
        })
    }
}

/// The result of [`crate::Sensor::uninstall`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Uninstalled {
    /// The previous action is in force again.
    Restored,
    /// The handler stays and only forwards: a later handler may chain to it, or the previous action is the default,
    /// which must not be in force while SIGQUIT may be unblocked in some thread.
    PassThrough {
        /// SIGQUIT is still unblocked in the leader because of us; [`crate::close_in_this_thread`], called there, blocks it.
        leader_open: bool,
    },
    /// Nothing was installed.
    NothingInstalled,
}
