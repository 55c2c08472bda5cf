//! A thread's state in a dump, besides its stack, as arguments of an instant on that thread's track.

use answers::dump::{LockKind, Section, Thread, in_words, state_name};
use answers::text::clean;

use super::sink::{OwnedArgs, Value};

/// Maximum number of held locks listed per thread.
const MAX_HELD: usize = 8;

/// Maximum number of frames in an argument, from the innermost on.
const MAX_LISTED_FRAMES: usize = 24;

/// The state of one thread, with owned texts.
#[derive(Debug)]
pub(super) struct DumpedThread {
    /// `dump: Blocked`.
    pub(super) name: String,
    pub(super) args: OwnedArgs,
}

impl DumpedThread {
    /// From a dumped thread. `kind` is what the dump was made for, and `tid_of` maps a VM thread to its tid in
    /// the trace. `stack` has its functions, innermost first.
    pub(super) fn of<'s>(
        kind: &'static str,
        section: &Section,
        thread: &Thread,
        tid_of: impl Fn(&Thread) -> Option<u32>,
        stack: impl Iterator<Item = &'s str>,
    ) -> Self {
        let mut facts = ArgList(Vec::new());
        facts.text("dump_kind", Some(kind.to_owned()));
        let state = clean(state_name(thread)).into_owned();
        facts.text("state", Some(state.clone()));
        facts.text("doing", Some(in_words(thread, None)));
        facts.text("native_state", thread.native_state.map(String::from));
        facts.plain("vm_tid", thread.tid.map(|tid| Value::Uint(tid.into())));
        facts.plain("daemon", thread.daemon.then_some(Value::Bool(true)));
        facts.plain("priority", thread.priority.map(|n| Value::Int(n.into())));
        facts.plain("nice", thread.nice.map(|n| Value::Int(n.into())));
        facts.text("cgroup", thread.cgroup.clone());
        facts.text("sched", thread.sched.clone());
        let since_start = |ticks: Option<u64>| {
            let hz = u64::from(thread.hz.filter(|hz| *hz > 0)?);
            Some(Value::Millis(ticks?.checked_mul(1_000_000_000)? / hz))
        };
        facts.plain("user_ms", since_start(thread.utm));
        facts.plain("system_ms", since_start(thread.stm));
        if let Some([ran, waited, _]) = thread.schedstat {
            facts.plain("cpu_ms", Some(Value::Millis(ran)));
            facts.plain("runnable_ms", Some(Value::Millis(waited)));
        }
        facts.plain("core", thread.core.map(|core| Value::Uint(core.into())));
        if let Some(wanted) = thread.awaited_lock() {
            facts.text("waits_for_lock", Some(object(wanted.class.as_deref(), wanted.address)));
            let owner = wanted.owner.and_then(|tid| section.thread(tid));
            facts.text("held_by", owner.and_then(|owner| owner.name.clone()));
            let tid = owner.and_then(tid_of);
            facts.plain("held_by_tid", tid.map(|tid| Value::Uint(tid.into())));
        }
        let held = thread.locks.iter().filter(|lock| lock.kind == LockKind::Locked);
        let held: Vec<String> =
            held.map(|lock| object(lock.class.as_deref(), lock.address)).take(MAX_HELD).collect();
        facts.text("holds_locks", (!held.is_empty()).then(|| held.join(", ")));
        let mutexes = thread.held_mutexes.iter().take(MAX_HELD).map(String::as_str).collect::<Vec<_>>();
        facts.text("holds_mutexes", (!mutexes.is_empty()).then(|| mutexes.join(", ")));
        let mut stack = stack.peekable();
        let mut listed = stack.by_ref().take(MAX_LISTED_FRAMES).collect::<Vec<_>>().join(" < ");
        if stack.peek().is_some() {
            listed.push_str(" < …");
        }
        facts.text("stack", Some(listed));
        Self { name: format!("dump: {state}"), args: facts.0 }
    }

    /// From main as the app saw it when it detected an ANR: `state` is Java's `Thread.State`.
    pub(super) fn of_snapshot(state: &str) -> Self {
        let mut facts = ArgList(Vec::new());
        facts.text("dump_kind", Some("ANR snapshot".to_owned()));
        facts.text("state", Some(state.to_owned()));
        Self { name: format!("dump: {state}"), args: facts.0 }
    }
}

/// Collects arguments.
struct ArgList(OwnedArgs);

impl ArgList {
    fn text(&mut self, key: &'static str, text: Option<String>) {
        let text = text.filter(|text| !text.is_empty());
        self.0.extend(text.map(|text| (key, Value::Text(clean(&text).into()))));
    }

    fn plain(&mut self, key: &'static str, value: Option<Value<Box<str>>>) {
        self.0.extend(value.map(|value| (key, value)));
    }
}

/// A monitor's object; ART does not name all of them.
pub(super) fn object(class: Option<&str>, address: Option<u64>) -> String {
    let class = class.unwrap_or("an unknown object");
    address.map_or_else(|| class.to_owned(), |address| format!("{class} (0x{address:08x})"))
}
