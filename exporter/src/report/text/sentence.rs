//! The answer in a sentence, for a notification or a list.

use answers::answer::CauseId;
use answers::text::clean;
use answers::words::rounded;

use super::super::findings::Report;
use super::block::{main_wait, waits};
use super::names::Names;
use crate::text::short;

/// Maximum length of the part after the colon, in characters.
const MAX_WHAT: usize = 200;

impl Report {
    /// How long main was blocked, and by what: `("Main was blocked for 5.2 s", "Cart.total waits for a lock held by
    /// SyncWorker")`. `None` if it was not.
    #[must_use]
    pub fn sentence(&self) -> Option<(String, String)> {
        let span = self.answer.span?;
        let least = if span.at_least { "at least " } else { "" };
        let took = rounded(span.duration);
        let was = if span.ended { "was" } else { "has been" };
        let blocked = format!("Main {was} blocked for {least}{took}");
        Some((blocked, short(&self.reason(), MAX_WHAT).into_owned()))
    }

    /// What main was in, in a few words.
    fn reason(&self) -> String {
        let answer = &self.answer;
        let names = &mut Names::of(&self.process);
        let root = answer.root.as_ref().filter(|root| Some(&root.name) != answer.message.as_ref());
        let root = root.map(|root| names.bare(&clean(&root.name)));
        let subject = root.clone().unwrap_or_else(|| answer.thread.name.clone());
        let wait = self.hang.as_ref().and_then(main_wait);
        let cause = answer.cause.id.name();
        match answer.cause.id {
            CauseId::Deadlock if !answer.cycle.is_empty() => {
                format!("deadlock of {}", clean(&answer.cycle.join(" and ")))
            }
            CauseId::LockWait => match answer.owners.first() {
                Some(owner) => format!("{subject} waits for a lock held by {}", clean(&owner.thread)),
                None => format!("{subject} waits for a lock"),
            },
            CauseId::Unknown => match (wait, &root, &answer.message) {
                (Some(wait), ..) => format!("{subject} {}", names.bare(&waits(wait))),
                (None, Some(root), _) => format!("in {root}"),
                (None, None, Some(message)) => format!("in the message {}", names.message(&clean(message))),
                (None, None, None) => "nothing recorded says why".to_owned(),
            },
            _ => match (&root, &answer.mostly) {
                (Some(root), Some(mostly)) => {
                    format!("{cause} in {root}, mostly {}", names.bare(&clean(&mostly.site.name)))
                }
                (Some(root), None) => format!("{cause} in {root}"),
                (None, _) => names.bare(&clean(answer.finding())),
            },
        }
    }
}
