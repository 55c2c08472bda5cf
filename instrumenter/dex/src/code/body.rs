//! A method's code in the form that edits work on.

use super::debug::{Debug, What};
use super::instruction::{Instruction, Label, Operand};

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
pub(crate) struct Payload {
    /// The first unit: [`PACKED`](super::scan::PACKED), [`SPARSE`](super::scan::SPARSE) or [`DATA`](super::scan::DATA).
    pub(crate) mark: u16,
    /// The number of targets, or the bytes of an element.
    pub(crate) count: u16,
    /// The first of the ascending keys of a packed switch, all of a sparse one, or the number of elements.
    pub(crate) keys: Vec<i32>,
    pub(crate) targets: Vec<Label>,
    /// The elements of an array.
    pub(crate) bytes: Vec<u8>,
}

impl Payload {
    /// Returns the length in units.
    pub(crate) fn units(&self) -> usize {
        2 + 2 * (self.keys.len() + self.targets.len()) + self.bytes.len().div_ceil(2)
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
    /// Creates a list with one clause, which catches everything.
    pub(crate) fn all(label: Label) -> Self {
        Self { typed: Vec::new(), all: Some(label) }
    }

    /// Returns where handlers begin.
    pub(crate) fn labels(&self) -> impl Iterator<Item = Label> + '_ {
        self.typed.iter().map(|(_, label)| *label).chain(self.all)
    }
}

impl Body {
    /// Returns the instructions in their order.
    #[must_use]
    pub fn instructions(&self) -> &[Instruction] {
        &self.instructions
    }

    /// Returns the position that a label stands for; the end if there is no such label.
    #[inline]
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

    /// Lets a label stand for the end, where code is to be appended. Returns the position.
    pub(crate) fn place_at_end(&mut self, label: Label) -> u32 {
        let end = self.instructions.len() as u32;
        if let Some(position) = self.labels.get_mut(label as usize) {
            *position = end;
        }
        end
    }

    /// Adds a list of catch clauses, and returns its index.
    pub(crate) fn add_handler(&mut self, catch: Catch) -> usize {
        self.handlers.push(catch);
        self.handlers.len() - 1
    }

    /// Visits each instruction that control can reach from the positions `pending`, which are the first: over branches, and from
    /// what throws to its handlers. `visit` returns true if control is to be followed beyond the instruction, and `None` to end
    /// the walk. Returns true if the walk was not ended.
    pub(crate) fn reach(
        &self,
        mut pending: Vec<u32>,
        mut visit: impl FnMut(u32, &Instruction) -> Option<bool>,
    ) -> bool {
        let mut visited = vec![false; self.instructions.len()];
        // Lists of catch clauses can be long, and many instructions can share one.
        let mut seen = vec![false; self.handlers.len()];
        while let Some(position) = pending.pop() {
            let Some(instruction) = self.instructions.get(position as usize) else { continue };
            if std::mem::replace(&mut visited[position as usize], true) {
                continue;
            }
            let Some(goes_on) = visit(position, instruction) else { return false };
            if instruction.opcode().can_throw
                && let Some(handler) = self.handler_at(position)
                && let (Some(catch), Some(seen)) = (self.handlers.get(handler), seen.get_mut(handler))
                && !std::mem::replace(seen, true)
            {
                pending.extend(catch.labels().map(|label| self.position(label)));
            }
            if goes_on {
                self.successors(position, &mut |next| pending.push(next));
            }
        }
        true
    }

    /// Returns the catch clauses that cover `position`.
    #[inline]
    pub(crate) fn catch_at(&self, position: u32) -> Option<&Catch> {
        self.handlers.get(self.handler_at(position)?)
    }

    /// Returns true if a handler for everything covers `position`.
    pub(crate) fn catches_all(&self, position: u32) -> bool {
        self.catch_at(position).is_some_and(|catch| catch.all.is_some())
    }

    /// Returns the list of catch clauses that covers `position`, as an index.
    pub(crate) fn handler_at(&self, position: u32) -> Option<usize> {
        let behind = self.tries.partition_point(|range| range.start <= position);
        let range = self.tries.get(behind.checked_sub(1)?)?;
        (position < range.end).then_some(range.handler)
    }

    /// Gives single instructions other handlers. `places` has their positions, ascending, each with what `own` needs to know; `own`
    /// returns the list of catch clauses for the one that the instruction has had. What is left of a range goes if it cannot throw.
    pub(crate) fn change_handlers<T: Copy>(
        &mut self,
        places: &[(u32, T)],
        mut own: impl FnMut(&mut Self, T, Option<usize>) -> usize,
    ) {
        let old = std::mem::take(&mut self.tries);
        let mut tries = Vec::with_capacity(old.len() + 2 * places.len());
        let mut places = places.iter().copied().peekable();
        // Each with whether it stays in any case.
        let mut single = |(at, known): (u32, T), handler| {
            (Range { start: at, end: at + 1, handler: own(self, known, handler) }, true)
        };
        for range in old {
            while let Some(place) = places.next_if(|(at, _)| *at < range.start) {
                tries.push(single(place, None));
            }
            let mut from = range.start;
            while let Some(place) = places.next_if(|(at, _)| *at < range.end) {
                tries.push((Range { start: from, end: place.0, ..range }, false));
                tries.push(single(place, Some(range.handler)));
                from = place.0 + 1;
            }
            tries.push((Range { start: from, ..range }, from == range.start));
        }
        tries.extend(places.map(|place| single(place, None)));
        let throws = |range: &Range| {
            let covered = self.instructions.get(range.start as usize..range.end as usize);
            covered.is_some_and(|covered| covered.iter().any(|one| one.opcode().can_throw))
        };
        tries.retain(|(range, stays)| *stays || throws(range));
        self.tries = tries.into_iter().map(|(range, _)| range).collect();
    }

    /// Removes lists of catch clauses that no range refers to.
    pub(crate) fn drop_unused_handlers(&mut self) {
        let mut kept = Vec::new();
        let mut places = vec![None; self.handlers.len()];
        for range in &mut self.tries {
            let Some(place) = places.get_mut(range.handler) else { continue };
            range.handler = *place.get_or_insert_with(|| {
                kept.extend(self.handlers.get_mut(range.handler).map(std::mem::take));
                kept.len() - 1
            });
        }
        self.handlers = kept;
    }

    /// Calls `visit` with each position that control can reach from the instruction at `position` without an exception.
    pub(crate) fn successors(&self, position: u32, visit: &mut dyn FnMut(u32)) {
        let Some(instruction) = self.instructions.get(position as usize) else { return };
        if instruction.opcode().continues {
            visit(position + 1);
        }
        match instruction.operand {
            Operand::Target(label) => visit(self.position(label)),
            Operand::Payload(payload) => {
                if let Some(payload) = self.payloads.get(payload as usize) {
                    payload.targets.iter().for_each(|label| visit(self.position(*label)));
                }
            }
            _ => {}
        }
    }
}
