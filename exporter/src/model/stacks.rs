//! Writes stacks: samples of main while it was blocked, the stack of each ANR's snapshot, and the threads of a
//! dump with their states.

use answers::dump::{Dump, Frame, Section, Thread};
use answers::text::clean;

use super::dumped_thread::DumpedThread;
use super::locks::{DumpedWait, TraceThread, dumped_waits};
use super::sink::{
    MAX_SHOWN_FRAMES, Sink, StackFrame, StackRow, TallySink, ThreadInfo, ThreadState, borrowed,
};
use super::thread::Shared;
use crate::ExportError;
use crate::facts::{Detector, Incidents, MAX_TIME};

/// Maximum number of stacks displayed per process.
const MAX_STACKS: usize = 1 << 16;

/// The source of each kind of stack.
const SAMPLES: &str = "Java (samples of main)";
const SNAPSHOT: &str = "Java (main at an ANR)";
const DUMP: &str = "Java (thread dump)";
const KERNEL: &str = "[kernel]";

/// Parses a frame as Java's `StackTraceElement` writes it: `a.B.c(B.java:12)`, with or without leading `at `.
fn java_frame<'t>(line: &'t str, mapping: &'t str) -> StackFrame<'t> {
    let line = line.strip_prefix("at ").unwrap_or(line);
    let (function, place) = line.split_once('(').unwrap_or((line, ""));
    let place = place.strip_suffix(')').unwrap_or(place).rsplit_once(':');
    let source = place.and_then(|(file, number)| Some((file, number.parse().ok()?)));
    StackFrame { function: function.trim_end(), mapping, source, native: None }
}

/// Writes stacks.
struct Stacks<'a, 'k, K> {
    out: &'a mut TallySink<'k, K>,
    start: u64,
    left: usize,
    /// Main's tid.
    main: Option<u32>,
    /// The waits in dumps.
    waits: Vec<DumpedWait>,
}

impl<K: Sink> Stacks<'_, '_, K> {
    fn write(
        &mut self,
        at: u64,
        tid: u32,
        name: Option<&str>,
        frames: &[StackFrame<'_>],
        state: Option<&DumpedThread>,
    ) -> Result<(), ExportError> {
        if frames.is_empty() && state.is_none() {
            return Ok(());
        }
        if self.left == 0 {
            self.out.tally.skipped += 1;
            return Ok(());
        }
        self.left -= 1;
        let at = at.max(self.start);
        let main = self.main == Some(tid);
        let sampled = main && !frames.is_empty();
        let args = state.map(|state| borrowed(&state.args)).unwrap_or_default();
        let state = state.map(|state| ThreadState { name: &state.name, args: &args });
        if frames.len() <= MAX_SHOWN_FRAMES {
            return self.out.stack(&StackRow { at, tid, name, frames, sampled, cut: None, state });
        }
        let missing = format!("{} more frames", frames.len() - MAX_SHOWN_FRAMES);
        let mut cut = vec![StackFrame { function: &missing, ..frames[0] }];
        cut.extend_from_slice(&frames[frames.len() - MAX_SHOWN_FRAMES..]);
        self.out.stack(&StackRow { at, tid, name, frames: &cut, sampled, cut: None, state })
    }
}

/// Writes all stacks of a recording; returns the waits in its dumps. Must follow all tracks but those of locks.
pub(super) fn stacks<K: Sink>(
    shared: &Shared<'_>,
    out: &mut TallySink<'_, K>,
) -> Result<Vec<DumpedWait>, ExportError> {
    let facts = shared.facts;
    let main = shared.process.threads.iter().find(|t| t.main && out.sink.wants(t)).map(|t| t.tid);
    let mut out = Stacks { out, start: shared.start, left: MAX_STACKS, main, waits: Vec::new() };
    if let Some(main) = main {
        let mut frames = Vec::new();
        for sample in facts.sections.samples.iter() {
            frames.clear();
            frames.extend(sample.frames().map(|line| java_frame(line, SAMPLES)));
            frames.reverse();
            out.write(sample.at, main, None, &frames, None)?;
        }
        for snapshot in &facts.sections.snapshots {
            frames.clear();
            frames.extend(snapshot.frames().rev().map(|line| java_frame(line, SNAPSHOT)));
            let state = snapshot.state.as_deref().map(DumpedThread::of_snapshot);
            out.write(snapshot.at, main, None, &frames, state.as_ref())?;
        }
    }
    for (at, dump) in &facts.sections.dumps {
        let at = (*at).clamp(1, MAX_TIME);
        dump_stacks(shared, dumped_for(&facts.incidents, at), at, dump, &mut out)?;
    }
    Ok(out.waits)
}

/// What the dump at `at` was made for, according to the last signal before it.
fn dumped_for(incidents: &Incidents, at: u64) -> &'static str {
    let of_system = incidents.anrs.iter().filter(|anr| matches!(anr.detector, Detector::Sigquit(_)));
    let anrs = of_system.map(|anr| (anr.detected, "ANR"));
    let signals = anrs.chain(incidents.captures.iter().map(|capture| (capture.at, "requested")));
    signals
        .filter(|(sensed, _)| *sensed <= at)
        .max_by_key(|(sensed, _)| *sensed)
        .map_or("unknown", |(_, kind)| kind)
}

fn dump_stacks<K: Sink>(
    shared: &Shared<'_>,
    kind: &'static str,
    at: u64,
    dump: &Dump,
    out: &mut Stacks<'_, '_, K>,
) -> Result<(), ExportError> {
    // A text may include other processes, which are not in this trace.
    let pid = shared.recording.header().pid;
    let ours = dump.sections.iter().filter(|section| section.pid.is_none_or(|p| p == pid));
    // A thread that was recorded, or one whose tid is unique in the trace.
    let known = |section: &Section, thread: &Thread| {
        let is_main = section.main().is_some_and(|main| std::ptr::eq(main, thread));
        shared.process.threads.iter().find(|t| {
            (is_main && t.main)
                || thread.sys_tid.is_some_and(|tid| t.recorded_tid == tid && t.main == is_main)
        })
    };
    let placed = |section: &Section, thread: &Thread| -> Option<(u32, Option<&ThreadInfo>)> {
        let stranger = || thread.sys_tid.filter(|tid| *tid > 0 && !shared.process.has_tid(*tid));
        let known = known(section, thread);
        Some((known.map(|known| known.tid).or_else(stranger)?, known))
    };
    for section in ours.clone() {
        let of = |thread: &Thread| {
            let (tid, known) = placed(section, thread)?;
            let name = known.and_then(|known| known.name.clone());
            let dumped = || thread.name.as_deref().map_or("unknown".into(), clean).into_owned();
            Some(TraceThread { tid, name: name.unwrap_or_else(dumped) })
        };
        dumped_waits(shared, at, section, of, &mut out.waits);
    }
    for (section, thread) in ours.flat_map(|section| section.threads.iter().map(move |t| (section, t))) {
        let Some((tid, known)) = placed(section, thread) else { continue };
        if known.is_some_and(|known| !out.out.sink.wants(known)) {
            continue;
        }
        let name = thread.name.as_deref().filter(|_| known.is_none()).map(clean);
        let tid_of = |other: &Thread| placed(section, other).map(|(tid, _)| tid);
        let texts: Vec<_> = thread.frames.iter().map(texts).collect();
        let functions = texts.iter().map(|(function, ..)| function.as_str());
        let state = DumpedThread::of(kind, section, thread, tid_of, functions);
        let frames = texts.iter().rev().map(|(function, mapping, source)| StackFrame {
            function,
            mapping,
            source: source.as_ref().map(|(file, line)| (file.as_str(), *line)),
            native: None,
        });
        let frames: Vec<_> = frames.collect();
        out.write(at, tid, name.as_deref(), &frames, Some(&state))?;
    }
    Ok(())
}

type FrameText = (String, String, Option<(String, u32)>);

/// The texts of a dumped frame.
fn texts(frame: &Frame) -> FrameText {
    match frame {
        Frame::Java(java) => {
            let source = java.place.file.as_deref().zip(java.place.line);
            let source = source.map(|(file, line)| (clean(file).into_owned(), line));
            (clean(&format!("{}.{}", java.class, java.method)).into_owned(), DUMP.to_owned(), source)
        }
        Frame::Native(native) => {
            let symbol = native.symbol.clone().unwrap_or_else(|| format!("pc {:#x}", native.pc));
            let map = if native.map.is_empty() { "[native]" } else { &native.map };
            let source = native.file.as_deref().zip(native.line);
            let source = source.map(|(file, line)| (clean(file).into_owned(), line));
            (clean(&symbol).into_owned(), clean(map).into_owned(), source)
        }
        Frame::Kernel(kernel) => (clean(&kernel.symbol).into_owned(), KERNEL.to_owned(), None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_loses_its_place_to_the_source() {
        let frame = |line| java_frame(line, SAMPLES);
        assert_eq!(
            (frame("a.B.c(B.java:12)").function, frame("a.B.c(B.java:12)").source),
            ("a.B.c", Some(("B.java", 12)))
        );
        assert_eq!(
            (frame("at a.B.c(Native Method)").function, frame("a.B.c(Native Method)").source),
            ("a.B.c", None)
        );
        assert_eq!(frame("what?").function, "what?");
    }
}
