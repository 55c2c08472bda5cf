//! Handlers for inserted calls that can throw.
//!
//! ```text
//!     monitor-enter v0
//!     const/4 v4, 1
//!     invoke-static {v4, v0} we      in a range of its own: two errors continue at n
//! n:  the method's next instruction
//! ```
//!
//! A call that records something may lose its event, but it must never throw. The method has no handler for that: if an overflow of
//! the stack in `we` left the code above, the lock would stay locked for ever. So each such call catches a
//! `StackOverflowError` and an `OutOfMemoryError`, which are all that the recorder can throw, and continues after the call. The
//! handlers have no instruction of their own. The call changes no register, so the state there is the same on both ways, and so are the locks.
//!
//! The method's own handlers follow in the list. They take what anybody else throws into the thread, and where a lock is held
//! Android's verifier wants one of them to catch everything.

use super::{Calls, Untraceable, around, locks};
use crate::code::body::Body;
use crate::code::instruction::{Instruction, Operand};
use crate::code::opcode::{INVOKE_STATIC, INVOKE_STATIC_RANGE, INVOKE_VIRTUAL};

impl Body {
    /// Lets the inserted calls, other than `i` and `o`, drop what they throw. `errors` are the type indices of its classes.
    ///
    /// # Errors
    ///
    /// [`Untraceable::Locks`] if such a call is made while a lock is held, and nothing there catches everything.
    pub(super) fn lose_events(&mut self, errors: [u32; 2], calls: Calls) -> Result<(), Untraceable> {
        let held = if self.has_locks() { locks::held(self).ok_or(Untraceable::Locks)? } else { Vec::new() };
        let mut places = Vec::new();
        for (at, instruction) in (0..).zip(&self.instructions) {
            if !can_lose(instruction, calls) {
                continue;
            }
            let holds = held.get(at as usize).is_some_and(|depth| *depth > 0);
            if holds && !self.catches_all(at) {
                return Err(Untraceable::Locks);
            }
            // A handler cannot begin with the move of a result, whose register has a value for this case.
            let next = self.instructions.get(at as usize + 1);
            let moves = next.is_some_and(|next| around::is_move_result(next.op));
            places.push((at, at + if moves { 2 } else { 1 }));
        }
        self.change_handlers(&places, |body, next, handler| {
            let own = handler.and_then(|handler| body.handlers.get(handler));
            let mut catch = own.cloned().unwrap_or_default();
            let label = body.add_label(next);
            catch.typed.splice(0..0, errors.map(|error| (error, label)));
            body.add_handler(catch)
        });
        Ok(())
    }
}

/// True for an inserted call that can throw.
fn can_lose(instruction: &Instruction, calls: Calls) -> bool {
    let is_call = matches!(instruction.op, INVOKE_STATIC | INVOKE_STATIC_RANGE | INVOKE_VIRTUAL);
    let ends = [calls.enter, calls.exit].map(Operand::Index);
    is_call && instruction.pc == Instruction::NEW && !ends.contains(&instruction.operand)
}
