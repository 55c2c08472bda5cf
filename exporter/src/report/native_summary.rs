//! Sums up the native stacks of a thread for the rules: what it does, in which function, and who owns the mutex that it
//! waits for.

use std::collections::{BTreeMap, HashSet};

use answers::answer::{
    Activity, CauseId, FrameView, MAX_STACK_FRAMES, NativeLine, NativeRoot, NativeSummary, Owner, StackLine,
    classify, counted, is_own_library, is_stub, own_site, parts,
};
use answers::dump::LockGraph;
use trace_format::sections::native_frames::FrameKind;

use super::sources::Sources;
use crate::native::{Frame, NativePlace, ThreadStack};

/// Number of innermost frames in which a binder call shows.
const CALLING_FRAMES: usize = 6;

/// The stacks of thread `tid` from `since` to `until`; `None` without any.
pub(super) fn of(sources: &Sources<'_>, tid: u32, (since, until): (u64, u64)) -> Option<NativeSummary> {
    let has_facts = |stack: &&ThreadStack| !stack.frames.is_empty() || stack.call.is_some();
    let stacks = || sources.native.of_thread(tid, since, until).filter(has_facts);
    let last = stacks().last()?;
    let mut found = NativeSummary {
        thread: sources.name_of(tid),
        lasted: until.saturating_sub(since),
        ..NativeSummary::default()
    };
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
        let titles: HashSet<String> = stack.frames.iter().take(MAX_STACK_FRAMES).map(Frame::title).collect();
        titles.into_iter().for_each(|title| *counts.entry(title).or_default() += 1);
    }
    let line = |frame: &Frame| captured(frame, counts.get(&frame.title()).copied().unwrap_or(1));
    found.heaviest = shown.frames.iter().take(MAX_STACK_FRAMES).map(line).collect();
    found.end = shown.end.clone();
    found.call = shown.call_of(|owner| format!("\"{}\" (tid {owner})", sources.name_of(owner)));
    (found.owners, found.cycle) = owners(sources, tid, (since, until));
    Some(found)
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

/// A frame of a native stack, which `samples` of them have.
fn captured(frame: &Frame, samples: u64) -> StackLine {
    let source = frame.source.as_ref();
    let (file, line) = (source.map(|(file, _)| file.to_string()), source.map(|(_, line)| *line));
    let line = StackLine::new(frame.title(), file, line);
    let Some(place) = &frame.native else { return StackLine { samples: Some(samples), ..line } };
    StackLine {
        own: is_own_library(&place.path),
        samples: Some(samples),
        native: Some(native_line(place)),
        ..line
    }
}

/// A place in native code, as a stack of an answer has it.
pub(super) fn native_line(place: &NativePlace) -> NativeLine {
    NativeLine {
        library: place.library().to_owned(),
        build_id: place.build_id.to_string(),
        rel_pc: place.rel_pc,
        inlined: place.kind == FrameKind::Inlined,
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
    let site = captured(frame, 1).site;
    Some(NativeRoot { site, library: place.library().to_owned(), under, count: 1 })
}

/// Whether a frame stands for Java code.
fn is_java_code(frame: &Frame) -> bool {
    let generated = |kind| matches!(kind, FrameKind::Jit | FrameKind::Interpreter);
    frame.native.as_ref().is_none_or(|place| generated(place.kind) || frame.function.starts_with("art_"))
}

/// The owners of mutexes from thread `tid` on, and the threads of a deadlock: the last stack of each thread counts.
fn owners(sources: &Sources<'_>, tid: u32, (since, until): (u64, u64)) -> (Vec<Owner>, Vec<String>) {
    let name_of = |tid| sources.name_of(tid);
    // The owner's stack is taken after that of the thread that waits.
    let last = |tid| sources.native.of_thread(tid, since, until.saturating_add(MAX_LATER)).last();
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
            .map(|frame| StackLine { samples: None, ..captured(frame, 1) })
            .collect();
        let activity = doing(stack).words().to_owned();
        let root = root(stack).map(|root| root.site).or_else(|| own_site(&lines));
        chain.push(Owner { thread: name_of(owner), tid: owner, lock: None, activity, root, stack: lines });
        next = stack.owner;
    }
    (chain, Vec::new())
}

/// Time from a stack of a thread to that of the owner of its mutex, ns.
const MAX_LATER: u64 = 1_000_000_000;
