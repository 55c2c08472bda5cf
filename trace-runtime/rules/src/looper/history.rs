//! The last messages, and their density.
//!
//! One thread writes, any thread reads, and neither waits. An entry is three words; `head` counts the entries that are
//! complete. A reader takes `head`, copies, takes `head` again and drops what the writer may have changed meanwhile
//! (the argument of a sequence lock, with `head` as the sequence).

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

use super::pairing::{Ended, MAX_NESTED, Tag};

/// The number of messages that Matrix keeps.
pub const HISTORY: usize = 200;
/// The number of messages that Matrix keeps for the density.
pub const DENSITY: usize = 5_000;

/// A message of the history.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecentMessage {
    /// Its target.
    pub tag: Tag,
    /// When it began, ns.
    pub begun_ns: u64,
    /// How long it took without nested loops, in whole microseconds, until now if it is open; 71 minutes at most.
    pub took_us: u32,
    /// Whether it has not ended.
    pub open: bool,
}

/// How busy the thread is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Density {
    /// Messages that began since [`History::clear_density`], the open ones too (Matrix `getRecentMCount`).
    pub messages: u64,
    /// How long they took, ns, the open ones until now (Matrix `getRecentMDuration`).
    pub busy_ns: u64,
    /// From the start of the oldest message that is kept, and younger than the last clearing, until now, ns.
    pub span_ns: u64,
}

#[derive(Default)]
struct Entry([AtomicU64; 3]);

impl Entry {
    fn store(&self, tag: Tag, took_us: u32, begun_ns: u64) {
        let words = [
            u64::from(tag.target) << 32 | u64::from(tag.callback),
            u64::from(tag.what as u32) << 32 | u64::from(took_us),
            begun_ns,
        ];
        for (slot, word) in self.0.iter().zip(words) {
            slot.store(word, Ordering::Relaxed);
        }
    }

    fn load(&self, open: bool) -> RecentMessage {
        let [texts, what, begun_ns] = [0, 1, 2].map(|at| self.0[at].load(Ordering::Relaxed));
        let tag = Tag { target: (texts >> 32) as u32, callback: texts as u32, what: (what >> 32) as i32 };
        RecentMessage { tag, begun_ns, took_us: what as u32, open }
    }
}

/// The history of one thread. 24 bytes per message, allocated at the start.
pub struct History {
    /// One more than the capacity, since the writer may be writing one.
    entries: Box<[Entry]>,
    /// Entries that were ever completed.
    head: AtomicU64,
    /// The index of the next entry, which saves a division.
    next: AtomicU32,
    open: [Entry; MAX_NESTED],
    open_depth: AtomicU32,
    /// Odd while `open` is being changed.
    open_sequence: AtomicU32,
    begun: AtomicU64,
    busy_ns: AtomicU64,
    /// `begun`, `busy_ns` and `head` at the last clearing of the density.
    cleared: [AtomicU64; 3],
}

impl History {
    /// A history of the last `capacity` messages, at least one: [`HISTORY`], or [`DENSITY`] if the density is wanted.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        History {
            entries: (0..=capacity.clamp(1, 1 << 20)).map(|_| Entry::default()).collect(),
            head: AtomicU64::new(0),
            next: AtomicU32::new(0),
            open: Default::default(),
            open_depth: AtomicU32::new(0),
            open_sequence: AtomicU32::new(0),
            begun: AtomicU64::new(0),
            busy_ns: AtomicU64::new(0),
            cleared: Default::default(),
        }
    }

    /// A message begins, inside of `nested` others. Only on the writing thread.
    #[inline]
    pub fn begin(&self, at_ns: u64, tag: Tag, nested: u8) {
        self.begun.store(self.begun.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        if let Some(entry) = self.open.get(usize::from(nested)) {
            self.change_open(u32::from(nested) + 1, || entry.store(tag, 0, at_ns));
        }
    }

    /// How many messages ever began.
    #[must_use]
    pub fn begun(&self) -> u64 {
        self.begun.load(Ordering::Relaxed)
    }

    /// A message ended. Only on the writing thread.
    #[inline]
    pub fn end(&self, ended: &Ended) {
        self.change_open(u32::from(ended.nested), || {});
        self.busy_ns.store(self.busy_ns.load(Ordering::Relaxed) + ended.own_ns, Ordering::Relaxed);
        let next = self.next.load(Ordering::Relaxed);
        let head = self.head.load(Ordering::Relaxed);
        // The stores below are not visible before the current `head`.
        fence(Ordering::Release);
        let took_us = u32::try_from(ended.own_ns / 1_000).unwrap_or(u32::MAX);
        self.entries[next as usize].store(ended.tag, took_us, ended.begun_ns);
        let wrapped = next as usize + 1 == self.entries.len();
        self.next.store(if wrapped { 0 } else { next + 1 }, Ordering::Relaxed);
        self.head.store(head + 1, Ordering::Release);
    }

    fn change_open(&self, depth: u32, change: impl FnOnce()) {
        let sequence = self.open_sequence.load(Ordering::Relaxed);
        self.open_sequence.store(sequence.wrapping_add(1), Ordering::Relaxed);
        fence(Ordering::Release);
        change();
        self.open_depth.store(depth, Ordering::Relaxed);
        self.open_sequence.store(sequence.wrapping_add(2), Ordering::Release);
    }

    /// The last `count` messages, oldest first, then the open ones, outermost first, until `now_ns`. Any
    /// thread.
    #[must_use]
    pub fn last(&self, count: usize, now_ns: u64) -> Vec<RecentMessage> {
        let mut messages = Vec::with_capacity(count.min(self.capacity()) + MAX_NESTED);
        let head = self.head.load(Ordering::Acquire);
        let slots = self.entries.len() as u64;
        let from = head.saturating_sub(count.min(self.capacity()) as u64);
        messages.extend((from..head).map(|at| self.entries[(at % slots) as usize].load(false)));
        // A copied entry may be newer than `head`; then `head` has moved visibly.
        fence(Ordering::Acquire);
        let head = self.head.load(Ordering::Relaxed);
        // While entry `head` is written, entry `head - slots` is invalid.
        let whole_from = (head + 1).saturating_sub(slots);
        messages.drain(..(whole_from.saturating_sub(from) as usize).min(messages.len()));
        self.push_open(&mut messages, now_ns);
        messages
    }

    fn push_open(&self, messages: &mut Vec<RecentMessage>, now_ns: u64) {
        let ended = messages.len();
        // The writer is done within nanoseconds unless it was preempted just there.
        for _ in 0..64 {
            let before = self.open_sequence.load(Ordering::Acquire);
            let depth = (self.open_depth.load(Ordering::Relaxed) as usize).min(MAX_NESTED);
            messages.extend(self.open[..depth].iter().map(|entry| entry.load(true)));
            fence(Ordering::Acquire);
            if before.is_multiple_of(2) && before == self.open_sequence.load(Ordering::Relaxed) {
                break;
            }
            messages.truncate(ended);
            std::hint::spin_loop();
        }
        for message in &mut messages[ended..] {
            message.took_us =
                u32::try_from(now_ns.saturating_sub(message.begun_ns) / 1_000).unwrap_or(u32::MAX);
        }
    }

    /// How busy the thread was since the last clearing. Any thread.
    #[must_use]
    pub fn density(&self, now_ns: u64) -> Density {
        let [begun, busy_ns, head] = [0, 1, 2].map(|at| self.cleared[at].load(Ordering::Relaxed));
        let kept = self.head.load(Ordering::Acquire).saturating_sub(head);
        let messages = self.last(usize::try_from(kept).unwrap_or(usize::MAX), now_ns);
        // The innermost of nested messages: the others' own time does not advance.
        let open_ns =
            messages.last().filter(|last| last.open).map_or(0, |last| u64::from(last.took_us) * 1_000);
        Density {
            messages: self.begun.load(Ordering::Relaxed).saturating_sub(begun),
            busy_ns: self.busy_ns.load(Ordering::Relaxed).saturating_sub(busy_ns) + open_ns,
            span_ns: messages.first().map_or(0, |first| now_ns.saturating_sub(first.begun_ns)),
        }
    }

    /// Restarts the counts (Matrix `cleanRecentMQ`). Any thread.
    pub fn clear_density(&self) {
        for (cleared, counter) in self.cleared.iter().zip([&self.begun, &self.busy_ns, &self.head]) {
            cleared.store(counter.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }

    /// How many messages are kept.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.entries.len() - 1
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    /// A reader beside a writer gets whole entries in order, or none.
    #[test]
    fn a_reader_never_gets_half_an_entry() {
        let history = History::new(8);
        let tag = |n: u64| Tag { target: n as u32, callback: !n as u32, what: n as i32 };
        let seen = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                // Until the reader had its turn, which may come late on a busy machine.
                for n in (1u64..).take_while(|n| *n < 400_000 || seen.load(Ordering::Relaxed) == 0) {
                    history.begin(n, tag(n), 0);
                    history.end(&Ended {
                        tag: tag(n),
                        begun_ns: n,
                        ended_ns: 2 * n,
                        own_ns: n * 1_000,
                        nested: 0,
                        lost: 0,
                    });
                }
            });
            while !writer.is_finished() {
                let messages = history.last(8, u64::MAX);
                seen.fetch_add(messages.len(), Ordering::Relaxed);
                for (at, message) in messages.iter().enumerate() {
                    assert_eq!(message.tag, tag(message.begun_ns));
                    assert!(message.open || message.took_us == message.begun_ns as u32);
                    assert!(at == 0 || message.begun_ns > messages[at - 1].begun_ns);
                }
            }
        });
        assert_eq!(history.last(100, 0).len(), 8);
    }
}
