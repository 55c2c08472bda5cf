//! Writes the details behind the answer: ids, signals, stacks and waits as recorded, full lists, the cost of
//! recording.

use std::fmt::{self, Formatter};

use answers::text::clean;
use answers::words::{about, seconds, times};
use trace_format::verdict::Outcome;

use super::super::context::{write_before, write_cause, write_starts};
use super::super::platform;
use super::super::waits::{WaitFact, activity};
use super::super::{Busy, Hang, OpenItem, Report, ThreadCoverage};
use super::columns::hidden;
use super::native_stacks::write_stacks;
use super::rows::forwarded;
use crate::facts::{
    Anr, Capture, Detector, MethodOff, OffReason, PolledCpu, Unit, reasons_text, verdict_name,
};

/// Maximum number of incompletely recorded threads listed.
const MAX_COVERAGE: usize = 4;

/// Maximum number of pauses, and of switched-off methods, listed.
const MAX_LISTED: usize = 8;

pub(super) fn write(r: &Report, f: &mut Formatter<'_>) -> fmt::Result {
    let begun = r.time_of_day(r.first).map_or_else(String::new, |at| format!(", from {at}"));
    writeln!(f, "  recorded    {}{begun}", r.recorded(seconds))?;
    if let Some(version) = &r.system.app_version {
        let code = r.system.app_version_code.map_or_else(String::new, |code| format!(" ({code})"));
        writeln!(f, "  app         version {version}{code}")?;
    }
    writeln!(f, "  end         {}; last seen alive at {}", r.ended(), r.moment(r.end))?;
    match (&r.hang, &r.cause) {
        (Some(hang), _) => write_hang(r, hang, f)?,
        (None, Some(cause)) => write_cause(r, cause, f)?,
        (None, None) => {}
    }
    write_stacks(r, f)?;
    write_signals(r, f)?;
    write_work(r, f)?;
    write_starts(r, f)?;
    write_profiles(r, f)?;
    write_recorded(r, f)
}

/// Writes what ran before the hang, and what took long.
fn write_work(r: &Report, f: &mut Formatter<'_>) -> fmt::Result {
    if !r.slowest.is_empty() || r.before.messages + r.before.not_queued > 0 {
        let before = if r.hung() { "HANG" } else { "END" };
        let span = r.before.to.saturating_sub(r.before.from);
        writeln!(f, "\nIN THE {:.1} S BEFORE THE {before}", span as f64 / 1e9)?;
    }
    write_before(&r.before, f)?;
    if !r.slowest.is_empty() {
        writeln!(f, "  slowest:")?;
        for slow in &r.slowest {
            writeln!(f, "  {:>10}  at {}  {}", seconds(slow.duration), r.moment(slow.since), slow.name)?;
        }
    }
    if !r.waits.is_empty() {
        writeln!(f, "\nMAIN'S LONGEST WAITS")?;
        for w in &r.waits {
            writeln!(f, "  {:>10}  at {}  {}", seconds(w.duration), r.moment(w.since), w.words(true))?;
        }
    }
    Ok(())
}

/// Writes what the platform stored.
fn write_profiles(r: &Report, f: &mut Formatter<'_>) -> fmt::Result {
    if !r.profiles.is_empty() {
        writeln!(f, "\nWHAT THE PLATFORM STORED")?;
        for line in platform::lines(r) {
            writeln!(f, "  {line}")?;
        }
        for profile in r.profiles.iter().filter(|profile| !profile.path.is_empty()) {
            writeln!(f, "  {}", clean(&profile.path))?;
        }
    }
    Ok(())
}

/// Writes what was recorded, what is missing, and what recording it cost.
fn write_recorded(r: &Report, f: &mut Formatter<'_>) -> fmt::Result {
    let c = &r.counts;
    writeln!(
        f,
        "\nRECORDED\n  {}, {} ({} overwritten); on main {}, {}, {}",
        times(c.threads, "thread"),
        times(c.words, "word"),
        times(c.overwritten, "older one"),
        times(c.methods, "method"),
        times(c.messages, "message"),
        times(c.frames, "frame")
    )?;
    if c.frame_metrics_dropped > 0 {
        writeln!(f, "  the system dropped the metrics of {}", times(c.frame_metrics_dropped, "frame"))?;
    }
    if c.not_queued > 0 {
        let units = times(c.not_queued, "unit");
        writeln!(f, "  and on main {units} outside of messages (input events, idle handlers)")?;
    }
    write_coverage(r, f)?;
    if let Some(s) = &r.signals {
        writeln!(
            f,
            "  SIGQUIT: {} received, {} forwarded, {} not forwarded; {} re-sent for a main that did not run, \
             {} without an event of their own",
            s.sensed, s.forwarded, s.failed, s.rescued, s.merged
        )?;
    }
    write_recorder(r, f)?;
    for (at, notice) in &r.notices {
        writeln!(f, "  recorder at {}: {notice}", r.moment(*at))?;
    }
    for warning in &r.warnings {
        writeln!(f, "  warning: {warning}")?;
    }
    Ok(())
}

fn write_hang(r: &Report, h: &Hang, f: &mut Formatter<'_>) -> fmt::Result {
    let end = if h.ended { "then main continued" } else { "to the last moment recorded" };
    let (least, before) = if h.began_before() { ("at least ", "before ") } else { ("", "") };
    writeln!(f, "  hang        {least}{}, {end}", seconds(h.duration()))?;
    match &h.unit {
        Some(unit) => writeln!(f, "  {}", unit.line())?,
        None => writeln!(f, "  in message  (not recorded)")?,
    }
    let day = r.time_of_day(h.since).map_or_else(String::new, |at| format!(", {at}"));
    writeln!(f, "  since       {before}{}{day}", r.moment(h.since))?;
    write_method(r, h, f)?;
    if let Some(wait) = &h.wait {
        write_wait(r, wait, f)?;
    }
    if let Some(cause) = &r.cause {
        write_cause(r, cause, f)?;
    }
    if let Some(cpu) = &h.cpu {
        write_cpu(cpu, f)?;
    }
    if let Some(anr) = &h.anr {
        write_verdict(anr, h.unit.as_ref(), f)?;
        write_anr(anr, h.unit.as_ref(), f)?;
    }
    writeln!(f, "\nMAIN'S STACK at {} (innermost first, with how long each was open)", r.moment(h.at))?;
    write_stack(&h.stack, h.at, h.standstill, f)?;
    if let Some(owner) = h.wait.as_ref().and_then(|w| w.owner.as_ref()) {
        writeln!(f, "\nSTACK OF THE OWNER, \"{}\" (tid {})", owner.name, owner.tid)?;
        write_stack(&owner.stack, h.at, h.standstill, f)?;
    }
    Ok(())
}

/// Writes the method that main was in, and its callees.
fn write_method(r: &Report, h: &Hang, f: &mut Formatter<'_>) -> fmt::Result {
    match h.main_method() {
        Some(method) => {
            let before = if method.began_before { "before " } else { "" };
            write!(f, "  in method   {} (since {before}{})", method.name, r.moment(method.since))?;
            match &h.busy {
                Some(busy) if h.method() != Some(method) => {
                    let whole = busy.span.1.saturating_sub(busy.span.0);
                    writeln!(f, ", open for {} of {}", seconds(busy.open), seconds(whole))?;
                }
                _ => writeln!(f)?,
            }
        }
        // Calls that started and ended meanwhile left nothing: something may have run.
        None if h.standstill > 0 => writeln!(f, "  in method   (not recorded)")?,
        None => writeln!(f, "  in method   (no instrumented method was open)")?,
    }
    if let Some(called) = h.busy.as_ref().and_then(Busy::called) {
        writeln!(f, "  called      {called}")?;
    }
    if h.standstill > 0 {
        let (still, whole) = (seconds(h.standstill), seconds(h.duration()));
        writeln!(
            f,
            "  time        coarse time stood still for {still} of the {whole}: calls look short there, or are missing"
        )?;
    }
    Ok(())
}

/// Lists threads of which only a part is recorded.
fn write_coverage(r: &Report, f: &mut Formatter<'_>) -> fmt::Result {
    let mut partial: Vec<_> = r.coverage.iter().filter(|t| !t.main && t.coverage.is_partial()).collect();
    partial.sort_by_key(|t| std::cmp::Reverse(t.coverage.lived() - t.coverage.recorded));
    for thread in partial.iter().take(MAX_COVERAGE) {
        let (recorded, lived) = (seconds(thread.coverage.recorded), seconds(thread.coverage.lived()));
        let ThreadCoverage { name, tid, .. } = thread;
        writeln!(f, "  {recorded} of {lived} of thread \"{name}\" (tid {tid}) are recorded")?;
    }
    match partial.len().checked_sub(MAX_COVERAGE).filter(|n| *n > 0) {
        Some(more) => writeln!(f, "  and parts of {} more", times(more as u64, "thread")),
        None => Ok(()),
    }
}

fn write_wait(r: &Report, wait: &WaitFact, f: &mut Formatter<'_>) -> fmt::Result {
    let what = wait.waited().words(wait.lock);
    writeln!(f, "  waiting     {what} (since {})", r.moment(wait.since))?;
    if let Some(owner) = &wait.owner {
        writeln!(f, "  owned by    thread \"{}\" (tid {}), {}", owner.name, owner.tid, activity(owner))?;
    }
    Ok(())
}

/// Writes whether main computed, waited for a CPU, or waited for something else.
fn write_cpu(p: &PolledCpu, f: &mut Formatter<'_>) -> fmt::Result {
    writeln!(
        f,
        "  CPU         {}: of {} polled main ran for {} and was runnable for {}\n              \
         {} voluntary and {} involuntary context switches",
        p.mostly().replace("asleep", "sleeping").replace("waiting for a processor", "runnable"),
        seconds(p.polled()),
        seconds(p.ran),
        seconds(p.waited),
        p.voluntary,
        p.involuntary
    )
}

/// Writes the cost of recording, and what is missing on purpose.
fn write_recorder(r: &Report, f: &mut Formatter<'_>) -> fmt::Result {
    let recorder = &r.recorder;
    if let Some((percent, worst)) = &recorder.measured {
        let (most, at, ns, events) = (worst.percent, r.moment(worst.at), worst.ns, about(worst.events));
        writeln!(
            f,
            "  cost, measured: {percent} % of the threads' time, {most} % at most (at {at}: {ns:.1} ns an event, {events} events a second)"
        )?;
    } else if let Some(m) = &recorder.measurement {
        writeln!(
            f,
            "  cost, an estimate: {:.1} ns an event when measured at the start ({}), {:.1} ns with coarse time: about {} % of main's time, \
             and for all threads {} % of one CPU",
            m.precise,
            m.clock,
            m.coarse,
            recorder.main_cost_percent.unwrap_or_default(),
            recorder.all_cost_percent.unwrap_or_default()
        )?;
    }
    let still = recorder.standstills.all();
    if !still.is_empty() {
        let (all, times) = (seconds(recorder.standstills.total()), times(still.len() as u64, "time"));
        writeln!(
            f,
            "  coarse time stood still for {all} in all, {times}: calls look short there, or are missing"
        )?;
    }
    if recorder.clamped > 0 {
        writeln!(f, "  {} timestamps were moved so that time never runs back", recorder.clamped)?;
    }
    for pause in recorder.pauses.iter().take(MAX_LISTED) {
        let end = pause.end.map_or_else(|| "the end".to_owned(), |end| r.moment(end));
        let begin = r.moment(pause.begin);
        writeln!(f, "  paused from {begin} to {end}: what is missing there is not idle time")?;
    }
    for (name, off) in recorder.off.iter().take(MAX_LISTED) {
        let (when, why) = off_words(r, off);
        writeln!(f, "  not recorded {when}: {name} ({why})")?;
    }
    for (what, all) in [("pauses", recorder.pauses.len()), ("methods", recorder.off.len())] {
        if all > MAX_LISTED {
            writeln!(f, "  and {} more {what}", all - MAX_LISTED)?;
        }
    }
    Ok(())
}

/// Says why and when a method was not recorded.
fn off_words(r: &Report, off: &MethodOff) -> (String, String) {
    let why = match off.why {
        OffReason::Asked => "asked for".to_owned(),
        OffReason::Budget(Some(rate)) => {
            format!("its calls are short, and {rate} events a second were over the budget")
        }
        OffReason::Budget(None) => "its calls are short, and they were over the budget".to_owned(),
        OffReason::Cost(calls) => format!("{calls} calls a second cost more than they are worth"),
    };
    let when = match off.until {
        Some(until) => format!("from {} to {}", r.moment(off.since), r.moment(until)),
        None => format!("since {}", r.moment(off.since)),
    };
    (when, why)
}

/// Writes the verdict on the signal, and its reasons.
fn write_verdict(anr: &Anr, unit: Option<&Unit>, f: &mut Formatter<'_>) -> fmt::Result {
    if matches!(anr.detector, Detector::Watchdog) {
        return Ok(());
    }
    let Some(verdict) = &anr.verdict else {
        return writeln!(f, "  verdict     ANR by the 2 s rule: the recording has no verdict on this signal");
    };
    let unit = unit.map_or("a message", |unit| &unit.name);
    let blocked = match anr.blocked() {
        0 => String::new(),
        ns => format!(": main blocked for {} in {unit}", seconds(ns)),
    };
    writeln!(f, "  verdict     {}{blocked}", verdict_name(verdict))?;
    for reason in &verdict.reasons {
        writeln!(f, "              {}", clean(&reason.text))?;
    }
    Ok(())
}

fn write_anr(anr: &Anr, unit: Option<&Unit>, f: &mut Formatter<'_>) -> fmt::Result {
    let after = seconds(anr.blocked());
    let begun =
        if unit.is_none_or(|unit| unit.message().is_some()) { "the message began" } else { "it began" };
    match &anr.detector {
        Detector::Sigquit(s) => {
            let (pid, uid, forwarded) = (s.si_pid, s.si_uid, forwarded(s.forward));
            writeln!(
                f,
                "  ANR         SIGQUIT from pid {pid} (uid {uid}), {after} after {begun}; {forwarded}"
            )?;
            if anr.more_signals > 0 {
                writeln!(f, "              and {} more SIGQUIT for the same ANR", anr.more_signals)?;
            }
            if let Some(at) = anr.watchdog {
                let after = seconds(at.saturating_sub(anr.since));
                writeln!(f, "              the watchdog noticed after {after}")?;
            }
            Ok(())
        }
        Detector::Watchdog => {
            writeln!(
                f,
                "  ANR         suspected: the watchdog noticed after {after}; the system sent no SIGQUIT"
            )
        }
    }
}

fn write_stack(stack: &[OpenItem], at: u64, standstill: u64, f: &mut Formatter<'_>) -> fmt::Result {
    if stack.is_empty() && standstill > 0 {
        return writeln!(f, "  (not recorded: coarse time stood still)");
    }
    if stack.is_empty() {
        return writeln!(f, "  (no recorded call was open)");
    }
    let hidden = hidden(stack.len());
    for (at_line, frame) in stack.iter().rev().enumerate() {
        if hidden.start == at_line && !hidden.is_empty() {
            writeln!(f, "              ... {} more ...", hidden.len())?;
        }
        if hidden.contains(&at_line) {
            continue;
        }
        let least = if frame.began_before { "> " } else { "" };
        let took = format!("{least}{}", seconds(at.saturating_sub(frame.since)));
        writeln!(f, "  {took:>10}  {}", frame.name)?;
    }
    Ok(())
}

fn write_signals(r: &Report, f: &mut Formatter<'_>) -> fmt::Result {
    let shown = r.hang.as_ref().and_then(|h| h.anr.as_ref());
    let others: Vec<_> = r.anrs.iter().filter(|a| Some(*a) != shown).collect();
    if !others.is_empty() {
        writeln!(f, "\n{}", if r.hung() { "OTHER ANRS" } else { "ANRS" })?;
        for anr in others {
            writeln!(f, "  at {}  {}", r.moment(anr.detected), anr.subject())?;
            if let Some(verdict) = &anr.verdict {
                writeln!(f, "              {}: {}", verdict_name(verdict), reasons_text(verdict))?;
            }
        }
    }
    let attached = |capture: &&Capture| {
        capture.verdict.as_ref().is_some_and(|verdict| verdict.outcome == Outcome::ToolAttached)
    };
    let (attached, requested): (Vec<_>, Vec<_>) = r.captures.iter().partition(attached);
    signals(f, r, "THREAD DUMPS REQUESTED (SIGQUIT without an ANR of this process)", &requested)?;
    signals(f, r, "TOOLS ATTACHED (by SIGQUIT, without a thread dump)", &attached)
}

/// Signals that were no ANR.
fn signals(f: &mut fmt::Formatter<'_>, r: &Report, title: &str, captures: &[&Capture]) -> fmt::Result {
    if captures.is_empty() {
        return Ok(());
    }
    writeln!(f, "\n{title}")?;
    for Capture { at, sigquit: s, verdict } in captures.iter().take(8) {
        writeln!(f, "  at {}  by pid {} (uid {})", r.moment(*at), s.si_pid, s.si_uid)?;
        if let Some(verdict) = verdict {
            writeln!(f, "              {}: {}", verdict_name(verdict), reasons_text(verdict))?;
        }
    }
    if let Some(more) = captures.len().checked_sub(8).filter(|n| *n > 0) {
        writeln!(f, "  and {more} more")?;
    }
    Ok(())
}
