//! Counts what could not be read or exceeded a limit.

use std::collections::BTreeMap;
use std::fmt;

/// Counts of what could not be read or exceeded a limit, by kind.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Skipped(BTreeMap<&'static str, u64>);

impl Skipped {
    pub(super) fn add(&mut self, what: &'static str, count: u64) {
        if count > 0 {
            let sum = self.0.entry(what).or_default();
            *sum = sum.saturating_add(count);
        }
    }

    /// The sum of all counts.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.values().fold(0, |sum, count| sum.saturating_add(*count))
    }
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (what, count)) in self.0.iter().enumerate() {
            write!(f, "{}{what} {count}", if i > 0 { ", " } else { "" })?;
        }
        Ok(())
    }
}
