//! Writes the recorder's own tracks: its changes, their cost, and main's CPU time.

use std::cmp::Reverse;

use trace_format::Source;
use trace_format::event::Change;
use trace_format::layout::State;

use super::Tally;
use super::categories::THREAD_STATE;
use super::labels::{cpu_args, state_name};
use super::sink::{Arg, Level, LogLine, Name, Sink, Track, Unit, Value};
use super::thread::Shared;
use crate::facts::{Cost, OffReason, Overhead, Survey, Switch, estimate, first_event, percent};
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

/// The estimated cost per thread, if the device's figures are known.
struct Costs {
    /// Per thread, ns.
    each: Vec<f64>,
    /// For main, in percent of its time since its first event.
    main: f64,
    /// For all threads together, in percent of one CPU.
    all: f64,
}

fn costs<S: Source + ?Sized>(shared: &Shared<'_, S>, survey: &Survey) -> Option<Costs> {
    let measurement = shared.facts.recorder.measurement.as_ref()?;
    let threads = shared.recording.threads();
    let each: Vec<f64> =
        threads.iter().zip(&survey.events).map(|(t, events)| estimate(measurement, t, *events)).collect();
    let main = threads.iter().position(|t| t.main);
    let main = main.map_or(0.0, |i| percent(each[i], survey.end.saturating_sub(first_event(&threads[i]))));
    let first = threads.iter().map(first_event).filter(|t| *t > 0).min().unwrap_or(survey.end);
    let all = percent(each.iter().sum(), survey.end.saturating_sub(first));
    Some(Costs { each, main, all })
}

/// Writes the track, if the recorder left any events.
pub(super) fn recorder_track<S: Source + ?Sized, K: Sink>(
    shared: &Shared<'_, S>,
    survey: &Survey,
    tally: &mut Tally,
    sink: &mut K,
) -> Result<(), ExportError> {
    let facts = &shared.facts.recorder;
    let dropped = shared.recording.header().dropped;
    let has_changes =
        facts.measurement.is_some() || !facts.changes.is_empty() || facts.overhead != Overhead::default();
    if !has_changes && facts.standstills.all().is_empty() && dropped == 0 {
        return Ok(());
    }
    let costs = costs(shared, survey);
    tally.main_cost_ppm = costs.as_ref().map_or(0, |costs| (costs.main * 1e4) as u64);
    tally.methods_off = facts.off().len() as u64;
    sink.track(Track::Recorder)?;
    tally.tracks += 1;
    let begin = shared.recording.header().start.boottime.clamp(shared.start, survey.end.max(shared.start));
    tally.slices += 1;
    sink.begin(begin, Name::Text("recording"), &recording_args(shared, survey, costs.as_ref()))?;

    if let Some(warning) = Warning::of_drops(shared.recording) {
        log(sink, begin, &warning.to_string())?;
    }
    let (mut now, mut paused, mut still, mut off) = (begin, false, false, 0_u64);
    for (at, mark) in marks(shared, survey, costs.as_ref()) {
        now = at.clamp(now, survey.end.max(now));
        match mark {
            // A standstill is cut at the border of a pause: slices nest.
            Mark::PauseBegin => {
                if std::mem::take(&mut still) {
                    sink.end(now, &[])?;
                }
                tally.slices += 1;
                paused = true;
                sink.begin(now, Name::Text("recording paused"), &[])?;
                log(sink, now, "recording is paused from here on")?;
            }
            Mark::PauseEnd => {
                if std::mem::take(&mut still) {
                    sink.end(now, &[])?;
                }
                paused = false;
                sink.end(now, &[])?;
                log(sink, now, "recording goes on")?;
            }
            Mark::StillBegin => {
                tally.slices += 1;
                still = true;
                sink.begin(now, Name::Text(STANDSTILL), &[])?;
            }
            Mark::StillEnd => {
                if std::mem::take(&mut still) {
                    sink.end(now, &[])?;
                }
            }
            Mark::Change(change) => changed(now, change, tally, sink)?,
            Mark::Switch(switch) => {
                switched(shared, now, &switch, tally, sink)?;
                off = if switch.off.is_some() { off + 1 } else { off.saturating_sub(1) };
                tally.counters += 1;
                sink.counter(now, METHODS_OFF, Unit::Count, off as f64)?;
            }
            Mark::Thread(i) => {
                tally.instants += 1;
                let args = thread_args(shared, survey, i, costs.as_ref());
                sink.instant(now, Name::Text("thread recorded"), &args)?;
            }
            Mark::Cost(cost) => {
                tally.counters += 1;
                sink.counter(now, COST, Unit::Sign("%"), cost)?;
            }
            Mark::Measured(cost) => {
                tally.counters += 1;
                sink.counter(now, MEASURED, Unit::Sign("%"), cost.percent)?;
            }
        }
    }
    let end = survey.end.max(now);
    if still {
        sink.end(end, &[])?;
    }
    if paused {
        tally.incomplete += 1;
        sink.end(end, &[Arg::new("incomplete", Value::Bool(true))])?;
    }
    for pause in &shared.pauses {
        let last = pause.end.unwrap_or(end).min(end);
        tally.paused = tally.paused.saturating_add(last.saturating_sub(pause.begin));
    }
    sink.end(end, &[])
}

/// All marks by time. Marks of equal times keep the order of this list.
fn marks<S: Source + ?Sized>(
    shared: &Shared<'_, S>,
    survey: &Survey,
    costs: Option<&Costs>,
) -> Vec<(u64, Mark)> {
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
    by_events.sort_by_key(|i| Reverse(survey.events[*i]));
    let listed = by_events.into_iter().take(MAX_THREADS);
    marks.extend(listed.map(|i| (threads[i].first_time(), Mark::Thread(i))));
    if costs.is_some() {
        marks.extend(cost_marks(shared, survey));
    }
    marks.sort_by_key(|(at, _)| *at);
    marks
}

/// The cost to main per window, where it changes.
fn cost_marks<S: Source + ?Sized>(shared: &Shared<'_, S>, survey: &Survey) -> Vec<(u64, Mark)> {
    let main = shared.recording.threads().iter().find(|t| t.main);
    let (Some(main), Some(measurement)) = (main, &shared.facts.recorder.measurement) else {
        return Vec::new();
    };
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

fn recording_args<S: Source + ?Sized>(
    shared: &Shared<'_, S>,
    survey: &Survey,
    costs: Option<&Costs>,
) -> Vec<Arg<'static>> {
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
        Arg::new("events", Value::Uint(survey.events.iter().sum())),
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
            Arg::new("cost_percent_main", Value::Number(costs.main)),
            Arg::new("cost_percent_all_threads", Value::Number(costs.all)),
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

fn thread_args<'a, S: Source + ?Sized>(
    shared: &'a Shared<'_, S>,
    survey: &Survey,
    i: usize,
    costs: Option<&Costs>,
) -> Vec<Arg<'a>> {
    let (thread, info) = (&shared.recording.threads()[i], &shared.process.threads[i]);
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
fn changed<K: Sink>(at: u64, change: Change, tally: &mut Tally, sink: &mut K) -> Result<(), ExportError> {
    let (name, text) = match change {
        Change::Unknown(number) => {
            let name = format!("recording changed: unknown ({number})");
            tally.instants += 1;
            sink.instant(at, Name::Text(&name), &[])?;
            return log(sink, at, &name);
        }
        Change::Precise => ("clock: precise", "every event reads the clock from here on"),
        _ => ("clock: coarse", "methods have coarse time from here on"),
    };
    tally.instants += 1;
    sink.instant(at, Name::Text(name), &[Arg::new("why", Value::Text("asked for"))])?;
    log(sink, at, text)
}

/// Writes that a method is switched off or on.
fn switched<S: Source + ?Sized, K: Sink>(
    shared: &Shared<'_, S>,
    at: u64,
    switch: &Switch,
    tally: &mut Tally,
    sink: &mut K,
) -> Result<(), ExportError> {
    let method = shared.names.method(switch.method);
    let mut args = Vec::with_capacity(4);
    if switch.method > 0 {
        args.push(Arg::new("method", Value::Text(&method)));
        args.push(Arg::new("method_id", Value::Uint(switch.method.into())));
    }
    let text = match switch.off {
        None => format!("{method} is recorded again"),
        Some(OffReason::Asked) => format!("{method} is not recorded from here on: asked for"),
        Some(OffReason::Budget(None)) => {
            format!("{method} is not recorded from here on: its calls are short and over the budget")
        }
        Some(OffReason::Budget(Some(rate))) => {
            args.push(Arg::new("events_per_second", Value::Uint(rate)));
            format!(
                "{method} is not recorded from here on: its calls are short, and {rate} events a second are over the budget"
            )
        }
        Some(OffReason::Cost(calls)) => {
            args.push(Arg::new("calls_per_second", Value::Uint(calls)));
            format!("{method} is not recorded from here on: {calls} calls a second cost more than they tell")
        }
    };
    let why = switch.off.map(|why| match why {
        OffReason::Budget(_) => "over the budget",
        OffReason::Cost(_) => "cost of recording",
        OffReason::Asked => "asked for",
    });
    args.extend(why.map(|why| Arg::new("why", Value::Text(why))));
    tally.instants += 1;
    let word = if switch.off.is_some() { "off" } else { "on" };
    sink.instant(at, Name::Text(&format!("{word}: {method}")), &args)?;
    log(sink, at, &text)
}

fn log<K: Sink>(sink: &mut K, at: u64, message: &str) -> Result<(), ExportError> {
    sink.log(&LogLine::ours(at, Level::Info, &crate::text::clean(&format!("recorder: {message}"))))
}

/// Writes what main did from one poll to the next while its message was late.
pub(super) fn cpu_track<S: Source + ?Sized, K: Sink>(
    shared: &Shared<'_, S>,
    tally: &mut Tally,
    sink: &mut K,
) -> Result<(), ExportError> {
    let Some(main) = shared.recording.threads().iter().find(|t| t.main) else { return Ok(()) };
    let mut spans = shared.facts.recorder.spans(main.tid).peekable();
    if spans.peek().is_none() {
        return Ok(());
    }
    sink.track(Track::Cpu)?;
    tally.tracks += 1;
    let (mut now, mut used) = (shared.start, 0_u64);
    for span in spans {
        let (begin, end) = (span.begin.max(now), span.end.max(now));
        if begin > now && now > shared.start {
            // Main is polled only while it is late: the time in between is unknown.
            tally.counters += 1;
            sink.counter(now, CPU, Unit::Sign("%"), 0.0)?;
        }
        tally.counters += 1;
        sink.counter(begin, CPU, Unit::Sign("%"), percent(span.ran as f64, span.polled()))?;
        tally.slices += 1;
        // The CPU time itself, in the field where readers expect it.
        let mut args = cpu_args(&span).to_vec();
        args.extend([Arg::thread_time(used), Arg::category(THREAD_STATE)]);
        used = used.saturating_add(span.ran);
        sink.begin(begin, Name::Text(state_name(span.mostly())), &args)?;
        sink.end(end, &[Arg::thread_time(used)])?;
        now = end;
    }
    tally.counters += 1;
    sink.counter(now, CPU, Unit::Sign("%"), 0.0)
}
