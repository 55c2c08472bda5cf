//! The code at the start and the end of a method that is a task's code.

use trace_format::event::ConcurrencyStep;

use super::emit::PushId;
use super::steps::{StepCalls, call_step};
use crate::class::constant_pool::Appended;
use crate::class::opcodes::{ACONST_NULL, ALOAD_0};
use crate::error::SkipReason;
use crate::waits::tasks::TaskCode;

/// The code that records when a task's code starts and ends.
pub(crate) struct Task {
    pub(crate) started: Vec<u8>,
    /// Without the object, which a handler of exceptions cannot know: a thread ends its tasks in reverse order.
    pub(crate) finished: Vec<u8>,
}

impl Task {
    /// `does` is what the code does besides: `COUNTS_DOWN` and `PUTS` of [`trace_format::event::Concurrency`].
    pub(crate) fn new(
        code: TaskCode,
        does: u16,
        id: PushId,
        calls: StepCalls,
        pool: &mut Appended,
    ) -> Result<Self, SkipReason> {
        let object = match code {
            TaskCode::OfObject => ALOAD_0,
            TaskCode::OfLambda => ACONST_NULL,
        };
        let mut task = Self { started: vec![object, ACONST_NULL], finished: vec![ACONST_NULL, ACONST_NULL] };
        call_step(ConcurrencyStep::Started, does, id, calls.step, pool, &mut task.started)?;
        call_step(ConcurrencyStep::Finished, 0, id, calls.step, pool, &mut task.finished)?;
        Ok(task)
    }
}
