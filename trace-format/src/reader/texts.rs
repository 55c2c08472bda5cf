//! The string table.

use std::collections::HashMap;

use super::bytes::{read_array, read_full};
use super::faults::Faults;
use crate::error::{Fault, ReadError};
use crate::event::TextId;
use crate::layout::{self, Region, strings as at, u32_at};
use crate::source::Source;

/// The most bytes of texts that a reader accepts.
const MAX_BYTES: u64 = 64 << 20;
/// The most texts. A file of empty ones would else cost six times its length in memory.
const MAX_TEXTS: usize = 1 << 20;

/// Texts by id.
#[derive(Clone, Debug, Default)]
pub struct Texts {
    by_id: HashMap<TextId, Box<str>>,
    /// Length of all of them.
    bytes: u64,
    overflow: u32,
}

impl Texts {
    /// The text, if it was interned and its entry survived.
    #[must_use]
    pub fn get(&self, id: TextId) -> Option<&str> {
        self.by_id.get(&id).map(AsRef::as_ref)
    }

    /// How many texts found no room.
    #[must_use]
    pub fn overflow(&self) -> u32 {
        self.overflow
    }

    /// How many texts there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Whether the recording has no texts.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    pub(super) fn read_region(
        &mut self,
        source: &impl Source,
        region: &Region,
        faults: &mut Faults,
    ) -> Result<(), ReadError> {
        let Some(header) = read_array::<{ layout::STRINGS_HEADER_LEN }>(source, region.offset)? else {
            return Ok(());
        };
        self.overflow = u32_at(&header, at::OVERFLOW);
        let start = region.offset + layout::STRINGS_HEADER_LEN as u64;
        let room = region.length.saturating_sub(layout::STRINGS_HEADER_LEN as u64).min(MAX_BYTES);
        // A cut file holds fewer than it declares; never allocate by that number alone.
        let present = source.len().saturating_sub(start);
        let used = u64::from(u32_at(&header, at::USED)).min(room).min(present);
        let mut bytes = vec![0; used as usize];
        if !read_full(source, start, &mut bytes)? {
            return Ok(());
        }
        let read = self.read_entries(&bytes);
        if read < bytes.len() {
            faults.add(Fault::BadString { offset: start + read as u64 });
        }
        Ok(())
    }

    /// Takes entries as long as they are whole, and says how many bytes those were.
    pub(super) fn read_entries(&mut self, bytes: &[u8]) -> usize {
        let mut at = 0;
        while let Some(entry) = bytes.get(at..at + 8) {
            let (id, length) = (u32_at(entry, 0), u32_at(entry, 4) as usize);
            let Some(text) = length.checked_add(at + 8).and_then(|end| bytes.get(at + 8..end)) else { break };
            if id == 0 || self.by_id.len() >= MAX_TEXTS || self.bytes + text.len() as u64 > MAX_BYTES {
                break;
            }
            // An id is given once: what comes later under the same one is damage.
            self.by_id.entry(TextId(id)).or_insert_with(|| {
                self.bytes += text.len() as u64;
                String::from_utf8_lossy(text).into()
            });
            at += (8 + length).next_multiple_of(4);
        }
        at.min(bytes.len())
    }
}
