//! Puts Java's frames at their place in native stacks.
//!
//! A native stack shows where Java code ran, not which: each run of generated code, of an interpreter and of ART's bridges is a
//! segment. A sample of main's Java stack, or the calls that the recorder has as open, names them, in the same order: a native
//! method ends a part of a Java stack, as native code ends a segment.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use answers::dump::java_frame;
use answers::text::clean;
use trace_format::sections::native_frames::FrameKind;
use trace_format::{ReadError, Thread, ids};

use super::{Frame, NativePlace, ThreadStack};
use crate::facts::Facts;
use crate::names::Names;

/// Maximum distance between a native stack and the Java stack of the same instant, ns: they are taken one after another.
const MAX_APART: u64 = 100_000_000;
/// Maximum distance between two native stacks one of which gets the Java frames of the other, ns: samples are written once a second, so a
/// kill loses the last of them.
const MAX_CARRIED: u64 = 2_000_000_000;
/// Maximum number of Java frames per stack, and of all stacks.
const MAX_JAVA_FRAMES: usize = 512;
const MAX_ALL: usize = 1 << 18;

/// A Java stack, as parts that are separated by native code, innermost first.
type Parts = Vec<Vec<Frame>>;

/// Adds Java's frames to all stacks.
pub(super) fn interleave(
    facts: &Facts<'_>,
    names: &Names<'_>,
    stacks: &mut [ThreadStack],
) -> Result<(), ReadError> {
    if stacks.is_empty() {
        return Ok(());
    }
    let main = facts.main().map(|main| main.tid);
    let sampled = sampled(facts);
    let mut left = MAX_ALL;
    let mut moments: HashMap<u32, Vec<(u64, usize)>> = HashMap::new();
    let of_main = |stack: &ThreadStack| main == Some(stack.tid);
    let mut found: Vec<Option<(Parts, bool)>> = stacks
        .iter()
        .map(|stack| stack_at(&sampled, stack.at).filter(|_| of_main(stack)).map(|parts| (parts, false)))
        .collect();
    carry(stacks, &mut found, of_main);
    for (place, (stack, found)) in stacks.iter_mut().zip(found).enumerate() {
        match found {
            Some((parts, approximate)) => {
                left = left.saturating_sub(parts.iter().map(Vec::len).sum());
                if left > 0 {
                    place_parts(stack, parts);
                    stack.approximate |= approximate;
                }
            }
            None => moments.entry(stack.tid).or_default().push((stack.at, place)),
        }
    }
    for thread in facts.recording.threads() {
        let Some(mut moments) = moments.remove(&thread.tid) else { continue };
        moments.sort_unstable();
        open_calls(facts, thread, &moments, |place, open| {
            left = left.saturating_sub(open.len());
            if left > 0 && !open.is_empty() {
                let named = |id: &u32| Frame {
                    function: names.method(*id).into(),
                    // The line of the call is not recorded.
                    source: None,
                    native: None,
                    is_native_method: false,
                };
                place_parts(&mut stacks[place], vec![open.iter().map(named).collect()]);
            }
        })?;
    }
    Ok(())
}

/// Gives stacks without a sample the Java frames of the stack before or after, if main was still in the same native call. Sets whether that
/// is approximate.
fn carry(
    stacks: &[ThreadStack],
    found: &mut [Option<(Parts, bool)>],
    of_main: impl Fn(&ThreadStack) -> bool,
) {
    let mut places: Vec<usize> = (0..stacks.len()).filter(|place| of_main(&stacks[*place])).collect();
    for _ in 0..2 {
        // The last one with a sample of its own.
        let mut last: Option<usize> = None;
        for place in places.iter().copied() {
            if found[place].is_some() {
                last = Some(place);
                continue;
            }
            let near = last.filter(|last| stacks[*last].at.abs_diff(stacks[place].at) <= MAX_CARRIED);
            let Some(from) = near else { continue };
            if let Some(approximate) = same_call(&stacks[from], &stacks[place]) {
                found[place] = found[from].clone().map(|(parts, of)| (parts, of || approximate));
            }
        }
        places.reverse();
    }
}

/// Whether two stacks are the same from the native function that Java called outwards. `Some(false)` if they are the same but for the
/// innermost frame, which leaves no doubt that it is one call.
fn same_call(one: &ThreadStack, other: &ThreadStack) -> Option<bool> {
    fn place(frame: &Frame) -> Option<(u64, &str, FrameKind)> {
        frame.native.as_ref().map(|native| (native.rel_pc, &*native.path, native.kind))
    }
    // A stack that ends before Java's code must be the same altogether.
    let called = |stack: &ThreadStack| {
        segments(&stack.frames).first().map_or(0, |segment| segment.start.saturating_sub(1))
    };
    let same = |one: &[Frame], other: &[Frame]| one.iter().map(place).eq(other.iter().map(place));
    let (a, b) = (&one.frames[called(one)..], &other.frames[called(other)..]);
    let inner = |stack: &ThreadStack| stack.frames.len().min(1);
    (!a.is_empty() && same(a, b)).then(|| !same(&one.frames[inner(one)..], &other.frames[inner(other)..]))
}

#[derive(Clone, Copy)]
enum Lines<'a> {
    Sample(crate::facts::Sample<'a>),
    Snapshot(&'a trace_format::sections::anr_snapshot::AnrSnapshot),
}

/// The samples and snapshots of main's Java stack, by time.
fn sampled<'a>(facts: &'a Facts<'_>) -> Vec<(u64, Lines<'a>)> {
    let sections = &facts.sections;
    let samples = sections.samples.iter().map(|sample| (sample.at, Lines::Sample(sample)));
    let snapshots = sections.snapshots.iter().map(|snapshot| (snapshot.at, Lines::Snapshot(snapshot)));
    let mut by_time: Vec<_> = samples.chain(snapshots).collect();
    by_time.sort_by_key(|(at, _)| *at);
    by_time
}

/// The Java stack of this instant, if there is one.
fn stack_at(by_time: &[(u64, Lines<'_>)], at: u64) -> Option<Parts> {
    let next = by_time.partition_point(|(taken, _)| *taken < at);
    let near = [next.checked_sub(1), Some(next)].into_iter().flatten();
    let near = near.filter_map(|place| by_time.get(place));
    let (_, lines) = near
        .filter(|(taken, _)| taken.abs_diff(at) <= MAX_APART)
        .min_by_key(|(taken, _)| taken.abs_diff(at))?;
    let parts = match lines {
        Lines::Sample(sample) => parts_of(sample.frames()),
        Lines::Snapshot(snapshot) => parts_of(snapshot.frames()),
    };
    (!parts.is_empty()).then_some(parts)
}

/// The parts of a Java stack, innermost first: a native method begins one.
fn parts_of<'l>(lines: impl Iterator<Item = &'l str>) -> Parts {
    let mut parts: Parts = Vec::new();
    for line in lines.take(MAX_JAVA_FRAMES) {
        let Some(java) = java_frame(line) else { continue };
        let is_native_method = java.place.native_method;
        let source = java.place.file.as_deref().zip(java.place.line);
        let source = source.map(|(file, line)| (Arc::from(&*clean(file)), line));
        let function = Arc::from(&*clean(&format!("{}.{}", java.class, java.method)));
        let frame = Frame { function, source, native: None, is_native_method };
        match parts.last_mut().filter(|_| !is_native_method) {
            Some(part) => part.push(frame),
            None => parts.push(vec![frame]),
        }
    }
    parts
}

/// The ids of the methods that were open on a thread at each of `moments`, innermost first.
fn open_calls<'a>(
    facts: &Facts<'a>,
    thread: &'a Thread,
    moments: &[(u64, usize)],
    mut found: impl FnMut(usize, Vec<u32>),
) -> Result<(), ReadError> {
    let mut places = moments.iter().map(|(_, place)| *place);
    facts.spans(thread).open_at(moments.iter().map(|(at, _)| *at), |_, open| {
        let Some(place) = places.next() else { return };
        let calls = open.frames().iter().rev().map(|open| open.key);
        let calls = calls.filter(|key| ids::is_method(*key) || *key == ids::DISPATCH);
        found(place, calls.take(MAX_JAVA_FRAMES).collect());
    })
}

/// What a native frame is for Java.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// It stands for Java code, or for the way into or out of it.
    Java,
    /// ART's own code, between two pieces of Java code.
    Art,
    Native,
}

/// ART's ways between Java and native code, and its interpreters: the start of the function's name.
const BRIDGES: &[&str] = &[
    "art_quick_",
    "art_jni_",
    "art_invoke_",
    "nterp_",
    "mterp_",
    "ExecuteNterp",
    "ExecuteMterp",
    "ExecuteSwitchImpl",
    "void art::interpreter::ExecuteSwitchImpl",
    "art::interpreter::",
];

fn role(frame: &Frame) -> Role {
    let Some(NativePlace { kind, path, .. }) = &frame.native else { return Role::Java };
    let generated = [".oat", ".odex", ".vdex", ".art"].iter().any(|end| path.ends_with(end))
        || ["jit-cache", "dalvik-jit", "jit-code-cache"].iter().any(|part| path.contains(part));
    let bridge = BRIDGES.iter().any(|start| frame.function.starts_with(start));
    match kind {
        FrameKind::Jit | FrameKind::Interpreter => Role::Java,
        _ if generated || bridge => Role::Java,
        // What Java calls through JNI returns to Java by these.
        _ if path.ends_with("/libart.so")
            && !["JNI", "WithVarArgs", "WithJValues", "Thread::"]
                .iter()
                .any(|of| frame.function.contains(of))
            && !frame.function.is_empty() =>
        {
            Role::Art
        }
        _ => Role::Native,
    }
}

/// The segments of a stack that stand for Java code.
fn segments(frames: &[Frame]) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    for (at, frame) in frames.iter().enumerate() {
        if role(frame) != Role::Java {
            continue;
        }
        match found.last_mut() {
            Some(last) if frames[last.end..at].iter().all(|frame| role(frame) == Role::Art) => {
                last.end = at + 1
            }
            _ => found.push(at..at + 1),
        }
    }
    found
}

/// Whether a segment has names of its own: ART's compiled code may have symbols.
fn is_named(frames: &[Frame]) -> bool {
    let is_name = |frame: &Frame| {
        let name = &*frame.function;
        !BRIDGES.iter().any(|start| name.starts_with(start)) && name.contains('.') && !name.contains("::")
    };
    frames.iter().any(is_name)
}

/// Puts the parts of a Java stack at the segments of a native one.
fn place_parts(stack: &mut ThreadStack, mut parts: Parts) {
    let segments = segments(&stack.frames);
    let from_a_sample = parts.iter().flatten().any(|frame| frame.is_native_method);
    if segments.is_empty() {
        // Unwinding ended before Java's code, or missed it: native code that Java calls is below it.
        let jni = stack.frames.iter().rposition(|frame| frame.function.starts_with("Java_"));
        let Some(at) = jni
            .map(|at| at + 1)
            .or((!stack.end.is_empty() || stack.frames.is_empty()).then_some(stack.frames.len()))
        else {
            return;
        };
        stack.approximate = true;
        stack.frames.splice(at..at, parts.into_iter().flatten());
        return;
    }
    if segments.len() != parts.len() {
        stack.approximate = segments.len() > 1 || parts.len() > 1;
        parts = vec![parts.into_iter().flatten().collect()];
    }
    // From the outermost one on: the places of the inner ones stay.
    for (segment, part) in segments.into_iter().zip(parts).rev() {
        if !from_a_sample && is_named(&stack.frames[segment.clone()]) {
            continue;
        }
        stack.frames.splice(segment, part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack(frames: &[&str], end: &str) -> ThreadStack {
        let frames = frames.iter().map(|text| {
            let (kind, name) = text.split_once(' ').unwrap_or((text, ""));
            let (kind, path) = match kind {
                "j" => (FrameKind::Jit, ""),
                "r" => (FrameKind::Interpreter, "/apex/libart.so"),
                "a" => (FrameKind::Native, "/apex/libart.so"),
                "o" => (FrameKind::Native, "/system/framework/boot.oat"),
                _ => (FrameKind::Native, "/data/app/libx.so"),
            };
            let place =
                NativePlace { kind, rel_pc: 1, path: path.into(), build_id: "".into(), mapping: None };
            Frame { function: name.into(), source: None, native: Some(place), is_native_method: false }
        });
        ThreadStack {
            number: 1,
            tid: 1,
            at: 1,
            reason: None,
            frames: frames.collect(),
            approximate: false,
            end: end.to_owned(),
            call: None,
            owner: None,
        }
    }

    /// The frames' titles, and whether their order is certain.
    fn placed(frames: &[&str], end: &str, java: &[&str]) -> (Vec<String>, bool) {
        let mut stack = stack(frames, end);
        place_parts(&mut stack, parts_of(java.iter().copied()));
        (stack.frames.iter().map(Frame::title).collect(), !stack.approximate)
    }

    fn titles(titles: &[&str]) -> Vec<String> {
        titles.iter().map(|title| (*title).to_owned()).collect()
    }

    #[test]
    fn each_segment_gets_its_part() {
        let java = [
            "a.A.inner(Native Method)",
            "a.A.run(A.java:3)",
            "a.B.call(Native Method)",
            "a.B.main(B.java:1)",
        ];
        let hotspot = [
            "n read",
            "n Java_a_A_inner",
            "j",
            "j",
            "n JavaCalls::call_helper",
            "n Java_a_B_call",
            "j",
            "n start",
        ];
        let wanted = [
            "read",
            "Java_a_A_inner",
            "a.A.inner",
            "a.A.run",
            "JavaCalls::call_helper",
            "Java_a_B_call",
            "a.B.call",
            "a.B.main",
            "start",
        ];
        assert_eq!(placed(&hotspot, "", &java), (titles(&wanted), true));
        let art = [
            "n read",
            "a art_quick_generic_jni_trampoline",
            "r ExecuteNterpImpl",
            "a art_quick_invoke_stub",
            "a art::ArtMethod::Invoke(art::Thread*)",
            "a art::InvokeVirtualOrInterfaceWithVarArgs<_jmethodID*>",
            "a art::JNI<true>::CallVoidMethodV",
            "n b",
            "a art_jni_trampoline",
            "o",
        ];
        let wanted = [
            "read",
            "a.A.inner",
            "a.A.run",
            "art::ArtMethod::Invoke(art::Thread*)",
            "art::InvokeVirtualOrInterfaceWithVarArgs<_jmethodID*>",
            "art::JNI<true>::CallVoidMethodV",
            "b",
            "a.B.call",
            "a.B.main",
        ];
        assert_eq!(placed(&art, "cut", &java), (titles(&wanted), true));
    }

    #[test]
    fn a_call_from_java_to_java_by_art_is_one_segment() {
        let frames = [
            "r ExecuteSwitchImplAsm",
            "a art::ArtMethod::Invoke(art::Thread*)",
            "a art_quick_invoke_stub",
            "o",
        ];
        assert_eq!(
            placed(&frames, "", &["a.A.a(A.java)", "a.B.b(B.java)"]),
            (titles(&["a.A.a", "a.B.b"]), true)
        );
    }

    #[test]
    fn if_the_counts_differ_all_of_java_is_at_the_first_segment() {
        let java = ["a.A.inner(Native Method)", "a.A.run(A.java:3)"];
        let found = placed(&["n x", "j", "n y", "j"], "", &java);
        assert_eq!(found, (titles(&["x", "a.A.inner", "a.A.run", "y", "[generated code]"]), false));
    }

    #[test]
    fn without_a_segment_java_is_below_its_native_method_or_where_the_stack_is_cut() {
        let java = ["a.A.inner(Native Method)", "a.A.run(A.java:3)"];
        let found = placed(&["n x", "n Java_a_A_inner", "n call_helper", "n main"], "", &java);
        let wanted = ["x", "Java_a_A_inner", "a.A.inner", "a.A.run", "call_helper", "main"];
        assert_eq!(found, (titles(&wanted), false));
        assert_eq!(placed(&["n x"], "cut at 64 KiB", &java), (titles(&["x", "a.A.inner", "a.A.run"]), false));
        assert_eq!(placed(&["n x", "n main"], "", &java), (titles(&["x", "main"]), true));
    }

    #[test]
    fn compiled_code_with_names_keeps_them_beside_open_calls() {
        let mut stack = stack(&["o a.B.sort", "o a.B.run"], "");
        let open =
            |name: &str| Frame { function: name.into(), source: None, native: None, is_native_method: false };
        place_parts(&mut stack, vec![vec![open("a.B.run")]]);
        assert_eq!(stack.frames.iter().map(Frame::title).collect::<Vec<_>>(), ["a.B.sort", "a.B.run"]);
    }
}
