//! Checks that need no types: instruction starts, operands, branch targets, payloads, try ranges.

use crate::code::Code;
use crate::file::DexFile;
use crate::instruction::{ARRAY_DATA, Instruction, PACKED_SWITCH, SPARSE_SWITCH};
use crate::opcodes::{Effect, Format, since};

/// A violated rule: pc, rule, detail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) pc: u32,
    pub(crate) rule: &'static str,
    pub(crate) detail: String,
}

impl Fault {
    pub(crate) fn new(pc: u32, rule: &'static str, detail: impl Into<String>) -> Self {
        Self { pc, rule, detail: detail.into() }
    }
}

const START: u8 = 1;
const TARGET: u8 = 2;

/// What is known of each code unit after the checks.
pub(crate) struct Structure {
    flags: Vec<u8>,
    /// All branch targets, handlers and the first instruction, ascending.
    pub(crate) targets: Vec<u32>,
}

impl Structure {
    /// Checks the code of a method.
    pub(crate) fn check(file: &DexFile<'_>, code: &Code) -> Result<Self, Fault> {
        let mut structure = Self { flags: vec![0; code.units.len()], targets: Vec::new() };
        structure.find_starts(code)?;
        structure.check_tries(file, code)?;
        let mut pc = 0;
        while let Some(insn) = Instruction::decode(&code.units, pc as usize) {
            structure.check_instruction(file, code, pc, &insn)?;
            pc += insn.units;
        }
        structure.mark_target(0);
        structure.targets = (0..)
            .zip(&structure.flags)
            .filter(|(_, flags)| **flags & TARGET != 0)
            .map(|(pc, _)| pc)
            .collect();
        Ok(structure)
    }

    /// Whether an instruction or payload starts at `pc`.
    pub(crate) fn is_start(&self, pc: u32) -> bool {
        self.flags.get(pc as usize).is_some_and(|flags| flags & START != 0)
    }

    /// Whether control gets to `pc` by a branch, a handler or the call of the method.
    pub(crate) fn is_target(&self, pc: u32) -> bool {
        self.flags.get(pc as usize).is_some_and(|flags| flags & TARGET != 0)
    }

    fn mark_target(&mut self, pc: u32) {
        if let Some(flags) = self.flags.get_mut(pc as usize) {
            *flags |= TARGET;
        }
    }

    fn find_starts(&mut self, code: &Code) -> Result<(), Fault> {
        if code.units.is_empty() {
            return Err(Fault::new(0, "the method has no instructions", ""));
        }
        let mut pc = 0usize;
        while let Some(flags) = self.flags.get_mut(pc) {
            *flags |= START;
            let insn = Instruction::decode(&code.units, pc);
            let insn =
                insn.ok_or_else(|| Fault::new(pc as u32, "an instruction or payload leaves the code", ""))?;
            pc += insn.units as usize;
        }
        Ok(())
    }

    fn check_tries(&mut self, file: &DexFile<'_>, code: &Code) -> Result<(), Fault> {
        for range in &code.tries {
            if !self.is_start(range.start) {
                return Err(Fault::new(range.start, "a try range starts within an instruction", ""));
            }
        }
        for handler in code.handlers.iter().flatten() {
            let pc = handler.address;
            if !self.is_start(pc) {
                return Err(Fault::new(
                    pc,
                    "a handler starts within an instruction or outside of the code",
                    "",
                ));
            }
            if handler.catches.is_some_and(|index| index as usize >= file.types.len()) {
                return Err(Fault::new(pc, "the type of a handler is outside of the table", ""));
            }
            if matches!(effect_at(code, pc), Some(Effect::MoveResult(_))) {
                return Err(Fault::new(pc, "a handler starts with move-result", ""));
            }
            self.mark_target(pc);
        }
        Ok(())
    }

    fn check_instruction(
        &mut self,
        file: &DexFile<'_>,
        code: &Code,
        pc: u32,
        insn: &Instruction,
    ) -> Result<(), Fault> {
        if insn.effect == Effect::Unused || since(insn.op) > file.version {
            let detail = format!("{:#04x} in version {:03}", insn.op, file.version);
            return Err(Fault::new(pc, "the opcode does not exist", detail));
        }
        if insn.is_payload() && !pc.is_multiple_of(2) {
            return Err(Fault::new(pc, "a payload is not aligned to 4 bytes", ""));
        }
        check_registers(code, pc, insn)?;
        check_index(file, pc, insn)?;
        match insn.effect {
            Effect::Goto | Effect::If(_) => {
                if insn.literal == 0 && insn.format != Format::F30t {
                    return Err(Fault::new(pc, "a branch to itself", insn.name));
                }
                let target = self.target(pc, insn.literal, code)?;
                self.mark_target(target);
            }
            Effect::Switch => self.check_switch(code, pc, insn)?,
            Effect::FillArrayData => {
                let at = self.payload(code, pc, insn)?;
                if code.units.get(at as usize) != Some(&ARRAY_DATA) {
                    return Err(Fault::new(pc, "fill-array-data refers to no array data", ""));
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Returns the pc that is `offset` from `pc`, if a branch may go there.
    fn target(&self, pc: u32, offset: i64, code: &Code) -> Result<u32, Fault> {
        let wrong = |rule: &'static str| Fault::new(pc, rule, format!("offset {offset}"));
        let target = i64::from(pc)
            .checked_add(offset)
            .and_then(|target| u32::try_from(target).ok())
            .filter(|&target| self.is_start(target))
            .ok_or_else(|| wrong("a branch target is no start of an instruction"))?;
        match effect_at(code, target) {
            Some(Effect::MoveException) => Err(wrong("a branch leads to move-exception")),
            Some(Effect::MoveResult(_)) => Err(wrong("a branch leads to move-result")),
            _ => Ok(target),
        }
    }

    fn payload(&self, code: &Code, pc: u32, insn: &Instruction) -> Result<u32, Fault> {
        let at = i64::from(pc).checked_add(insn.literal).and_then(|at| u32::try_from(at).ok());
        let at = at.filter(|&at| (at as usize) < code.units.len());
        let at = at.ok_or_else(|| Fault::new(pc, "a payload is outside of the code", insn.name))?;
        if !at.is_multiple_of(2) {
            return Err(Fault::new(pc, "a payload is not aligned to 4 bytes", insn.name));
        }
        if !self.is_start(at) {
            return Err(Fault::new(pc, "a payload starts within an instruction", insn.name));
        }
        Ok(at)
    }

    fn check_switch(&mut self, code: &Code, pc: u32, insn: &Instruction) -> Result<(), Fault> {
        let at = self.payload(code, pc, insn)?;
        let packed = insn.op == 0x2b;
        let expected = if packed { PACKED_SWITCH } else { SPARSE_SWITCH };
        if code.units.get(at as usize) != Some(&expected) {
            return Err(Fault::new(pc, "a switch refers to no payload of its kind", insn.name));
        }
        let table = Switch { units: &code.units, at: at as usize };
        let count = table.count();
        if packed {
            let first = table.number(2);
            if count > 1 && i64::from(first) + i64::from(count) - 1 > i64::from(i32::MAX) {
                return Err(Fault::new(pc, "the keys of a packed switch overflow", ""));
            }
        } else {
            for key in 1..count {
                if table.number(2 + 2 * (key as usize - 1)) >= table.number(2 + 2 * key as usize) {
                    return Err(Fault::new(pc, "the keys of a sparse switch do not ascend", ""));
                }
            }
        }
        for offset in switch_offsets(&code.units, at) {
            let target = self.target(pc, i64::from(offset), code)?;
            self.mark_target(target);
        }
        Ok(())
    }
}

struct Switch<'c> {
    units: &'c [u16],
    at: usize,
}

impl Switch<'_> {
    fn unit(&self, offset: usize) -> u16 {
        self.units.get(self.at.saturating_add(offset)).copied().unwrap_or(0)
    }

    fn count(&self) -> u32 {
        u32::from(self.unit(1))
    }

    fn number(&self, offset: usize) -> i32 {
        (u32::from(self.unit(offset)) | u32::from(self.unit(offset + 1)) << 16) as i32
    }
}

/// Returns the branch offsets of the switch payload at `at`.
pub(crate) fn switch_offsets(units: &[u16], at: u32) -> impl Iterator<Item = i32> {
    let table = Switch { units, at: at as usize };
    let count = table.count() as usize;
    let first = if table.unit(0) == PACKED_SWITCH { 4 } else { 2 + 2 * count };
    (0..count).map(move |position| table.number(first + 2 * position))
}

fn effect_at(code: &Code, pc: u32) -> Option<Effect> {
    let unit = *code.units.get(pc as usize)?;
    Some(crate::opcodes::opcode(unit.to_le_bytes()[0]).2)
}

fn check_registers(code: &Code, pc: u32, insn: &Instruction) -> Result<(), Fault> {
    const RULE: &str = "a register is outside of the frame";
    let outside =
        |register: u32| Fault::new(pc, RULE, format!("v{register} of {} in {}", code.registers, insn.name));
    let mut widths = insn.effect.widths();
    if insn.format == Format::F12x2 {
        // The first operand is also the left one of the operation.
        widths = [widths[0], widths[2], 0];
    }
    for (register, width) in [insn.a, insn.b, insn.c].into_iter().zip(widths) {
        if width > 0 && register.saturating_add(width) > code.registers {
            return Err(outside(register));
        }
    }
    if !insn.effect.has_result() {
        return Ok(());
    }
    if insn.has_list() {
        if insn.a > 5 {
            return Err(Fault::new(pc, "more than 5 arguments in a register list", insn.name));
        }
        for register in (0..insn.a).filter_map(|position| insn.argument(position)) {
            if register >= code.registers {
                return Err(outside(register));
            }
        }
    } else if insn.c.saturating_add(insn.a) > code.registers {
        return Err(outside(insn.c.saturating_add(insn.a) - 1));
    }
    if insn.effect == Effect::InvokePolymorphic && insn.a == 0 {
        return Err(Fault::new(pc, "invoke-polymorphic has no receiver", ""));
    }
    Ok(())
}

fn check_index(file: &DexFile<'_>, pc: u32, insn: &Instruction) -> Result<(), Fault> {
    let (table, index, size) = match insn.effect {
        Effect::ConstString => ("string", insn.b, file.string_count() as usize),
        Effect::ConstClass
        | Effect::CheckCast
        | Effect::InstanceOf
        | Effect::NewInstance
        | Effect::NewArray
        | Effect::FilledNewArray => ("type", insn.index(), file.types.len()),
        Effect::InstanceGet(_) | Effect::InstancePut(_) => ("field", insn.c, file.fields.len()),
        Effect::StaticGet(_) | Effect::StaticPut(_) => ("field", insn.b, file.fields.len()),
        Effect::Invoke(_) | Effect::InvokePolymorphic => ("method", insn.b, file.methods.len()),
        Effect::InvokeCustom => ("call site", insn.b, file.call_site_count() as usize),
        Effect::ConstMethodHandle => ("method handle", insn.b, file.method_handles as usize),
        Effect::ConstMethodType => ("prototype", insn.b, file.protos.len()),
        _ => return Ok(()),
    };
    let outside = |table: &str, index: u32| {
        Fault::new(pc, "an index is outside of its table", format!("{table} {index} in {}", insn.name))
    };
    if index as usize >= size {
        return Err(outside(table, index));
    }
    if insn.effect == Effect::InvokePolymorphic && insn.proto as usize >= file.protos.len() {
        return Err(outside("prototype", insn.proto));
    }
    let descriptor = file.descriptor(index).unwrap_or_default();
    match insn.effect {
        Effect::NewInstance if !descriptor.starts_with(b"L") => Err(Fault::new(
            pc,
            "new-instance of a type that is no class",
            String::from_utf8_lossy(descriptor),
        )),
        Effect::NewArray | Effect::FilledNewArray if !descriptor.starts_with(b"[") => {
            Err(Fault::new(pc, "a new array of a type that is no array", String::from_utf8_lossy(descriptor)))
        }
        _ => Ok(()),
    }
}
