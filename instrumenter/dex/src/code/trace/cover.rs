//! Handlers for code behind an instruction that takes or releases a lock, or runs while one is held.
//!
//! Android's verifier wants a handler for everything wherever a lock is held and something can throw; each handler must be entered with
//! the same locks on every path.

use std::collections::BTreeSet;

use super::around::is_move_result;
use super::{Untraceable, locks};
use crate::code::body::{Body, Catch, Range};
use crate::code::insert::Cover;
use crate::code::instruction::{Instruction, Label, Operand};
use crate::code::opcode::{MONITOR_ENTER, MONITOR_EXIT, MOVE_EXCEPTION, Role, THROW};

/// The handler of the code behind a `monitor-enter`, which releases the lock.
pub(super) struct Release {
    label: Label,
    /// The register with the lock.
    lock: u16,
    /// The handlers of the `monitor-enter`.
    outer: Option<usize>,
}

impl Body {
    /// Returns which handlers the code behind the instruction at `at` needs. `held` has the locks that are held, by position. `None` if
    /// it cannot have them.
    ///
    /// # Errors
    ///
    /// If a release cannot be recorded: then no lock of the method may be.
    pub(super) fn cover_behind(
        &mut self,
        at: u32,
        held: &[u32],
        releases: &mut Vec<Release>,
    ) -> Result<Option<Cover>, Untraceable> {
        let depth = held.get(at as usize).copied().unwrap_or(0);
        Ok(Some(match self.instructions.get(at as usize) {
            // The handler that releases a lock must not be entered without the lock, also where its range is longer than that.
            Some(Instruction { op: MONITOR_EXIT, .. }) if depth <= 1 => Cover::None,
            Some(Instruction { op: MONITOR_EXIT, .. })
                if self.catch_at(at + 1).is_some_and(|catch| self.expects(catch, depth - 1, held)) =>
            {
                Cover::Next
            }
            Some(Instruction { op: MONITOR_EXIT, registers, .. }) => {
                let outer = self.outer_handler(at, registers[0], depth - 1, held);
                Cover::By(self.add_handler(Catch::all(outer.ok_or(Untraceable::Locks)?)))
            }
            // The method's own handlers need not cover the next instruction, or may need what is written there.
            Some(Instruction { op: MONITOR_ENTER, registers, .. }) => {
                let lock = registers[0];
                let outer = self.handler_at(at);
                let label = self.add_label(self.instructions.len() as u32);
                releases.push(Release { label, lock, outer });
                Cover::By(self.add_handler(Catch::all(label)))
            }
            _ if depth == 0 => Cover::None,
            _ => {
                // A handler of the call has what was in the result's register before.
                let result = self.instructions.get(at as usize + 1).filter(|next| is_move_result(next.op));
                let written: Vec<_> = result.iter().flat_map(|result| result.accesses()).collect();
                let is_read =
                    self.catch_at(at).is_some_and(|catch| self.is_any_read(&written, catch.labels()));
                return Ok((!is_read).then_some(Cover::Previous));
            }
        }))
    }

    /// Returns a handler for the code behind the release at `at`, behind which `depth` locks are still held: that of what follows with
    /// the same locks, or else of where the lock in this register was taken. It can be entered wherever these locks are held if the
    /// code there leaves alone what it reads.
    fn outer_handler(&self, at: u32, lock: u16, depth: u32, held: &[u32]) -> Option<Label> {
        let inside = self.instructions.iter().zip(held).filter(|(_, held)| **held >= depth);
        let written =
            inside.flat_map(|(instruction, _)| instruction.accesses()).filter(|(_, role)| role.writes);
        let written: Vec<_> = written.collect();
        let fitting = |handler: usize| {
            let label = self.handlers.get(handler).filter(|catch| self.expects(catch, depth, held))?.all?;
            (!self.is_any_read(&written, std::iter::once(label))).then_some(label)
        };
        let taken = (0..).zip(&self.instructions).zip(held).filter(|((_, instruction), held)| {
            instruction.op == MONITOR_ENTER && instruction.registers[0] == lock && **held == depth
        });
        let mut taken: Vec<_> = taken.map(|((at, _), _)| self.handler_at(at)).collect();
        taken.dedup();
        // If it is taken in several places, which of them leads here is not known.
        let taken = if let [Some(handler)] = taken[..] { Some(handler) } else { None };
        self.handlers_behind(at, depth, held).into_iter().chain(taken).find_map(fitting)
    }

    /// Whether a handler for everything begins with `depth` locks. That of an inner lock may have a range that goes on behind its release.
    fn expects(&self, catch: &Catch, depth: u32, held: &[u32]) -> bool {
        catch.all.is_some_and(|label| held.get(self.position(label) as usize) == Some(&depth))
    }

    /// Returns the handlers of instructions that are reached from behind `at` with the same `depth` locks.
    fn handlers_behind(&self, at: u32, depth: u32, held: &[u32]) -> Vec<usize> {
        let (mut found, mut seen, mut pending) = (Vec::new(), BTreeSet::new(), vec![at + 1]);
        while let Some(position) = pending.pop() {
            let (Some(instruction), Some(&locks)) =
                (self.instructions.get(position as usize), held.get(position as usize))
            else {
                continue;
            };
            // Behind a release of the last of them, other locks may be taken.
            if locks < depth || !seen.insert(position) {
                continue;
            }
            if locks == depth && locks::can_throw(instruction) {
                found.extend(self.handler_at(position));
            }
            if instruction.op != MONITOR_EXIT || locks > depth {
                self.successors(position, &mut |next| pending.push(next));
            }
        }
        found.dedup();
        found
    }

    /// Whether one of these handlers reads one of these registers.
    fn is_any_read(&self, registers: &[(u32, Role)], mut handlers: impl Iterator<Item = Label>) -> bool {
        let is_read = |label: Label, register: u32| !self.is_dead(register, self.position(label));
        handlers.any(|label| {
            registers.iter().any(|(register, role)| {
                is_read(label, *register) || role.wide && is_read(label, register.saturating_add(1))
            })
        })
    }

    /// Appends the handler of the code behind a `monitor-enter`. The exception goes to this register, which is free.
    pub(super) fn add_release(&mut self, release: Release, exception: u16) {
        let at = self.place_at_end(release.label);
        self.instructions.extend([
            Instruction::new(MOVE_EXCEPTION, &[exception], Operand::None),
            Instruction::new(MONITOR_EXIT, &[release.lock], Operand::None),
            Instruction::new(THROW, &[exception], Operand::None),
        ]);
        // From there on it is as if the lock had never been taken.
        if let Some(handler) = release.outer {
            self.tries.push(Range { start: at + 2, end: at + 3, handler });
        }
    }
}
