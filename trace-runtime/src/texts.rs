//! Interned texts, in a mapped region: a name is in the file before the first event that uses it.

use std::collections::HashMap;
use std::sync::atomic::{Ordering, fence};
use std::sync::{Mutex, PoisonError};

use trace_format::TextId;
use trace_format::layout::{STRINGS_HEADER_LEN, strings};

use crate::mapping::Mapping;

/// The longest text that is kept whole, in bytes; a longer one is cut at a character.
const MAX_LEN: usize = 512;

/// The table's writer.
#[derive(Debug)]
pub(crate) struct Interner {
    offset: usize,
    room: usize,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    ids: HashMap<Box<str>, TextId>,
    used: usize,
}

impl Interner {
    pub(crate) fn new(offset: usize, length: usize) -> Self {
        Self { offset, room: length - STRINGS_HEADER_LEN, known: Mutex::default() }
    }

    /// The id of `text`; 0 where the table is full, which is counted.
    ///
    /// Allocates and locks at a text's first use: callers on a hot path keep the id.
    pub(crate) fn intern(&self, mapping: &Mapping, text: &str) -> TextId {
        let text = &text[..text.floor_char_boundary(MAX_LEN)];
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(id) = known.ids.get(text) {
            return *id;
        }
        let length = (8 + text.len()).next_multiple_of(4);
        if known.used + length > self.room {
            mapping.u32(self.offset + strings::OVERFLOW).fetch_add(1, Ordering::Relaxed);
            return TextId(0);
        }
        let id = TextId(known.ids.len() as u32 + 1);
        let entry = self.offset + STRINGS_HEADER_LEN + known.used;
        mapping.store_u32(entry, id.0);
        mapping.store_u32(entry + 4, text.len() as u32);
        mapping.store_text(entry + 8, text.len(), text);
        known.used += length;
        known.ids.insert(text.into(), id);
        // The entry before the length that makes a reader look at it.
        fence(Ordering::Release);
        mapping.store_u32(self.offset + strings::USED, known.used as u32);
        mapping.store_u32(self.offset + strings::COUNT, id.0);
        id
    }
}
