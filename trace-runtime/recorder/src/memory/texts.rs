//! Interned texts, in a mapped region: a name is in the file before the first event that uses it.

use std::collections::HashMap;
use std::sync::PoisonError;
use std::sync::atomic::{Ordering, fence};

use trace_format::TextId;
use trace_format::layout::{RegionKind, STRINGS_HEADER_LEN, strings};

use crate::memory::mapping::Mapping;
use crate::sync::Mutex;

/// The longest text that is kept whole, in bytes; a longer one is cut at a character.
const MAX_LEN: usize = 512;

/// The writer of the table of texts.
#[derive(Debug)]
pub(crate) struct Interner {
    offset: usize,
    room: usize,
    known: Mutex<Known>,
}

#[derive(Debug)]
struct Known {
    /// Where the table is.
    mapping: &'static Mapping,
    ids: HashMap<Box<str>, TextId>,
    used: usize,
}

impl Interner {
    /// A table in `mapping`.
    pub(crate) fn new(mapping: &'static Mapping) -> Self {
        let region = mapping.region(RegionKind::Strings);
        Self {
            offset: region.offset as usize,
            room: region.length as usize - STRINGS_HEADER_LEN,
            known: Mutex::new(Known { mapping, ids: HashMap::new(), used: 0 }),
        }
    }

    /// Migrates the table to `file`, which has the same layout.
    pub(crate) fn move_to(&self, file: &'static Mapping) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        file.copy_from(known.mapping, self.offset, STRINGS_HEADER_LEN + known.used);
        known.mapping = file;
    }

    /// The id of `text`; 0 if the table is full, which is counted.
    ///
    /// Allocates and locks at a text's first use: callers on a hot path keep the id.
    pub(crate) fn intern(&self, text: &str) -> TextId {
        let text = &text[..text.floor_char_boundary(MAX_LEN)];
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(id) = known.ids.get(text) {
            return *id;
        }
        let mapping = known.mapping;
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
        // The entry before the length that makes a reader read it.
        fence(Ordering::Release);
        mapping.store_u32(self.offset + strings::USED, known.used as u32);
        mapping.store_u32(self.offset + strings::COUNT, id.0);
        id
    }

    /// The text with this id. Searches all of them: not on a hot path.
    pub(crate) fn text_of(&self, id: TextId) -> Option<String> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.ids.iter().find(|(_, known)| **known == id).map(|(text, _)| text.to_string())
    }
}
