//! Whether all threads of a pool wait for tasks that no thread runs.

use std::collections::BTreeSet;

use trace_format::verdict::Confidence;

use super::awaited::{Awaited, WAIT_FRAMES, java, polls};
use super::link::DumpedLink;
use super::pools::{Does, Seen};
use super::{Chain, DumpedCause, Step};
use crate::answer::id::CauseId;
use crate::answer::stack;
use crate::dump::{JavaFrame, Thread};

/// Where a thread waits for events of sockets: the starts of classes.
const SELECTORS: &[&str] =
    &["sun.nio.ch.SelectorImpl", "sun.nio.ch.EPoll", "sun.nio.ch.KQueue", "sun.nio.ch.WEPoll", "io.netty."];
/// The pool of kotlinx.coroutines.
const COROUTINES: &str = "DefaultDispatcher-worker";

impl<'a> Chain<'a> {
    /// The conclusion, and the link of the pool.
    pub(super) fn exhausted(&self, step: &Step<'_>) -> Option<(DumpedCause, DumpedLink)> {
        use Awaited::{Coroutine, Executor, Latch, OpenFuture};
        let is_open = matches!(step.awaited, OpenFuture | Coroutine | Latch | Executor);
        if !is_open && !step.awaited.is_of_a_task() {
            return None;
        }
        let busy: Vec<&Seen<'a>> = self
            .seen
            .iter()
            .filter(|seen| !step.has_passed(seen.thread) && seen.does != Does::Idle)
            .collect();
        let of_pools = || busy.iter().filter(|seen| seen.pool.is_some());
        let open =
            of_pools().any(|seen| !matches!(seen.does, Does::Waits(awaited) if awaited.is_of_a_task()));
        // Any code may complete a future of this kind: that of a thread which works, or of one that waits for events.
        if open && (busy.iter().any(|seen| seen.does == Does::Works) || self.has_events()) {
            return None;
        }
        if busy.iter().any(|seen| seen.runs_a_future && seen.does == Does::Works)
            || !of_pools().all(|seen| waits_for_its_pool(seen))
            || self.has_a_delayed_task()
        {
            return None;
        }
        let pools: BTreeSet<&str> = of_pools().filter_map(|seen| seen.pool).collect();
        let full = pools.into_iter().map(|pool| self.share(pool)).filter(|share| {
            // A worker that waits in runBlocking is replaced, unless all permits are taken.
            share.all == share.busy && (share.pool != COROUTINES || share.all > 1)
        });
        let share = full.max_by_key(|share| share.all)?;
        let members: Vec<&&Seen<'_>> = of_pools().filter(|seen| seen.pool == Some(share.pool)).collect();
        if members.len() != share.all {
            return None;
        }
        let Does::Waits(awaited) = members.first()?.does else { return None };
        let threads: Vec<&Thread> = members.iter().map(|seen| seen.thread).collect();
        let link = self.for_results(&threads, awaited, Some(share));
        let waiter = self.called(step.waiter);
        let cause = DumpedCause {
            cause: CauseId::PoolExhausted,
            confidence: Confidence::Medium,
            finding: format!("{}, while {waiter} waits for {}", link.text, step.awaited.words()),
            because: "inferred: no thread runs these tasks, so they are in a queue, most likely that of the same pool"
                .to_owned(),
            root: threads.first().and_then(|task| stack::root(&stack::of_thread(task))),
        };
        Some((cause, link))
    }

    /// Whether a thread of the process waits for events, which may complete a future.
    fn has_events(&self) -> bool {
        let is_event =
            |frame: &JavaFrame| polls(frame) || SELECTORS.iter().any(|start| frame.class.starts_with(start));
        self.by_tid.values().any(|thread| java(thread).take(WAIT_FRAMES).any(is_event))
    }

    /// Whether a scheduler's thread waits for the time at which a task is due.
    fn has_a_delayed_task(&self) -> bool {
        let queue = "java.util.concurrent.ScheduledThreadPoolExecutor$DelayedWorkQueue";
        self.by_tid.values().any(|thread| {
            let frames = || java(thread).take(WAIT_FRAMES);
            frames().any(|frame| frame.class == queue) && frames().any(|frame| frame.method == "awaitNanos")
        })
    }
}

/// Whether a thread of a pool waits for a task that only a thread of a pool can run.
fn waits_for_its_pool(seen: &Seen<'_>) -> bool {
    match seen.does {
        Does::Waits(Awaited::OpenFuture) => seen.runs_a_stage,
        Does::Waits(Awaited::Coroutine) => seen.runs_a_coroutine,
        Does::Waits(awaited) => awaited.is_of_a_task(),
        Does::Idle | Does::Sleeps | Does::Works => false,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::answer::{CauseId, Observed, WantedThread};
    use crate::dump::Dump;

    /// A thread that waits in `runBlocking`, called from these frames.
    fn thread(number: u32, name: &str, callers: &[&str]) -> String {
        let waits = [
            "jdk.internal.misc.Unsafe.park",
            "java.util.concurrent.locks.LockSupport.parkNanos",
            "kotlinx.coroutines.BlockingCoroutine.joinBlocking",
            "kotlinx.coroutines.BuildersKt.runBlocking",
        ];
        let mut text =
            format!("\n\"{name}\" #{number} prio=5 tid=0x{number:016x} nid=0x{number:x} waiting\n");
        text += "   java.lang.Thread.State: TIMED_WAITING (parking)\n";
        waits.iter().chain(callers).for_each(|frame| text += &format!("\tat {frame}(A.kt:1)\n"));
        text
    }

    fn cause(workers: &[&str]) -> Option<CauseId> {
        let mut text = "Full thread dump OpenJDK 64-Bit Server VM (17.0.15+6 mixed mode):\n".to_owned();
        text += &thread(1, "main", &["a.MainKt.main"]);
        for (number, name) in (2..).zip(["notify-1", "notify-2"]) {
            text += &thread(number, name, workers);
        }
        let mut facts = Observed::default();
        facts.set_dump(0, &Dump::read(Path::new("dump"), text.as_bytes()).unwrap(), None, WantedThread::Main);
        facts.dumped()?.why.as_ref()?.found.as_ref().map(|found| found.cause)
    }

    #[test]
    fn pools_whose_threads_wait_for_coroutines_in_coroutines_are_exhausted() {
        let of_a_pool = [
            "java.util.concurrent.ThreadPoolExecutor.runWorker",
            "java.util.concurrent.ThreadPoolExecutor$Worker.run",
        ];
        let in_a_coroutine =
            [&["a.Fanout.sendAll", "kotlinx.coroutines.DispatchedTask.run"][..], &of_a_pool].concat();
        assert_eq!(cause(&in_a_coroutine), Some(CauseId::PoolExhausted));
        // Whose coroutines they wait for is not known.
        assert_eq!(cause(&[&["a.Fanout.sendAll"][..], &of_a_pool].concat()), None);
    }
}
