//! Where instructions are placed, and how wide branches become.

use super::body::Body;
use super::instruction::{Instruction, Operand};
use super::opcode::{CONST_STRING, GOTO, IF_EQ, IF_LEZ};
use crate::error::Limit;

/// After this many rounds every branch becomes as wide as it gets, so that chains of branches that widen each other end.
const MAX_ROUNDS: u32 = 16;

/// An `if` and the `goto/32` that it skips.
const FAR_IF_UNITS: u8 = 5;

/// The units of each instruction, and its address.
#[derive(Debug)]
pub(crate) struct Layout {
    /// By position.
    pub(crate) units: Vec<u8>,
    /// By position, and of the end: in units.
    pub(crate) addresses: Vec<u32>,
    /// Of each payload.
    pub(crate) payloads: Vec<u32>,
    /// Instructions, padding and payloads: in units.
    pub(crate) length: u32,
}

pub(crate) fn is_if(op: u8) -> bool {
    (IF_EQ..=IF_LEZ).contains(&op)
}

impl Layout {
    /// Lays `body` out. `is_jumbo` says whether a string's index needs more than 16 bits.
    pub(crate) fn new(body: &Body, is_jumbo: impl Fn(u32) -> bool) -> Result<Self, Limit> {
        let mut branches = Vec::new();
        let mut units = Vec::with_capacity(body.instructions.len());
        for (position, instruction) in body.instructions.iter().enumerate() {
            if let Operand::Target(label) = instruction.operand {
                branches.push((position, body.position(label) as usize, instruction.op));
            }
            units.push(match (instruction.op, instruction.operand) {
                (CONST_STRING, Operand::Index(index)) if is_jumbo(index) => 3,
                _ => instruction.opcode().format.units() as u8,
            });
        }
        let mut layout = Self { units, addresses: Vec::new(), payloads: Vec::new(), length: 0 };
        layout.place()?;
        let mut round = 0;
        while layout.widen(&branches, round >= MAX_ROUNDS) {
            layout.place()?;
            round += 1;
        }
        layout.place_payloads(body)?;
        Ok(layout)
    }

    fn place(&mut self) -> Result<(), Limit> {
        self.addresses.clear();
        self.addresses.reserve(self.units.len() + 1);
        let mut at = 0_u32;
        for units in &self.units {
            self.addresses.push(at);
            at = at.checked_add(u32::from(*units)).ok_or(Limit::Branch)?;
        }
        self.addresses.push(at);
        // Distances are signed.
        if at > i32::MAX as u32 { Err(Limit::Branch) } else { Ok(()) }
    }

    pub(crate) fn address(&self, position: u32) -> u32 {
        self.addresses.get(position as usize).or(self.addresses.last()).copied().unwrap_or(0)
    }

    /// Returns how far a branch goes. Addresses are below 2^31.
    pub(crate) fn distance(&self, from: u32, to: u32) -> i32 {
        self.address(to).cast_signed() - self.address(from).cast_signed()
    }

    /// Widens the branches that do not reach. Returns whether there are any.
    fn widen(&mut self, branches: &[(usize, usize, u8)], all: bool) -> bool {
        let mut widened = false;
        for &(position, target, op) in branches {
            let distance = self.distance(position as u32, target as u32);
            let needed = match op {
                GOTO if distance == 0 || all || i16::try_from(distance).is_err() => 3,
                GOTO if i8::try_from(distance).is_err() => 2,
                GOTO => 1,
                op if is_if(op) && (all || i16::try_from(distance).is_err()) => FAR_IF_UNITS,
                _ => 2,
            };
            if let Some(units) = self.units.get_mut(position)
                && *units < needed
            {
                *units = needed;
                widened = true;
            }
        }
        widened
    }

    fn place_payloads(&mut self, body: &Body) -> Result<(), Limit> {
        let mut at = self.address(u32::MAX);
        for payload in &body.payloads {
            at += at % 2;
            self.payloads.push(at);
            let length = u32::try_from(payload.units()).ok();
            let end = length.and_then(|length| at.checked_add(length)).filter(|end| *end < i32::MAX as u32);
            at = end.ok_or(Limit::Branch)?;
        }
        self.length = at;
        Ok(())
    }

    /// Returns whether each instruction that was read still has its address.
    pub(crate) fn is_unmoved(&self, instructions: &[Instruction]) -> bool {
        let moved = |(instruction, address): (&Instruction, &u32)| {
            instruction.pc != Instruction::NEW && instruction.pc != *address
        };
        !instructions.iter().zip(&self.addresses).any(moved)
    }
}
