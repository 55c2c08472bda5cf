//! What main called since a mark, as the lines of a report. On the worker, or whoever else has time: never on main.

use trace_format::Event;
use trace_rules::Rules;
use trace_rules::stack::{self, Call, CallTree, DISPATCH, Line};

use super::options::{Number, number};
use crate::ring::Mark;
use crate::slice::Slice;

/// The lines of a stack, trimmed to as many as the options say, and what a report says of it.
#[derive(Debug)]
pub(crate) struct CallStack {
    lines: Vec<Line>,
    /// The stretch itself or its longest line, whichever is longer, ms.
    pub(crate) cost_ms: i64,
    /// A line each.
    pub(crate) text: String,
    /// What reports are grouped by.
    pub(crate) key: String,
}

impl CallStack {
    /// In the form of the log.
    pub(crate) fn log_text(&self) -> String {
        stack::log_text(&self.lines)
    }
}

/// What main called from `mark` on, of a stretch that went from `from_ns` to `to_ns`. What is still open counts until then. A
/// record that has wrapped since (or was off) leaves the stretch alone.
pub(crate) fn since(mark: Option<&Mark>, from_ns: u64, to_ns: u64) -> CallStack {
    let mut slice = Slice::default();
    let copied = mark.is_some_and(|mark| crate::copy_since(mark, &mut slice).is_ok());
    let calls = slice.events().take_while(|(time, _)| *time <= to_ns).filter_map(call);
    let mut lines = if copied { lines(calls, to_ns) } else { Vec::new() };
    let took_ms = i64::try_from(to_ns.saturating_sub(from_ns) / 1_000_000).unwrap_or(i64::MAX);
    if lines.is_empty() {
        let ms = i32::try_from(took_ms).unwrap_or(i32::MAX);
        lines.push(Line { depth: 0, id: DISPATCH, count: 1, ms });
    }
    let cost_ms = stack::cost_ms(&lines, took_ms);
    CallStack { cost_ms, text: stack::text(&lines), key: stack::key(&lines, cost_ms, Rules::Anrscope), lines }
}

fn lines(calls: impl Iterator<Item = Call>, to_ns: u64) -> Vec<Line> {
    let mut tree = CallTree::new();
    for call in calls {
        tree.push(call);
    }
    let mut lines = tree.finish(to_ns).lines;
    stack::trim(&mut lines, number(Number::StackLines) as usize, Rules::Anrscope);
    lines
}

/// Messages are calls of the id that is reserved for them.
fn call((at_ns, event): (u64, Event)) -> Option<Call> {
    Some(match event {
        Event::Enter(id) => Call::enter(id, at_ns),
        Event::Exit(id) => Call::exit(id, at_ns),
        Event::MessageBegin(_) => Call::enter(DISPATCH, at_ns),
        Event::MessageEnd => Call::exit(DISPATCH, at_ns),
        _ => return None,
    })
}
