//! What of a recording could not be read, or was too much to keep.

use std::collections::BTreeMap;
use std::fmt;

/// What could not be read, or was too much to keep, by what it is.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Skipped(BTreeMap<&'static str, u64>);

impl Skipped {
    pub(super) fn add(&mut self, what: &'static str, count: u64) {
        if count > 0 {
            let sum = self.0.entry(what).or_default();
            *sum = sum.saturating_add(count);
        }
    }

    /// Replaces the count.
    pub(super) fn set(&mut self, what: &'static str, count: u64) {
        self.0.remove(what);
        self.add(what, count);
    }

    /// All of it together.
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
