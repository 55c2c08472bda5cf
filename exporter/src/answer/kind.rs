//! The twelve groups of causes, part of the report's JSON since its first version.

/// The group of a cause.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[non_exhaustive]
pub enum CauseKind {
    /// Main computed.
    BusyMethod,
    /// Many short messages in a row.
    MessageStorm,
    /// Main waited for a lock that another thread owned.
    LockWait,
    /// Main waited for another process.
    BinderWait,
    /// Main waited for a disk or the network.
    IoWait,
    /// Main waited for another thread, or slept.
    ThreadWait,
    /// Main waited for the garbage collector, or memory was low.
    GcOrMemory,
    /// Main was runnable and did not get a CPU.
    CpuStarvation,
    /// The process was frozen or the device suspended.
    FrozenProcess,
    /// Main was in native code.
    NativeStretch,
    /// The system requested the dump because of another process.
    OtherProcess,
    /// No finding explains the hang.
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
        Self::OtherProcess,
        Self::Unknown,
    ];

    /// The stable identifier, the same in all versions.
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
            Self::OtherProcess => "somebody-elses",
            Self::Unknown => "unknown",
        }
    }

    /// Whether main waited for something.
    #[must_use]
    pub fn is_wait(self) -> bool {
        matches!(self, Self::LockWait | Self::BinderWait | Self::IoWait | Self::ThreadWait)
    }

    /// The name for people.
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
            Self::OtherProcess => "another process's ANR",
            Self::Unknown => "unknown",
        }
    }
}
