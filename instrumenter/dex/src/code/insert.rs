//! Inserts instructions into a body.

use super::body::{Body, Range};
use super::debug::What;
use super::instruction::Instruction;

/// Instructions that go in front of an instruction, or behind the last.
#[derive(Clone, Debug)]
pub(crate) struct Insertion {
    /// The position of that instruction.
    pub(crate) at: u32,
    pub(crate) code: Vec<Instruction>,
    /// True if branches to the instruction pass the inserted code by, and debug events other than lines stay with the
    /// instruction.
    pub(crate) is_skipped: bool,
    /// True if line entries of the instruction stay with it, false if they begin with the inserted code.
    pub(crate) skipped_by_lines: bool,
    pub(crate) cover: Cover,
}

/// Which handlers inserted code has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cover {
    /// None: a range over both sides is cut in two.
    None,
    /// Those of the instruction in front of it.
    Previous,
    /// Those of the instruction behind it.
    Next,
    /// Those of this list.
    By(usize),
}

/// New positions by old ones.
#[derive(Debug)]
pub(crate) struct Moves {
    /// By insertion: where it was made.
    at: Vec<u32>,
    /// By insertion: the instructions of all before it; and of all.
    sums: Vec<u32>,
}

impl Moves {
    fn new(insertions: &[Insertion]) -> Self {
        let mut sums = vec![0];
        let mut sum = 0;
        for insertion in insertions {
            sum += insertion.code.len() as u32;
            sums.push(sum);
        }
        Self { at: insertions.iter().map(|insertion| insertion.at).collect(), sums }
    }

    fn sum(&self, count: usize) -> u32 {
        self.sums.get(count).copied().unwrap_or(0)
    }

    /// Returns the new position of the instruction itself.
    pub(crate) fn moved(&self, position: u32) -> u32 {
        position + self.sum(self.at.partition_point(|at| *at <= position))
    }

    /// Returns the new position of what passes the code in front of `position` by, as far as that is skipped.
    fn choose(&self, insertions: &[Insertion], position: u32, skips: impl Fn(&Insertion) -> bool) -> u32 {
        let first = self.at.partition_point(|at| *at < position);
        let here = insertions.iter().skip(first).take_while(|insertion| insertion.at == position);
        position + self.sum(first + here.take_while(|insertion| skips(insertion)).count())
    }

    /// Appends what is left of a range.
    fn cut(&self, insertions: &[Insertion], range: Range, tries: &mut Vec<Range>) {
        let Range { start, end, handler } = range;
        let mut from = self.choose(insertions, start, |insertion| insertion.cover != Cover::Next);
        let first = self.at.partition_point(|at| *at < start);
        let inside =
            insertions.iter().enumerate().skip(first).take_while(|(_, insertion)| insertion.at < end);
        let cuts = |cover: Cover| matches!(cover, Cover::None | Cover::By(_));
        for (index, insertion) in inside.filter(|(_, insertion)| cuts(insertion.cover)) {
            let (front, behind) = (insertion.at + self.sum(index), insertion.at + self.sum(index + 1));
            if from < front {
                tries.push(Range { start: from, end: front, handler });
            }
            from = from.max(behind);
        }
        let end = self.choose(insertions, end, |insertion| insertion.cover == Cover::Previous);
        tries.push(Range { start: from, end, handler });
    }

    /// Appends the ranges of what has handlers of its own.
    fn add_own(&self, insertions: &[Insertion], tries: &mut Vec<Range>) {
        for (index, insertion) in insertions.iter().enumerate() {
            if let Cover::By(handler) = insertion.cover {
                let start = insertion.at + self.sum(index);
                tries.push(Range { start, end: insertion.at + self.sum(index + 1), handler });
            }
        }
    }
}

impl Insertion {
    /// Creates an insertion that either all that leads to the instruction passes by, or nothing.
    pub(crate) fn new(at: u32, code: Vec<Instruction>, is_skipped: bool, cover: Cover) -> Self {
        Self { at, code, is_skipped, skipped_by_lines: is_skipped, cover }
    }

    /// Creates an insertion at the start of a method. A loop back to the first instruction is no entry, but the inserted code has
    /// the method's first line.
    pub(crate) fn at_start(code: Vec<Instruction>) -> Self {
        Self { skipped_by_lines: false, ..Self::new(0, code, true, Cover::None) }
    }
}

impl Body {
    /// Inserts code; what is inserted at the same position stays in its order.
    pub(crate) fn insert(&mut self, mut insertions: Vec<Insertion>) -> Moves {
        insertions.sort_by_key(|insertion| insertion.at);
        let moves = Moves::new(&insertions);
        self.labels.iter_mut().for_each(|position| {
            *position = moves.choose(&insertions, *position, |insertion| insertion.is_skipped);
        });
        let mut tries = Vec::with_capacity(self.tries.len());
        self.tries.iter().for_each(|range| moves.cut(&insertions, *range, &mut tries));
        moves.add_own(&insertions, &mut tries);
        tries.sort_by_key(|range| range.start);
        self.tries = tries;
        if let Some(debug) = &mut self.debug {
            for event in &mut debug.events {
                let is_line = matches!(event.what, What::Line(_) | What::File(_));
                event.at = moves.choose(&insertions, event.at, |insertion| match is_line {
                    true => insertion.skipped_by_lines,
                    false => insertion.is_skipped,
                });
            }
            debug.events.sort_by_key(|event| event.at);
        }
        let old = std::mem::take(&mut self.instructions);
        self.instructions.reserve(old.len() + moves.sum(insertions.len()) as usize);
        let mut insertions = insertions.iter().peekable();
        for (position, instruction) in old.into_iter().enumerate() {
            while let Some(insertion) = insertions.next_if(|insertion| insertion.at as usize <= position) {
                self.instructions.extend_from_slice(&insertion.code);
            }
            self.instructions.push(instruction);
        }
        insertions.for_each(|insertion| self.instructions.extend_from_slice(&insertion.code));
        moves
    }
}
