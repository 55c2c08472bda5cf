//! Compares two sets of recordings by method and message of the main thread: counts, medians, and whether a
//! difference is more than chance.
//!
//! Rows are matched by name, since two builds number their methods differently. Each name keeps a uniform
//! random sample of at most [`MAX_SAMPLES`] durations. The test is Mann and Whitney's ([`mann_whitney`]);
//! Benjamini and Hochberg's procedure corrects for thousands of names: `q` is the share of false alarms among
//! the rows up to this one.

mod durations;
mod rank;

pub use durations::{DurationTable, Kind, MAX_SAMPLES};
pub use rank::mann_whitney;

use std::collections::BTreeSet;

use serde_json::{Value, json};

/// Number of calls that both sides need before a difference can fail a check.
pub const MIN_CALLS: u64 = 8;
/// The `q` below which a difference counts as real.
pub const ALPHA: f64 = 0.05;

/// A method or message on both sides. Durations are ns.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// The kind of row.
    pub kind: Kind,
    /// Its name.
    pub name: String,
    /// Number of runs, before and after.
    pub count: [u64; 2],
    /// Total duration.
    pub total: [u64; 2],
    /// Median duration, if it ran at all.
    pub median: [Option<u64>; 2],
    /// The probability of such a difference by chance.
    pub p: Option<f64>,
    /// The same, corrected for the whole table; see the module.
    pub q: Option<f64>,
}

impl Row {
    /// The growth of the median in percent.
    #[must_use]
    pub fn change_percent(&self) -> Option<f64> {
        match self.median {
            [Some(before), Some(after)] if before > 0 => {
                Some((after as f64 - before as f64) * 100.0 / before as f64)
            }
            _ => None,
        }
    }

    /// Whether it became slower by more than `percent` and `least` ns, beyond chance.
    #[must_use]
    pub fn is_slower(&self, percent: f64, least: u64) -> bool {
        let [Some(before), Some(after)] = self.median else { return false };
        self.count.iter().all(|n| *n >= MIN_CALLS)
            && self.q.is_some_and(|q| q < ALPHA)
            && after.saturating_sub(before) >= least.max(1)
            && after as f64 > before as f64 * (1.0 + percent / 100.0)
    }

    /// The time that the change adds or removes, ns, at the rate of the second set.
    fn weight(&self) -> u128 {
        let of = |i: usize| u128::from(self.median[i].unwrap_or(0));
        of(0).abs_diff(of(1)) * u128::from(self.count[0].max(self.count[1]))
    }

    /// As JSON.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({"kind": self.kind.word(), "name": self.name, "count": self.count, "total_ns": self.total,
            "median_ns": self.median, "change_percent": self.change_percent(), "p": self.p, "q": self.q})
    }
}

/// The rows of both sides, largest change first.
#[must_use]
pub fn compare(before: &DurationTable, after: &DurationTable) -> Vec<Row> {
    let names: BTreeSet<_> = before.keys().chain(after.keys()).collect();
    let mut rows: Vec<Row> = names
        .into_iter()
        .map(|(kind, name)| {
            let sides = [before.get(*kind, name), after.get(*kind, name)];
            let p = match sides {
                [Some(a), Some(b)] => mann_whitney(a.sorted(), b.sorted()),
                _ => None,
            };
            Row {
                kind: *kind,
                name: name.clone(),
                count: sides.map(|s| s.map_or(0, |s| s.count)),
                total: sides.map(|s| s.map_or(0, |s| s.total)),
                median: sides.map(|s| s.and_then(|s| s.median())),
                p,
                q: None,
            }
        })
        .collect();
    correct(&mut rows);
    rows.sort_by(|a, b| b.weight().cmp(&a.weight()).then_with(|| a.name.cmp(&b.name)));
    rows
}

/// Benjamini and Hochberg, J. R. Stat. Soc. B 57 (1995), 289.
fn correct(rows: &mut [Row]) {
    let mut tested: Vec<(f64, usize)> =
        rows.iter().enumerate().filter_map(|(i, row)| Some((row.p?, i))).collect();
    tested.sort_by(|a, b| a.0.total_cmp(&b.0));
    let all = tested.len() as f64;
    let mut least = 1.0_f64;
    for (rank, (p, i)) in tested.iter().enumerate().rev() {
        least = least.min(p * all / (rank + 1) as f64);
        rows[*i].q = Some(least);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, p: f64) -> Row {
        Row {
            kind: Kind::Method,
            name: name.to_owned(),
            count: [10; 2],
            total: [0; 2],
            median: [Some(100), Some(150)],
            p: Some(p),
            q: None,
        }
    }

    #[test]
    fn many_tests_are_corrected_for_as_in_the_paper() {
        // The fifteen p values of the paper's example; four are significant at 0.05.
        let p = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719,
            0.6528, 0.7590, 1.0,
        ];
        let mut rows: Vec<Row> = p.iter().rev().map(|p| row("x", *p)).collect();
        correct(&mut rows);
        assert_eq!(rows.iter().filter(|r| r.q.unwrap() <= 0.05).count(), 4);
        assert!((rows[14].q.unwrap() - 0.0015).abs() < 1e-12);
    }

    #[test]
    fn slower_is_more_than_the_threshold_and_no_chance() {
        let slow = Row { q: Some(0.01), ..row("a", 0.01) };
        assert!(slow.is_slower(49.0, 50) && !slow.is_slower(50.0, 50) && !slow.is_slower(49.0, 51));
        assert!(!Row { q: Some(0.2), ..slow.clone() }.is_slower(10.0, 1));
        assert!(!Row { count: [7, 10], ..slow.clone() }.is_slower(10.0, 1));
        assert!(!Row { median: [None, Some(9)], ..slow.clone() }.is_slower(10.0, 1));
        assert_eq!(slow.change_percent(), Some(50.0));
    }
}
