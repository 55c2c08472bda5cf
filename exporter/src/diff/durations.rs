//! The durations of each method and message of the main thread in a set of recordings.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use trace_format::event::Message;
use trace_format::{Recording, Source, TextId, ids};

use crate::facts::{Change, EndedBy, Facts, Payload, is_message};
use crate::model::{Names, message_name};
use crate::names::names_of;
use crate::{ExportError, MethodMap, Warning};

/// Maximum number of durations kept per name.
pub const MAX_SAMPLES: usize = 8192;

/// The kind of a row.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Kind {
    /// A Looper message.
    Message,
    /// A method.
    Method,
    /// An input event, an idle handler or the like, outside of messages.
    Unit,
}

impl Kind {
    /// The stable identifier.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Message => "message",
            Self::Method => "method",
            Self::Unit => "unit",
        }
    }
}

/// The durations of one name, ns.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Durations {
    /// Their number.
    pub count: u64,
    /// Their total.
    pub total: u64,
    kept: Vec<u64>,
}

impl Durations {
    fn add(&mut self, ns: u64, draw: &mut u64) {
        self.count += 1;
        self.total = self.total.saturating_add(ns);
        if self.kept.len() < MAX_SAMPLES {
            self.kept.push(ns);
            return;
        }
        // Algorithm R (Vitter 1985); the same recordings always draw the same sample (xorshift64).
        *draw ^= *draw << 13;
        *draw ^= *draw >> 7;
        *draw ^= *draw << 17;
        let place = (*draw % self.count) as usize;
        if let Some(slot) = self.kept.get_mut(place) {
            *slot = ns;
        }
    }

    /// The kept durations, sorted once [`DurationTable::finish`] has been called.
    #[must_use]
    pub fn sorted(&self) -> &[u64] {
        &self.kept
    }

    /// The lower of the two in the middle.
    #[must_use]
    pub fn median(&self) -> Option<u64> {
        self.kept.get(self.kept.len().checked_sub(1)? / 2).copied()
    }
}

/// The durations of all names.
#[derive(Clone, Debug)]
pub struct DurationTable {
    by_name: BTreeMap<(Kind, String), Durations>,
    draw: u64,
    /// Number of recordings read.
    pub recordings: u64,
}

impl Default for DurationTable {
    fn default() -> Self {
        Self { by_name: BTreeMap::new(), draw: 0x9E37_79B9_7F4A_7C15, recordings: 0 }
    }
}

/// A message, method or unit with a name of its own.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Key {
    Method(u32),
    /// A message, or a unit outside of messages, as [`kind_of`] returns it.
    Message(Message),
}

impl DurationTable {
    /// Adds a recording's main thread. Calls that did not end, or whose start was overwritten, do not count.
    /// `file` is used in messages only.
    ///
    /// # Errors
    /// If the recording cannot be read any further.
    pub fn add(
        &mut self,
        file: &Path,
        recording: &Recording<dyn Source + '_>,
        map: &MethodMap,
    ) -> Result<Vec<Warning>, ExportError> {
        let (names, mut warnings) = names_of(file, recording, map);
        self.recordings += 1;
        let placed = ExportError::reading(file);
        let facts = Facts::of(recording).map_err(placed)?;
        let mut found: HashMap<Key, Durations> = HashMap::new();
        let survey = facts.survey(|change, _| {
            let Change::Closed { open, payload, until, by } = *change else { return };
            let key = match payload {
                Some(Payload::Message(message)) => Key::Message(kind_of(*message)),
                _ if is_message(open.key) => Key::Message(Message::default()),
                _ if ids::is_method(open.key) => Key::Method(open.key),
                _ => return,
            };
            if !open.before && by != EndedBy::Unrecorded {
                found.entry(key).or_default().add(until.saturating_sub(open.begun), &mut self.draw);
            }
        });
        let survey = survey.map_err(placed)?;
        warnings.extend(Warning::of_skipped(file, &facts.all_skipped(&survey)));
        self.merge(found, &names, recording);
        Ok(warnings)
    }

    fn merge(
        &mut self,
        found: HashMap<Key, Durations>,
        names: &Names<'_>,
        recording: &Recording<dyn Source + '_>,
    ) {
        let name_of = |key: Key| match key {
            Key::Method(id) => (Kind::Method, names.method(id).into_owned()),
            // A message that is entered and left like a method has no other name.
            Key::Message(message) if message == Message::default() => {
                (Kind::Message, names.method(ids::DISPATCH).into_owned())
            }
            Key::Message(message) => {
                let kind = if message.is_queued() { Kind::Message } else { Kind::Unit };
                (kind, message_name(recording.texts(), &message))
            }
        };
        let mut named: Vec<_> = found.into_iter().map(|(key, samples)| (name_of(key), samples)).collect();
        // The order of a hash table must not affect the sample.
        named.sort_by(|a, b| a.0.cmp(&b.0));
        for (name, samples) in named {
            let into = self.by_name.entry(name).or_default();
            let Durations { count, total, kept } = samples;
            let whole = (into.count + count, into.total.saturating_add(total));
            for ns in kept {
                into.add(ns, &mut self.draw);
            }
            // Count durations that were not kept.
            (into.count, into.total) = whole;
        }
    }

    /// Finishes; call this when all recordings are read.
    #[must_use]
    pub fn finish(mut self) -> Self {
        for samples in self.by_name.values_mut() {
            samples.kept.sort_unstable();
        }
        self
    }

    /// All names.
    pub fn keys(&self) -> impl Iterator<Item = &(Kind, String)> {
        self.by_name.keys()
    }

    /// The durations of a name.
    #[must_use]
    pub fn get(&self, kind: Kind, name: &str) -> Option<&Durations> {
        self.by_name.get(&(kind, name.to_owned()))
    }
}

/// Returns the message without what does not make it a different one: its due time, and which handler and callback it has of
/// their classes.
fn kind_of(message: Message) -> Message {
    let Message { target, callback, what, .. } = message;
    let (what, handler) = match message.is_queued() {
        true if callback == TextId::default() => (what, 0),
        true => (0, 0),
        false => (0, Message::NOT_QUEUED),
    };
    Message { target, callback, what, handler, ..Message::default() }
}
