//! Collects main's slices for a chart: those of the stall, and of the seconds before it.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use super::open_item::{OpenItem, OpenItemKind};

/// Maximum number of slices per chart.
const MAX_SLICES: usize = 6_000;
/// Maximum number of rows per chart. Deeper slices are omitted.
const MAX_DEPTH: usize = 64;

/// A slice.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ChartSlice {
    /// When it began.
    pub begin: u64,
    /// Its row; 0 is the outermost.
    pub depth: usize,
    /// When it ended, or the end of the chart.
    pub end: u64,
    /// Its kind.
    pub kind: OpenItemKind,
    /// Index of its name in [`Chart::names`].
    pub name: usize,
    /// Whether it did not end.
    pub open: bool,
}

/// The slices between two moments.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Chart {
    /// Start, BOOTTIME ns.
    pub from: u64,
    /// End.
    pub to: u64,
    /// Names, each once.
    pub names: Vec<String>,
    /// Sorted by start, outer slices first.
    pub slices: Vec<ChartSlice>,
    /// Number of slices omitted: the shortest and the deepest.
    pub left_out: u64,
}

/// Collects slices and keeps the longest.
#[derive(Debug)]
pub(super) struct ChartBuilder {
    chart: Chart,
    index: HashMap<String, usize>,
    /// By duration, the shortest on top.
    kept: BinaryHeap<(Reverse<u64>, ChartSlice)>,
}

impl ChartBuilder {
    pub(super) fn new(from: u64, to: u64) -> Self {
        let chart = Chart { from, to: to.max(from), ..Chart::default() };
        Self { chart, index: HashMap::new(), kept: BinaryHeap::new() }
    }

    /// Adds a slice of an item, which is only asked for if the slice is kept.
    pub(super) fn add(
        &mut self,
        depth: usize,
        (begin, end): (u64, u64),
        open: bool,
        item: impl FnOnce() -> OpenItem,
    ) {
        let Chart { from, to, .. } = self.chart;
        if end < from || begin > to {
            return;
        }
        let (begin, end) = (begin.max(from), end.min(to));
        let full = self.kept.len() >= MAX_SLICES;
        let took = Reverse(end - begin);
        if depth >= MAX_DEPTH || full && self.kept.peek().is_some_and(|(shortest, _)| *shortest <= took) {
            self.chart.left_out += 1;
            return;
        }
        if full {
            self.kept.pop();
            self.chart.left_out += 1;
        }
        let OpenItem { kind, name, .. } = item();
        let next = self.chart.names.len();
        let name = *self.index.entry(name).or_insert_with_key(|name| {
            self.chart.names.push(name.clone());
            next
        });
        self.kept.push((took, ChartSlice { depth, begin, end, kind, name, open }));
    }

    pub(super) fn finish(mut self) -> Chart {
        self.chart.slices = self.kept.into_iter().map(|(_, slice)| slice).collect();
        self.chart.slices.sort_by_key(|s| (s.begin, s.depth));
        self.chart
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(kind: OpenItemKind, name: String) -> OpenItem {
        OpenItem { kind, name, since: 0, began_before: false, source: None, wait: None }
    }

    #[test]
    fn the_longest_slices_stay_and_the_rest_is_counted() {
        let mut builder = ChartBuilder::new(100, 1_000_000);
        for i in 0..2 * MAX_SLICES as u64 {
            builder.add(1, (200, 201 + i), false, || item(OpenItemKind::Method, format!("m{}", i % 3)));
        }
        builder.add(0, (0, 2_000_000), true, || item(OpenItemKind::Message, "outer".to_owned()));
        builder.add(MAX_DEPTH, (200, 300), false, || unreachable!("it is not kept"));
        builder.add(0, (2, 3), false, || unreachable!("it is before"));
        let chart = builder.finish();
        assert_eq!((chart.slices.len(), chart.left_out), (MAX_SLICES, MAX_SLICES as u64 + 2));
        let first = &chart.slices[0];
        assert_eq!(
            (first.begin, first.end, first.open, &*chart.names[first.name]),
            (100, 1_000_000, true, "outer")
        );
        assert!(chart.slices[1..].iter().all(|s| s.end - s.begin >= MAX_SLICES as u64));
    }
}
