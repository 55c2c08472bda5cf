//! Where each old instruction comes to lie.
//!
//! ```text
//! old pc            new code
//!                   enter call       <- where the method, or a constructor's body, begins
//!  p  iload_1       iload_1          <- before[p] = insn[p]
//!  r  ireturn       exit call        <- before[r]: a jump to the return must pass the call
//!                   ireturn          <- insn[r]: an offset that means the instruction itself
//! end               o(id); athrow    <- before[end]: the catch-any handler
//! ```
//!
//! A jump to the first traced instruction lands *behind* the enter call, or a loop back to it would
//! enter once a round.

use crate::class::opcodes::{self, GOTO, LOOKUPSWITCH, TABLESWITCH};
use crate::error::Malformed;

/// What is inserted where; all positions are old ones.
pub(crate) struct Insertions<'a> {
    /// Sorted: the instructions with the enter call before them.
    pub(crate) enters: &'a [u32],
    /// Length of the enter call, and of each exit call.
    pub(crate) call_length: u32,
    /// Sorted: the `goto`s that have become `goto_w`.
    pub(crate) widened: &'a [u32],
}

impl Insertions<'_> {
    pub(crate) fn enters_at(&self, pc: u32) -> bool {
        self.enters.binary_search(&pc).is_ok()
    }

    pub(crate) fn widens(&self, pc: u32) -> bool {
        !self.widened.is_empty() && self.widened.binary_search(&pc).is_ok()
    }
}

/// Marks a position inside an instruction. New code is far below 2^31 bytes long.
const INSIDE: u32 = 1 << 31;

/// The maps from old to new positions: for each byte of the old code, and for its end.
#[derive(Default)]
pub(crate) struct Layout {
    before: Vec<u32>,
    insn: Vec<u32>,
}

impl Layout {
    /// Lays `code` out; the maps of an earlier method are overwritten.
    pub(crate) fn compute(&mut self, code: &[u8], insertions: &Insertions<'_>) -> Result<(), Malformed> {
        self.before.clear();
        self.before.reserve(code.len() + 1);
        self.insn.clear();
        self.insn.reserve(code.len() + 1);
        let mut at = 0_u32;
        let mut enters = insertions.enters.iter().copied().peekable();
        for instruction in opcodes::instructions(code) {
            let instruction = instruction?;
            if enters.peek() == Some(&instruction.pc) {
                enters.next();
                at += insertions.call_length;
            }
            // A position inside is remembered with that of its instruction: debug information may hold
            // one, and searching backwards for each would take long in a hostile file.
            let next = instruction.next() as usize;
            self.before.push(at);
            self.before.resize(next, at | INSIDE);
            if opcodes::is_return(instruction.opcode) {
                at += insertions.call_length;
            }
            self.insn.push(at);
            self.insn.resize(next, at | INSIDE);
            at += match instruction.opcode {
                TABLESWITCH | LOOKUPSWITCH => {
                    let unpadded = instruction.length - opcodes::switch_padding(instruction.pc);
                    unpadded + opcodes::switch_padding(at)
                }
                GOTO if insertions.widens(instruction.pc) => 5,
                _ => instruction.length,
            };
        }
        self.before.push(at);
        self.insn.push(at);
        Ok(())
    }

    fn look_up(map: &[u32], pc: u32) -> Result<u32, Malformed> {
        let found = map.get(pc as usize).copied().filter(|&at| at & INSIDE == 0);
        found.ok_or(Malformed { offset: pc as usize, what: "this position is inside an instruction" })
    }

    /// Where control that reaches old `pc` must go: before an exit call, behind an enter call.
    pub(crate) fn before(&self, pc: u32) -> Result<u32, Malformed> {
        Self::look_up(&self.before, pc)
    }

    /// Where the instruction at old `pc` itself has gone.
    pub(crate) fn instruction(&self, pc: u32) -> Result<u32, Malformed> {
        Self::look_up(&self.insn, pc)
    }

    /// As [`before`](Self::before) for debug information, which no verifier checks: a position
    /// inside an instruction counts as the instruction's, one past the end as the end. The very
    /// start stays the start, so that the enter call has the method's first line and arguments.
    pub(crate) fn debug(&self, pc: u32) -> u32 {
        if pc == 0 {
            return 0;
        }
        self.before.get(pc as usize).map_or(self.end(), |at| at & !INSIDE)
    }

    /// Length of the new code, without a handler behind it.
    pub(crate) fn end(&self) -> u32 {
        self.before.last().copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::class::opcodes::{IRETURN, RETURN, WIDE};

    fn layout(code: &[u8], enters: &[u32], widened: &[u32]) -> Layout {
        let mut layout = Layout::default();
        layout.compute(code, &Insertions { enters, call_length: 5, widened }).unwrap();
        layout
    }

    #[test]
    fn calls_move_what_is_behind_them() {
        // iconst_1, ireturn, return
        let layout = layout(&[4, IRETURN, RETURN], &[0], &[]);
        assert_eq!((layout.before(0), layout.instruction(0)), (Ok(5), Ok(5)));
        assert_eq!((layout.before(1), layout.instruction(1)), (Ok(6), Ok(11)));
        assert_eq!((layout.before(2), layout.instruction(2)), (Ok(12), Ok(17)));
        assert_eq!(layout.end(), 18);
        assert!(layout.before(4).is_err());
        assert_eq!((layout.debug(0), layout.debug(2), layout.debug(9)), (0, 12, 18));
    }

    #[test]
    fn positions_inside_an_instruction_are_refused_or_rounded_down() {
        let layout = layout(&[WIDE, 21, 0, 1, RETURN], &[0], &[]);
        assert!(layout.before(1).is_err());
        assert_eq!(layout.debug(2), 5);
        assert_eq!(layout.before(4), Ok(9));
    }

    #[test]
    fn switch_padding_follows_the_new_position() {
        // nop*shift, tableswitch 0..=0, return
        for shift in 0..4_u32 {
            let mut code = vec![0; shift as usize];
            code.push(TABLESWITCH);
            code.resize(code.len() + opcodes::switch_padding(shift) as usize, 0);
            for word in [0_i32, 0, 0, 0] {
                code.extend(word.to_be_bytes());
            }
            let behind = code.len() as u32;
            code.push(RETURN);
            let layout = layout(&code, &[0], &[]);
            let switch = layout.instruction(shift).unwrap();
            assert_eq!(switch, shift + 5);
            assert_eq!(layout.before(behind), Ok(switch + 1 + opcodes::switch_padding(switch) + 16));
        }
    }

    #[test]
    fn widened_jumps_take_five_bytes() {
        let layout = layout(&[GOTO, 0, 3, RETURN], &[], &[0]);
        assert_eq!(layout.before(3), Ok(5));
    }
}
