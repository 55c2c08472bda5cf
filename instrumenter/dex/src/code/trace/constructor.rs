//! Finds where a constructor can be traced from: after its call of another constructor.
//!
//! That is where the class-file instrumenter enters constructors, so that both give the same events. Before the call, the object is
//! uninitialized, and the call is the only one that takes it. So the registers that hold it are followed. One visit of each
//! instruction is enough, because verified code has the same answer on every path to it.

use super::Shape;
use crate::code::body::Body;
use crate::code::opcode::{
    INVOKE_DIRECT, INVOKE_DIRECT_RANGE, MOVE_OBJECT, MOVE_OBJECT_16, MOVE_OBJECT_FROM16, is_return,
};

/// Bound on the registers of all pending states.
const MAX_PENDING: usize = 1 << 16;

/// The parts of a constructor before its call of another. Empty for a method that is traced from its start.
#[derive(Default)]
pub(super) struct Prelude {
    /// By position: whether the instruction runs before the call, or is the call.
    before: Vec<bool>,
    /// The positions behind the calls, in their order.
    pub(super) bodies: Vec<u32>,
}

impl Prelude {
    /// Returns the prelude of a method, if it is a constructor that can be traced from behind its call of another.
    pub(super) fn of(body: &Body, shape: &Shape) -> Self {
        if shape.is_constructor { prelude(body).unwrap_or_default() } else { Self::default() }
    }

    /// Returns true for an instruction that runs before the call, or is the call.
    pub(super) fn has(&self, position: u32) -> bool {
        self.before.get(position as usize) == Some(&true)
    }
}

/// Returns the prelude of a constructor. `None` if there is no such call on the way to a return, or if code is shared by what is before
/// and behind it.
fn prelude(body: &Body) -> Option<Prelude> {
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
        next.retain(|(position, _)| !found.has(*position));
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
    body.reach(prelude.bodies.clone(), |position, _| (!prelude.has(position)).then_some(true))
}
