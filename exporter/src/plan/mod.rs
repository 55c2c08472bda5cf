//! Plans which methods a build need not record: those that are called often in real runs and return
//! immediately.
//!
//! The evidence comes from recordings ([`RecordedCalls`]): calls with their start and end, the counts of calls too
//! short to leave a slice, and methods that the recorder switched off because they were too frequent. A
//! method's mean is its total recorded time over its number of calls. This also holds for coarse time: a call
//! without a tick inside counts as 0, one with a tick as a whole tick, and on average that is its duration.
//!
//! Methods that ever took long are kept ([`Thresholds::fits`]), as are methods that wait themselves: a plan must
//! not hide a hang.

mod calls;

pub use calls::{CallStats, MethodName, RecordedCalls};

use serde_json::{Value, json};

/// Duration from which a call counts as long, ns. A few ticks of the coarse clock, since one tick is no measure
/// of a call.
pub const LONG_CALL: u64 = 5_000_000;
/// Duration of a single call from which a method is always kept, ns.
pub const MAX_CALL: u64 = 100_000_000;
/// One call in this many may be long: any thread can lose its CPU.
pub const CALLS_PER_LONG_CALL: u64 = 10_000;

/// The conditions for excluding a method.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Thresholds {
    /// Minimum number of calls.
    pub calls: u64,
    /// Minimum share of all calls, in millionths.
    pub share: u64,
    /// Maximum mean duration, ns.
    pub mean: u64,
    /// Maximum number of methods; those with the most calls are chosen.
    pub methods: usize,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self { calls: 1_000, share: 50, mean: 20_000, methods: 2_000 }
    }
}

impl Thresholds {
    /// Whether to exclude a method with these calls; `all` is the number of calls of all methods.
    #[must_use]
    pub fn fits(&self, used: &CallStats, all: u64) -> bool {
        used.calls >= self.calls.max(1)
            && u128::from(used.calls) * 1_000_000 >= u128::from(self.share) * u128::from(all)
            && used.mean() <= self.mean
            && used.longest < MAX_CALL
            && used.long_calls <= used.calls / CALLS_PER_LONG_CALL
            && !used.waits
    }
}

/// An excluded method.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// The method.
    pub method: MethodName,
    /// Its calls.
    pub used: CallStats,
}

/// The excluded methods, and their share of all calls.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct Plan {
    /// The excluded methods, most calls first.
    pub rows: Vec<Row>,
    /// Number of calls of all methods in all recordings.
    pub calls: u64,
    /// Number of methods that were called.
    pub methods: usize,
    /// Number of methods that fit, but whose names a rule cannot express.
    pub unwritable: usize,
    /// Number of recordings read.
    pub recordings: u64,
}

impl Plan {
    /// Plans from the evidence.
    #[must_use]
    pub fn of(recorded: &RecordedCalls, limits: &Thresholds) -> Self {
        let calls = recorded.calls();
        let fitting = recorded.methods().filter(|(_, used)| limits.fits(used, calls));
        let (writable, others): (Vec<_>, Vec<_>) = fitting.partition(|(method, _)| method.fits_a_rule());
        let mut rows: Vec<Row> =
            writable.into_iter().map(|(method, used)| Row { method: method.clone(), used: *used }).collect();
        rows.sort_by(|a, b| b.used.calls.cmp(&a.used.calls).then_with(|| a.method.cmp(&b.method)));
        rows.truncate(limits.methods);
        let (methods, recordings) = (recorded.methods().count(), recorded.recordings);
        Self { rows, calls, methods, unwritable: others.len(), recordings }
    }

    /// Number of calls of the excluded methods.
    #[must_use]
    pub fn left_out(&self) -> u64 {
        self.rows.iter().fold(0, |sum, row| sum.saturating_add(row.used.calls))
    }

    /// As JSON.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let row = |row: &Row| {
            json!({"class": row.method.class, "method": row.method.method, "descriptor": row.method.descriptor,
                "rule": row.method.rule(), "calls": row.used.calls, "share_percent": percent(row.used.calls, self.calls),
                "mean_ns": row.used.mean(), "longest_ns": row.used.longest, "estimated_calls": row.used.estimated})
        };
        json!({"recordings": self.recordings, "calls": self.calls, "methods": self.methods,
            "left_out_calls": self.left_out(), "left_out_percent": percent(self.left_out(), self.calls),
            "unwritable": self.unwritable, "rows": self.rows.iter().map(row).collect::<Vec<_>>()})
    }
}

/// `part` of `all` in percent; 0 if `all` is 0.
#[must_use]
pub fn percent(part: u64, all: u64) -> f64 {
    if all == 0 { 0.0 } else { part as f64 * 100.0 / all as f64 }
}

#[cfg(test)]
mod tests;
