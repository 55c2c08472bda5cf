//! The code at the start and the end of a method that is a task's code.

use trace_format::event::ConcurrencyStep;

use super::calls::{StepCalls, call_step};
use super::emit::PushId;
use super::local;
use crate::class::constant_pool::Appended;
use crate::class::opcodes::{ACONST_NULL, ALOAD, ALOAD_0, DUP, INVOKEVIRTUAL};
use crate::error::SkipReason;
use crate::waits::tasks::TaskCode;

/// What a coroutine resumes when it has ended: a method of the class that all of them extend, since Kotlin 1.3.
pub(crate) const COMPLETION: [&str; 3] = [
    "kotlin/coroutines/jvm/internal/BaseContinuationImpl",
    "getCompletion",
    "()Lkotlin/coroutines/Continuation;",
];

/// The code that records when a task's code starts and ends.
pub(crate) struct Task {
    pub(crate) started: Vec<u8>,
    /// Without the object, which a handler of exceptions cannot know: a thread ends its tasks in reverse order. Of a
    /// coroutine, with the result or exception, which is in the variable `result`.
    pub(crate) finished: Vec<u8>,
}

impl Task {
    /// `does` is what the code does besides: `COUNTS_DOWN` and `PUTS` of [`trace_format::event::Concurrency`].
    pub(crate) fn new(
        code: TaskCode,
        does: u16,
        id: PushId,
        result: u16,
        calls: StepCalls,
        pool: &mut Appended,
    ) -> Result<Self, SkipReason> {
        let (started, finished) = match code {
            TaskCode::Object => (vec![ALOAD_0, ACONST_NULL], vec![ACONST_NULL, ACONST_NULL]),
            TaskCode::Lambda => (vec![ACONST_NULL, ACONST_NULL], vec![ACONST_NULL, ACONST_NULL]),
            TaskCode::Coroutine => {
                let [class, name, descriptor] = COMPLETION.map(str::as_bytes);
                let class = pool.class_named(class)?;
                let [name, descriptor] = [pool.utf8(name)?, pool.utf8(descriptor)?];
                let [high, low] = pool.method(class, name, descriptor)?.to_be_bytes();
                let mut finished = vec![ACONST_NULL];
                local::access(ALOAD, result, &mut finished);
                (vec![ALOAD_0, DUP, INVOKEVIRTUAL, high, low], finished)
            }
        };
        let mut task = Self { started, finished };
        call_step(ConcurrencyStep::Started, does, id, calls.step, pool, &mut task.started)?;
        call_step(ConcurrencyStep::Finished, 0, id, calls.step, pool, &mut task.finished)?;
        Ok(task)
    }
}
