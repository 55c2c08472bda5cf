//! Stacks: samples of main while it was stuck, the one of each ANR's snapshot, and the threads of a dump with their states.

use std::path::Path;

use trace_format::Source;
use trace_format::section::SectionKind;

use super::anr::{Detector, Incidents};
use super::dumped::Dumped;
use super::sink::{Sink, StackFrame, StackRow, ThreadState};
use super::snapshot::Snapshot;
use super::survey::MAX_TIME;
use super::thread::{Shared, unplaced};
use super::{Tally, clean};
use crate::ExportError;
use crate::dump::{Dump, Frame, Place, Section, Thread};

/// The longest section of samples or of a dump's text that is read.
const MAX_SECTION: u64 = 32 << 20;
/// Frames of a stack that are shown, from the inside; behind them one frame says how many are missing.
const MAX_FRAMES: usize = 1024;
/// Stacks of a process that are shown.
const MAX_STACKS: usize = 1 << 16;

/// Where the frames of each kind come from.
const SAMPLES: &str = "Java (samples of main)";
const SNAPSHOT: &str = "Java (main at an ANR)";
const DUMP: &str = "Java (thread dump)";
const KERNEL: &str = "[kernel]";

/// Samples as the recording has them, told one after the other.
pub(super) struct Samples<'t> {
    lines: std::iter::Peekable<std::str::Lines<'t>>,
    /// The stack of the last sample, outermost first.
    stack: Vec<&'t str>,
}

impl<'t> Samples<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { lines: text.lines().peekable(), stack: Vec::new() }
    }

    /// The innermost frame of the last sample.
    pub(super) fn innermost(&self) -> Option<&'t str> {
        self.stack.last().copied()
    }

    /// The time of the next sample, whose stack is then in `self.stack`.
    pub(super) fn next(&mut self) -> Option<u64> {
        loop {
            let Some(head) = self.lines.next()?.strip_prefix('@') else { continue };
            let mut words = head.split_whitespace();
            let mut number = || words.next().and_then(|word| word.parse::<u64>().ok());
            let (Some(at), Some(keep)) = (number(), number()) else { continue };
            // More than there was cannot be kept: a damaged section.
            self.stack.truncate(usize::try_from(keep).unwrap_or(usize::MAX));
            let kept = self.stack.len();
            while let Some(frame) = self.lines.next_if(|line| !line.starts_with('@')) {
                if !frame.trim().is_empty() && self.stack.len() < 16 * MAX_FRAMES {
                    self.stack.push(frame.trim());
                }
            }
            self.stack[kept..].reverse();
            if (1..MAX_TIME).contains(&at) {
                return Some(at);
            }
        }
    }
}

/// A frame as Java's `StackTraceElement` writes it: `a.B.c(B.java:12)`, with or without `at ` in front.
fn java_frame<'t>(line: &'t str, mapping: &'t str) -> StackFrame<'t> {
    let line = line.strip_prefix("at ").unwrap_or(line);
    let (function, place) = line.split_once('(').unwrap_or((line, ""));
    let place = place.strip_suffix(')').unwrap_or(place).rsplit_once(':');
    let source = place.and_then(|(file, number)| Some((file, number.parse().ok()?)));
    StackFrame { function: function.trim_end(), mapping, source }
}

/// Writes stacks.
struct Stacks<'a, K> {
    sink: &'a mut K,
    tally: &'a mut Tally,
    start: u64,
    left: usize,
}

impl<K: Sink> Stacks<'_, K> {
    fn write(
        &mut self,
        at: u64,
        tid: u32,
        name: Option<&str>,
        frames: &[StackFrame<'_>],
        state: Option<&Dumped>,
    ) -> Result<(), ExportError> {
        if frames.is_empty() && state.is_none() {
            return Ok(());
        }
        if self.left == 0 {
            self.tally.skipped += 1;
            return Ok(());
        }
        self.left -= 1;
        self.tally.stacks += u64::from(!frames.is_empty());
        self.tally.instants += u64::from(state.is_some());
        let at = at.max(self.start);
        let args = state.map(Dumped::args).unwrap_or_default();
        let state = state.map(|state| ThreadState { name: &state.name, args: &args });
        if frames.len() <= MAX_FRAMES {
            return self.sink.stack(&StackRow { at, tid, name, frames, state });
        }
        let missing = format!("{} more frames", frames.len() - MAX_FRAMES);
        let mut cut = vec![StackFrame { function: &missing, ..frames[0] }];
        cut.extend_from_slice(&frames[frames.len() - MAX_FRAMES..]);
        self.sink.stack(&StackRow { at, tid, name, frames: &cut, state })
    }
}

/// Writes all stacks of a recording. Comes behind all of its tracks.
pub(crate) fn stacks<S: Source, K: Sink>(
    shared: &Shared<'_, S>,
    snapshots: &[Snapshot],
    incidents: &Incidents,
    tally: &mut Tally,
    sink: &mut K,
) -> Result<(), ExportError> {
    let recording = shared.recording;
    let mut out = Stacks { sink, tally, start: shared.start, left: MAX_STACKS };
    let main = shared.process.threads.iter().find(|t| t.main && out.sink.wants(t)).map(|t| t.tid);
    let of_kind = |kind| recording.sections().iter().filter(move |s| s.kind == Some(kind));
    let read = |section| -> Result<Option<Vec<u8>>, ExportError> {
        let payload = recording.payload(section).map_err(unplaced)?;
        Ok(payload.map(|payload| payload.to_vec()))
    };
    for section in of_kind(SectionKind::StackSamples) {
        if section.length > MAX_SECTION {
            out.tally.skipped += 1;
            continue;
        }
        let (Some(main), Some(bytes)) = (main, read(section)?) else { continue };
        let text = String::from_utf8_lossy(&bytes);
        let mut samples = Samples::new(&text);
        let mut frames = Vec::new();
        while let Some(at) = samples.next() {
            frames.clear();
            frames.extend(samples.stack.iter().map(|line| java_frame(line, SAMPLES)));
            out.write(at, main, None, &frames, None)?;
        }
    }
    for snapshot in snapshots {
        let Some(main) = main else { break };
        let frames: Vec<_> = snapshot.stack.iter().rev().map(|line| java_frame(line, SNAPSHOT)).collect();
        let state = snapshot.main_state().map(Dumped::of_snapshot);
        out.write(snapshot.at, main, None, &frames, state.as_ref())?;
    }
    for section in of_kind(SectionKind::DumpText) {
        if section.length > MAX_SECTION {
            out.tally.skipped += 1;
            continue;
        }
        let Some(bytes) = read(section)? else { continue };
        let Some((time, text)) = bytes.split_first_chunk::<8>() else {
            out.tally.skipped += 1;
            continue;
        };
        let at = u64::from_le_bytes(*time).clamp(1, MAX_TIME);
        let Ok(dump) = Dump::read(Path::new("dump"), text) else {
            out.tally.skipped += 1;
            continue;
        };
        dump_stacks(shared, dumped_for(incidents, at), at, &dump, &mut out)?;
    }
    Ok(())
}

/// What the dump at `at` was made for, by the last signal before it.
fn dumped_for(incidents: &Incidents, at: u64) -> &'static str {
    let of_system = incidents.anrs.iter().filter(|anr| matches!(anr.detector, Detector::Sigquit(_)));
    let anrs = of_system.map(|anr| (anr.detected, "ANR"));
    let signals = anrs.chain(incidents.captures.iter().map(|capture| (capture.at, "requested")));
    signals
        .filter(|(sensed, _)| *sensed <= at)
        .max_by_key(|(sensed, _)| *sensed)
        .map_or("unknown", |(_, kind)| kind)
}

fn dump_stacks<S: Source, K: Sink>(
    shared: &Shared<'_, S>,
    kind: &'static str,
    at: u64,
    dump: &Dump,
    out: &mut Stacks<'_, K>,
) -> Result<(), ExportError> {
    // A text may tell of other processes too; those are not in this trace.
    let pid = shared.recording.header().pid;
    let ours = dump.sections.iter().filter(|section| section.pid.is_none_or(|p| p == pid));
    // A thread that was recorded, or one that nobody else of the trace shares its tid with.
    let known = |section: &Section, thread: &Thread| {
        let is_main = section.main().is_some_and(|main| std::ptr::eq(main, thread));
        shared.process.threads.iter().find(|t| {
            (is_main && t.main)
                || thread.sys_tid.is_some_and(|tid| t.recorded_tid == tid && t.main == is_main)
        })
    };
    let stranger = |thread: &Thread| thread.sys_tid.filter(|tid| *tid > 0 && !shared.process.has_tid(*tid));
    for (section, thread) in ours.flat_map(|section| section.threads.iter().map(move |t| (section, t))) {
        let name = thread.name.as_deref().map(clean);
        let (tid, name) = match known(section, thread) {
            Some(known) if !out.sink.wants(known) => continue,
            Some(known) => (known.tid, None),
            None => match stranger(thread) {
                Some(tid) => (tid, name.as_deref()),
                None => continue,
            },
        };
        let tid_of =
            |other: &Thread| known(section, other).map(|known| known.tid).or_else(|| stranger(other));
        let state = Dumped::of(kind, section, thread, tid_of);
        let texts: Vec<_> = texts(thread);
        let frames = texts.iter().rev().map(|(function, mapping, source)| StackFrame {
            function,
            mapping,
            source: source.as_ref().map(|(file, line)| (file.as_str(), *line)),
        });
        let frames: Vec<_> = frames.collect();
        out.write(at, tid, name, &frames, Some(&state))?;
    }
    Ok(())
}

type FrameText = (String, String, Option<(String, u32)>);

/// The frames of a dumped thread, innermost first.
fn texts(thread: &Thread) -> Vec<FrameText> {
    let mut texts = Vec::with_capacity(thread.frames.len());
    for frame in &thread.frames {
        texts.push(match frame {
            Frame::Java(java) => {
                let source = match &java.place {
                    Place::Source { file, line: Some(line) } => Some((clean(file).into_owned(), *line)),
                    _ => None,
                };
                (clean(&format!("{}.{}", java.class, java.method)).into_owned(), DUMP.to_owned(), source)
            }
            Frame::Native(native) => {
                let symbol = native.symbol.clone().unwrap_or_else(|| format!("pc {:#x}", native.pc));
                let map = if native.map.is_empty() { "[native]" } else { &native.map };
                (clean(&symbol).into_owned(), clean(map).into_owned(), None)
            }
            Frame::Kernel(kernel) => (clean(&kernel.symbol).into_owned(), KERNEL.to_owned(), None),
        });
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_sample_keeps_the_outermost_of_the_one_before() {
        let text = "@10 0\na.C.c(C.java:3)\na.B.b(B.java:2)\na.A.a(A.java:1)\n@20 1\na.D.d(D.java)\n@30 2\n";
        let mut samples = Samples::new(text);
        let mut stack = || samples.next().map(|at| (at, samples.stack.join(" ")));
        assert_eq!(stack(), Some((10, "a.A.a(A.java:1) a.B.b(B.java:2) a.C.c(C.java:3)".to_owned())));
        assert_eq!(stack(), Some((20, "a.A.a(A.java:1) a.D.d(D.java)".to_owned())));
        assert_eq!(stack(), Some((30, "a.A.a(A.java:1) a.D.d(D.java)".to_owned())));
        assert_eq!(stack(), None);
    }

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

    proptest! {
        #[test]
        fn no_text_is_too_wild(text in "(@[0-9]{0,20} [0-9]{0,20}\n|a.b\\(c:1\\)\n|.{0,9}\n){0,20}") {
            let mut samples = Samples::new(&text);
            while let Some(at) = samples.next() {
                prop_assert!(at < MAX_TIME && samples.stack.len() <= text.len());
            }
        }
    }
}
