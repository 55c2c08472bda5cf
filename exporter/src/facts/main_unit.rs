//! What main was in: a message, or a stretch outside of messages.

use super::unit::{UnitKind, called_by_the_queue, is_polling};
use super::{Sample, Sections};
use crate::text::clean;

/// A sample so long before or after a signal shows what main did at the signal, ns.
const NEAR: u64 = 1_000_000_000;

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
    pub(crate) fn line(&self) -> String {
        match self.kind {
            UnitKind::Message => format!("in message  {}", self.name),
            _ => format!("in no message: {}", self.name),
        }
    }

    /// What samples show that main was in, where nothing was recorded: what most of them have outermost, as far as they are not of
    /// the poll.
    pub(crate) fn of_samples<'s>(samples: impl Iterator<Item = Sample<'s>>) -> Option<Self> {
        Self::sampled(samples.map(|sample| (sample.at, sample.frames())))
    }

    /// What the sample or snapshot of main's stack that was taken next to `at` shows that it was in, if that is not the poll.
    pub(crate) fn seen_at(sections: &Sections, at: u64) -> Option<Self> {
        let near = at.saturating_sub(NEAR)..=at.saturating_add(NEAR);
        let snapshots = sections.snapshots.iter().filter(|s| near.contains(&s.at) && s.has_stack());
        let snapshot = snapshots.min_by_key(|s| s.at.abs_diff(at));
        let sample = sections.samples.within(*near.start(), *near.end()).min_by_key(|s| s.at.abs_diff(at));
        match (snapshot, sample) {
            (Some(snapshot), sample)
                if sample.is_none_or(|sample| snapshot.at.abs_diff(at) <= sample.at.abs_diff(at)) =>
            {
                Self::sampled(std::iter::once((snapshot.at, snapshot.frames())))
            }
            (_, sample) => Self::of_samples(sample.into_iter()),
        }
    }

    /// Of stacks and their times, each innermost frame first.
    fn sampled<'s, F>(stacks: impl Iterator<Item = (u64, F)>) -> Option<Self>
    where
        F: Iterator<Item = &'s str> + Clone,
    {
        let mut found: Vec<(&str, u64, u64)> = Vec::new();
        for (at, frames) in stacks {
            let room = found.len() < 64;
            let Some(innermost) = frames.clone().next().filter(|line| !is_polling(line)) else { continue };
            let name = called_by_the_queue(frames).unwrap_or(innermost);
            match found.iter_mut().find(|(known, ..)| *known == name) {
                Some((_, count, _)) => *count += 1,
                // A handful of names is all that one stretch has.
                None if room => found.push((name, 1, at)),
                None => {}
            }
        }
        let (name, _, since) =
            found.into_iter().max_by_key(|(_, count, at)| (*count, std::cmp::Reverse(*at)))?;
        Some(Self { kind: UnitKind::Sampled, name: clean(name).into_owned(), since, began_before: false })
    }
}
