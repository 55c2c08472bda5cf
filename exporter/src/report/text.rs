//! The report as a page of text.

use std::fmt::{self, Formatter};

use trace_format::event::WaitKind;
use trace_format::layout::State;

use super::{Frame, Hang, Holder, Report, WaitFact};
use crate::model::{Anr, Capture, Detector, forward_name};

/// Lines of a stack that are shown; the middle of a longer one is left out.
const STACK_LINES: usize = 24;

/// Seconds with the digits that matter.
fn seconds(ns: u64) -> String {
    match ns {
        0..1_000_000 => format!("{:.3} ms", ns as f64 / 1e6),
        1_000_000..1_000_000_000 => format!("{:.1} ms", ns as f64 / 1e6),
        _ => format!("{:.3} s", ns as f64 / 1e9),
    }
}

/// A moment, as seconds since the recording began.
fn moment(report: &Report, at: u64) -> String {
    let start = report.start.boottime;
    if at >= start {
        format!("+{:.3} s", (at - start) as f64 / 1e9)
    } else {
        format!("-{:.3} s", (start - at) as f64 / 1e9)
    }
}

pub(super) fn write(r: &Report, f: &mut Formatter<'_>) -> fmt::Result {
    writeln!(f, "{} (pid {}), {} recorded", r.process, r.pid, seconds(r.end.saturating_sub(r.first)))?;
    let ended = match r.state {
        Some(State::Open) => "The process was killed, crashed, or is still running",
        Some(State::Ended) => "The process ended in order",
        Some(State::Disarmed) => "The recorder switched itself off",
        None => "How the recording ended is not known to this version",
    };
    writeln!(f, "{ended}; last seen alive at {}.\n", moment(r, r.end))?;
    match &r.hang {
        Some(hang) => write_hang(r, hang, f)?,
        None => {
            writeln!(f, "NOTHING HUNG\n  No ANR was recorded, and main was in no message that took long.")?
        }
    }
    write_signals(r, f)?;
    if !r.slowest.is_empty() {
        let before = if r.hung() { "the hang" } else { "the end" };
        writeln!(f, "\nSLOWEST IN THE 10 S BEFORE {}", before.to_uppercase())?;
        for slow in &r.slowest {
            writeln!(f, "  {:>10}  at {}  {}", seconds(slow.duration), moment(r, slow.since), slow.name)?;
        }
    }
    let c = &r.counts;
    writeln!(
        f,
        "\nRECORDED\n  {} threads, {} words ({} older ones overwritten); on main {} methods, {} messages, \
         {} frames",
        c.threads, c.words, c.overwritten, c.methods, c.messages, c.frames
    )?;
    for (at, notice) in &r.notices {
        writeln!(f, "  recorder at {}: {notice}", moment(r, *at))?;
    }
    for warning in &r.warnings {
        writeln!(f, "  warning: {warning}")?;
    }
    Ok(())
}

fn write_hang(r: &Report, h: &Hang, f: &mut Formatter<'_>) -> fmt::Result {
    let end = if h.ended { "then it went on" } else { "to the last moment recorded" };
    writeln!(f, "MAIN THREAD HUNG for {}, {end}", seconds(h.duration()))?;
    writeln!(f, "  in message  {}", h.message.as_deref().unwrap_or("(not recorded)"))?;
    writeln!(f, "  since       {}", moment(r, h.since))?;
    match h.method() {
        Some(method) => {
            writeln!(f, "  in method   {} (since {})", method.name, moment(r, method.since))?;
        }
        None => writeln!(f, "  in method   (no instrumented method was open)")?,
    }
    if let Some(wait) = &h.wait {
        write_wait(r, wait, f)?;
    }
    if let Some(anr) = &h.anr {
        write_anr(anr, f)?;
    }
    writeln!(f, "\nMAIN'S STACK at {} (innermost first, with how long each was open)", moment(r, h.at))?;
    write_stack(&h.stack, h.at, f)?;
    if let Some(holder) = h.wait.as_ref().and_then(|w| w.holder.as_ref()) {
        writeln!(f, "\nSTACK OF THE HOLDER, \"{}\" (tid {})", holder.name, holder.tid)?;
        write_stack(&holder.stack, h.at, f)?;
    }
    Ok(())
}

fn write_wait(r: &Report, wait: &WaitFact, f: &mut Formatter<'_>) -> fmt::Result {
    let what = match wait.kind {
        WaitKind::Monitor => "for the lock of",
        WaitKind::ObjectWait => "in Object.wait on",
        WaitKind::Park => "parked on",
        WaitKind::Sleep => "in Thread.sleep",
        WaitKind::Join => "in Thread.join on",
        WaitKind::Blocking => "in a blocking call,",
    };
    let class = wait.class.as_deref().unwrap_or("an object of unknown class");
    let class = if wait.kind == WaitKind::Sleep { "" } else { class };
    let lock = if wait.lock > 0 { format!(" (0x{:x})", wait.lock) } else { String::new() };
    writeln!(f, "  waiting     {what} {class}{lock} (since {})", moment(r, wait.since))?;
    if let Some(holder) = &wait.holder {
        writeln!(f, "  held by     thread \"{}\" (tid {}), {}", holder.name, holder.tid, doing(holder))?;
    }
    Ok(())
}

/// What the holder does, in a few words.
fn doing(holder: &Holder) -> String {
    if let Some((lock, owner)) = &holder.waits_for {
        let owner = owner.as_deref().map_or_else(String::new, |o| format!(", which \"{o}\" holds"));
        return format!("which itself waits for the lock of {lock}{owner}");
    }
    match (holder.stack.last(), &holder.last_left) {
        (Some(frame), _) => format!("which was in {}", frame.name),
        (None, Some(method)) => format!("in no recorded method; the last it left was {method}"),
        (None, None) => "of which nothing was recorded".to_owned(),
    }
}

fn write_anr(anr: &Anr, f: &mut Formatter<'_>) -> fmt::Result {
    let after = seconds(anr.blocked());
    match &anr.detector {
        Detector::Sigquit(s) => {
            writeln!(
                f,
                "  ANR         SIGQUIT from pid {} (uid {}), {after} after the message began; forwarded: {}",
                s.si_pid,
                s.si_uid,
                forward_name(s.forward)
            )?;
            if anr.more_signals > 0 {
                writeln!(f, "              and {} more SIGQUITs for the same message", anr.more_signals)?;
            }
            if let Some(at) = anr.watchdog {
                let after = seconds(at.saturating_sub(anr.since));
                writeln!(f, "              our watchdog noticed after {after}")?;
            }
            Ok(())
        }
        Detector::Watchdog => {
            writeln!(
                f,
                "  ANR         suspected: our watchdog noticed after {after}; the system sent no SIGQUIT"
            )
        }
    }
}

fn write_stack(stack: &[Frame], at: u64, f: &mut Formatter<'_>) -> fmt::Result {
    if stack.is_empty() {
        return writeln!(f, "  (nothing recorded was open)");
    }
    let hidden = stack.len().saturating_sub(STACK_LINES);
    for (i, frame) in stack.iter().rev().enumerate() {
        // The innermost frames say what it does, the outermost which message it is under.
        if hidden > 0 && i == STACK_LINES - 4 {
            writeln!(f, "              ... {hidden} more ...")?;
        }
        if hidden > 0 && (STACK_LINES - 4..STACK_LINES - 4 + hidden).contains(&i) {
            continue;
        }
        writeln!(f, "  {:>10}  {}", seconds(at.saturating_sub(frame.since)), frame.name)?;
    }
    Ok(())
}

fn write_signals(r: &Report, f: &mut Formatter<'_>) -> fmt::Result {
    let shown = r.hang.as_ref().and_then(|h| h.anr);
    let others: Vec<_> = r.anrs.iter().filter(|a| Some(**a) != shown).collect();
    if !others.is_empty() {
        writeln!(f, "\nOTHER ANRS")?;
        for anr in others {
            writeln!(f, "  at {}  {}", moment(r, anr.detected), anr.subject())?;
        }
    }
    if !r.captures.is_empty() {
        writeln!(f, "\nTHREAD DUMPS ASKED FOR (SIGQUIT while main was not stuck)")?;
        for Capture { at, sigquit: s } in r.captures.iter().take(8) {
            writeln!(f, "  at {}  by pid {} (uid {})", moment(r, *at), s.si_pid, s.si_uid)?;
        }
        if let Some(more) = r.captures.len().checked_sub(8).filter(|n| *n > 0) {
            writeln!(f, "  and {more} more")?;
        }
    }
    Ok(())
}
