//! What main was in: a message, or a unit outside of messages.

use answers::text::clean;
use serde::Serialize;

use super::unit::{UnitKind, called_by_the_queue, is_polling};
use super::{Sample, Sections};

/// Maximum distance of a sample from a signal to show what main did at the signal, ns.
const MAX_SAMPLE_DISTANCE: u64 = 1_000_000_000;

/// A message of main, or its work outside messages.
// Also the report's JSON: the comments stand in docs/report-schema.json.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Unit {
    /// A message of main's queue; a recorded input event, idle handler or the like outside messages; main's outermost recorded
    /// call outside messages; or, without recorded data, the frame that most samples of main's stack show.
    #[cfg_attr(test, schemars(with = "String", extend("enum" = ["message", "not-queued", "call", "sampled"])))]
    pub kind: UnitKind,
    /// TARGET: CALLBACK if its start was recorded, else the outermost call.
    pub name: String,
    /// The time at which it began.
    #[serde(rename = "since_ns")]
    pub since: u64,
    /// True if it began earlier, because older events of the thread were overwritten.
    pub began_before: bool,
}

impl Unit {
    /// The name, if it is a message of main's queue.
    #[must_use]
    pub fn message(&self) -> Option<&str> {
        (self.kind == UnitKind::Message).then_some(&self.name)
    }

    /// A line of the page, labelled as a message or not.
    pub(crate) fn line(&self) -> String {
        match self.kind {
            UnitKind::Message => format!("in message  {}", self.name),
            _ => format!("in no message: {}", self.name),
        }
    }

    /// What samples show main in where nothing was recorded: their most frequent outermost call outside of the
    /// poll.
    pub(crate) fn of_samples<'s>(samples: impl Iterator<Item = Sample<'s>>) -> Option<Self> {
        Self::sampled(samples.map(|sample| (sample.at, sample.frames())))
    }

    /// What main was in, from the sample or snapshot closest to `at`, unless that is the poll.
    pub(crate) fn seen_at(sections: &Sections, at: u64) -> Option<Self> {
        let near = at.saturating_sub(MAX_SAMPLE_DISTANCE)..=at.saturating_add(MAX_SAMPLE_DISTANCE);
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

    /// The unit from stacks and their times, each innermost frame first.
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
                // A range has only a handful of names.
                None if room => found.push((name, 1, at)),
                None => {}
            }
        }
        let (name, _, since) =
            found.into_iter().max_by_key(|(_, count, at)| (*count, std::cmp::Reverse(*at)))?;
        Some(Self { kind: UnitKind::Sampled, name: clean(name).into_owned(), since, began_before: false })
    }
}
