//! The enter calls of a traced method, and the registers that its calls need.

use super::constructor::Prelude;
use super::{Calls, Exits, Shape, Untraceable, emit, grow};
use crate::code::body::Body;
use crate::code::insert::{Cover, Insertion};
use crate::code::opcode::{RETURN, RETURN_OBJECT, RETURN_VOID, RETURN_WIDE};

/// A call, and the register for its number.
struct Call {
    at: u32,
    /// `None` stands for the first new register.
    register: Option<u16>,
}

/// Inserts the enter calls, and the exit calls before `throw`s if [`Exits::Normal`]. Returns how many registers the method got.
pub(super) fn insert(
    body: &mut Body,
    shape: &Shape,
    id: u32,
    calls: Calls,
    exits: Exits,
    prelude: Option<&Prelude>,
    has_handler: bool,
) -> Result<u16, Untraceable> {
    let bodies = prelude.map_or(&[][..], |prelude| &prelude.bodies);
    let enters: Vec<Call> =
        bodies.iter().map(|at| Call { at: *at, register: dead_register(body, *at) }).collect();
    let throws: Vec<Call> = match exits {
        Exits::All => Vec::new(),
        Exits::Normal => body.throws(prelude).into_iter().map(|at| before_throw(body, at)).collect(),
    };
    let at_start = prelude.is_none();
    let mut needed = u32::from(body.registers);
    if at_start {
        needed = needed.max(u32::from(body.ins) + 1);
    }
    if enters.iter().chain(&throws).any(|call| call.register.is_none()) {
        needed = needed.max(u32::from(body.registers) + 1);
    }
    needed = needed.max(for_exits(body)).max(if has_handler { 2 } else { 0 });
    let needed = u16::try_from(needed).map_err(|_| Untraceable::Registers)?;
    let grown = needed - body.registers;

    let mut start = Vec::new();
    if at_start {
        start.extend(emit::call(0, id, calls.enter));
    }
    let moves = grow::moves(body, shape, grown);
    start.extend(grow::code(&moves));
    let behind_start = start.len() as u32;
    let first_new = body.registers;
    let mut insertions = Vec::new();
    if !start.is_empty() {
        insertions.push(Insertion {
            at: 0,
            code: start,
            // A loop back to the first instruction is no entry.
            skipped_by_branches: true,
            // The enter call has the method's first line.
            skipped_by_lines: false,
            skipped_by_locals: true,
            cover: Cover::None,
        });
    }
    for (calls, method, is_enter) in [(&enters, calls.enter, true), (&throws, calls.exit, false)] {
        for Call { at, register } in calls {
            let register = register.unwrap_or(first_new);
            if u32::from(register) > emit::MAX_CONST {
                return Err(Untraceable::Registers);
            }
            insertions.push(Insertion {
                at: *at,
                code: emit::call(register, id, method).to_vec(),
                skipped_by_branches: is_enter,
                skipped_by_lines: is_enter,
                skipped_by_locals: is_enter,
                cover: Cover::None,
            });
        }
    }
    body.insert(insertions);
    body.registers = needed;
    if !moves.is_empty() {
        grow::rename_parameters(body, shape, &moves, behind_start);
    }
    Ok(grown)
}

/// Returns a register whose value nothing needs behind a constructor's call of another.
fn dead_register(body: &Body, position: u32) -> Option<u16> {
    let this = u32::from(body.registers - body.ins);
    let mut registers = (0..u32::from(body.registers).min(16)).filter(|register| *register != this);
    registers.find(|register| body.is_dead(*register, position)).map(|register| register as u16)
}

/// Finds a register for the exit call before a `throw`.
fn before_throw(body: &Body, at: u32) -> Call {
    let thrown = body.instructions.get(at as usize).and_then(|throw| throw.registers().next());
    // A handler may need any register.
    let is_caught = body.catch_at(at).is_some();
    let mut registers = (0..body.registers.min(2)).filter(|register| Some(u32::from(*register)) != thrown);
    Call { at, register: registers.next().filter(|_| !is_caught) }
}

/// Returns how many registers the exit stubs need.
fn for_exits(body: &Body) -> u32 {
    let needs = body.instructions.iter().map(|instruction| match instruction.op {
        RETURN_VOID => 1,
        RETURN | RETURN_OBJECT => 2,
        RETURN_WIDE if instruction.registers[0] == 0 => 3,
        RETURN_WIDE => 2,
        _ => 0,
    });
    needs.max().unwrap_or(0)
}
