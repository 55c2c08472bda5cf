//! Maps the positions of the old code to the new code.
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
//! A jump to the first traced instruction lands *after* the enter call; otherwise a loop back to it would call enter
//! in each iteration.
//!
//! Code after a wait belongs to the exception range after it, because of monitors: compilers let a handler that
//! releases one start right after `monitorenter` and end right after `monitorexit`. So calls in between are covered,
//! and calls after the release are not; otherwise a stack overflow there would release the monitor twice.

use core::ops::Range;

use crate::class::opcodes::{self, ATHROW, GOTO, Instruction, LOOKUPSWITCH, TABLESWITCH};
use crate::error::{Malformed, SkipReason};

/// The parts of a constructor before its super or this call.
pub(crate) struct Prelude {
    /// By pc: whether the instruction runs before the call, or is the call.
    pub(super) before_super: Vec<bool>,
    /// Sorted: the instructions right after a super or this call.
    pub(crate) bodies: Vec<u32>,
}

impl Prelude {
    #[inline]
    pub(crate) fn contains(&self, pc: u32) -> bool {
        self.before_super.get(pc as usize).copied().unwrap_or(false)
    }
}

/// Code around one instruction that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    /// Old position of the instruction.
    pub(crate) pc: u32,
    /// Old position of the next instruction.
    pub(crate) next: u32,
    /// The code before it, in [`Insertions::mark_code`].
    pub(crate) before: Range<usize>,
    /// The code right after it.
    pub(crate) after: Range<usize>,
}

/// The inserted code; all positions are old ones. The code does not depend on its position.
#[derive(Clone, Copy, Default)]
pub(crate) struct Insertions<'a> {
    /// Sorted: the instructions that the enter code precedes.
    pub(crate) enters: &'a [u32],
    pub(crate) enter: &'a [u8],
    /// Code before each return.
    pub(crate) exit: &'a [u8],
    /// Code before each `athrow`, except for those before a constructor's super call.
    pub(crate) throw: &'a [u8],
    pub(crate) prelude: Option<&'a Prelude>,
    /// Sorted by position.
    pub(crate) marks: &'a [Mark],
    pub(crate) mark_code: &'a [u8],
    /// Sorted: the `goto`s that become `goto_w`.
    pub(crate) widened: &'a [u32],
}

impl<'a> Insertions<'a> {
    #[inline]
    pub(crate) fn widens(&self, pc: u32) -> bool {
        !self.widened.is_empty() && self.widened.binary_search(&pc).is_ok()
    }

    /// Returns the code before `instruction` if it leaves the method.
    pub(crate) fn leaving(&self, instruction: &Instruction) -> &'a [u8] {
        if opcodes::is_return(instruction.opcode) {
            self.exit
        } else if instruction.opcode == ATHROW
            && !self.throw.is_empty()
            && !self.prelude.is_some_and(|prelude| prelude.contains(instruction.pc))
        {
            self.throw
        } else {
            &[]
        }
    }

    pub(crate) fn code_of(&self, part: &Range<usize>) -> &'a [u8] {
        self.mark_code.get(part.clone()).unwrap_or_default()
    }
}

/// Returns a position or length in the new code as a class file holds it.
#[inline]
pub(super) fn short(value: u32) -> Result<u16, SkipReason> {
    u16::try_from(value).map_err(|_| SkipReason::CodeTooLarge)
}

/// Marks a position inside an instruction. New code is far shorter than 2^31 bytes.
const INSIDE: u32 = 1 << 31;

/// The maps from old to new positions, for each byte of the old code and for its end.
#[derive(Default)]
pub(crate) struct Layout {
    before: Vec<u32>,
    insn: Vec<u32>,
    /// Sorted: old positions that the code after a wait precedes, and the length of that code.
    follows: Vec<(u32, u32)>,
}

impl Layout {
    /// Computes the layout of `code`, replacing that of the previous method.
    pub(crate) fn compute(&mut self, code: &[u8], insertions: &Insertions<'_>) -> Result<(), Malformed> {
        self.before.clear();
        self.before.reserve(code.len() + 1);
        self.insn.clear();
        self.insn.reserve(code.len() + 1);
        self.follows.clear();
        let mut at = 0_u32;
        let mut enters = insertions.enters.iter().copied().peekable();
        let mut marks = insertions.marks.iter().peekable();
        for instruction in opcodes::instructions(code) {
            let instruction = instruction?;
            if enters.next_if_eq(&instruction.pc).is_some() {
                at += insertions.enter.len() as u32;
            }
            // A position inside an instruction maps to that of the instruction, because debug information may contain
            // one, and searching backwards for each would be slow in a hostile file.
            let next = instruction.next() as usize;
            self.before.push(at);
            self.before.resize(next, at | INSIDE);
            at += insertions.leaving(&instruction).len() as u32;
            let mark = marks.next_if(|mark| mark.pc == instruction.pc);
            at += mark.map_or(0, |mark| mark.before.len() as u32);
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
            if let Some(mark) = mark.filter(|mark| !mark.after.is_empty()) {
                self.follows.push((mark.next, mark.after.len() as u32));
                at += mark.after.len() as u32;
            }
        }
        self.before.push(at);
        self.insn.push(at);
        Ok(())
    }

    #[inline]
    fn look_up(map: &[u32], pc: u32) -> Result<u32, Malformed> {
        let found = map.get(pc as usize).copied().filter(|&at| at & INSIDE == 0);
        found.ok_or(Malformed { at: pc as usize, what: "this position is inside an instruction" })
    }

    /// Returns where control that reaches old `pc` must go: before an exit call, after an enter call.
    #[inline]
    pub(crate) fn before(&self, pc: u32) -> Result<u32, Malformed> {
        Self::look_up(&self.before, pc)
    }

    /// Returns the new position of the instruction at old `pc`.
    #[inline]
    pub(crate) fn instruction(&self, pc: u32) -> Result<u32, Malformed> {
        Self::look_up(&self.insn, pc)
    }

    /// Returns the new position of an exception range that starts or ends at old `pc`: before the code after the
    /// previous instruction.
    #[inline]
    pub(crate) fn range(&self, pc: u32) -> Result<u32, Malformed> {
        let at = self.before(pc)?;
        let follows = self.follows.binary_search_by_key(&pc, |&(pc, _)| pc).ok();
        Ok(at - follows.and_then(|found| self.follows.get(found)).map_or(0, |&(_, length)| length))
    }

    /// Like [`before`](Self::before), for debug information, which no verifier checks: a position inside an
    /// instruction maps to the instruction, one past the end to the end. The start stays the start, so that the enter
    /// call has the method's first line and arguments.
    pub(crate) fn debug(&self, pc: u32) -> u32 {
        if pc == 0 {
            return 0;
        }
        self.before.get(pc as usize).map_or(self.end(), |at| at & !INSIDE)
    }

    /// Returns the length of the new code, without the handler after it.
    pub(crate) fn end(&self) -> u32 {
        self.before.last().copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::class::opcodes::{IRETURN, RETURN, WIDE};

    const CALL: [u8; 5] = [0; 5];

    fn layout(code: &[u8], enters: &[u32], widened: &[u32]) -> Layout {
        let mut layout = Layout::default();
        layout
            .compute(code, &Insertions { enters, enter: &CALL, exit: &CALL, widened, ..Default::default() })
            .unwrap();
        layout
    }

    #[test]
    fn calls_move_the_code_after_them() {
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
    fn switch_padding_depends_on_the_new_position() {
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
    fn code_around_waits_is_placed_inside_and_outside_of_ranges() {
        let marks = [Mark { pc: 1, next: 2, before: 0..4, after: 4..7 }];
        let insertions = Insertions { marks: &marks, mark_code: &[0; 7], ..Default::default() };
        let mut layout = Layout::default();
        layout.compute(&[0, 0, 0, RETURN], &insertions).unwrap();
        assert_eq!((layout.before(1), layout.instruction(1), layout.range(1)), (Ok(1), Ok(5), Ok(1)));
        assert_eq!((layout.before(2), layout.instruction(2), layout.range(2)), (Ok(9), Ok(9), Ok(6)));
        assert_eq!((layout.range(3), layout.end()), (Ok(10), 11));
    }

    #[test]
    fn widened_jumps_take_five_bytes() {
        let layout = layout(&[GOTO, 0, 3, RETURN], &[], &[0]);
        assert_eq!(layout.before(3), Ok(5));
    }
}
