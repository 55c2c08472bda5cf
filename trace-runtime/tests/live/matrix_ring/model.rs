//! A reference model of Matrix's own ring, `AppMethodBeat` of Matrix 2.1.0, word for word, faults included.
//!
//! The library's own ring is `memory::ring` of the recorder, and `AppMethodBeat.java` calls that one. The model documents what tools that read Matrix's `long[]` expect, and its test compares it bit for
//! bit with sequences recorded from the original (`ring.jsonl`). Known faults, kept on purpose:
//!
//! * A record stays "valid" over words of the next lap when a newer one with a smaller index is before it
//!   in the list: only the first is checked.
//! * A slice of a single word comes back empty.
//! * A negative id is written as it is: −1 sets bits 43 to 63, so that its exit decodes as an enter of
//!   0xFFFFF.
//! * What is written before the first enter contains the absolute time.
//!
//! What needs Matrix's logging is left out: its guard against a nested enter takes effect only when its own
//! log calls instrumented code, and the model does not log.
//!
//! One thread writes; like the original, the model takes no lock. The caller supplies `uptimeMillis`.

use trace_format::ids::{DISPATCH, INVALID};

/// Bits of the time field (`AppMethodBeat`: 43, in milliseconds since its base).
const TIME_MASK: i64 = (1 << 43) - 1;

/// The life cycle of `AppMethodBeat`, with its numbers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(i32)]
enum Status {
    Released = -3,
    Stopped = -1,
    Ready = 1,
    Started = 2,
    /// Nothing was entered yet.
    Default = i32::MAX,
}

/// A record of the list, Matrix's `IndexRecord`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct IndexRecord(u64);

/// The ring.
#[derive(Debug)]
pub(crate) struct MatrixRing {
    buffer: Vec<i64>,
    /// Where the next word goes; the length of the buffer before it wraps.
    index: usize,
    /// Where the last word went; −1 before the first.
    last: i64,
    base: i64,
    /// The time of the next word.
    now: i64,
    status: Status,
    /// Number and index, in the order of the list. A record that is not in the list is invalid.
    records: Vec<(u64, i64)>,
    next_record: u64,
}

impl MatrixRing {
    /// A ring of `capacity` words (Matrix: 1,000,000), created when `uptimeMillis` was `base`.
    ///
    /// # Panics
    /// If `capacity` is 0.
    #[must_use]
    pub(crate) fn new(capacity: usize, base: i64) -> Self {
        assert!(capacity > 0, "a ring of no words");
        Self {
            buffer: vec![0; capacity],
            index: 0,
            last: -1,
            base,
            now: base,
            status: Status::Default,
            records: Vec::new(),
            next_record: 0,
        }
    }

    /// `AppMethodBeat.i` on the main thread.
    pub(crate) fn enter(&mut self, id: i32, uptime: i64) {
        if self.status <= Status::Stopped || id >= INVALID as i32 {
            return;
        }
        if self.status == Status::Default {
            self.now = uptime - self.base;
            self.status = Status::Ready;
        }
        self.write(id, true, uptime);
    }

    /// `AppMethodBeat.o` on the main thread.
    pub(crate) fn exit(&mut self, id: i32, uptime: i64) {
        if self.status <= Status::Stopped || id >= INVALID as i32 {
            return;
        }
        self.write(id, false, uptime);
    }

    fn write(&mut self, id: i32, enter: bool, uptime: i64) {
        if self.index >= self.buffer.len() {
            self.index = 0;
        }
        if id == DISPATCH as i32 {
            self.now = uptime - self.base;
        }
        let enter = if enter { 1_i64 << 63 } else { 0 };
        self.buffer[self.index] = enter | (i64::from(id) << 43) | (self.now & TIME_MASK);
        self.check_pileup(self.index as i64);
        self.last = self.index as i64;
        self.index += 1;
    }

    fn check_pileup(&mut self, index: i64) {
        let end = self.buffer.len() as i64 - 1;
        let passed = |record: i64| record == index || (record == -1 && self.last == end);
        let gone = self.records.iter().take_while(|(_, record)| passed(*record)).count();
        self.records.drain(..gone);
    }

    /// Refreshes the time: a Looper message begins, or the clock thread ticks.
    pub(crate) fn refresh(&mut self, uptime: i64) {
        self.now = uptime - self.base;
    }

    /// `maskIndex`: a record of the last word.
    pub(crate) fn mask_index(&mut self) -> IndexRecord {
        let index = self.index as i64 - 1;
        let at = self.records.iter().position(|(_, other)| *other >= index).unwrap_or(self.records.len());
        let record = self.next_record;
        self.next_record += 1;
        self.records.insert(at, (record, index));
        IndexRecord(record)
    }

    /// `IndexRecord.release`.
    pub(crate) fn release(&mut self, record: IndexRecord) {
        self.records.retain(|(number, _)| *number != record.0);
    }

    /// Whether Matrix considers the record valid.
    #[must_use]
    pub(crate) fn is_valid(&self, record: IndexRecord) -> bool {
        self.index_of(record).is_some()
    }

    fn index_of(&self, record: IndexRecord) -> Option<i64> {
        self.records.iter().find(|(number, _)| *number == record.0).map(|(_, index)| *index)
    }

    /// The records that Matrix considers valid with their indices, in the order of its list.
    pub(crate) fn records(&self) -> impl Iterator<Item = (IndexRecord, i64)> {
        self.records.iter().map(|(number, index)| (IndexRecord(*number), *index))
    }

    /// `copyData`: the words from the record to the last one.
    #[must_use]
    pub(crate) fn copy_data(&self, start: IndexRecord) -> Vec<i64> {
        let Some(start) = self.index_of(start) else { return Vec::new() };
        if self.buffer.is_empty() {
            return Vec::new();
        }
        let (start, end) = (start.max(0) as usize, self.index.saturating_sub(1));
        match end.cmp(&start) {
            std::cmp::Ordering::Greater => self.buffer[start..=end].to_vec(),
            std::cmp::Ordering::Less => [&self.buffer[start..], &self.buffer[..=end]].concat(),
            std::cmp::Ordering::Equal => Vec::new(),
        }
    }

    /// `onStart`. Before the first enter and after [`MatrixRing::release_buffer`] it changes nothing.
    pub(crate) fn start(&mut self) {
        if matches!(self.status, Status::Ready | Status::Stopped) {
            self.status = Status::Started;
        }
    }

    /// `onStop`.
    pub(crate) fn stop(&mut self) {
        if self.status == Status::Started {
            self.status = Status::Stopped;
        }
    }

    /// `realRelease`, 10 s after class load: frees the memory for good unless it was started.
    pub(crate) fn release_buffer(&mut self) {
        if self.status <= Status::Ready || self.status == Status::Default {
            self.buffer = Vec::new();
            self.status = Status::Released;
        }
    }

    /// `isAlive`.
    #[must_use]
    pub(crate) fn is_alive(&self) -> bool {
        self.status >= Status::Started
    }

    /// All words, as Matrix dumps them.
    #[must_use]
    pub(crate) fn buffer(&self) -> &[i64] {
        &self.buffer
    }

    /// `sIndex`.
    #[must_use]
    pub(crate) fn index(&self) -> usize {
        self.index
    }

    /// The time that the next word would have, in ms.
    #[must_use]
    pub(crate) fn now(&self) -> i64 {
        self.now
    }
}

mod tests {
    use super::*;

    #[test]
    fn a_shielded_record_stays_valid_over_the_next_lap() {
        let mut ring = MatrixRing::new(4, 0);
        (1..=4).for_each(|id| ring.enter(id, 1));
        let old = ring.mask_index();
        ring.enter(5, 1);
        // A smaller index: it goes before the old one, and is not removed before the next lap.
        let newer = ring.mask_index();
        (6..=8).for_each(|id| ring.enter(id, 1));
        assert!(ring.is_valid(old) && ring.is_valid(newer), "Matrix thinks so");
        let id = |word: &i64| (*word >> 43) & 0xF_FFFF;
        assert_eq!(ring.copy_data(newer).iter().map(id).collect::<Vec<_>>(), [5, 6, 7, 8]);
        assert_eq!(ring.copy_data(old), [0_i64; 0], "and a single word comes back empty");
    }

    #[test]
    fn the_exit_of_minus_one_decodes_as_an_enter() {
        let mut ring = MatrixRing::new(4, 0);
        ring.enter(1, 0);
        ring.exit(-1, 0);
        assert_eq!(ring.buffer()[1], -1_i64 << 43);
        ring.enter(0xF_FFFF, 0);
        assert_eq!(ring.index(), 2);
    }

    #[test]
    fn a_stopped_ring_writes_nothing_and_a_released_one_never_again() {
        let mut ring = MatrixRing::new(4, 0);
        ring.start();
        assert!(ring.is_alive(), "before the first enter the number is the largest of all");
        ring.enter(1, 0);
        assert!(!ring.is_alive(), "start before the first enter was lost");
        ring.start();
        ring.stop();
        ring.enter(2, 0);
        assert_eq!(ring.index(), 1);
        ring.start();
        ring.release_buffer();
        assert!(ring.is_alive(), "started in time, it is kept");
        ring.stop();
        ring.release_buffer();
        ring.start();
        ring.enter(3, 0);
        let record = ring.mask_index();
        assert!(!ring.is_alive() && ring.copy_data(record).is_empty());
    }
}
