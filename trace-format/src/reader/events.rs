//! One thread's events, a block at a time.

use super::index::{Block, Thread};
use super::{read_full, u32_at, u64_at};
use crate::error::{Fault, ReadError};
use crate::event::{self, Event};
use crate::layout::{self, block as at};
use crate::source::Source;
use crate::{ids, word};

/// What a stream of events yields.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Item {
    /// An event and its time, CLOCK_BOOTTIME ns. Times of one thread never run back.
    Event {
        /// Its time.
        time: u64,
        /// What happened.
        event: Event,
    },
    /// Words that are not here: recycled, or lost with a damaged block. What was open stays open.
    Lost {
        /// How many.
        words: u64,
    },
    /// Damage inside of a block.
    Fault(Fault),
}

/// An iterator over a thread's events. An error of the device ends it.
#[derive(Debug)]
pub struct Events<'a, S: ?Sized> {
    source: &'a S,
    blocks: core::slice::Iter<'a, Block>,
    block: Option<Open>,
    buffer: Vec<u8>,
    /// Time of the last event.
    now: u64,
    /// Words written up to the end of the last block; `None` before the first.
    expected_base: Option<u64>,
    failed: bool,
}

#[derive(Debug)]
struct Open {
    offset: u64,
    t0: u64,
    head: usize,
    next: usize,
}

impl<'a, S: Source> Events<'a, S> {
    pub(super) fn new(source: &'a S, thread: &'a Thread) -> Self {
        Self {
            source,
            blocks: thread.blocks.iter(),
            block: None,
            buffer: vec![0; layout::BLOCK_LEN],
            now: 0,
            expected_base: None,
            failed: false,
        }
    }

    /// Opens the next block; the item to yield for words that are missing before it or in it.
    fn open(&mut self, block: &Block) -> Result<Option<Item>, ReadError> {
        let missing = self.expected_base.map_or(0, |end| block.base.saturating_sub(end));
        self.expected_base = Some(block.base + u64::from(block.head));
        let length = at::WORDS + block.head as usize * 8;
        let whole = read_full(self.source, block.offset, &mut self.buffer[..length])?;
        // The writer may have reused the block since it was indexed.
        let same = u64_at(&self.buffer, at::SEQUENCE) == block.sequence
            && u64_at(&self.buffer, at::T0) == block.t0
            && u32_at(&self.buffer, at::HEAD) >= block.head;
        if !whole || !same {
            return Ok(Some(Item::Lost { words: missing + u64::from(block.head) }));
        }
        self.now = self.now.max(block.t0);
        self.block = Some(Open { offset: block.offset, t0: block.t0, head: block.head as usize, next: 0 });
        Ok((missing > 0).then_some(Item::Lost { words: missing }))
    }

    #[inline]
    fn word(&self, index: usize) -> u64 {
        u64_at(&self.buffer, at::WORDS + index * 8)
    }

    #[inline]
    fn step(&mut self) -> Option<Item> {
        let open = self.block.as_mut()?;
        if open.next >= open.head {
            self.block = None;
            return None;
        }
        let (first, t0, head) = (open.next, open.t0, open.head);
        let word_offset = open.offset + (at::WORDS + first * 8) as u64;
        let word = self.word(first);
        let id = word::id(word);
        let payload_len = event::payload_len(id);
        let next = first + 1 + payload_len;
        if next > head || word == 0 {
            self.block = None;
            return Some(Item::Fault(Fault::BadEvent { offset: word_offset }));
        }
        if payload_len == 0 && (ids::is_method(id) || id == ids::DISPATCH) {
            // Nearly all words: nothing to gather.
            self.block.as_mut()?.next = next;
            self.now = word::time(word, t0, self.now);
            let event = if word::is_begin(word) { Event::Enter(id) } else { Event::Exit(id) };
            return Some(Item::Event { time: self.now, event });
        }
        let mut payload = [0; event::MAX_PAYLOAD];
        for (i, slot) in payload[..payload_len].iter_mut().enumerate() {
            *slot = self.word(first + 1 + i);
        }
        self.block.as_mut()?.next = next;
        let event = Event::decode(word::is_begin(word), id, &payload[..payload_len]);
        self.now = match event {
            // The field of a TIME event cannot say how far away it is: its payload does.
            Event::Time(full) => full.max(self.now),
            _ => word::time(word, t0, self.now),
        };
        Some(Item::Event { time: self.now, event })
    }
}

impl<S: Source> Iterator for Events<'_, S> {
    type Item = Result<Item, ReadError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(item) = self.step() {
                return Some(Ok(item));
            }
            if self.failed {
                return None;
            }
            let block = self.blocks.next()?;
            match self.open(block) {
                Ok(Some(item)) => return Some(Ok(item)),
                Ok(None) => {}
                Err(error) => {
                    self.failed = true;
                    return Some(Err(error));
                }
            }
        }
    }
}
