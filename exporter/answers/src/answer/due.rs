//! Tells a wait whose end is due to a thread from one that is not. A thread that waits for work is idle, however long that takes;
//! one that waits for a lock, for the result of a task or for the answer to a request is held up.

use super::activity::{ANY, Activity, Calls, FrameView};
use super::id::CauseId;
use super::own::is_own;
use super::recorded_wait::{called, of_recorded};
use super::{stack, thread_activity};
use crate::dump::{StateKind, Thread};
use crate::waited::Waited;

/// The debt of others to a thread that waits: the end of its wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Due {
    /// Yes; or it does not wait, but computes.
    Owed,
    /// The result of a task. While a thread works it is on its way.
    Result,
    /// Not known: a wait for another thread, as of a main thread until its program ends, and of one that is never woken.
    Unknown,
    /// None: a wait for a connection, for work or for a time.
    Nothing,
}

/// Calls that wait for work, or end the program.
const IDLE: &[Calls] = &[
    ("java.lang.", &["Shutdown"], &["halt"]),
    ("java.net.", &["ServerSocket"], &["accept", "implAccept"]),
    ("", &["java.nio.channels.ServerSocketChannel", "sun.nio.ch.ServerSocketChannelImpl"], &["accept"]),
    ("java.nio.channels.", &["Selector"], &["select"]),
    ("sun.nio.ch.", &["SelectorImpl", "EPollSelectorImpl"], ANY),
    ("java.util.concurrent.", &["DelayQueue", "ScheduledThreadPoolExecutor$DelayedWorkQueue"], ANY),
    ("java.util.concurrent.", &["PriorityBlockingQueue"], ANY),
    ("", &["java.nio.file.WatchService", "sun.nio.fs.AbstractWatchService"], ANY),
    ("java.lang.ref.", &["ReferenceQueue"], &["remove"]),
    ("java.util.concurrent.", &["ThreadPoolExecutor"], &["getTask"]),
    ("java.util.concurrent.", &["ArrayBlockingQueue", "LinkedTransferQueue"], &["take", "poll"]),
    ("java.util.concurrent.", &["BlockingQueue", "SynchronousQueue"], &["take", "poll"]),
    ("java.util.concurrent.", &["LinkedBlockingDeque", "LinkedBlockingQueue"], &["take", "poll"]),
    ("java.util.concurrent.", &["BlockingDeque"], &["take"]),
    ("java.util.concurrent.", &["ForkJoinPool"], &["awaitWork", "runWorker"]),
];

/// Calls of libraries that wait for the result of a task, some of them at a queue.
const BLOCKING_GETS: &[Calls] = &[
    ("io.reactivex.", ANY, &["blocking"]),
    ("reactor.core.publisher.", ANY, &["block"]),
    ("com.google.common.util.concurrent.", ANY, &["get"]),
    ("io.netty.util.concurrent.", ANY, &["get"]),
    ("kotlinx.coroutines.", &["BuildersKt"], &["runBlocking"]),
];

/// Calls that wait for the result of a task.
const RESULTS: &[Calls] = &[
    ("java.util.concurrent.", &["FutureTask"], &["get", "awaitDone"]),
    ("java.util.concurrent.", &["CompletableFuture", "ForkJoinTask"], ANY),
];

/// Other calls whose end is owed.
const OWED: &[Calls] = &[
    ("java.util.concurrent.", &["Semaphore"], &["acquire", "tryAcquire"]),
    ("java.util.concurrent.locks.", &["ReentrantLock", "ReentrantReadWriteLock", "StampedLock"], ANY),
    ("java.util.concurrent.", &["CyclicBarrier", "Phaser", "Exchanger"], ANY),
    // `System.exit` waits for the hooks of the shutdown.
    ("java.lang.", &["ApplicationShutdownHooks"], ANY),
    ("java.util.concurrent.", &["ArrayBlockingQueue"], &["put"]),
    ("java.util.concurrent.", &["LinkedBlockingQueue", "LinkedBlockingDeque", "SynchronousQueue"], &["put"]),
    ("java.util.concurrent.", &["LinkedTransferQueue"], &["transfer"]),
    ("java.io.", &["PipedOutputStream"], &["write"]),
];

/// The buffer of the console, and of other files.
const BUFFERED: &[Calls] = &[("java.io.", &["BufferedInputStream"], ANY)];

/// True for a call of one of these rows.
fn is_one_of(rows: &[Calls], frame: &FrameView<'_>) -> bool {
    rows.iter().any(|row| frame.is_one_of(row))
}

/// By a dump.
pub fn due_to_dumped(thread: &Thread) -> Due {
    let state = thread.state.as_deref().unwrap_or_default();
    // The calls of the JDK and of libraries, up to the program's own method.
    let inner: Vec<FrameView<'_>> = stack::seen(thread)
        .take_while(|frame| !matches!(frame, FrameView::Java { class, .. } if is_own(class)))
        .collect();
    let has = |rows: &[Calls]| inner.iter().any(|frame| is_one_of(rows, frame));
    if has(BLOCKING_GETS) {
        return Due::Result;
    }
    // A stream that another thread fills has a queue of its own.
    let reads = |frame: &FrameView<'_>| matches!(frame, FrameView::Java { class, method, .. } if class.ends_with("InputStream") && method.starts_with("read"));
    let reads_a_stream = || inner.iter().any(reads);
    if thread.frames.is_empty() || has(IDLE) && !reads_a_stream() {
        return Due::Nothing;
    }
    match thread_activity(thread) {
        // It keeps the thread of a dispatcher from its other coroutines.
        Activity::Of(CauseId::Sleep) if runs_coroutines(thread) => Due::Owed,
        // The answer to a request that another thread of its client reads.
        Activity::Of(CauseId::NetworkIo) if has(RESULTS) => Due::Result,
        Activity::Of(CauseId::LockWait | CauseId::NetworkIo | CauseId::Fsync | CauseId::ProcessWait) => {
            Due::Owed
        }
        Activity::Of(CauseId::Sleep | CauseId::Idle) => Due::Nothing,
        _ if has(OWED) => Due::Owed,
        _ if has(RESULTS) => Due::Result,
        // A console may wait for its user as long as it likes.
        Activity::Of(CauseId::ConsoleRead) => Due::Unknown,
        Activity::Of(CauseId::DiskIo) if has(BUFFERED) => Due::Unknown,
        Activity::Of(CauseId::DiskIo) => Due::Owed,
        _ => match StateKind::from(state) {
            StateKind::Waiting => Due::Unknown,
            _ => Due::Owed,
        },
    }
}

/// True for the thread that ends the process, after all hooks: a dump of that moment does not show what it waited for.
pub fn is_ending(thread: &Thread) -> bool {
    let halts = |frame| {
        matches!(frame, FrameView::Java { class: "java.lang.Shutdown", method: "halt" | "halt0", .. })
    };
    stack::seen(thread).any(halts)
}

/// True if a thread runs coroutines: code of the program was called by a dispatcher, or by the loop of a `runBlocking`.
pub fn runs_coroutines(thread: &Thread) -> bool {
    let is = |frame: &FrameView<'_>, package: fn(&str) -> bool| matches!(frame, FrameView::Java { class, .. } if package(class));
    let outer = stack::seen(thread).skip_while(|frame| !is(frame, is_own));
    outer.into_iter().any(|frame| is(&frame, |class| class.starts_with("kotlinx.coroutines.")))
}

/// By a recorded wait.
pub fn due_to_recorded(wait: Waited<'_>) -> Due {
    let class = wait.class.unwrap_or_default();
    let is_queue = || wait.call.name().is_none() && ["Queue", "Deque"].iter().any(|end| class.ends_with(end));
    match of_recorded(wait) {
        CauseId::LockWait | CauseId::PermitWait => Due::Owed,
        CauseId::Sleep => Due::Nothing,
        _ if called(wait).any(|frame| is_one_of(IDLE, &frame)) => Due::Nothing,
        // A queue without work, as a rule.
        CauseId::FutureWait if class.ends_with("$ConditionObject") || is_queue() => Due::Nothing,
        CauseId::FutureWait | CauseId::RunBlocking => {
            let results = ["FutureTask", "CompletableFuture", "ForkJoinTask", "BlockingCoroutine"];
            if results.iter().any(|part| class.contains(part)) { Due::Result } else { Due::Unknown }
        }
        // Who reads a connection may wait for the next request of a client, and who reads a console for its user.
        _ => Due::Unknown,
    }
}
