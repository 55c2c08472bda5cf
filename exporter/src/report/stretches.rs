//! The stretches of time in which a thread makes no progress, as far as a recording knows.

use answers::answer::Turns;
use trace_format::event::{Event, Folded, Wait, WaitKind};
use trace_format::layout::State;
use trace_format::sections::system_state::{Quantity, SystemState};
use trace_format::{ReadError, Thread, ids};

use super::MIN_ENDED_HANG;
use crate::facts::{Change, Facts, Open, OpenStack, Payload};

/// Maximum number of stretches of one thread that are judged: its longest.
const MAX_STRETCHES: usize = 256;
/// The time within which a poll follows another one, ns.
const MAX_APART: u64 = 2_000_000_000;
/// Maximum number of calls around a stretch that are known.
const MAX_CALLS: usize = 8;
/// Maximum number of methods whose usual time is known.
const MAX_METHODS: usize = 1 << 16;
/// The number of earlier calls from which on it is known how long a method usually takes.
const MIN_CALLS: u32 = 2;
/// A call is unusual if it takes this many times as long as nine of ten others.
pub(super) const UNUSUAL: u64 = 8;
/// Waits are a convoy if at most this part of their time, from the first to the last, is between them: a tenth.
const BETWEEN: u64 = 10;

/// The sign by which a stretch is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sign {
    /// The thread records nothing, while this wait is open or, without one, a call.
    Still(Option<Wait>),
    /// One wait for the same lock follows the other, as this one.
    Convoy(Wait),
    /// One call goes on and on, and others come and go within it.
    LongCall,
    /// A dump of the JVM agent has the thread computing.
    Computing,
    /// A dump has the thread computing in a turn that takes far longer than these before it.
    Turn(Turns),
    /// A dump has the thread computing in a turn, and nothing says how long that may take.
    Works,
    /// Collections of garbage stop the thread for half of the time or longer.
    Collected,
}

/// The place of a wait, beside those where its thread waited before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Rest {
    /// The thread waited there again and again, and half as long as at any other place or longer.
    Here,
    /// The thread waited again and again at another place, and not half as long at this one.
    Elsewhere,
    /// The thread waited there several times, before or after, and never less than half as long.
    Always,
    /// The thread waited too seldom.
    Unknown,
}

/// A stretch without progress.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stretch {
    pub(super) since: u64,
    pub(super) until: u64,
    /// False if it lasts to the end of the recording.
    pub(super) ended: bool,
    pub(super) sign: Sign,
    /// The calls around it, innermost first, or of a long call itself: their methods and their begins.
    pub(super) calls: [Option<Call>; MAX_CALLS],
    /// The outermost call around it: a task, if the thread has done others before.
    pub(super) task: Option<Call>,
    /// The place of its waits, beside those before.
    pub(super) rest: Rest,
}

/// A method, and the begin of its call, ns.
type Call = (u32, u64);

impl Stretch {
    pub(super) fn of(since: u64, until: u64, ended: bool, sign: Sign) -> Self {
        Self { since, until, ended, sign, calls: [None; MAX_CALLS], task: None, rest: Rest::Unknown }
    }

    /// The stretch in these calls, innermost first.
    pub(super) fn within<'c>(mut self, calls: impl IntoIterator<Item = &'c Open>) -> Self {
        for (known, call) in self.calls.iter_mut().zip(calls) {
            *known = Some((call.key, call.begun));
        }
        self
    }

    /// The moment that shows what the thread is in.
    pub(super) fn moment(&self) -> u64 {
        if self.ended { self.since.midpoint(self.until) } else { self.until }
    }

    pub(super) fn took(&self) -> u64 {
        self.until.saturating_sub(self.since)
    }

    /// The latest time of a dump of it, ns: the last one of all is taken after the last event.
    pub(super) fn last_dump(&self) -> u64 {
        if self.ended { self.until } else { u64::MAX }
    }

    /// True if the thread waits where it waits as a rule.
    pub(super) fn rests(&self) -> bool {
        matches!(self.sign, Sign::Still(Some(_))) && matches!(self.rest, Rest::Here | Rest::Always)
    }
}

/// The usual time of a method's calls: their number by the power of two of their time.
#[derive(Debug, Default)]
pub(super) struct Usual {
    /// The place of each method's counts, from 1 on; 0 if no call of it has ended. To hash each call takes a sixth of a report.
    places: Vec<u32>,
    counts: Vec<[u32; u64::BITS as usize]>,
}

impl Usual {
    fn ended(&mut self, method: u32, took: u64, times: u32) {
        let at = method as usize;
        if !ids::is_method(method) || self.counts.len() == MAX_METHODS && self.counts_of(method).is_none() {
            return;
        }
        if at >= self.places.len() {
            self.places.resize((at + 1).next_power_of_two(), 0);
        }
        if self.places[at] == 0 {
            self.counts.push([0; u64::BITS as usize]);
            self.places[at] = self.counts.len() as u32;
        }
        let count = &mut self.counts[self.places[at] as usize - 1][power(took)];
        *count = count.saturating_add(times);
    }

    fn counts_of(&self, method: u32) -> Option<&[u32; u64::BITS as usize]> {
        self.counts.get(self.places.get(method as usize)?.checked_sub(1)? as usize)
    }

    /// Takes the count of calls that were too short to be recorded one by one.
    fn folded(&mut self, folded: &Folded) {
        for (method, share) in folded.hot.into_iter().filter(|(method, _)| *method != 0) {
            let calls = u128::from(folded.calls) * u128::from(share) / 1_000_000;
            self.ended(method, 0, u32::try_from(calls).unwrap_or(u32::MAX));
        }
    }

    /// True if nearly all calls of a method of the stretch took far less time than its one.
    pub(super) fn is_unusual(&self, stretch: &Stretch) -> bool {
        [stretch.calls[0], stretch.task].into_iter().flatten().any(|call| self.is_unusual_call(call, stretch))
    }

    /// True if nearly all calls of a method took far less time than this one does, which began then and lasts to the
    /// stretch's end.
    pub(super) fn is_unusual_call(&self, (method, begun): (u32, u64), stretch: &Stretch) -> bool {
        let took = stretch.until.saturating_sub(begun);
        let Some(counts) = self.counts_of(method) else { return false };
        let short =
            counts[..power(took / UNUSUAL)].iter().fold(0_u32, |sum, count| sum.saturating_add(*count));
        let itself = u32::from(stretch.ended);
        let others =
            counts.iter().fold(0_u32, |sum, count| sum.saturating_add(*count)).saturating_sub(itself);
        short >= MIN_CALLS && is_nearly_all(u64::from(short), u64::from(others))
    }
}

/// True if a part of calls or turns is nine of ten of them.
pub(super) const fn is_nearly_all(part: u64, all: u64) -> bool {
    part.saturating_mul(10) >= all.saturating_mul(9)
}

fn power(took: u64) -> usize {
    took.checked_ilog2().unwrap_or(0) as usize
}

/// Waits for one lock that follow each other, with little between them.
#[derive(Clone, Copy)]
struct Convoy {
    wait: Wait,
    since: u64,
    until: u64,
    /// The time of the waits, ns, and their number.
    waited: u64,
    waits: u32,
}

impl Convoy {
    fn of(wait: Wait, since: u64, until: u64) -> Self {
        Self { wait, since, until, waited: until.saturating_sub(since), waits: 1 }
    }

    /// True if the other one goes on with this one: its waits belong to both.
    fn take(&mut self, next: &Self) -> bool {
        let waited = self.waited.saturating_add(next.waited);
        let took = next.until.saturating_sub(self.since);
        let goes_on = self.is_at(&next.wait) && took.saturating_sub(waited) <= took / BETWEEN;
        if goes_on {
            (self.until, self.waited) = (next.until, waited);
            self.waits = self.waits.saturating_add(1);
        }
        goes_on
    }

    fn is_at(&self, wait: &Wait) -> bool {
        (self.wait.kind, self.wait.lock) == (wait.kind, wait.lock)
    }

    /// The stretch of a recording that ends at `end`. A convoy may be between two waits there.
    fn stretch(&self, end: u64) -> Stretch {
        let ended = end.saturating_sub(self.until) > end.saturating_sub(self.since) / BETWEEN;
        let until = if ended { self.until } else { end };
        Stretch::of(self.since, until, ended, Sign::Convoy(self.wait))
    }
}

/// Reads a thread.
struct Reader<'u> {
    found: Vec<Stretch>,
    usual: &'u mut Usual,
    main: bool,
    /// The waits for a lock until now.
    convoy: Option<Convoy>,
    /// The last moment of the recording.
    end: u64,
    /// The time of the last change, if all from then on is known.
    last: Option<u64>,
}

impl Reader<'_> {
    fn keep(&mut self, stretch: Stretch) {
        if stretch.took() < MIN_ENDED_HANG {
            return;
        }
        self.found.push(stretch);
        if self.found.len() > MAX_STRETCHES {
            let shortest = (0..self.found.len()).min_by_key(|at| self.found[*at].took());
            self.found.remove(shortest.unwrap_or(0));
        }
    }

    /// Notes that nothing was recorded from the last change until now.
    fn still(&mut self, stack: &OpenStack, until: u64, ended: bool) {
        let Some(since) = self.last.filter(|since| until.saturating_sub(*since) >= MIN_ENDED_HANG) else {
            return;
        };
        let wait = match stack.depth().checked_sub(1).and_then(|last| stack.payload(last)) {
            Some(Payload::Wait(wait)) => Some(*wait),
            _ => None,
        };
        let task = outermost(stack).map(|call| (call.key, call.begun));
        if wait.is_some() || task.is_some() {
            let still = Stretch::of(since, until, ended, Sign::Still(wait));
            self.keep(Stretch { task, ..still.within(innermost(stack)) });
        }
    }

    /// Notes that a wait for a lock has ended, or is open at the end. One that is shorter than a convoy at another lock does not
    /// end that. Other threads than main may wait for anything but a monitor with a limit of time, for all of their lives.
    fn waited(&mut self, wait: &Wait, since: u64, until: u64) {
        if wait.lock == 0 || !self.main && wait.kind != WaitKind::Monitor {
            return;
        }
        let next = Convoy::of(*wait, since, until);
        if let Some(convoy) = &mut self.convoy
            && (convoy.take(&next) || !convoy.is_at(wait) && next.waited < convoy.waited)
        {
            return;
        }
        self.convoy_ends();
        self.convoy = Some(next);
    }

    fn convoy_ends(&mut self) {
        if let Some(convoy) = self.convoy.take().filter(|convoy| convoy.waits > 1) {
            self.keep(convoy.stretch(self.end));
        }
    }

    /// Notes that the frame at `depth` has ended, or is open at the end.
    fn call(&mut self, stack: &OpenStack, depth: usize, until: u64, ended: bool) {
        let call = &stack.frames()[depth];
        let Open { key, begun, .. } = *call;
        if !ids::is_method(key) {
            return;
        }
        let took = until.saturating_sub(begun);
        if ended {
            self.usual.ended(key, took, 1);
        }
        if took >= MIN_ENDED_HANG && is_within(stack, depth) {
            self.keep(Stretch::of(begun, until, ended, Sign::LongCall).within([call]));
        }
    }
}

/// False for the outermost call, which lasts as long as the thread.
pub(super) fn is_within(stack: &OpenStack, depth: usize) -> bool {
    stack.frames()[..depth].iter().take(64).any(|open| ids::is_method(open.key))
}

fn outermost(stack: &OpenStack) -> Option<&Open> {
    stack.frames().iter().take(64).find(|open| ids::is_method(open.key))
}

/// The calls of a stack, innermost first.
pub(super) fn innermost(stack: &OpenStack) -> impl Iterator<Item = &Open> {
    stack.frames().iter().rev().take(64).filter(|open| ids::is_method(open.key))
}

/// The longest stretches of a thread that the record shows, and how long its calls took.
pub(super) fn recorded(
    facts: &Facts<'_>,
    thread: &Thread,
    end: u64,
    usual: &mut Usual,
) -> Result<Vec<Stretch>, ReadError> {
    let mut reader = Reader { found: Vec::new(), usual, main: thread.main, convoy: None, end, last: None };
    let mut spans = facts.spans(thread);
    while let Some((change, open)) = spans.change()? {
        let Some(time) = change.time() else {
            reader.last = None;
            continue;
        };
        reader.still(open, time, true);
        match change {
            Change::Closed { open: closed, payload: Some(Payload::Wait(wait)), .. } => {
                reader.waited(wait, closed.begun, time);
            }
            Change::Closed { .. } => reader.call(open, open.depth() - 1, time, true),
            Change::Event { event: Event::Folded(folded), .. } => reader.usual.folded(folded),
            _ => {}
        }
        reader.last = Some(time);
    }
    if reader.last.is_some() {
        let open = spans.open();
        reader.still(open, end, false);
        if let Some(last) = open.depth().checked_sub(1)
            && let Some(Payload::Wait(wait)) = open.payload(last)
        {
            reader.waited(wait, open.frames()[last].begun, end);
        }
        for depth in (0..open.depth()).rev() {
            reader.call(open, depth, end, false);
        }
        // A process that was killed in a call that went on and on.
        if let Some(open) = open.frames().last().filter(|_| thread.main && !in_order(facts)) {
            reader.keep(Stretch::of(open.begun, end, false, Sign::Still(None)));
        }
    }
    reader.convoy_ends();
    Ok(reader.found)
}

/// The time in which collections of garbage stop the process most: for half of it or longer.
pub(super) fn collections(polls: &[SystemState], end: u64) -> Option<Stretch> {
    let stopped = |poll: &SystemState| poll.get(Quantity::BlockingGcTime);
    // The time stopped beyond the time not stopped: of a stretch until now, and the most.
    let (mut since, mut beyond, mut most) = (0, 0_i64, (0, None));
    for poll in polls.windows(2) {
        let [from, to] = [&poll[0], &poll[1]];
        let took = stopped(to).zip(stopped(from)).map_or(0, |(to, from)| to.saturating_sub(from));
        if beyond <= 0 {
            (since, beyond) = (from.at, 0);
        }
        let apart = to.at.saturating_sub(from.at);
        beyond = beyond.saturating_add(took.saturating_mul(2)).saturating_sub_unsigned(apart);
        most = most.max((beyond, Some((since, to.at))));
    }
    let (since, last) = most.1?;
    let ended = end.saturating_sub(last) > MAX_APART;
    let stretch = Stretch::of(since, if ended { last } else { end }, ended, Sign::Collected);
    (stretch.took() >= MIN_ENDED_HANG).then_some(stretch)
}

/// The stretch of a thread that collections stop.
pub(super) fn collected(
    facts: &Facts<'_>,
    thread: &Thread,
    stops: &Stretch,
) -> Result<Option<Stretch>, ReadError> {
    let mut found = None;
    facts.spans(thread).open_at([stops.moment()], |_, open| {
        // What is open for half of it, and is no call, is a wait of its own.
        let waits =
            |last: &Open| !ids::is_method(last.key) && last.begun <= stops.since.midpoint(stops.moment());
        let call = innermost(open).next().filter(|_| !open.frames().last().is_some_and(waits));
        found = call.map(|call| stops.within([call]));
    })?;
    Ok(found)
}

/// True if the recording ended because the process exited by itself.
pub(super) fn in_order(facts: &Facts<'_>) -> bool {
    facts.recording.header().state == Some(State::Ended)
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;
    /// The last moment of the recording: threads end with it.
    const END: u64 = 20 * S;

    #[test]
    fn collections_stop_the_process_where_they_take_half_of_the_time() {
        // The part of each second, percent.
        let stops = |parts: &[u64]| {
            let mut took = 0;
            let polls = (0..).zip(parts).map(|(second, part)| {
                took += part * S / 100;
                let mut poll = SystemState::new(second * S);
                poll.set(Quantity::BlockingGcTime, Some(took));
                poll
            });
            let stretch = collections(&polls.collect::<Vec<_>>(), END)?;
            Some((stretch.since / S, stretch.until / S, stretch.ended))
        };
        let busy = [0, 10, 90, 90, 90, 20, 90, 90];
        assert_eq!(stops(&busy), Some((1, 7, true)));
        assert_eq!(stops(&[&[0; 12][..], &busy].concat()), Some((13, 20, false)), "to the end");
        assert_eq!(stops(&busy[..6]), None, "too short");
        assert_eq!(stops(&[40; 20]), None, "less than half");
        assert_eq!(collections(&vec![SystemState::new(S); 20], END).map(|stretch| stretch.took()), None);
    }
}
