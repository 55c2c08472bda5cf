//! The exception table: the rows of guards, the old rows moved, with rows for waits between them, and the exit handler's
//! at the end.

use super::guard::Row;
use super::layout::{Layout, Prelude, short};
use super::stubs::{Placed, Stub, Target};
use super::waits::Found;
use crate::class::code::{Code, Handler};
use crate::class::opcodes;
use crate::error::{Malformed, SkipReason};

/// The catch-any handler after the code and the stubs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExitHandler {
    pub(crate) at: u32,
    /// Bytes at the end of the enter code that run with the method's lock.
    pub(crate) after_enter: u32,
    /// Bytes at the start of the exit code before a return, up to where the lock is released.
    pub(crate) release: u32,
    /// Bytes at the start of the handler, up to where the lock is released; 0 without a lock.
    pub(crate) own_release: u32,
    /// The start of the stubs, which it covers.
    pub(crate) stubs: u32,
}

/// The code around the waits of a method.
pub(crate) struct Waited<'a> {
    pub(crate) found: &'a Found,
    pub(crate) stubs: &'a [Placed],
}

impl Waited<'_> {
    #[inline]
    fn stub(&self, wanted: Stub) -> Option<&Placed> {
        let found = self.stubs.binary_search_by_key(&wanted.key(), |placed| placed.stub.key()).ok()?;
        self.stubs.get(found)
    }
}

pub(crate) struct Table {
    pub(crate) rows: Vec<Handler>,
    /// The new index of each old row.
    pub(crate) moved: Vec<u16>,
}

impl Table {
    #[inline]
    fn push(&mut self, start: u32, end: u32, handler: u32, catch_type: u16) -> Result<(), SkipReason> {
        if self.rows.len() >= 0xFFFF {
            return Err(SkipReason::TableFull);
        }
        let row = Handler { start: short(start)?, end: short(end)?, handler: short(handler)?, catch_type };
        self.rows.push(row);
        Ok(())
    }

    /// Builds the table of `code` at its new positions. `errors` are the classes that the handlers of `guards` take.
    pub(crate) fn new(
        (guards, errors): (&[Row], [u16; 2]),
        code: &Code<'_>,
        layout: &Layout,
        prelude: Option<&Prelude>,
        waited: &Waited<'_>,
        exit: Option<ExitHandler>,
    ) -> Result<Self, SkipReason> {
        let rows = Vec::with_capacity(guards.len() * 2 + code.handlers.len() + 2);
        let mut table = Self { rows, moved: Vec::new() };
        for guard in guards {
            table.add_guard(*guard, errors)?;
        }
        table.add_throws(code, layout, waited)?;
        for row in &code.handlers {
            if row.start >= row.end || usize::from(row.handler) >= code.bytes.len() {
                let broken = Malformed { at: code.bytes.len(), what: "a broken exception table row" };
                return Err(broken.into());
            }
            table.add_waits(row, layout, waited)?;
            table.moved.push(table.rows.len() as u16);
            let (start, end) = (layout.range(u32::from(row.start))?, layout.range(u32::from(row.end))?);
            table.push(start, end, layout.before(u32::from(row.handler))?, row.catch_type)?;
        }
        // For exceptions that no row of the method takes.
        table.add_calls(Target::Exit, 0, layout, waited, |_| true)?;
        if let Some(exit) = exit {
            table.add_exits(code, layout, prelude, exit)?;
        }
        Ok(table)
    }

    /// Adds the rows of a guard, before any other row that covers its calls.
    pub(crate) fn add_guard(&mut self, guard: Row, errors: [u16; 2]) -> Result<(), SkipReason> {
        errors.into_iter().try_for_each(|error| self.push(guard.start, guard.end, guard.handler, error))
    }

    /// Adds rows from the throw at the end of each stub to its handler. They come first, because other rows that
    /// cover the stub must not take the exception.
    fn add_throws(
        &mut self,
        code: &Code<'_>,
        layout: &Layout,
        waited: &Waited<'_>,
    ) -> Result<(), SkipReason> {
        for placed in waited.stubs {
            let Target::Handler(handler) = placed.stub.target else { continue };
            for row in code.handlers.iter().filter(|row| row.handler == handler) {
                let to = layout.before(u32::from(handler))?;
                // Each `athrow` is the last instruction before one of these positions.
                for end in [placed.guarded.handler, placed.end] {
                    self.push(end - 1, end, to, row.catch_type)?;
                }
            }
        }
        Ok(())
    }

    /// Adds the rows that must precede `row`: for the waiting calls in it, which go to a stub, and for the stubs of
    /// handlers in it.
    fn add_waits(&mut self, row: &Handler, layout: &Layout, waited: &Waited<'_>) -> Result<(), SkipReason> {
        let target = Target::Handler(row.handler);
        self.add_calls(target, row.catch_type, layout, waited, |pc| row.covers(pc))?;
        for placed in waited.stubs {
            if let Target::Handler(handler) = placed.stub.target
                && row.covers(u32::from(handler))
            {
                let to = layout.before(u32::from(row.handler))?;
                self.push(placed.at, placed.end, to, row.catch_type)?;
            }
        }
        Ok(())
    }

    /// Adds rows from those waiting calls that `is_covered` names to their stubs for `target`.
    fn add_calls(
        &mut self,
        target: Target,
        catch_type: u16,
        layout: &Layout,
        waited: &Waited<'_>,
        is_covered: impl Fn(u32) -> bool,
    ) -> Result<(), SkipReason> {
        for (mark, kind) in waited.found.marks.iter().zip(&waited.found.kinds) {
            let Some(kind) = kind.filter(|_| is_covered(mark.pc)) else { continue };
            let Some(stub) = waited.stub(Stub { target, kind }) else { continue };
            let start = layout.instruction(mark.pc)?;
            self.push(start, start + (mark.next - mark.pc), stub.at, catch_type)?;
        }
        Ok(())
    }

    /// Adds the rows of the exit handler: everything except code before a super call, and returns with their exit
    /// calls.
    fn add_exits(
        &mut self,
        code: &Code<'_>,
        layout: &Layout,
        prelude: Option<&Prelude>,
        exit: ExitHandler,
    ) -> Result<(), SkipReason> {
        let mut start = None;
        for instruction in opcodes::instructions(code.bytes) {
            let instruction = instruction?;
            let at = layout.before(instruction.pc)?;
            if prelude.is_some_and(|prelude| prelude.contains(instruction.pc)) {
                self.close(&mut start, at, exit.at)?;
                continue;
            }
            start.get_or_insert(if instruction.pc == 0 { at - exit.after_enter } else { at });
            if opcodes::is_return(instruction.opcode) {
                self.close(&mut start, at + exit.release, exit.at)?;
            }
        }
        if layout.end() < exit.stubs {
            self.close(&mut start, layout.end(), exit.at)?;
        }
        if exit.stubs < exit.at {
            start.get_or_insert(exit.stubs);
        }
        self.close(&mut start, exit.at, exit.at)?;
        if exit.own_release > 0 {
            // Like compilers do: until the monitor is released, the handler covers itself.
            self.push(exit.at, exit.at + exit.own_release, exit.at, 0)?;
        }
        Ok(())
    }

    fn close(&mut self, start: &mut Option<u32>, end: u32, handler: u32) -> Result<(), SkipReason> {
        match start.take() {
            Some(start) if start < end => self.push(start, end, handler, 0),
            _ => Ok(()),
        }
    }
}
