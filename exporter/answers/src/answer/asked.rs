//! The question that the answer of a thread dump is about: which of its threads hangs.
//!
//! Android names the main thread. A program on a JVM has a `main` that may wait for its workers, rightly, while one of them
//! hangs. So the answer is about the thread whose wait most surely should have ended ([`Due`]): the rows of [`Claim`], from
//! the first on. Of equals the first in the dump counts.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use super::activity::{ANY, Activity, Calls, FrameView};
use super::both_sides;
use super::due::{Due, due_to_dumped, runs_coroutines};
use super::dumped_why::DumpedWhy;
use super::id::CauseId;
use super::own::{is_of_jdk, is_of_references};
use super::read_write_queue::Queue;
use super::{StackLine, is_own, stack, thread_activity};
use crate::dump::{Dump, LockGraph, Section, StateKind, Thread, facts};

/// The claim of a thread to be the one that hangs, the strongest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Claim {
    /// In a cycle of owners, or waiting for one; main before others.
    Cycle {
        /// False for main, which comes first.
        main: Reverse<bool>,
    },
    /// Main that waits for a lock, or for a thread which waits for main's lock.
    MainBlocked,
    /// Waiting for a lock, or for another thread while it owns one: the more others wait for that lock, the stronger.
    Lock(Reverse<usize>),
    /// Main that computes, or to which the end of another wait is owed.
    MainHeldUp,
    /// Main that waits for a result.
    MainsResult,
    /// Something else is owed to it.
    HeldUp,
    /// Computing: the longer, the stronger, ns.
    Computes(Reverse<u64>),
    /// Main that waits for a time or for work deep in the program's code, where no loop of its own waits.
    MainRests,
    /// Waiting for a result.
    Result,
    /// Main that waits for another thread, but not for its end.
    MainWaits,
    /// Waiting for another thread within a task: deeper in calls than a loop that takes tasks.
    WaitsInTask,
    /// Sleeping within a task of a pool.
    SleepsInTask,
    /// Main that waits for another thread in the method that the program began with: to keep the program alive, as a rule.
    MainStays,
    /// Waiting for the other side of a connection, which may have nothing to ask: one in deeper calls has asked, as a rule.
    Reads(Reverse<usize>),
    /// Computing, or waiting for something outside, in the method that it began with: its purpose, as a rule.
    Loops,
    /// Waiting for another thread.
    Waits,
    /// The only thread for whose end main can wait.
    Joined,
    /// Nothing is owed to it; the deeper in the program's code it waits, the stronger.
    Idle(Reverse<usize>),
}

/// A loop over tasks is in this many own frames at most, also while it waits for one: `run`, the loop and its queue.
const LOOP_DEPTH: usize = 3;

const POOL: &str = "java.util.concurrent.ThreadPoolExecutor";

impl Section {
    /// The thread that the answer is about: main, or in a dump of a JVM another one with a stronger claim to hang.
    #[must_use]
    pub fn asked(&self) -> Option<&Thread> {
        if self.is_of_hotspot() { self.claims().asked() } else { self.main() }
    }

    /// The thread whose wait is explained: the one that the answer is about, or main if that one has to give main's result.
    pub(crate) fn waiter(&self) -> Option<&Thread> {
        if !self.is_of_hotspot() {
            return self.main();
        }
        let claims = self.claims();
        let of_main = |asked: &Thread| {
            is(claims.giver, asked) && claims.main.is_some_and(|main| !waits_for(main, CauseId::NetworkIo))
        };
        claims.asked().and_then(|asked| if of_main(asked) { claims.main } else { Some(asked) })
    }

    pub(crate) fn is_of_hotspot(&self) -> bool {
        self.threads.iter().any(|thread| thread.form.is_of_hotspot())
    }
}

/// The place of a thread in two dumps of one process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stands {
    /// Waiting in the same call.
    Waiting,
    /// Computing in the same method, called from the same lines: in one call, or in one after the other.
    Computing,
}

impl Section {
    /// True if the JVM agent has written it, and not the JVM.
    pub fn is_of_agent(&self) -> bool {
        facts::text(&self.facts, "vm") == Some("by anrscope")
    }

    /// The claims of its threads.
    #[must_use]
    pub fn claims(&self) -> Claims<'_> {
        let graph = LockGraph::from(self);
        let mut waiters: HashMap<Option<u64>, usize> = HashMap::new();
        for edge in &graph.edges {
            *waiters.entry(edge.address).or_default() += 1;
        }
        let cyclic = graph.deadlocks.iter().flatten().copied().collect();
        let main = self.main();
        let queues = Queue::all(self, &graph);
        let both_sides = both_sides::all(self);
        let giver = main.and_then(|main| giver(self, main, &graph));
        let claims = Claims {
            section: self,
            graph,
            waiters,
            cyclic,
            main,
            joined: joined(self, main),
            giver: None,
            server: None,
            queues,
            both_sides,
        };
        // Of a process that serves main, or who has to give its result, asks this process, as a rule.
        let listens = || self.threads.iter().any(|thread| stack::seen(thread).any(accepts));
        let reads = giver.or(main).is_some_and(|thread| waits_for(thread, CauseId::NetworkIo));
        let asks = reads && (self.connects_to_itself || listens());
        let server = if asks || self.connects_to_itself { claims.server() } else { None };
        // One that only sleeps stands for another process.
        let held_up = server.filter(|server| asks && due_to_dumped(server) != Due::Nothing);
        Claims { giver: held_up.or(giver), server, ..claims }
    }

    /// True if another thread of the program waits for the console, a client or an event: a result may wait for the same. Or if
    /// the thread waits for an end, and a schedule that keeps the program alive has more to do.
    pub fn serves_beside(&self, thread: &Thread) -> bool {
        let has_schedule = || self.threads.iter().any(|other| !other.daemon && has_delayed_work(other));
        let latch = ("java.util.concurrent.CountDownLatch", "await");
        let ends = || due_to_dumped(thread) == Due::Unknown && is_in(thread, latch);
        if (waits_for_an_end(thread) || ends()) && has_schedule() {
            return true;
        }
        let others =
            self.threads.iter().filter(|other| !std::ptr::eq(*other, thread) && own_frames(other) > 0);
        let mut others = others.map(|other| (other, thread_activity(other)));
        others.any(|(other, activity)| match activity {
            Activity::Of(CauseId::ConsoleRead) => true,
            // The buffer of a file, or of the console.
            Activity::Of(CauseId::DiskIo) => due_to_dumped(other) == Due::Unknown,
            Activity::Of(CauseId::NetworkIo) => due_to_dumped(other) == Due::Nothing,
            _ => false,
        })
    }

    /// True if no thread can go on by itself, and this one waits for what another one has to do, not for its end: all wait for
    /// each other, without a limit of time and for nothing outside of the process.
    pub fn is_starved(&self, thread: &Thread) -> bool {
        let waits = |thread: &Thread| {
            let of_process =
                !matches!(thread_activity(thread), Activity::Of(CauseId::NetworkIo | CauseId::Idle));
            of_process && thread.state.as_deref().is_some_and(|state| state.starts_with("WAITING"))
        };
        let mut own = self.threads.iter().filter(|thread| own_frames(thread) > 0);
        // With daemons alone the program ends.
        thread_activity(thread) != Activity::Of(CauseId::ThreadJoin)
            && own.clone().any(|thread| !thread.daemon)
            && own.all(waits)
            && !self.threads.iter().any(serves)
    }
}

/// True if a thread waits for a client, an event or a time; the JDK's own threads count, too.
fn serves(thread: &Thread) -> bool {
    let state = thread.state.as_deref().unwrap_or_default();
    let polling: [Calls; 3] = [
        ("sun.nio.ch.", ANY, ANY),
        ("sun.nio.fs.", &["LinuxWatchService"], ANY),
        ("java.util.", &["TimerThread"], ANY),
    ];
    let is_polling = |frame: FrameView<'_>| {
        matches!(frame, FrameView::Java { method: "accept", .. })
            || polling.iter().any(|calls| frame.is_one_of(calls))
    };
    // A worker of a pool that ends if no work comes serves nobody.
    let is_timed = state.starts_with("TIMED_WAITING")
        && stack::seen(thread).all(|frame| !is_of_vm(frame))
        && (has_delayed_work(thread) || !is_in(thread, (POOL, "getTask")));
    is_timed || stack::seen(thread).any(is_polling)
}

/// True for a main that waits for others to come, in the method that the program began with: to keep it alive, as a rule.
pub fn keeps_alive(main: &Thread) -> bool {
    let meets = |frame| {
        let FrameView::Java { class, .. } = frame else { return false };
        let class = class.strip_prefix("java.util.concurrent.");
        class.is_some_and(|class| matches!(class, "Semaphore" | "Exchanger" | "Phaser" | "CyclicBarrier"))
    };
    own_frames(main) < 2 && stack::seen(main).any(meets)
}

/// True for a daemon that sleeps: one that only does so again and again ends no wait of others.
pub fn ticks(thread: &Thread) -> bool {
    thread.daemon && waits_for(thread, CauseId::Sleep)
}

/// True for a daemon that waits for the next time of a schedule.
pub fn is_schedule(thread: &Thread) -> bool {
    ticks(thread) || thread.daemon && has_delayed_work(thread)
}

/// True for a thread whose stack says that it waits for this: a connection, its user or another program, for example.
pub fn waits_for(thread: &Thread, cause: CauseId) -> bool {
    thread_activity(thread) == Activity::Of(cause)
}

/// True for a worker of the JDK's pools, or of a timer, that sleeps in what it was given.
fn runs_a_task(thread: &Thread) -> bool {
    let loops = [(POOL, "runWorker"), ("java.util.TimerThread", "mainLoop")];
    thread_activity(thread) == Activity::Of(CauseId::Sleep) && loops.iter().any(|call| is_in(thread, *call))
}

/// True if a thread is in a call of this method: class and name.
fn is_in(thread: &Thread, call: (&str, &str)) -> bool {
    stack::seen(thread)
        .any(|frame| matches!(frame, FrameView::Java { class, method, .. } if (class, method) == call))
}

/// True for a wait for the end of a thread or of a pool.
fn waits_for_an_end(thread: &Thread) -> bool {
    let is_pools = |frame| matches!(frame, FrameView::Java { method: "awaitTermination", .. });
    thread_activity(thread) == Activity::Of(CauseId::ThreadJoin) || stack::seen(thread).any(is_pools)
}

fn has_delayed_work(thread: &Thread) -> bool {
    let class = "java.util.concurrent.ScheduledThreadPoolExecutor$DelayedWorkQueue";
    stack::seen(thread).any(|frame| matches!(frame, FrameView::Java { class: of, .. } if of == class))
}

/// True for a thread that writes: the other side does not read what it is owed, while one that asks nothing owes no answer.
fn writes(thread: &Thread) -> bool {
    let jdk = |frame: &FrameView<'_>| !matches!(frame, FrameView::Java { class, .. } if is_own(class));
    let mut inner = stack::seen(thread).take_while(jdk);
    inner.any(|frame| matches!(frame, FrameView::Java { method, .. } if method.starts_with("write") || method.starts_with("socketWrite")))
}

/// True for a call that waits for clients.
fn accepts(frame: FrameView<'_>) -> bool {
    matches!(frame, FrameView::Java { class, method: "accept" | "run", .. } if class.contains("ServerSocket") || class == "sun.net.httpserver.ServerImpl$Dispatcher")
}

/// True for the frames of threads that each JVM has.
fn is_of_vm(frame: FrameView<'_>) -> bool {
    matches!(frame, FrameView::Java { class, .. } if is_of_references(class))
}

impl Dump {
    /// True if its thread waits for what is owed to it, computes, or waits for another one: a dump alone does not say for how
    /// long.
    #[must_use]
    pub fn may_hang(&self) -> bool {
        let asked = self.answer().and_then(|section| Some((section, section.asked()?)));
        asked.is_some_and(|(section, thread)| {
            due_to_dumped(thread) != Due::Nothing || section.is_starved(thread)
        })
    }

    /// True if the end of its thread's wait is owed to it, or the thread computes.
    #[must_use]
    pub fn is_held_up(&self) -> bool {
        let asked = self.answer().and_then(Section::asked);
        asked.is_some_and(|thread| matches!(due_to_dumped(thread), Due::Owed | Due::Result))
    }

    /// Compares the thread that `earlier` is about with the same thread here, in a dump of the same process; `None` if it came
    /// on, or has ended.
    #[must_use]
    pub fn stands_since(&self, earlier: &Self) -> Option<Stands> {
        let was = earlier.answer()?.asked()?;
        let section = self.answer()?;
        let is = section.threads.iter().find(|thread| thread.tid == was.tid && thread.name == was.name)?;
        if goes_on(was) != goes_on(is) {
            return None;
        }
        if !goes_on(was) {
            return (is.frames == was.frames && !has_run(was, is)).then_some(Stands::Waiting);
        }
        let outer = |thread: &Thread| stack::of_thread(thread).into_iter().rev().collect::<Vec<_>>();
        let (was, is) = (outer(was), outer(is));
        let same = was.iter().zip(&is).take_while(|(was, is)| was.site == is.site).count();
        let called = |stack: &[StackLine]| stack.get(same).map(|line| line.site.name.clone());
        let inside = called(&was).is_some() && called(&was) == called(&is) || same == was.len();
        let own = was.iter().take(same + 1).filter(|line| line.own).count();
        (inside && own > 1).then_some(Stands::Computing)
    }
}

/// True if a thread that waits in both dumps has run in between, so that it waits once more where it did: each round of a loop
/// may end at a barrier. In one wait it runs at most for some microseconds a second, since HotSpot looks at a monitor again
/// from time to time; in a round it ran for more, 1 ms a second for example.
fn has_run(was: &Thread, is: &Thread) -> bool {
    let between = |later: Option<u64>, earlier: Option<u64>| Some(later?.saturating_sub(earlier?));
    // Before Java 11 a dump has neither.
    between(is.elapsed_ns, was.elapsed_ns).is_some_and(|elapsed| has_waited_anew(was, is, elapsed))
}

/// The same of dumps that are so many nanoseconds apart.
pub fn has_waited_anew(was: &Thread, is: &Thread, apart: u64) -> bool {
    const MOST: u64 = 4_000;
    let ran = is.cpu_ns.zip(was.cpu_ns).map(|(is, was)| is.saturating_sub(was));
    !goes_on(was) && !goes_on(is) && ran.is_some_and(|ran| ran > apart / MOST)
}

/// The threads of a process, which claim to be the one that hangs.
#[derive(Debug)]
pub struct Claims<'a> {
    /// The process.
    pub section: &'a Section,
    graph: LockGraph,
    /// The number of threads that wait for each lock.
    waiters: HashMap<Option<u64>, usize>,
    /// The threads of all deadlocks.
    cyclic: HashSet<u32>,
    main: Option<&'a Thread>,
    joined: Option<&'a Thread>,
    /// The thread that has to give the result that main waits for, and is held up itself.
    giver: Option<&'a Thread>,
    /// The thread that has to answer what others ask through connections of the process to itself, and is held up.
    server: Option<&'a Thread>,
    queues: Vec<Queue<'a>>,
    /// The threads that wait for each other at one object.
    both_sides: HashSet<u32>,
}

impl<'a> Claims<'a> {
    /// The thread with the strongest claim, else main.
    fn asked(&self) -> Option<&'a Thread> {
        self.strongest(&self.section.threads).map(|(_, thread)| thread).or(self.main)
    }

    /// The one of these threads with the strongest claim.
    fn strongest(&self, threads: impl IntoIterator<Item = &'a Thread>) -> Option<(Claim, &'a Thread)> {
        let all = threads.into_iter().filter_map(|thread| Some((self.claim(thread)?, thread)));
        // A daemon serves others.
        all.min_by_key(|(claim, thread)| (*claim, thread.daemon))
    }

    /// True if main waits for the end of this thread, and can wait for no other's.
    #[must_use]
    pub fn is_joined(&self, thread: &Thread) -> bool {
        is(self.joined, thread)
    }

    /// True if the thread is held up itself: it computes, the end of another wait is owed to it, or it owns a lock that others
    /// wait for.
    #[must_use]
    pub fn is_held_up(&self, thread: &Thread) -> bool {
        is_held_up(thread, &self.graph)
    }

    /// True if the dump shows why the thread's wait cannot end, or that main waits for the thread.
    #[must_use]
    pub fn is_surely_stuck(&self, thread: &Thread) -> bool {
        is(self.giver, thread)
            || DumpedWhy::of(self.section, thread, &self.graph).is_some_and(|why| why.found.is_some())
    }

    /// True if the thread waits for an answer that another thread of its process has to give.
    fn asks_itself(&self, thread: &Thread) -> bool {
        self.section.connects_to_itself && self.server.is_some() && waits_for(thread, CauseId::NetworkIo)
    }

    /// The thread that is held up where the others ask it: of the program's threads that do not ask themselves the one with the
    /// strongest claim.
    fn server(&self) -> Option<&'a Thread> {
        let is_server = |thread: &&Thread| !is(self.main, thread) && !waits_for(thread, CauseId::NetworkIo);
        let strongest = self.strongest(self.section.threads.iter().filter(is_server));
        strongest.filter(|(claim, _)| *claim <= Claim::SleepsInTask).map(|(_, thread)| thread)
    }

    /// The claim of one of the threads.
    #[must_use]
    pub fn claim(&self, thread: &Thread) -> Option<Claim> {
        let is_main = is(self.main, thread);
        let depth = own_frames(thread);
        if !is_main && depth == 0 {
            return None;
        }
        if self.is_in_a_cycle(thread) {
            return Some(Claim::Cycle { main: Reverse(is_main) });
        }
        if is(self.giver, thread) {
            return Some(Claim::MainBlocked);
        }
        if is_main && self.giver.is_some() || !is_main && self.asks_itself(thread) {
            return Some(Claim::Idle(Reverse(depth)));
        }
        let main_reads = |queue: &Queue<'_>| self.main.is_some_and(|main| queue.is_reader(main));
        if self.queues.iter().any(|queue| is(Some(queue.writer), thread) && main_reads(queue)) {
            return Some(Claim::MainBlocked);
        }
        if self.queues.iter().any(|queue| queue.is_reader(thread)) {
            return Some(Claim::Idle(Reverse(depth)));
        }
        if !is_main && thread.tid.is_some_and(|tid| self.both_sides.contains(&tid)) {
            return Some(Claim::HeldUp);
        }
        Some(self.by_debt(thread, is_main, depth))
    }

    /// The claim by what is owed to the thread, which has so many frames of the program.
    fn by_debt(&self, thread: &Thread, is_main: bool, depth: usize) -> Claim {
        let activity = thread_activity(thread);
        let ends = waits_for_an_end(thread);
        let waiters = || waiters_of(thread, &self.graph);
        let is_blocked = thread.awaited_lock().is_some() || activity == Activity::Of(CauseId::LockWait);
        match due_to_dumped(thread) {
            Due::Owed if is_main && is_blocked => Claim::MainBlocked,
            Due::Unknown | Due::Result if is_main && waiters() > 0 => Claim::MainBlocked,
            // A thread that is to end has a claim of its own.
            Due::Unknown | Due::Result if is_main && !ends && self.explains(thread) => Claim::MainBlocked,
            Due::Owed if is_main && keeps_alive(thread) => Claim::MainStays,
            Due::Owed if is_main => Claim::MainHeldUp,
            Due::Owed if is_blocked && thread.tid.is_some_and(|tid| self.graph.edge_from(tid).is_some()) => {
                let waiters = thread.awaited_lock().and_then(|lock| self.waiters.get(&lock.address));
                Claim::Lock(Reverse(waiters.copied().unwrap_or(0)))
            }
            Due::Owed if activity == Activity::Of(CauseId::NetworkIo) && writes(thread) => Claim::HeldUp,
            Due::Owed if depth < 2 && is_outside(thread) => Claim::Loops,
            Due::Owed if computes(thread, activity) => Claim::Computes(Reverse(thread.cpu_ns.unwrap_or(0))),
            Due::Owed if activity == Activity::Of(CauseId::NetworkIo) => {
                Claim::Reads(Reverse(called_frames(thread)))
            }
            Due::Owed => Claim::HeldUp,
            // They wait because it does.
            Due::Unknown | Due::Result if waiters() > 0 => Claim::Lock(Reverse(waiters() + 1)),
            Due::Result if is_main => Claim::MainsResult,
            Due::Result => Claim::Result,
            Due::Unknown if !is_main && depth > LOOP_DEPTH => Claim::WaitsInTask,
            Due::Unknown if !is_main => Claim::Waits,
            Due::Unknown if !ends && depth < 2 => Claim::MainStays,
            Due::Unknown if !ends => Claim::MainWaits,
            Due::Nothing if is_main && depth > 2 => Claim::MainRests,
            Due::Nothing if served_frames(thread) > LOOP_DEPTH && runs_a_task(thread) => Claim::SleepsInTask,
            _ if self.is_joined(thread) => Claim::Joined,
            _ => Claim::Idle(Reverse(depth)),
        }
    }

    /// True if a thread is in a deadlock, or waits for one.
    fn is_in_a_cycle(&self, thread: &Thread) -> bool {
        let Some(tid) = thread.tid.filter(|_| !self.cyclic.is_empty()) else { return false };
        let chain = self.graph.chain(tid, LockGraph::MAX_CHAIN);
        self.cyclic.contains(&tid) || chain.iter().any(|edge| self.cyclic.contains(&edge.to))
    }

    /// True if the dump shows which threads have to end the wait, and what holds these up.
    fn explains(&self, thread: &Thread) -> bool {
        DumpedWhy::of(self.section, thread, &self.graph).is_some_and(|why| why.links.len() > 1)
    }
}

/// The number of frames with the program's own code. The threads of the virtual machine have none.
fn own_frames(thread: &Thread) -> usize {
    let own = |frame: &FrameView<'_>| matches!(frame, FrameView::Java { class, .. } if is_own(class));
    stack::seen(thread).filter(own).count()
}

/// The number of frames of the program, and of those that have called it for a pool: the JDK's server is not in `java`.
fn served_frames(thread: &Thread) -> usize {
    let served = |frame: &FrameView<'_>| matches!(frame, FrameView::Java { class, .. } if !class.starts_with("java.") && !class.contains("$$Lambda"));
    stack::seen(thread).filter(served).count()
}

/// The number of frames of the program, and of libraries that have called it. The code of a lambda only forwards the call.
fn called_frames(thread: &Thread) -> usize {
    let called = |frame: &FrameView<'_>| match frame {
        FrameView::Java { class, method, .. } => {
            !is_of_jdk(class) && !class.contains("$$Lambda") && !method.starts_with("lambda$")
        }
        _ => false,
    };
    stack::seen(thread).filter(called).count()
}

/// True for a thread that computes, or asks for collections of garbage.
fn goes_on(thread: &Thread) -> bool {
    let activity = thread_activity(thread);
    computes(thread, activity) || activity == Activity::Of(CauseId::Gc)
}

fn computes(thread: &Thread, activity: Activity) -> bool {
    let runs = StateKind::from(thread.state.as_deref().unwrap_or_default()) == StateKind::Running;
    runs && matches!(activity, Activity::Java | Activity::Of(CauseId::YieldSpin | CauseId::NativeCode))
}

/// The thread at the end of the chain of results that main waits for, if it is held up by something else: in a call that
/// computes, for example, or in a wait for another program or for a result that no known thread has to give. Of coroutines it is
/// one that does not suspend.
fn giver<'s>(section: &'s Section, main: &Thread, graph: &LockGraph) -> Option<&'s Thread> {
    if due_to_dumped(main) != Due::Result || waiters_of(main, graph) > 0 {
        return None;
    }
    let by_chain = || {
        let why = DumpedWhy::of(section, main, graph).filter(|why| why.found.is_none() && !why.cycle)?;
        let last = why.links.last().filter(|last| why.links.len() > 1 && last.inside.is_some())?;
        section.threads.iter().find(|thread| thread.sys_tid.or(thread.tid) == last.tid)
    };
    let is_held_up = |thread: &&Thread| is_held_up(thread, graph);
    by_chain().filter(is_held_up).or_else(|| {
        let keeps_others = |thread: &&Thread| !std::ptr::eq(*thread, main) && runs_coroutines(thread);
        let awaits = waits_for(main, CauseId::RunBlocking);
        section.threads.iter().filter(|_| awaits).filter(keeps_others).find(is_held_up)
    })
}

fn is_held_up(thread: &Thread, graph: &LockGraph) -> bool {
    matches!(due_to_dumped(thread), Due::Owed | Due::Result) || waiters_of(thread, graph) > 0
}

/// The number of threads that wait for a lock of this one.
fn waiters_of(thread: &Thread, graph: &LockGraph) -> usize {
    graph.edges.iter().filter(|edge| Some(edge.to) == thread.tid).count()
}

/// True if the thread is the known one.
fn is(known: Option<&Thread>, thread: &Thread) -> bool {
    known.is_some_and(|known| std::ptr::eq(known, thread))
}

/// True for a thread that computes, or waits for something outside of the process.
fn is_outside(thread: &Thread) -> bool {
    !thread.state.as_deref().is_some_and(|state| {
        ["WAITING", "TIMED_WAITING", "BLOCKED"].iter().any(|start| state.starts_with(start))
    })
}

/// The thread whose end main waits for, if there is only one that it can be.
fn joined<'s>(section: &'s Section, main: Option<&Thread>) -> Option<&'s Thread> {
    let main = main.filter(|main| thread_activity(main) == Activity::Of(CauseId::ThreadJoin))?;
    let others = section.threads.iter().filter(|thread| !std::ptr::eq(*thread, main));
    let mut ending = others.filter(|thread| !thread.daemon && own_frames(thread) > 0);
    ending.next().filter(|_| ending.next().is_none())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const JOINS: &str = "WAITING java.lang.Object.wait java.lang.Thread.join a.Main.main";
    const SLEEPS: &str = "TIMED_WAITING java.lang.Thread.sleep a.Main.main";
    const GETS: &str =
        "WAITING jdk.internal.misc.Unsafe.park java.util.concurrent.FutureTask.get a.Main.main";
    const AWAITS: &str =
        "WAITING jdk.internal.misc.Unsafe.park java.util.concurrent.CountDownLatch.await a.Main.main";
    const ENDS: &str = "TIMED_WAITING jdk.internal.misc.Unsafe.park java.util.concurrent.ThreadPoolExecutor.awaitTermination a.Main.main";
    const MEETS: &str =
        "WAITING jdk.internal.misc.Unsafe.park java.util.concurrent.Exchanger.exchange a.Main.main";
    const AWAITS_DEEPER: &str = "WAITING jdk.internal.misc.Unsafe.park java.util.concurrent.CountDownLatch.await a.Main.start a.Main.main";
    const WAITS_FOR_A_TASK: &str = "WAITING java.lang.Object.wait a.Queue.take a.Loop.next a.Loop.run";
    const WAITS_IN_A_TASK: &str =
        "WAITING java.lang.Object.wait a.Promise.sync a.Users.verify a.Task.run a.Loop.run";
    const SLEEPS_IN_A_TASK: &str = "TIMED_WAITING java.lang.Thread.sleep a.Retry.pause a.Mail.send a.Mail.all a.Round.run java.util.concurrent.ThreadPoolExecutor.runWorker";
    const EXITS: &str = "WAITING java.lang.Object.wait java.lang.Thread.join java.lang.ApplicationShutdownHooks.runHooks java.lang.System.exit a.Shipper.run";
    const COMPUTES: &str = "RUNNABLE a.Work.step a.Work.run";
    /// A worker of a pool, in a task whose result is waited for.
    const COMPUTES_IN_A_POOL: &str = "RUNNABLE a.Work.step java.util.concurrent.FutureTask.run java.util.concurrent.ThreadPoolExecutor.runWorker";
    /// The same, blocked at lock 2, which [`ASKS_AS_OWNER`] has.
    const BLOCKED_IN_A_POOL: &str = "BLOCKED a.Book.add -2 java.util.concurrent.FutureTask.run java.util.concurrent.ThreadPoolExecutor.runWorker";
    const ASKS_AS_OWNER: &str = "RUNNABLE java.io.FileInputStream.readBytes a.Prompt.ask +2 a.Prompt.run";
    const READS_LOCKED: &str = "WAITING jdk.internal.misc.Unsafe.park *7 java.util.concurrent.locks.ReentrantReadWriteLock$ReadLock.lock a.Index.size a.Main.main";
    const WRITES_LOCKED: &str = "WAITING jdk.internal.misc.Unsafe.park *7 java.util.concurrent.locks.ReentrantReadWriteLock$WriteLock.lock a.Index.find a.Index.run";
    const LOOPS: &str = "RUNNABLE a.Loop.run";
    const READS: &str =
        "RUNNABLE sun.nio.ch.Net.poll java.net.Socket$SocketInputStream.read a.Peer.ask a.Peer.run";
    const ACCEPTS: &str =
        "RUNNABLE sun.nio.ch.Net.accept java.net.ServerSocket.accept a.Server.next a.Server.run";
    const TAKES: &str = "WAITING jdk.internal.misc.Unsafe.park java.util.concurrent.LinkedBlockingQueue.take a.Belt.pack a.Belt.run";
    const READS_A_STREAM: &str = "WAITING java.util.concurrent.ArrayBlockingQueue.take jdk.internal.net.http.HttpInputStream.read a.Feed.parse a.Main.main";
    const ACQUIRES: &str = "WAITING jdk.internal.misc.Unsafe.park java.util.concurrent.Semaphore.acquire a.Door.enter a.Door.run";
    /// Waits for a result, and owns lock 2.
    const GETS_AS_OWNER: &str =
        "WAITING jdk.internal.misc.Unsafe.park java.util.concurrent.FutureTask.get a.Book.sync +2 a.Book.run";
    /// A worker of a pool that ends if it gets no work.
    const NO_WORK: &str = "TIMED_WAITING jdk.internal.misc.Unsafe.park java.util.concurrent.SynchronousQueue.poll java.util.concurrent.ThreadPoolExecutor.getTask";
    const WATCHES: &str =
        "RUNNABLE sun.nio.fs.LinuxWatchService.poll sun.nio.fs.LinuxWatchService$Poller.run";
    const FILLS: &str = "TIMED_WAITING java.lang.Object.wait java.io.PipedInputStream.awaitSpace java.io.PipedInputStream.receive java.io.PipedOutputStream.write a.Log.emit a.Main.main";
    const NEXT_TICK: &str = "TIMED_WAITING jdk.internal.misc.Unsafe.park java.util.concurrent.ScheduledThreadPoolExecutor$DelayedWorkQueue.take java.util.concurrent.ThreadPoolExecutor.getTask";
    /// Waits for lock 2, which [`OWNS`] has.
    const BLOCKED: &str = "BLOCKED a.Book.add -2 a.Book.run";
    const OWNS: &str = "TIMED_WAITING java.lang.Thread.sleep a.Book.hold +2 a.Book.run";

    /// A dump of these threads: name, and state with frames; `-2` waits for lock 2, `+2` owns it, `*2` is parked for it.
    fn dump(threads: &[(&str, &str)]) -> Dump {
        let mut text = "Full thread dump OpenJDK 64-Bit Server VM (17.0.15+6 mixed mode):\n".to_owned();
        for (number, (name, does)) in (1..).zip(threads) {
            let (daemon, name) = name.strip_prefix("daemon ").map_or(("", *name), |name| ("daemon ", name));
            let mut words = does.split(' ');
            let state = words.next().unwrap();
            text += &format!(
                "\n\"{name}\" #{number} {daemon}prio=5 cpu={number}.00ms tid=0x{number:016x} nid=0x{number:x} runnable\n"
            );
            text += &format!("   java.lang.Thread.State: {state}\n");
            for word in words {
                text += &match word.split_at(1) {
                    ("-", lock) => format!("\t- waiting to lock <0x{lock}> (a a.Lock)\n"),
                    ("*", lock) => format!("\t- parking to wait for  <0x{lock}> (a a.Lock)\n"),
                    ("+", lock) => format!("\t- locked <0x{lock}> (a a.Lock)\n"),
                    _ => format!("\tat {word}(A.java:1)\n"),
                };
            }
        }
        Dump::read(Path::new("dump"), text.as_bytes()).unwrap()
    }

    fn asked(dump: &Dump) -> &str {
        dump.answer().unwrap().asked().unwrap().name.as_deref().unwrap()
    }

    #[test]
    fn claims_order_the_threads() {
        for (main, others, expected) in [
            (JOINS, &[("worker", COMPUTES)][..], "worker"),
            (GETS, &[("worker", COMPUTES)], "main"),
            (GETS, &[("pool-1-thread-1", COMPUTES_IN_A_POOL)], "pool-1-thread-1"),
            (AWAITS, &[("worker", COMPUTES)], "worker"),
            (GETS, &[("pool-1-thread-1", BLOCKED_IN_A_POOL), ("owner", ASKS_AS_OWNER)], "owner"),
            (READS_LOCKED, &[("index", WRITES_LOCKED)], "index"),
            (AWAITS, &[("loop", LOOPS), ("peer", READS)], "main"),
            (SLEEPS, &[("owner", OWNS), ("late", BLOCKED)], "late"),
            (READS, &[("owner", OWNS), ("late", BLOCKED)], "late"),
            (SLEEPS, &[("late", BLOCKED), ("owner", GETS_AS_OWNER)], "owner"),
            (SLEEPS, &[("peer", READS), ("door", ACQUIRES)], "door"),
            (JOINS, &[("loop", LOOPS), ("peer", READS)], "peer"),
            (JOINS, &[("daemon old", COMPUTES), ("new", COMPUTES)], "new"),
            (COMPUTES, &[("worker", COMPUTES)], "main"),
            (AWAITS, &[("loop", WAITS_IN_A_TASK)], "loop"),
            (AWAITS, &[("loop", WAITS_FOR_A_TASK)], "main"),
            (AWAITS, &[("pool-1-thread-1", SLEEPS_IN_A_TASK)], "pool-1-thread-1"),
            (AWAITS, &[("shipper", EXITS)], "shipper"),
            (MEETS, &[("loop", WAITS_IN_A_TASK)], "loop"),
            (MEETS, &[("loop", WAITS_FOR_A_TASK)], "main"),
            (ENDS, &[("loop", WAITS_IN_A_TASK)], "loop"),
            (AWAITS_DEEPER, &[("loop", WAITS_IN_A_TASK)], "main"),
            (JOINS, &[("packer", TAKES)], "packer"),
            (SLEEPS, &[("packer", TAKES)], "packer"),
        ] {
            let threads: Vec<_> = [("main", main)].into_iter().chain(others.iter().copied()).collect();
            assert_eq!(asked(&dump(&threads)), expected, "{threads:?}");
        }
    }

    #[test]
    fn deadlocks_come_before_all_else() {
        let left = ("left", "BLOCKED a.A.a -2 +3 a.A.run");
        let right = ("right", "BLOCKED a.B.b -3 +2 a.B.run");
        assert_eq!(asked(&dump(&[("main", COMPUTES), left, right])), "left");
    }

    #[test]
    fn dumps_say_if_their_thread_may_hang() {
        let says = |threads: &[(&str, &str)]| {
            let dump = dump(threads);
            (dump.may_hang(), dump.is_held_up())
        };
        assert_eq!(says(&[("main", SLEEPS), ("packer", TAKES)]), (false, false));
        assert_eq!(says(&[("main", AWAITS)]), (true, false));
        assert_eq!(says(&[("main", GETS)]), (true, true));
        // Main has ended, and nobody is left who could fill the queue; a client could.
        assert_eq!(says(&[("packer", TAKES)]), (true, false));
        assert_eq!(says(&[("packer", TAKES), ("server", ACCEPTS)]), (false, false));
        assert_eq!(says(&[("main", READS_A_STREAM), ("server", ACCEPTS)]), (true, false));
        // Nor is anybody while main itself takes from the queue; the next task of a schedule could.
        assert_eq!(says(&[("main", TAKES), ("worker", NO_WORK)]), (true, false));
        assert_eq!(says(&[("main", TAKES), ("timer", NEXT_TICK)]), (false, false));
        assert_eq!(says(&[("main", TAKES), ("watch", WATCHES)]), (false, false));
        // A full pipe is a full queue.
        assert_eq!(says(&[("main", FILLS)]), (true, true));
    }

    #[test]
    fn programs_with_a_schedule_serve_beside_a_wait_for_an_end() {
        let serves = |main: &str, other: &str| {
            let dump = dump(&[("main", main), ("worker", other)]);
            let section = dump.answer().unwrap();
            section.serves_beside(section.main().unwrap())
        };
        assert!(serves(ENDS, NEXT_TICK) && serves(JOINS, NEXT_TICK) && serves(AWAITS_DEEPER, NEXT_TICK));
        assert!(!serves(ENDS, NO_WORK) && !serves(GETS, NEXT_TICK));
    }

    #[test]
    fn readers_of_own_connections_wait_for_the_thread_that_has_to_answer() {
        const GETS_IN_A_LOOP: &str = "WAITING jdk.internal.misc.Unsafe.park java.util.concurrent.CompletableFuture.get a.Loop.sell a.Loop.run";
        let asked_if = |connects_to_itself, threads: &[(&str, &str)]| {
            let mut dump = dump(threads);
            dump.sections[0].connects_to_itself = connects_to_itself;
            asked(&dump).to_owned()
        };
        let threads = [("main", READS), ("loop", GETS_IN_A_LOOP)];
        assert_eq!(asked_if(true, &threads), "loop");
        assert_eq!(asked_if(false, &threads), "main", "it may ask another process");
        assert_eq!(asked_if(false, &[threads[0], threads[1], ("server", ACCEPTS)]), "loop", "it serves");
        assert_eq!(
            asked_if(true, &[("main", READS), ("loop", ACCEPTS)]),
            "main",
            "nothing holds the loop up"
        );
        let threads = [("main", SLEEPS), ("client", READS), ("pool-1-thread-1", SLEEPS_IN_A_TASK)];
        assert_eq!(asked_if(true, &threads), "pool-1-thread-1");
    }

    #[test]
    fn writers_are_held_up_and_readers_may_have_nothing_to_answer() {
        const WRITES: &str = "RUNNABLE sun.nio.ch.SocketDispatcher.write0 java.net.Socket$SocketOutputStream.write a.Caster.run";
        const READS_DEEPER: &str = "RUNNABLE sun.nio.ch.SocketDispatcher.read0 java.net.Socket$SocketInputStream.read a.Viewer.next a.Viewer.show a.Viewer.run";
        assert_eq!(asked(&dump(&[("main", SLEEPS), ("viewer", READS_DEEPER), ("caster", WRITES)])), "caster");
    }

    #[test]
    fn main_waits_for_the_thread_that_keeps_its_coroutines() {
        const RUNS_BLOCKING: &str = "TIMED_WAITING jdk.internal.misc.Unsafe.park kotlinx.coroutines.BlockingCoroutine.joinBlocking a.MainKt.main";
        const KEEPS: &str = "WAITING jdk.internal.misc.Unsafe.park java.util.concurrent.FutureTask.get a.Work.step kotlinx.coroutines.DispatchedTask.run";
        let workers = [("main", RUNS_BLOCKING), ("worker-1", KEEPS), ("worker-2", KEEPS)];
        assert_eq!(asked(&dump(&workers)), "worker-1");
        assert_eq!(asked(&dump(&[("main", RUNS_BLOCKING), ("worker-1", SLEEPS_IN_A_TASK)])), "main");
    }

    #[test]
    fn collectors_that_use_the_processor_are_what_a_thread_computes_for() {
        let cause = |collected: u64| {
            let mut dump = dump(&[("main", COMPUTES), ("VM Thread", "RUNNABLE")]);
            for (thread, cpu) in dump.sections[0].threads.iter_mut().zip([1_000_000_000, collected]) {
                (thread.cpu_ns, thread.elapsed_ns) = (Some(cpu), Some(20_000_000_000));
            }
            super::super::Answer::from(&dump).cause.id
        };
        assert_eq!(cause(6_000_000_000), CauseId::Gc);
        assert_eq!(cause(3_000_000_000), CauseId::BusyMethod);
    }

    #[test]
    fn threads_stand_if_they_wait_or_compute_where_they_did() {
        let stands = |before: &str, after: &str| {
            let of = |does| dump(&[("main", JOINS), ("worker", does)]);
            of(after).stands_since(&of(before))
        };
        assert_eq!(stands(ACQUIRES, ACQUIRES), Some(Stands::Waiting));
        assert_eq!(stands(ACQUIRES, COMPUTES), None);
        assert_eq!(stands(COMPUTES, "RUNNABLE a.Work.step a.Work.run"), Some(Stands::Computing));
        assert_eq!(stands(COMPUTES, "RUNNABLE a.Work.other a.Work.run"), None);
    }

    #[test]
    fn cpu_time_tells_one_wait_from_the_next() {
        let of = |cpu, elapsed| {
            let mut dump = dump(&[("main", JOINS), ("worker", ACQUIRES)]);
            for thread in dump.sections.iter_mut().flat_map(|section| &mut section.threads) {
                (thread.cpu_ns, thread.elapsed_ns) = (Some(cpu), Some(elapsed));
            }
            dump
        };
        let before = of(16_170_000, 12_140_000_000);
        assert_eq!(of(17_210_000, 13_190_000_000).stands_since(&before), None);
        assert_eq!(of(16_200_000, 13_190_000_000).stands_since(&before), Some(Stands::Waiting));
    }
}
