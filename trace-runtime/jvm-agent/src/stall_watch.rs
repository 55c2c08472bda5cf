//! Takes a dump of all threads when one does not go on, and when the program ends while one does not.
//!
//! A recording shows in which call a thread is, but not on which line, nor in what the JDK's own methods wait, nor what
//! methods do that are not traced. So the agent samples all stacks about once a second, and if [a thread is
//! stuck](crate::stuck_threads), it adds a [dump](crate::thread_dump) to the recording. For example, main waits for a lock:
//! after four seconds the recording has main's lines, the lock and its owner, and the owner's lines.
//!
//! Sampling stops all threads for a moment: 0.1 ms for 7 of them, and 2 ms for 100 with 51 frames each. The interval grows
//! with the cost of the last samples, so that it is at most a thousandth of the time. A program that is busy in many ways
//! would fill the recording with dumps, so there are at most 24, and the later ones are further apart.
//!
//! SIGINT, SIGTERM, SIGHUP and `System.exit` all lead to the event `VMDeath`, and SIGKILL to none. There the last dump is
//! taken, with a limit of time, since the exit waits for it.
//!
//! The thread of the agent is one that the program does not see: it is missing in `Thread.activeCount` and in
//! `Thread.getAllStackTraces`.

use std::collections::{HashMap, HashSet};
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, TryLockError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use jni::sys::{JNIEnv, jint, jlong, jobject, jvalue};

use crate::agent::Agent;
use crate::environment::{Environment, Failed, MethodId};
use crate::java::Java;
use crate::jvmti::{Env, event, thread_state};
use crate::loaders;
use crate::stuck_threads::{Sample, Threads};
use crate::thread_dump::{self, Dumper, Fields, Occasion, Stacks, Stuck};

/// The shortest interval between two samples.
const INTERVAL: Duration = Duration::from_secs(1);
/// Sampling takes at most one part in so many of the time.
const COST: u32 = 1_000;
/// The most frames of a sample: more of them say little about whether a thread goes on.
const MOST_FRAMES: jint = 64;
/// The most methods about which the watch remembers whether they are the program's.
const MOST_METHODS: usize = 1 << 16;
/// The most stacks that the watch remembers to be in a dump.
const MOST_STACKS: usize = 1 << 16;

/// The time that a dump may take while the program runs. Only its stacks stop the program.
const DUMP_TAKES: Duration = Duration::from_millis(200);
/// The time that the last dump may take after its stacks were read: the exit waits for it.
const LAST_DUMP_TAKES: Duration = Duration::from_millis(20);
/// The time that an exit waits for a sample that is being taken.
const EXIT_WAITS: Duration = Duration::from_millis(5);

static WATCH: OnceLock<Watch> = OnceLock::new();

/// The watch of this process.
#[derive(Debug)]
struct Watch {
    dumper: Dumper,
    /// The number of the main thread.
    main: jlong,
    state: Mutex<State>,
    /// Nothing is recorded now.
    paused: AtomicBool,
    /// The watch has ended: the program ends, or the watch had a fault.
    over: AtomicBool,
}

/// Results of earlier samples. Only the agent's thread locks them for longer than some microseconds, and it waits for no
/// other thread meanwhile, except that the JVM stops all of them.
#[derive(Debug, Default)]
struct State {
    threads: Threads,
    /// Known methods, and whether they are the program's.
    of_program: HashMap<MethodId, bool>,
    /// The stacks that dumps have shown.
    shown: HashSet<u64>,
    pace: Pace,
}

impl State {
    /// Forgets all but the dumps that were taken: what comes later is shown anew.
    fn forget(&mut self) {
        *self = Self { pace: self.pace, ..Self::default() };
    }
}

/// Limits the dumps of a recording.
#[derive(Clone, Copy, Debug, Default)]
struct Pace {
    taken: u32,
    /// The time of the last dump, ns.
    last: u64,
}

impl Pace {
    const MOST: u32 = 24;
    /// The interval doubles after so many.
    const DOUBLES_AFTER: u32 = 8;
    /// The interval between the first dumps, ns.
    const FIRST_NS: u64 = 5_000_000_000;

    fn allows(self, at: u64) -> bool {
        let interval = Self::FIRST_NS << (self.taken / Self::DOUBLES_AFTER);
        self.taken < Self::MOST && (self.taken == 0 || at.saturating_sub(self.last) >= interval)
    }
}

/// Starts the watch, or continues it. `main` is the main thread, if it is known. A failure is a notice: then the recording has no
/// dumps.
pub(crate) fn start(agent: &Agent, java: Java, main: Option<jobject>) {
    if let Some(watch) = WATCH.get() {
        watch.paused.store(false, Ordering::Release);
    } else if let Err(why) = begin(agent, java, main) {
        trace_runtime::notice(&format!("no stacks are taken when the program hangs: {why}"));
    }
}

/// Takes no samples until the next start.
pub(crate) fn pause() {
    if let Some(watch) = WATCH.get() {
        watch.paused.store(true, Ordering::Release);
    }
}

fn begin(agent: &Agent, java: Java, main: Option<jobject>) -> Result<(), String> {
    let _frame = java.frame(32);
    let jvmti = agent.jvmti;
    let fields = Fields::find(java).ok_or("threads of this JVM have no number")?;
    let thread = agent_thread(jvmti, java).ok_or("the JVM makes no thread for the agent")?;
    let dumper = Dumper { jvmti, fields, extras: agent.extras, own: fields.number(java, thread) };
    let main = main.map_or_else(|| main_number(&dumper, java), |main| fields.number(java, main));
    let [paused, over] = [const { AtomicBool::new(false) }; 2];
    let watch = Watch { dumper, main, state: Mutex::default(), paused, over };
    WATCH.set(watch).map_err(|_| "it was started before")?;
    let words = |failed: Failed| failed.to_string();
    jvmti.run_thread(thread, body).map_err(words)?;
    jvmti.notify(event::VM_DEATH, true).map_err(words)
}

/// Returns the number of the thread that runs `main`, in a program that runs already: the oldest with that name. 0 if it has
/// ended.
fn main_number(dumper: &Dumper, java: Java) -> jlong {
    let stacks = dumper.read(java, 1).map(|stacks| stacks.all).unwrap_or_default();
    let is_main = |thread| dumper.jvmti.thread_info(thread).is_ok_and(|info| info.name == "main");
    let named = stacks.into_iter().filter(|(_, stack)| {
        let _frame = java.frame(16);
        is_main(stack.thread)
    });
    named.map(|(number, _)| number).min().unwrap_or(0)
}

/// Creates the `java.lang.Thread` of the agent, in the JVM's own group. Runs Java code of the JDK.
fn agent_thread(jvmti: Environment, java: Java) -> Option<jobject> {
    let group = jvmti.top_thread_groups().ok()?.first().copied()?;
    let class = java.class(c"java/lang/Thread")?;
    let name = java.string("anrscope-agent")?;
    let arguments = [jvalue { l: group }, jvalue { l: name }];
    java.create(class, c"(Ljava/lang/ThreadGroup;Ljava/lang/String;)V", &arguments)
}

unsafe extern "system" fn body(_jvmti: *mut Env, jni: *mut JNIEnv, _: *mut c_void) {
    let Some(watch) = WATCH.get() else { return };
    // SAFETY: the JVM passes this thread's environment, which is used until the thread ends.
    let Some(java) = (unsafe { Java::new(jni) }) else { return };
    let jvmti = watch.dumper.jvmti;
    let Ok(pause) = jvmti.raw_monitor(c"anrscope-agent") else {
        return watch.ends("the JVM makes no monitor for the agent");
    };
    let mut costs = [Duration::ZERO; 4];
    loop {
        // A busy machine makes single samples look expensive, a program with many threads makes all so.
        let interval = INTERVAL.max(costs.into_iter().min().unwrap_or_default() * COST);
        let slept = jvmti.sleep(&pause, interval);
        if watch.over.load(Ordering::Acquire) {
            return;
        }
        if watch.paused.load(Ordering::Acquire) && slept.is_ok() {
            watch.state().forget();
            continue;
        }
        match slept.map(|()| watch.guarded(|| watch.look(java))) {
            Ok(Some(Ok(cost))) => costs = [costs[1], costs[2], costs[3], cost],
            Ok(Some(Err(failed))) | Err(failed) => return watch.ends(&failed.to_string()),
            Ok(None) => return,
        }
    }
}

/// The program ends: takes the last dump if a thread does not go on. Returns soon, whatever the threads do.
pub(crate) fn at_exit(java: Java) {
    let Some(watch) = WATCH.get() else { return };
    if !watch.over.load(Ordering::Acquire) && !watch.paused.load(Ordering::Acquire) {
        // A failure of JVM TI this late leaves the recording as it is.
        let _ = watch.guarded(|| watch.last_look(java));
        watch.over.store(true, Ordering::Release);
    }
}

impl Watch {
    /// Runs a part of the watch; a panic ends it.
    fn guarded<R>(&self, work: impl FnOnce() -> R) -> Option<R> {
        let result = catch_unwind(AssertUnwindSafe(work)).ok();
        if result.is_none() {
            self.ends("the agent had a fault");
        }
        result
    }

    /// Ends the watch, with a notice unless the program ends, when JVM TI answers no more.
    fn ends(&self, why: &str) {
        if !self.over.swap(true, Ordering::AcqRel) {
            trace_runtime::notice(&format!("no more stacks are taken when the program hangs: {why}"));
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Takes a sample, and a dump if a thread is stuck where no dump has shown it. Returns the cost of the sample.
    fn look(&self, java: Java) -> Result<Duration, Failed> {
        let begun = Instant::now();
        let (at, samples) = self.samples(java)?;
        let mut state = self.state();
        let State { threads, of_program, .. } = &mut *state;
        if of_program.len() > MOST_METHODS {
            of_program.clear();
        }
        // A dump shows all of a wait. A thread that can run, and yet stays where it is, says more by the time for which it does.
        let waiting = samples.iter().filter(|sample| sample.cpu.is_none());
        let waits: Vec<u64> = waiting.map(Sample::stack).collect();
        let is_of_program = |method| self.is_of_program(java, of_program, method);
        let paused = trace_runtime::paused_until(at);
        let stuck = threads.take(at, paused, samples, MOST_FRAMES as usize, is_of_program);
        let cost = begun.elapsed();
        let is_new = stuck.iter().any(|stuck| !state.shown.contains(&stuck.stack));
        if is_new && state.pace.allows(at) {
            if state.shown.len() > MOST_STACKS {
                state.shown.clear();
            }
            state.shown.extend(stuck.iter().map(|stuck| stuck.stack).chain(waits));
            state.pace = Pace { taken: state.pace.taken + 1, last: at };
            // The exit of the program must not wait for the dump.
            drop(state);
            let stuck: Vec<Stuck> = stuck.into_iter().map(|stuck| stuck.stuck).collect();
            let _frame = java.frame(64);
            let stacks = self.dumper.read(java, thread_dump::MOST_FRAMES)?;
            self.record(java, stacks, &stuck, false);
        }
        Ok(cost)
    }

    /// Takes the last dump if a thread is where the last sample has shown it, or main has not returned. The thread that ends
    /// the program does not count. One reading of the stacks serves both questions, since the exit waits for it.
    fn last_look(&self, java: Java) -> Result<(), Failed> {
        let _frame = java.frame(64);
        let ending = self.dumper.fields.number(java, self.dumper.jvmti.current_thread()?);
        let stacks = self.dumper.read(java, thread_dump::MOST_FRAMES)?;
        let state = self.state_soon();
        let mut methods = HashMap::new();
        let mut stuck = Vec::new();
        let mut main_runs = false;
        for (thread, stack) in stacks.all.iter().filter(|(thread, _)| *thread != ending) {
            let frames = &stack.frames[..stack.frames.len().min(MOST_FRAMES as usize)];
            if !frames.iter().any(|frame| self.is_of_program(java, &mut methods, frame.method)) {
                continue;
            }
            let thread = *thread;
            main_runs |= thread == self.main;
            if let Some(ns) =
                state.as_ref().and_then(|state| state.threads.unchanged(stacks.at, thread, frames))
            {
                stuck.push(Stuck { thread, ns, samples: Vec::new() });
            }
        }
        drop(state);
        if main_runs || !stuck.is_empty() {
            self.record(java, stacks, &stuck, true);
        }
        Ok(())
    }

    /// Locks the state if the agent's thread leaves it soon.
    fn state_soon(&self) -> Option<MutexGuard<'_, State>> {
        let until = Instant::now() + EXIT_WAITS;
        loop {
            match self.state.try_lock() {
                Ok(state) => return Some(state),
                Err(TryLockError::WouldBlock) if Instant::now() < until => sleep(Duration::from_micros(200)),
                Err(_) => return None,
            }
        }
    }

    /// Adds a dump of these stacks to the recording.
    fn record(&self, java: Java, stacks: Stacks, stuck: &[Stuck], at_exit: bool) {
        let takes = if at_exit { LAST_DUMP_TAKES } else { DUMP_TAKES };
        let at = stacks.at;
        let text = self.dumper.text(java, stacks, Occasion { stuck, main: self.main, at_exit, takes });
        trace_runtime::record_dump(at, text.as_bytes());
    }

    /// Samples all threads of the program.
    fn samples(&self, java: Java) -> Result<(u64, Vec<Sample>), Failed> {
        let _frame = java.frame(64);
        let stacks = self.dumper.read(java, MOST_FRAMES)?;
        let of_java = stacks.all.into_iter().filter(|(_, stack)| !stack.frames.is_empty());
        let samples = of_java.map(|(thread, stack)| {
            let can_run = stack.state & thread_state::RUNNABLE != 0 && self.dumper.extras.cpu;
            let cpu = if can_run { self.dumper.jvmti.cpu_time(stack.thread).ok() } else { None };
            Sample { thread, frames: stack.frames, cpu }
        });
        Ok((stacks.at, samples.collect()))
    }

    /// True if a method is the program's: its class is not of the JDK, nor the recorder's.
    fn is_of_program(&self, java: Java, known: &mut HashMap<MethodId, bool>, method: MethodId) -> bool {
        *known.entry(method).or_insert_with(|| {
            let _frame = java.frame(16);
            let jvmti = self.dumper.jvmti;
            let Ok(class) = jvmti.class_of(method) else { return false };
            // The boot loader has the JDK's classes and the recorder's.
            jvmti.loader(class).is_ok_and(|loader| !loader.is_null() && !loaders::is_jdks(jvmti, loader))
                && jvmti.class_name(class).is_some_and(|name| !loaders::is_of_jdk(name.as_bytes()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dumps_become_rarer_and_end() {
        const SECOND: u64 = 1_000_000_000;
        let mut pace = Pace::default();
        let taken = (100..1_000).filter(|second| {
            let allowed = pace.allows(second * SECOND);
            if allowed {
                pace = Pace { taken: pace.taken + 1, last: second * SECOND };
            }
            allowed
        });
        let taken: Vec<u64> = taken.collect();
        assert_eq!(taken.len(), 24);
        let apart: Vec<u64> = taken.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert_eq!((apart[0], apart[6], apart[7], apart[15], apart[22]), (5, 5, 10, 20, 20));
    }
}
