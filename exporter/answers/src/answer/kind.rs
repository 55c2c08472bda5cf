//! The twelve groups of causes, part of the report's JSON since its first version.

table! {
    /// The group of a cause.
    CauseKind -> (&'static str, &'static str) {
        /// Main computed.
        BusyMethod = ("busy-method", "busy method"),
        /// Many short messages in a row.
        MessageStorm = ("message-storm", "message storm"),
        /// Main waited for a lock that another thread owned.
        LockWait = ("lock-wait", "lock wait"),
        /// Main waited for another process.
        BinderWait = ("binder-wait", "binder wait"),
        /// Main waited for a disk or the network.
        IoWait = ("io-wait", "I/O wait"),
        /// Main waited for another thread, or slept.
        ThreadWait = ("thread-wait", "wait for another thread"),
        /// Main waited for the garbage collector, or memory was low.
        GcOrMemory = ("gc-or-memory", "GC or memory"),
        /// Main was runnable and did not get a CPU.
        CpuStarvation = ("cpu-starvation", "CPU starvation"),
        /// The process was frozen or the device suspended.
        FrozenProcess = ("frozen-process", "frozen process"),
        /// Main was in native code.
        NativeStretch = ("native-stretch", "native stretch"),
        /// The system requested the dump because of another process.
        OtherProcess = ("somebody-elses", "another process's ANR"),
        /// No finding explains the hang.
        Unknown = ("unknown", "unknown"),
    }
}

impl CauseKind {
    /// The stable identifier, the same in all versions.
    #[must_use]
    pub fn word(self) -> &'static str {
        self.row().0
    }

    /// Whether main waited for something.
    #[must_use]
    pub fn is_wait(self) -> bool {
        matches!(self, Self::LockWait | Self::BinderWait | Self::IoWait | Self::ThreadWait)
    }

    /// The name for people.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().1
    }
}
