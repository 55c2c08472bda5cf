//! The state before an instruction: what each register holds and which locks are held.

use crate::types::Types;
use crate::value::Value;

/// Most locks that ART tracks in one method.
const MAX_DEPTH: usize = 32;
/// Stands for a lock on a null constant, which has no register of its own.
const NULL_REGISTER: u32 = u32::MAX;

/// The locks held, outermost first, and which registers refer to them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Locks {
    /// Where each lock was taken.
    stack: Vec<u32>,
    /// For each register that refers to a held lock the set of its depths. Sorted by register, no empty sets.
    depths: Vec<(u32, u32)>,
}

impl Locks {
    fn depths_of(&self, register: u32) -> u32 {
        match self.depths.binary_search_by_key(&register, |entry| entry.0) {
            Ok(position) => self.depths.get(position).map_or(0, |entry| entry.1),
            Err(_) => 0,
        }
    }

    fn set(&mut self, register: u32, depths: u32) {
        match self.depths.binary_search_by_key(&register, |entry| entry.0) {
            Ok(position) if depths == 0 => drop(self.depths.remove(position)),
            Ok(position) => {
                if let Some(entry) = self.depths.get_mut(position) {
                    entry.1 = depths;
                }
            }
            Err(_) if depths == 0 => {}
            Err(position) => self.depths.insert(position, (register, depths)),
        }
    }

    /// Whether another register of `within` refers to the same locks as `register` does here, or it refers to none.
    fn has_alias(&self, register: u32, within: &Self) -> bool {
        let wanted = self.depths_of(register);
        wanted == 0 || within.depths.iter().any(|&(other, depths)| other != register && depths == wanted)
    }
}

/// The state before an instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Line {
    pub(crate) registers: Vec<Value>,
    /// What a `move-result` would get.
    pub(crate) result: [Value; 2],
    /// Whether the super constructor has run on every path; meaningful in constructors.
    pub(crate) this_initialized: bool,
    locks: Locks,
}

impl Line {
    pub(crate) fn new(registers: u32) -> Self {
        Self {
            registers: vec![Value::Undefined; registers as usize],
            result: [Value::Undefined; 2],
            this_initialized: false,
            locks: Locks::default(),
        }
    }

    pub(crate) fn get(&self, register: u32) -> Value {
        self.registers.get(register as usize).copied().unwrap_or(Value::Undefined)
    }

    /// Writes a register; it no longer refers to a lock.
    pub(crate) fn set(&mut self, register: u32, value: Value) {
        self.refine(register, value);
        if !self.locks.depths.is_empty() {
            self.locks.set(register, 0);
        }
    }

    /// Changes what is known of a register that is not written.
    pub(crate) fn refine(&mut self, register: u32, value: Value) {
        if let Some(slot) = self.registers.get_mut(register as usize) {
            *slot = value;
        }
    }

    /// Writes a register pair.
    pub(crate) fn set_wide(&mut self, register: u32, uses: u8) {
        self.set(register, Value::Low(uses));
        self.set(register.saturating_add(1), Value::High(uses));
    }

    /// Copies a reference with its locks.
    pub(crate) fn copy_object(&mut self, to: u32, from: u32) {
        let depths = self.locks.depths_of(from);
        self.set(to, self.get(from));
        if depths != 0 {
            self.locks.set(to, depths);
        }
    }

    /// Replaces a value in all registers that hold it.
    pub(crate) fn replace(&mut self, from: Value, to: Value) {
        for slot in self.registers.iter_mut().filter(|slot| **slot == from) {
            *slot = to;
        }
    }

    /// Makes all registers with `value` a conflict.
    pub(crate) fn invalidate(&mut self, value: Value) {
        for register in 0..self.registers.len() as u32 {
            if self.get(register) == value {
                self.set(register, Value::Conflict);
            }
        }
    }

    /// Returns how many locks are held.
    pub(crate) fn lock_depth(&self) -> usize {
        self.locks.stack.len()
    }

    /// Takes the lock of the reference in `register`; on failure returns the reason.
    pub(crate) fn lock(&mut self, register: u32, pc: u32) -> Result<(), &'static str> {
        let depth = self.locks.stack.len();
        if depth >= MAX_DEPTH {
            return Err("more than 32 locks are held");
        }
        let depths = self.locks.depths_of(register);
        self.locks.set(register, depths | 1 << depth);
        if self.get(register).is_null() {
            let depths = self.locks.depths_of(NULL_REGISTER);
            self.locks.set(NULL_REGISTER, depths | 1 << depth);
        }
        self.locks.stack.push(pc);
        Ok(())
    }

    /// Releases the lock of the reference in `register`; on failure returns the reason.
    pub(crate) fn unlock(&mut self, register: u32) -> Result<(), &'static str> {
        if self.locks.stack.pop().is_none() {
            return Err("monitor-exit without a held lock");
        }
        let bit = 1u32 << self.locks.stack.len();
        let held = self.locks.depths_of(register) & bit != 0;
        let null_held = self.get(register).is_null() && self.locks.depths_of(NULL_REGISTER) & bit != 0;
        if !held && !null_held {
            return Err("monitor-exit does not release the lock taken last");
        }
        for entry in &mut self.locks.depths {
            entry.1 &= !bit;
        }
        self.locks.depths.retain(|entry| entry.1 != 0);
        Ok(())
    }

    /// Merges the state of another path into this one. Returns whether this one changed, and what is wrong with the
    /// locks, if anything.
    pub(crate) fn merge(&mut self, other: &Self, types: &Types<'_>) -> (bool, Option<&'static str>) {
        let mut changed = false;
        for (slot, &incoming) in self.registers.iter_mut().zip(&other.registers) {
            if *slot != incoming {
                let merged = slot.merge(incoming, types);
                changed |= *slot != merged;
                *slot = merged;
            }
        }
        if self.this_initialized && !other.this_initialized {
            self.this_initialized = false;
            changed = true;
        }
        (changed, self.merge_locks(other))
    }

    fn merge_locks(&mut self, other: &Self) -> Option<&'static str> {
        if self.locks.stack.is_empty() && other.locks.stack.is_empty() {
            return None;
        }
        if self.locks.stack.len() != other.locks.stack.len() {
            return Some("paths meet with different lock depths");
        }
        if self.locks.depths == other.locks.depths {
            return None;
        }
        let mut registers: Vec<u32> = [&self.locks, &other.locks]
            .iter()
            .flat_map(|locks| locks.depths.iter().map(|entry| entry.0))
            .filter(|&register| register != NULL_REGISTER)
            .collect();
        registers.sort_unstable();
        registers.dedup();
        for register in registers {
            if self.locks.depths_of(register) == other.locks.depths_of(register) {
                continue;
            }
            // A register that refers to a lock on one path only may be forgotten if another one refers to it on both.
            if !self.locks.has_alias(register, &self.locks) || !other.locks.has_alias(register, &self.locks) {
                return Some("paths meet with locks held through different registers");
            }
            self.locks.set(register, 0);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::TypeId;

    fn line() -> Line {
        let mut line = Line::new(3);
        line.set(0, Value::Reference(TypeId::OBJECT));
        line
    }

    #[test]
    fn locks_are_released_through_any_copy() {
        let mut line = line();
        assert_eq!(line.lock(0, 1), Ok(()));
        line.copy_object(2, 0);
        line.set(0, Value::INT);
        assert_eq!(line.lock_depth(), 1);
        assert_eq!(line.unlock(2), Ok(()));
        assert_eq!(line.lock_depth(), 0);
        assert!(line.unlock(2).is_err());
    }

    #[test]
    fn overwritten_locks_cannot_be_released() {
        let mut line = line();
        assert_eq!(line.lock(0, 1), Ok(()));
        line.set(0, Value::Reference(TypeId::OBJECT));
        assert!(line.unlock(0).is_err());
    }

    #[test]
    fn merges_report_different_locks() {
        let types = Types::empty();
        let mut locked = line();
        assert_eq!(locked.lock(0, 1), Ok(()));
        assert!(locked.clone().merge(&line(), &types).1.is_some());
        let mut copied = locked.clone();
        copied.copy_object(1, 0);
        assert_eq!(copied.clone().merge(&locked, &types).1, None);
        let mut moved = copied.clone();
        moved.set(0, Value::Conflict);
        assert!(locked.clone().merge(&moved, &types).1.is_some());
    }
}
