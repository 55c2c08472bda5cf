//! Steps through the words of one block.

use crate::event::{self, Event};
use crate::{ids, word};

const TIME: u32 = event::typed_id(event::types::TIME, 1);

/// A place in a block's words, and the time there. The caller keeps the words themselves: the
/// reader of a file has bytes, a copy of a live ring has words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cursor {
    t0: u64,
    now: u64,
    /// No event is later than this; set where times in the block are damaged.
    limit: Option<u64>,
    next: usize,
    head: usize,
}

/// An event whose payload passes the head, or a word that no writer writes; what follows in its block
/// cannot be decoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BadEvent {
    /// The index of its first word.
    pub index: usize,
}

impl Cursor {
    /// At the first of `head` words of a block that was opened at `t0` (BOOTTIME ns).
    #[must_use]
    pub const fn new(t0: u64, head: usize) -> Self {
        Self { t0, now: t0, limit: None, next: 0, head }
    }

    /// Keeps a damaged time from reaching beyond its block. `limit` is the opening time of the thread's next
    /// block, `u64::MAX` if no block follows: nothing in this one was written after that.
    ///
    /// A wrong time field is far ahead of its neighbours or far behind, and as the field is
    /// cyclic the step back to the right time appears as one of hours, which a writer never leaves to the field
    /// ([`word::MAX_GAP`]). Only a block with such a step, or whose last event alone passes `limit`, counts
    /// as damaged: otherwise a damaged `limit` would spoil whole events.
    #[must_use]
    pub fn contained(self, limit: u64, words: &[u64]) -> Self {
        let damaged =
            !self.is_plainly_whole(limit, words) && self.has_impossible_step(limit, words.iter().copied());
        Self { limit: damaged.then_some(limit), ..self }
    }

    /// Whether no step is even as large as [`word::MAX_GAP`] and the last event is within `limit`. True nearly always,
    /// and decided in one pass over the words. `false` proves nothing.
    fn is_plainly_whole(&self, limit: u64, words: &[u64]) -> bool {
        let (mut at, mut since, mut steps) = (0, 0_u64, 0);
        while let Some(raw) = words.get(at) {
            let id = word::id(*raw);
            let step = word::step(*raw, 0, since);
            steps |= step;
            since = since.wrapping_add(step);
            at += 1;
            if id >= ids::EVENT_FIRST {
                if id == TIME {
                    return false;
                }
                at += event::payload_len(id);
            }
        }
        // Steps below MAX_GAP, a power of two, have no bit of it or above, and their sum is far from wrapping.
        at == words.len() && steps < word::MAX_GAP && self.t0.saturating_add(since) <= limit
    }

    /// The exact answer, where [`Self::is_plainly_whole`] has none.
    #[cold]
    fn has_impossible_step(&self, limit: u64, mut words: impl ExactSizeIterator<Item = u64>) -> bool {
        // How far the last two events lie behind t0: as long as no step is too large that only grows, and one event
        // alone is beyond the limit if the last one is and the one before it is not.
        let (mut since, mut previous) = (0_u64, 0);
        while let Some(raw) = words.next() {
            let id = word::id(raw);
            if id >= ids::EVENT_FIRST {
                let payload = event::payload_len(id);
                if payload > words.len() {
                    break;
                }
                let first = if payload > 0 { words.next().unwrap_or(0) } else { 0 };
                if payload > 1 {
                    words.nth(payload - 2);
                }
                if id == TIME {
                    let now = first.max(self.t0.saturating_add(since));
                    if now > limit {
                        return true;
                    }
                    (previous, since) = (since, now - self.t0);
                    continue;
                }
            }
            let step = word::step(raw, 0, since);
            if step > word::MAX_GAP {
                return true;
            }
            previous = since;
            since = since.saturating_add(step);
        }
        let beyond = |since| self.t0.saturating_add(since) > limit;
        beyond(since) && !beyond(previous)
    }

    /// The index of the next event's first word.
    #[inline]
    #[must_use]
    pub const fn index(&self) -> usize {
        self.next
    }

    /// The next event and its time; `word` gives the word at an index below the head. `None` at the head.
    ///
    /// # Errors
    /// [`BadEvent`], and `None` from then on.
    #[inline]
    pub fn step(&mut self, word: impl Fn(usize) -> u64) -> Option<Result<(u64, Event), BadEvent>> {
        let first = self.next;
        if first >= self.head {
            return None;
        }
        let raw = word(first);
        let id = word::id(raw);
        let payload_len = event::payload_len(id);
        let next = first + 1 + payload_len;
        if next > self.head || raw == 0 {
            self.next = self.head;
            return Some(Err(BadEvent { index: first }));
        }
        self.next = next;
        if event::is_padding(id) {
            return self.step(word);
        }
        if payload_len == 0 && (ids::is_method(id) || id == ids::DISPATCH) {
            // Nearly all words: nothing to gather.
            self.now = self.time(raw);
            let event = if word::is_begin(raw) { Event::Enter(id) } else { Event::Exit(id) };
            return Some(Ok((self.now, event)));
        }
        let mut payload = [0; event::MAX_PAYLOAD];
        for (i, slot) in payload[..payload_len].iter_mut().enumerate() {
            *slot = word(first + 1 + i);
        }
        let event = Event::decode(word::is_begin(raw), id, &payload[..payload_len]);
        self.now = match event {
            // The field of a TIME event cannot say how far away it is: its payload does.
            Event::Time(full) => full.max(self.now).min(self.limit.unwrap_or(u64::MAX)),
            _ => self.time(raw),
        };
        Some(Ok((self.now, event)))
    }

    /// The next event, if it is of the kind that nearly all are: a method or DISPATCH, in a block without damaged
    /// times. `None` says nothing: ask [`Self::step`]. `words` are those below the head.
    #[inline]
    pub(crate) fn step_plain(&mut self, words: &[u64]) -> Option<(u64, Event)> {
        let raw = *words.get(self.next)?;
        let id = word::id(raw);
        if self.limit.is_some() || id == 0 || (id > ids::METHOD_LAST && id != ids::DISPATCH) {
            return None;
        }
        self.next += 1;
        self.now = word::time(raw, self.t0, self.now);
        Some((self.now, if word::is_begin(raw) { Event::Enter(id) } else { Event::Exit(id) }))
    }

    #[inline]
    fn time(&self, raw: u64) -> u64 {
        let time = word::time(raw, self.t0, self.now);
        match self.limit {
            None => time,
            // Stay until the truth has caught up.
            Some(_) if time - self.now > word::MAX_GAP => self.now,
            Some(limit) => time.min(limit),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn times(words: &[u64], limit: u64) -> Vec<u64> {
        let mut cursor = Cursor::new(1_000, words.len()).contained(limit, words);
        std::iter::from_fn(|| cursor.step(|i| words[i])).map(|e| e.unwrap().0).collect()
    }

    #[test]
    fn a_damaged_time_stays_inside_of_its_block() {
        let at = |since| word::pack(true, 1, since);
        let hour = 3_600_000_000_000;
        assert_eq!(times(&[at(1), at(5), at(9)], 1_020), [1_001, 1_005, 1_009]);
        assert_eq!(times(&[at(1), at(5 + hour), at(9)], 1_020), [1_001, 1_020, 1_020]);
        assert_eq!(times(&[at(4), at(1), at(9)], 1_020), [1_004, 1_004, 1_009]);
        assert_eq!(times(&[at(1), at(5), at(9 + hour)], 1_020), [1_001, 1_005, 1_020]);
        // Without a next block there is nothing to hold on to but the words themselves.
        assert_eq!(times(&[at(4), at(1), at(9)], u64::MAX), [1_004, 1_004, 1_009]);
    }

    #[test]
    fn a_damaged_limit_spoils_no_whole_block() {
        let words = [word::pack(true, 1, 5), word::pack(true, 1, 6), word::pack(true, 1, 7)];
        assert_eq!(times(&words, 1_003), [1_005, 1_006, 1_007]);
    }

    #[test]
    fn a_long_gap_after_a_time_event_is_no_damage() {
        let gap = 3 * word::MAX_GAP;
        let time = Event::Time(1_000 + gap).encode();
        let words =
            [word::pack(true, 1, 5), time.word(gap), time.payload()[0], word::pack(false, 1, gap + 2)];
        assert_eq!(times(&words, 1_000 + gap + 2), [1_005, 1_000 + gap, 1_002 + gap]);
    }

    #[test]
    fn a_payload_that_passes_the_head_ends_the_block() {
        let counter = Event::Counter(crate::TextId(1), 2.0).encode();
        let words = [word::pack(true, 1, 0), counter.word(1), counter.payload()[0]];
        let mut cursor = Cursor::new(0, 3);
        assert_eq!(cursor.step(|i| words[i]), Some(Ok((0, Event::Enter(1)))));
        assert_eq!(cursor.step(|i| words[i]), Some(Err(BadEvent { index: 1 })));
        assert_eq!(cursor.step(|i| words[i]), None);
    }

    /// Words that are near each other in time, with some that are typed, damaged, or nothing at all.
    fn any_words() -> impl Strategy<Value = Vec<u64>> {
        let gap =
            prop_oneof![20 => 0..1_000_u64, 1 => word::MAX_GAP - 2..word::MAX_GAP + 2, 1 => any::<u64>()];
        let id = prop_oneof![
            20 => 1..50_u32,
            1 => Just(ids::DISPATCH),
            1 => Just(TIME),
            2 => (0..=word::ID_MASK).prop_map(|id| id | ids::EVENT_FIRST),
            1 => Just(0)
        ];
        prop::collection::vec((any::<bool>(), id, gap), 0..60).prop_map(|all| {
            let mut since = 0_u64;
            let words = all.into_iter().map(|(begin, id, gap)| {
                since = since.wrapping_add(gap);
                word::pack(begin, id, since)
            });
            words.collect()
        })
    }

    proptest! {
        #[test]
        fn the_quick_ways_say_what_the_exact_ones_say(
            words in any_words(),
            t0 in prop_oneof![Just(1_000), any::<u64>()],
            limit in prop_oneof![3 => Just(u64::MAX), 1 => 0..100_000_u64, 1 => any::<u64>()],
        ) {
            let cursor = Cursor::new(t0, words.len());
            let damaged = cursor.has_impossible_step(limit, words.iter().copied());
            let mut quick = cursor.contained(limit, &words);
            prop_assert_eq!(quick.limit, damaged.then_some(limit));
            let mut exact = quick;
            loop {
                let wanted = exact.step(|i| words[i]);
                let found = quick.step_plain(&words).map(Ok).or_else(|| quick.step(|i| words[i]));
                // Unlike a NaN, which a damaged counter may be, its text equals itself.
                prop_assert_eq!(format!("{found:?}"), format!("{wanted:?}"));
                prop_assert_eq!(quick, exact);
                if wanted.is_none() {
                    break;
                }
            }
        }
    }
}
