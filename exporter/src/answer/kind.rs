//! The twelve kinds of causes, which the report's JSON has had from the start.

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
}
