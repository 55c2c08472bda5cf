//! The enter calls of a traced method, and the registers that its calls need.

use super::constructor::Prelude;
use super::exits::beside;
use super::{Ends, Exits, Shape, Untraceable, emit, grow};
use crate::code::body::Body;
use crate::code::insert::{Cover, Insertion};
use crate::code::opcode::is_return;

/// Where something is recorded, and the first register for that.
struct Call {
    at: u32,
    /// True for the start of a constructor's own code, false for a `throw`.
    is_enter: bool,
    /// `None` stands for the first new register.
    register: Option<u16>,
    /// What is thrown there.
    thrown: Option<u16>,
}

/// Inserts the enter calls, and the exit calls before `throw`s if [`Exits::Normal`]. Returns how many registers the method got.
pub(super) fn insert(
    body: &mut Body,
    shape: &Shape,
    ends: &Ends<'_>,
    exits: Exits,
    prelude: &Prelude,
    has_handler: bool,
) -> Result<u16, Untraceable> {
    let enter = |&at: &u32| Call { at, is_enter: true, register: dead_register(body, at), thrown: None };
    let mut calls: Vec<Call> = prelude.bodies.iter().map(enter).collect();
    if exits == Exits::Normal {
        calls.extend(body.throws(prelude).into_iter().map(|at| before_throw(body, at, ends.width())));
    }
    let at_start = prelude.bodies.is_empty();
    let mut needed = u32::from(body.registers);
    if at_start {
        needed = needed.max(u32::from(body.ins) + u32::from(ends.width()));
    }
    if calls.iter().any(|call| call.register.is_none()) {
        needed = needed.max(u32::from(body.registers) + u32::from(ends.width()));
    }
    needed = needed.max(for_exits(body, ends.width()));
    if has_handler {
        needed = needed.max(u32::from(ends.width()) + 1);
    }
    let needed = u16::try_from(needed).map_err(|_| Untraceable::Registers)?;
    let grown = needed - body.registers;

    let mut start = Vec::new();
    if at_start {
        start.extend(ends.enter(needed - body.ins));
    }
    let moves = grow::moves(body, shape, grown);
    start.extend(grow::code(&moves));
    let behind_start = start.len() as u32;
    let first_new = body.registers;
    let mut insertions = Vec::new();
    if !start.is_empty() {
        insertions.push(Insertion::at_start(start));
    }
    for Call { at, is_enter, register, thrown } in calls {
        let register = register.unwrap_or(first_new);
        if u32::from(register) + u32::from(ends.width()) > emit::MAX_CONST + 1 {
            return Err(Untraceable::Registers);
        }
        let code = match is_enter {
            true => emit::call(register, ends.id, ends.calls.enter).to_vec(),
            false => ends.exit(register, thrown),
        };
        insertions.push(Insertion::new(at, code, is_enter, Cover::None));
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

/// Finds registers for what is recorded before a `throw`.
fn before_throw(body: &Body, at: u32, width: u16) -> Call {
    let thrown = body.instructions.get(at as usize).map(|throw| throw.registers[0]);
    let first = thrown.filter(|thrown| *thrown < width).map_or(0, |thrown| thrown + 1);
    // A handler may need any register.
    let is_free = body.catch_at(at).is_none() && first + width <= body.registers;
    Call { at, is_enter: false, register: Some(first).filter(|_| is_free), thrown }
}

/// Returns how many registers the exit stubs need.
fn for_exits(body: &Body, width: u16) -> u32 {
    let returns = body.instructions.iter().filter(|instruction| is_return(instruction.op));
    returns.map(|back| u32::from(beside(back, width)) + u32::from(width)).max().unwrap_or(0)
}
