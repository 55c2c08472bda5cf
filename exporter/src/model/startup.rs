//! Writes starts on tracks of their own, in the form that Perfetto's `android.startup.startups` reads.

use std::collections::BTreeSet;

use super::sink::{Arg, Sink, TallySink, Track, Value};
use super::start_split::{StartPart, StartSplit, start_split};
use super::thread::Shared;
use crate::ExportError;
use crate::facts::{StartKind, Startup};

/// Writes possibly overlapping slices on one track: a slice that would leave its parent ends with it.
struct NestedSlices {
    open: Vec<u64>,
    now: u64,
    /// Ends of launches that are still to be written.
    launched: BTreeSet<(u64, String)>,
}

impl NestedSlices {
    fn at<K: Sink>(start: u64, track: Track, out: &mut TallySink<'_, K>) -> Result<Self, ExportError> {
        out.track(track)?;
        Ok(Self { open: Vec::new(), now: start, launched: BTreeSet::new() })
    }

    fn close_until<K: Sink>(&mut self, at: u64, out: &mut TallySink<'_, K>) -> Result<(), ExportError> {
        while let Some(end) = self.open.pop_if(|end| *end <= at) {
            out.end(end, &[])?;
            self.now = end;
        }
        Ok(())
    }

    /// Ends launches. A launch ends before anything else starts, for readers that search for the end by name.
    fn launched_until<K: Sink>(&mut self, until: u64, out: &mut TallySink<'_, K>) -> Result<(), ExportError> {
        while self.launched.first().is_some_and(|(at, _)| *at <= until)
            && let Some((at, name)) = self.launched.pop_first()
        {
            self.close_until(at, out)?;
            self.now = self.now.max(at);
            out.instant(self.now, &name, &[])?;
        }
        Ok(())
    }

    fn slice<K: Sink>(
        &mut self,
        (begin, end): (u64, u64),
        name: &str,
        args: &[Arg<'_>],
        out: &mut TallySink<'_, K>,
    ) -> Result<(), ExportError> {
        self.close_until(begin, out)?;
        let begin_at = begin.max(self.now);
        let end_at = end.max(begin_at).min(self.open.last().copied().unwrap_or(u64::MAX));
        out.tally.clamped += u64::from(begin_at != begin) + u64::from(end_at != end);
        out.begin(begin_at, name, args)?;
        self.now = begin_at;
        self.open.push(end_at);
        Ok(())
    }
}

/// Writes the starts, if there are any: on a track of their own, and main's part under the names by which
/// Perfetto's `android.startup` finds it.
pub(super) fn startup_tracks<K: Sink>(
    shared: &Shared<'_>,
    out: &mut TallySink<'_, K>,
) -> Result<(), ExportError> {
    let starts = &shared.facts.sections.starts;
    if starts.is_empty() {
        return Ok(());
    }
    let package = &shared.process.name;
    let split =
        start_split(shared.facts, &shared.names, starts).map_err(ExportError::reading(shared.file))?;
    let mut nest = NestedSlices::at(shared.start, Track::Startup, out)?;
    for (i, start) in starts.iter().enumerate() {
        nest.launched_until(start.begin, out)?;
        let number = i + 1;
        let name = match start.kind {
            kind if is_launch(kind) => format!("launchingActivity#{number}"),
            StartKind::Page => format!("page: {}", start.activity),
            kind => format!("start: {}", kind.word()),
        };
        let parts = split.as_ref().filter(|split| split.begin == start.begin && split.end == start.end);
        let parts: Vec<(&str, String)> = parts.map(part_args).unwrap_or_default();
        let mut args = args(start);
        args.extend(parts.iter().map(|(key, text)| Arg::new(key, Value::Text(text))));
        nest.slice((start.begin, start.end), &name, &args, out)?;
        if is_launch(start.kind) {
            let name = format!("launchingActivity#{number}:completed-{}:{package}", start.kind.word());
            nest.launched.insert((start.end, name));
        }
    }
    nest.launched_until(u64::MAX, out)?;
    nest.close_until(u64::MAX, out)?;
    phases(shared, out)
}

fn phases<K: Sink>(shared: &Shared<'_>, out: &mut TallySink<'_, K>) -> Result<(), ExportError> {
    let mut launches = shared.facts.sections.starts.iter().filter(|start| is_launch(start.kind)).peekable();
    if launches.peek().is_none() || !shared.process.threads.iter().any(|t| t.main) {
        return Ok(());
    }
    let mut nest = NestedSlices::at(shared.start, Track::StartupPhases, out)?;
    for start in launches {
        let mut begin = start.begin;
        if let Some(end) = start.application_end {
            nest.slice((begin, end), "bindApplication", &[], out)?;
            begin = end;
        }
        // Which part was the resume is unknown: the whole has the system's name and is marked as estimated.
        let estimated = [Arg::new("estimated", Value::Bool(true))];
        if start.kind != StartKind::Hot {
            nest.slice((begin, start.end), "activityStart", &estimated, out)?;
        }
        nest.slice((begin, start.end), "activityResume", &estimated, out)?;
    }
    nest.close_until(u64::MAX, out)
}

/// Keys of arguments of the longest parts of a start.
const COMPONENTS: [&str; 5] =
    ["start_component_0", "start_component_1", "start_component_2", "start_component_3", "start_component_4"];
const LIBRARIES: [&str; 5] =
    ["start_library_0", "start_library_1", "start_library_2", "start_library_3", "start_library_4"];

/// The longest parts of a start as arguments.
fn part_args(split: &StartSplit) -> Vec<(&'static str, String)> {
    let components = COMPONENTS.into_iter().zip(split.components.iter().map(StartPart::words));
    components.chain(LIBRARIES.into_iter().zip(split.libraries.iter().map(StartPart::words))).collect()
}

/// Whether Perfetto's `android_startups` knows this kind.
fn is_launch(kind: StartKind) -> bool {
    matches!(kind, StartKind::Cold | StartKind::Warm | StartKind::Hot)
}

fn args(start: &Startup) -> Vec<Arg<'_>> {
    let mut args = vec![Arg::new("kind", Value::Text(start.kind.word()))];
    if !start.activity.is_empty() {
        args.push(Arg::new("activity", Value::Text(&start.activity)));
    }
    let since = |at: u64| Value::Millis(at.saturating_sub(start.begin));
    args.extend(start.application_end.map(|at| Arg::new("application_ms", since(at))));
    args.extend(start.splash_end.map(|at| Arg::new("splash_ms", since(at))));
    args.extend(start.first_draw.map(|at| Arg::new("first_draw_ms", since(at))));
    args.push(Arg::new("focus_ms", since(start.end)));
    args.push(Arg::new("grade", Value::Text(start.grade.word())));
    args
}
