//! Walks over units without decoding operands.

use super::instruction::{pair, unit};
use super::opcode::{Opcode, opcode};

pub(crate) const PACKED: u16 = 0x0100;
pub(crate) const SPARSE: u16 = 0x0200;
pub(crate) const DATA: u16 = 0x0300;

/// What stands at an address.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    Instruction {
        op: u8,
        opcode: &'static Opcode,
    },
    /// Data of a switch or an array.
    Payload,
}

/// The instructions and payloads of units, in their order. Ends with an error if one is unknown or cut off.
pub(crate) struct Scan<'a> {
    units: &'a [u8],
    pc: u32,
    end: u32,
}

/// Where a walk ended early, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Broken {
    pub(crate) pc: u32,
    pub(crate) what: &'static str,
}

impl<'a> Scan<'a> {
    pub(crate) fn new(units: &'a [u8]) -> Self {
        Self { units, pc: 0, end: u32::try_from(units.len() / 2).unwrap_or(u32::MAX) }
    }

    fn step(&self, pc: u32) -> Result<(Step, u32), &'static str> {
        const CUT: &str = "the code ends within an instruction";
        let first = unit(self.units, pc).ok_or(CUT)?;
        if matches!(first, PACKED | SPARSE | DATA) {
            let length = payload_units(self.units, pc, first)
                .ok_or("the code ends within the data of a switch or an array")?;
            return Ok((Step::Payload, length));
        }
        let op = first as u8;
        let opcode = opcode(op).ok_or("there is no such instruction")?;
        Ok((Step::Instruction { op, opcode }, opcode.format.units()))
    }
}

/// Returns the length of a payload whose header is inside of `units`.
fn payload_units(units: &[u8], pc: u32, first: u16) -> Option<u32> {
    let count = u32::from(unit(units, pc.checked_add(1)?)?);
    match first {
        PACKED => count.checked_mul(2)?.checked_add(4),
        SPARSE => count.checked_mul(4)?.checked_add(2),
        _ => pair(units, pc.checked_add(2)?)?.checked_mul(count)?.div_ceil(2).checked_add(4),
    }
}

impl Iterator for Scan<'_> {
    type Item = Result<(u32, Step), Broken>;

    fn next(&mut self) -> Option<Self::Item> {
        let pc = self.pc;
        if pc >= self.end {
            return None;
        }
        let step = self.step(pc).and_then(|(step, length)| match pc.checked_add(length) {
            Some(next) if next <= self.end => Ok((step, next)),
            _ => Err("the code ends within an instruction, a switch or an array"),
        });
        match step {
            Ok((step, next)) => {
                self.pc = next;
                Some(Ok((pc, step)))
            }
            Err(what) => {
                self.pc = self.end;
                Some(Err(Broken { pc, what }))
            }
        }
    }
}
