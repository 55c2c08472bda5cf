//! Finds where main spent a hang: the method that was open for nearly all of it, and what it called repeatedly.

use std::collections::HashMap;

use answers::answer::CalleeSummary;
use answers::words::about;
use serde::Serialize;
use trace_format::{Event, ReadError, Thread, ids};

use super::open_item::{OpenItem, OpenItemKind};
use crate::facts::{Change, Facts, Open, OpenStack};
use crate::model::{Names, ShortCalls};

/// Maximum number of enclosing calls listed.
const MAX_CHAIN: usize = 512;
/// Maximum number of calls distinguished, and of callees listed.
const MAX_CALLEES: usize = 4096;
const MAX_LISTED: usize = 4;
/// Maximum number of items between a call and the method that it is in.
const MAX_BETWEEN: usize = 64;
/// Maximum delay from short calls to the event with their count, ns.
const MAX_COUNT_DELAY: u64 = 2_000_000_000;

/// Where main spent a hang.
#[derive(Clone, PartialEq, Debug)]
pub struct Busy {
    /// The recorded part of the hang: start and end, BOOTTIME ns.
    pub span: (u64, u64),
    /// The methods that were open for more than half of it, outermost first: the last one contains the loop.
    pub chain: Vec<OpenItem>,
    /// How long the last of them was open in it, ns.
    pub open: u64,
    /// Its recorded callees with the most time, at most four.
    pub callees: Vec<Callee>,
    /// The recorded call that takes half of the time or more, however deep below the method; of several the innermost.
    pub(super) inner: Option<Callee>,
    /// Approximate number of main's calls meanwhile that were too short to be recorded.
    pub short_calls: u64,
    /// The methods with most of these, and their share in percent; at most four.
    pub hot: Vec<(String, u64)>,
    /// Time of the last count; 0 if nothing was counted.
    pub counted: u64,
}

/// A recorded method that the busy method called.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Callee {
    /// The method.
    pub name: String,
    /// The number of recorded calls.
    pub calls: u64,
    /// The total time of these calls.
    #[serde(rename = "total_ns")]
    pub total: u64,
}

impl Busy {
    /// The recorded call that most of the method's time is in: an inner one that has half of it, or the callee with most.
    pub(super) fn callee(&self) -> Option<CalleeSummary> {
        let Callee { name, calls, total } = self.inner.as_ref().or(self.callees.first())?.clone();
        Some(CalleeSummary { name, calls, total, of: self.span.1.saturating_sub(self.span.0) })
    }

    /// The calls that the method made too briefly to be recorded:
    /// `Feed.row (80 %) of about 1,200,000 calls too short to record`.
    pub(super) fn called(&self) -> Option<String> {
        if self.short_calls == 0 {
            return None;
        }
        let calls = about(self.short_calls);
        let hot = self.hot.iter().take(2).map(|(name, percent)| format!("{name} ({percent} %)"));
        Some(match hot.collect::<Vec<_>>().join(", ").as_str() {
            "" => format!("about {calls} methods, too briefly to be recorded"),
            hot => format!("{hot} of about {calls} calls too short to record"),
        })
    }

    /// The method that contained the loop.
    #[must_use]
    pub fn method(&self) -> Option<&OpenItem> {
        self.chain.last()
    }
}

/// A call that was open for long.
#[derive(Clone, Copy, PartialEq, Eq)]
struct LongCall {
    depth: usize,
    open: Open,
    spent: u64,
}

fn overlap((a, b): (u64, u64), (from, to): (u64, u64)) -> u64 {
    b.min(to).saturating_sub(a.max(from))
}

/// Where `main` spent the time from `since` to `until`; `None` if the recording does not show it.
pub(super) fn busy<'a>(
    facts: &Facts<'a>,
    names: &Names<'_>,
    main: &'a Thread,
    since: u64,
    until: u64,
) -> Result<Option<Busy>, ReadError> {
    let Some((span, chain)) = long_calls(facts, main, since, until)? else { return Ok(None) };
    let (called, short, counted) = called(facts, main, span, chain.last())?;
    if chain.is_empty() && short.calls == 0 {
        return Ok(None);
    }
    let callee = |(&(_, id), &(calls, total)): (&(usize, u32), &(u64, u64))| Callee {
        name: names.method(id).into_owned(),
        calls,
        total,
    };
    let halves = called.iter().filter(|(_, (_, total))| *total >= (span.1 - span.0) / 2);
    let inner = halves.max_by_key(|((level, id), (_, total))| (*level, *total, *id)).map(callee);
    let mut callees: Vec<Callee> = called.iter().filter(|((level, _), _)| *level == 1).map(callee).collect();
    callees
        .sort_by(|a, b| b.total.cmp(&a.total).then(b.calls.cmp(&a.calls)).then_with(|| a.name.cmp(&b.name)));
    callees.truncate(MAX_LISTED);
    let frame = |call: &LongCall| OpenItem {
        kind: OpenItemKind::Method,
        name: names.method(call.open.key).into_owned(),
        since: call.open.begun,
        began_before: call.open.before,
        source: names.source(call.open.key),
        wait: None,
    };
    Ok(Some(Busy {
        span,
        open: chain.last().map_or(0, |call| call.spent),
        chain: chain.iter().map(frame).collect(),
        callees,
        inner,
        short_calls: short.calls,
        hot: short
            .hot()
            .take(MAX_LISTED)
            .map(|(id, percent)| (names.method(id).into_owned(), percent))
            .collect(),
        counted,
    }))
}

/// The recorded part of a hang, and calls in it.
type LongCalls = ((u64, u64), Vec<LongCall>);

/// The recorded part of the time, and the method calls that were open for more than half of it, outermost
/// first: of two consecutive calls at most one qualifies.
fn long_calls<'a>(
    facts: &Facts<'a>,
    main: &'a Thread,
    since: u64,
    until: u64,
) -> Result<Option<LongCalls>, ReadError> {
    let mut span = None;
    let mut long: Vec<LongCall> = Vec::new();
    let mut ended = |depth: usize, open: Open, at: u64, span: (u64, u64)| {
        let spent = overlap((open.begun, at), span);
        if ids::is_method(open.key) && spent > (span.1 - span.0) / 2 && long.len() < MAX_CHAIN {
            long.push(LongCall { depth, open, spent });
        }
    };
    let mut spans = facts.spans(main);
    while let Some((change, stack)) = spans.change()? {
        let Some(time) = change.time() else { continue };
        if time >= until {
            break;
        }
        let span = *span.get_or_insert((since.max(time), until));
        if let Change::Closed { open, .. } = change {
            ended(stack.depth() - 1, open, time, span);
        }
    }
    let Some(span) = span.filter(|(from, to)| from < to) else { return Ok(None) };
    for (depth, open) in spans.open().frames().iter().enumerate().rev() {
        ended(depth, *open, until, span);
    }
    long.sort_by_key(|call| (call.depth, call.open.begun));
    Ok(Some((span, long)))
}

/// By the number of calls from the caller, 1 for its callees, and by method: number of calls and their total duration, ns.
type Called = HashMap<(usize, u32), (u64, u64)>;

/// The recorded calls below `caller` in `span`, the calls of main too short to be recorded, and when they were
/// last counted.
fn called<'a>(
    facts: &Facts<'a>,
    main: &'a Thread,
    span: (u64, u64),
    caller: Option<&LongCall>,
) -> Result<(Called, ShortCalls, u64), ReadError> {
    let (mut called, mut short, mut counted) = (Called::new(), ShortCalls::default(), 0);
    let mut ended = |stack: &OpenStack, depth: usize, at: u64| {
        let Some(caller) = caller else { return };
        let (frames, call) = (stack.frames(), stack.frames()[depth]);
        // A call that is deeper is of no interest, and a walk at each of its waits would take minutes.
        let is_below = (1..=MAX_BETWEEN).contains(&depth.wrapping_sub(caller.depth))
            && frames[caller.depth].begun == caller.open.begun;
        if !is_below || !ids::is_method(call.key) || call.begun > span.1 || at < span.0 {
            return;
        }
        let level = frames[caller.depth + 1..=depth].iter().filter(|open| ids::is_method(open.key)).count();
        let place = (level, call.key);
        if called.len() < MAX_CALLEES || called.contains_key(&place) {
            let (calls, total) = called.entry(place).or_default();
            (*calls, *total) = (*calls + 1, *total + overlap((call.begun, at), span));
        }
    };
    let mut spans = facts.spans(main);
    while let Some((change, stack)) = spans.change()? {
        let Some(time) = change.time() else { continue };
        if time > span.1.saturating_add(MAX_COUNT_DELAY) {
            break;
        }
        match change {
            Change::Event { event: Event::Folded(folded), .. } if folded.since < time => {
                let part = overlap((folded.since, time), span);
                if part > 0 {
                    short.add_part(folded, part, time - folded.since);
                    counted = time.min(span.1);
                }
            }
            Change::Closed { .. } => ended(stack, stack.depth() - 1, time),
            _ => {}
        }
    }
    for depth in (0..spans.open().depth()).rev() {
        ended(spans.open(), depth, u64::MAX);
    }
    called.retain(|_, (_, total)| *total > 0);
    Ok((called, short, counted))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use trace_format::Recording;
    use trace_format::event::{Folded, Message};
    use trace_format::synth::{RecordingBuilder, ThreadBuilder};
    use trace_format::time::MS;

    use super::*;
    use crate::MethodMap;

    fn of(since: u64, until: u64, fill: impl FnOnce(&mut ThreadBuilder)) -> Option<Busy> {
        let recording = Recording::open(RecordingBuilder::new(1, "p").main("main", fill).build()).unwrap();
        let text = (1..9).map(|id| format!("{id},1,a.B m{id} ()V\n")).collect::<String>();
        let map = MethodMap::parse(Path::new("map"), text.into()).unwrap();
        let names = Names::new(Some(&map));
        busy(&Facts::of(&recording).unwrap(), &names, &recording.threads()[0], since * MS, until * MS)
            .unwrap()
    }

    fn names(frames: &[OpenItem]) -> Vec<&str> {
        frames.iter().map(|frame| frame.name.as_str()).collect()
    }

    #[test]
    fn the_deepest_method_that_was_open_nearly_always_is_the_one_with_the_loop() {
        let found = of(1_000, 7_000, |t| {
            t.enter(900 * MS, 8).event(1_000 * MS, Event::MessageBegin(Message::default()));
            t.enter(1_001 * MS, 1).enter(1_500 * MS, 2);
            for i in 0..50 {
                let at = (1_600 + 100 * i) * MS;
                t.enter(at, 3).enter(at + MS, 4).exit(at + 71 * MS, 4).exit(at + 90 * MS, 3);
            }
            t.exit(6_900 * MS, 2).exit(6_999 * MS, 1).event(7_000 * MS, Event::MessageEnd);
        });
        let found = found.unwrap();
        assert_eq!(names(&found.chain), ["a.B.m8", "a.B.m1", "a.B.m2"]);
        assert_eq!((found.open / MS, found.span), (5_400, (1_000 * MS, 7_000 * MS)));
        let callee = |name: &str, total| Callee { name: name.to_owned(), calls: 50, total };
        assert_eq!(found.inner, Some(callee("a.B.m4", 3_500 * MS)), "half of the time");
        assert_eq!(
            (found.callees, found.short_calls, found.hot),
            (vec![callee("a.B.m3", 4_500 * MS)], 0, vec![])
        );
    }

    #[test]
    fn of_a_hang_that_began_before_the_record_what_is_left_counts() {
        let found = of(1_000, 9_000, |t| {
            // The outer one is known from its end, which is after the hang.
            t.overwritten(3).enter(5_000 * MS, 2).exit(8_800 * MS, 2).enter(8_850 * MS, 3);
            t.exit(8_860 * MS, 3).exit(9_500 * MS, 1);
        });
        let found = found.unwrap();
        assert_eq!(names(&found.chain), ["a.B.m1", "a.B.m2"]);
        assert!(found.chain[0].began_before && !found.chain[1].began_before);
        assert_eq!(found.span, (5_000 * MS, 9_000 * MS));
    }

    #[test]
    fn short_calls_count_as_far_as_they_lie_in_the_hang() {
        let folded = |since: u64, calls| {
            Event::Folded(Folded {
                calls,
                since: since * MS,
                hot: [(5, 900_000), (6, 50_000), (0, 0), (0, 0)],
            })
        };
        let found = of(1_000, 3_000, |t| {
            t.enter(1_000 * MS, 1)
                .event(1_500 * MS, folded(500, 1_000))
                .event(2_500 * MS, folded(1_500, 2_000));
            t.event(3_500 * MS, folded(2_500, 4_000))
                .event(4_500 * MS, folded(3_500, 8_000))
                .exit(4_600 * MS, 1);
        });
        let found = found.unwrap();
        assert_eq!((found.short_calls, found.counted), (500 + 2_000 + 2_000, 3_000 * MS));
        assert_eq!(found.hot, [("a.B.m5".to_owned(), 90), ("a.B.m6".to_owned(), 5)]);
        assert_eq!(
            of(1_000, 3_000, |t| {
                t.enter(3_100 * MS, 1).exit(3_200 * MS, 1);
            }),
            None
        );
    }
}
