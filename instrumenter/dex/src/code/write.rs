//! From a [`Body`] to a code item.

use std::borrow::Cow;

use super::body::{Body, Payload};
use super::debug::{self, Debug, Event, What};
use super::indices::Indices;
use super::instruction::{Instruction, Operand, encode};
use super::layout::{Layout, is_if};
use super::opcode::{CONST_STRING, CONST_STRING_JUMBO, GOTO, GOTO_16, GOTO_32, IF_EQ};
use super::{Code, Handler, Try};
use crate::error::{Fault, Limit, Malformed};
use crate::leb128::{sleb_length, uleb_length};
use crate::remap::Remap;
use crate::table::Table;

impl Body {
    /// Lays the code out, with the indices of a new file.
    ///
    /// Branches get the width that they need, `const-string` becomes `const-string/jumbo` where it must, and never back. If the
    /// code had no debug information and addresses have changed, it gets one in which each old instruction has its old address as
    /// its line: without debug information, that is what Android prints as the line number, and what the mapping files of R8
    /// rely on.
    ///
    /// # Errors
    ///
    /// If a limit of the format is exceeded, or if an index is not in the tables.
    pub fn encoded(&self, remap: &Remap) -> Result<Code<'static>, Fault> {
        let indices = Indices { remap, at: self.at };
        let layout = Layout::new(self, |string| indices.is_jumbo(string))?;
        let units = self.units(&layout, indices)?;
        let mut handlers = Vec::with_capacity(self.handlers.len());
        for catch in &self.handlers {
            let address = |label| layout.address(self.position(label));
            let mut handler = Handler { typed: Vec::new(), catch_all: catch.all.map(address) };
            for (kind, label) in &catch.typed {
                handler.typed.push((indices.new_index(Table::Types, *kind)?, address(*label)));
            }
            handlers.push(handler);
        }
        check_handlers(&handlers)?;
        let made = self.debug.is_none() && !layout.is_unmoved(&self.instructions);
        let debug = if made { Some(self.addresses_as_lines()) } else { None };
        let debug = self.debug.as_ref().or(debug.as_ref());
        let debug = debug.map(|debug| debug::write(debug, |at| layout.address(at), indices)).transpose()?;
        let &Self { at, registers, ins, outs, .. } = self;
        let (units, tries, debug) = (Cow::Owned(units), self.encoded_tries(&layout)?, debug.map(Cow::Owned));
        Ok(Code { at, registers, ins, outs, units, tries, handlers, debug })
    }

    /// Returns the length in units that the code has with about the indices that were read.
    pub(crate) fn length(&self) -> Result<u32, Limit> {
        // A few new strings may come before those of the file.
        Ok(Layout::new(self, |string| string > 0xFF00)?.length)
    }

    fn units(&self, layout: &Layout, indices: Indices<'_>) -> Result<Vec<u8>, Fault> {
        let unfit =
            Fault::Malformed(Malformed { at: self.at, what: "an operand does not fit in its instruction" });
        let mut out = Vec::with_capacity(layout.length as usize * 2);
        // The instruction that each payload belongs to: switch targets count from there.
        let mut owners = vec![0; self.payloads.len()];
        for (position, instruction) in self.instructions.iter().enumerate() {
            let position = position as u32;
            let mut instruction = with_new_indices(instruction, indices)?;
            let offset = match instruction.operand {
                Operand::Target(label) => {
                    let distance = layout.distance(position, self.position(label));
                    match layout.units.get(position as usize) {
                        Some(2) if instruction.op == GOTO => instruction.op = GOTO_16,
                        Some(3) if instruction.op == GOTO => instruction.op = GOTO_32,
                        Some(5) if is_if(instruction.op) => {
                            // The opposite test skips a wide goto.
                            instruction.op = ((instruction.op - IF_EQ) ^ 1) + IF_EQ;
                            encode(&instruction, 5, &mut out).ok_or(unfit)?;
                            let far = Instruction::new(GOTO_32, &[], Operand::None);
                            encode(&far, distance.checked_sub(2).ok_or(Limit::Branch)?, &mut out)
                                .ok_or(unfit)?;
                            continue;
                        }
                        _ => {}
                    }
                    distance
                }
                Operand::Payload(payload) => {
                    if let Some(owner) = owners.get_mut(payload as usize) {
                        *owner = position;
                    }
                    let at = layout.payloads.get(payload as usize).copied().ok_or(unfit)?;
                    at.cast_signed() - layout.address(position).cast_signed()
                }
                _ => 0,
            };
            encode(&instruction, offset, &mut out).ok_or(unfit)?;
        }
        for ((payload, at), owner) in self.payloads.iter().zip(&layout.payloads).zip(owners) {
            out.resize(*at as usize * 2, 0);
            put_payload(payload, &|label| layout.distance(owner, self.position(label)), &mut out);
        }
        Ok(out)
    }

    fn encoded_tries(&self, layout: &Layout) -> Result<Vec<Try>, Limit> {
        let mut tries = Vec::with_capacity(self.tries.len());
        for range in &self.tries {
            let (mut start, end) = (layout.address(range.start), layout.address(range.end));
            while start < end {
                let length = u16::try_from(end - start).unwrap_or(u16::MAX);
                tries.push(Try { start, length, handler: range.handler });
                start += u32::from(length);
            }
        }
        if tries.len() > usize::from(u16::MAX) { Err(Limit::Tries) } else { Ok(tries) }
    }

    /// Debug information in which the line of each instruction is its old address. Only instructions that stand in a stack trace
    /// need an entry: those that throw or call, and branches, where threads stop for a dump.
    pub(crate) fn addresses_as_lines(&self) -> Debug {
        let mut events = Vec::new();
        for (position, instruction) in self.instructions.iter().enumerate() {
            let stops = instruction.opcode().can_throw
                || !matches!(instruction.operand, Operand::None | Operand::Literal(_));
            if instruction.pc != Instruction::NEW && (stops || position == 0) {
                events.push(Event { at: position as u32, what: What::Line(instruction.pc) });
            }
        }
        Debug { events, ..Debug::default() }
    }
}

/// Returns an instruction with the indices of a new file.
fn with_new_indices(instruction: &Instruction, indices: Indices<'_>) -> Result<Instruction, Fault> {
    let mut new = *instruction;
    let kind = instruction.opcode().reference;
    match (instruction.operand, kind) {
        (Operand::Index(string), Some(Table::Strings)) => {
            if new.op == CONST_STRING && indices.is_jumbo(string) {
                new.op = CONST_STRING_JUMBO;
            }
            new.operand = Operand::Index(indices.new_index(Table::Strings, string)?);
        }
        (Operand::Index(index), Some(kind)) => {
            new.operand = Operand::Index(u32::from(indices.short(kind, index)?));
        }
        (Operand::Indices(method, proto), _) => {
            let method = indices.short(Table::Methods, u32::from(method))?;
            new.operand = Operand::Indices(method, indices.short(Table::Protos, u32::from(proto))?);
        }
        _ => {}
    }
    Ok(new)
}

fn put_payload(payload: &Payload, distance: &dyn Fn(u32) -> i32, out: &mut Vec<u8>) {
    let Payload { mark, count, keys, targets, bytes } = payload;
    let mut put = |bytes: &[u8]| out.extend_from_slice(bytes);
    put(&mark.to_le_bytes());
    put(&count.to_le_bytes());
    keys.iter().for_each(|key| put(&key.to_le_bytes()));
    targets.iter().for_each(|label| put(&distance(*label).to_le_bytes()));
    put(bytes);
    out.resize(out.len().next_multiple_of(2), 0);
}

/// Checks that 16 bits can address each list of catch clauses.
pub(super) fn check_handlers(handlers: &[Handler]) -> Result<(), Limit> {
    let mut at = uleb_length(u32::try_from(handlers.len()).unwrap_or(u32::MAX));
    for handler in handlers {
        if at > usize::from(u16::MAX) {
            return Err(Limit::Handlers);
        }
        let typed = i32::try_from(handler.typed.len()).map_err(|_| Limit::Handlers)?;
        at += sleb_length(if handler.catch_all.is_some() { -typed } else { typed });
        at += handler.typed.iter().map(|(kind, at)| uleb_length(*kind) + uleb_length(*at)).sum::<usize>();
        at += handler.catch_all.map_or(0, uleb_length);
    }
    Ok(())
}
