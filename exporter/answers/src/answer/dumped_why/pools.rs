//! Pools of threads: which thread belongs to which, and which of them are idle.

use super::awaited::{Awaited, MAX_SEARCHED, java, polls};
use crate::answer::own::is_of_references;
use crate::dump::{JavaFrame, StateKind, Thread};

/// Maximum number of outermost Java frames examined for a pool's loop.
const MAX_OUTER: usize = 16;

/// The loops of pools' threads: class and method.
const LOOPS: &[(&str, &str)] = &[
    ("java.util.concurrent.ThreadPoolExecutor", "runWorker"),
    ("java.util.concurrent.ThreadPoolExecutor$Worker", "run"),
    ("java.util.concurrent.ForkJoinPool", "runWorker"),
    ("java.util.concurrent.ForkJoinWorkerThread", "run"),
    ("kotlinx.coroutines.scheduling.CoroutineScheduler$Worker", "run"),
];
/// The threads of kotlinx.coroutines: their classes may be obfuscated.
const COROUTINE_THREADS: &str = "DefaultDispatcher-worker-";
/// Frames of a `ForkJoinPool` or of coroutines that run a task.
const RUNS_A_TASK: &[(&str, &str)] = &[
    ("java.util.concurrent.ForkJoinTask", "doExec"),
    ("java.util.concurrent.ForkJoinPool$WorkQueue", "topLevelExec"),
    ("java.util.concurrent.ForkJoinPool$WorkQueue", "runTask"),
    ("kotlinx.coroutines.scheduling.CoroutineScheduler", "runSafely"),
    ("kotlinx.coroutines.scheduling.CoroutineScheduler$Worker", "executeTask"),
    ("kotlinx.coroutines.scheduling.TaskImpl", "run"),
    ("kotlinx.coroutines.DispatchedTask", "run"),
    ("kotlin.coroutines.jvm.internal.BaseContinuationImpl", "resumeWith"),
];
/// Classes whose frames show no work of a thread's own: the starts of their names.
const PLATFORM: &[&[&str]] = &[
    &["java.lang.", "java.util.Timer", "java.util.concurrent.", "jdk.internal.", "sun.misc."],
    &["dalvik.system.", "libcore.", "android.os.Looper", "android.os.MessageQueue"],
    &["android.os.HandlerThread", "com.android.internal.os."],
];
/// Threads that other processes use, and the one that writes the dump: the starts of their names.
const OF_OTHERS: &[&str] = &["Binder", "binder:", "HwBinder", "hwbinder:", "Attach Listener"];

/// The activity of a thread, as far as it matters to those who wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Does {
    /// Waiting for work.
    Idle,
    /// Waiting for another thread.
    Waits(Awaited),
    /// It is no thread of a pool, and sleeps, as those do that poll or watch.
    Sleeps,
    /// It works, or waits for a lock or for something outside of the process.
    Works,
}

/// A thread, as far as it matters to those who wait.
pub(super) struct Seen<'a> {
    pub(super) thread: &'a Thread,
    pub(super) does: Does,
    /// The name of its pool, if it belongs to one.
    pub(super) pool: Option<&'a str>,
    /// Whether it runs a `FutureTask`.
    pub(super) runs_a_future: bool,
    /// Whether it runs a task of a `CompletableFuture`.
    pub(super) runs_a_stage: bool,
    /// True for a thread of a scheduler that brings elements of a reactive stream.
    pub(super) runs_a_stream: bool,
    /// Whether it runs a coroutine, for a dispatcher.
    pub(super) runs_a_coroutine: bool,
}

impl<'a> Seen<'a> {
    /// `None` for a thread that is not the program's: of the virtual machine, of the system, or without Java frames.
    pub(super) fn of(thread: &'a Thread) -> Option<Self> {
        let name = thread.name.as_deref().unwrap_or_default();
        if !thread.attached || OF_OTHERS.iter().any(|start| name.starts_with(start)) {
            return None;
        }
        java(thread).next()?;
        // The threads of finalizers and cleaners run no task.
        if java(thread).rev().take(MAX_OUTER).any(|frame| is_of_references(&frame.class)) {
            return None;
        }
        let has = |class: &str, methods: &[&str]| {
            java(thread).take(MAX_SEARCHED).any(|f| f.class == class && methods.contains(&f.method.as_str()))
        };
        let scheduled = "java.util.concurrent.ScheduledThreadPoolExecutor$ScheduledFutureTask";
        let run = ["run", "runAndReset"];
        let stages =
            ["$AsyncRun", "$AsyncSupply"].map(|of| format!("java.util.concurrent.CompletableFuture{of}"));
        let does = does(thread);
        let pool = is_of_a_pool(thread).then(|| pool_name(name));
        let own = java(thread).take(MAX_SEARCHED).any(|frame| !is_platform(frame));
        let runs_a_future = has("java.util.concurrent.FutureTask", &run) || has(scheduled, &run);
        // A task without code of the program is the JDK's own, as one that waits for the end of another program.
        (own || pool.is_some() && (does == Does::Idle || runs_a_future)).then(|| Self {
            thread,
            does,
            pool,
            runs_a_future,
            runs_a_stream: pool.is_some() && java(thread).take(MAX_SEARCHED).any(is_of_a_stream),
            runs_a_stage: stages.iter().any(|stage| has(stage, &["run"])),
            // The classes of the coroutines' own threads may be obfuscated.
            runs_a_coroutine: name.starts_with(COROUTINE_THREADS)
                || has("kotlinx.coroutines.DispatchedTask", &["run"]),
        })
    }
}

fn is_of_a_stream(frame: &JavaFrame) -> bool {
    ["io.reactivex.", "reactor.core."].iter().any(|start| frame.class.starts_with(start))
}

fn is_platform(frame: &JavaFrame) -> bool {
    PLATFORM.iter().copied().flatten().any(|start| frame.class.starts_with(start))
}

fn is_among(frame: &JavaFrame, of: &[(&str, &str)]) -> bool {
    of.iter().any(|(class, method)| frame.class == *class && frame.method == *method)
}

fn is_of_a_pool(thread: &Thread) -> bool {
    let named = thread.name.as_deref().is_some_and(|name| name.starts_with(COROUTINE_THREADS));
    named || java(thread).rev().take(MAX_OUTER).any(|frame| is_among(frame, LOOPS))
}

fn does(thread: &Thread) -> Does {
    let awaited = Awaited::of(thread);
    let frames = || java(thread).take(MAX_SEARCHED);
    let idle = if is_of_a_pool(thread) {
        let executor = frames().any(|frame| frame.class == "java.util.concurrent.ThreadPoolExecutor");
        match executor {
            true => frames().any(|f| is_among(f, &[("java.util.concurrent.ThreadPoolExecutor", "getTask")])),
            false => is_idle_loop(thread),
        }
    } else {
        frames().next().is_some_and(polls) || awaited.is_some_and(Awaited::is_vague)
    };
    let sleeps = || {
        let state = StateKind::from(thread.state.as_deref().unwrap_or_default());
        let first =
            frames().next().is_some_and(|f| f.class == "java.lang.Thread" && f.method.starts_with("sleep"));
        !is_of_a_pool(thread) && (state == StateKind::Sleeping || first)
    };
    match awaited {
        _ if idle => Does::Idle,
        Some(awaited) => Does::Waits(awaited),
        None if sleeps() => Does::Sleeps,
        None => Does::Works,
    }
}

/// Whether a thread of a `ForkJoinPool` or of coroutines runs no task: it is parked, and all frames of the program are those of
/// the pool's loop.
fn is_idle_loop(thread: &Thread) -> bool {
    let Some(outermost) = java(thread).rev().find(|frame| !frame.class.starts_with("java.lang.Thread"))
    else {
        return false;
    };
    let scheduler = outermost.class.split('$').next().unwrap_or_default();
    let of_the_loop = |frame: &JavaFrame| is_platform(frame) || frame.class.starts_with(scheduler);
    let parks = java(thread).next().is_some_and(|first| first.method.starts_with("park"));
    parks && java(thread).take(MAX_SEARCHED).all(|frame| of_the_loop(frame) && !is_among(frame, RUNS_A_TASK))
}

/// `pool-1-thread` of `pool-1-thread-7`: the name without the thread's number.
pub(super) fn pool_name(name: &str) -> &str {
    // OkHttp names a thread after the host that it calls.
    if name.starts_with("OkHttp ") && name != "OkHttp TaskRunner" {
        return "OkHttp";
    }
    let digits = name.trim_end_matches(|c: char| c.is_ascii_digit());
    match digits.trim_end_matches(['-', '_', '#', ' ', '.', ':']) {
        "" => name,
        short if digits.len() < name.len() => short,
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pools_name_is_that_of_its_threads_without_the_number() {
        for (name, pool) in [
            ("pool-1-thread-7", "pool-1-thread"),
            ("AsyncTask #12", "AsyncTask"),
            ("DefaultDispatcher-worker-3", "DefaultDispatcher-worker"),
            ("ForkJoinPool.commonPool-worker-1", "ForkJoinPool.commonPool-worker"),
            ("arch_disk_io_0", "arch_disk_io"),
            ("OkHttp https://acme.com/...", "OkHttp"),
            ("OkHttp Dispatcher", "OkHttp"),
            ("OkHttp TaskRunner", "OkHttp TaskRunner"),
            ("io", "io"),
            ("12", "12"),
            ("-7", "-7"),
            ("", ""),
        ] {
            assert_eq!(pool_name(name), pool, "{name}");
        }
    }
}
