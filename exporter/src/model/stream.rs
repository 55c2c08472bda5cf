//! All recordings of a trace, in the order in which a sink wants them.

use std::collections::HashSet;
use std::path::Path;

use trace_format::event::Clocks;
use trace_format::{Recording, Source};

use super::anr::Incidents;
use super::flows::Flows;
use super::history::History;
use super::identity::Identities;
use super::incident_track::incident_track;
use super::late_tracks::{queue_track, vsync_track};
use super::owners::Owners;
use super::recorder::RecorderFacts;
use super::recorder_track::{processor_track, recorder_track};
use super::samples::stacks;
use super::sink::{ProcessInfo, Sink, Track};
use super::snapshot::Snapshot;
use super::stack::OpenStack;
use super::start::starts;
use super::startup::startup_tracks;
use super::survey::{MAX_TIME, Survey};
use super::thread::{Found, Shared, ThreadPass};
use super::{Names, SystemInfo, Tally};
use crate::ExportError;

/// One recording and the names of its methods.
#[derive(Debug)]
pub struct Input<'a, S> {
    /// Where it came from, for errors.
    pub file: &'a Path,
    /// The recording.
    pub recording: &'a Recording<S>,
    /// Its methods' names.
    pub names: Names<'a>,
}

/// Streams all recordings into `sink` and says what was read; [`Sink::finish`] is left to the caller,
/// who knows what else to say of the trace.
///
/// # Errors
/// If a recording cannot be read any further, or the sink fails.
pub fn stream<S: Source, K: Sink>(inputs: &[Input<'_, S>], sink: &mut K) -> Result<Tally, ExportError> {
    let mut clocks = Vec::new();
    for input in inputs {
        clocks.extend(placed(input, input.recording.clocks())?);
    }
    let start = first_moment(inputs);
    sink.head(start, &usable_clocks(clocks))?;

    let mut total = Tally::default();
    let mut identities = Identities::new(inputs.iter().map(|i| i.recording.header().pid));
    let mut seen = HashSet::new();
    let mut stack = OpenStack::new();
    let flows = Flows::default();
    for input in inputs {
        let first = seen.insert(input.recording.header().pid);
        total += one(input, start, first, &flows, &mut identities, &mut stack, sink)?;
    }
    Ok(total)
}

fn placed<S, T>(input: &Input<'_, S>, result: Result<T, trace_format::ReadError>) -> Result<T, ExportError> {
    result.map_err(|source| ExportError::Recording { file: input.file.to_owned(), source })
}

/// Names the file in an error that a deeper level could not place.
fn place<S>(input: &Input<'_, S>, error: ExportError) -> ExportError {
    match error {
        ExportError::Recording { source, .. } => {
            ExportError::Recording { file: input.file.to_owned(), source }
        }
        other => other,
    }
}

/// The earliest time of any thread. It is never 0, which some readers take for "unset".
pub(crate) fn first_moment<S: Source>(inputs: &[Input<'_, S>]) -> u64 {
    let of_one = |input: &Input<'_, S>| {
        let recording = input.recording;
        let threads = recording.threads().iter().map(trace_format::Thread::first_time);
        let header = recording.header().start.boottime;
        threads.chain([header]).filter(|t| *t > 0).min()
    };
    inputs.iter().filter_map(of_one).min().unwrap_or(1).min(MAX_TIME)
}

/// Clock triples by rising BOOTTIME. One that runs back on any axis (the user set the clock, or another
/// boot) is left out: the engine would distrust that whole clock.
fn usable_clocks(mut clocks: Vec<Clocks>) -> Vec<Clocks> {
    clocks.retain(|c| c.realtime > 0 && c.boottime.max(c.monotonic).max(c.realtime) < MAX_TIME);
    clocks.sort_by_key(|c| c.boottime);
    let mut kept: Vec<Clocks> = Vec::with_capacity(clocks.len());
    for c in clocks {
        let rises = |last: &Clocks| {
            c.boottime > last.boottime && c.monotonic >= last.monotonic && c.realtime >= last.realtime
        };
        if kept.last().is_none_or(rises) {
            kept.push(c);
        }
    }
    kept
}

fn one<S: Source, K: Sink>(
    input: &Input<'_, S>,
    start: u64,
    first: bool,
    flows: &Flows,
    identities: &mut Identities,
    stack: &mut OpenStack,
    sink: &mut K,
) -> Result<Tally, ExportError> {
    let recording = input.recording;
    let header = recording.header();
    let (faults, more_faults) = recording.faults();
    let mut tally = Tally {
        // What a damaged header says must leave room to count on.
        clamped: header.clamped.min(u64::MAX / 2),
        dropped: header.dropped,
        overwritten: recording.threads().iter().fold(0, |sum, t| sum.saturating_add(t.overwritten())),
        faults: faults.len() as u64 + more_faults,
        ..Tally::default()
    };
    let mut survey = placed(input, Survey::of(recording))?;
    let facts = placed(input, RecorderFacts::of(recording))?;
    let switches = facts.switches();
    let owners = placed(input, Owners::of(recording, &survey.waits, flows, &switches))?;
    let incidents = placed(input, Incidents::of(recording))?;
    let (starts, starts_skipped) = placed(input, starts(recording))?;
    let (snapshots, snapshots_skipped) = placed(input, Snapshot::all(recording))?;
    let frames = std::mem::take(&mut survey.frames);
    tally.skipped += incidents.verdicts_skipped.saturating_add(facts.more);
    tally.skipped += starts_skipped + snapshots_skipped + frames.more;
    let system = placed(input, SystemInfo::of(recording))?;
    let process = ProcessInfo { system, ..identities.process(recording, first) };
    sink.process(&process)?;

    let pauses = facts.pauses();
    let names = input.names;
    let shared =
        Shared { recording, names, process: &process, owners, flows, frames, facts, switches, pauses, start };
    let mut found = Found {
        asked: incidents.anrs.iter().map(|anr| (anr.since, None)).collect(),
        history: History::before(&incidents.anrs),
        ..Found::default()
    };
    for (i, thread) in recording.threads().iter().enumerate() {
        if !sink.wants(&process.threads[i]) {
            continue;
        }
        sink.track(Track::Thread(i))?;
        tally.tracks += 1;
        // A thread that ended has nothing open any more, whatever was lost of its last words.
        let ended = thread.ended;
        let end = if ended >= survey.last[i] && ended > 0 { ended.min(survey.end) } else { survey.end };
        ThreadPass::new(&shared, sink, stack, &mut tally, &mut found, i)
            .run(end)
            .map_err(|error| place(input, error))?;
    }
    incident_track(&shared, &incidents, &snapshots, &found, &mut tally, sink)?;
    found.history.write(&mut tally, sink)?;
    queue_track(&shared, &snapshots, &mut found.late.messages, &mut tally, sink)?;
    vsync_track(&shared, &mut found.late.vsyncs, &mut tally, sink)?;
    startup_tracks(&shared, &starts, &mut tally, sink)?;
    recorder_track(&shared, &survey, &mut tally, sink)?;
    processor_track(&shared, &mut tally, sink)?;
    stacks(&shared, &snapshots, &incidents, &mut tally, sink).map_err(|error| place(input, error))?;
    Ok(tally)
}
