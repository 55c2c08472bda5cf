//! How much the checks notice: right code is damaged in one place at a time.
//!
//! Not every damage is a fault: another register may hold the same type. The shares are for comparison between versions
//! of this crate, and to see that no kind of damage goes unnoticed.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;

use crate::code::Code;
use crate::error::ReadError;
use crate::flow::Context;
use crate::instruction::Instruction;
use crate::opcodes::{Call, Effect, Format};
use crate::report::{Finding, Severity};
use crate::verify::{Work, check_code, contexts, methods};

/// How much of one kind of damage was noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// What was done to the code.
    pub kind: &'static str,
    /// How often.
    pub made: u64,
    /// How often a new error or lock warning was the answer.
    pub noticed: u64,
}

/// Damages every `step`-th instruction of an app in all ways that fit it, one at a time, and checks its method.
///
/// # Errors
///
/// As for [`verify_app`](crate::verify_app).
pub fn self_check(dexes: &[&[u8]], step: usize) -> Result<Vec<Share>, ReadError> {
    let mut totals: BTreeMap<&'static str, (u64, u64)> = BTreeMap::new();
    for context in contexts(dexes)? {
        let work = methods(&context);
        let counts: Vec<_> = work
            .par_iter()
            .enumerate()
            .map(|(offset, work)| damage_method(&context, work, offset, step))
            .collect();
        for (kind, (made, noticed)) in counts.into_iter().flatten() {
            let total = totals.entry(kind).or_default();
            total.0 += made;
            total.1 += noticed;
        }
    }
    Ok(totals.into_iter().map(|(kind, (made, noticed))| Share { kind, made, noticed }).collect())
}

fn damage_method(
    context: &Context<'_>,
    work: &Work<'_>,
    offset: usize,
    step: usize,
) -> BTreeMap<&'static str, (u64, u64)> {
    let mut counts = BTreeMap::new();
    let Ok(code) = Code::read(context.file.bytes, work.method.code) else { return counts };
    if work.method.code == 0 {
        return counts;
    }
    let before = serious(&check_code(context, work, &code).findings);
    let mut position = offset;
    let mut pc = 0;
    while let Some(insn) = Instruction::decode(&code.units, pc as usize) {
        if !insn.is_payload() && position.is_multiple_of(step.max(1)) {
            for (kind, damaged) in damages(context, &code, pc, &insn) {
                let after = serious(&check_code(context, work, &damaged).findings);
                let count: &mut (u64, u64) = counts.entry(kind).or_default();
                count.0 += 1;
                count.1 += u64::from(!after.is_subset(&before));
            }
        }
        position += 1;
        pc += insn.units;
    }
    counts
}

fn serious(findings: &[Finding]) -> BTreeSet<(Severity, &'static str)> {
    let serious = |finding: &&Finding| matches!(finding.severity, Severity::Error | Severity::Lock);
    findings.iter().filter(serious).map(|finding| (finding.severity, finding.rule)).collect()
}

/// Returns the code with the instruction at `pc` damaged in each way that fits it.
fn damages(context: &Context<'_>, code: &Code, pc: u32, insn: &Instruction) -> Vec<(&'static str, Code)> {
    let mut all = Vec::new();
    let mut add = |kind: &'static str, change: &dyn Fn(&mut Code)| {
        let mut damaged = code.clone();
        change(&mut damaged);
        if damaged.units != code.units || damaged.tries != code.tries || damaged.handlers != code.handlers {
            all.push((kind, damaged));
        }
    };
    let next = pc + insn.units;
    let remove = |code: &mut Code| {
        for at in pc..next {
            if let Some(unit) = code.units.get_mut(at as usize) {
                *unit = 0;
            }
        }
    };
    let other = |register: u32| (register + 1) % code.registers.max(1);
    let widths = insn.effect.widths();
    if widths[0] > 0 {
        let reads = matches!(
            insn.effect,
            Effect::Return(_)
                | Effect::MonitorEnter
                | Effect::MonitorExit
                | Effect::CheckCast
                | Effect::FillArrayData
                | Effect::Throw
                | Effect::Switch
                | Effect::If(_)
                | Effect::ArrayPut(_)
                | Effect::InstancePut(_)
                | Effect::StaticPut(_)
        );
        let kind = if reads { "another register is read" } else { "another register is written" };
        add(kind, &|code| set_first(code, pc, insn, other(insn.a)));
    }
    if widths[1] > 0 {
        add("another register is read", &|code| set_second(code, pc, insn, other(insn.b)));
    }
    let constructor =
        context.file.methods.get(insn.b as usize).and_then(|method| context.file.string(method.name));
    match insn.effect {
        Effect::MoveResult(_) => add("move-result is removed", &remove),
        Effect::MoveException => add("move-exception is removed", &remove),
        Effect::MonitorEnter | Effect::MonitorExit => {
            add("monitor-enter or monitor-exit is removed", &remove)
        }
        Effect::CheckCast => add("check-cast is removed", &remove),
        Effect::Move(_) => add("a move is removed", &remove),
        Effect::Const | Effect::ConstWide | Effect::ConstString => add("a constant is removed", &remove),
        Effect::Return(_) | Effect::ReturnVoid | Effect::Throw | Effect::Goto => {
            add("a return, throw or goto is removed", &remove);
        }
        Effect::Invoke(Call::Direct) if constructor == Some(b"<init>") => {
            add("a constructor call is removed", &remove);
        }
        _ => {}
    }
    if insn.effect.has_result() && insn.a > 0 {
        add("an invoke is removed", &remove);
        add("an invoke passes another first register", &|code| {
            set_unit(code, pc + 2, |unit| {
                let register = other(insn.argument(0).unwrap_or_default()) as u16;
                if insn.has_list() { unit & 0xfff0 | register & 15 } else { register }
            });
        });
        add("an invoke passes one register less", &|code| {
            set_unit(code, pc, |unit| unit.wrapping_sub(if insn.has_list() { 0x1000 } else { 0x0100 }));
        });
    }
    if matches!(insn.effect, Effect::Invoke(_)) {
        add("an invoke calls the next method of the table", &|code| {
            set_unit(code, pc + 1, |unit| unit.wrapping_add(1))
        });
    }
    if matches!(
        insn.effect,
        Effect::InstanceGet(_) | Effect::InstancePut(_) | Effect::StaticGet(_) | Effect::StaticPut(_)
    ) {
        add("an access uses the next field of the table", &|code| {
            set_unit(code, pc + 1, |unit| unit.wrapping_add(1))
        });
    }
    if matches!(insn.effect, Effect::Goto | Effect::If(_)) {
        add("a branch goes one unit farther", &|code| {
            let (at, by) = if insn.format == Format::F10t { (pc, 0x0100) } else { (pc + 1, 1) };
            set_unit(code, at, |unit| unit.wrapping_add(by));
        });
    }
    for (list, handlers) in code.handlers.iter().enumerate() {
        for (position, handler) in handlers.iter().enumerate().filter(|(_, handler)| handler.address == pc) {
            let mut move_to = |kind: &'static str, address: u32| {
                add(kind, &|code| {
                    let handler = code.handlers.get_mut(list).and_then(|list| list.get_mut(position));
                    if let Some(handler) = handler {
                        handler.address = address;
                    }
                });
            };
            move_to("a handler starts one instruction later", handler.address + insn.units);
            move_to("a handler starts one unit earlier", handler.address.saturating_sub(1));
        }
    }
    for (position, range) in code.tries.iter().enumerate() {
        let before =
            position.checked_sub(1).and_then(|before| code.tries.get(before)).map_or(0, |before| before.end);
        if range.start == pc && before < range.start {
            add("a try range starts as early as possible", &|code| {
                if let Some(range) = code.tries.get_mut(position) {
                    range.start = before;
                }
            });
        }
        let after = code.tries.get(position + 1).map_or(code.units.len() as u32, |after| after.start);
        if range.start == pc && range.end < after {
            add("a try range ends as late as possible", &|code| {
                if let Some(range) = code.tries.get_mut(position) {
                    range.end = after;
                }
            });
        }
    }
    all
}

fn set_unit(code: &mut Code, at: u32, change: impl Fn(u16) -> u16) {
    if let Some(unit) = code.units.get_mut(at as usize) {
        *unit = change(*unit);
    }
}

/// Writes the first register operand of the instruction at `pc`.
fn set_first(code: &mut Code, pc: u32, insn: &Instruction, register: u32) {
    let register = register as u16;
    match insn.format {
        Format::F12x | Format::F12x2 | Format::F11n | Format::F22t | Format::F22s | Format::F22c => {
            set_unit(code, pc, |unit| unit & 0xf0ff | (register & 15) << 8);
        }
        Format::F32x => set_unit(code, pc + 1, |_| register),
        _ => set_unit(code, pc, |unit| unit & 0x00ff | register << 8),
    }
}

/// Writes the second register operand of the instruction at `pc`.
fn set_second(code: &mut Code, pc: u32, insn: &Instruction, register: u32) {
    let register = register as u16;
    match insn.format {
        Format::F12x | Format::F12x2 | Format::F22t | Format::F22s | Format::F22c => {
            set_unit(code, pc, |unit| unit & 0x0fff | (register & 15) << 12);
        }
        Format::F22x => set_unit(code, pc + 1, |_| register),
        Format::F32x => set_unit(code, pc + 2, |_| register),
        _ => set_unit(code, pc + 1, |unit| unit & 0xff00 | register & 0xff),
    }
}
