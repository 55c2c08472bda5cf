//! Waits: their kinds, and the words for each kind.

use super::{CallId, TextId};

numbered! {
    /// Why a thread waits.
    WaitKind {
        /// Entering a monitor that another thread holds.
        Monitor = 1 "monitor",
        /// `Object.wait`.
        ObjectWait = 2 "object-wait",
        /// `LockSupport.park` and what is built on it.
        Park = 3 "park",
        /// `Thread.sleep`.
        Sleep = 4 "sleep",
        /// `Thread.join`.
        Join = 5 "join",
        /// A blocking call: binder, file, socket.
        Blocking = 6 "blocking",
    }
}

/// How a kind of wait reads in names and sentences. All pages and traces take their words from here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct WaitPhrases {
    /// The wait as a noun, the name of its slice in a trace.
    pub name: &'static str,
    /// The thread's state, as beside a stack.
    pub state: &'static str,
    /// Behind "waited": `for the lock of`.
    pub waited: &'static str,
    /// What the thread does, in front of [`Wait::class`]: `is parked on`.
    pub does: &'static str,
    /// What the thread did, in front of [`Wait::class`].
    pub did: &'static str,
    /// True if these phrases need [`Wait::class`] behind them.
    pub has_object: bool,
}

impl WaitKind {
    /// The words for this kind.
    ///
    /// ```
    /// use trace_format::event::WaitKind;
    ///
    /// assert_eq!(WaitKind::Park.phrases().does, "is parked on");
    /// assert_eq!("object-wait".parse(), Ok(WaitKind::ObjectWait));
    /// // A kind of a later version keeps its number.
    /// assert_eq!(WaitKind::from(9).to_string(), "unknown-9");
    /// ```
    #[must_use]
    pub const fn phrases(self) -> WaitPhrases {
        let (name, state, waited, does, did) = match self {
            Self::Monitor => (
                "monitor wait",
                "waiting for monitor",
                "for the lock of",
                "waits for the lock of",
                "waited for the lock of",
            ),
            Self::ObjectWait => (
                "Object.wait",
                "Object.wait",
                "in Object.wait on",
                "is in Object.wait on",
                "was in Object.wait on",
            ),
            Self::Park => ("park", "parked", "parked on", "is parked on", "was parked on"),
            Self::Sleep => {
                ("sleep", "Thread.sleep", "in Thread.sleep", "is in Thread.sleep", "was in Thread.sleep")
            }
            Self::Join => {
                ("join", "Thread.join", "in Thread.join on", "is in Thread.join on", "was in Thread.join on")
            }
            Self::Blocking => ("blocking call", "waiting", "in", "is in", "was in"),
            Self::Unknown(_) => (
                "wait of unknown kind",
                "waiting",
                "in a wait of unknown kind on",
                "waits on",
                "was in a wait of unknown kind on",
            ),
        };
        WaitPhrases { name, state, waited, does, did, has_object: !matches!(self, Self::Sleep) }
    }

    /// Whether [`Wait::lock`] is a lock: calls and sleeps have no lock, even if they were called on an object.
    #[must_use]
    pub const fn has_lock(self) -> bool {
        !matches!(self, Self::Blocking | Self::Sleep)
    }
}

/// The start of a wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wait {
    /// What is waited for.
    pub kind: WaitKind,
    /// Thread uid of the lock's owner; 0 if unknown.
    pub owner: u32,
    /// Identity of the lock, unique enough in one process; 0 if none.
    pub lock: u64,
    /// Class of the object that is waited for, or that is called.
    pub class: TextId,
    /// The call that waits.
    pub call: CallId,
}

impl Wait {
    /// A wait of this kind, about which nothing else is known.
    #[must_use]
    pub const fn new(kind: WaitKind) -> Self {
        Self { kind, owner: 0, lock: 0, class: TextId(0), call: CallId(0) }
    }
}
