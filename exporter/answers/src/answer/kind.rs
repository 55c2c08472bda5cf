//! The twelve groups of causes, part of the report's JSON since its first version.

use CauseKind as K;

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

/// Word and name of each kind, in the order of the enum.
const ROWS: [(CauseKind, &str, &str); 12] = [
    (K::BusyMethod, "busy-method", "busy method"),
    (K::MessageStorm, "message-storm", "message storm"),
    (K::LockWait, "lock-wait", "lock wait"),
    (K::BinderWait, "binder-wait", "binder wait"),
    (K::IoWait, "io-wait", "I/O wait"),
    (K::ThreadWait, "thread-wait", "wait for another thread"),
    (K::GcOrMemory, "gc-or-memory", "GC or memory"),
    (K::CpuStarvation, "cpu-starvation", "CPU starvation"),
    (K::FrozenProcess, "frozen-process", "frozen process"),
    (K::NativeStretch, "native-stretch", "native stretch"),
    (K::OtherProcess, "somebody-elses", "another process's ANR"),
    (K::Unknown, "unknown", "unknown"),
];

impl CauseKind {
    /// All of them.
    pub const ALL: [Self; ROWS.len()] = {
        let mut all = [Self::Unknown; ROWS.len()];
        let mut at = 0;
        while at < ROWS.len() {
            all[at] = ROWS[at].0;
            at += 1;
        }
        all
    };

    /// The stable identifier, the same in all versions.
    #[must_use]
    pub fn word(self) -> &'static str {
        ROWS[self as usize].1
    }

    /// Whether main waited for something.
    #[must_use]
    pub fn is_wait(self) -> bool {
        matches!(self, Self::LockWait | Self::BinderWait | Self::IoWait | Self::ThreadWait)
    }

    /// The name for people.
    #[must_use]
    pub fn name(self) -> &'static str {
        ROWS[self as usize].2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_its_own_row() {
        for (at, kind) in CauseKind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, at, "{kind:?}");
        }
    }
}
