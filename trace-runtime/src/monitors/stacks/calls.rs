//! What main called since a mark, as the lines of a report. On the worker or another thread that may block,
//! never on main.

use trace_format::Event;
use trace_format::ids::DISPATCH;
use trace_rules::Rules;
use trace_rules::matrix_04::{matrix_04_key, matrix_04_trim};
use trace_rules::stack::{self, Call, CallTree, Line};

use crate::main_thread::message_source;
use crate::memory::mark::Mark;
use crate::memory::slice::Slice;
use crate::monitors::config::options::{Setting, number};

/// The most calls around a slice that are shown.
const MAX_OPEN_BEFORE: usize = 1_000;

/// The lines of a stack, trimmed to the number that the options allow, and its texts for a report.
#[derive(Debug)]
pub(crate) struct CallStack {
    lines: Vec<Line>,
    /// The duration of the stretch or of its longest line, whichever is longer, ms.
    pub(crate) cost_ms: i64,
    /// One line per call.
    pub(crate) text: String,
    /// The key by which reports are grouped.
    pub(crate) key: String,
}

impl CallStack {
    fn new(lines: Vec<Line>, took_ms: i64) -> Self {
        let cost_ms = stack::cost_ms(&lines, took_ms);
        Self { cost_ms, text: stack::text(&lines), key: stack::key(&lines, cost_ms, Rules::Anrscope), lines }
    }

    /// The stack in the form of the log.
    pub(crate) fn log_text(&self) -> String {
        stack::log_text(&self.lines)
    }
}

/// What main called after `mark`, from `from_ns` to `to_ns`. Calls that are still open count until then. If
/// the record has wrapped since (or was off), the stack is the stretch alone.
pub(crate) fn since(mark: Option<&Mark>, from_ns: u64, to_ns: u64) -> CallStack {
    let mut slice = Slice::default();
    let copied = mark.is_some_and(|mark| recorder::copy_since(mark, &mut slice).is_ok());
    // The mark before an outermost call is the position of the last poll, and other calls may be between.
    let before = if message_source::is_by_calls() { from_ns } else { 0 };
    let calls = slice.events().skip_while(|(time, _)| *time < before).take_while(|(time, _)| *time <= to_ns);
    let calls = calls.filter_map(call);
    let mut lines = if copied { CallTree::from_calls(calls, to_ns).lines } else { Vec::new() };
    let took_ms = to_ns.saturating_sub(from_ns) / 1_000_000;
    if lines.is_empty() {
        let ms = i32::try_from(took_ms).unwrap_or(i32::MAX);
        lines.push(Line { depth: 0, id: DISPATCH, count: 1, ms });
    }
    of_lines(lines, took_ms)
}

/// A stack of existing lines, for a stretch that took that long.
pub(crate) fn of_lines(mut lines: Vec<Line>, took_ms: u64) -> CallStack {
    stack::trim(&mut lines, number(Setting::StackLines) as usize, Rules::Anrscope);
    CallStack::new(lines, i64::try_from(took_ms).unwrap_or(i64::MAX))
}

/// As [`since`], trimmed and keyed as Matrix 0.4 did, which has no messages. Without a record it is empty.
pub(crate) fn matrix_04_since(mark: Option<&Mark>, from_ns: u64, to_ns: u64) -> CallStack {
    let mut slice = Slice::default();
    let copied = mark.is_some_and(|mark| recorder::copy_since(mark, &mut slice).is_ok());
    let cost_ms = i64::try_from(to_ns.saturating_sub(from_ns) / 1_000_000).unwrap_or(i64::MAX);
    let calls = || slice.events().take_while(|(time, _)| *time <= to_ns).filter_map(method);
    let begin_ns = calls().next().map_or(to_ns, |call| call.at_ns);
    let around = open_before(calls()).into_iter().rev().map(|id| Call::enter(id, begin_ns));
    let all = around.chain(calls());
    let mut lines = if copied { CallTree::from_calls(all, to_ns).lines } else { Vec::new() };
    matrix_04_trim(&mut lines, cost_ms);
    CallStack { cost_ms, text: stack::text(&lines), key: matrix_04_key(&lines, cost_ms), lines }
}

/// Calls that end in a slice and did not begin in it, innermost first: they were open where it begins.
fn open_before(calls: impl Iterator<Item = Call>) -> Vec<u32> {
    let mut before = Vec::new();
    let mut open: Vec<u32> = Vec::new();
    for call in calls {
        if call.entered {
            open.push(call.id);
        } else if let Some(at) = open.iter().rposition(|id| *id == call.id) {
            open.truncate(at);
        } else if before.len() < MAX_OPEN_BEFORE {
            open.clear();
            before.push(call.id);
        }
    }
    before
}

/// The begin or end of a method; `None` for messages and other events.
pub(crate) fn method(event: (u64, Event)) -> Option<Call> {
    call(event).filter(|call| call.id != DISPATCH)
}

/// The begin or end of a method or message. Messages are calls of the id that is reserved for them.
fn call((at_ns, event): (u64, Event)) -> Option<Call> {
    Some(match event {
        Event::Enter(id) => Call::enter(id, at_ns),
        Event::Exit(id) => Call::exit(id, at_ns),
        Event::MessageBegin(_) => Call::enter(DISPATCH, at_ns),
        Event::MessageEnd => Call::exit(DISPATCH, at_ns),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_open_before_a_slice_end_in_it() {
        let calls = |text: &str| -> Vec<Call> {
            let call = |(n, word): (usize, &str)| {
                let (id, at) = (word[1..].parse().unwrap(), n as u64);
                if word.starts_with('i') { Call::enter(id, at) } else { Call::exit(id, at) }
            };
            text.split(' ').enumerate().map(call).collect()
        };
        let of = |text: &str| open_before(calls(text).into_iter());
        assert_eq!(of("i1 o1 o2 i3 o3 o4"), [2, 4]);
        assert_eq!(of("i1 i2 o1 o2"), [2], "an exception went through 2, whose exit then is another's");
        assert_eq!(of("i1 i1 o1 o1"), [0; 0]);
        assert_eq!(of("i1 i2"), [0; 0], "what is open at the end began in it");
    }
}
