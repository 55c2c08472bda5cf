//! Guards: code that drops an error of an inserted call.
//!
//! A call overflows the stack where the app's own instruction would not, and a recorder that cannot allocate throws where the
//! app allocates nothing. If such an error reached the app, it would do harm that the original cannot do. For example, an
//! overflow between `lock.lock()` and the app's `try` leaves the lock locked for ever. So every call of the recorder is
//! covered by a row of the exception table of its own, in front of all others:
//!
//! ```text
//!      store what is on the stack in additional local variables
//!      calls                           <- covered: StackOverflowError and OutOfMemoryError go to h
//!      goto r
//!   h: pop; LOST_ENDS[lost & 15] = ..; lost++    what is left out is noted where a reader would misunderstand it
//!   r: load it again
//! ```
//!
//! These two errors are all that the recorder can throw. Any other exception is the app's, and must reach it: a `ThreadDeath`
//! that another thread sends, or the `InternalError` that the JVM raises some instructions after the app has read a mapped
//! file that was cut short. A handler clears the stack, which is why its contents are stored first. Nothing in a handler can
//! throw: it makes no call, and its fields are those of a class that the call before it has initialized.

use core::ops::Range;

use super::emit::{self, PushId};
use super::flow::{State, Value};
use super::frames::{Frame, object};
use super::local;
use super::stack_map::Type;
use crate::class::class_file::ClassFile;
use crate::class::constant_pool::Appended;
use crate::class::opcodes::{
    BIPUSH, GETSTATIC, GOTO, IADD, IAND, IASTORE, ICONST_1, ICONST_M1, ILOAD, ISTORE, POP, PUTSTATIC,
};
use crate::error::SkipReason;

/// The length of `LOST_ENDS`, a power of two.
const LOST_ENDS_LENGTH: u8 = 16;

/// What is lost with the calls of a guard, for the readers of the recording.
#[derive(Clone, Copy)]
pub(crate) enum Lost {
    /// Nothing that another event depends on.
    Nothing,
    /// The exit of the method with this id.
    Exit(PushId),
    /// The end of a wait.
    WaitEnd,
}

/// The constant pool indices that guards need.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct GuardPool {
    /// The fields `LOST_ENDS` and `lost` of the class that is called; Matrix's class has none.
    pub(crate) lost: Option<[u16; 2]>,
    /// The classes that handlers take, `java/lang/StackOverflowError` and `java/lang/OutOfMemoryError`.
    pub(crate) errors: [u16; 2],
    /// The class `java/lang/Throwable`, as which both arrive at a handler, and any exception at that of the exits.
    pub(crate) throwable: u16,
}

impl GuardPool {
    /// Appends the constants. `notes` is the class that is called, if it has these fields.
    pub(crate) fn append(
        class: &ClassFile<'_>,
        notes: Option<u16>,
        pool: &mut Appended,
    ) -> Result<Self, SkipReason> {
        let names: [&[u8]; 3] =
            [b"java/lang/StackOverflowError", b"java/lang/OutOfMemoryError", b"java/lang/Throwable"];
        let [overflow, no_memory, throwable] = pool.texts(&class.pool, names)?;
        let errors = [pool.class(overflow)?, pool.class(no_memory)?];
        let throwable = pool.class(throwable)?;
        let lost = match notes {
            Some(notes) => {
                let names: [&[u8]; 4] = [b"LOST_ENDS", b"[I", b"lost", b"I"];
                let [ends, ints, lost, int] = pool.texts(&class.pool, names)?;
                Some([pool.field(notes, ends, ints)?, pool.field(notes, lost, int)?])
            }
            None => None,
        };
        Ok(Self { lost, errors, throwable })
    }

    /// Returns how many words of the stack a handler needs.
    pub(crate) fn handler_stack(self) -> u16 {
        if self.lost.is_some() { 3 } else { 1 }
    }

    /// Appends the start of a handler: it drops the error and notes what is lost.
    pub(crate) fn drop_error(self, lost: Lost, out: &mut Vec<u8>) {
        out.push(POP);
        let Some([ends, count]) = self.lost.filter(|_| !matches!(lost, Lost::Nothing)) else { return };
        emit::with_index(GETSTATIC, ends, out);
        emit::with_index(GETSTATIC, count, out);
        out.extend([BIPUSH, LOST_ENDS_LENGTH - 1, IAND]);
        match lost {
            Lost::Exit(id) => id.push(out),
            Lost::WaitEnd | Lost::Nothing => out.push(ICONST_M1),
        }
        out.push(IASTORE);
        emit::with_index(GETSTATIC, count, out);
        out.extend([ICONST_1, IADD]);
        emit::with_index(PUTSTATIC, count, out);
    }

    /// Returns the frame of a handler whose locals are these.
    pub(crate) fn handler_frame(self, locals: Vec<Type>) -> Frame {
        Frame { locals, stack: vec![object(self.throwable)] }
    }

    /// Appends the calls that `emit` writes, guarded. The stack must be empty before and after them.
    pub(crate) fn guard(
        self,
        locals: Vec<Type>,
        lost: Lost,
        out: &mut Vec<u8>,
        emit: impl FnOnce(&mut Vec<u8>) -> Result<(), SkipReason>,
    ) -> Result<Guard, SkipReason> {
        let start = out.len();
        emit(out)?;
        let calls = start..out.len();
        let mut handler = Vec::new();
        self.drop_error(lost, &mut handler);
        out.push(GOTO);
        out.extend_from_slice(&(handler.len() as u16 + 3).to_be_bytes());
        let at = out.len();
        out.extend_from_slice(&handler);
        Ok(Guard { calls, handler: at, resume: out.len(), locals })
    }
}

/// Guarded calls. Positions count from the start of the code that they were appended to.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    pub(crate) calls: Range<usize>,
    pub(crate) handler: usize,
    /// Where the code goes on with an empty stack.
    pub(crate) resume: usize,
    /// The types of the local variables at the handler and at `resume`.
    pub(crate) locals: Vec<Type>,
}

/// Guarded calls and their handler at new positions, for rows of the exception table: one for each error.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) start: u32,
    pub(crate) end: u32,
    pub(crate) handler: u32,
}

impl Guard {
    /// Returns the row and the frames of the guard in code that was placed at `base`.
    pub(crate) fn placed(&self, base: u32, pool: GuardPool) -> (Row, [(u32, Frame); 2]) {
        let at = |position: usize| base + position as u32;
        let row = Row { start: at(self.calls.start), end: at(self.calls.end), handler: at(self.handler) };
        let resume = Frame { locals: self.locals.clone(), stack: Vec::new() };
        (row, [(row.handler, pool.handler_frame(self.locals.clone())), (at(self.resume), resume)])
    }
}

/// The contents of the stack in additional local variables.
#[derive(Default)]
pub(crate) struct Stored<'a> {
    /// The variable and value of each, from the bottom of the stack.
    pub(crate) entries: Vec<(u16, Value<'a>)>,
    /// The first variable that is free.
    pub(crate) free: u16,
}

impl<'a> Stored<'a> {
    /// Gives each of `entries`, the last of which is on top of the stack, a variable from `free` on.
    pub(crate) fn new(entries: Vec<Value<'a>>, free: u16) -> Result<Self, SkipReason> {
        let mut stored = Self { entries: Vec::with_capacity(entries.len()), free };
        for value in entries {
            let variable = stored.free;
            stored.free = variable.checked_add(value.words()).ok_or(SkipReason::TooManyLocals)?;
            stored.entries.push((variable, value));
        }
        Ok(stored)
    }

    /// Appends the stores of all entries.
    pub(crate) fn store(&self, out: &mut Vec<u8>) {
        for (variable, value) in self.entries.iter().rev() {
            local::access(ISTORE + value.kind(), *variable, out);
        }
    }

    /// Appends the loads of these entries.
    pub(crate) fn load(&self, range: Range<usize>, out: &mut Vec<u8>) {
        for (variable, value) in self.entries.get(range).unwrap_or_default() {
            local::access(ILOAD + value.kind(), *variable, out);
        }
    }

    /// Returns the locals of `state` with these variables.
    pub(crate) fn locals(&self, state: &State<'a>, pool: &mut Appended) -> Result<Vec<Type>, SkipReason> {
        let mut state = State { locals: state.locals.clone(), stack: Vec::new() };
        self.entries.iter().for_each(|(variable, value)| state.set_local(*variable, value.clone()));
        state.frame_locals(pool)
    }
}
