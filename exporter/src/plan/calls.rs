//! Collects each method's calls from recordings.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use trace_format::event::Event;
use trace_format::{Recording, Source, ids};

use super::LONG_CALL;
use crate::facts::{Change, Facts, Overhead, Payload, Spans};
use crate::names::names_of;
use crate::{ExportError, Method, MethodMap, Warning};

/// A method by name: ids differ between builds.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct MethodName {
    /// The class, with dots.
    pub class: String,
    /// The method's name.
    pub method: String,
    /// The descriptor with its parentheses; empty if the map has none.
    pub descriptor: String,
}

impl MethodName {
    fn of(method: Method<'_>) -> Self {
        let Method { class, method, descriptor } = method;
        Self { class: class.to_owned(), method: method.to_owned(), descriptor: descriptor.to_owned() }
    }

    /// Whether a line of the instrumenter's rules can name exactly this method: there, a space ends a name, `*`
    /// is a wildcard, and `(` starts a descriptor.
    pub(super) fn fits_a_rule(&self) -> bool {
        let fits =
            |name: &str| !name.contains(|c: char| c.is_whitespace() || c.is_control() || "*#".contains(c));
        fits(&self.class)
            && fits(&self.method)
            && fits(&self.descriptor)
            && !self.method.contains(['(', '.', '/'])
    }

    /// The rule that excludes it.
    #[must_use]
    pub fn rule(&self) -> String {
        format!("exclude class-only {} method {}{}", self.class, self.method, self.descriptor)
    }
}

/// Time for which a method that is switched off counts as called as often as before, ns.
const OFF_CREDIT: u64 = 1_000_000_000;

/// The calls of a method.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct CallStats {
    /// Number of calls.
    pub calls: u64,
    /// The part of them that is known only from a sample.
    pub estimated: u64,
    /// Total duration of the recorded calls, with everything that they called, ns.
    pub total: u64,
    /// Longest call, ns.
    pub longest: u64,
    /// Number of calls longer than [`LONG_CALL`].
    pub long_calls: u64,
    /// Whether a call itself was seen to wait.
    pub waits: bool,
}

impl CallStats {
    /// Mean duration of all calls, ns.
    #[must_use]
    pub fn mean(&self) -> u64 {
        self.total.checked_div(self.calls).unwrap_or(0)
    }

    fn add(&mut self, duration: u64) {
        let long_calls = u64::from(duration > LONG_CALL);
        self.join(&Self { calls: 1, total: duration, longest: duration, long_calls, ..Self::default() });
    }

    fn estimate(&mut self, calls: u64) {
        self.join(&Self { calls, estimated: calls, ..Self::default() });
    }

    fn join(&mut self, other: &Self) {
        self.calls = self.calls.saturating_add(other.calls);
        self.estimated = self.estimated.saturating_add(other.estimated);
        self.total = self.total.saturating_add(other.total);
        self.longest = self.longest.max(other.longest);
        self.long_calls = self.long_calls.saturating_add(other.long_calls);
        self.waits |= other.waits;
    }
}

/// The calls of each method in a set of recordings.
#[derive(Clone, Default, Debug)]
pub struct RecordedCalls {
    by_name: BTreeMap<MethodName, CallStats>,
    /// Calls that were counted, but not by method.
    others: u64,
    /// Number of recordings read.
    pub recordings: u64,
}

/// The calls in one recording, by method id.
#[derive(Default)]
struct Found {
    by_id: HashMap<u32, CallStats>,
    others: u64,
    /// Time of the last event.
    last: u64,
}

impl RecordedCalls {
    /// Adds all threads of a recording. `file` is used in messages only.
    ///
    /// # Errors
    /// If the recording cannot be read any further.
    pub fn add(
        &mut self,
        file: &Path,
        recording: &Recording<dyn Source + '_>,
        map: &MethodMap,
    ) -> Result<Vec<Warning>, ExportError> {
        let (_, mut warnings) = names_of(file, recording, map);
        // Rules name methods: without names there is nothing to plan.
        if let Some(Warning::NoMap { .. } | Warning::MapOfOtherBuild { .. }) = warnings.first() {
            warnings.truncate(1);
            return Ok(warnings);
        }
        self.recordings += 1;
        let failed = ExportError::reading(file);
        let mut found = Found { last: recording.header().last_alive, ..Found::default() };
        let facts = Facts::of(recording).map_err(failed)?;
        warnings.extend(Warning::of_skipped(file, facts.skipped()));
        for thread in recording.threads() {
            found.thread(facts.spans(thread)).map_err(failed)?;
        }
        found.switched_off(&facts.recorder.overhead);
        self.others = self.others.saturating_add(found.others);
        for (id, used) in found.by_id {
            match map.get(id) {
                Some(method) => self.by_name.entry(MethodName::of(method)).or_default().join(&used),
                None => self.others = self.others.saturating_add(used.calls),
            }
        }
        Ok(warnings)
    }

    /// All methods that were called, by name.
    pub fn methods(&self) -> impl Iterator<Item = (&MethodName, &CallStats)> {
        self.by_name.iter()
    }

    /// Number of calls of all methods, including those with unknown methods.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.by_name.values().fold(self.others, |sum, used| sum.saturating_add(used.calls))
    }
}

impl Found {
    fn of(&mut self, id: u32) -> &mut CallStats {
        self.by_id.entry(id).or_default()
    }

    fn thread(&mut self, mut spans: Spans<'_>) -> Result<(), trace_format::ReadError> {
        let mut now = 0;
        while let Some((change, open)) = spans.change()? {
            now = change.time().unwrap_or(now);
            match change {
                // Of a call that began before the record, or whose end was lost, the part that is known counts.
                Change::Closed { open, until, .. } if ids::is_method(open.key) => {
                    self.of(open.key).add(until.saturating_sub(open.begun));
                }
                Change::Opened { payload: Some(Payload::Wait(_)), .. } => {
                    if let Some(id) = open.innermost_method() {
                        self.of(id).waits = true;
                    }
                }
                Change::Event { event: Event::Folded(folded), .. } => self.folded(folded.calls, &folded.hot),
                _ => {}
            }
        }
        // What a hung thread is in never ends.
        for open in spans.open().frames().iter().filter(|open| ids::is_method(open.key)) {
            self.of(open.key).add(now.saturating_sub(open.begun));
        }
        self.last = self.last.max(now);
        Ok(())
    }

    /// Calls that left no slice, and the share of each of these methods, in millionths.
    fn folded(&mut self, calls: u64, hot: &[(u32, u32)]) {
        let mut left = calls;
        for &(id, share) in hot.iter().filter(|(id, _)| ids::is_method(*id)) {
            let part = (u128::from(calls) * u128::from(share) / 1_000_000) as u64;
            let part = part.min(left);
            left -= part;
            self.of(id).estimate(part);
        }
        self.others = self.others.saturating_add(left);
    }

    /// Methods that the recorder switched off: they continue to be called. The rate is known from before, which
    /// was a busy time, so it is applied for at most [`OFF_CREDIT`].
    fn switched_off(&mut self, overhead: &Overhead) {
        let mut off: HashMap<u32, (u64, u64)> = HashMap::new();
        let mut ended = Vec::new();
        for switched in overhead.switched.iter().filter(|switched| ids::is_method(switched.method)) {
            let (id, at) = (switched.method, switched.at);
            match switched.off {
                Some(rate) => {
                    off.entry(id).or_insert((at, rate));
                }
                None => ended.extend(off.remove(&id).map(|(since, rate)| (id, rate, since, at))),
            }
        }
        let last = self.last;
        ended.extend(off.into_iter().map(|(id, (since, rate))| (id, rate, since, last)));
        for (id, rate, since, until) in ended {
            let off = until.saturating_sub(since).min(OFF_CREDIT);
            let calls = u128::from(rate) * u128::from(off) / 1_000_000_000;
            // More than one call per nanosecond is not plausible.
            self.of(id).estimate(calls.min(u128::from(off)) as u64);
        }
    }
}
