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
                "See what the other side did meanwhile, and set a timeout: it answers when it likes."
            }
            C::ConsoleRead => {
                "Wait with a timeout, or read on another thread: the other side may never write."
            }
            C::ProcessWait => {
                "Look at what the other program does, wait with a timeout, and read all that it writes: a full pipe stops it."
            }
            C::BlockingCall => "Look at what this call waits for, and wait with a timeout.",
            C::Park => "Look at the thread that has to wake this one: nothing else ends the wait.",
            C::RunBlocking => "Look at what the coroutine waits for: this thread waits until it ends.",
            C::FutureWait => "Look at the thread that has to give the result, and wait with a timeout.",
            C::ThreadJoin => "Look at what the other thread does: this one waits until it ends.",
            C::ObjectWait => "Look at the thread that has to notify this one, and wait with a timeout.",
            C::Sleep => "Do not sleep for a fixed time: wait for the event itself.",
            C::CpuOwnThreads => "Use fewer threads: they keep this one from the CPUs.",
            C::CpuOtherProcesses => "Nothing to change here: the machine was busy with other processes.",
            C::IoOwnThreads => "Spread this I/O over time: the thread waits behind it.",
            C::IoOtherProcesses => {
                "Read and write less here: other processes used the storage, and the thread waited behind them."
            }
            C::ClockStep => "Measure time with System.nanoTime: the wall clock may be set.",
            C::NativeCode => {
                "Look at what this native function does, and whether the thread must wait for it."
            }
            C::Idle => "Look at what the other threads did: main had nothing to do.",
            _ => self.next(),
        }
    }
}
