//! Which methods a build need not record: those that real runs show to be called often and to be over at once.
//!
//! The evidence is what recordings hold ([`Evidence`]): calls with their begin and end, the counts of calls that were so short
//! that they left nothing, and what the recorder switched off because it was too frequent. A method's mean is all its recorded
//! time over all its calls, and that also holds where time is coarse: a call that no tick falls into counts as 0, one that a
//! tick falls into as a whole tick, and on average that is its length.
//!
//! What ever lasted is kept ([`Limits::fits`]), and so is a method that waits itself: a plan must not hide a hang.

mod evidence;

pub use evidence::{Evidence, MethodName, Use};

use serde_json::{Value, json};

/// A call that takes longer than this counts as one that lasted, ns. A few ticks of the coarse clock: one tick says nothing
/// about a call.
pub const LASTS: u64 = 5_000_000;
/// A method of which one call took this long is kept, however many others did not, ns.
pub const TOO_LONG: u64 = 100_000_000;
/// One call in so many may last: the system takes a thread's processor away at any time.
pub const RARELY: u64 = 10_000;

/// What a method must be like to be left out.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Limits {
    /// Least calls.
    pub calls: u64,
    /// Least share of all calls, in 1,000,000.
    pub share: u64,
    /// Longest mean, ns.
    pub mean: u64,
    /// Most methods; those with the most calls are taken.
    pub methods: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { calls: 1_000, share: 50, mean: 20_000, methods: 2_000 }
    }
}

impl Limits {
    /// Whether a method with this use is left out, where there were `all` calls of all methods.
    #[must_use]
    pub fn fits(&self, used: &Use, all: u64) -> bool {
        used.calls >= self.calls.max(1)
            && u128::from(used.calls) * 1_000_000 >= u128::from(self.share) * u128::from(all)
            && used.mean() <= self.mean
            && used.longest < TOO_LONG
            && used.lasted <= used.calls / RARELY
            && !used.waits
    }
}

/// A method that is left out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// Which.
    pub method: MethodName,
    /// What is known of its calls.
    pub used: Use,
}

/// The methods that are left out, and what of all calls they are.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Plan {
    /// Those with the most calls first.
    pub rows: Vec<Row>,
    /// Calls of all methods in all recordings.
    pub calls: u64,
    /// Methods that were called.
    pub methods: usize,
    /// Methods that fit but whose names no rule can hold.
    pub unwritable: usize,
    /// Recordings that were read.
    pub recordings: u64,
}

impl Plan {
    /// The plan for what was found.
    #[must_use]
    pub fn of(evidence: &Evidence, limits: &Limits) -> Self {
        let calls = evidence.calls();
        let fitting = evidence.methods().filter(|(_, used)| limits.fits(used, calls));
        let (writable, others): (Vec<_>, Vec<_>) = fitting.partition(|(method, _)| method.fits_a_rule());
        let mut rows: Vec<Row> =
            writable.into_iter().map(|(method, used)| Row { method: method.clone(), used: *used }).collect();
        rows.sort_by(|a, b| b.used.calls.cmp(&a.used.calls).then_with(|| a.method.cmp(&b.method)));
        rows.truncate(limits.methods);
        let (methods, recordings) = (evidence.methods().count(), evidence.recordings);
        Self { rows, calls, methods, unwritable: others.len(), recordings }
    }

    /// Calls of the methods that are left out.
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

/// `part` of `all` in percent; 0 of nothing.
#[must_use]
pub fn percent(part: u64, all: u64) -> f64 {
    if all == 0 { 0.0 } else { part as f64 * 100.0 / all as f64 }
}

#[cfg(test)]
mod tests;
