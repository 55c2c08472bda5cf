//! What the native stacks of the thread that hung show: what it does, in which function, and who owns the mutex that it
//! waits for.

use std::collections::{BTreeMap, HashSet};

use trace_format::sections::native_frames::FrameKind;

use super::activity::{Activity, FrameView, classify, counted, is_stub, parts};
use super::cause::Evidence;
use super::id::CauseId;
use super::kind::CauseKind;
use super::observed::{Observed, is_half};
use super::stack::{MAX_STACK_FRAMES, Site, StackLine};
use super::{Owner, is_own_library};
use crate::dump::LockGraph;
use crate::native::{Frame, NativeStacks, ThreadStack};
use crate::words::seconds;

/// Number of innermost frames in which a binder call shows.
const CALLING_FRAMES: usize = 6;

/// The function that most stacks are in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct NativeRoot {
    pub(crate) site: Site,
    /// The file name of the library that the function is in.
    pub(crate) library: String,
    /// The native method of Java's that called it.
    pub(crate) under: Option<String>,
    /// The number of stacks that are in it.
    pub(crate) count: u64,
}

/// What native stacks of one thread show.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct NativeSummary {
    /// The thread in words: `main`, or its name.
    pub(crate) thread: String,
    /// The number of stacks.
    pub(crate) stacks: u64,
    /// The number of stacks per activity, most frequent first.
    pub(crate) activity: Vec<(Activity, u64)>,
    pub(crate) root: Option<NativeRoot>,
    /// The last stack in that function, innermost frame first; each frame has the number of stacks that have it.
    pub(crate) heaviest: Vec<StackLine>,
    /// Why that stack ends; empty if it is complete.
    pub(crate) end: String,
    /// The system call that the thread was in, with the owner of the mutex by name.
    pub(crate) call: Option<String>,
    /// The chain of owners: who owns the mutex that the thread waits for, who owns the mutex that this thread waits for, ...
    pub(crate) owners: Vec<Owner>,
    /// The threads of a deadlock of mutexes; empty without one.
    pub(crate) cycle: Vec<String>,
    /// How long the thread was in what the stacks show, ns, and whether that is a lower limit.
    pub(crate) lasted: u64,
    pub(crate) at_least: bool,
}

impl NativeSummary {
    /// The stacks of thread `tid` from `since` to `until`; `None` without any. `name_of` names a thread.
    pub(crate) fn of(
        all: &NativeStacks,
        tid: u32,
        (since, until): (u64, u64),
        name_of: &dyn Fn(u32) -> String,
    ) -> Option<Self> {
        let stacks = || {
            all.of_thread(tid, since, until).filter(|stack| !stack.frames.is_empty() || stack.call.is_some())
        };
        let last = stacks().last()?;
        let mut found = Self { thread: name_of(tid), lasted: until.saturating_sub(since), ..Self::default() };
        // By function and library: how many, and the last one.
        let mut roots: BTreeMap<(String, String), (u64, &ThreadStack, NativeRoot)> = BTreeMap::new();
        for stack in stacks() {
            found.stacks += 1;
            if let Some(root) = root(stack) {
                let key = (root.site.name.clone(), root.library.clone());
                let entry = roots.entry(key).or_insert_with(|| (0, stack, root.clone()));
                *entry = (entry.0 + 1, stack, root);
            }
        }
        found.activity = counted(stacks().map(doing));
        let most = roots.into_values().max_by_key(|(count, stack, _)| (*count, stack.at));
        let shown = most.as_ref().map_or(last, |(_, stack, _)| stack);
        found.root = most.map(|(count, _, root)| NativeRoot { count, ..root });
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        for stack in stacks() {
            let titles: HashSet<String> =
                stack.frames.iter().take(MAX_STACK_FRAMES).map(Frame::title).collect();
            titles.into_iter().for_each(|title| *counts.entry(title).or_default() += 1);
        }
        let line =
            |frame: &Frame| StackLine::captured(frame, counts.get(&frame.title()).copied().unwrap_or(1));
        found.heaviest = shown.frames.iter().take(MAX_STACK_FRAMES).map(line).collect();
        found.end = shown.end.clone();
        found.call = call_words(shown, name_of);
        (found.owners, found.cycle) = owners(all, tid, (since, until), name_of);
        Some(found)
    }

    /// Evidence that half of the stacks or more show one of these activities.
    pub(super) fn shows(&self, what: impl Fn(Activity) -> bool) -> Option<(Activity, Evidence)> {
        let fits = || self.activity.iter().filter(|(activity, _)| what(*activity));
        let count = fits().map(|(_, count)| *count).sum::<u64>();
        let (first, _) = fits().next()?;
        is_half(count, self.stacks).then(|| (*first, Evidence::new(0, self.finding())))
    }

    /// Whether most stacks are in Java code, or show nothing: then Java's samples or recorded calls say more.
    pub(super) fn is_about_java(&self) -> bool {
        self.activity
            .first()
            .is_none_or(|(activity, _)| matches!(activity, Activity::Java | Activity::Unclear))
    }

    /// `main was in SkImage::decode (libskia.so) under com.acme.Codec.nativeDecode for 6.100 s: 5 of 5 native stacks`.
    pub(crate) fn finding(&self) -> String {
        let Self { thread, stacks, .. } = self;
        let call = self.call.as_ref().map_or_else(String::new, |call| format!(", {call}"));
        let for_long = match (self.lasted, self.at_least) {
            (0, _) => String::new(),
            (lasted, true) => format!(" for at least {}", seconds(lasted)),
            (lasted, false) => format!(" for {}", seconds(lasted)),
        };
        let Some(NativeRoot { site, library, under, count }) = &self.root else {
            let top = self.heaviest.first().map_or("native code", |line| &line.site.name);
            return format!("{thread} was in {top}{call}{for_long}: {stacks} of {stacks} native stacks");
        };
        let library = if library.is_empty() || site.name.starts_with(library) {
            String::new()
        } else {
            format!(" ({library})")
        };
        let under = under.as_ref().map_or_else(String::new, |under| format!(" under {under}"));
        format!(
            "{thread} was in {}{library}{under}{call}{for_long}: {count} of {stacks} native stacks",
            site.name
        )
    }

    /// Whether the answer shows this stack: recorded calls or samples of Java's stack say more about Java code.
    pub(super) fn is_heaviest(&self, facts: &Observed) -> bool {
        let elsewhere = !facts.recorded.is_empty() || facts.sampled.samples > 0;
        let is_java_better = self.is_about_java() && elsewhere;
        !self.heaviest.is_empty() && !is_java_better
    }
}

/// What a stack shows.
fn doing(stack: &ThreadStack) -> Activity {
    // The call is known even if its function has no name.
    let symbol = match stack.call.as_deref() {
        Some("futex") => Some("futex_wait"),
        other => other,
    };
    let call = symbol.map(|symbol| FrameView::Native { symbol, library: "/libc.so" });
    let frames = call.into_iter().chain(stack.frames.iter().map(view));
    let in_binder = || {
        let inner = stack.frames.iter().filter_map(|frame| frame.native.as_ref()).take(CALLING_FRAMES);
        inner.map(|place| place.library()).any(|library| matches!(library, "libbinder.so" | "libhwbinder.so"))
    };
    if stack.call.as_deref() == Some("ioctl") && in_binder() {
        return Activity::Of(CauseId::BinderCall);
    }
    // A descriptor can be anything: only Java's method says that it is a file.
    let is_file = |activity: Activity| activity == Activity::Of(CauseId::DiskIo);
    let java = || stack.frames.iter().filter(|frame| frame.is_java()).map(view);
    let found = classify(frames, "");
    if is_file(found) && !is_file(classify(java(), "")) { Activity::Of(CauseId::NativeCode) } else { found }
}

fn view(frame: &Frame) -> FrameView<'_> {
    match &frame.native {
        Some(place) => FrameView::Native { symbol: &frame.function, library: &place.path },
        None => {
            let (class, method) = parts(&frame.function);
            FrameView::Java { class, method, native: frame.is_native_method }
        }
    }
}

/// The function to name: the innermost one that is not the C library's way into the kernel, nor a standard library's. Without
/// a name it counts if it is the app's own; else the next one with a name does.
fn root(stack: &ThreadStack) -> Option<NativeRoot> {
    let java = stack.frames.iter().position(is_java_code);
    let (native, outer) = stack.frames.split_at(java.unwrap_or(stack.frames.len()));
    let under = outer.iter().find(|frame| frame.is_java()).map(|frame| frame.function.to_string());
    let candidates = || {
        native.iter().filter_map(|frame| {
            let place = frame.native.as_ref()?;
            (!is_stub(view(frame))).then_some((frame, place))
        })
    };
    let is_known = |(frame, _): &(&Frame, _)| !frame.function.is_empty();
    let (frame, place) = candidates()
        .find(|(frame, place)| !frame.function.is_empty() || is_own_library(&place.path))
        .or_else(|| candidates().find(is_known))
        .or_else(|| candidates().next())?;
    let site = StackLine::captured(frame, 1).site;
    Some(NativeRoot { site, library: place.library().to_owned(), under, count: 1 })
}

/// Whether a frame stands for Java code.
fn is_java_code(frame: &Frame) -> bool {
    let generated = |kind| matches!(kind, FrameKind::Jit | FrameKind::Interpreter);
    frame.native.as_ref().is_none_or(|place| generated(place.kind) || frame.function.starts_with("art_"))
}

/// The system call, with the owner of the mutex by name.
fn call_words(stack: &ThreadStack, name_of: &dyn Fn(u32) -> String) -> Option<String> {
    let owner =
        stack.owner.map(|owner| format!("waits for a mutex owned by \"{}\" (tid {owner})", name_of(owner)));
    match (&stack.call, owner) {
        (Some(call), Some(owner)) => Some(format!("in {call} ({owner})")),
        (Some(call), None) => Some(format!("in {call}")),
        (None, owner) => owner,
    }
}

/// The owners of mutexes from thread `tid` on, and the threads of a deadlock: the last stack of each thread counts.
fn owners(
    all: &NativeStacks,
    tid: u32,
    (since, until): (u64, u64),
    name_of: &dyn Fn(u32) -> String,
) -> (Vec<Owner>, Vec<String>) {
    // The owner's stack is taken after that of the thread that waits.
    let last = |tid| all.of_thread(tid, since, until.saturating_add(MAX_LATER)).last();
    let mut chain = Vec::new();
    let mut passed = vec![tid];
    let mut next = last(tid).and_then(|stack| stack.owner);
    while let Some(owner) = next.take().filter(|_| chain.len() < LockGraph::MAX_CHAIN) {
        if let Some(first) = passed.iter().position(|known| *known == owner) {
            return (chain, passed[first..].iter().map(|tid| name_of(*tid)).collect());
        }
        passed.push(owner);
        let Some(stack) = last(owner) else {
            chain.push(Owner::unknown(&name_of(owner), owner, None));
            break;
        };
        let lines: Vec<StackLine> = stack
            .frames
            .iter()
            .take(MAX_STACK_FRAMES)
            .map(|frame| StackLine { samples: None, ..StackLine::captured(frame, 1) })
            .collect();
        let activity = doing(stack).words().to_owned();
        let root = root(stack).map(|root| root.site).or_else(|| super::own_site(&lines));
        chain.push(Owner { thread: name_of(owner), tid: owner, lock: None, activity, root, stack: lines });
        next = stack.owner;
    }
    (chain, Vec::new())
}

/// Time from a stack of a thread to that of the owner of its mutex, ns.
pub(crate) const MAX_LATER: u64 = 1_000_000_000;

impl Observed {
    /// The function in native code that the cause is about: for native code, and for waits in it without a method of the app's.
    pub(super) fn native_root(&self, cause: CauseId) -> Option<&Site> {
        let native = self.native.as_ref()?;
        let root = native.root.as_ref().filter(|root| is_half(root.count, native.stacks))?;
        let in_native = cause.kind() == CauseKind::NativeStretch
            || cause == CauseId::Deadlock && !native.cycle.is_empty();
        let waits = || cause.kind().is_wait() && !native.is_about_java() && self.method.is_none();
        (in_native || waits()).then_some(&root.site)
    }
}
