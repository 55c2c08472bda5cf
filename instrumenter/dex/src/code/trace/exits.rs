//! The exits of a traced method: stubs before its returns, and a handler for exceptions.

use std::collections::BTreeMap;

use super::constructor::Prelude;
use super::{Ends, Untraceable, locks};
use crate::code::body::{Body, Catch, Range};
use crate::code::debug::{Event, What};
use crate::code::instruction::{Instruction, Label, Operand};
use crate::code::opcode::{GOTO, MOVE_EXCEPTION, RETURN_OBJECT, RETURN_VOID, RETURN_WIDE, THROW, is_return};

/// Lets a handler, which is to be appended, catch what nothing else does, and returns its label. `None` if nothing can throw.
pub(super) fn cover(body: &mut Body, prelude: &Prelude) -> Result<Option<Label>, Untraceable> {
    let end = body.instructions.len() as u32;
    check_locks(body, prelude)?;
    let label = body.add_label(end);
    let ours = body.add_handler(Catch::all(label));
    let mut cover = Cover { body, ours, label, with_ours: BTreeMap::new(), tries: Vec::new(), prelude };
    let mut at = 0;
    for range in cover.body.tries.clone() {
        cover.range(at, range.start, None);
        cover.range(range.start, range.end, Some(range.handler));
        at = range.end;
    }
    cover.range(at, end, None);
    let tries = cover.tries;
    body.tries = tries;
    let used = body
        .tries
        .iter()
        .any(|range| body.handlers.get(range.handler).is_some_and(|catch| catch.all == Some(label)));
    Ok(used.then_some(label))
}

/// Refuses a method in which an instruction holds a lock that its own handlers do not release.
fn check_locks(body: &Body, prelude: &Prelude) -> Result<(), Untraceable> {
    if !body.has_locks() {
        return Ok(());
    }
    let held = locks::held(body).ok_or(Untraceable::Locks)?;
    for ((position, instruction), depth) in (0..).zip(&body.instructions).zip(held) {
        let holds = locks::can_throw(instruction) && depth > 0;
        if holds && !prelude.has(position) && !body.catches_all(position) {
            return Err(Untraceable::Locks);
        }
    }
    Ok(())
}

struct Cover<'b> {
    body: &'b mut Body,
    /// The handler list that has only ours.
    ours: usize,
    label: Label,
    /// By list of typed clauses: the list with ours at its end.
    with_ours: BTreeMap<usize, usize>,
    tries: Vec<Range>,
    prelude: &'b Prelude,
}

impl Cover<'_> {
    /// Covers positions that have these handlers: where an exception would leave the method, also ours.
    fn range(&mut self, start: u32, end: u32, handler: Option<usize>) {
        let catches_all =
            |handler: &usize| self.body.handlers.get(*handler).is_some_and(|catch| catch.all.is_some());
        if let Some(handler) = handler.filter(catches_all) {
            self.tries.push(Range { start, end, handler });
            return;
        }
        let mut at = start;
        while at < end {
            let before = self.prelude.has(at);
            let behind = (at..end).find(|position| self.prelude.has(*position) != before).unwrap_or(end);
            match (before, handler) {
                (true, Some(handler)) => self.tries.push(Range { start: at, end: behind, handler }),
                (true, None) => {}
                (false, Some(handler)) => {
                    let handler = self.list_with_ours(handler);
                    self.tries.push(Range { start: at, end: behind, handler });
                }
                (false, None) => self.throwing(at, behind),
            }
            at = behind;
        }
    }

    /// Covers what can throw.
    fn throwing(&mut self, start: u32, end: u32) {
        let covered = self.body.instructions.get(start as usize..end as usize).unwrap_or_default();
        let throws = |instruction: &Instruction| instruction.opcode().can_throw;
        if let (Some(first), Some(last)) = (covered.iter().position(throws), covered.iter().rposition(throws))
        {
            let (start, end) = (start + first as u32, start + last as u32 + 1);
            self.tries.push(Range { start, end, handler: self.ours });
        }
    }

    fn list_with_ours(&mut self, handler: usize) -> usize {
        *self.with_ours.entry(handler).or_insert_with(|| {
            let catch = self.body.handlers.get(handler).cloned().unwrap_or_default();
            self.body.add_handler(Catch { all: Some(self.label), ..catch })
        })
    }
}

/// A return with the exit call, and the returns that go there.
struct Stub {
    back: Instruction,
    label: Label,
    /// The line of the first such return.
    line: Option<u32>,
}

/// Replaces returns, and appends stubs and the handler.
pub(super) fn append(body: &mut Body, ends: &Ends<'_>, handler: Option<Label>) {
    let last = body.instructions.pop_if(|instruction| is_return(instruction.op));
    let end = body.instructions.len() as u32;
    // The stub of a return that is last takes its place.
    body.tries.iter_mut().for_each(|range| range.end = range.end.min(end));
    body.tries.retain(|range| range.start < range.end);
    let mut stubs: Vec<Stub> = Vec::new();
    let mut known: BTreeMap<(u8, u16), Label> = BTreeMap::new();
    let key = |back: &Instruction| (back.op, back.registers[0]);
    if let Some(back) = last {
        let label = body.add_label(end);
        known.insert(key(&back), label);
        // Its line entry is there already.
        stubs.push(Stub { back, label, line: None });
    }
    for position in 0..end {
        let Some(back) = body.instructions.get(position as usize).copied() else { continue };
        if !is_return(back.op) {
            continue;
        }
        let line = body.line_at(position);
        let label = *known.entry(key(&back)).or_insert_with(|| {
            let label = body.add_label(end);
            stubs.push(Stub { back, label, line });
            label
        });
        if let Some(place) = body.instructions.get_mut(position as usize) {
            *place = Instruction { pc: back.pc, ..Instruction::new(GOTO, &[], Operand::Target(label)) };
        }
    }
    for Stub { back, label, line } in stubs {
        let at = body.place_at_end(label);
        if let (Some(debug), Some(line)) = (&mut body.debug, line) {
            debug.events.push(Event { at, what: What::Line(line) });
        }
        let returned = Some(back.registers[0]).filter(|_| back.op == RETURN_OBJECT);
        body.instructions.extend(ends.exit(beside(&back, ends.width()), returned));
        body.instructions.push(Instruction { pc: Instruction::NEW, ..back });
    }
    if let Some(label) = handler {
        body.place_at_end(label);
        let thrown = ends.width();
        body.instructions.push(Instruction::new(MOVE_EXCEPTION, &[thrown], Operand::None));
        body.instructions.extend(ends.exit(0, Some(thrown)));
        body.instructions.push(Instruction::new(THROW, &[thrown], Operand::None));
    }
}

/// Returns the first of the lowest `width` registers in a row that a return does not read.
pub(super) fn beside(back: &Instruction, width: u16) -> u16 {
    match (back.op, back.registers[0]) {
        (RETURN_VOID, _) => 0,
        (_, register) if register >= width => 0,
        (RETURN_WIDE, register) => register + 2,
        (_, register) => register + 1,
    }
}

/// Checks that 16 bits can address each list of catch clauses, however large the new indices are.
pub(super) fn check_handlers(body: &Body) -> Result<(), Untraceable> {
    const TYPE: usize = 3;
    const ADDRESS: usize = 2;
    let length = |catch: &Catch| 5 + catch.typed.len() * (TYPE + ADDRESS) + ADDRESS;
    let total: usize = body.handlers.iter().map(length).sum();
    if total > usize::from(u16::MAX) { Err(Untraceable::Handlers) } else { Ok(()) }
}
