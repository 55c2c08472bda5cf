//! All recordings of a trace, in the order in which a sink wants them.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use trace_format::event::{Clocks, Sigquit};
use trace_format::verdict::Verdict;
use trace_format::{Recording, Source};

use super::anr::{Anr, Capture, Detector, Incidents};
use super::identity::Identities;
use super::labels::forward_name;
use super::owners::Owners;
use super::recorder::RecorderFacts;
use super::recorder_track::{processor_track, recorder_track};
use super::sink::{AnrRow, Arg, Level, LogLine, Name, Sink, Track, Value};
use super::stack::OpenStack;
use super::survey::{MAX_TIME, Survey};
use super::thread::{Shared, ThreadPass, notice};
use super::verdicts::{confidence_name, outcome_name, reasons_text, verdict_name};
use super::{Names, Tally, clean};
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
    for input in inputs {
        let first = seen.insert(input.recording.header().pid);
        total += one(input, start, first, &mut identities, &mut stack, sink)?;
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
fn first_moment<S: Source>(inputs: &[Input<'_, S>]) -> u64 {
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
    let survey = placed(input, Survey::of(recording))?;
    let owners = placed(input, Owners::of(recording, &survey.waits))?;
    let incidents = placed(input, Incidents::of(recording))?;
    let facts = placed(input, RecorderFacts::of(recording))?;
    tally.skipped += incidents.verdicts_skipped.saturating_add(facts.more);
    let process = identities.process(recording, first);
    sink.process(&process)?;

    let pauses = facts.pauses();
    let shared = Shared { recording, names: input.names, process: &process, owners, facts, pauses, start };
    let mut asked: HashMap<_, _> = incidents.anrs.iter().map(|anr| (anr.since, None)).collect();
    let mut nobody = HashMap::new();
    for (i, thread) in recording.threads().iter().enumerate() {
        sink.track(Track::Thread(i))?;
        tally.tracks += 1;
        // A thread that ended has nothing open any more, whatever was lost of its last words.
        let ended = thread.ended;
        let end = if ended >= survey.last[i] && ended > 0 { ended.min(survey.end) } else { survey.end };
        let asked = if thread.main { &mut asked } else { &mut nobody };
        ThreadPass::new(&shared, sink, stack, &mut tally, asked, i)
            .run(end)
            .map_err(|error| place(input, error))?;
    }
    incident_track(&shared, &incidents, &asked, &mut tally, sink)?;
    recorder_track(&shared, &survey, &mut tally, sink)?;
    processor_track(&shared, &mut tally, sink)?;
    Ok(tally)
}

/// What happens on the ANR track, by time.
enum Mark<'a> {
    Anr(&'a Anr),
    Capture(&'a Capture),
}

fn incident_track<S: Source, K: Sink>(
    shared: &Shared<'_, S>,
    incidents: &Incidents,
    messages: &HashMap<u64, Option<String>>,
    tally: &mut Tally,
    sink: &mut K,
) -> Result<(), ExportError> {
    for (at, id) in &incidents.notices {
        if let Some(message) = notice(shared.recording, *id) {
            sink.log(&LogLine { at: (*at).max(shared.start), level: Level::Info, message: &message })?;
        }
    }
    let mut marks: Vec<(u64, Mark<'_>)> = Vec::new();
    marks.extend(incidents.anrs.iter().map(|anr| (anr.since, Mark::Anr(anr))));
    marks.extend(incidents.captures.iter().map(|c| (c.at, Mark::Capture(c))));
    if marks.is_empty() {
        return Ok(());
    }
    marks.sort_by_key(|(at, _)| *at);
    sink.track(Track::Anr)?;
    tally.tracks += 1;
    let mut now = shared.start;
    // A capture while an ANR lasts lies inside of its slice.
    let mut open: Option<u64> = None;
    for (at, mark) in marks {
        if let Some(end) = open.filter(|end| *end <= at || matches!(mark, Mark::Anr(_))) {
            // Main can be stuck in one message only: a second begin ends the first.
            let end_at = end.min(at).max(now);
            tally.clamped += u64::from(end_at != end);
            sink.end(end_at, &[])?;
            now = end_at;
            open = None;
        }
        tally.clamped += u64::from(at < now);
        now = at.max(now);
        match mark {
            Mark::Anr(anr) => {
                let message = messages.get(&anr.since).and_then(Option::as_deref);
                begin_anr(shared, anr, now, message, tally, sink)?;
                open = Some(anr.detected);
            }
            Mark::Capture(mark) => capture(mark, now, tally, sink)?,
        }
    }
    if let Some(end) = open {
        sink.end(end.max(now), &[])?;
    }
    Ok(())
}

fn begin_anr<S: Source, K: Sink>(
    shared: &Shared<'_, S>,
    anr: &Anr,
    at: u64,
    message: Option<&str>,
    tally: &mut Tally,
    sink: &mut K,
) -> Result<(), ExportError> {
    tally.anrs += 1;
    tally.slices += 1;
    let subject = anr.subject();
    let reasons = anr.verdict.as_ref().map(reasons_text);
    let mut args = Vec::with_capacity(16);
    let detector = if matches!(anr.detector, Detector::Sigquit(_)) { "sigquit" } else { "watchdog" };
    args.push(Arg::new("detector", Value::Text(detector)));
    args.push(Arg::new("blocked_ms", Value::Millis(anr.blocked())));
    args.extend(message.map(|m| Arg::new("message", Value::Text(m))));
    if let Detector::Sigquit(signal) = &anr.detector {
        args.extend(signal_args(signal));
        args.extend(verdict_args(anr.verdict.as_ref(), reasons.as_deref()));
    }
    if let Some(watchdog) = anr.watchdog {
        let after = watchdog.saturating_sub(anr.since);
        args.push(Arg::new("watchdog_after_ms", Value::Millis(after)));
    }
    if anr.more_signals > 0 {
        args.push(Arg::new("more_sigquits", Value::Uint(anr.more_signals.into())));
    }
    args.push(Arg::new("subject_by", Value::Text("anrscope")));
    sink.begin(at, Name::Text(&format!("ANR: {subject}")), &args)?;

    let detected = anr.detected.max(at);
    let what = message.map_or_else(String::new, |m| format!(" in {m}"));
    let kind = anr.verdict.as_ref().map_or_else(|| "ANR".to_owned(), verdict_name);
    let why = reasons.map_or_else(String::new, |reasons| format!("; {reasons}"));
    let line = format!("{kind} in {}: {subject}{what}{why}", shared.process.name);
    sink.log(&LogLine { at: detected, level: Level::Error, message: &clean(&line) })?;
    let error_id = anr.error_id(shared.process.pid);
    sink.anr(&AnrRow { at: detected, error_id: &error_id, subject: &subject })
}

fn capture<K: Sink>(capture: &Capture, at: u64, tally: &mut Tally, sink: &mut K) -> Result<(), ExportError> {
    tally.instants += 1;
    let (signal, verdict) = (&capture.sigquit, capture.verdict.as_ref());
    let reasons = verdict.map(reasons_text);
    let mut args = signal_args(signal).to_vec();
    args.extend(verdict_args(verdict, reasons.as_deref()));
    sink.instant(at, Name::Text("SIGQUIT"), &args)?;
    let message = match verdict {
        Some(v) => format!(
            "SIGQUIT from pid {} uid {}: {}: {}",
            signal.si_pid,
            signal.si_uid,
            verdict_name(v),
            reasons.unwrap_or_default()
        ),
        None => format!("thread dump requested by pid {} uid {}", signal.si_pid, signal.si_uid),
    };
    sink.log(&LogLine { at, level: Level::Info, message: &clean(&message) })
}

/// What the process said of a signal, or that nobody but the reader judged it.
fn verdict_args<'a>(verdict: Option<&'a Verdict>, reasons: Option<&'a str>) -> impl Iterator<Item = Arg<'a>> {
    let judged_by = match verdict {
        Some(v) if v.reconsidered => "the process, reconsidered",
        Some(_) => "the process",
        None => "2 s rule",
    };
    let verdict = verdict.into_iter().flat_map(|v| {
        [
            Arg::new("verdict", Value::Text(outcome_name(v.outcome))),
            Arg::new("confidence", Value::Text(confidence_name(v.confidence))),
            Arg::new("sender", Value::Text(v.sender.word())),
            Arg::new("policy", Value::Text(v.policy.word())),
        ]
    });
    let judged_by = [Arg::new("judged_by", Value::Text(judged_by))];
    let reasons = reasons.map(|reasons| Arg::new("reasons", Value::Text(reasons)));
    judged_by.into_iter().chain(verdict).chain(reasons)
}

fn signal_args(signal: &Sigquit) -> [Arg<'static>; 4] {
    [
        Arg::new("si_pid", Value::Uint(signal.si_pid.into())),
        Arg::new("si_uid", Value::Uint(signal.si_uid.into())),
        Arg::new("si_code", Value::Int(signal.si_code.into())),
        Arg::new("forwarded", Value::Text(forward_name(signal.forward))),
    ]
}
