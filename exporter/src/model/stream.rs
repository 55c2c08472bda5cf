//! Streams all recordings of a trace in the order that a sink needs.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use trace_format::event::Clocks;
use trace_format::sections::process::Process;
use trace_format::{Recording, Source};

use super::flows::Flows;
use super::identity::Identities;
use super::incident_track::incident_track;
use super::late_tracks::{queue_track, vsync_track};
use super::locks::locks;
use super::message_list::MessageList;
use super::native_stacks::native_stacks;
use super::owners::Owners;
use super::recorder_track::{cpu_track, recorder_track};
use super::sink::{ProcessInfo, Sink, TallySink, Track};
use super::stacks::stacks;
use super::startup::startup_tracks;
use super::system_counters::system_counters;
use super::tasks::{PlanInput, TaskPlan, queue_tracks};
use super::thread::{Found, Shared, ThreadPass};
use super::trace_answer::{Diagnosis, TraceAnswer};
use super::{Names, Tally};
use crate::facts::{Facts, LockWait, MAX_TIME, Survey, system};
use crate::{ExportError, Warning};

/// Duration of a wait or other item from which a thread counts as hung, ns.
const HUNG_TIME: u64 = trace_format::android::ANR_LIMIT_NS;

/// Finds the answer of a recording.
pub type FindAnswer<'a> = dyn Fn(&Facts<'_>, &Survey) -> Result<Diagnosis, ExportError> + 'a;

/// A recording and the names of its methods.
pub struct Input<'a> {
    /// Its file name, for errors.
    pub file: &'a Path,
    /// The recording.
    pub recording: &'a Recording<dyn Source + 'a>,
    /// The names of its methods.
    pub names: Names<'a>,
    /// Finds the answer. It costs another pass over main, so only recordings that may contain a hang are asked.
    pub answer: &'a FindAnswer<'a>,
    /// Directories of files with symbols, for native stacks.
    pub symbols: &'a [PathBuf],
}

/// The result of streaming.
#[derive(Debug, Default)]
pub(crate) struct Streamed {
    pub(crate) counts: Tally,
    /// The system of the first recording that has one.
    pub(crate) system: Option<Process>,
    /// The first ANR of the first recording that has one: since when main was blocked, and when it was
    /// detected.
    pub(crate) anr: Option<(u64, u64)>,
    /// The last moment of all recordings.
    pub(crate) last: u64,
    /// What could not be read, by recording.
    pub(crate) warnings: Vec<Warning>,
}

/// Streams all recordings into `sink` and returns the counts. [`Sink::finish`] is left to the caller, which has
/// more metadata.
///
/// # Errors
/// If a recording cannot be read any further, or the sink fails.
pub fn stream<K: Sink>(inputs: &[Input<'_>], sink: &mut K) -> Result<Tally, ExportError> {
    Ok(streamed(inputs, sink)?.counts)
}

/// As [`stream`], with further results.
pub(crate) fn streamed<K: Sink>(inputs: &[Input<'_>], sink: &mut K) -> Result<Streamed, ExportError> {
    let mut clocks = Vec::new();
    for input in inputs {
        clocks.extend(input.recording.clocks().map_err(ExportError::reading(input.file))?);
    }
    let start = first_moment(inputs);
    sink.head(start, &usable_clocks(clocks))?;

    let mut found = Streamed { last: start, ..Streamed::default() };
    let mut identities = Identities::new(inputs.iter().map(|i| i.recording.header().pid));
    let mut seen = HashSet::new();
    let flows = Flows::default();
    for input in inputs {
        let first = seen.insert(input.recording.header().pid);
        one(input, start, first, &flows, &mut identities, &mut found, sink)?;
    }
    Ok(found)
}

/// Whether the recording may contain a hang: an ANR, a dump, a lock that a thread waits for at the end, or a
/// main thread that recorded nothing for long before the end.
fn may_have_hung(facts: &Facts<'_>, survey: &Survey) -> bool {
    let main = facts.recording.threads().iter().position(|thread| thread.main);
    let for_long = |since: u64| survey.end.saturating_sub(since) >= HUNG_TIME;
    let waiting = |wait: &LockWait| wait.duration == u64::MAX && for_long(wait.begun);
    !facts.incidents.anrs.is_empty()
        || !facts.incidents.captures.is_empty()
        || !facts.sections.dumps.is_empty()
        || facts.sections.native.has_captures()
        || survey.waits.iter().any(waiting)
        || main.is_some_and(|main| survey.last[main] > 0 && for_long(survey.last[main]))
}

/// The earliest time of any thread. Never 0, which some readers treat as unset.
pub(crate) fn first_moment(inputs: &[Input<'_>]) -> u64 {
    let of_one = |input: &Input<'_>| {
        let recording = input.recording;
        let threads = recording.threads().iter().map(trace_format::Thread::first_time);
        let header = recording.header().start.boottime;
        threads.chain([header]).filter(|t| *t > 0).min()
    };
    inputs.iter().filter_map(of_one).min().unwrap_or(1).min(MAX_TIME)
}

/// Clock triples by rising BOOTTIME. One that runs back on any axis (the user set the clock, or another boot)
/// is omitted: the engine would distrust that whole clock.
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

/// Counts what is known of a recording before any of it is written.
fn count(recording: &Recording<dyn Source + '_>, counts: &mut Tally) {
    let header = recording.header();
    let (faults, more_faults) = recording.faults();
    // A damaged header's value must leave room for counting.
    counts.clamped = counts.clamped.saturating_add(header.clamped).min(u64::MAX / 2);
    counts.dropped = counts.dropped.saturating_add(header.dropped);
    let overwritten = recording.threads().iter().map(|thread| thread.overwritten());
    counts.overwritten = overwritten.fold(counts.overwritten, u64::saturating_add);
    counts.faults += faults.len() as u64 + more_faults;
}

/// Ranks the threads: main, then those whose locks others waited for, then the others in their order.
fn rank(process: &mut ProcessInfo, owners: &Owners) {
    let main = process.threads.iter().position(|thread| thread.main);
    let order = main.into_iter().chain(owners.by_weight(main)).chain(0..process.threads.len());
    let mut ranked = HashSet::new();
    for thread in order {
        let rank = u32::try_from(ranked.len()).unwrap_or(u32::MAX);
        if ranked.insert(thread) {
            process.threads[thread].rank = rank;
        }
    }
}

fn one<K: Sink>(
    input: &Input<'_>,
    start: u64,
    first: bool,
    flows: &Flows,
    identities: &mut Identities,
    all: &mut Streamed,
    sink: &mut K,
) -> Result<(), ExportError> {
    let (recording, names) = (input.recording, input.names);
    let failed = ExportError::reading(input.file);
    let facts = Facts::of(recording).map_err(failed)?;
    let mut out = TallySink { sink, tally: &mut all.counts };
    count(recording, out.tally);
    out.tally.skipped += facts.skipped().total();
    let survey = facts.survey(|_, _| {}).map_err(failed)?;
    out.tally.skipped += survey.frames.more;
    let owners = Owners::of(&facts, &survey.waits, flows).map_err(failed)?;
    let system = facts.system();
    all.warnings.extend(Warning::of_skipped(input.file, &facts.all_skipped(&survey)));
    all.anr = all.anr.or(facts.incidents.anrs.first().map(|anr| (anr.since, anr.detected)));
    all.last = all.last.max(survey.end);
    all.system = all.system.take().or_else(|| Some(system.clone()).filter(system::is_known));
    let mut process = ProcessInfo { system, ..identities.process(recording, first) };
    rank(&mut process, &owners);
    out.sink.process(&process)?;
    let asked = may_have_hung(&facts, &survey);
    let diagnosis = asked.then(|| (input.answer)(&facts, &survey)).transpose()?;
    let answer = diagnosis.as_ref().and_then(|found| TraceAnswer::of(&found.answer));
    let chain = diagnosis.map(|found| found.chain).unwrap_or_default();
    if let Some(answer) = &answer {
        answer.log(start, &mut out)?;
    }
    let tasks = if survey.steps > 0 {
        let (threads, chain, end) = (&process.threads[..], &chain[..], survey.end);
        TaskPlan::of(&PlanInput { facts: &facts, names, threads, flows, chain, end }).map_err(failed)?
    } else {
        TaskPlan::default()
    };
    let shared = Shared {
        file: input.file,
        recording,
        names,
        process: &process,
        owners,
        flows,
        facts: &facts,
        survey: &survey,
        answer,
        tasks,
        pauses: facts.recorder.pauses(),
        start,
    };
    tracks(&shared, input.symbols, &mut all.warnings, &mut out)
}

/// Writes all tracks of a recording.
fn tracks<K: Sink>(
    shared: &Shared<'_>,
    symbols: &[PathBuf],
    warnings: &mut Vec<Warning>,
    out: &mut TallySink<'_, K>,
) -> Result<(), ExportError> {
    let (survey, anrs) = (shared.survey, &shared.facts.incidents.anrs);
    let mut found = Found {
        wanted_names: anrs.iter().map(|anr| (anr.since, None)).collect(),
        history: MessageList::before(anrs),
        ..Found::default()
    };
    for (i, thread) in shared.recording.threads().iter().enumerate() {
        if !out.sink.wants(&shared.process.threads[i]) {
            continue;
        }
        out.track(Track::Thread(i))?;
        // A thread that ended has nothing open, even if its last words were lost.
        let ended = thread.ended;
        let end = if ended >= survey.last[i] && ended > 0 { ended.min(survey.end) } else { survey.end };
        ThreadPass::new(shared, out, &mut found, i).run(end)?;
    }
    incident_track(shared, &found, out)?;
    let on_jvm = shared.facts.sections.process.is_off_android() && anrs.is_empty();
    shared.answer.iter().filter(|_| on_jvm).try_for_each(|answer| answer.track(shared.start, out))?;
    found.history.write(out)?;
    queue_track(shared, &found.late_messages, out)?;
    vsync_track(shared, &found.late_vsyncs, out)?;
    startup_tracks(shared, out)?;
    recorder_track(shared, out)?;
    cpu_track(shared, out)?;
    system_counters(shared, out)?;
    queue_tracks(shared, out)?;
    let dumped = stacks(shared, out)?;
    native_stacks(shared, symbols, warnings, out)?;
    locks(shared, &dumped, out)
}
