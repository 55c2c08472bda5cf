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
    /// Whether branches to the instruction pass the inserted code by.
    pub(crate) skipped_by_branches: bool,
    /// Whether line entries of the instruction stay with it, or begin with the inserted code.
    pub(crate) skipped_by_lines: bool,
    /// Whether its other debug events stay with it.
    pub(crate) skipped_by_locals: bool,
}

/// Insertions in order, with the sums of their lengths.
struct Moves<'i> {
    insertions: &'i [Insertion],
    /// By insertion: the instructions of it and of all before it.
    sums: Vec<u32>,
}

impl<'i> Moves<'i> {
    fn new(insertions: &'i [Insertion]) -> Self {
        let lengths = insertions.iter().scan(0, |sum, insertion| {
            *sum += insertion.code.len() as u32;
            Some(*sum)
        });
        Self { insertions, sums: lengths.collect() }
    }

    fn sum(&self, count: usize) -> u32 {
        count.checked_sub(1).and_then(|last| self.sums.get(last)).copied().unwrap_or(0)
    }

    /// Returns the new position of what stands at `position`, in front of the code that is inserted there.
    fn front(&self, position: u32) -> u32 {
        position + self.sum(self.insertions.partition_point(|insertion| insertion.at < position))
    }

    /// Returns the new position of the instruction itself.
    fn moved(&self, position: u32) -> u32 {
        position + self.sum(self.insertions.partition_point(|insertion| insertion.at <= position))
    }

    /// Returns the new position of what passes the code in front of `position` by, as far as that is skipped.
    fn choose(&self, position: u32, skips: impl Fn(&Insertion) -> bool) -> u32 {
        let first = self.insertions.partition_point(|insertion| insertion.at < position);
        let here = self.insertions.iter().skip(first).take_while(|insertion| insertion.at == position);
        position + self.sum(first + here.take_while(|insertion| skips(insertion)).count())
    }
}

impl Body {
    /// Inserts code; what is inserted at the same position stays in its order. No try range covers it: one that covers both sides is
    /// cut in two.
    pub(crate) fn insert(&mut self, mut insertions: Vec<Insertion>) {
        insertions.sort_by_key(|insertion| insertion.at);
        let moves = Moves::new(&insertions);
        self.labels.iter_mut().for_each(|position| {
            *position = moves.choose(*position, |insertion| insertion.skipped_by_branches);
        });
        let mut tries = Vec::with_capacity(self.tries.len());
        for Range { start, end, handler } in self.tries.drain(..) {
            let first = insertions.partition_point(|insertion| insertion.at <= start);
            let mut from = moves.moved(start);
            for cut in insertions.iter().skip(first).take_while(|insertion| insertion.at < end) {
                let behind = moves.moved(cut.at);
                if from < behind {
                    tries.push(Range { start: from, end: moves.front(cut.at), handler });
                    from = behind;
                }
            }
            tries.push(Range { start: from, end: moves.front(end), handler });
        }
        self.tries = tries;
        if let Some(debug) = &mut self.debug {
            for event in &mut debug.events {
                let is_line = matches!(event.what, What::Line(_) | What::File(_));
                event.at = moves.choose(event.at, |insertion| match is_line {
                    true => insertion.skipped_by_lines,
                    false => insertion.skipped_by_locals,
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
    }
}
