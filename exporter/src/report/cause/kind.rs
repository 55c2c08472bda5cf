//! What can keep main, and what people call it.

/// What kept main.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum CauseKind {
    /// It computed.
    BusyMethod,
    /// Many short messages, one behind the other.
    MessageStorm,
    /// It waited for a lock that another thread held.
    LockWait,
    /// It waited for another process.
    BinderWait,
    /// It waited for a disk or the network.
    IoWait,
    /// It waited for another thread, or slept.
    ThreadWait,
    /// It waited for the collector, or memory was short.
    GcOrMemory,
    /// It could run and got no processor.
    CpuStarvation,
    /// The process or the device stood still.
    FrozenProcess,
    /// It was in native code.
    NativeStretch,
    /// The system asked because of another process.
    SomebodyElses,
    /// Nothing that is known says why.
    Unknown,
}

impl CauseKind {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::BusyMethod,
        Self::MessageStorm,
        Self::LockWait,
        Self::BinderWait,
        Self::IoWait,
        Self::ThreadWait,
        Self::GcOrMemory,
        Self::CpuStarvation,
        Self::FrozenProcess,
        Self::NativeStretch,
        Self::SomebodyElses,
        Self::Unknown,
    ];

    /// Its word, the same in all versions.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::BusyMethod => "busy-method",
            Self::MessageStorm => "message-storm",
            Self::LockWait => "lock-wait",
            Self::BinderWait => "binder-wait",
            Self::IoWait => "io-wait",
            Self::ThreadWait => "thread-wait",
            Self::GcOrMemory => "gc-or-memory",
            Self::CpuStarvation => "cpu-starvation",
            Self::FrozenProcess => "frozen-process",
            Self::NativeStretch => "native-stretch",
            Self::SomebodyElses => "somebody-elses",
            Self::Unknown => "unknown",
        }
    }

    /// Whether main waited for somebody or something.
    #[must_use]
    pub fn is_wait(self) -> bool {
        matches!(self, Self::LockWait | Self::BinderWait | Self::IoWait | Self::ThreadWait)
    }

    /// What people call it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::BusyMethod => "busy method",
            Self::MessageStorm => "message storm",
            Self::LockWait => "lock wait",
            Self::BinderWait => "binder wait",
            Self::IoWait => "I/O wait",
            Self::ThreadWait => "wait for another thread",
            Self::GcOrMemory => "GC or memory",
            Self::CpuStarvation => "CPU starvation",
            Self::FrozenProcess => "frozen process",
            Self::NativeStretch => "native stretch",
            Self::SomebodyElses => "somebody else's ANR",
            Self::Unknown => "unknown",
        }
    }

    /// What to look at next.
    #[must_use]
    pub fn next(self) -> &'static str {
        match self {
            Self::BusyMethod => "take that method off the main thread, or make it do less at a time",
            Self::MessageStorm => "find who posts that message so often: merge them, or drop what is stale",
            Self::LockWait => "what the holder does while it holds the lock; main should not wait for it",
            Self::BinderWait => "make the call from another thread: the other process answers when it likes",
            Self::IoWait => "do the reading or writing on another thread",
            Self::ThreadWait => "do not wait on the main thread: let the result be posted to it",
            Self::GcOrMemory => "what fills the heap: a heap dump, and what was allocated in these seconds",
            Self::CpuStarvation => {
                "who took the processors: the other threads of the trace, and a system trace"
            }
            Self::FrozenProcess => {
                "nothing in main: the process did not run; see what the system did with it"
            }
            Self::NativeStretch => "the native stack at that moment, and whether that call belongs on main",
            Self::SomebodyElses => "nothing here: it was another process that did not respond",
            Self::Unknown => "record more: instrumented waits, stack samples, the system's dump",
        }
    }
}
