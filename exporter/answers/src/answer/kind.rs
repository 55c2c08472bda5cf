//! The twelve groups of causes, part of the report's JSON since its first version.

table! {
    /// The group of a cause.
    CauseKind -> &'static str {
        /// Main computed.
        BusyMethod = "busy-method",
        /// Many short messages in a row.
        MessageStorm = "message-storm",
        /// Main waited for a lock that another thread owned.
        LockWait = "lock-wait",
        /// Main waited for another process.
        BinderWait = "binder-wait",
        /// Main waited for a disk or the network.
        IoWait = "io-wait",
        /// Main waited for another thread, or slept.
        ThreadWait = "thread-wait",
        /// Main waited for the garbage collector, or memory was low.
        GcOrMemory = "gc-or-memory",
        /// Main was runnable and did not get a CPU.
        CpuStarvation = "cpu-starvation",
        /// The process was frozen or the device suspended.
        FrozenProcess = "frozen-process",
        /// Main was in native code.
        NativeStretch = "native-stretch",
        /// The system requested the dump because of another process.
        OtherProcess = "somebody-elses",
        /// No finding explains the hang.
        Unknown = "unknown",
    }
}

impl CauseKind {
    /// The stable identifier, the same in all versions.
    #[must_use]
    pub fn word(self) -> &'static str {
        self.row()
    }

    /// Whether main waited for something.
    #[must_use]
    pub fn is_wait(self) -> bool {
        matches!(self, Self::LockWait | Self::BinderWait | Self::IoWait | Self::ThreadWait)
    }
}
