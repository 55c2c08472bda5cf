//! Applies the rules at a message's begin and end, in the required order.

use std::sync::Arc;

use super::history::History;
use super::pairing::{Begun, Ended, Pairing, Tag};
use super::slow::SlowMessage;

/// The watched thread's messages: pairing, then history, then the rule for slow ones.
///
/// The embedder writes the begin into the record *before* [`Messages::begin`] and the end *before* [`Messages::end`], on
/// every API level: a slice that is taken because of their results then has both bounds in it (Matrix's lacks the
/// begin from API 24 on, its issue #840).
pub struct Messages {
    pairing: Pairing,
    /// Any thread may read it through its own reference; `Messages` itself belongs to the watched thread.
    pub history: Arc<History>,
    /// Any thread may change it through its own reference.
    pub slow: Arc<SlowMessage>,
}

impl Messages {
    /// Keeps the last `history` messages.
    #[must_use]
    pub fn new(history: usize) -> Self {
        Messages {
            pairing: Pairing::default(),
            history: Arc::new(History::new(history)),
            slow: Arc::new(SlowMessage::default()),
        }
    }

    /// A message begins; see [`Pairing::begin`]. The watching thread then watches this message.
    #[inline]
    pub fn begin(&mut self, at_ns: u64, tag: Tag, stack: usize) -> Begun {
        let begun = self.pairing.begin(at_ns, tag, stack);
        self.history.begin(at_ns, tag, begun.nested);
        begun
    }

    /// A message ends; see [`Pairing::end`]. Returns its cost in milliseconds too if it was slow. A message around a nested
    /// loop is slow by its own time.
    #[inline]
    pub fn end(&mut self, at_ns: u64, tag: Option<Tag>) -> Option<(Ended, Option<u64>)> {
        let ended = self.pairing.end(at_ns, tag)?;
        Some(self.ended(ended))
    }

    /// Ends the message that [`Pairing::fits`] found; as [`Messages::end`].
    #[inline]
    pub fn end_of(&mut self, at_ns: u64, nested: u8) -> Option<(Ended, Option<u64>)> {
        let ended = self.pairing.end_of(at_ns, nested)?;
        Some(self.ended(ended))
    }

    #[inline]
    fn ended(&self, ended: Ended) -> (Ended, Option<u64>) {
        self.history.end(&ended);
        (ended, self.slow.cost_ms(ended.own_ns))
    }

    /// The pairing, to read.
    pub fn pairing(&mut self) -> &mut Pairing {
        &mut self.pairing
    }
}
