//! From a code item to a [`Body`], with the checks that edits rely on.

use super::body::{Body, Catch, Payload, Range};
use super::debug;
use super::instruction::{Instruction, Label, Operand, decode, pair, unit};
use super::opcode::{FILL_ARRAY_DATA, Format, GOTO, GOTO_16, GOTO_32, NOP, PACKED_SWITCH};
use super::scan::{Broken, DATA, PACKED, SPARSE, Scan, Step};
use super::{Code, Handler};
use crate::error::Malformed;

/// Marks an address at which no instruction starts, and an instruction without a label.
const UNSET: u32 = u32::MAX;
/// The data of a switch or an array starts here.
const PAYLOAD: u32 = u32::MAX - 1;

/// Bytes of a code item before its units.
const HEADER: usize = 16;

impl Code<'_> {
    /// An error at an address.
    pub(crate) fn malformed(&self, broken: Broken) -> Malformed {
        let offset = (broken.pc as usize).saturating_mul(2);
        Malformed { at: self.at.saturating_add(HEADER).saturating_add(offset), what: broken.what }
    }

    fn header(&self, what: &'static str) -> Malformed {
        Malformed { at: self.at, what }
    }
}

impl Body {
    /// Reads code.
    ///
    /// Branches lead to instructions, switches and arrays to their data, registers exist, and try ranges ascend. Indices are not
    /// compared with tables: see [`Code::uses`].
    ///
    /// # Errors
    ///
    /// If one of these rules is broken.
    pub fn read(code: &Code<'_>) -> Result<Self, Malformed> {
        if !code.units.len().is_multiple_of(2) || code.units.len() / 2 >= PAYLOAD as usize {
            return Err(code.header("the code has half a unit, or too many"));
        }
        Malformed::when(code.ins > code.registers, code.at, "there are more parameters than registers")?;
        let mut reader = Reader::new(code);
        reader.sweep().map_err(|broken| code.malformed(broken))?;
        reader.resolve().map_err(|broken| code.malformed(broken))?;
        reader.tries().map_err(|what| code.header(what))?;
        reader.debug()?;
        reader.drop_padding();
        Ok(reader.body)
    }
}

struct Reader<'c> {
    code: &'c Code<'c>,
    /// Units.
    end: u32,
    body: Body,
    /// By address: the position of the instruction that starts there.
    position: Vec<u32>,
    /// By position: its label.
    label: Vec<u32>,
    /// The distances of branches and payloads, with the position of the instruction.
    offsets: Vec<(u32, i32)>,
    /// Switch targets that may still be read: a switch's data that many instructions share must not multiply.
    budget: u32,
    /// By address: array data that was read.
    data: std::collections::BTreeMap<u32, u32>,
    has_payloads: bool,
    /// The address behind the last instruction.
    instructions_end: u32,
}

fn broken<T>(pc: u32, what: &'static str) -> Result<T, Broken> {
    Err(Broken { pc, what })
}

impl<'c> Reader<'c> {
    fn new(code: &'c Code<'c>) -> Self {
        let end = (code.units.len() / 2) as u32;
        let &Code { at, registers, ins, outs, .. } = code;
        let body = Body { at, registers, ins, outs, ..Body::default() };
        Self {
            code,
            end,
            body,
            position: vec![UNSET; end as usize],
            label: Vec::new(),
            offsets: Vec::new(),
            budget: end,
            data: std::collections::BTreeMap::new(),
            has_payloads: false,
            instructions_end: 0,
        }
    }

    /// Decodes each instruction.
    fn sweep(&mut self) -> Result<(), Broken> {
        for step in Scan::new(&self.code.units) {
            let (pc, step) = step?;
            let Step::Instruction { opcode, .. } = step else {
                if !pc.is_multiple_of(2) {
                    return broken(pc, "the data of a switch or an array is not aligned");
                }
                self.has_payloads = true;
                self.position[pc as usize] = PAYLOAD;
                continue;
            };
            let Some((mut instruction, offset)) = decode(&self.code.units, pc) else {
                return broken(pc, "a call has more than five arguments");
            };
            self.check_registers(&instruction)?;
            let position = self.body.instructions.len() as u32;
            self.position[pc as usize] = position;
            if opcode.format.has_distance() {
                self.offsets.push((position, offset));
            }
            if matches!(instruction.op, GOTO_16 | GOTO_32) {
                instruction.op = GOTO;
            }
            self.instructions_end = pc + opcode.format.units();
            self.body.instructions.push(instruction);
        }
        self.label = vec![UNSET; self.body.instructions.len()];
        Ok(())
    }

    fn check_registers(&self, instruction: &Instruction) -> Result<(), Broken> {
        let all = u32::from(self.code.registers);
        let outside = |(register, role): (u32, super::opcode::Role)| register + u32::from(role.wide) >= all;
        match instruction.accesses().any(outside) {
            true => broken(instruction.pc, "a register is outside of the method's registers"),
            false => Ok(()),
        }
    }

    /// Returns the label of the instruction at an address.
    fn label_at(&mut self, pc: u32) -> Option<Label> {
        let position = self.position.get(pc as usize).copied().filter(|position| *position < PAYLOAD)?;
        let label = self.label.get_mut(position as usize)?;
        if *label == UNSET {
            *label = self.body.labels.len() as u32;
            self.body.labels.push(position);
        }
        Some(*label)
    }

    fn branch(&mut self, pc: u32, offset: i32) -> Result<Label, Broken> {
        let label = pc.checked_add_signed(offset).and_then(|target| self.label_at(target));
        label.ok_or(Broken { pc, what: "a branch does not lead to an instruction" })
    }

    /// Resolves branches and payloads.
    fn resolve(&mut self) -> Result<(), Broken> {
        for (position, offset) in std::mem::take(&mut self.offsets) {
            let Some(instruction) = self.body.instructions.get(position as usize).copied() else { continue };
            let operand = match instruction.opcode().format {
                Format::F31t => Operand::Payload(self.payload(&instruction, offset)?),
                _ => Operand::Target(self.branch(instruction.pc, offset)?),
            };
            if let Some(instruction) = self.body.instructions.get_mut(position as usize) {
                instruction.operand = operand;
            }
        }
        Ok(())
    }

    /// Reads the payload of a switch or array instruction.
    fn payload(&mut self, instruction: &Instruction, offset: i32) -> Result<u32, Broken> {
        let pc = instruction.pc;
        let lost = Broken { pc, what: "a switch or an array does not lead to its data" };
        let at = pc.checked_add_signed(offset).ok_or(lost)?;
        let mark = match instruction.op {
            FILL_ARRAY_DATA => DATA,
            PACKED_SWITCH => PACKED,
            _ => SPARSE,
        };
        let has_mark = unit(&self.code.units, at).ok_or(lost)? == mark;
        if !has_mark || self.position.get(at as usize) != Some(&PAYLOAD) {
            return Err(lost);
        }
        if let Some(known) = self.data.get(&at) {
            return Ok(*known);
        }
        let count = unit(&self.code.units, at + 1).ok_or(lost)?;
        let keys = self.numbers(at + 2, if mark == SPARSE { count.into() } else { 1 }).ok_or(lost)?;
        let (mut targets, mut bytes) = (Vec::new(), Vec::new());
        let behind = at + 2 + 2 * keys.len() as u32;
        if mark == DATA {
            let elements = keys.first().map_or(0, |elements| elements.cast_unsigned() as usize);
            let length = elements.checked_mul(count.into()).ok_or(lost)?;
            let start = behind as usize * 2;
            let end = start.checked_add(length).ok_or(lost)?;
            bytes = self.code.units.get(start..end).ok_or(lost)?.to_vec();
            self.data.insert(at, self.body.payloads.len() as u32);
        } else {
            let budget = self.budget.checked_sub(count.into());
            self.budget = budget.ok_or(Broken { pc, what: "switches share their data" })?;
            for offset in self.numbers(behind, count.into()).ok_or(lost)? {
                targets.push(self.branch(pc, offset)?);
            }
        }
        self.body.payloads.push(Payload { mark, count, keys, targets, bytes });
        Ok((self.body.payloads.len() - 1) as u32)
    }

    /// Reads numbers of 32 bits from an address on.
    fn numbers(&self, from: u32, count: u32) -> Option<Vec<i32>> {
        (0..count).map(|index| pair(&self.code.units, from + 2 * index).map(u32::cast_signed)).collect()
    }

    /// Returns the position of the first instruction at or behind an address.
    fn position_from(&self, pc: u32) -> u32 {
        self.body.instructions.partition_point(|instruction| instruction.pc < pc) as u32
    }

    fn tries(&mut self) -> Result<(), &'static str> {
        let mut reached = 0;
        for range in &self.code.tries {
            let end = range.start.checked_add(u32::from(range.length)).filter(|end| *end <= self.end);
            let end = end.ok_or("a try range is outside of the code")?;
            if range.start < reached {
                return Err("a try range overlaps another");
            }
            if range.handler >= self.code.handlers.len() {
                return Err("a try range has no handlers");
            }
            reached = end;
            let (start, end) = (self.position_from(range.start), self.position_from(end));
            if start < end {
                self.body.tries.push(Range { start, end, handler: range.handler });
            }
        }
        for Handler { typed, catch_all } in &self.code.handlers {
            let lost = "an exception handler is not an instruction";
            let mut catch = Catch::default();
            for (kind, pc) in typed {
                catch.typed.push((*kind, self.label_at(*pc).ok_or(lost)?));
            }
            if let Some(pc) = catch_all {
                catch.all = Some(self.label_at(*pc).ok_or(lost)?);
            }
            self.body.handlers.push(catch);
        }
        Ok(())
    }

    fn debug(&mut self) -> Result<(), Malformed> {
        let Some(bytes) = &self.code.debug else { return Ok(()) };
        let mut debug = debug::read(bytes).ok_or(self.code.header("the debug information is broken"))?;
        let mut position = 0;
        for event in &mut debug.events {
            // An address within an instruction means the instruction.
            while (position as usize) < self.body.instructions.len()
                && self
                    .body
                    .instructions
                    .get(position as usize + 1)
                    .map_or(self.instructions_end, |next| next.pc)
                    <= event.at
            {
                position += 1;
            }
            event.at = position;
        }
        self.body.debug = Some(debug);
        Ok(())
    }

    /// Removes the `nop` that aligned the data at the end: it is added again where it is needed.
    fn drop_padding(&mut self) {
        let [.., before, last] = self.body.instructions.as_slice() else { return };
        let end = self.body.instructions.len() as u32;
        let labeled = self.label.last().is_some_and(|label| *label != UNSET);
        let covered = self.body.tries.last().is_some_and(|range| range.end == end);
        if last.op == NOP && self.has_payloads && !before.opcode().continues && !labeled && !covered {
            self.body.instructions.pop();
            let events = self.body.debug.iter_mut().flat_map(|debug| &mut debug.events);
            events.for_each(|event| event.at = event.at.min(end - 1));
        }
    }
}
