//! One thread's events, a block at a time.

use super::bytes::read_some;
use super::index::{Block, Thread};
use crate::cursor::Cursor;
use crate::error::{Fault, ReadError};
use crate::event::Event;
use crate::layout::{self, block as at, u32_at, u64_at};
use crate::source::Source;

/// An item of a stream of events.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Item {
    /// An event and its time, CLOCK_BOOTTIME ns. Times of one thread never run back.
    Event {
        /// Its time.
        time: u64,
        /// What happened.
        event: Event,
    },
    /// Words that are missing: overwritten, cut off, or lost with a damaged block. What was open stays open.
    Lost {
        /// How many.
        words: u64,
    },
    /// Damage inside of a block.
    Fault(Fault),
}

/// An iterator over a thread's events. An error of the device ends it. A clone continues from the same place, to look ahead.
#[derive(Debug)]
pub struct Events<'a, S: ?Sized> {
    source: &'a S,
    blocks: core::slice::Iter<'a, Block>,
    block: Option<Open>,
    buffer: Vec<u8>,
    /// Those of the block in hand, as far as they are there.
    words: Vec<u64>,
    /// Time of the last event.
    now: u64,
    /// Words written up to the end of the last block; `None` before the first.
    expected_base: Option<u64>,
    failed: bool,
}

impl<S: ?Sized> Clone for Events<'_, S> {
    fn clone(&self) -> Self {
        Self {
            source: self.source,
            blocks: self.blocks.clone(),
            block: self.block,
            buffer: self.buffer.clone(),
            words: self.words.clone(),
            now: self.now,
            expected_base: self.expected_base,
            failed: self.failed,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Open {
    offset: u64,
    cursor: Cursor,
    /// Words that the file no longer holds, behind those that the cursor goes through.
    cut: u64,
    /// How far the cursor goes.
    present: usize,
}

impl<'a, S: Source + ?Sized> Events<'a, S> {
    pub(super) fn new(source: &'a S, thread: &'a Thread) -> Self {
        Self {
            source,
            blocks: thread.blocks.iter(),
            block: None,
            buffer: vec![0; layout::BLOCK_LEN],
            words: Vec::with_capacity(layout::BLOCK_WORDS),
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
        let read = read_some(self.source, block.offset, &mut self.buffer[..length])?;
        // The writer may have reused the block since it was indexed.
        let same = read >= at::WORDS
            && u64_at(&self.buffer, at::SEQUENCE) == block.sequence
            && u64_at(&self.buffer, at::T0) == block.t0
            && (block.published..=layout::BLOCK_WORDS as u32).contains(&u32_at(&self.buffer, at::HEAD));
        if !same {
            return Ok(Some(Item::Lost { words: missing + u64::from(block.head) }));
        }
        // A file that was cut inside of the block still holds the words before the cut.
        let present = (read - at::WORDS) / 8;
        let limit = self.blocks.as_slice().first().map_or(u64::MAX, |next| next.t0);
        let (words, _) = self.buffer[at::WORDS..at::WORDS + present * 8].as_chunks();
        self.words.clear();
        self.words.extend(words.iter().map(|word| u64::from_le_bytes(*word)));
        let cursor = Cursor::new(block.t0, present).contained(limit, &self.words);
        self.block =
            Some(Open { offset: block.offset, cursor, cut: u64::from(block.head) - present as u64, present });
        Ok((missing > 0).then_some(Item::Lost { words: missing }))
    }

    /// Nearly all words.
    #[inline]
    fn step_plain(&mut self) -> Option<Item> {
        let (time, event) = self.block.as_mut()?.cursor.step_plain(&self.words)?;
        self.now = self.now.max(time);
        Some(Item::Event { time: self.now, event })
    }

    fn step(&mut self) -> Option<Item> {
        let open = self.block.as_mut()?;
        let words = &self.words;
        match open.cursor.step(|index| words[index]) {
            Some(Ok((time, event))) => {
                self.now = self.now.max(time);
                Some(Item::Event { time: self.now, event })
            }
            None if open.cut == 0 => {
                self.block = None;
                None
            }
            None => self.block.take().map(|open| Item::Lost { words: open.cut }),
            Some(Err(bad)) => self.block.take().map(|open| match open.cut {
                0 => {
                    Item::Fault(Fault::BadEvent { offset: open.offset + (at::WORDS + bad.index * 8) as u64 })
                }
                // Its payload, if it has one, is behind the cut.
                cut => Item::Lost { words: cut + (open.present - bad.index) as u64 },
            }),
        }
    }
}

impl<S: Source + ?Sized> Iterator for Events<'_, S> {
    type Item = Result<Item, ReadError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        match self.step_plain() {
            Some(item) => Some(Ok(item)),
            None => self.next_of_any_kind(),
        }
    }
}

impl<S: Source + ?Sized> Events<'_, S> {
    /// Not inlined: so the caller's loop over methods stays small.
    #[inline(never)]
    fn next_of_any_kind(&mut self) -> Option<Result<Item, ReadError>> {
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
