//! What a thread waits for another thread to do, from the frames between its innermost one and the app's code.

use crate::answer::activity::{ANY, FrameView, is_poll};
use crate::answer::own::is_own;
use crate::dump::{Frame, JavaFrame, StateKind, Thread};
use Awaited as A;

/// Number of innermost Java frames in which a wait shows.
pub(super) const WAIT_FRAMES: usize = 64;
/// Maximum number of Java frames that are searched for the code of the app or of a pool.
pub(super) const MAX_SEARCHED: usize = 256;

/// What ends a wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Awaited {
    /// A `FutureTask`: it is done when a thread has run it.
    FutureTask,
    /// All tasks of `invokeAll`, or one of `invokeAny`: `FutureTask`s as well.
    Tasks,
    /// A task of a `ForkJoinPool`.
    ForkJoinTask,
    /// A future that any code may complete.
    OpenFuture,
    /// The elements of a reactive stream, which threads of schedulers bring.
    Stream,
    /// A latch or a barrier.
    Latch,
    /// The coroutine of `runBlocking`.
    Coroutine,
    /// The end of a thread.
    Join,
    /// The end of an executor.
    Executor,
    /// Main's execution of code that was posted to it.
    Main,
    /// A handler's execution of code that was posted to it: often main's.
    Handler,
    /// A condition.
    Condition,
    /// An element of a queue, or room in it.
    Queue,
    /// `Object.notify`.
    Notification,
}

/// Classes of a package, or all whose names begin with it, the starts of their methods' names, and what is awaited;
/// the first row that matches a frame counts.
const ROWS: &[(&str, &[&str], &[&str], Awaited)] = &[
    ("android.app.", &["Instrumentation"], &["runOnMainSync", "waitForIdleSync"], A::Main),
    ("android.app.", &["Instrumentation$SyncRunnable"], &["waitForComplete"], A::Main),
    ("android.os.", &["Handler"], &["runWithScissors"], A::Handler),
    ("android.os.", &["Handler$BlockingRunnable"], &["postAndWait"], A::Handler),
    ("kotlinx.coroutines.", &["BlockingCoroutine"], &["joinBlocking"], A::Coroutine),
    ("kotlinx.coroutines.BuildersKt", ANY, &["runBlocking"], A::Coroutine),
    ("com.google.android.gms.tasks.", &["Tasks"], &["await"], A::OpenFuture),
    ("com.google.common.util.concurrent.", &["AbstractFuture"], &["get"], A::OpenFuture),
    ("com.google.common.util.concurrent.", &["AbstractFutureState"], &["blockingGet"], A::OpenFuture),
    ("androidx.concurrent.futures.", &["AbstractResolvableFuture"], &["get"], A::OpenFuture),
    ("io.reactivex.", ANY, &["blocking"], A::Stream),
    ("reactor.core.publisher.", ANY, &["block"], A::Stream),
    ("java.util.concurrent.", &["AbstractExecutorService"], &["invokeA"], A::Tasks),
    ("java.util.concurrent.", &["ExecutorCompletionService"], &["take"], A::Tasks),
    ("java.util.concurrent.", &["FutureTask"], &["get", "awaitDone"], A::FutureTask),
    ("java.util.concurrent.", &["CompletableFuture"], &["get", "join", "waitingGet"], A::OpenFuture),
    ("java.util.concurrent.", &["CompletableFuture"], &["timedGet"], A::OpenFuture),
    ("java.util.concurrent.", &["ForkJoinPool"], &["invokeA"], A::Tasks),
    ("java.util.concurrent.", &["ForkJoinPool", "ThreadPoolExecutor"], &["awaitTermination"], A::Executor),
    ("java.util.concurrent.", &["ForkJoinTask"], &["get", "join", "awaitDone", "doJoin"], A::ForkJoinTask),
    ("java.util.concurrent.", &["ForkJoinTask"], &["externalAwaitDone"], A::ForkJoinTask),
    ("java.util.concurrent.", &["ForkJoinTask"], &["externalInterruptibleAwaitDone"], A::ForkJoinTask),
    ("java.util.concurrent.", &["CountDownLatch", "Phaser"], &["await"], A::Latch),
    ("java.util.concurrent.", &["CyclicBarrier"], &["await", "dowait"], A::Latch),
    ("android.os.", &["ConditionVariable"], &["block"], A::Latch),
    ("java.lang.", &["Thread"], &["join"], A::Join),
    ("java.util.concurrent.", &["ArrayBlockingQueue", "LinkedBlockingQueue"], ANY, A::Queue),
    ("java.util.concurrent.", &["LinkedBlockingDeque", "PriorityBlockingQueue"], ANY, A::Queue),
    ("java.util.concurrent.", &["DelayQueue", "SynchronousQueue", "LinkedTransferQueue"], ANY, A::Queue),
    ("java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject", ANY, &["await"], A::Condition),
];

impl Awaited {
    /// What a thread waits for; `None` if it waits for a lock, for something outside of the process, or not at all.
    pub(super) fn of(thread: &Thread) -> Option<Self> {
        let state = StateKind::from(thread.state.as_deref().unwrap_or_default());
        if matches!(state, StateKind::Blocked | StateKind::Running | StateKind::Sleeping) {
            return None;
        }
        let mut inner = java(thread).take(WAIT_FRAMES);
        let first = inner.next().filter(|first| is_wait(first))?;
        let mut notified = first.class == "java.lang.Object";
        let mut found: Option<usize> = None;
        for frame in std::iter::once(first).chain(inner) {
            let fits = |(package, classes, methods, _): &(&str, &[&str], &[&str], Self)| {
                let name = frame.class.strip_prefix(package);
                name.is_some_and(|name| *classes == ANY || classes.contains(&name))
                    && methods.iter().any(|start| frame.method.starts_with(start))
            };
            if let Some(row) = ROWS.iter().position(fits) {
                found = Some(found.map_or(row, |best| best.min(row)));
            }
            // Until Android 9 a thread parks by Object.wait.
            notified &= !frame.method.starts_with("park");
            if is_own(&frame.class) {
                break;
            }
        }
        found.map(|row| ROWS[row].3).or(notified.then_some(Self::Notification))
    }

    /// Whether only a thread that runs the task ends this wait: no callback, no message, no other code.
    pub(super) fn is_of_a_task(self) -> bool {
        matches!(self, Self::FutureTask | Self::Tasks | Self::ForkJoinTask)
    }

    /// Whether a thread may be in such a wait all its life, and no particular work ends it.
    pub(super) fn is_vague(self) -> bool {
        matches!(self, Self::Condition | Self::Queue | Self::Notification)
    }

    /// The kind, in the words of the report's `waits_for`.
    pub(super) fn word(self) -> &'static str {
        self.both().0
    }

    /// It, as it follows "waits for".
    pub(super) fn words(self) -> &'static str {
        self.both().1
    }

    fn both(self) -> (&'static str, &'static str) {
        match self {
            Self::FutureTask | Self::ForkJoinTask | Self::OpenFuture => ("future", "a future"),
            Self::Stream => ("future", "the elements of a stream"),
            Self::Coroutine => ("future", "the coroutine of runBlocking"),
            Self::Tasks => ("executor", "tasks of an executor"),
            Self::Executor => ("executor", "an executor to end"),
            Self::Latch => ("latch", "a latch"),
            Self::Join => ("thread", "a thread to end"),
            Self::Main => ("handler", "main to run code that was posted to it"),
            Self::Handler => ("handler", "a handler to run code that was posted to it"),
            Self::Condition => ("condition", "a condition"),
            Self::Notification => ("condition", "a notification"),
            Self::Queue => ("queue", "a queue"),
        }
    }
}

/// The Java frames of a thread, innermost first.
pub(super) fn java(thread: &Thread) -> impl DoubleEndedIterator<Item = &JavaFrame> {
    thread.frames.iter().filter_map(|frame| match frame {
        Frame::Java(java) => Some(java),
        Frame::Native(_) | Frame::Kernel(_) => None,
    })
}

/// True if this is the poll in which a looper waits for its next message.
pub(super) fn polls(frame: &JavaFrame) -> bool {
    is_poll(FrameView::Java { class: &frame.class, method: &frame.method, native: false })
}

/// Whether a frame parks its thread, or waits for a notification.
fn is_wait(frame: &JavaFrame) -> bool {
    match frame.class.as_str() {
        "java.lang.Object" => frame.method.starts_with("wait"),
        "jdk.internal.misc.Unsafe" | "sun.misc.Unsafe" => frame.method == "park",
        "java.util.concurrent.locks.LockSupport" => frame.method.starts_with("park"),
        "java.lang.VMThread" | "java.lang.Thread" => frame.method.starts_with("park"),
        _ => false,
    }
}
