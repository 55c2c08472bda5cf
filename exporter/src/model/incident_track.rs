//! Writes ANRs and requests for a thread dump on a track of their own, in the log, and for Perfetto's
//! `android.anrs`.

use std::borrow::Cow;

use answers::text::clean;
use trace_format::event::Sigquit;
use trace_format::sections::anr_snapshot::AnrSnapshot;
use trace_format::verdict::Verdict;

use super::labels::{forward_name, known};
use super::sink::{AnrRow, Arg, Level, Sink, TallySink, Track, Unit, Value, borrowed};
use super::snapshot;
use super::thread::{Found, Shared};
use super::trace_answer::TraceAnswer;
use crate::ExportError;
use crate::facts::{
    Anr, Capture, Detector, confidence_name, known_form, outcome_name, reasons_text, verdict_name,
};
use crate::text::short;

/// Maximum time from the detection of an ANR to a snapshot without a message that belongs to it, ns.
const MAX_SNAPSHOT_DELAY: u64 = 2_000_000_000;
/// Maximum length of a subject in a slice's name, in characters; an argument has all of it.
const MAX_SUBJECT: usize = 120;

/// An event on the ANR track.
enum Mark<'a> {
    Anr(&'a Anr, Option<&'a AnrSnapshot>),
    Capture(&'a Capture),
    /// A snapshot that belongs to no ANR.
    Snapshot(&'a AnrSnapshot),
}

/// The snapshot of an ANR: the first one taken in its message, and not before it.
fn snapshot_of<'a>(anr: &Anr, snapshots: &'a [AnrSnapshot], taken: &mut [bool]) -> Option<&'a AnrSnapshot> {
    let of = |s: &AnrSnapshot| {
        let same = s.message_since > 0 && s.message_since == anr.since;
        same || (s.message_since == 0
            && s.at >= anr.since
            && s.at <= anr.detected.saturating_add(MAX_SNAPSHOT_DELAY))
    };
    let place = snapshots.iter().enumerate().position(|(i, s)| !taken[i] && of(s))?;
    // Further snapshots of the same message belong to the same ANR.
    for (i, s) in snapshots.iter().enumerate() {
        taken[i] |= i == place || (s.message_since > 0 && s.message_since == anr.since);
    }
    Some(&snapshots[place])
}

/// Writes the track, if there are events.
pub(super) fn incident_track<K: Sink>(
    shared: &Shared<'_>,
    found: &Found,
    out: &mut TallySink<'_, K>,
) -> Result<(), ExportError> {
    let (incidents, snapshots) = (&shared.facts.incidents, &shared.facts.sections.snapshots);
    for (at, id) in &incidents.notices {
        if let Some(message) = known(shared.recording.texts(), *id) {
            out.log((*at).max(shared.start), Level::Info, &message)?;
        }
    }
    let mut marks: Vec<(u64, Mark<'_>)> = Vec::new();
    let mut taken = vec![false; snapshots.len()];
    for anr in &incidents.anrs {
        marks.push((anr.since, Mark::Anr(anr, snapshot_of(anr, snapshots, &mut taken))));
    }
    let others = snapshots.iter().zip(&taken).filter(|(_, taken)| !**taken);
    marks.extend(others.map(|(snapshot, _)| (snapshot.at, Mark::Snapshot(snapshot))));
    marks.extend(incidents.captures.iter().map(|c| (c.at, Mark::Capture(c))));
    if marks.is_empty() {
        return Ok(());
    }
    marks.sort_by_key(|(at, _)| *at);
    out.track(Track::Anr)?;
    let mut now = shared.start;
    // A capture during an ANR is inside its slice.
    let mut open: Option<u64> = None;
    for (at, mark) in marks {
        if let Some(end) = open.filter(|end| *end <= at || matches!(mark, Mark::Anr(..))) {
            // Main can be blocked in one message only: a second start ends the first.
            let end_at = end.min(at).max(now);
            out.tally.clamped += u64::from(end_at != end);
            out.end(end_at, &[])?;
            now = end_at;
            open = None;
        }
        out.tally.clamped += u64::from(at < now);
        now = at.max(now);
        match mark {
            Mark::Anr(anr, snapshot) => {
                begin_anr(shared, found, (anr, snapshot), now, out)?;
                open = Some(anr.detected);
            }
            Mark::Capture(mark) => capture(mark, now, out)?,
            Mark::Snapshot(snapshot) => {
                out.instant(now, "main looked at", &borrowed(&snapshot::args(snapshot)))?;
            }
        }
    }
    if let Some(end) = open {
        out.end(end.max(now), &[])?;
    }
    for snapshot in snapshots {
        for (counter, bytes) in snapshot::memory(snapshot) {
            out.counter(snapshot.at.max(shared.start), counter, Unit::Bytes, bytes as f64)?;
        }
    }
    Ok(())
}

fn begin_anr<K: Sink>(
    shared: &Shared<'_>,
    found: &Found,
    (anr, snapshot): (&Anr, Option<&AnrSnapshot>),
    at: u64,
    out: &mut TallySink<'_, K>,
) -> Result<(), ExportError> {
    out.tally.anrs += 1;
    let is_last = shared.facts.incidents.anrs.last() == Some(anr);
    let message = found.wanted_names.get(&anr.since).and_then(Option::as_deref);
    let system_subject = shared.facts.subject(anr, is_last);
    // The answer is about one hang; without a start it is the last one.
    let is_answered = |answer: &&TraceAnswer| answer.since.map_or(is_last, |since| since == anr.since);
    let answered = shared.answer.as_ref().filter(is_answered);
    let subject = system_subject
        .map_or_else(|| anr.subject(), |system_subject| clean(&known_form(system_subject)).into_owned());
    let reasons = anr.verdict.as_ref().map(reasons_text);
    let (detector, forwarded) = match &anr.detector {
        Detector::Sigquit(signal) => ("sigquit", forward_name(signal.forward)),
        Detector::Watchdog => ("watchdog", Cow::Borrowed("")),
    };
    let mut args = Vec::with_capacity(32);
    args.extend(answered.into_iter().flat_map(TraceAnswer::args));
    args.push(Arg::new("detector", Value::Text(detector)));
    args.push(Arg::new("blocked_ms", Value::Millis(anr.blocked())));
    args.extend(message.map(|m| Arg::new("message", Value::Text(m))));
    if let Detector::Sigquit(signal) = &anr.detector {
        args.extend(signal_args(signal, &forwarded));
        args.extend(verdict_args(anr.verdict.as_ref(), reasons.as_deref()));
    }
    if let Some(watchdog) = anr.watchdog {
        let after = watchdog.saturating_sub(anr.since);
        args.push(Arg::new("watchdog_after_ms", Value::Millis(after)));
    }
    if anr.more_signals > 0 {
        args.push(Arg::new("more_sigquits", Value::Uint(anr.more_signals.into())));
    }
    args.push(Arg::new("subject", Value::Text(&subject)));
    let by = if system_subject.is_some() { "the system" } else { "anrscope" };
    args.push(Arg::new("subject_by", Value::Text(by)));
    args.extend(system_subject.map(|subject| Arg::new("subject_kind", Value::Text(subject.kind.name()))));
    let shown = snapshot.map(snapshot::args);
    args.extend(shown.iter().flat_map(borrowed));
    // Viewers show only a slice's name without a click: the answer precedes the system's subject in it.
    let why = answered.map_or_else(String::new, |answered| format!("{}: ", answered.why));
    out.begin(at, &format!("ANR: {why}{}", short(&subject, MAX_SUBJECT)), &args)?;

    let detected = anr.detected.max(at);
    let what = message.map_or_else(String::new, |m| format!(" in {m}"));
    let kind = anr.verdict.as_ref().map_or_else(|| "ANR".to_owned(), verdict_name);
    let why = reasons.map_or_else(String::new, |reasons| format!("; {reasons}"));
    let stage = snapshot.and_then(snapshot::stage).map_or_else(String::new, |(stage, age)| {
        age.map_or_else(
            || format!(", in stage {stage}"),
            |age| format!(", in stage {stage} for {} ms", age / 1_000_000),
        )
    });
    let line = format!("{kind} in {}: {subject}{what}{stage}{why}", shared.process.name);
    out.log(detected, Level::Error, &clean(&line))?;
    let error_id = anr.error_id(shared.process.pid);
    out.sink.anr(&AnrRow { at: detected, error_id: &error_id, subject: &subject })
}

fn capture<K: Sink>(capture: &Capture, at: u64, out: &mut TallySink<'_, K>) -> Result<(), ExportError> {
    let (signal, verdict) = (&capture.sigquit, capture.verdict.as_ref());
    let reasons = verdict.map(reasons_text);
    let forwarded = forward_name(signal.forward);
    let mut args = signal_args(signal, &forwarded).to_vec();
    args.extend(verdict_args(verdict, reasons.as_deref()));
    out.instant(at, "SIGQUIT", &args)?;
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
    out.log(at, Level::Info, &clean(&message))
}

/// The process's verdict on a signal, or that only the reader judged it.
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

fn signal_args<'a>(signal: &Sigquit, forwarded: &'a str) -> [Arg<'a>; 4] {
    [
        Arg::new("si_pid", Value::Uint(signal.si_pid.into())),
        Arg::new("si_uid", Value::Uint(signal.si_uid.into())),
        Arg::new("si_code", Value::Int(signal.si_code.into())),
        Arg::new("forwarded", Value::Text(forwarded)),
    ]
}
