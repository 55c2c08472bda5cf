//! A dump of all threads, made with JVM TI and JNI alone, in the form of HotSpot's own dumps.
//!
//! ```text
//! Full thread dump by anrscope:
//! All connections of this process end in it.
//! Unchanged for 4.1 s: thread #1
//! Computing for 4.0 s in app.Plan.run: thread #15
//! 4 of 5 samples of thread #15: app.Plan.step < app.Plan.run
//! 1 of 5 samples of thread #15: app.Plan.run
//!
//! "main" #1 prio=5 cpu=81.20ms tid=0x0000000000000001 waiting for monitor entry
//!    java.lang.Thread.State: BLOCKED (on object monitor)
//!     at app.Cart.total(Cart.java:12)
//!     - waiting to lock <0x2a139a55> (a app.Cart) held by thread 14
//!     at app.Main.main(Main.java:7)
//!
//! JNI global refs: 0
//! ```
//!
//! `answers`' reader of HotSpot's dumps (`dump/jvm`) parses it, so every page that shows a dump shows this one. An address
//! is the object's identity hash code, and `tid` is the thread's number once more, since JVM TI knows no addresses.
//!
//! All stacks and states come from one call of `GetAllStackTraces`, and so from one moment. Locks are asked for afterwards,
//! thread by thread: a thread that has got its lock meanwhile has no lock line. We do not take `can_get_owned_monitor_info`,
//! which would list the monitors that a thread owns, because with it HotSpot's compilers keep locks that they would
//! otherwise remove. The owner of a contended monitor is known without it.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use jni::sys::{jint, jlong, jobject};

use crate::connections;
use crate::environment::{Environment, Failed, Line, MethodId, Stack, ThreadInfo};
use crate::java::{Field, Global, Java};
use crate::jvmti::{Capabilities, capability, thread_state};
use crate::pipes;

/// The most frames of a thread that are listed.
pub(crate) const MOST_FRAMES: jint = 256;
/// The most threads that are listed.
const MOST_THREADS: usize = 2_000;
/// The longest text, in bytes: an exit waits until it is written.
const LONGEST: usize = 1 << 20;

/// The parts of JVM TI that a dump can do without. Each costs HotSpot's compilers nothing (`jvmtiManageCapabilities.cpp`,
/// `update`): none makes them keep a lock or a variable that they would otherwise remove.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Extras {
    contended: bool,
    owners: bool,
    files: bool,
    lines: bool,
    pub(crate) cpu: bool,
    /// Events at the begin and the end of each pause for a collection.
    pub(crate) collections: bool,
}

impl Extras {
    /// Takes those that the JVM has to give. HotSpot gives some of them only before it has started.
    pub(crate) fn of(jvmti: Environment) -> Self {
        let takes = |position| jvmti.add_capabilities(&Capabilities::of(&[position])).unwrap_or(false);
        Self {
            contended: takes(capability::CURRENT_CONTENDED_MONITOR),
            owners: takes(capability::MONITOR_INFO),
            files: takes(capability::SOURCE_FILE_NAME),
            lines: takes(capability::LINE_NUMBERS),
            cpu: takes(capability::THREAD_CPU_TIME),
            collections: takes(capability::GARBAGE_COLLECTION_EVENTS),
        }
    }
}

/// The fields of the JDK's classes that a dump reads; they have the same names in Java 8 to 25.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields {
    /// `Thread.tid`, the number of a thread.
    tid: Field,
    /// `Thread.parkBlocker`.
    blocker: Option<Field>,
    /// `AbstractOwnableSynchronizer` and its field `exclusiveOwnerThread`.
    synchronizer: Option<(Global, Field)>,
}

impl Fields {
    /// Finds the fields; `None` if threads have no number. Loads a class of the JDK.
    pub(crate) fn find(java: Java) -> Option<Self> {
        let _frame = java.frame(16);
        let thread = java.class(c"java/lang/Thread")?;
        let synchronizer = || {
            let class = java.class(c"java/util/concurrent/locks/AbstractOwnableSynchronizer")?;
            let owner = java.field_of(class, c"exclusiveOwnerThread", c"Ljava/lang/Thread;")?;
            Some((java.global(class)?, owner))
        };
        Some(Self {
            tid: java.field_of(thread, c"tid", c"J")?,
            blocker: java.field_of(thread, c"parkBlocker", c"Ljava/lang/Object;"),
            synchronizer: synchronizer(),
        })
    }

    /// Returns the number of a thread, which no other thread of the process ever has.
    pub(crate) fn number(&self, java: Java, thread: jobject) -> jlong {
        java.long_in(thread, self.tid)
    }
}

/// A thread that does not go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stuck {
    /// The number of the thread.
    pub(crate) thread: jlong,
    /// For how long, ns.
    pub(crate) ns: u64,
    /// If the thread computes, the methods of each sample, innermost first: it computes in the last one, a method of the program.
    /// Empty if its stack does not change.
    pub(crate) samples: Vec<Vec<MethodId>>,
}

/// The reason for a dump, with a limit of its time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Occasion<'a> {
    /// The threads that do not go on: they are listed first.
    pub(crate) stuck: &'a [Stuck],
    /// The number of the main thread.
    pub(crate) main: jlong,
    /// True if the program ends.
    pub(crate) at_exit: bool,
    /// The time that it may take after the stacks were read: then locks and threads are left out.
    pub(crate) takes: Duration,
}

/// The stacks of all threads at one moment.
#[derive(Debug)]
pub(crate) struct Stacks {
    /// The moment, ns of CLOCK_BOOTTIME.
    pub(crate) at: u64,
    /// Each with the number of its thread.
    pub(crate) all: Vec<(jlong, Stack)>,
}

/// As HotSpot writes below a read of another program's output, whose buffer it locks.
const LOCKED_PIPE: &str =
    "\t- locked <no object reference available> (a java.lang.ProcessImpl$ProcessPipeInputStream)\n";

/// Makes dumps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dumper {
    pub(crate) jvmti: Environment,
    pub(crate) fields: Fields,
    pub(crate) extras: Extras,
    /// The number of the agent's thread, which is left out.
    pub(crate) own: jlong,
}

impl Dumper {
    /// Reads the innermost `most` frames of all threads but the agent's. Stops all threads for a moment. The references
    /// belong to the caller's frame.
    pub(crate) fn read(&self, java: Java, most: jint) -> Result<Stacks, Failed> {
        let at = trace_runtime::boottime();
        let stacks = self.jvmti.stacks(most)?;
        java.reserve_above(stacks.len());
        let numbered = stacks.into_iter().map(|stack| (self.fields.number(java, stack.thread), stack));
        Ok(Stacks { at, all: numbered.filter(|(number, _)| *number != self.own).collect() })
    }

    /// Returns the text of these threads. Runs no Java code.
    pub(crate) fn text(&self, java: Java, stacks: Stacks, occasion: Occasion<'_>) -> String {
        let until = Instant::now() + occasion.takes;
        let mut stacks = stacks.all;
        let is_stuck: HashSet<jlong> = occasion.stuck.iter().map(|stuck| stuck.thread).collect();
        stacks.sort_by_key(|(number, _)| (*number != occasion.main, !is_stuck.contains(number), *number));

        let mut locks = Locks::default();
        let until_locks = until - occasion.takes.mul_f32(0.6);
        // Who is blocked comes first: a wait to be notified has no owner, and servers have many of them.
        let waits = |stack: &Stack| stack.state & thread_state::IN_OBJECT_WAIT != 0;
        let listed = || stacks.iter().take(MOST_THREADS);
        for (number, stack) in
            listed().filter(|(_, stack)| !waits(stack)).chain(listed().filter(|(_, stack)| waits(stack)))
        {
            if Instant::now() >= until_locks {
                locks.cut = true;
                break;
            }
            self.lock_of(java, *number, stack, &mut locks);
        }
        // The owners of locks explain the waits, so they are not left out for lack of room.
        stacks.sort_by_key(|(number, _)| {
            (*number != occasion.main, !is_stuck.contains(number), !locks.owners.contains(number), *number)
        });

        let mut names = Names::default();
        let mut are_pipes = None;
        let mut text = Text::new();
        for stuck in occasion.stuck {
            let mut named = |methods: &Vec<MethodId>| {
                methods.iter().map(|method| names.of(self, java, *method).name.clone()).collect()
            };
            let samples: Vec<Vec<String>> = stuck.samples.iter().map(&mut named).collect();
            text.stuck(stuck, &samples);
        }
        if occasion.at_exit {
            text.line("Taken while the program ends.");
        }
        if connections::end_in(Path::new("/proc/self")) {
            text.line(connections::LINE.trim_end());
        }
        if locks.cut {
            text.line("Some locks were left out: there was no time for them.");
        }
        for (number, stack) in stacks.iter().take(MOST_THREADS) {
            let _frame = java.frame(16);
            if Instant::now() >= until && text.threads > 0 {
                break;
            }
            let Ok(info) = self.jvmti.thread_info(stack.thread) else { continue };
            let cpu_ns = match self.extras.cpu {
                true => self.jvmti.cpu_time(stack.thread).ok(),
                false => None,
            };
            let frames =
                stack.frames.iter().map(|frame| names.of(self, java, frame.method).at(frame.location));
            let mut frames: Vec<String> = frames.collect();
            if frames.first().is_some_and(|frame| frame.starts_with("\tat java.io.FileInputStream.read"))
                && *are_pipes.get_or_insert_with(pipes::are_all_that_is_read)
            {
                let buffered =
                    |frame: &&mut String| frame.starts_with("\tat java.io.BufferedInputStream.read(");
                frames.iter_mut().filter(buffered).for_each(|frame| frame.push_str(LOCKED_PIPE));
            }
            let thread = Thread {
                number: *number,
                info,
                cpu_ns,
                state: stack.state,
                frames: &frames,
                lock: locks.lines.get(number).map(String::as_str),
                owned: locks.owned.get(number).map_or(&[], Vec::as_slice),
            };
            if !text.thread(&thread) {
                break;
            }
        }
        text.end(stacks.len())
    }

    /// Finds the lock that a thread waits for, and who owns it.
    fn lock_of(&self, java: Java, number: jlong, stack: &Stack, locks: &mut Locks) {
        let _frame = java.frame(16);
        let state = stack.state;
        if state & (thread_state::BLOCKED | thread_state::IN_OBJECT_WAIT) != 0 && self.extras.contended {
            let Ok(monitor) = self.jvmti.contended_monitor(stack.thread) else { return };
            let Some(object) = self.object(java, monitor) else { return };
            let blocked = state & thread_state::BLOCKED != 0;
            let owner = match blocked && self.extras.owners {
                true => *locks.known.entry(object.clone()).or_insert_with(|| {
                    let (owner, references) = self.jvmti.monitor_owner(monitor).ok()?;
                    java.reserve_above(references);
                    (!owner.is_null()).then(|| self.fields.number(java, owner))
                }),
                false => None,
            };
            // A thread that was notified enters the monitor again within `wait`.
            let is_in_wait = stack.frames.first().is_some_and(|frame| {
                frame.location < 0
                    && self
                        .jvmti
                        .name_and_descriptor(frame.method)
                        .is_ok_and(|(name, _)| name.starts_with("wait"))
            });
            locks.add(number, wait_line(blocked, is_in_wait, &object, owner), owner);
        } else if state & thread_state::PARKED != 0
            && let Some(field) = self.fields.blocker
        {
            let blocker = java.object_in(stack.thread, field);
            let Some(object) = self.object(java, blocker) else { return };
            locks.add(number, format!("\t- parking to wait for  {object}\n"), None);
            let Some((class, field)) = self.fields.synchronizer else { return };
            if !java.is_instance(blocker, class.0) {
                return;
            }
            let owner = java.object_in(blocker, field);
            if !owner.is_null() {
                locks.own(self.fields.number(java, owner), number, &object);
            }
        }
    }

    /// Names an object as HotSpot does, by its identity; `None` for null.
    fn object(&self, java: Java, object: jobject) -> Option<String> {
        if object.is_null() {
            return None;
        }
        let hash = self.jvmti.hash_code(object).ok()?;
        let class = external(&self.jvmti.signature(java.class_of(object))?);
        // A static synchronized method enters the monitor of its class.
        let of = if class == "java.lang.Class" { self.jvmti.signature(object) } else { None };
        let class = of.map_or(class, |of| format!("java.lang.Class for {}", external(&of)));
        Some(format!("<0x{hash:08x}> (a {class})"))
    }
}

/// The line below the innermost frame of a thread that waits for a monitor.
fn wait_line(blocked: bool, is_in_wait: bool, object: &str, owner: Option<jlong>) -> String {
    let what = match (blocked, is_in_wait) {
        (true, true) => "waiting to re-lock in wait()",
        (true, false) => "waiting to lock",
        (false, _) => "waiting on",
    };
    let owner = owner.map(|owner| format!(" held by thread {owner}")).unwrap_or_default();
    format!("\t- {what} {object}{owner}\n")
}

/// The locks that threads wait for, by the number of the thread.
#[derive(Debug, Default)]
struct Locks {
    lines: HashMap<jlong, String>,
    /// The synchronizers that a thread owns and another one waits for.
    owned: HashMap<jlong, Vec<String>>,
    owners: HashSet<jlong>,
    /// The owners of monitors that were asked for, each of which stops all threads before Java 21.
    known: HashMap<String, Option<jlong>>,
    /// True if there was no time to ask for all.
    cut: bool,
}

impl Locks {
    fn add(&mut self, waiter: jlong, line: String, owner: Option<jlong>) {
        self.lines.insert(waiter, line);
        self.owners.extend(owner);
    }

    fn own(&mut self, owner: jlong, waiter: jlong, object: &str) {
        // It may have got the lock since its stack was read.
        if owner == waiter {
            return;
        }
        self.owners.insert(owner);
        let owned = self.owned.entry(owner).or_default();
        if !owned.iter().any(|known| known == object) {
            owned.push(object.to_owned());
        }
    }
}

/// A method as a frame's line names it.
#[derive(Debug, Default)]
struct Method {
    /// `pkg.Class.method`.
    name: String,
    file: Option<String>,
    lines: Vec<Line>,
}

impl Method {
    /// The line of a frame.
    fn at(&self, location: jlong) -> String {
        let place = match (&self.file, line_at(&self.lines, location)) {
            _ if location < 0 => "Native Method".to_owned(),
            (None, _) => "Unknown Source".to_owned(),
            (Some(file), None) => file.clone(),
            (Some(file), Some(line)) => format!("{file}:{line}"),
        };
        format!("\tat {}({place})\n", self.name)
    }
}

/// Returns the line of an instruction. The entries may have any order (JVMS 4.7.12).
fn line_at(lines: &[Line], location: jlong) -> Option<jint> {
    lines
        .iter()
        .filter(|(start, _)| *start <= location)
        .max_by_key(|(start, _)| *start)
        .map(|(_, line)| *line)
}

/// The methods of one dump; most stacks have the same outer frames.
#[derive(Debug, Default)]
struct Names(HashMap<MethodId, Method>);

impl Names {
    fn of(&mut self, dumper: &Dumper, java: Java, method: MethodId) -> &Method {
        self.0.entry(method).or_insert_with(|| {
            let _frame = java.frame(16);
            let jvmti = dumper.jvmti;
            // A class that was unloaded since the stacks were read has no name any more.
            let class = jvmti.class_of(method).ok();
            let of_class = class.and_then(|class| jvmti.signature(class)).map(|name| external(&name));
            let name = jvmti.name_and_descriptor(method).ok().map(|(name, _)| clean(&name));
            let name = of_class.as_deref().unwrap_or("unknown").to_owned()
                + "."
                + name.as_deref().unwrap_or("unknown");
            Method {
                name,
                file: class
                    .filter(|_| dumper.extras.files)
                    .and_then(|class| jvmti.source_file(class))
                    .map(|file| clean(&file)),
                lines: if dumper.extras.lines { jvmti.lines(method) } else { Vec::new() },
            }
        })
    }
}

/// Returns the name of a class as HotSpot's dumps have it, from its signature. A hidden class has a dot before its number
/// there, which the dump writes as a slash: `a/B$$Lambda.0x1` becomes `a.B$$Lambda/0x1`. Java 8 has `a/B$$Lambda$1/99`.
fn external(signature: &str) -> String {
    let name = signature.strip_prefix('L').and_then(|name| name.strip_suffix(';')).unwrap_or(signature);
    let (name, number) = match name.rsplit_once(['.', '/']) {
        Some((name, number)) if number.starts_with("0x") || number.bytes().all(|b| b.is_ascii_digit()) => {
            (name, Some(number))
        }
        _ => (name, None),
    };
    let mut external = clean(name).replace('/', ".");
    if let Some(number) = number {
        external.push('/');
        external.push_str(number);
    }
    external
}

/// Replaces what would begin another line.
fn clean(text: &str) -> String {
    text.replace(|c: char| c.is_control(), "?")
}

/// A thread of the dump.
#[derive(Debug)]
struct Thread<'a> {
    number: jlong,
    info: ThreadInfo,
    cpu_ns: Option<u64>,
    state: jint,
    /// Whole lines, innermost first.
    frames: &'a [String],
    /// The line below the innermost frame.
    lock: Option<&'a str>,
    owned: &'a [String],
}

/// Returns what a thread does, as the first line says it, and as its state.
fn in_words(state: jint) -> (&'static str, &'static str) {
    let has = |bits| state & bits != 0;
    let timed = has(thread_state::WITH_TIMEOUT);
    let of = |plain, with_timeout| if timed { with_timeout } else { plain };
    if has(thread_state::BLOCKED) {
        ("waiting for monitor entry", "BLOCKED (on object monitor)")
    } else if has(thread_state::SLEEPING) {
        ("waiting on condition", "TIMED_WAITING (sleeping)")
    } else if has(thread_state::IN_OBJECT_WAIT) {
        ("in Object.wait()", of("WAITING (on object monitor)", "TIMED_WAITING (on object monitor)"))
    } else if has(thread_state::PARKED) {
        ("waiting on condition", of("WAITING (parking)", "TIMED_WAITING (parking)"))
    } else if has(thread_state::WAITING) {
        ("waiting on condition", of("WAITING", "TIMED_WAITING"))
    } else if has(thread_state::RUNNABLE) {
        ("runnable", "RUNNABLE")
    } else if has(thread_state::TERMINATED) {
        ("terminated", "TERMINATED")
    } else {
        ("new", "NEW")
    }
}

/// The text of a dump.
#[derive(Debug)]
struct Text {
    text: String,
    threads: usize,
}

impl Text {
    fn new() -> Self {
        Self { text: "Full thread dump by anrscope:\n".to_owned(), threads: 0 }
    }

    /// Adds a line before the threads. The reader skips it, as long as it has no quotation mark.
    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// Adds a thread that does not go on, with the names of its samples' methods.
    fn stuck(&mut self, stuck: &Stuck, samples: &[Vec<String>]) {
        let (seconds, tenths) = (stuck.ns / 1_000_000_000, stuck.ns / 100_000_000 % 10);
        let (how, within) = match samples.first().and_then(|methods| methods.last()) {
            Some(method) => ("Computing", format!(" in {method}")),
            None => ("Unchanged", String::new()),
        };
        self.line(&format!("{how} for {seconds}.{tenths} s{within}: thread #{}", stuck.thread));
        let mut seen: Vec<&Vec<String>> = Vec::new();
        for methods in samples {
            if !seen.contains(&methods) {
                seen.push(methods);
                let count = samples.iter().filter(|other| *other == methods).count();
                let (all, thread) = (samples.len(), stuck.thread);
                self.line(&format!("{count} of {all} samples of thread #{thread}: {}", methods.join(" < ")));
            }
        }
    }

    /// Adds a thread; returns whether there was room for it.
    fn thread(&mut self, thread: &Thread<'_>) -> bool {
        let Thread { number, info, cpu_ns, state, frames, lock, owned } = thread;
        let before = self.text.len();
        let (does, in_state) = in_words(*state);
        let daemon = if info.daemon { "daemon " } else { "" };
        let _ = write!(self.text, "\n\"{}\" #{number} {daemon}prio={} ", clean(&info.name), info.priority);
        if let Some(ns) = cpu_ns {
            let _ = write!(self.text, "cpu={}.{:02}ms ", ns / 1_000_000, ns / 10_000 % 100);
        }
        let _ = write!(self.text, "tid=0x{number:016x} {does}\n   java.lang.Thread.State: {in_state}\n");
        for (index, frame) in frames.iter().enumerate() {
            self.text.push_str(frame);
            if let Some(lock) = lock.filter(|_| index == 0) {
                self.text.push_str(lock);
            }
        }
        if frames.len() >= MOST_FRAMES as usize {
            let _ = writeln!(self.text, "\t({MOST_FRAMES} frames are listed, outer ones are left out)");
        }
        if !owned.is_empty() {
            self.text.push_str("\n   Locked ownable synchronizers:\n");
            owned.iter().for_each(|object| self.text.extend(["\t- ", object, "\n"]));
        }
        let fits = self.text.len() <= LONGEST;
        if fits {
            self.threads += 1;
        } else {
            self.text.truncate(before);
        }
        fits
    }

    /// Ends the dump of a process with so many threads.
    fn end(mut self, all: usize) -> String {
        let left_out = all.saturating_sub(self.threads);
        if left_out > 0 {
            let _ = write!(
                self.text,
                "\n{left_out} of {all} threads are left out: no room or no time for them\n"
            );
        }
        self.text.push_str("\nJNI global refs: 0\n");
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use answers::dump::{Dump, LockKind, Place};

    fn thread<'a>(number: jlong, name: &str, state: jint, frames: &'a [String]) -> Thread<'a> {
        let info = ThreadInfo { name: name.to_owned(), priority: 5, daemon: number > 1 };
        Thread { number, info, cpu_ns: Some(12_345_678), state, frames, lock: None, owned: &[] }
    }

    #[test]
    fn dumps_are_read_back_without_a_warning() {
        let method = |name: &str| Method {
            name: name.into(),
            file: Some("A.java".into()),
            lines: vec![(0, 7), (5, 9)],
        };
        let frames = [method("a.A.total").at(6), method("a.A.main").at(0)];
        let line = wait_line(true, false, "<0x2a139a55> (a a.Cart)", Some(14));
        let mut text = Text::new();
        text.stuck(&Stuck { thread: 1, ns: 4_150_000_000, samples: Vec::new() }, &[]);
        let samples = [["a.B.next", "a.B.spin"], ["a.B.last", "a.B.spin"], ["a.B.next", "a.B.spin"]];
        let samples = samples.map(|methods| methods.map(str::to_owned).to_vec());
        text.stuck(&Stuck { thread: 14, ns: 5_000_000_000, samples: Vec::new() }, &samples);
        text.line("Taken while the program ends.");
        text.line(connections::LINE.trim_end());
        let main = Thread { lock: Some(&line), ..thread(1, "main", 1 | thread_state::BLOCKED, &frames) };
        assert!(text.thread(&main));
        let parked = format!("\t- parking to wait for  {}\n", "<0x00000007> (a a.Sync)");
        let of_parked = [Method { name: "b.B.park".into(), ..Method::default() }.at(-1)];
        let state = 1 | thread_state::WAITING | thread_state::PARKED | thread_state::WITH_TIMEOUT;
        assert!(text.thread(&Thread { lock: Some(&parked), ..thread(13, "a \"b\"\nc", state, &of_parked) }));
        let owned = ["<0x00000007> (a a.Sync)".to_owned()];
        let owner = Thread { owned: &owned, ..thread(14, "owner", 1 | thread_state::RUNNABLE, &frames) };
        assert!(text.thread(&owner));
        let text = text.end(5);
        assert!(text.contains("\n2 of 5 threads are left out"), "{text}");

        let dump = Dump::read(Path::new("dump"), text.as_bytes()).unwrap();
        assert_eq!(dump.warnings, Vec::<String>::new(), "{text}");
        let [section] = &dump.sections[..] else { panic!("{text}") };
        assert!(section.ended && section.threads.len() == 3, "{section:?}");
        assert_eq!((section.connects_to_itself, section.left_out), (true, 2));
        assert_eq!(section.facts.len(), 1, "only the title is a fact: {:?}", section.facts);
        let [_, spins] = &section.standing[..] else { panic!("{:?}", section.standing) };
        let read = spins.samples.iter().map(|sample| (sample.count, sample.methods.clone()));
        assert_eq!(read.collect::<Vec<_>>(), [(2, samples[0].clone()), (1, samples[1].clone())]);
        let [main, waiter, owner] = &section.threads[..] else { panic!("{text}") };
        assert_eq!((main.tid, main.name.as_deref(), main.daemon), (Some(1), Some("main"), false));
        assert_eq!(
            (main.state.as_deref(), main.cpu_ns),
            (Some("BLOCKED (on object monitor)"), Some(12_340_000))
        );
        assert_eq!(main.locks.len(), 1);
        let lock = &main.locks[0];
        assert_eq!((lock.kind, lock.owner, lock.frame), (LockKind::WaitingToLock, Some(14), Some(0)));
        let answers::dump::Frame::Java(frame) = &main.frames[0] else { panic!() };
        assert_eq!(frame.place, Place::in_file("A.java", Some(9)));
        assert_eq!(
            (waiter.name.as_deref(), waiter.state.as_deref()),
            (Some("a \"b\"?c"), Some("TIMED_WAITING (parking)"))
        );
        assert_eq!((waiter.locks[0].kind, waiter.locks[0].owner), (LockKind::ParkingFor, Some(14)));
        assert_eq!(owner.locks[0].kind, LockKind::Owned);
    }

    #[test]
    fn states_are_those_of_hotspot() {
        for (state, does, in_state) in [
            (0x5, "runnable", "RUNNABLE"),
            (0x400005, "runnable", "RUNNABLE"),
            (0x401, "waiting for monitor entry", "BLOCKED (on object monitor)"),
            (0x191, "in Object.wait()", "WAITING (on object monitor)"),
            (0x1a1, "in Object.wait()", "TIMED_WAITING (on object monitor)"),
            (0x291, "waiting on condition", "WAITING (parking)"),
            (0xe1, "waiting on condition", "TIMED_WAITING (sleeping)"),
            (0, "new", "NEW"),
        ] {
            assert_eq!(in_words(state), (does, in_state), "{state:#x}");
        }
    }

    #[test]
    fn places_are_those_of_hotspot() {
        let method =
            Method { name: "A.b".into(), file: Some("A.java".into()), lines: vec![(9, 3), (0, 1), (4, 2)] };
        assert_eq!(method.at(8), "\tat A.b(A.java:2)\n");
        assert_eq!(method.at(20), "\tat A.b(A.java:3)\n");
        assert_eq!(method.at(-1), "\tat A.b(Native Method)\n");
        let method = Method { lines: Vec::new(), ..method };
        assert_eq!(method.at(8), "\tat A.b(A.java)\n");
        assert_eq!(Method { file: None, ..method }.at(8), "\tat A.b(Unknown Source)\n");
    }

    #[test]
    fn class_names_keep_the_number_of_a_hidden_class() {
        for (signature, expected) in [
            ("La/b/C$D;", "a.b.C$D"),
            ("LMain;", "Main"),
            ("La/B$$Lambda.0x7f01;", "a.B$$Lambda/0x7f01"),
            ("La/B$$Lambda$1/99;", "a.B$$Lambda$1/99"),
            ("[I", "[I"),
            ("[Ljava/lang/String;", "[Ljava.lang.String;"),
        ] {
            assert_eq!(external(signature), expected);
        }
    }

    #[test]
    fn threads_that_do_not_fit_are_left_out_whole() {
        let frames = vec!["\tat a.B.c(D.java:1)\n".repeat(100); MOST_FRAMES as usize];
        let mut text = Text::new();
        let fitted = (1..100).take_while(|number| text.thread(&thread(*number, "t", 5, &frames))).count();
        let text = text.end(99);
        assert!(fitted > 1 && text.len() <= LONGEST + 100, "{fitted}");
        assert!(text.contains(&format!("\n{} of 99 threads are left out", 99 - fitted)));
        let dump = Dump::read(Path::new("dump"), text.as_bytes()).unwrap();
        assert_eq!(dump.sections[0].threads.len(), fitted);
    }
}
