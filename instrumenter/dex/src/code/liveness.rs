//! Whether a register's value is still needed.

use super::body::Body;

/// Registers whose use is not decided after this many instructions count as needed.
const MAX_VISITED: usize = 4096;

impl Body {
    /// Returns whether nothing reads the value that `register` has in front of `position`.
    pub(crate) fn is_dead(&self, register: u32, position: u32) -> bool {
        let mut count = 0;
        self.reach(vec![position], |_, instruction| {
            count += 1;
            if count > MAX_VISITED || instruction.reads(register) {
                return None;
            }
            // An instruction that throws has not written: its handlers count all the same.
            Some(!instruction.writes(register))
        })
    }
}
