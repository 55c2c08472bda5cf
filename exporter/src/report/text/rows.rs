//! Writes one line each for the system, main's CPU time, what ran before, and the recording.

use answers::text::clean;
use answers::words::{rounded, thousands, times};
use trace_format::event::Forward;

use super::super::device;
use super::super::platform;
use super::super::{MissedBeat, Report};
use super::names::Names;
use super::wrap::Row;
use crate::facts::{Anr, Detector, PolledCpu, outcome_name};
use crate::model::forward_name;

/// Maximum number of waits and starts listed.
const MAX_LISTED: usize = 3;

pub(super) fn rows(r: &Report, names: &mut Names) -> Vec<Row> {
    let mut rows = vec![("System", system(r))];
    rows.push((
        "Platform",
        platform::lines(r).into_iter().take(MAX_LISTED).map(|line| clean(&line).into_owned()).collect(),
    ));
    if let Some(cpu) = r.hang.as_ref().and_then(|hang| hang.cpu.as_ref()) {
        rows.push(("CPU", vec![cpu_line(cpu)]));
    }
    let device = r.device.as_ref().map(device::lines).unwrap_or_default();
    rows.push(("Device", device.into_iter().map(|line| names.text(&clean(&line))).collect()));
    rows.extend(before(r, names).map(|line| ("Before", vec![line])));
    // Of the thread that the answer is about, the answer says it.
    let is_other = |missed: &&MissedBeat| r.answer.thread.main || r.answer.thread.tid != Some(missed.tid);
    let missed = r.native.missed.iter().filter(is_other).take(MAX_LISTED);
    let missed = missed.map(|missed| names.text(&clean(&format!("{}; {}", missed.words(), missed.finding))));
    rows.push(("Heartbeats", missed.collect()));
    let waits = r.waits.iter().take(MAX_LISTED).map(|w| {
        let words = w.words(false);
        names.text(&clean(&format!("{} at {} {words}", rounded(w.duration), r.moment(w.since))))
    });
    rows.push(("Long waits", waits.collect()));
    let starts = r.starts.iter().take(MAX_LISTED).map(|start| {
        let activity =
            if start.activity.is_empty() { String::new() } else { format!(" of {}", clean(&start.activity)) };
        let (kind, took, grade) = (start.kind.word(), rounded(start.duration()), start.grade.word());
        names.text(&format!("{kind}{activity}: {took} ({grade})"))
    });
    rows.push(("Starts", starts.collect()));
    let parts = r.start_split.iter().flat_map(|split| {
        split.components.iter().take(MAX_LISTED).chain(split.libraries.iter().take(MAX_LISTED))
    });
    rows.push(("In the start", parts.map(|part| clean(&part.words()).into_owned()).collect()));
    rows.push(("Recording", recording(r)));
    let notices = r.notices.iter().take(MAX_LISTED);
    rows.push(("Notice", notices.map(|(at, text)| format!("{text} (at {})", r.moment(*at))).collect()));
    rows.push(("Warning", r.warnings.iter().map(ToString::to_string).collect()));
    rows.retain(|(_, lines)| !lines.is_empty());
    rows
}

/// The system's request, and the process's verdict.
fn system(r: &Report) -> Vec<String> {
    let shown = r.hang.as_ref().and_then(|hang| hang.anr.as_ref()).or(r.anrs.first());
    let mut lines: Vec<String> = shown.map(anr).into_iter().collect();
    let more = r.anrs.len().saturating_sub(lines.len()) as u64;
    let mut others = Vec::new();
    if more > 0 {
        others.push(times(more, "more ANR"));
    }
    if !r.captures.is_empty() {
        let senders: Vec<u32> = r.captures.iter().map(|capture| capture.sigquit.si_pid).collect();
        let own = if senders.iter().all(|pid| *pid == r.pid) { " from the process itself," } else { "" };
        others.push(format!("{}{own} for a thread dump only", times(senders.len() as u64, "SIGQUIT")));
    }
    if lines.is_empty() && others.is_empty() {
        lines.push("no SIGQUIT and no ANR recorded".to_owned());
    } else if !others.is_empty() {
        lines.push(others.join(", "));
    }
    lines
}

fn anr(anr: &Anr) -> String {
    let after = match anr.blocked() {
        0 => String::new(),
        ns => format!(" after {:.2} s", ns as f64 / 1e9),
    };
    match &anr.detector {
        Detector::Watchdog => {
            format!("no SIGQUIT; the recorder's watchdog reported it{after} (suspected ANR)")
        }
        Detector::Sigquit(signal) => {
            let verdict = match &anr.verdict {
                // Its reasons are in the details.
                Some(verdict) => outcome_name(verdict.outcome).to_owned(),
                None => "ANR by the 2 s rule (no verdict recorded)".to_owned(),
            };
            format!("SIGQUIT{after} from pid {}, {}; {verdict}", signal.si_pid, forwarded(signal.forward))
        }
    }
}

/// `sleeping for 100 % of 6.7 s (ran 0.04 ms, runnable 2.2 ms)`.
fn cpu_line(p: &PolledCpu) -> String {
    let sleeping = p.polled().saturating_sub(p.ran).saturating_sub(p.waited);
    let (state, part) = match p.mostly() {
        "running" => ("running", p.ran),
        "waiting for a processor" => ("runnable", p.waited),
        "asleep" => ("sleeping", sleeping),
        other => (other, sleeping),
    };
    let percent = (u128::from(part) * 100 + u128::from(p.polled()) / 2) / u128::from(p.polled().max(1));
    let (polled, ran, runnable) = (rounded(p.polled()), rounded(p.ran), rounded(p.waited));
    format!("{state} for {percent} % of {polled} (ran {ran}, runnable {runnable})")
}

/// What ran in the seconds before the hang, or before the end.
fn before(r: &Report, names: &mut Names) -> Option<String> {
    let before = &r.before;
    if before.messages + before.not_queued == 0 {
        return None;
    }
    let span = before.to.saturating_sub(before.from);
    let share = u128::from(before.busy) * 100 / u128::from(span.max(1));
    let mut line = format!("{}: main busy {share} %, {}", rounded(span), times(before.messages, "message"));
    if before.not_queued > 0 {
        line += &format!(", {} outside of messages", times(before.not_queued, "call"));
    }
    if let Some(slow) = r.slowest.first() {
        // Without packages.
        let bare = names.bare(&clean(&slow.name));
        let name = names.message(&bare).replace("Choreographer#doFrame", "frame");
        line += &format!(", slowest {} ({name})", rounded(slow.duration));
    }
    Some(line)
}

/// How much was recorded, what is missing, and the cost.
fn recording(r: &Report) -> Vec<String> {
    let (c, recorder) = (&r.counts, &r.recorder);
    let mut missing = Vec::new();
    if c.overwritten > 0 {
        missing.push(format!("{} overwritten", times(c.overwritten, "older word")));
    }
    if recorder.dropped > 0 {
        missing.push(format!("{} lost", times(recorder.dropped, "event")));
    }
    if c.frame_metrics_dropped > 0 {
        let frames = times(c.frame_metrics_dropped, "frame");
        missing.push(format!("FrameMetrics of {frames} dropped by the system"));
    }
    if !recorder.pauses.is_empty() {
        missing.push(format!("paused {}", times(recorder.pauses.len() as u64, "time")));
    }
    if recorder.methods_off() > 0 {
        missing.push(format!("{} switched off", times(recorder.methods_off() as u64, "method")));
    }
    if recorder.standstills.total() > 0 {
        missing.push(format!("coarse time stood still for {}", rounded(recorder.standstills.total())));
    }
    let missing = if missing.is_empty() { "nothing lost".to_owned() } else { missing.join(", ") };
    let cost = match (&recorder.measured, recorder.main_cost_percent) {
        (Some((percent, _)), _) => format!("; cost {percent} % of the threads' time"),
        (None, Some(percent)) => format!("; cost about {percent} % of main"),
        (None, None) => String::new(),
    };
    let events = if c.events == 1 { "1 event".to_owned() } else { format!("{} events", thousands(c.events)) };
    let threads = times(c.threads, "thread");
    vec![format!("{} recorded, {missing}, {events}, {threads}{cost}", r.recorded(rounded))]
}

/// Where the signal was forwarded.
pub(super) fn forwarded(forward: Forward) -> String {
    match forward {
        Forward::Catcher => "forwarded to the Signal Catcher".to_owned(),
        Forward::PreviousHandler => "forwarded to the previous handler".to_owned(),
        Forward::Failed => "forwarded to no thread".to_owned(),
        Forward::Passive => "left to the system".to_owned(),
        Forward::Unknown(_) => format!("forwarding {}", forward_name(forward)),
    }
}
