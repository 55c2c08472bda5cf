//! A turn of a thread: the time from the end of one rest to the begin of the next one.
//!
//! A worker rests where it waits for work, in its own loop or in a pool's, and a turn is the work on what it got. So a turn
//! tells what a thread does that calls and comes back again and again in its outermost call, or in a library's: no call of its
//! lasts, but the turn does. If the thread took short turns before, one that goes on and on is a hang. If not, as in a
//! computation that began with its thread, nothing says when it was to end.

use answers::answer::Turns;
use trace_format::{ReadError, Thread};

use super::MIN_ENDED_HANG;
use super::computing::Computed;
use super::stretches::{Sign, Stretch, UNUSUAL, innermost, is_nearly_all};
use crate::facts::{Change, Facts, OpenStack, Payload};

/// The least time of a rest, ns: a shorter one may be a lock that another thread has, or the way to a pool's next task.
const LEAST_REST: u64 = 10_000_000;
/// The least number of earlier turns that tell how long one takes.
const MIN_TURNS: usize = 3;
/// Maximum number of earlier turns that are known: the first ones.
const MAX_TURNS: usize = 1 << 16;

/// Reads the turn of a thread at one moment.
struct Reader {
    computed: Computed,
    /// The begin of the turn now, and the time of the last change.
    since: Option<u64>,
    last: u64,
    /// The times of the turns before the one at the moment, ns.
    before: Vec<u64>,
    /// True if words before the moment are missing: the turn is older than what is left of it.
    is_cut: bool,
    found: Option<Stretch>,
}

impl Reader {
    /// Notes that the thread rests in this time. True if the turn at the moment is over.
    fn rests(&mut self, from: u64, to: u64) -> bool {
        let Some(since) = self.since.filter(|since| from > *since) else {
            self.since = Some(to);
            return false;
        };
        if let Some(found) = &mut self.found {
            (found.until, found.ended) = (from, true);
            return true;
        }
        if self.before.len() < MAX_TURNS {
            self.before.push(from - since);
        }
        self.since = Some(to);
        false
    }

    /// Notes what is open until a change at this time. True if the turn at the moment is over.
    fn change(&mut self, open: &OpenStack, change: &Change<'_>, time: u64) -> bool {
        if self.found.is_none() && time > self.computed.at {
            self.begins(open);
        }
        let since = match change {
            Change::Closed { open, payload: Some(Payload::Wait(_)), .. } => Some(open.begun),
            _ => Some(self.last).filter(|_| open.depth() == 0),
        };
        self.last = time;
        self.since.get_or_insert(time);
        since.is_some_and(|since| time.saturating_sub(since) >= LEAST_REST && self.rests(since, time))
    }

    /// Notes the calls that are open at the moment.
    fn begins(&mut self, open: &OpenStack) {
        let computed = self.computed.begun();
        let since = self.since.filter(|_| !self.is_cut).map_or(computed, |turn| turn.max(computed));
        let around = innermost(open).filter(|call| call.begun <= since);
        self.found = Some(Stretch::of(since, u64::MAX, false, Sign::Works).within(around));
    }

    /// The turn of a recording that ends at `end`.
    fn stretch(self, end: u64) -> Option<Stretch> {
        let mut turn = self.found?;
        turn.until = turn.until.min(end);
        let mut before = self.before;
        before.sort_unstable();
        let short = before.partition_point(|took| *took <= turn.took() / UNUSUAL);
        let is_unusual =
            !self.is_cut && short >= MIN_TURNS && is_nearly_all(short as u64, before.len() as u64);
        turn.sign = match before.get(before.len() / 2) {
            Some(usual) if is_unusual => Sign::Turn(Turns { number: before.len(), usual: *usual }),
            _ => Sign::Works,
        };
        Some(turn).filter(|turn| turn.took() >= MIN_ENDED_HANG)
    }
}

/// The turn in which a thread has computed, by a dump; `None` if it is too short for a hang.
pub(super) fn at(
    facts: &Facts<'_>,
    thread: &Thread,
    computed: Computed,
    end: u64,
) -> Result<Option<Stretch>, ReadError> {
    let mut reader =
        Reader { computed, since: None, last: 0, before: Vec::new(), is_cut: false, found: None };
    let mut spans = facts.spans(thread);
    while let Some((change, open)) = spans.change()? {
        match change.time() {
            Some(time) if reader.change(open, &change, time) => return Ok(reader.stretch(end)),
            Some(_) => {}
            // What the thread did meanwhile is not known.
            None => {
                reader.since = None;
                reader.is_cut |= reader.found.is_none();
            }
        }
    }
    let open = spans.open();
    if reader.found.is_none() {
        reader.begins(open);
    }
    let rest = open.waits().next().map(|(_, since, _)| since);
    let is_idle = open.depth() == 0 && end.saturating_sub(reader.last) >= LEAST_REST;
    if let Some(since) = rest.or_else(|| is_idle.then_some(reader.last)) {
        reader.rests(since, end);
    }
    Ok(reader.stretch(end))
}

#[cfg(test)]
mod tests {
    use trace_format::event::{Event, Wait, WaitKind};
    use trace_format::synth::{RecordingBuilder, ThreadBuilder};
    use trace_format::{Recording, time::MS};

    use super::*;

    const END: u64 = 20_000;

    /// The turn of a thread that computes from 8 s to 12 s, by a dump: its begin and end, ms, whether it ended, and its sign.
    fn turn(fill: impl FnOnce(&mut ThreadBuilder)) -> Option<(u64, u64, bool, Sign)> {
        let recording = RecordingBuilder::new(1, "p").main("main", fill);
        let recording = Recording::open(recording.build()).unwrap();
        let computed = Computed { since: 8_000 * MS, at: 12_000 * MS };
        let facts = Facts::of(&recording).unwrap();
        let turn = at(&facts, &recording.threads()[0], computed, END * MS).unwrap()?;
        Some((turn.since / MS, turn.until / MS, turn.ended, turn.sign))
    }

    fn waits(worker: &mut ThreadBuilder, since: u64, until: u64) {
        worker.event(since * MS, Event::WaitBegin(Wait::new(WaitKind::Park)));
        worker.event(until * MS, Event::WaitEnd);
    }

    /// Short calls, one right after the other.
    fn calls(worker: &mut ThreadBuilder, since: u64, until: u64) {
        for at in (since..until).step_by(10) {
            worker.enter(at * MS, 5).exit((at + 9) * MS, 5);
        }
    }

    /// Turns of this time in a loop, with waits of 1 s in between, and then one from 7.5 s on.
    fn worker(number: u64, took: u64) -> impl Fn(&mut ThreadBuilder) {
        move |worker| {
            let begun = 7_500 - number * (took + 1_000);
            worker.enter(begun * MS, 3);
            for turn in 0..number {
                let since = begun + turn * (took + 1_000);
                calls(worker, since, since + took);
                waits(worker, since + took, since + took + 1_000);
            }
            calls(worker, 7_500, 18_000);
        }
    }

    #[test]
    fn turns_that_take_far_longer_than_the_ones_before_are_unusual() {
        let usual = |number, usual| Sign::Turn(Turns { number, usual: usual * MS });
        assert_eq!(turn(worker(4, 500)), Some((7_500, END, false, usual(4, 500))));
        assert_eq!(turn(worker(2, 500)), Some((7_500, END, false, Sign::Works)), "too few");
        let ends = |thread: &mut ThreadBuilder| {
            worker(4, 500)(thread);
            waits(thread, 18_000, 19_000);
        };
        assert_eq!(turn(ends), Some((7_500, 18_000, true, usual(4, 500))));
        assert_eq!(turn(worker(3, 1_490)), Some((7_500, END, false, usual(3, 1_490))));
        let half_as_long = |thread: &mut ThreadBuilder| {
            thread.enter(0, 3);
            for turn in 0..3 {
                calls(thread, turn * 2_500, turn * 2_500 + 2_000);
                waits(thread, turn * 2_500 + 2_000, turn * 2_500 + 2_500);
            }
            calls(thread, 7_500, 18_000);
        };
        assert_eq!(turn(half_as_long), Some((7_500, END, false, Sign::Works)));
    }

    #[test]
    fn times_outside_of_all_calls_are_rests() {
        let tasks = |worker: &mut ThreadBuilder| {
            for task in 0..5 {
                calls(worker, task * 1_000, task * 1_000 + 300);
            }
            calls(worker, 7_000, 13_000);
        };
        let (since, until, ended, sign) = turn(tasks).unwrap();
        assert_eq!((since, until, ended), (7_000, 12_999, true));
        assert!(matches!(sign, Sign::Turn(Turns { number: 5, .. })));
    }

    #[test]
    fn turns_whose_begin_is_lost_count_since_the_dump_shows_them() {
        let cut = |thread: &mut ThreadBuilder| {
            calls(thread.overwritten(3), 19_000, END);
        };
        assert_eq!(turn(cut), Some((6_800, END, false, Sign::Works)));
    }
}
