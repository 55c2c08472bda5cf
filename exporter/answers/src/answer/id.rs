//! The causes by name: what keeps main from responding, and what to do about it.

use super::kind::CauseKind;
use CauseKind as K;

table! {
    /// A named cause: its word, its name, its kind, the advice, and the advice for a JVM if it is another one.
    /// A program on a JVM has no main thread that must respond to a user and no message queue, and its system is no
    /// device. The kind, [`CauseKind`], is one of twelve groups.
    CauseId -> (&'static str, &'static str, CauseKind, &'static str, &'static str) {
        /// The app's own code ran.
        BusyMethod = ("busy-method", "busy method", K::BusyMethod,
            "Move this method off the main thread, or make it do less at a time.",
            "Make this method do less, or share its work among threads."),
        /// Exceptions were made again and again.
        ExceptionStorm = ("exception-storm", "exception storm", K::BusyMethod,
            "Do not make an exception for each value: test the value first, or make exceptions without stack traces, which take the time.", ""),
        /// A loop around `Thread.yield` or `Thread.onSpinWait`.
        YieldSpin = ("yield-spin", "spin in Thread.yield", K::BusyMethod,
            "Do not spin on the main thread: let the other thread post a message when it is done.",
            "Do not spin: wait for the other thread by a lock, a latch or a future."),
        /// Classes were loaded, verified or initialised.
        ClassLoading = ("class-loading", "class loading", K::BusyMethod,
            "Load these classes before main needs them, or ship a baseline profile so that they need no verification.",
            "Load fewer classes, or load them before they are needed: class data sharing saves reading and verification."),
        /// Many short messages in a row.
        MessageStorm = ("message-storm", "message storm", K::MessageStorm,
            "Find who posts this message so often; merge the messages, or drop stale ones.", ""),
        /// Another thread owned the lock.
        LockWait = ("lock-wait", "lock wait", K::LockWait,
            "Do not hold this lock across slow work, or do not take it on the main thread.",
            "Do not hold this lock across slow work, or guard less with it."),
        /// A cycle of lock owners that main is part of, or waits for.
        Deadlock = ("deadlock", "deadlock", K::LockWait,
            "Take these locks in the same order on every thread, or do not call out while one is held.", ""),
        /// A cycle of lock owners that main neither is part of nor waits for.
        DeadlockElsewhere = ("deadlock-elsewhere", "deadlock without main", K::LockWait,
            "Take these locks in the same order on every thread: what waits for these threads never returns.", ""),
        /// Main waits for a result while the threads that compute it wait for a lock that main owns.
        PoolDeadlock = ("pool-deadlock", "self-made deadlock of a pool", K::LockWait,
            "Do not wait for a result while main owns a lock that the threads of the pool need.", ""),
        /// All threads of a pool wait for tasks of the same pool.
        PoolExhausted = ("pool-exhausted", "exhausted pool", K::ThreadWait,
            "Do not wait in a task for another task of the same pool: chain the tasks, or give the inner ones a pool of their own.", ""),
        /// Threads wait for each other through locks, futures, latches or joins.
        SelfMadeDeadlock = ("self-made-deadlock", "self-made deadlock", K::LockWait,
            "Do not wait for a result while this thread holds or blocks what the result needs.", ""),
        /// All tasks that could count a latch down have ended.
        LatchNeverCountedDown = ("latch-never-counted-down", "latch that is never counted down", K::ThreadWait,
            "Count the latch down in a finally block: the task that should have done it has ended.", ""),
        /// A notification came before the wait for it.
        LostWakeUp = ("lost-wake-up", "lost wake-up", K::ThreadWait,
            "Test the condition in a loop under the same lock before each wait: the notification came first.", ""),
        /// A call to another process.
        BinderCall = ("binder-call", "binder call", K::BinderWait,
            "Call the other process from a background thread: it answers when it can.", ""),
        /// `SharedPreferences` were written or loaded.
        SharedPreferences = ("shared-preferences", "SharedPreferences write", K::IoWait,
            "Write less through apply() before a component stops, or move the data to DataStore.", ""),
        /// No connection of the SQLite pool was available.
        SqlitePool = ("sqlite-pool", "SQLite connection pool", K::ThreadWait,
            "Query on a background thread, and keep transactions short: another thread has the connection.", ""),
        /// SQL ran on main.
        Sqlite = ("sqlite", "SQLite query", K::IoWait, "Run the query on a background thread.",
            "Read and write less, in larger pieces, or on another thread."),
        /// Files were read or written.
        DiskIo = ("disk-io", "disk I/O", K::IoWait, "Read and write files on a background thread.",
            "Read and write less, in larger pieces, or on another thread."),
        /// Main waited until written data was on disk.
        Fsync = ("fsync", "fsync", K::IoWait,
            "Do not sync files on the main thread: the disk decides how long it takes.",
            "Sync less often, or let several changes share a sync: the disk decides how long it takes."),
        /// Main was in uninterruptible sleep.
        UninterruptibleIo = ("uninterruptible-io", "uninterruptible I/O", K::IoWait,
            "Look at the kernel's function: main waits for the disk, often to read in a page of code or data.", ""),
        /// A socket or a name lookup.
        NetworkIo = ("network-io", "network I/O", K::IoWait, "Use the network from a background thread.",
            "See what the other side did meanwhile, and set a timeout: it answers when it likes."),
        /// The console, or the output of another program.
        ConsoleRead = ("console-read", "read of the console or a pipe", K::IoWait,
            "Read on a background thread: the other side writes when it likes, or never.",
            "Wait with a timeout, or read on another thread: the other side may never write."),
        /// Another program, which this one started.
        ProcessWait = ("process-wait", "wait for another program", K::IoWait,
            "Look at what the other program does, wait with a timeout, and read all that it writes: a full pipe stops it.",
            "Look at what the other program does, wait with a timeout, and read all that it writes: a full pipe stops it."),
        /// A call that blocks, and no row says for what.
        BlockingCall = ("blocking-call", "blocking call", K::IoWait,
            "Look at what this call waits for, and whether it must be on the main thread.",
            "Look at what this call waits for, and wait with a timeout."),
        /// `runBlocking` of Kotlin's coroutines.
        RunBlocking = ("run-blocking", "runBlocking", K::ThreadWait,
            "Do not call runBlocking on the main thread: launch a coroutine instead.",
            "Look at what the coroutine waits for: this thread waits until it ends."),
        /// A permit of a semaphore.
        PermitWait = ("permit-wait", "wait for a permit", K::ThreadWait,
            "Find who has the permits and gives none back: release in a finally block, and wait with a timeout.", ""),
        /// A thing that another thread has to give: a future, a latch, an element of a queue, a condition, the end of a pool.
        FutureWait = ("future-wait", "wait for another thread", K::ThreadWait,
            "Do not wait on the main thread: let the result be posted to it.",
            "Look at the thread that has to give the result or the signal, and wait with a timeout."),
        /// Parked, and no call says for what.
        Park = ("park", "parked thread", K::ThreadWait,
            "Do not park on the main thread: let the other thread post a message.",
            "Look at the thread that has to wake this one: nothing else ends the wait."),
        /// `Thread.join`.
        ThreadJoin = ("thread-join", "Thread.join", K::ThreadWait,
            "Do not join on the main thread: let the other thread post a message when it ends.",
            "Look at what the other thread does: this one waits until it ends."),
        /// `Object.wait`.
        ObjectWait = ("object-wait", "Object.wait", K::ThreadWait,
            "Do not wait on the main thread: let the notification be posted to it.",
            "Look at the thread that has to notify this one, and wait with a timeout."),
        /// `Thread.sleep`.
        Sleep = ("sleep", "Thread.sleep", K::ThreadWait,
            "Do not sleep on the main thread: post a delayed message.",
            "Do not sleep for a fixed time: wait for the event itself."),
        /// Main waited for the garbage collector.
        Gc = ("gc", "garbage collection", K::GcOrMemory,
            "Take a heap dump: main waits for the garbage collector, so find what allocates in these seconds.", ""),
        /// The device or the heap was low on memory.
        MemoryPressure = ("memory-pressure", "memory pressure", K::GcOrMemory,
            "Reduce memory use: pages are read in and reclaimed instead of code run.", ""),
        /// Main was runnable and did not get a CPU.
        CpuStarvation = ("cpu-starvation", "CPU starvation", K::CpuStarvation,
            "Find which threads took the CPUs: main was ready to run and did not get one.", ""),
        /// Main did not get a CPU because other threads of the app had them.
        CpuOwnThreads = ("cpu-own-threads", "CPUs taken by the app's own threads", K::CpuStarvation,
            "Use fewer threads, or give these a lower priority (Process.setThreadPriority): they keep main from the CPUs.",
            "Use fewer threads: they keep this one from the CPUs."),
        /// Main did not get a CPU because other processes had them.
        CpuOtherProcesses = ("cpu-other-processes", "CPUs taken by other processes", K::CpuStarvation,
            "Nothing to change in main: the device was busy with other processes. Do less at moments when that is usual, such as the boot.",
            "Nothing to change here: the machine was busy with other processes."),
        /// Main did not get a CPU because the process's control group has a limit.
        CpuLimit = ("cpu-limit", "CPU limit of the control group", K::CpuStarvation,
            "Raise the limit of the control group (cpu.max), or use fewer threads: each of them uses up the same limit.", ""),
        /// Main did not get a CPU because the process was in a group of background processes.
        CpuBackground = ("cpu-background", "background group", K::CpuStarvation,
            "Do this work in a job or a foreground service: the system gives background processes little CPU time.", ""),
        /// Main did not get a CPU because the device was too hot.
        Thermal = ("thermal", "heat", K::CpuStarvation,
            "Listen to PowerManager's thermal status and do less when it is severe: the device slows its CPUs down.", ""),
        /// Main waited for storage that other threads of the app used.
        IoOwnThreads = ("io-own-threads", "storage used by the app's own threads", K::IoWait,
            "Spread this background I/O over time, and keep files off the main thread: main waits behind it.",
            "Spread this I/O over time: the thread waits behind it."),
        /// Main waited for storage that other processes used.
        IoOtherProcesses = ("io-other-processes", "storage used by other processes", K::IoWait,
            "Keep files off the main thread: other processes used the storage, and main waited behind them.",
            "Read and write less here: other processes used the storage, and the thread waited behind them."),
        /// The process was frozen or the device suspended.
        Frozen = ("frozen", "frozen process", K::FrozenProcess,
            "Nothing to change in main: the process did not run. See what the system did with it.", ""),
        /// A native debugger had stopped main.
        Debugger = ("debugger", "debugger", K::FrozenProcess,
            "Nothing to change: a debugger had stopped main.", ""),
        /// The wall clock was set back while main waited for a time.
        ClockStep = ("clock-step", "clock set back", K::Unknown,
            "Measure time with SystemClock.elapsedRealtime or System.nanoTime: the wall clock may be set.",
            "Measure time with System.nanoTime: the wall clock may be set."),
        /// A WebView was started or used.
        WebView = ("webview", "WebView", K::NativeStretch,
            "Start the WebView outside the critical path, and only once: its provider loads on the first use.", ""),
        /// Main waited for the RenderThread or the GPU.
        RenderThread = ("render-thread", "RenderThread sync", K::NativeStretch,
            "Look at the RenderThread: main waits until it takes the frame (large bitmaps, GPU, many layers).", ""),
        /// Flutter, Unity, React Native or another engine.
        NativeEngine = ("native-engine", "native engine", K::NativeStretch,
            "Look at what the engine does in this call, and whether it must be on the main thread.", ""),
        /// A mutex or condition of native code.
        NativeLock = ("native-lock", "native mutex", K::NativeStretch,
            "Find which native thread owns the mutex or signals the condition.", ""),
        /// Other native code.
        NativeCode = ("native-code", "native code", K::NativeStretch,
            "Look at this native function, and whether it must run on the main thread.",
            "Look at what this native function does, and whether the thread must wait for it."),
        /// An input event was being dispatched to main.
        Input = ("input", "input event", K::Unknown,
            "Main was alive and taking input when the dump was written: look at what ran before.", ""),
        /// A vsync was being dispatched to main.
        Vsync = ("vsync", "vsync", K::Unknown,
            "Main was alive and starting a frame when the dump was written: look at what ran before.", ""),
        /// Main was running; only the dump stopped it.
        StoppedByDump = ("stopped-by-dump", "stopped by the dump", K::Unknown,
            "Main ran when the dump was written, and only the dump stopped it: look at what ran before.", ""),
        /// Main waited for its next message.
        Idle = ("idle", "idle main", K::Unknown,
            "Look at what the system waited for (a service, a broadcast, a window) and what the other threads did.",
            "Look at what the other threads did: main had nothing to do."),
        /// Main had been busy but was idle at the time of the dump.
        Recovered = ("recovered", "main had recovered", K::Unknown,
            "Look at the message that ran before the dump: main had finished it by then.", ""),
        /// The system requested the dump because of another process.
        OtherProcess = ("other-process", "another process's ANR", K::OtherProcess,
            "Nothing to change here: another process did not respond.", ""),
        /// No finding explains the hang.
        Unknown = ("unknown", "unknown", K::Unknown,
            "Record more: instrumented waits, samples of main's stack, the system's dump.", ""),
    }
}

impl CauseId {
    /// The stable identifier, the same in all versions.
    #[must_use]
    pub fn word(self) -> &'static str {
        self.row().0
    }

    /// The name for people.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// The group of the cause.
    #[must_use]
    pub fn kind(self) -> CauseKind {
        self.row().2
    }

    /// The advice, one sentence.
    #[must_use]
    pub fn next(self) -> &'static str {
        self.row().3
    }

    /// The advice for a program on a JVM, one sentence.
    #[must_use]
    pub fn next_on_jvm(self) -> &'static str {
        match self.row().4 {
            "" => self.next(),
            advice => advice,
        }
    }

    /// Whether the device or the system was the reason, and no code of the app.
    #[must_use]
    pub fn is_unactionable(self) -> bool {
        use CauseId::*;
        matches!(self, CpuOtherProcesses | CpuLimit | CpuBackground | Thermal | IoOtherProcesses)
            || matches!(self.kind(), K::FrozenProcess | K::OtherProcess)
    }

    /// Whether main was responsive at that moment.
    #[must_use]
    pub fn is_main_responsive(self) -> bool {
        matches!(self, Self::Input | Self::Vsync | Self::StoppedByDump | Self::Idle | Self::Recovered)
    }

    /// True for a wait that another thread or the clock ends, in which a thread does not run.
    pub(super) fn is_for_a_thread(self) -> bool {
        let waits = matches!(self, Self::FutureWait | Self::PermitWait | Self::RunBlocking | Self::Park);
        waits || matches!(self, Self::LockWait | Self::ThreadJoin | Self::ObjectWait | Self::Sleep)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cause_has_its_own_word() {
        for cause in CauseId::ALL {
            assert_eq!(CauseId::ALL.iter().filter(|other| other.word() == cause.word()).count(), 1);
            assert!(cause.next().ends_with('.') && !cause.name().is_empty());
        }
    }
}
