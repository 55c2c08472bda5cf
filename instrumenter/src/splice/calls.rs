//! The calls of the recorder around waits and steps of concurrent work.

use trace_format::event::ConcurrencyStep;

use super::emit::{PushId, with_index};
use super::guard::GuardPool;
use crate::class::constant_pool::Appended;
use crate::class::opcodes::{ACONST_NULL, BIPUSH, ICONST_0, ICONST_1, INVOKESTATIC, SIPUSH};
use crate::error::SkipReason;

/// Constant pool indices of `wb`, `we` and `wr`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WaitCalls {
    pub(crate) begin: u16,
    pub(crate) end: u16,
    pub(crate) release: u16,
}

impl WaitCalls {
    /// Appends a call of `wb` at the start of a method that takes locks or permits. It overflows the stack where there is too
    /// little room to give them back.
    pub(crate) fn leave_room(self, out: &mut Vec<u8>) {
        self.begin(0, |out| out.push(ACONST_NULL), out);
    }

    /// Appends a call of `wb` for the object that `push` pushes. `what` has the kind of the wait and the call, as
    /// [`CallId::with_kind`](trace_format::event::CallId::with_kind) makes it.
    pub(crate) fn begin(self, what: u16, push: impl FnOnce(&mut Vec<u8>), out: &mut Vec<u8>) {
        push_short(what, out);
        push(out);
        call(self.begin, out);
    }

    /// Appends a call of `we`: a wait of the kind with this number has ended. Only an end that takes a lock needs the object.
    pub(crate) fn end(self, kind: u8, push: impl FnOnce(&mut Vec<u8>), out: &mut Vec<u8>) {
        push_short(kind.into(), out);
        push(out);
        call(self.end, out);
    }

    /// `.. object` to `..`: the monitor is released.
    pub(crate) fn release(self, out: &mut Vec<u8>) {
        call(self.release, out);
    }
}

/// Pushes a number of 15 bits.
fn push_short(number: u16, out: &mut Vec<u8>) {
    match number.to_be_bytes() {
        [0, low @ 0..=5] => out.push(ICONST_0 + low),
        [0, low @ 0..=0x7F] => out.extend_from_slice(&[BIPUSH, low]),
        [high, low] => out.extend_from_slice(&[SIPUSH, high, low]),
    }
}

pub(super) fn call(method: u16, out: &mut Vec<u8>) {
    with_index(INVOKESTATIC, method, out);
}

/// Stack slots that a call of `c` needs.
pub(crate) const EXTRA_STACK: u16 = 4;

/// Constant pool indices of `c` and `wt`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StepCalls {
    pub(crate) step: u16,
    pub(crate) tried: u16,
}

impl StepCalls {
    /// Appends a call of `wt` for the object that `push` pushes, a monitor that was entered.
    pub(crate) fn taken(self, push: impl FnOnce(&mut Vec<u8>), out: &mut Vec<u8>) {
        out.push(ICONST_1);
        push(out);
        call(self.tried, out);
    }
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

/// The constants of the calls around waits and steps.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Calls {
    pub(crate) waits: WaitCalls,
    pub(crate) steps: StepCalls,
    pub(crate) guard: GuardPool,
}
