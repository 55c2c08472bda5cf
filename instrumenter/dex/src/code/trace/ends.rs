//! What is recorded where a method is entered and left.
//!
//! ```text
//!     i(id); c(this, null, started, id)           a task's code; a coroutine's second object is this.getCompletion(), null if that throws
//!     c(null, null, finished, id); o(id)          a coroutine's second object is what it returns or throws
//! ```

use super::{Calls, Kind, emit};
use crate::code::instruction::{Instruction, Operand};
use crate::code::opcode::{INVOKE_VIRTUAL, MOVE_RESULT_OBJECT};

/// How a method is a task's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskCode {
    /// The receiver is the task.
    Object,
    /// It does not know the task, as the body of a lambda does not.
    Lambda,
    /// The receiver is a coroutine.
    Coroutine {
        /// Method index of `getCompletion`, which the receiver has.
        completion: u32,
    },
}

/// A task whose code the method is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task {
    #[allow(missing_docs)]
    pub code: TaskCode,
    /// Method index of `c(Object, Object, int, int)`.
    pub call: u32,
    /// The third argument at the start.
    pub started: u32,
    /// The third argument at each end.
    pub finished: u32,
}

/// The calls at the ends of a method.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ends<'t> {
    /// The number for `i`, `o` and `c`.
    pub(super) id: u32,
    pub(super) calls: Calls,
    pub(super) task: Option<&'t Task>,
}

impl Ends<'_> {
    /// How many registers in a row the calls need.
    pub(super) fn width(&self) -> u16 {
        if self.task.is_some() { 4 } else { 1 }
    }

    /// What is recorded at the start, where registers from 0 on are not in use yet. `this` has the receiver.
    pub(super) fn enter(&self, this: u16) -> Vec<Instruction> {
        let mut code = emit::call(0, self.id, self.calls.enter).to_vec();
        let Some(task) = self.task else { return code };
        match task.code {
            TaskCode::Lambda => code.extend([emit::load(0, 0), emit::load(1, 0)]),
            TaskCode::Object => code.extend([emit::move_to(0, this, Kind::Object), emit::load(1, 0)]),
            TaskCode::Coroutine { completion } => code.extend([
                emit::move_to(0, this, Kind::Object),
                // The value if the call throws.
                emit::load(1, 0),
                Instruction::new(INVOKE_VIRTUAL, &[0], Operand::Index(completion)),
                Instruction::new(MOVE_RESULT_OBJECT, &[1], Operand::None),
            ]),
        }
        code.extend([emit::load(2, task.started), emit::load(3, self.id), emit::invoke(task.call, 0, 4)]);
        code
    }

    /// What is recorded at an exit, by way of the registers from `first` on. `value` has the object that the method returns or throws.
    pub(super) fn exit(&self, first: u16, value: Option<u16>) -> Vec<Instruction> {
        let mut code = Vec::new();
        if let Some(task) = self.task {
            let value = value.filter(|_| matches!(task.code, TaskCode::Coroutine { .. }));
            let other = first + 1;
            code.extend([
                emit::load(first, 0),
                value.map_or_else(|| emit::load(other, 0), |value| emit::move_to(other, value, Kind::Object)),
                emit::load(first + 2, task.finished),
                emit::load(first + 3, self.id),
                emit::invoke(task.call, first, 4),
            ]);
        }
        code.extend(emit::call(first, self.id, self.calls.exit));
        code
    }
}
