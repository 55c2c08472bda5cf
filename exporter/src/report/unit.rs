//! What main was in: a message, or a stretch outside of messages.

use super::sections::StackSample;
use crate::model::{UnitKind, called_by_the_queue, is_polling};

/// A unit of main's work.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unit {
    /// What it is.
    pub kind: UnitKind,
    /// Its name: `TARGET: CALLBACK` of what the recorder saw begin, else the outermost call.
    pub name: String,
    /// When it began, BOOTTIME ns.
    pub since: u64,
    /// Whether it began before that: words of that time were overwritten.
    pub began_before: bool,
}

impl Unit {
    /// The name, if it is a message of main's queue.
    #[must_use]
    pub fn message(&self) -> Option<&str> {
        (self.kind == UnitKind::Message).then_some(&self.name)
    }

    /// The name on a line of the page, under a label that says whether it is a message.
    pub(super) fn line(&self) -> String {
        match self.kind {
            UnitKind::Message => format!("in message  {}", self.name),
            _ => format!("in no message: {}", self.name),
        }
    }

    /// What samples show that main was in, where nothing was recorded: what most of them have outermost, as far as they are not of
    /// the poll.
    pub(super) fn sampled<'s>(samples: impl Iterator<Item = &'s StackSample>) -> Option<Self> {
        let mut found: Vec<(&str, u64, u64)> = Vec::new();
        for sample in samples {
            let room = found.len() < 64;
            let Some(innermost) = sample.frames.first().filter(|line| !is_polling(line)) else { continue };
            let name = called_by_the_queue(sample.frames.iter().map(String::as_str)).unwrap_or(innermost);
            match found.iter_mut().find(|(known, ..)| *known == name) {
                Some((_, count, _)) => *count += 1,
                // A handful of names is all that one stretch has.
                None if room => found.push((name, 1, sample.at)),
                None => {}
            }
        }
        let (name, _, since) =
            found.into_iter().max_by_key(|(_, count, at)| (*count, std::cmp::Reverse(*at)))?;
        Some(Self {
            kind: UnitKind::Sampled,
            name: crate::model::clean(name).into_owned(),
            since,
            began_before: false,
        })
    }
}
