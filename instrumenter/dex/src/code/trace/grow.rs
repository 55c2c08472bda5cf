//! Gives a method more registers.
//!
//! The new registers are behind the old ones. Parameters arrive in the last registers of all, and are moved down to where the old
//! code expects them.

use super::{Kind, Shape, emit};
use crate::code::body::Body;
use crate::code::debug::{Event, What};
use crate::code::instruction::Instruction;

/// A parameter's way from where it arrives to where the old code expects it.
pub(super) struct Move {
    to: u16,
    from: u16,
    kind: Kind,
}

/// Returns the moves at the start of a method that gets `grown` registers more. They go in their order: some overlap.
pub(super) fn moves(body: &Body, shape: &Shape, grown: u16) -> Vec<Move> {
    let mut to = body.registers - body.ins;
    let one = |kind| {
        let moved = Move { to, from: to + grown, kind };
        to += if kind == Kind::Wide { 2 } else { 1 };
        moved
    };
    if grown == 0 { Vec::new() } else { shape.kinds().map(one).collect() }
}

/// Returns the instructions for moves.
pub(super) fn code(moves: &[Move]) -> impl Iterator<Item = Instruction> + '_ {
    moves.iter().map(|moved| emit::move_to(moved.to, moved.from, moved.kind))
}

/// Makes debuggers look where the old code has its parameters, if their names are known: where they arrive, the old code does not
/// keep them up to date. `position` is behind the moves.
pub(super) fn rename_parameters(body: &mut Body, shape: &Shape, moves: &[Move], position: u32) {
    let Some(debug) = &mut body.debug else { return };
    if debug.parameters.iter().all(Option::is_none) {
        return;
    }
    let receiver = (!shape.is_static).then_some(shape.this.map(|(kind, name)| (name, kind)));
    let names = debug.parameters.iter().copied().chain(std::iter::repeat(None));
    let parameters = shape.parameters.iter().zip(names);
    let named = parameters.map(|(parameter, name)| name.map(|name| (name, parameter.declared)));
    let mut events = Vec::new();
    for (moved, named) in moves.iter().zip(receiver.into_iter().chain(named)) {
        let Some((name, kind)) = named else { continue };
        events.push(What::End(u32::from(moved.from)));
        let (register, name, kind) = (u32::from(moved.to), Some(name), Some(kind));
        events.push(What::Start { register, name, kind, signature: None });
    }
    // Ends come first: a parameter can move to where another arrived.
    events.sort_by_key(|what| matches!(what, What::Start { .. }));
    // Before what the old code says about its registers.
    let place = debug.events.partition_point(|event| event.at < position);
    debug.events.splice(place..place, events.into_iter().map(|what| Event { at: position, what }));
}
