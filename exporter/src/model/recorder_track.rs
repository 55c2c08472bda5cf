//! Writes the recorder's own tracks: its changes, their cost, and main's CPU time.

use std::cmp::Reverse;

use trace_format::event::Change;
use trace_format::layout::State;

use super::categories::THREAD_STATE;
use super::labels::{cpu_args, state_name};
use super::sink::{Arg, Level, Sink, TallySink, Track, Unit, Value};
use super::thread::Shared;
use crate::facts::{Cost, EstimatedCosts, OffReason, Overhead, Switch, first_event, percent};
use crate::{ExportError, Warning};

/// Maximum number of threads listed individually: those with the most events.
const MAX_THREADS: usize = 64;
/// The counter of the estimated cost to main.
const COST: &str = "recording's cost to main, estimated (%)";
/// The counter of the measured cost.
const MEASURED: &str = "recording's cost, measured (% of the threads' time)";
/// The counter of main's CPU usage.
const CPU: &str = "main: processor while late (%)";
/// The slice while coarse time stood still.
const STANDSTILL: &str = "coarse time stood still: calls look short or are missing";
/// The counter of methods that are switched off.
const METHODS_OFF: &str = "methods switched off";
/// All of these counters.
pub(super) const RECORDERS_COUNTERS: [&str; 4] = [COST, MEASURED, CPU, METHODS_OFF];

/// An event on the recorder's track.
enum Mark {
    PauseBegin,
    PauseEnd,
    StillBegin,
    StillEnd,
    Change(Change),
    Switch(Switch),
    Thread(usize),
    Cost(f64),
    Measured(Cost),
}

/// Writes the track, if the recorder left any events.
pub(super) fn recorder_track<K: Sink>(
    shared: &Shared<'_>,
    out: &mut TallySink<'_, K>,
) -> Result<(), ExportError> {
    let (facts, survey) = (&shared.facts.recorder, shared.survey);
    let dropped = shared.recording.header().dropped;
    let has_changes =
        facts.measurement.is_some() || !facts.changes.is_empty() || facts.overhead != Overhead::default();
    if !has_changes && facts.standstills.all().is_empty() && dropped == 0 {
        return Ok(());
    }
    let measurement = facts.measurement.as_ref();
    let threads = shared.recording.threads();
    let costs = measurement.map(|known| EstimatedCosts::of(known, threads, &survey.events, survey.end));
    let main_cost = costs.as_ref().and_then(|costs| costs.main).unwrap_or(0.0);
    out.tally.main_cost_ppm = out.tally.main_cost_ppm.max((main_cost * 1e4) as u64);
    let switched_off = facts.switched_off();
    out.tally.methods_off += switched_off.iter().filter(|off| off.until.is_none()).count() as u64;
    out.track(Track::Recorder)?;
    let begin = shared.recording.header().start.boottime.clamp(shared.start, survey.end.max(shared.start));
    out.begin(begin, "recording", &recording_args(shared, costs.as_ref()))?;

    if let Some(warning) = Warning::of_drops(shared.recording) {
        log(out, begin, &warning.to_string())?;
    }
    let end = write_marks(shared, begin, costs.as_ref(), out)?;
    for pause in &shared.pauses {
        let last = pause.end.unwrap_or(end).min(end);
        out.tally.paused = out.tally.paused.saturating_add(last.saturating_sub(pause.begin));
    }
    out.end(end, &[])
}

/// Writes all marks, from `begin` on; returns the end of the track.
fn write_marks<K: Sink>(
    shared: &Shared<'_>,
    begin: u64,
    costs: Option<&EstimatedCosts>,
    out: &mut TallySink<'_, K>,
) -> Result<u64, ExportError> {
    let survey = shared.survey;
    let (mut now, mut paused, mut still, mut off) = (begin, false, false, 0_u64);
    for (at, mark) in marks(shared) {
        now = at.clamp(now, survey.end.max(now));
        // A standstill is cut at the border of a pause: slices nest.
        let cuts = matches!(mark, Mark::PauseBegin | Mark::PauseEnd | Mark::StillEnd);
        if cuts && std::mem::take(&mut still) {
            out.end(now, &[])?;
        }
        match mark {
            Mark::PauseBegin => {
                paused = true;
                out.begin(now, "recording paused", &[])?;
                log(out, now, "recording is paused from here on")?;
            }
            Mark::PauseEnd => {
                paused = false;
                out.end(now, &[])?;
                log(out, now, "recording goes on")?;
            }
            Mark::StillBegin => {
                still = true;
                out.begin(now, STANDSTILL, &[])?;
            }
            Mark::StillEnd => {}
            Mark::Change(change) => changed(now, change, out)?,
            Mark::Switch(switch) => {
                switched(shared, now, &switch, out)?;
                off = if switch.off.is_some() { off + 1 } else { off.saturating_sub(1) };
                out.counter(now, METHODS_OFF, Unit::Count, off as f64)?;
            }
            Mark::Thread(i) => {
                out.instant(now, "thread recorded", &thread_args(shared, i, costs))?;
            }
            Mark::Cost(cost) => out.counter(now, COST, Unit::Sign("%"), cost)?,
            Mark::Measured(cost) => out.counter(now, MEASURED, Unit::Sign("%"), cost.percent)?,
        }
    }
    let end = survey.end.max(now);
    if still {
        out.end(end, &[])?;
    }
    if paused {
        out.tally.incomplete += 1;
        out.end(end, &[Arg::new("incomplete", Value::Bool(true))])?;
    }
    Ok(end)
}

/// All marks by time. Marks of equal times keep the order of this list.
fn marks(shared: &Shared<'_>) -> Vec<(u64, Mark)> {
    let mut marks = Vec::new();
    for pause in &shared.pauses {
        marks.push((pause.begin, Mark::PauseBegin));
        marks.extend(pause.end.map(|end| (end, Mark::PauseEnd)));
    }
    for (since, until) in shared.facts.recorder.standstills.all() {
        marks.extend([(*since, Mark::StillBegin), (*until, Mark::StillEnd)]);
    }
    let changes = shared.facts.recorder.changes.iter();
    let clocks =
        changes.filter(|(_, c)| matches!(c.change, Change::Precise | Change::Coarse | Change::Unknown(_)));
    marks.extend(clocks.map(|(at, control)| (*at, Mark::Change(control.change))));
    marks.extend(shared.facts.switches.iter().map(|switch| (switch.at, Mark::Switch(*switch))));
    marks.extend(shared.facts.recorder.overhead.costs.iter().map(|cost| (cost.at, Mark::Measured(*cost))));
    let threads = shared.recording.threads();
    let mut by_events: Vec<usize> = (0..threads.len()).collect();
    by_events.sort_by_key(|i| Reverse(shared.survey.events[*i]));
    let listed = by_events.into_iter().take(MAX_THREADS);
    marks.extend(listed.map(|i| (threads[i].first_time(), Mark::Thread(i))));
    marks.extend(cost_marks(shared));
    marks.sort_by_key(|(at, _)| *at);
    marks
}

/// The cost to main per window, where it changes.
fn cost_marks(shared: &Shared<'_>) -> Vec<(u64, Mark)> {
    let main = shared.recording.threads().iter().find(|t| t.main);
    let (Some(main), Some(measurement)) = (main, &shared.facts.recorder.measurement) else {
        return Vec::new();
    };
    let survey = shared.survey;
    let width = survey.main_rate.width();
    let mut marks = Vec::new();
    let mut last = None;
    let windows = survey.main_rate.windows().map(|(begin, events)| {
        // Events of one window usually have one clock: that at its middle.
        let clock = main.clock_at(begin.saturating_add(width / 2));
        (begin, percent(events as f64 * measurement.cost(clock), width))
    });
    let end = survey.main_rate.windows().last().map(|(begin, _)| (begin.saturating_add(width), 0.0));
    for (begin, cost) in windows.chain(end.filter(|(end, _)| *end < survey.end)) {
        // A change of less than 0.001 percentage points is ignored.
        let cost = (cost * 1e3).round() / 1e3;
        if last.replace(cost) != Some(cost) {
            marks.push((begin, Mark::Cost(cost)));
        }
    }
    marks
}

fn recording_args(shared: &Shared<'_>, costs: Option<&EstimatedCosts>) -> Vec<Arg<'static>> {
    let header = shared.recording.header();
    let threads = shared.recording.threads();
    let overwritten = threads.iter().fold(0_u64, |sum, t| sum.saturating_add(t.overwritten()));
    let ended = match header.state {
        Some(State::Ended) => "in order",
        Some(State::Disarmed) => "switched off by a fault of its own",
        Some(State::Open) => "with its process, or not yet",
        None => "unknown",
    };
    let mut args = vec![
        Arg::new("events", Value::Uint(shared.survey.events.iter().sum())),
        Arg::new("words_overwritten", Value::Uint(overwritten)),
        Arg::new("events_dropped", Value::Uint(header.dropped)),
        Arg::new("times_clamped", Value::Uint(header.clamped)),
        Arg::new("threads", Value::Uint(threads.len() as u64)),
        Arg::new("ended", Value::Text(ended)),
    ];
    if let (Some(measurement), Some(costs)) = (&shared.facts.recorder.measurement, costs) {
        let cycles = measurement.clock == "cycle counter";
        args.extend([
            Arg::new("clock", Value::Text(if cycles { "cycle counter" } else { "vDSO" })),
            Arg::new("ns_per_event_precise", Value::Number(measurement.precise)),
            Arg::new("ns_per_event_coarse", Value::Number(measurement.coarse)),
            Arg::new("cost_percent_main", Value::Number(costs.main.unwrap_or(0.0))),
            Arg::new("cost_percent_all_threads", Value::Number(costs.all.unwrap_or(0.0))),
        ]);
    }
    let overhead = &shared.facts.recorder.overhead;
    if let (Some(percent), Some(worst)) =
        (overhead.percent(header.start.boottime, header.last_alive), overhead.worst())
    {
        args.extend([
            Arg::new("cost_percent_measured", Value::Number(percent)),
            Arg::new("cost_percent_measured_at_most", Value::Number(worst.percent)),
        ]);
    }
    if !shared.facts.recorder.standstills.all().is_empty() {
        args.push(Arg::new(
            "coarse_time_stood_still_ms",
            Value::Millis(shared.facts.recorder.standstills.total()),
        ));
    }
    args
}

fn thread_args<'a>(shared: &'a Shared<'_>, i: usize, costs: Option<&EstimatedCosts>) -> Vec<Arg<'a>> {
    let (thread, info) = (&shared.recording.threads()[i], &shared.process.threads[i]);
    let survey = shared.survey;
    let mut args = vec![
        Arg::new("thread", Value::Text(info.name.as_deref().unwrap_or("unknown"))),
        Arg::new("thread_tid", Value::Uint(info.tid.into())),
        Arg::new("events", Value::Uint(survey.events[i])),
        Arg::new("words_overwritten", Value::Uint(thread.overwritten())),
    ];
    let covered = survey.coverage_builder[i].finish(thread, survey.end, &shared.pauses);
    args.push(Arg::new("recorded_ms", Value::Millis(covered.recorded)));
    args.push(Arg::new("lived_ms", Value::Millis(covered.lived())));
    if let Some(costs) = costs {
        let lived = survey.last[i].saturating_sub(first_event(thread));
        args.push(Arg::new("cost_percent", Value::Number(percent(costs.each[i], lived))));
    }
    args
}

/// Writes a change of the clock, or one that only a later version knows.
fn changed<K: Sink>(at: u64, change: Change, out: &mut TallySink<'_, K>) -> Result<(), ExportError> {
    let (name, text) = match change {
        Change::Unknown(number) => {
            let name = format!("recording changed: unknown ({number})");
            out.instant(at, &name, &[])?;
            return log(out, at, &name);
        }
        Change::Precise => ("clock: precise", "every event reads the clock from here on"),
        _ => ("clock: coarse", "methods have coarse time from here on"),
    };
    out.instant(at, name, &[Arg::new("why", Value::Text("asked for"))])?;
    log(out, at, text)
}

/// Writes that a method is switched off or on.
fn switched<K: Sink>(
    shared: &Shared<'_>,
    at: u64,
    switch: &Switch,
    out: &mut TallySink<'_, K>,
) -> Result<(), ExportError> {
    let method = shared.names.method(switch.method);
    let mut args = Vec::with_capacity(4);
    if switch.method > 0 {
        args.push(Arg::new("method", Value::Text(&method)));
        args.push(Arg::new("method_id", Value::Uint(switch.method.into())));
    }
    let off = "is not recorded from here on";
    let (why, rate, text) = match switch.off {
        None => (None, None, "is recorded again".to_owned()),
        Some(OffReason::Asked) => (Some("asked for"), None, format!("{off}: asked for")),
        Some(OffReason::Budget(rate)) => {
            let events = rate.map_or(" and".to_owned(), |rate| format!(", and {rate} events a second are"));
            let text = format!("{off}: its calls are short{events} over the budget");
            (Some("over the budget"), rate.map(|rate| ("events_per_second", rate)), text)
        }
        Some(OffReason::Cost(calls)) => {
            let text = format!("{off}: {calls} calls a second cost more than they tell");
            (Some("cost of recording"), Some(("calls_per_second", calls)), text)
        }
    };
    args.extend(rate.map(|(key, rate)| Arg::new(key, Value::Uint(rate))));
    args.extend(why.map(|why| Arg::new("why", Value::Text(why))));
    let word = if switch.off.is_some() { "off" } else { "on" };
    out.instant(at, &format!("{word}: {method}"), &args)?;
    log(out, at, &format!("{method} {text}"))
}

fn log<K: Sink>(out: &mut TallySink<'_, K>, at: u64, message: &str) -> Result<(), ExportError> {
    out.log(at, Level::Info, &answers::text::clean(&format!("recorder: {message}")))
}

/// Writes what main did from one poll to the next while its message was late.
pub(super) fn cpu_track<K: Sink>(shared: &Shared<'_>, out: &mut TallySink<'_, K>) -> Result<(), ExportError> {
    let Some(main) = shared.recording.threads().iter().find(|t| t.main) else { return Ok(()) };
    let mut spans = shared.facts.recorder.spans(main.tid).peekable();
    if spans.peek().is_none() {
        return Ok(());
    }
    out.track(Track::Cpu)?;
    let (mut now, mut used) = (shared.start, 0_u64);
    for span in spans {
        let (begin, end) = (span.begin.max(now), span.end.max(now));
        if begin > now && now > shared.start {
            // Main is polled only while it is late: the time in between is unknown.
            out.counter(now, CPU, Unit::Sign("%"), 0.0)?;
        }
        out.counter(begin, CPU, Unit::Sign("%"), percent(span.ran as f64, span.polled()))?;
        // The CPU time itself, in the field where readers expect it.
        let mut args = cpu_args(&span).to_vec();
        args.extend([Arg::thread_time(used), Arg::category(THREAD_STATE)]);
        used = used.saturating_add(span.ran);
        out.begin(begin, state_name(span.mostly()), &args)?;
        out.end(end, &[Arg::thread_time(used)])?;
        now = end;
    }
    out.counter(now, CPU, Unit::Sign("%"), 0.0)
}
