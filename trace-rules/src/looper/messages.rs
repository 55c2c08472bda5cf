//! What happens at a message's bounds, in the order in which it has to.

use std::sync::Arc;

use super::history::History;
use super::pairing::{Begun, Ended, Pairing, Tag};
use super::slow::SlowMessage;

/// The watched thread's messages: pairing, then history, then the rule for slow ones.
///
/// The embedder writes the begin into the record *before* [`Messages::begin`] and the end *before* [`Messages::end`], on
/// every API level: a slice that is taken because of what these return then has both bounds in it (Matrix's lacks the
/// begin from API 24 on, its issue #840).
pub struct Messages {
    pairing: Pairing,
    /// Readable by any thread that keeps a reference of its own: one to this whole is the watched thread's alone.
    pub history: Arc<History>,
    /// Changeable by any thread, as well.
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

    /// A message begins; see [`Pairing::begin`]. What the watching thread is to look at is the message that began now.
    #[inline]
    pub fn begin(&mut self, at_ns: u64, tag: Tag, stack: usize) -> Begun {
        let begun = self.pairing.begin(at_ns, tag, stack);
        self.history.begin(at_ns, tag, begun.nested);
        begun
    }

    /// A message ends; see [`Pairing::end`]. With it, its cost in milliseconds if it was slow. A message around a nested
    /// loop is slow by its own time.
    #[inline]
    pub fn end(&mut self, at_ns: u64, tag: Option<Tag>) -> Option<(Ended, Option<u64>)> {
        let ended = self.pairing.end(at_ns, tag)?;
        Some(self.ended(ended))
    }

    /// The message ends that [`Pairing::fits`] found; as [`Messages::end`].
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

    /// The pairing, to read and to set observers.
    pub fn pairing(&mut self) -> &mut Pairing {
        &mut self.pairing
    }
}
