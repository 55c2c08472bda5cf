//! How the sensor stands, in the words of its API.

/// How SIGQUIT is sensed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Our handler runs on the leader and forwards to ART's Signal Catcher.
    BesideCatcher {
        /// The catcher's thread id as last known; 0 if it is gone.
        tid: i32,
    },
    /// Our handler calls the one that was there before.
    BeforeOlderHandler,
    /// Nothing is sensed.
    Passive {
        /// Why.
        reason: PassiveReason,
    },
}

/// Why nothing is sensed. In each case signals go the way that they would go without us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PassiveReason {
    /// No thread "Signal Catcher", and SIGQUIT has the default action (it would kill the process, and must), or had it
    /// before our first [`crate::install`].
    DefaultAction,
    /// No thread "Signal Catcher", and SIGQUIT is ignored.
    Ignored,
    /// The leader blocks SIGQUIT and [`crate::install`] ran on another thread. The handler is in place and idle; call
    /// [`crate::open_in_this_thread`] on the leader.
    LeaderClosed,
    /// There is an older handler, but the leader blocks SIGQUIT, so that the Signal Catcher gets it. Opening the leader
    /// would give it to that handler instead, and nobody knows whether it would hand it on.
    OlderHandlerNotReached,
    /// The older handler asked to be forgotten after one signal (SA_RESETHAND), which leaves the default action.
    OlderHandlerOneShot,
    /// The kernel refuses `tgkill` to a thread of this process (seccomp): what we took we could not forward.
    CannotForward,
    /// Other code set SIGQUIT to the default action or to ignore after [`crate::install`]. The leader blocks it again, and the Signal
    /// Catcher gets it.
    HandlerRemoved,
    /// The observer panicked: signals are only handed on.
    Disarmed,
}

impl std::fmt::Display for PassiveReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::DefaultAction => "there is no Signal Catcher, and SIGQUIT would end the process",
            Self::Ignored => "there is no Signal Catcher, and SIGQUIT is ignored",
            Self::LeaderClosed => "the main thread blocks it, and this is another one",
            Self::OlderHandlerNotReached => {
                "there is an older handler, which the Signal Catcher keeps from it"
            }
            Self::OlderHandlerOneShot => "the older handler wants one signal and no more",
            Self::CannotForward => "this process may not send signals to its own threads (tgkill is refused)",
            Self::HandlerRemoved => "other code in the app removed our handler, so main blocks it again",
            Self::Disarmed => "our own part of it failed",
        })
    }
}

/// What [`crate::Sensor::uninstall`] left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Uninstalled {
    /// The action that was there before is in force again.
    Restored,
    /// The handler stays and only hands on: a later handler may chain to it, or what was there before is the default
    /// action, which must not stand behind a mask that may still be open in some thread.
    PassThrough {
        /// SIGQUIT is still open in the leader because of us; [`crate::close_in_this_thread`], called there, closes it.
        leader_open: bool,
    },
    /// There was nothing to undo.
    NothingInstalled,
}

/// What went wrong last, if anything did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum LastError {
    /// The observer panicked, and the sensor disarmed itself.
    ObserverPanicked = 1,
    /// A signal could be handed to nobody: no Signal Catcher was found.
    CatcherGone = 2,
}
