//! The call that records a step of concurrent work.

use trace_format::event::ConcurrencyStep;

use super::emit::PushId;
use crate::class::constant_pool::Appended;
use crate::error::SkipReason;

/// Stack slots that a call of `c` needs.
pub(crate) const EXTRA_STACK: u16 = 4;

/// Constant pool indices of `c` and `wt`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StepCalls {
    pub(crate) step: u16,
    pub(crate) tried: u16,
}

/// Appends `c(.., .., step, method)` to what pushed the objects. `line` is the source line of the call, 0 if it is unknown.
pub(crate) fn call_step(
    step: ConcurrencyStep,
    line: u16,
    method: PushId,
    call: u16,
    pool: &mut Appended,
    out: &mut Vec<u8>,
) -> Result<(), SkipReason> {
    PushId::new(step.number() << 16 | u32::from(line), |value| pool.integer(value))?.push(out);
    method.call(call, out);
    Ok(())
}
