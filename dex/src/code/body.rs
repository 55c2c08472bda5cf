//! A method's code in the form that edits work on.

use super::debug::{Debug, What};
use super::instruction::{Instruction, Label};

/// A method's code as instructions with labels.
///
/// Branches refer to labels. Try ranges and debug events refer to positions: numbers of instructions, where the number of
/// instructions stands for the end. Addresses exist only in a [`Code`](super::Code).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Body {
    /// Offset in the file of the code that was read, in bytes.
    pub(crate) at: usize,
    /// All registers; the last [`ins`](Self::ins) are the parameters'.
    pub(crate) registers: u16,
    /// Registers of parameters, `this` included.
    pub(crate) ins: u16,
    /// Registers of the arguments of the largest call.
    pub(crate) outs: u16,
    pub(crate) instructions: Vec<Instruction>,
    /// By label: the position it stands for.
    pub(crate) labels: Vec<u32>,
    pub(crate) payloads: Vec<Payload>,
    /// By position, without overlaps.
    pub(crate) tries: Vec<Range>,
    pub(crate) handlers: Vec<Catch>,
    pub(crate) debug: Option<Debug>,
}

/// The data of a switch or an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Payload {
    /// Targets of `first_key`, `first_key + 1` and so on.
    Packed { first_key: i32, targets: Vec<Label> },
    /// Keys in ascending order with their targets.
    Sparse { keys: Vec<i32>, targets: Vec<Label> },
    /// `count` elements of `width` bytes.
    Data { width: u16, count: u32, bytes: Vec<u8> },
}

impl Payload {
    pub(crate) fn targets(&self) -> &[Label] {
        match self {
            Self::Packed { targets, .. } | Self::Sparse { targets, .. } => targets,
            Self::Data { .. } => &[],
        }
    }

    /// Returns the length in units.
    pub(crate) fn units(&self) -> usize {
        match self {
            Self::Packed { targets, .. } => 4 + 2 * targets.len(),
            Self::Sparse { targets, .. } => 2 + 4 * targets.len(),
            Self::Data { bytes, .. } => 4 + bytes.len().div_ceil(2),
        }
    }
}

/// Instructions with handlers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    /// First position.
    pub(crate) start: u32,
    /// The position behind the last.
    pub(crate) end: u32,
    /// Index in [`Body::handlers`].
    pub(crate) handler: usize,
}

/// A list of catch clauses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Catch {
    /// Type index and handler.
    pub(crate) typed: Vec<(u32, Label)>,
    /// The clause that catches everything.
    pub(crate) all: Option<Label>,
}

impl Catch {
    /// Returns where handlers begin.
    pub(crate) fn labels(&self) -> impl Iterator<Item = Label> + '_ {
        self.typed.iter().map(|(_, label)| *label).chain(self.all)
    }
}

impl Body {
    /// Returns the number of registers.
    #[must_use]
    pub fn registers(&self) -> u16 {
        self.registers
    }

    /// Returns the number of parameter registers, `this` included.
    #[must_use]
    pub fn ins(&self) -> u16 {
        self.ins
    }

    /// Returns the instructions in their order.
    #[must_use]
    pub fn instructions(&self) -> &[Instruction] {
        &self.instructions
    }

    /// Returns the position that a label stands for; the end if there is no such label.
    pub(crate) fn position(&self, label: Label) -> u32 {
        self.labels.get(label as usize).copied().unwrap_or(self.instructions.len() as u32)
    }

    /// Returns the source line of the instruction at `position`, if the debug information has it.
    #[must_use]
    pub fn line_at(&self, position: u32) -> Option<u32> {
        let events = &self.debug.as_ref()?.events;
        let behind = events.partition_point(|event| event.at <= position);
        events.get(..behind)?.iter().rev().find_map(|event| match event.what {
            What::Line(line) => Some(line),
            _ => None,
        })
    }

    /// Adds a label.
    pub(crate) fn add_label(&mut self, position: u32) -> Label {
        self.labels.push(position);
        (self.labels.len() - 1) as Label
    }

    /// Returns the catch clauses that cover `position`.
    pub(crate) fn catch_at(&self, position: u32) -> Option<&Catch> {
        self.handlers.get(self.handler_at(position)?)
    }

    /// Returns the list of catch clauses that covers `position`, as an index.
    pub(crate) fn handler_at(&self, position: u32) -> Option<usize> {
        let behind = self.tries.partition_point(|range| range.start <= position);
        let range = self.tries.get(behind.checked_sub(1)?)?;
        (position < range.end).then_some(range.handler)
    }

    /// Calls `visit` with each position that control can reach from the instruction at `position` without an exception.
    pub(crate) fn successors(&self, position: u32, visit: &mut dyn FnMut(u32)) {
        use super::instruction::Operand;
        let Some(instruction) = self.instructions.get(position as usize) else { return };
        if instruction.opcode().continues {
            visit(position + 1);
        }
        match instruction.operand {
            Operand::Target(label) => visit(self.position(label)),
            Operand::Payload(payload) => {
                if let Some(payload) = self.payloads.get(payload as usize) {
                    payload.targets().iter().for_each(|label| visit(self.position(*label)));
                }
            }
            _ => {}
        }
    }
}
