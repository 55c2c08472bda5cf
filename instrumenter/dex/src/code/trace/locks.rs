//! Which instructions hold a lock.
//!
//! Android's verifier refuses a class in which an instruction holds a monitor, can throw, and has handlers of which none catches
//! everything; and where paths with different locks meet, as they would in a handler for all exits, it marks the method as one
//! that is never compiled. So the handler for exits covers no instruction that holds a lock.

use std::collections::BTreeSet;

use crate::code::body::Body;
use crate::code::instruction::Instruction;
use crate::code::opcode::{MONITOR_ENTER, MONITOR_EXIT};

/// The locks that are held in front of each instruction, by position; 0 for code that is never reached. `None` if that depends
/// on the path.
pub(super) fn held(body: &Body) -> Option<Vec<u32>> {
    let mut depths: Vec<Option<u32>> = vec![None; body.instructions.len()];
    let mut pending = vec![(0, 0)];
    // Lists of catch clauses can be long, and many instructions can share one.
    let mut seen = BTreeSet::new();
    while let Some((position, depth)) = pending.pop() {
        match depths.get_mut(position as usize) {
            None => continue,
            Some(Some(known)) if *known == depth => continue,
            Some(Some(_)) => return None,
            Some(unknown) => *unknown = Some(depth),
        }
        let Some(instruction) = body.instructions.get(position as usize) else { continue };
        let after = match instruction.op {
            MONITOR_ENTER => depth + 1,
            MONITOR_EXIT => depth.checked_sub(1)?,
            _ => depth,
        };
        if can_throw(instruction)
            && let Some(handler) = body.handler_at(position)
            && let Some(catch) = body.handlers.get(handler)
            && seen.insert((handler, depth))
        {
            pending.extend(catch.labels().map(|label| (body.position(label), depth)));
        }
        body.successors(position, &mut |next| pending.push((next, after)));
    }
    Some(depths.into_iter().map(Option::unwrap_or_default).collect())
}

/// Returns whether an exception handler can be entered from here, as far as locks go. Compilers let the handler that releases a
/// lock cover its own release, which does not throw if locks are balanced: Android's verifier ignores that path.
pub(super) fn can_throw(instruction: &Instruction) -> bool {
    instruction.opcode().can_throw && instruction.op != MONITOR_EXIT
}
