//! Writes stacks side by side: main's and the owner's.

use std::fmt::{self, Formatter};
use std::ops::Range;

use answers::answer::{Owner, StackLine};
use answers::text::clean;
use answers::words::seconds;
use trace_format::event::WaitKind;

use super::super::findings::Report;
use super::WIDTH;
use super::names::Names;

/// Maximum number of lines displayed per stack; the middle of a longer one is omitted.
const MAX_LINES: usize = 24;
const OUTERMOST: usize = 4;
/// Maximum number of owners whose stacks are displayed.
const MAX_STACKS: usize = 4;
/// Number of spaces between two stacks.
const GAP: usize = 3;

/// A thread's stack as lines of text, its title first.
type Side = Vec<String>;

fn width(side: &[String]) -> usize {
    side.iter().map(|line| line.chars().count()).max().unwrap_or(0)
}

pub(super) fn write(r: &Report, names: &mut Names, f: &mut Formatter<'_>) -> fmt::Result {
    let sides = sides(r, names);
    for pair in sides.chunks(2) {
        match pair {
            [left, right] if 2 + width(left) + GAP + width(right) <= WIDTH => {
                writeln!(f)?;
                // Halves, unless one of them needs more.
                let half = (WIDTH - 2) / 2;
                let column = (width(left) + GAP).max(half.min(WIDTH - 2 - width(right)));
                for at in 0..left.len().max(right.len()) {
                    let (a, b) = (left.get(at), right.get(at));
                    let line =
                        format!("  {:column$}{}", a.map_or("", |line| line), b.map_or("", |line| line));
                    writeln!(f, "{}", line.trim_end())?;
                }
            }
            _ => {
                for side in pair {
                    writeln!(f)?;
                    side.iter().try_for_each(|line| writeln!(f, "  {line}"))?;
                }
            }
        }
    }
    Ok(())
}

fn sides(r: &Report, names: &mut Names) -> Vec<Side> {
    let answer = &r.answer;
    let recorded = answer.samples == 0 && answer.stack.iter().all(|line| line.open_ns.is_some());
    let hang = r.hang.as_ref().filter(|_| recorded);
    let wait = hang.and_then(|hang| Some((hang.at, hang.wait.as_ref()?)));
    let wait = wait.filter(|(_, wait)| wait.kind != WaitKind::Blocking);
    let wait = wait.map(|(at, wait)| (seconds(at.saturating_sub(wait.since)), waiting(wait.kind)));
    let mut sides = Vec::new();
    if !answer.stack.is_empty() || wait.is_some() {
        let title = match answer.samples {
            0 => answer.thread.name.clone(),
            samples => format!("{} (heaviest stack of {samples} samples)", answer.thread.name),
        };
        sides.push(side(title, wait, &answer.stack, answer.samples, names));
    }
    for (at, owner) in
        answer.owners.iter().take(MAX_STACKS).enumerate().filter(|(_, owner)| !owner.stack.is_empty())
    {
        let waits =
            (answer.owners.len() > at + 1 || answer.cycle.contains(&owner.thread)) && is_recorded(owner);
        let wait = waits.then(|| (String::new(), waiting(WaitKind::Monitor)));
        sides.push(side(format!("{} (owner)", owner.thread), wait, &owner.stack, 0, names));
    }
    sides
}

/// The lines of a stack that are omitted: the innermost ones show what it does, the outermost ones the message that
/// called it.
pub(super) fn hidden(lines: usize) -> Range<usize> {
    if lines > MAX_LINES { MAX_LINES - OUTERMOST..lines - OUTERMOST } else { 0..0 }
}

fn is_recorded(owner: &Owner) -> bool {
    owner.stack.iter().any(|line| line.open_ns.is_some())
}

fn waiting(kind: WaitKind) -> String {
    format!("[{}]", kind.phrases().state)
}

fn side(
    title: String,
    wait: Option<(String, String)>,
    stack: &[StackLine],
    samples: u64,
    names: &mut Names,
) -> Side {
    let first = stack.iter().position(|line| line.own);
    let amount = |line: &StackLine| match (line.samples, line.open_ns) {
        (Some(count), _) => format!("{count}/{samples}"),
        (None, Some(ns)) => seconds(ns),
        (None, None) => String::new(),
    };
    let mut rows: Vec<(String, char, String)> = Vec::new();
    rows.extend(wait.map(|(amount, text)| (amount, ' ', text)));
    let hidden = hidden(stack.len());
    for (at, line) in stack.iter().enumerate() {
        if hidden.start == at && !hidden.is_empty() {
            rows.push((String::new(), ' ', format!("... {} more ...", hidden.len())));
        }
        if !hidden.contains(&at) {
            let mark = if first == Some(at) { '>' } else { ' ' };
            rows.push((amount(line), mark, names.text(&clean(&line.site.title()))));
        }
    }
    let width = rows.iter().map(|(amount, ..)| amount.len()).max().unwrap_or(0);
    let width = if width > 0 { width + 2 } else { 0 };
    let lines = rows.into_iter().map(|(amount, mark, name)| format!("{amount:width$}{mark} {name}"));
    std::iter::once(title).chain(lines).collect()
}
