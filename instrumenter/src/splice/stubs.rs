//! Code that ends a wait when the call throws.
//!
//! For each handler of the method that a waiting call is covered by, there is a stub in front of it, and
//! rows of the exception table that lead the waiting calls to the stub, and the stub to the handler:
//!
//! ```text
//!   stub:  we(kind, null)        the frame here is the one of the handler
//!          athrow                caught by the handler
//! ```
//!
//! A last stub is for what none of the method's own handlers takes. So a wait is over before any code of
//! the program runs again. The stub is covered by what covers the handler's first instruction too: a
//! monitor that is held there is released if the call in the stub throws.
//!
//! The stub throws and does not jump, because HotSpot's first compiler refuses methods in which a
//! handler is reached in both ways.

use trace_format::event::WaitKind;

use super::waits::{Found, WaitCalls};
use crate::class::code::{Code, Handler};
use crate::class::opcodes::ATHROW;
use crate::error::SkipReason;

/// Bound on waits, and on stubs, times rows of the exception table in one method.
const MAX_PAIRS: usize = 1 << 20;

/// Code in front of a handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Stub {
    /// Old position of the handler; `None`, the greatest, is the exit handler.
    pub(crate) target: Target,
    pub(crate) kind: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Target {
    Handler(u16),
    Exit,
}

/// A stub with its new places.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placed {
    pub(crate) stub: Stub,
    pub(crate) at: u32,
    /// Where it ends, with an `athrow`.
    pub(crate) end: u32,
}

/// The stubs that the waits of a method need, sorted; those to the exit handler are the last.
pub(crate) fn needed(code: &Code<'_>, found: &Found) -> Result<Vec<Stub>, SkipReason> {
    let waits = found.kinds.iter().flatten().count();
    if waits.saturating_mul(code.handlers.len()) > MAX_PAIRS {
        return Err(SkipReason::TableFull);
    }
    let mut stubs = Vec::new();
    for (mark, kind) in found.marks.iter().zip(&found.kinds) {
        let Some(kind) = kind.map(|kind| kind.number() as u8) else { continue };
        for row in code.handlers.iter().filter(|row| covers(row, mark.pc)) {
            stubs.push(Stub { target: Target::Handler(row.handler), kind });
        }
        stubs.push(Stub { target: Target::Exit, kind });
    }
    stubs.sort_unstable();
    stubs.dedup();
    if stubs.len().saturating_mul(code.handlers.len()) > MAX_PAIRS {
        return Err(SkipReason::TableFull);
    }
    Ok(stubs)
}

/// Whether an exception at old `pc` is looked for in `row`.
pub(crate) fn covers(row: &Handler, pc: u32) -> bool {
    (u32::from(row.start)..u32::from(row.end)).contains(&pc)
}

/// Appends the stubs to the code, behind which the exit handler comes if there is one.
pub(crate) fn emit(stubs: &[Stub], calls: WaitCalls, out: &mut Vec<u8>) -> Vec<Placed> {
    let mut placed = Vec::with_capacity(stubs.len());
    for &stub in stubs {
        let at = out.len() as u32;
        let kind = WaitKind::from_number(u32::from(stub.kind)).unwrap_or(WaitKind::Blocking);
        calls.end_any(kind, out);
        out.push(ATHROW);
        placed.push(Placed { stub, at, end: out.len() as u32 });
    }
    placed
}
