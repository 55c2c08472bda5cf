//! Main's messages before an ANR in sequence, as a compact list.

use answers::text::clean;

use super::sink::{Arg, Sink, TallySink, Track, Value};
use crate::ExportError;
use crate::facts::Anr;

/// Length of the list, ns: twice the system's own input timeout.
const LIST_LENGTH: u64 = 10_000_000_000;
/// Messages shorter than a frame at 60 Hz are merged, ns.
const SHORT_MESSAGE: u64 = 16_666_667;
/// Maximum number of entries in all lists of a process.
const MAX_ROWS: usize = 4096;

/// One entry: a message, or consecutive short ones.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Row {
    begin: u64,
    end: u64,
    name: String,
    /// Number of messages.
    count: u64,
    /// Their duration, ns.
    wall: u64,
}

/// The lists of one process.
#[derive(Debug, Default)]
pub(crate) struct MessageList {
    /// Time ranges that are listed, disjoint and sorted.
    windows: Vec<(u64, u64)>,
    rows: Vec<Row>,
}

impl MessageList {
    /// Lists what precedes these ANRs.
    pub(crate) fn before(anrs: &[Anr]) -> Self {
        let mut windows: Vec<(u64, u64)> = Vec::new();
        for anr in anrs {
            let window = (anr.detected.saturating_sub(LIST_LENGTH).min(anr.since), anr.detected);
            match windows.last_mut() {
                Some(last) if window.0 <= last.1 => last.1 = last.1.max(window.1),
                _ => windows.push(window),
            }
        }
        Self { windows, rows: Vec::new() }
    }

    /// Whether anything is listed at all.
    pub(crate) fn is_kept(&self) -> bool {
        !self.windows.is_empty()
    }

    /// Adds a message of main that ran from `begin` to `end`.
    pub(crate) fn message(&mut self, begin: u64, end: u64, name: &str) {
        let next = self.windows.partition_point(|(_, to)| *to < begin);
        if self.windows.get(next).is_none_or(|(from, _)| *from > end) {
            return;
        }
        let wall = end - begin;
        if let Some(last) = self.rows.last_mut()
            && wall < SHORT_MESSAGE
            && last.wall / last.count < SHORT_MESSAGE
            && begin.saturating_sub(last.end) < LIST_LENGTH
        {
            last.end = end;
            last.count += 1;
            last.wall = last.wall.saturating_add(wall);
            return;
        }
        if self.rows.len() < MAX_ROWS {
            self.rows.push(Row { begin, end, name: clean(name).into_owned(), count: 1, wall });
        }
    }

    /// Writes the lists, if there are any.
    pub(super) fn write<K: Sink>(&self, out: &mut TallySink<'_, K>) -> Result<(), ExportError> {
        if self.rows.is_empty() {
            return Ok(());
        }
        out.track(Track::MessageList)?;
        // Messages of a nested loop end before the one around them; in a damaged recording any two may overlap.
        let mut rows: Vec<&Row> = self.rows.iter().collect();
        rows.sort_by_key(|row| (row.begin, std::cmp::Reverse(row.end)));
        let mut open: Vec<u64> = Vec::new();
        for row in rows {
            while let Some(end) = open.pop_if(|end| *end <= row.begin) {
                out.end(end, &[])?;
            }
            open.push(open.last().map_or(row.end, |around| row.end.min(*around)));
            let together = format!("{} messages", row.count);
            let name = if row.count > 1 { &together } else { &row.name };
            let args =
                [Arg::new("count", Value::Uint(row.count)), Arg::new("wall_ms", Value::Millis(row.wall))];
            out.begin(row.begin, name, &args)?;
        }
        open.into_iter().rev().try_for_each(|end| out.end(end, &[]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::Detector;
    use trace_format::time::MS;

    fn anr(since: u64, detected: u64) -> Anr {
        let detector = Detector::Watchdog;
        Anr { since, detected, detector, watchdog: None, recovered: None, more_signals: 0, verdict: None }
    }

    #[test]
    fn consecutive_short_messages_are_merged_and_long_ones_are_not() {
        let mut history = MessageList::before(&[anr(60_000 * MS, 65_000 * MS)]);
        history.message(50_000 * MS, 50_001 * MS, "too early");
        for i in 0..5 {
            history.message((58_000 + 2 * i) * MS, (58_001 + 2 * i) * MS, "short");
        }
        history.message(59_000 * MS, 59_900 * MS, "long");
        history.message(59_901 * MS, 59_902 * MS, "alone");
        history.message(60_000 * MS, 68_000 * MS, "stuck");
        history.message(69_000 * MS, 69_001 * MS, "too late");
        let rows: Vec<_> = history.rows.iter().map(|r| (r.name.as_str(), r.count, r.wall / MS)).collect();
        assert_eq!(rows, [("short", 5, 5), ("long", 1, 900), ("alone", 1, 1), ("stuck", 1, 8_000)]);
        assert_eq!(history.rows[0].end, 58_009 * MS);
    }

    #[test]
    fn lists_of_anrs_that_meet_are_one_and_a_flood_is_cut() {
        let mut history =
            MessageList::before(&[anr(20_000 * MS, 25_000 * MS), anr(26_000 * MS, 31_000 * MS)]);
        assert_eq!(history.windows, [(15_000 * MS, 31_000 * MS)]);
        for i in 0..10_000 {
            history.message((15_000 + i) * MS, (15_000 + i) * MS + 17 * MS, "late");
        }
        assert_eq!(history.rows.len(), MAX_ROWS);
    }
}
