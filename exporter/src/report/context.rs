//! Writes the details around the hang: the cause, what ran before, starts.

use std::fmt::{self, Formatter};

use answers::answer::{Cause, RecentWork};
use answers::text::clean;
use answers::words::{seconds, times};

use super::findings::Report;
use crate::facts::confidence_name;

/// Maximum number of facts, kinds of messages and starts listed.
const MAX_LISTED: usize = 5;

/// Writes the rule that fired, and all facts.
pub(super) fn write_cause(r: &Report, cause: &Cause, f: &mut Formatter<'_>) -> fmt::Result {
    let (name, group) = (cause.id.name(), cause.kind.word());
    writeln!(f, "  cause       {name} ({}), of the group {group}", confidence_name(cause.confidence))?;
    writeln!(f, "              rule: {}", cause.rule)?;
    for evidence in &cause.evidence {
        let at = evidence.at.map_or_else(String::new, |at| format!("{}: ", r.moment(at)));
        writeln!(f, "              {at}{}", clean(&evidence.text))?;
    }
    if cause.also.is_empty() {
        return Ok(());
    }
    let also: Vec<&str> = cause.also.iter().map(|kind| kind.name()).collect();
    writeln!(f, "              also possible: {}", also.join(", "))
}

/// Writes what ran in the seconds before.
pub(super) fn write_before(before: &RecentWork, f: &mut Formatter<'_>) -> fmt::Result {
    if before.messages + before.not_queued == 0 {
        return Ok(());
    }
    let others = match before.not_queued {
        0 => String::new(),
        n => format!(" and {} outside of messages", times(n, "call")),
    };
    let share = u128::from(before.busy) * 100 / u128::from(before.to.saturating_sub(before.from).max(1));
    let (messages, took) = (times(before.messages, "message"), seconds(before.busy));
    writeln!(f, "  {messages}{others} took {took} together, {share} % of it")?;
    for kind in before.kinds.iter().take(MAX_LISTED) {
        let (total, longest) = (seconds(kind.total), seconds(kind.longest));
        writeln!(f, "  {total:>10}  {} of {}, the longest {longest}", kind.count, kind.name)?;
    }
    Ok(())
}

/// Writes how the process and its pages started.
pub(super) fn write_starts(r: &Report, f: &mut Formatter<'_>) -> fmt::Result {
    if r.starts.is_empty() {
        return Ok(());
    }
    writeln!(f, "\nSTARTS")?;
    for start in r.starts.iter().take(MAX_LISTED * 2) {
        let until = |what: &str, at: Option<u64>| {
            at.map_or_else(String::new, |at| format!("{what} {}, ", seconds(at.saturating_sub(start.begin))))
        };
        let application = until("application", start.application_end);
        let drawn = until("first draw", start.first_draw);
        let activity =
            if start.activity.is_empty() { String::new() } else { format!("  {}", start.activity) };
        let (took, at) = (seconds(start.duration()), r.moment(start.begin));
        let (kind, grade) = (start.kind.word(), start.grade.word());
        writeln!(f, "  {took:>10}  at {at}  {kind}{activity} ({application}{drawn}{grade})")?;
    }
    if let Some(split) = &r.start_split {
        writeln!(f, "  main in the process's start, at {}:", r.moment(split.begin))?;
        for part in split.components.iter().chain(&split.libraries) {
            let (whole, own) = (seconds(part.inclusive), seconds(part.exclusive));
            let (kind, calls) = (part.kind.word(), times(part.calls, "call"));
            writeln!(f, "  {whole:>10}  {own:>10} its own  {kind} {} ({calls})", part.name)?;
        }
    }
    if let Some(more) = r.starts.len().checked_sub(MAX_LISTED * 2).filter(|n| *n > 0) {
        writeln!(f, "  and {more} more")?;
    }
    Ok(())
}
