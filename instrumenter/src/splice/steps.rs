//! The code around a call that is a step of concurrent work.
//!
//! The arguments that lie above a needed object are stored in additional local variables and loaded again, in a straight
//! line: no frame has to know these variables.
//!
//! ```text
//!   .. executor task                astore t; dup; astore e
//!                                   c(t, e, step, method); aload t
//!   execute
//! ```

use trace_format::event::ConcurrencyStep;

use super::emit::PushId;
use super::local;
use crate::class::constant_pool::Appended;
use crate::class::descriptor::{Types, words_of};
use crate::class::opcodes::{ACONST_NULL, ALOAD, ASTORE, DUP, ILOAD, INVOKESTATIC, ISTORE, SWAP};
use crate::error::SkipReason;
use crate::waits::steps::{Operand, Step, StepKind};

/// Stack slots that a call of `c` needs.
pub(crate) const EXTRA_STACK: u16 = 4;

/// Constant pool indices of `c`, `wr` and `wt`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StepCalls {
    pub(crate) step: u16,
    pub(crate) release: u16,
    pub(crate) tried: u16,
}

/// A call site.
pub(crate) struct Site<'a> {
    pub(crate) calls: StepCalls,
    pub(crate) descriptor: &'a [u8],
    pub(crate) is_static: bool,
    /// Whether it is a constructor's, after which the new object is on top of the stack. Before, there is no receiver.
    pub(crate) creates: bool,
    /// Source line of the call; 0 if unknown.
    pub(crate) line: u16,
    /// Id of the method that has the call.
    pub(crate) method: PushId,
    /// The first free local variable.
    pub(crate) free: u16,
}

/// The additional local variables of a call's objects.
#[derive(Default)]
struct Stored {
    receiver: Option<u16>,
    arguments: Vec<Option<u16>>,
}

impl Stored {
    fn of(&self, operand: Operand) -> Option<u16> {
        match operand {
            Operand::Receiver => self.receiver,
            Operand::Argument(number) => self.arguments.get(usize::from(number)).copied().flatten(),
            Operand::None | Operand::Result => None,
        }
    }
}

/// The code around a call, and the first local variable that it leaves free.
pub(crate) struct Around {
    pub(crate) before: Vec<u8>,
    pub(crate) after: Vec<u8>,
    pub(crate) free: u16,
}

/// The opcodes that store and load a value of this type.
fn store_and_load(first: Option<&u8>) -> (u8, u8) {
    let kind = match first {
        Some(b'J') => 1,
        Some(b'F') => 2,
        Some(b'D') => 3,
        Some(b'L' | b'[') => 4,
        _ => 0,
    };
    (ISTORE + kind, ILOAD + kind)
}

/// Appends `c(.., .., step, method)` to what pushed the objects.
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

impl Site<'_> {
    /// Returns the code for `steps`; a step whose objects the call does not have is left out.
    pub(crate) fn around(&self, steps: &[Step], pool: &mut Appended) -> Result<Around, SkipReason> {
        let mut types: Vec<&[u8]> = Vec::new();
        let mut reader = Types::try_from(self.descriptor)?;
        while let Some(argument) = reader.next()? {
            types.push(argument);
        }
        let is_object =
            |kind: Option<&&[u8]>| kind.is_some_and(|kind| matches!(kind.first(), Some(b'L' | b'[')));
        let result = [reader.result()];
        let exists = |operand: Operand| match operand {
            Operand::None => true,
            Operand::Receiver => !self.is_static && !self.creates,
            Operand::Argument(number) => is_object(types.get(usize::from(number))),
            Operand::Result => self.creates || is_object(result.first()),
        };
        let fits = |step: &&Step| match step.kind {
            StepKind::TryLock => result == [b"Z"] && !self.is_static,
            StepKind::Unlock => !self.is_static,
            StepKind::Step(_) => exists(step.object) && exists(step.other),
        };
        let steps: Vec<&Step> = steps.iter().filter(fits).collect();
        let mut around = Around { before: Vec::new(), after: Vec::new(), free: self.free };
        if steps.is_empty() {
            return Ok(around);
        }
        let stored = self.store(&steps, &types, &mut around)?;
        for step in &steps {
            if step.kind.is_after() {
                self.append(step, &stored, pool, &mut around.after)?;
            } else {
                self.append(step, &stored, pool, &mut around.before)?;
            }
        }
        for (number, kind) in types.iter().enumerate() {
            if let Some(Some(variable)) = stored.arguments.get(number) {
                local::access(store_and_load(kind.first()).1, *variable, &mut around.before);
            }
        }
        Ok(around)
    }

    /// Stores what the steps need, and what is above it on the stack.
    fn store(&self, steps: &[&Step], types: &[&[u8]], around: &mut Around) -> Result<Stored, SkipReason> {
        let operands = || steps.iter().flat_map(|step| [step.object, step.other]);
        let receiver = !self.is_static && operands().any(|operand| operand == Operand::Receiver);
        let deepest = operands().filter_map(|operand| match operand {
            Operand::Argument(number) => Some(usize::from(number)),
            _ => None,
        });
        let from = if receiver { 0 } else { deepest.min().unwrap_or(types.len()) };
        let mut stored = Stored { receiver: None, arguments: vec![None; types.len()] };
        let mut take = |words: usize| {
            let variable = around.free;
            around.free = variable.checked_add(words as u16).ok_or(SkipReason::TooManyLocals)?;
            Ok::<u16, SkipReason>(variable)
        };
        for (number, kind) in types.iter().enumerate().skip(from).rev() {
            let variable = take(words_of(kind.first()))?;
            local::access(store_and_load(kind.first()).0, variable, &mut around.before);
            if let Some(slot) = stored.arguments.get_mut(number) {
                *slot = Some(variable);
            }
        }
        if receiver {
            let variable = take(1)?;
            around.before.push(DUP);
            local::access(ASTORE, variable, &mut around.before);
            stored.receiver = Some(variable);
        }
        Ok(stored)
    }

    fn append(
        &self,
        step: &Step,
        stored: &Stored,
        pool: &mut Appended,
        out: &mut Vec<u8>,
    ) -> Result<(), SkipReason> {
        let push = |operand: Operand, out: &mut Vec<u8>| match stored.of(operand) {
            Some(variable) => local::access(ALOAD, variable, out),
            None => out.push(ACONST_NULL),
        };
        let step_of = match step.kind {
            StepKind::Unlock => {
                push(Operand::Receiver, out);
                call(self.calls.release, out);
                return Ok(());
            }
            StepKind::TryLock => {
                out.push(DUP);
                push(Operand::Receiver, out);
                call(self.calls.tried, out);
                return Ok(());
            }
            StepKind::Step(step) => step,
        };
        match (step.object, step.other) {
            (Operand::Result, other) => {
                out.push(DUP);
                push(other, out);
            }
            (object, Operand::Result) => {
                out.push(DUP);
                push(object, out);
                out.push(SWAP);
            }
            (object, other) => {
                push(object, out);
                push(other, out);
            }
        }
        call_step(step_of, self.line, self.method, self.calls.step, pool, out)
    }
}

fn call(method: u16, out: &mut Vec<u8>) {
    out.push(INVOKESTATIC);
    out.extend_from_slice(&method.to_be_bytes());
}
