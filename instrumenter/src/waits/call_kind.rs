//! What a blocking call does to the calling thread, as a number in the call of `MethodBeat`.

use trace_format::event::WaitKind;

/// What a blocking call does to the calling thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallKind {
    /// It waits.
    Wait(WaitKind),
    /// It takes a lock of `java.util.concurrent`, for which it may wait.
    Lock,
    /// It gives a lock up, waits at a condition of it, and takes the lock again.
    Condition,
    /// It takes one permit of a semaphore, for which it may wait.
    Permit,
}

impl CallKind {
    /// The wait as a noun.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Wait(kind) => kind.phrases().name,
            Self::Lock => "lock",
            Self::Condition => "condition wait",
            Self::Permit => "permit",
        }
    }

    /// The first argument of `wb` and `we`.
    #[must_use]
    pub fn number(self) -> u8 {
        match self {
            Self::Wait(kind) => kind.number() as u8,
            Self::Lock => 7,
            Self::Condition => 8,
            Self::Permit => 10,
        }
    }

    /// The first argument of `we` where the call throws: a lock was not taken.
    pub(crate) fn number_thrown(self) -> u8 {
        match self {
            Self::Lock => 9,
            other => other.number(),
        }
    }

    /// True for a call that takes what the app has to give back by another call.
    pub(crate) fn acquires(self) -> bool {
        matches!(self, Self::Lock | Self::Permit)
    }

    /// Whether the calling thread has the object's lock afterwards, so that the end of the wait needs the object.
    pub(crate) fn takes_lock(self) -> bool {
        match self {
            Self::Wait(kind) => matches!(kind, WaitKind::Monitor | WaitKind::ObjectWait),
            Self::Lock | Self::Condition => true,
            Self::Permit => false,
        }
    }
}
