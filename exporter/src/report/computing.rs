//! The stretches of calls in which a thread computes, by the dumps of the JVM agent: samples of its stack are equal up to a
//! method, although that calls others. What it does in a call that goes on is a stretch; what it does for all of its life is a
//! turn at most ([`super::turns`]).

use std::collections::VecDeque;

use answers::answer::{FrameView, is_own, mostly_throws, seen};
use answers::dump::{Dump, Standing};
use trace_format::{ReadError, Thread, ids};

use super::MIN_ENDED_HANG;
use super::stretches::{Sign, Stretch, is_within};
use crate::facts::{Change, EndedBy, Facts, Open, OpenStack};
use crate::words::thread_name;

/// The least time for which samples of a stack are equal where a dump is taken, ns, and the time from one to the next.
const LEAST_STANDING: u64 = 4_000_000_000;
const SAMPLES_APART: u64 = 1_200_000_000;
/// The time within which calls begin with a thread, and end with it, ns.
const AT_ONCE: u64 = 1_000_000_000;

/// The stretches of calls in which a thread computes, by the agent's dumps; without any, the last time in which it computes.
pub(super) fn computing(
    facts: &Facts<'_>,
    thread: &Thread,
    dumps: &[(u64, Dump)],
    end: u64,
) -> Result<(Vec<Stretch>, Option<Computed>), ReadError> {
    let name = thread_name(thread);
    let mut stood: Vec<Stood> = Vec::new();
    // The last time in which it computes in a call of the program's.
    let mut computed = None;
    for (at, dump) in dumps {
        let Some(section) = dump.answer() else { continue };
        let computes = |standing: &&Standing| standing.ns >= LEAST_STANDING && standing.computes_in.is_some();
        for standing in section.standing.iter().filter(computes) {
            let named = section.thread(standing.tid);
            let Some(dumped) = named.filter(|dumped| dumped.name.as_deref() == Some(name.as_str())) else {
                continue;
            };
            let one = Computed { since: at.saturating_sub(standing.ns), at: *at };
            computed = Some(one);
            if computes_within(standing, dumped) {
                stood.push(Stood { throws: mostly_throws(&standing.samples), ..Stood::new(one) });
            }
        }
    }
    let found = around_all(facts, thread, stood, end)?;
    let other = computed.filter(|_| found.is_empty());
    Ok((found, other))
}

/// The stretches of the calls around those times in which a thread computes.
fn around_all(
    facts: &Facts<'_>,
    thread: &Thread,
    stood: Vec<Stood>,
    end: u64,
) -> Result<Vec<Stretch>, ReadError> {
    let mut found = Vec::new();
    if stood.is_empty() {
        return Ok(found);
    }
    let mut next = VecDeque::from(stood);
    // The calls that were open around a stretch, and that have not ended.
    let mut around: Vec<Around> = Vec::new();
    let mut spans = facts.spans(thread);
    while let Some((change, open)) = spans.change()? {
        let Some(time) = change.time() else { continue };
        while next.front().is_some_and(|stood| stood.computed.at < time) {
            around.extend(next.pop_front().and_then(|stood| Around::of(open, &stood)));
        }
        if let Change::Closed { open: closed, until, by, .. } = change {
            let depth = open.depth() - 1;
            while let Some(ended) = around.pop_if(|around| around.depth >= depth) {
                found.extend(ended.stretch(until, end));
            }
            // A call of a method that was switched off ended at any time.
            if by == EndedBy::End {
                let caller = depth.checked_sub(1).map(|caller| open.frames()[caller].key);
                next.iter_mut().for_each(|stood| stood.returned(depth, caller, &closed, until));
                around.iter_mut().for_each(|around| around.returned(depth, &closed, until));
            }
        }
    }
    for stood in next {
        around.extend(Around::of(spans.open(), &stood));
    }
    let open = around.into_iter().filter_map(|around| around.stretch(end, end));
    found.extend(open.map(|stretch| Stretch { ended: false, ..stretch }));
    found.retain(|stretch| stretch.took() >= MIN_ENDED_HANG);
    Ok(found)
}

/// A time in which a thread has computed, by a dump at its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Computed {
    pub(super) since: u64,
    pub(super) at: u64,
}

impl Computed {
    /// The earliest time at which the computation may have begun.
    pub(super) fn begun(&self) -> u64 {
        self.since.saturating_sub(SAMPLES_APART)
    }
}

/// A time in which a thread computes in one method, by a dump.
struct Stood {
    computed: Computed,
    /// The time of the calls at each depth that came back meanwhile, ns.
    back: Vec<u64>,
    /// True if it makes exceptions most of the time.
    throws: bool,
}

impl Stood {
    const fn new(computed: Computed) -> Self {
        Self { computed, back: Vec::new(), throws: false }
    }

    /// Notes that a call at `depth` has ended, which `caller` made.
    fn returned(&mut self, depth: usize, caller: Option<u32>, call: &Open, until: u64) {
        let took = came_back(call, caller, self.computed.since, until);
        if took > 0 {
            self.back.resize(self.back.len().max(depth + 1), 0);
            self.back[depth] = self.back[depth].saturating_add(took);
        }
    }
}

/// The time since `since` of a call that came back: 0 for a recursion, and for one that takes as long as a hang.
fn came_back(call: &Open, caller: Option<u32>, since: u64, until: u64) -> u64 {
    let took = until.saturating_sub(call.begun.max(since));
    if caller != Some(call.key) && took < MIN_ENDED_HANG { took } else { 0 }
}

/// The call around a stretch in which a thread computes.
struct Around {
    since: u64,
    depth: usize,
    key: u32,
    /// False for the outermost call, and for one that begins with it: they last as long as the thread.
    within: bool,
    /// Since when the thread stands here by a dump, and the time of other calls that it made since then and that came
    /// back, ns.
    stood: u64,
    back: u64,
    throws: bool,
}

impl Around {
    fn of(stack: &OpenStack, stood: &Stood) -> Option<Self> {
        let (frames, since) = (stack.frames(), stood.computed.since);
        let depth = frames.iter().rposition(|open| open.begun <= since + SAMPLES_APART)?;
        let Open { key, begun, .. } = frames[depth];
        let outermost = frames.iter().find(|open| ids::is_method(open.key)).map_or(begun, |open| open.begun);
        let within = begun.saturating_sub(outermost) > AT_ONCE && is_within(stack, depth);
        let back = stood.back.get(depth + 1).copied().unwrap_or(0);
        Some(Self {
            since: begun.max(stood.computed.begun()),
            depth,
            key,
            within,
            stood: since,
            back,
            throws: stood.throws,
        })
    }

    /// Notes that a call at `depth` has ended.
    fn returned(&mut self, depth: usize, call: &Open, until: u64) {
        if depth == self.depth + 1 {
            self.back = self.back.saturating_add(came_back(call, Some(self.key), self.stood, until));
        }
    }

    /// The stretch in a recording that ends at `end`. `None` for a thread that goes on, since what it calls for all of its life
    /// comes back again and again, other than by exceptions.
    fn stretch(&self, until: u64, end: u64) -> Option<Stretch> {
        let stretch = Stretch::of(self.since, until, true, Sign::Computing);
        let lasts = !self.within && end.saturating_sub(until) <= AT_ONCE;
        (!lasts || self.throws || self.back <= until.saturating_sub(self.stood) / 2).then_some(stretch)
    }
}

/// True if a thread computes in a call of the program that another one made: a loop over work is in the outermost one.
fn computes_within(standing: &Standing, dumped: &answers::dump::Thread) -> bool {
    let Some(method) = &standing.computes_in else { return false };
    let own = |frame: &&FrameView<'_>| matches!(frame, FrameView::Java { class, .. } if is_own(class));
    let frames: Vec<FrameView<'_>> = seen(dumped).collect();
    let Some(at) = frames.iter().position(|frame| frame.is_call_of(method)) else { return false };
    frames[at..].iter().filter(own).count() > 1
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;
    /// The last moment of the recording: threads end with it.
    const END: u64 = 20 * S;

    /// A thread in three calls, the first two of which began with it, and the stretch of a dump at 10 s: it has stood at one
    /// place for 5 s. Since then, or since the dump, calls from there came back, each after `took`.
    fn around(third: u64, before: bool, took: u64, calls: u64) -> Around {
        let mut stack = OpenStack::default();
        for (key, begun) in [(1, S), (2, S), (3, third)] {
            stack.push(key, begun);
        }
        let call = |number| Open {
            key: 9,
            begun: if before { 5 * S } else { 10 * S } + number * took,
            before: false,
        };
        let mut stood = Stood::new(Computed { since: 5 * S, at: 10 * S });
        (0..calls)
            .filter(|_| before)
            .map(call)
            .for_each(|call| stood.returned(3, Some(3), &call, call.begun + took));
        let mut around = Around::of(&stack, &stood).unwrap();
        (0..calls)
            .filter(|_| !before)
            .map(call)
            .for_each(|call| around.returned(3, &call, call.begun + took));
        around
    }

    #[test]
    fn calls_that_last_as_long_as_the_thread_are_none_if_their_callees_come_back() {
        // Half of the 15 s since it stands there.
        assert!(around(S, false, S / 10, 76).stretch(END, END).is_none());
        let little = around(S, false, S / 10, 74).stretch(END, END).unwrap();
        assert_eq!((little.since, little.until), (5 * S - SAMPLES_APART, END));
        // And half of 5 s, of which the dump at their end is the last moment recorded.
        assert!(around(S, true, S / 10, 26).stretch(10 * S, 10 * S).is_none());
        assert!(around(S, true, S / 10, 24).stretch(10 * S, 10 * S).is_some());
        // A callee that takes as long as a hang does not come back again and again.
        assert!(around(S, false, MIN_ENDED_HANG, 2).stretch(END, END).is_some());
    }

    #[test]
    fn calls_within_others_are_stretches_whatever_they_call() {
        assert!(around(3 * S, false, S / 10, 90).stretch(END, END).is_some());
        // And those that ended long before the thread.
        assert!(around(S, false, S / 10, 90).stretch(END - 2 * AT_ONCE, END).is_some());
    }
}
