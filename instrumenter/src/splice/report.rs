//! The list of inserted code, for explanations.

use crate::waits::call_kind::CallKind;

use super::layout::{Insertions, Layout};
use super::stubs::Placed;
use super::waits::Found;
use crate::class::opcodes::{self, ATHROW, MONITOREXIT};

/// The purpose of a piece of inserted code.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The call of `i`.
    Enter,
    /// The wait for a synchronized method's lock, which its exits release. If false, its flag stays: the lock is held
    /// already, and only the owner is recorded.
    Lock(bool),
    /// The call of `o` before a return.
    Return,
    /// The call of `o` before an `athrow`.
    Throw,
    /// A wait of this kind, from before the instruction to after it.
    Wait(CallKind),
    /// The release of a monitor.
    Release,
    /// The end of a wait of this kind when the call throws.
    WaitThrown(CallKind),
    /// The handler that calls `o` for exceptions that leave the method.
    Handler,
}

/// A piece of inserted code.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inserted {
    /// Its purpose.
    pub purpose: Purpose,
    /// Offset in the old code of the instruction it belongs to; `None` after the old code.
    pub old: Option<u32>,
    /// Its offset in the new code.
    pub new: u32,
}

/// Lists the code that was inserted into the old code.
pub(crate) fn insertions(
    code: &[u8],
    layout: &Layout,
    insertions: &Insertions<'_>,
    found: &Found,
    out: &mut Vec<Inserted>,
) {
    out.clear();
    let mut add = |purpose, pc: u32, new: Option<u32>| {
        out.extend(new.map(|new| Inserted { purpose, old: Some(pc), new }));
    };
    let mut marks = insertions.marks.iter().zip(&found.kinds).peekable();
    for instruction in opcodes::instructions(code).map_while(Result::ok) {
        let pc = instruction.pc;
        let before = layout.before(pc).ok();
        if insertions.enters.binary_search(&pc).is_ok() {
            let enter = insertions.enter.len() as u32;
            add(Purpose::Enter, pc, before.and_then(|before| before.checked_sub(enter)));
        }
        if !insertions.leaving(&instruction).is_empty() {
            let purpose = if instruction.opcode == ATHROW { Purpose::Throw } else { Purpose::Return };
            add(purpose, pc, before);
        }
        if let Some((_, kind)) = marks.next_if(|(mark, _)| mark.pc == pc) {
            match kind {
                Some(kind) => add(Purpose::Wait(*kind), pc, before),
                None if instruction.opcode == MONITOREXIT => add(Purpose::Release, pc, before),
                // A constructor is entered after its super call.
                None if insertions.prelude.is_some_and(|prelude| prelude.contains(pc)) => {
                    let after = layout.instruction(pc).ok();
                    add(Purpose::Enter, instruction.next(), after.map(|at| at + instruction.length));
                }
                None => {}
            }
        }
    }
}

/// Adds a synchronized method's lock, which follows the enter call of this length.
pub(crate) fn lock(rewritten: bool, enter_call: u32, out: &mut Vec<Inserted>) {
    if let Some(at) = out.iter().position(|inserted| inserted.purpose == Purpose::Enter) {
        let new = out.get(at).map_or(0, |enter| enter.new) + enter_call;
        out.insert(at + 1, Inserted { purpose: Purpose::Lock(rewritten), old: Some(0), new });
    }
}

/// Adds the code after the old code.
pub(crate) fn after_code(stubs: &[Placed], handler: Option<u32>, out: &mut Vec<Inserted>) {
    for placed in stubs {
        let Placed { stub, at, .. } = *placed;
        out.push(Inserted { purpose: Purpose::WaitThrown(stub.kind), old: stub.handler(), new: at });
    }
    out.extend(handler.map(|new| Inserted { purpose: Purpose::Handler, old: None, new }));
}
