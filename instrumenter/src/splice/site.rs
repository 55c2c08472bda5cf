//! The code around one instruction that waits, or is a step of concurrent work.
//!
//! What is on the stack is stored in additional local variables first, because a [guard](super::guard) clears the stack:
//!
//! ```text
//!   .. queue item          astore i; astore q; store ..
//!                          guarded: wb(6, q)
//!                          aload q; aload i
//!   Queue.put
//!                          guarded: we(6, null)
//!                          load ..
//! ```
//!
//! Most calls are statements, with nothing below their operands. Then the second load is not needed.
//!
//! A `monitorenter` takes its object from the app's variable again, not from the additional one. HotSpot compiles a method only
//! if it sees that each `monitorexit` has the object of its `monitorenter`, and where two paths meet, as after a guard, it
//! forgets which variables hold the same object (`GenerateOopMap`, `CellTypeState::merge`).

use trace_format::event::ConcurrencyStep;

use super::calls::{Calls, call, call_step};
use super::emit::PushId;
use super::flow::{Around, State, Value};
use super::guard::{Guard, Lost, Stored};
use super::local;
use crate::class::constant_pool::Appended;
use crate::class::descriptor::Types;
use crate::class::opcodes::{
    ACONST_NULL, ALOAD, ILOAD, INVOKEDYNAMIC, INVOKESPECIAL, INVOKESTATIC, Instruction, MONITORENTER,
    MONITOREXIT,
};
use crate::error::SkipReason;
use crate::waits::call_kind::CallKind;
use crate::waits::steps::Operand;

/// A call of the recorder.
pub(crate) enum Call {
    /// A wait begins: its kind and call, as `wb` gets them, and its object.
    Begin(u16, Operand),
    /// A wait ends.
    End(CallKind, Operand),
    /// A monitor was entered.
    Taken(Operand),
    /// A lock is given back.
    Release(Operand),
    /// The call returns whether it took the receiver, a lock.
    Tried,
    /// A step with its objects, the source line or what a task does, and the id of a method.
    Step(ConcurrencyStep, [Operand; 2], u16, PushId),
    /// This code.
    Code(Vec<u8>),
}

/// An instruction, and the calls around it.
pub(crate) struct Site<'a> {
    pub(crate) instruction: Instruction,
    /// The descriptor of the method that it calls.
    pub(crate) descriptor: &'a [u8],
    /// For `monitorenter`, a variable of the app that holds the object: compilers store it for the `monitorexit`. Unknown for an
    /// unusual form.
    pub(crate) held_in: Option<u16>,
    /// Whether it calls a constructor, after which the object may be on top of the stack.
    pub(crate) creates: bool,
    /// The wait that an exception ends.
    pub(crate) wait: Option<CallKind>,
    pub(crate) before: Vec<Call>,
    pub(crate) after: Vec<Call>,
}

/// The code that [`Site::write`] has appended.
pub(crate) struct Written {
    /// Where the instruction comes.
    pub(crate) between: usize,
    /// The first local variable that it leaves free.
    pub(crate) free: u16,
    pub(crate) guards: [Option<Guard>; 2],
}

/// The variables of a call's operands and result.
struct Operands<'s, 'a> {
    stored: &'s Stored<'a>,
    /// The place of the first argument in `stored`, and the number of arguments.
    arguments: (usize, usize),
    receiver: Option<usize>,
    result: Option<(u16, Value<'a>)>,
}

impl Operands<'_, '_> {
    /// Returns the variable of an object that can be passed on.
    fn variable(&self, operand: Operand) -> Option<u16> {
        let place = match operand {
            Operand::None => return None,
            Operand::Receiver => self.receiver?,
            Operand::Argument(number) => {
                let number = usize::from(number);
                self.arguments.0 + Some(number).filter(|&number| number < self.arguments.1)?
            }
            Operand::Result => {
                return self.result.as_ref().filter(|(_, value)| value.is_object()).map(|result| result.0);
            }
        };
        let (variable, value) = self.stored.entries.get(place)?;
        value.is_object().then_some(*variable)
    }

    fn push(&self, operand: Operand, out: &mut Vec<u8>) {
        match self.variable(operand) {
            Some(variable) => local::access(ALOAD, variable, out),
            None => out.push(ACONST_NULL),
        }
    }

    /// True if a call is written: a step or release without its object is left out.
    fn has(&self, what: &Call) -> bool {
        let has = |operand: Operand| operand == Operand::None || self.variable(operand).is_some();
        match what {
            Call::Begin(..) | Call::End(..) | Call::Code(_) => true,
            Call::Taken(object) | Call::Release(object) => has(*object),
            Call::Tried => has(Operand::Receiver) && matches!(self.result, Some((_, Value::Integer))),
            Call::Step(_, objects, ..) => objects.iter().all(|object| has(*object)),
        }
    }

    fn calls(
        &self,
        all: &[&Call],
        calls: Calls,
        pool: &mut Appended,
        out: &mut Vec<u8>,
    ) -> Result<(), SkipReason> {
        for &what in all {
            match what {
                Call::Begin(what, object) => calls.waits.begin(*what, |out| self.push(*object, out), out),
                Call::End(kind, object) => {
                    let object = if kind.takes_lock() { *object } else { Operand::None };
                    calls.waits.end(kind.number(), |out| self.push(object, out), out);
                }
                Call::Taken(object) => calls.steps.taken(|out| self.push(*object, out), out),
                Call::Release(object) => {
                    self.push(*object, out);
                    calls.waits.release(out);
                }
                Call::Tried => {
                    if let Some((taken, _)) = self.result {
                        local::access(ILOAD, taken, out);
                    }
                    self.push(Operand::Receiver, out);
                    call(calls.steps.tried, out);
                }
                Call::Step(step, [object, other], line, method) => {
                    self.push(*object, out);
                    self.push(*other, out);
                    call_step(*step, *line, *method, calls.steps.step, pool, out)?;
                }
                Call::Code(code) => out.extend_from_slice(code),
            }
        }
        Ok(())
    }
}

impl<'a> Site<'a> {
    pub(crate) fn new(instruction: Instruction) -> Self {
        Self {
            instruction,
            descriptor: b"()V",
            held_in: None,
            creates: false,
            wait: None,
            before: Vec::new(),
            after: Vec::new(),
        }
    }

    pub(crate) fn has_steps(&self) -> bool {
        self.before.iter().chain(&self.after).any(|call| matches!(call, Call::Step(..) | Call::Code(_)))
    }

    /// Returns the number of arguments, and whether there is a receiver below them.
    fn shape(&self) -> Result<(usize, bool), SkipReason> {
        if matches!(self.instruction.opcode, MONITORENTER | MONITOREXIT) {
            return Ok((1, false));
        }
        let mut types = Types::try_from(self.descriptor)?;
        let mut arguments = 0;
        while types.next()?.is_some() {
            arguments += 1;
        }
        Ok((arguments, !matches!(self.instruction.opcode, INVOKESTATIC | INVOKEDYNAMIC)))
    }

    /// Appends the code around the instruction, whose states are `around`; returns `None` if nothing was appended. `free` is the first free
    /// local variable.
    pub(crate) fn write(
        &self,
        around: &Around<'a>,
        free: u16,
        calls: Calls,
        pool: &mut Appended,
        out: &mut Vec<u8>,
    ) -> Result<Option<Written>, SkipReason> {
        let (arguments, has_receiver) = self.shape()?;
        let mut entries = around.before.entries();
        let used = arguments + usize::from(has_receiver);
        let below = entries.len().checked_sub(used).ok_or(SkipReason::StackTooDeep)?;
        // The start of a constructor uses no operands. Those of its super call are not objects yet, and stay on the stack.
        let is_start = self.before.is_empty() && matches!(self.after.as_slice(), [Call::Code(_)]);
        if is_start {
            entries.clear();
        }
        let stored = Stored::new(entries, free)?;
        // What is on the stack after the instruction: what was below the operands, and a result.
        let mut left = around.after.entries();
        let results = left.split_off(if is_start { 0 } else { below.min(left.len()) });
        let results = Stored::new(results, stored.free)?;
        let mut kept: Vec<_> = stored.entries.iter().zip(left).map(|((at, _), value)| (*at, value)).collect();
        let result = match self.creates {
            // `new; dup; .. <init>` leaves the object.
            true => kept.last().filter(|_| self.leaves_object(around)).cloned(),
            false => results.entries.first().cloned(),
        };
        let operands = Operands {
            stored: &stored,
            arguments: (below + usize::from(has_receiver), arguments),
            receiver: (has_receiver && !self.creates).then_some(below),
            result,
        };
        let before: Vec<&Call> = self.before.iter().filter(|call| operands.has(call)).collect();
        let after: Vec<&Call> = self.after.iter().filter(|call| operands.has(call)).collect();
        if before.is_empty() && after.is_empty() {
            return Ok(None);
        }

        let (mut first, mut second) = (None, None);
        stored.store(out);
        let is_monitor = self.instruction.opcode == MONITORENTER;
        if is_monitor && self.held_in.is_none() {
            // Unguarded, since the object cannot be loaded again. Where this overflows, the monitor is not entered.
            operands.calls(&before, calls, pool, out)?;
        } else if !before.is_empty() {
            let locals = stored.locals(&around.before, pool)?;
            let emit = |out: &mut Vec<u8>| operands.calls(&before, calls, pool, out);
            first = Some(calls.guard.guard(locals, Lost::Nothing, out, emit)?);
        }
        match self.held_in {
            Some(variable) => local::access(ALOAD, variable, out),
            None => stored.load(below..stored.entries.len(), out),
        }
        let between = out.len();

        // Otherwise a result stays where it is.
        let moves = !after.is_empty() || !kept.is_empty();
        if moves {
            results.store(out);
        }
        let of_call = stored.entries.iter().skip(below).filter(|(_, value)| value.is_object());
        let free = results.free;
        kept.extend(results.entries);
        let kept = Stored { entries: kept, free };
        if !after.is_empty() {
            let mut state = State { locals: around.after.locals.clone(), stack: Vec::new() };
            of_call.for_each(|(at, value)| state.set_local(*at, value.clone()));
            let locals = kept.locals(&state, pool)?;
            let lost = if self.wait.is_some() { Lost::WaitEnd } else { Lost::Nothing };
            let emit = |out: &mut Vec<u8>| operands.calls(&after, calls, pool, out);
            second = Some(calls.guard.guard(locals, lost, out, emit)?);
        }
        if moves {
            kept.load(0..kept.entries.len(), out);
        }
        Ok(Some(Written { between, free, guards: [first, second] }))
    }

    /// True if a copy of the object that a constructor has made is on top of the stack when it returns.
    fn leaves_object(&self, around: &Around<'a>) -> bool {
        let entries = around.before.entries();
        let (arguments, _) = self.shape().unwrap_or_default();
        let receiver = entries.len().checked_sub(arguments + 1);
        let copy = receiver.and_then(|at| at.checked_sub(1));
        let object = |at: Option<usize>| at.and_then(|at| entries.get(at));
        self.instruction.opcode == INVOKESPECIAL
            && matches!(object(receiver), Some(Value::New(_)))
            && object(receiver) == object(copy)
    }
}
