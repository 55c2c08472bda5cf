//! The calls to insert around the instructions of a method.

use dex::code::trace::{Argument, Around, StaticCall};
use dex::code::{
    Body, INVOKE_INTERFACE, INVOKE_INTERFACE_RANGE, INVOKE_STATIC, INVOKE_STATIC_RANGE, INVOKE_VIRTUAL,
    INVOKE_VIRTUAL_RANGE, Instruction, MONITOR_ENTER, MONITOR_EXIT, Operand as DexOperand,
};
use trace_format::event::{CallId, ConcurrencyStep, WaitKind};

use super::{DexWaits, InClass, tasks};
use crate::app::names;
use crate::waits::steps::{Operand, Step, StepKind};
use crate::waits::{Blocking, CallKind, Known};

/// `invoke-virtual` to `invoke-interface`, and their forms with a range of registers.
const INVOKES: [core::ops::RangeInclusive<u8>; 2] =
    [INVOKE_VIRTUAL..=INVOKE_INTERFACE, INVOKE_VIRTUAL_RANGE..=INVOKE_INTERFACE_RANGE];
const STATIC_INVOKES: [u8; 2] = [INVOKE_STATIC, INVOKE_STATIC_RANGE];

/// Finds the waits and steps of the method at `index` of a class.
pub(super) fn find(waits: &DexWaits<'_>, in_class: &InClass<'_>, index: usize, body: &Body) -> Vec<Around> {
    let id = in_class.ids.get(index).copied().unwrap_or(0);
    let mut sites = Vec::new();
    for (at, instruction) in (0..).zip(body.instructions()) {
        let site = match (instruction.op, instruction.operand) {
            (MONITOR_ENTER, _) => {
                let mut around = Around::default();
                let object = Argument::Object(instruction.registers[0]);
                let kind = CallKind::Wait(WaitKind::Monitor);
                add_wait(waits, (kind, CallId(0)), object, &mut around);
                Some(around)
            }
            (MONITOR_EXIT, _) => Some(Around {
                behind: vec![release(waits, Argument::Object(instruction.registers[0]))],
                ..Around::default()
            }),
            (op, DexOperand::Index(method)) if INVOKES.iter().any(|range| range.contains(&op)) => {
                let of_call = || {
                    let line = body.line_at(at).and_then(|line| u16::try_from(line).ok()).unwrap_or(0);
                    around_call(waits, in_class, instruction, method, (id, line))
                };
                made(waits, in_class, instruction, method).or_else(of_call)
            }
            _ => None,
        };
        sites.extend(site.map(|site| Around { at, ..site }));
    }
    sites
}

/// Adds the calls next to an instruction that waits for `object`.
fn add_wait(waits: &DexWaits<'_>, (kind, call): (CallKind, CallId), object: Argument, around: &mut Around) {
    let end = if kind.takes_lock() { object } else { Argument::Null };
    around.before.push(wait(waits.calls.begin, call.with_kind(kind.number()), object));
    around.behind.insert(0, wait(waits.calls.end, kind.number().into(), end));
    around.thrown = Some(wait(waits.calls.end, kind.number_thrown().into(), Argument::Null));
}

fn wait(method: u32, what: u16, object: Argument) -> StaticCall {
    StaticCall { method, arguments: vec![Argument::Number(what.into()), object] }
}

fn release(waits: &DexWaits<'_>, object: Argument) -> StaticCall {
    StaticCall { method: waits.calls.release, arguments: vec![object] }
}

/// The constructor of a lambda's class, if the lambda is a task.
fn made(waits: &DexWaits<'_>, in_class: &InClass<'_>, call: &Instruction, method: u32) -> Option<Around> {
    let constructor = in_class.dex.methods.get(method as usize)?;
    let body = waits.lambdas.task(constructor.class)?;
    if names::string(in_class.dex, constructor.name) != "<init>" {
        return None;
    }
    let position = body.and_then(|body| in_class.position(body));
    let id = position.and_then(|position| in_class.ids.get(position)).copied().unwrap_or(0);
    let does = position.map_or(0, |position| tasks::does(waits, in_class, position));
    let object = Argument::Object(call.registers[0]);
    let created = step(waits, [object, Argument::Null], ConcurrencyStep::Created, does, id);
    Some(Around { behind: vec![created], ..Around::default() })
}

/// `c(objects, step, id)`; `line` is a source line, or what a task's code does.
fn step(
    waits: &DexWaits<'_>,
    [object, other]: [Argument; 2],
    step: ConcurrencyStep,
    line: u16,
    id: u32,
) -> StaticCall {
    let number = Argument::Number(tasks::number(step, line));
    StaticCall { method: waits.calls.step, arguments: vec![object, other, number, Argument::Number(id)] }
}

/// The arguments of a call, and what it returns.
struct Values {
    /// `None` of a static method and of a constructor, whose receiver is not an object yet.
    receiver: Option<Argument>,
    /// By argument: the object, `None` of a number.
    arguments: Vec<Option<Argument>>,
    result: Option<Argument>,
    is_boolean: bool,
}

impl Values {
    fn of(in_class: &InClass<'_>, call: &Instruction, method: u32, creates: bool) -> Option<Self> {
        let dex = in_class.dex;
        let method = dex.methods.get(method as usize)?;
        let proto = dex.protos.get(method.proto as usize)?;
        let mut registers = call.registers().map(|register| register as u16);
        let receiver = match STATIC_INVOKES.contains(&call.op) {
            true => None,
            false => Some(Argument::Object(registers.next()?)),
        };
        let mut arguments = Vec::with_capacity(proto.parameters.len());
        for &kind in &proto.parameters {
            let descriptor = dex.descriptor(kind)?;
            let register = registers.next()?;
            if let [b'J' | b'D'] = descriptor {
                registers.next()?;
            }
            arguments.push(is_object(descriptor).then_some(Argument::Object(register)));
        }
        let result = dex.descriptor(proto.result)?;
        Some(Self {
            receiver: receiver.filter(|_| !creates),
            arguments,
            // A constructor has the new object in its first register.
            result: if creates { receiver } else { is_object(result).then_some(Argument::Result(true)) },
            is_boolean: result == b"Z",
        })
    }

    /// The argument for an operand; `None` if the call does not have that object.
    fn argument(&self, operand: Operand) -> Option<Argument> {
        match operand {
            Operand::None => Some(Argument::Null),
            Operand::Receiver => self.receiver,
            Operand::Argument(number) => self.arguments.get(usize::from(number)).copied().flatten(),
            Operand::Result => self.result,
        }
    }
}

fn is_object(descriptor: &[u8]) -> bool {
    matches!(descriptor.first(), Some(b'L' | b'['))
}

/// A call that is listed. `place` is the id of the method that has the call, and the source line.
fn around_call(
    waits: &DexWaits<'_>,
    in_class: &InClass<'_>,
    call: &Instruction,
    method: u32,
    place: (u32, u16),
) -> Option<Around> {
    let Known { blocking, steps, creates } = waits.known(method)?;
    let values = Values::of(in_class, call, method, *creates)?;
    let mut around = Around::default();
    for one in steps {
        let Some(recorded) = of_step(waits, one, &values, place) else { continue };
        if one.kind.is_after() { &mut around.behind } else { &mut around.before }.push(recorded);
    }
    if let Some(Blocking { kind, call, on }) = *blocking {
        add_wait(waits, (kind, call), values.argument(on).unwrap_or(Argument::Null), &mut around);
    }
    (around != Around::default()).then_some(around)
}

fn of_step(waits: &DexWaits<'_>, one: &Step, values: &Values, (id, line): (u32, u16)) -> Option<StaticCall> {
    Some(match one.kind {
        StepKind::Unlock => release(waits, values.receiver?),
        StepKind::TryLock if values.is_boolean => StaticCall {
            method: waits.calls.tried,
            arguments: vec![Argument::Result(false), values.receiver?],
        },
        StepKind::TryLock => return None,
        StepKind::Step(kind) => {
            let objects = [values.argument(one.object)?, values.argument(one.other)?];
            step(waits, objects, kind, line, id)
        }
    })
}
