//! Whether a register's value is still needed.

use super::body::Body;

/// Registers whose use is not decided after this many instructions count as needed.
const MAX_VISITED: usize = 4096;

impl Body {
    /// Returns whether nothing reads the value that `register` has in front of `position`.
    pub(crate) fn is_dead(&self, register: u32, position: u32) -> bool {
        let mut visited = vec![false; self.instructions.len()];
        let mut pending = vec![position];
        // Lists of catch clauses can be long, and many instructions can share one.
        let mut seen = vec![false; self.handlers.len()];
        let mut count = 0;
        while let Some(position) = pending.pop() {
            match visited.get_mut(position as usize) {
                Some(visited) if !*visited => *visited = true,
                _ => continue,
            }
            count += 1;
            let Some(instruction) = self.instructions.get(position as usize) else { continue };
            if count > MAX_VISITED || instruction.reads(register) {
                return false;
            }
            // An instruction that throws has not written.
            if instruction.opcode().can_throw
                && let Some(handler) = self.handler_at(position)
                && let (Some(catch), Some(seen)) = (self.handlers.get(handler), seen.get_mut(handler))
                && !std::mem::replace(seen, true)
            {
                pending.extend(catch.labels().map(|label| self.position(label)));
            }
            if !instruction.writes(register) {
                self.successors(position, &mut |next| pending.push(next));
            }
        }
        true
    }
}
