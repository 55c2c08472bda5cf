//! Finds where a constructor can be traced from: after its call of another constructor.
//!
//! That is where the class-file instrumenter enters constructors, so that both give the same events. Before the call, the object is
//! uninitialized, and the call is the only one that takes it. So the registers that hold it are followed. One visit of each
//! instruction is enough, because verified code has the same answer on every path to it.

use crate::code::body::Body;
use crate::code::opcode::{
    INVOKE_DIRECT, INVOKE_DIRECT_RANGE, MOVE_OBJECT, MOVE_OBJECT_16, MOVE_OBJECT_FROM16, is_return,
};

/// Bound on the registers of all pending states.
const MAX_PENDING: usize = 1 << 16;

/// The parts of a constructor before its call of another.
pub(super) struct Prelude {
    /// By position: whether the instruction runs before the call, or is the call.
    pub(super) before: Vec<bool>,
    /// The positions behind the calls, in their order.
    pub(super) bodies: Vec<u32>,
}

/// Returns the prelude of a constructor. `None` if there is no such call on the way to a return, or if code is shared by what is before
/// and behind it.
pub(super) fn prelude(body: &Body) -> Option<Prelude> {
    let mut found = Prelude { before: vec![false; body.instructions.len()], bodies: Vec::new() };
    let this = u32::from(body.registers.checked_sub(body.ins)?);
    let mut pending = vec![(0_u32, vec![this])];
    let mut words = 1;
    while let Some((position, mut holders)) = pending.pop() {
        words -= holders.len();
        match found.before.get_mut(position as usize) {
            Some(visited) if !*visited => *visited = true,
            Some(_) => continue,
            // Control runs off the end.
            None => return None,
        }
        let instruction = body.instructions.get(position as usize)?;
        if is_return(instruction.op) {
            return None;
        }
        let mut next = Vec::new();
        if instruction.opcode().can_throw
            && let Some(catch) = body.catch_at(position)
        {
            next.extend(catch.labels().map(|label| (body.position(label), holders.clone())));
        }
        let first = instruction.registers().next();
        let is_direct = matches!(instruction.op, INVOKE_DIRECT | INVOKE_DIRECT_RANGE);
        if is_direct && first.is_some_and(|first| holders.contains(&first)) {
            found.bodies.push(position + 1);
        } else {
            let copies = matches!(instruction.op, MOVE_OBJECT | MOVE_OBJECT_FROM16 | MOVE_OBJECT_16)
                && instruction.registers().nth(1).is_some_and(|from| holders.contains(&from));
            holders.retain(|holder| !instruction.writes(*holder));
            holders.extend(first.filter(|_| copies));
            body.successors(position, &mut |after| next.push((after, holders.clone())));
        }
        next.retain(|(position, _)| !found.before.get(*position as usize).is_some_and(|visited| *visited));
        words += next.iter().map(|(_, holders)| holders.len()).sum::<usize>();
        if words > MAX_PENDING || pending.len() > MAX_PENDING {
            return None;
        }
        pending.append(&mut next);
    }
    found.bodies.sort_unstable();
    (!found.bodies.is_empty() && is_apart(body, &found)).then_some(found)
}

/// Returns whether no path leads from behind the calls to code before them.
fn is_apart(body: &Body, prelude: &Prelude) -> bool {
    let mut visited = vec![false; body.instructions.len()];
    let mut pending = prelude.bodies.clone();
    // Lists of catch clauses can be long, and many instructions can share one.
    let mut seen = vec![false; body.handlers.len()];
    while let Some(position) = pending.pop() {
        match visited.get_mut(position as usize) {
            Some(visited) if !*visited => *visited = true,
            _ => continue,
        }
        if prelude.before.get(position as usize) == Some(&true) {
            return false;
        }
        if body.instructions.get(position as usize).is_some_and(|instruction| instruction.opcode().can_throw)
            && let Some(handler) = body.handler_at(position)
            && let (Some(catch), Some(seen)) = (body.handlers.get(handler), seen.get_mut(handler))
            && !std::mem::replace(seen, true)
        {
            pending.extend(catch.labels().map(|label| body.position(label)));
        }
        body.successors(position, &mut |next| pending.push(next));
    }
    true
}
