//! The cost of recording according to the recorder's own measurements, and the methods that it switched off for
//! that reason.

use trace_format::sections::overhead::{Cost, Line, Switched};

/// Maximum number of lines kept.
const MAX_KEPT: usize = 8192;

/// The time that one measurement covers, ns (`trace-runtime/recorder/src/writing/overhead.rs`).
const WINDOW: u64 = 30_000_000;

/// All overhead measurements of a recording.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Overhead {
    /// The measured cost, by time.
    pub costs: Vec<Cost>,
    /// Methods switched off and on, by time.
    pub(crate) switched: Vec<Switched>,
}

impl Overhead {
    /// Parses the lines of a section; returns how many could not be read or exceeded the limit.
    pub(super) fn read(&mut self, text: &str) -> u64 {
        let mut skipped = 0;
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            match Line::parse(line) {
                Some(_) if self.costs.len() + self.switched.len() >= MAX_KEPT => skipped += 1,
                Some(Line::Cost(cost)) => self.costs.push(cost),
                Some(Line::Switched(switched)) => self.switched.push(switched),
                None => skipped += 1,
            }
        }
        skipped
    }

    /// Sorts the lines by time, once all are read.
    pub(super) fn sort(&mut self) {
        self.costs.sort_by_key(|cost| cost.at);
        self.switched.sort_by_key(|switched| switched.at);
    }

    /// The mean cost from `since` to `until`, percent of the threads' time. `None` if nothing was measured.
    ///
    /// A measurement at which methods were switched off was made because of its own window and says nothing of
    /// the time before it. Any other one stands for the time since the measurement before. The rest of the time
    /// was under the limit, or without events: it counts as no cost.
    #[must_use]
    pub fn percent(&self, since: u64, until: u64) -> Option<f64> {
        let (mut sum, mut before) = (0.0, since);
        for cost in &self.costs {
            let gap = cost.at.saturating_sub(before);
            let over = self.switched.iter().any(|switched| switched.at == cost.at && switched.off.is_some());
            sum += cost.percent.min(100.0) * (if over { gap.min(WINDOW) } else { gap }) as f64;
            before = before.max(cost.at);
        }
        let time = until.max(before).saturating_sub(since).max(1) as f64;
        (!self.costs.is_empty()).then(|| (sum / time * 1e4).round() / 1e4)
    }

    /// The highest cost measured.
    #[must_use]
    pub fn worst(&self) -> Option<Cost> {
        let worst = self.costs.iter().copied().max_by(|a, b| a.percent.total_cmp(&b.percent))?;
        Some(Cost { percent: worst.percent.min(100.0), ..worst })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_measurement_weighs_as_much_as_the_time_that_it_is_of() {
        let mut found = Overhead::default();
        let skipped = found
            .read("2000 cost 30.5 1000000 4.0\n5000 off 7 900000\n5000 cost 12 100 1.0\n9000 on 7\n\nx\n");
        found.sort();
        // 4 % of the first 1,000 ns, and 1 % of a window that begins before the measurement at 2,000.
        assert_eq!(found.percent(1000, 5000), Some(1.75));
        assert_eq!(found.percent(1000, 15_000), Some(0.5));
        assert_eq!(found.worst().map(|cost| (cost.ns, cost.events)), Some((30.5, 1_000_000)));
        let switched: Vec<_> = found.switched.iter().map(|s| (s.at, s.method, s.off)).collect();
        assert_eq!(switched, [(5000, 7, Some(900_000)), (9000, 7, None)]);
        let mut busy = Overhead::default();
        busy.read("9000000000 cost 87.8 29200000 256.0\n9000000000 off 7 14000000\n");
        assert_eq!(busy.percent(0, 15_000_000_000), Some(0.2), "its window, at most all of it");
        assert_eq!((skipped, Overhead::default().percent(0, 9)), (1, None));
    }
}
