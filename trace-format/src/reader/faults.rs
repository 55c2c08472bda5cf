//! What was found damaged while a recording is opened.

use crate::error::Fault;

/// How many faults are kept one by one; the rest are only counted.
const MAX_FAULTS: usize = 32;

/// Faults met so far, bounded.
#[derive(Debug, Default)]
pub(super) struct Faults {
    pub(super) kept: Vec<Fault>,
    pub(super) more: u64,
}

impl Faults {
    pub(super) fn add(&mut self, fault: Fault) {
        if self.kept.len() < MAX_FAULTS { self.kept.push(fault) } else { self.more += 1 }
    }
}
