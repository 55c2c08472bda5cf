//! Stubs: code that ends a wait when the call throws.
//!
//! Each handler that covers a waiting call gets a stub. Rows of the exception table lead from the waiting calls to
//! the stub, and from the stub to the handler:
//!
//! ```text
//!   stub:  store e               the frame here is the one of the handler
//!          we(kind, null)        guarded: see below
//!          load e; athrow        caught by the handler
//!   h:     pop; lost = ..        the error of `we` is dropped
//!          load e; athrow        caught by the handler
//! ```
//!
//! A last stub is for exceptions that none of the method's handlers takes. So a wait ends before any code of the
//! program runs again.
//!
//! The stub throws instead of jumping, because HotSpot's C1 compiler rejects methods in which a handler is reached in
//! both ways.

use super::calls::WaitCalls;
use super::guard::{GuardPool, Lost, Row};
use super::local;
use super::waits::Found;
use crate::class::code::Code;
use crate::class::opcodes::{ACONST_NULL, ASTORE};
use crate::error::SkipReason;
use crate::waits::call_kind::CallKind;

/// Bound on waits, and on stubs, times rows of the exception table in one method.
const MAX_PAIRS: usize = 1 << 20;

/// A stub for one kind of wait and one handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stub {
    /// Old position of the handler; `None`, the greatest, is the exit handler.
    pub(crate) target: Target,
    pub(crate) kind: CallKind,
}

impl Stub {
    /// The stubs of a method are in the order of their keys.
    pub(super) fn key(&self) -> (Target, u8) {
        (self.target, self.kind.number())
    }

    /// Returns the old position of the handler that it leads to, if it is one of the method's own.
    pub(crate) fn handler(&self) -> Option<u32> {
        match self.target {
            Target::Handler(pc) => Some(u32::from(pc)),
            Target::Exit => None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Target {
    Handler(u16),
    Exit,
}

/// A stub with its new positions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placed {
    pub(crate) stub: Stub,
    pub(crate) at: u32,
    /// The guard of its call.
    pub(crate) guarded: Row,
    /// Where it ends, with an `athrow`. Another is in front of the guard's handler.
    pub(crate) end: u32,
}

/// Returns the stubs that the waits of a method need, sorted; those for the exit handler are last.
pub(crate) fn needed(code: &Code<'_>, found: &Found) -> Result<Vec<Stub>, SkipReason> {
    let waits = found.kinds.iter().flatten().count();
    if waits.saturating_mul(code.handlers.len()) > MAX_PAIRS {
        return Err(SkipReason::TableFull);
    }
    let mut stubs = Vec::new();
    for (mark, kind) in found.marks.iter().zip(&found.kinds) {
        let Some(kind) = *kind else { continue };
        for row in code.handlers.iter().filter(|row| row.covers(mark.pc)) {
            stubs.push(Stub { target: Target::Handler(row.handler), kind });
        }
        stubs.push(Stub { target: Target::Exit, kind });
    }
    stubs.sort_unstable_by_key(Stub::key);
    stubs.dedup();
    if stubs.len().saturating_mul(code.handlers.len()) > MAX_PAIRS {
        return Err(SkipReason::TableFull);
    }
    Ok(stubs)
}

/// Appends the stubs to the code. `thrown` is a free local variable.
pub(crate) fn emit(
    stubs: &[Stub],
    calls: WaitCalls,
    guard: GuardPool,
    thrown: u16,
    out: &mut Vec<u8>,
) -> Vec<Placed> {
    let mut placed = Vec::with_capacity(stubs.len());
    for &stub in stubs {
        let at = out.len() as u32;
        local::access(ASTORE, thrown, out);
        let start = out.len() as u32;
        calls.end(stub.kind.number_thrown(), |out| out.push(ACONST_NULL), out);
        let end = out.len() as u32;
        local::throw(thrown, out);
        let handler = out.len() as u32;
        guard.drop_error(Lost::WaitEnd, out);
        local::throw(thrown, out);
        placed.push(Placed { stub, at, guarded: Row { start, end, handler }, end: out.len() as u32 });
    }
    placed
}
