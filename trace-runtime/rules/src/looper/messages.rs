//! Applies the rules at a message's begin and end, in the required order.

use std::sync::Arc;

use super::history::History;
use super::pairing::{Begun, Ended, Pairing, Tag};

/// The watched thread's messages: pairing, then history.
///
/// The embedder writes the begin into the record *before* [`Messages::begin`] and the end *before* [`Messages::end`], on
/// every API level: a slice that is taken because of their results then has both bounds in it (Matrix's lacks the
/// begin from API 24 on, its issue #840).
pub struct Messages {
    pairing: Pairing,
    /// Any thread may read it through its own reference; `Messages` itself belongs to the watched thread.
    pub history: Arc<History>,
}

impl Messages {
    /// Keeps the last `history` messages.
    #[must_use]
    pub fn new(history: usize) -> Self {
        Messages { pairing: Pairing::default(), history: Arc::new(History::new(history)) }
    }

    /// A message begins; see [`Pairing::begin`]. The watching thread then watches this message.
    #[inline]
    pub fn begin(&mut self, at_ns: u64, tag: Tag, stack: usize) -> Begun {
        let begun = self.pairing.begin(at_ns, tag, stack);
        self.history.begin(at_ns, tag, begun.nested);
        begun
    }

    /// A message ends; see [`Pairing::end`].
    #[inline]
    pub fn end(&mut self, at_ns: u64, tag: Option<Tag>) -> Option<Ended> {
        self.pairing.end(at_ns, tag).inspect(|ended| self.history.end(ended))
    }

    /// Ends the message that [`Pairing::fits`] found; as [`Messages::end`].
    #[inline]
    pub fn end_of(&mut self, at_ns: u64, nested: u8) -> Option<Ended> {
        self.pairing.end_of(at_ns, nested).inspect(|ended| self.history.end(ended))
    }

    /// The pairing, to read.
    pub fn pairing(&mut self) -> &mut Pairing {
        &mut self.pairing
    }
}
