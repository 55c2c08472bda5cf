//! Indexes the rows of a method by line.
//!
//! Stacks of rows (see [`super`]) are sorted by their first line, with a tree of the maximum last lines above
//! them. A lookup takes time proportional to the number of matches and the logarithm of the total. Ranges
//! overlap if a method was inlined in several places, and a hostile mapping may have any.

use super::row::{Row, stacks};

/// Maximum number of stacks examined for a line, or of rows: results beyond [`super::lookup::MAX_MEANINGS`]
/// distinct ones are not returned anyway.
const MAX_STACKS: usize = 256;

/// A stack of rows.
#[derive(Clone, Copy, Debug)]
struct Stack {
    from: u32,
    to: u32,
    /// Range of its rows.
    rows: (u32, u32),
}

/// An index of a method's rows.
#[derive(Clone, Debug, Default)]
pub(super) struct Index {
    /// Those with a line range, by its first line.
    stacks: Vec<Stack>,
    /// A complete binary tree: the maximum last line below each node; the root has number 1.
    greatest: Vec<u32>,
    /// The first rows without a line range.
    pub(super) unranged: Vec<u32>,
    /// The outermost rows of the first stacks.
    pub(super) outermost: Vec<u32>,
    /// The first rows that call an outline.
    pub(super) callers: Vec<u32>,
    /// Whether a row belongs to an outline.
    pub(super) outline: bool,
}

/// A row's number. A mapping has at most 2^30 bytes.
fn number(row: usize) -> u32 {
    u32::try_from(row).unwrap_or(u32::MAX)
}

impl Index {
    pub(super) fn of(rows: &[Row]) -> Self {
        let mut index = Self { outline: rows.iter().any(|row| row.outline), ..Self::default() };
        let mut first = 0;
        for stack in stacks(rows) {
            let end = first + stack.len();
            match stack[0].range {
                Some((from, to)) => index.stacks.push(Stack { from, to, rows: (number(first), number(end)) }),
                None if index.unranged.len() < MAX_STACKS => index.unranged.push(number(first)),
                None => {}
            }
            if index.outermost.len() < MAX_STACKS {
                index.outermost.push(number(end - 1));
            }
            first = end;
        }
        let callers = rows.iter().enumerate().filter(|(_, row)| !row.calls.is_empty());
        index.callers = callers.take(MAX_STACKS).map(|(row, _)| number(row)).collect();
        index.stacks.sort_by_key(|stack| stack.from);
        let width = index.stacks.len().next_power_of_two();
        index.greatest = vec![0; 2 * width];
        for (place, stack) in index.stacks.iter().enumerate() {
            index.greatest[width + place] = stack.to;
        }
        for node in (1..width).rev() {
            index.greatest[node] = index.greatest[2 * node].max(index.greatest[2 * node + 1]);
        }
        index
    }

    /// The rows of the stacks that contain `line`, in the file's order, and the number of visited nodes.
    pub(super) fn at(&self, line: u32) -> (Vec<(u32, u32)>, usize) {
        let (mut found, mut visited) = (Vec::new(), 0);
        let begun = self.stacks.partition_point(|stack| stack.from <= line);
        let width = self.greatest.len() / 2;
        let mut nodes = vec![(1, 0, width)];
        while let Some((node, first, length)) = nodes.pop() {
            visited += 1;
            if first >= begun || self.greatest.get(node).is_none_or(|to| *to < line) {
                continue;
            }
            if length == 1 {
                found.push(self.stacks[first].rows);
                if found.len() >= MAX_STACKS {
                    break;
                }
                continue;
            }
            let half = length / 2;
            nodes.push((2 * node + 1, first + half, half));
            nodes.push((2 * node, first, half));
        }
        found.sort_unstable();
        (found, visited)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rows(ranges: &[(u32, u32)]) -> Vec<Row> {
        let row = |(n, range): (usize, &(u32, u32))| Row {
            range: Some(*range),
            method: format!("m{n}").into(),
            ..Row::default()
        };
        ranges.iter().enumerate().map(row).collect()
    }

    fn by_walk(rows: &[Row], line: u32) -> Vec<(u32, u32)> {
        let mut first = 0;
        let mut found = Vec::new();
        for stack in stacks(rows) {
            let end = first + stack.len();
            if stack[0].range.is_some_and(|(from, to)| from <= line && line <= to) {
                found.push((number(first), number(end)));
            }
            first = end;
        }
        found
    }

    #[test]
    fn a_lookup_visits_few_of_many_rows() {
        let ranges: Vec<(u32, u32)> = (0..200_000).map(|n| (n * 3 + 1, n * 3 + 3)).collect();
        let index = Index::of(&rows(&ranges));
        let visited: usize = (0..3_000).map(|n| index.at(n * 199 + 1).1).sum();
        assert!(visited < 3_000 * 64, "{visited} of {} rows", 3_000_u64 * 200_000);
        // A range over all of them is found with each, and changes nothing.
        let over: Vec<(u32, u32)> = std::iter::once((1, 900_000)).chain(ranges).collect();
        let index = Index::of(&rows(&over));
        let (found, visited) = index.at(300_001);
        assert_eq!((found.len(), found[0]), (2, (0, 1)));
        assert!(visited < 100, "{visited}");
    }

    #[test]
    fn a_bounded_number_of_overlapping_rows_is_visited() {
        let index = Index::of(&rows(
            &vec![(1, 9); 100_000].iter().enumerate().map(|(n, r)| (r.0, r.1 + n as u32)).collect::<Vec<_>>(),
        ));
        let (found, visited) = index.at(5);
        assert_eq!(found.len(), MAX_STACKS);
        assert!(visited < 8 * MAX_STACKS, "{visited}");
    }

    proptest! {
        #[test]
        fn the_index_finds_what_a_walk_finds(
            ranges in prop::collection::vec((1_u32..40, 0_u32..20), 0..60),
            line in 0_u32..70,
        ) {
            let rows = rows(&ranges.into_iter().map(|(from, length)| (from, from + length)).collect::<Vec<_>>());
            prop_assert_eq!(Index::of(&rows).at(line).0, by_walk(&rows, line));
        }
    }
}
