//! What to do about a cause in a program on a JVM. It has no main thread that must respond to a user and no message queue, and its system is no device.

use super::id::CauseId;

impl CauseId {
    /// The advice for a program on a JVM, one sentence.
    #[must_use]
    pub fn next_on_jvm(self) -> &'static str {
        use CauseId as C;
        match self {
            C::BusyMethod => "Make this method do less, or share its work among threads.",
            C::YieldSpin => "Do not spin: wait for the other thread by a lock, a latch or a future.",
            C::ClassLoading => {
                "Load fewer classes, or load them before they are needed: class data sharing saves reading and verification."
            }
            C::LockWait => "Do not hold this lock across slow work, or guard less with it.",
            C::Sqlite | C::DiskIo => "Read and write less, in larger pieces, or on another thread.",
            C::Fsync => {
                "Sync less often, or let several changes share a sync: the disk decides how long it takes."
            }
            C::NetworkIo => {
                "See what the other side did meanwhile, and set a timeout: main waits for its answer."
            }
            C::RunBlocking => "Look at what the coroutine waits for: main waits until it ends.",
            C::FutureWait => "Look at the thread that has to give the result, and wait with a timeout.",
            C::ThreadJoin => "Look at what the other thread does: main waits until it ends.",
            C::ObjectWait => "Look at the thread that has to notify main, and wait with a timeout.",
            C::Sleep => "Do not sleep for a fixed time: wait for the event itself.",
            C::CpuOwnThreads => "Use fewer threads: they keep main from the CPUs.",
            C::CpuOtherProcesses => "Nothing to change in main: the machine was busy with other processes.",
            C::IoOwnThreads => "Spread this I/O over time: main waits behind it.",
            C::IoOtherProcesses => {
                "Read and write less on main: other processes used the storage, and main waited behind them."
            }
            C::ClockStep => "Measure time with System.nanoTime: the wall clock may be set.",
            C::NativeCode => "Look at what this native function does, and whether main must wait for it.",
            C::Idle => "Look at what the other threads did: main had nothing to do.",
            _ => self.next(),
        }
    }
}
