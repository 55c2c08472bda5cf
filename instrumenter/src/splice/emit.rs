//! Writes the new code according to a [`Layout`].

use super::layout::{Insertions, Layout};
use crate::class::opcodes::{
    self, BIPUSH, GOTO, GOTO_W, ICONST_0, INVOKESTATIC, LDC, LDC_W, LOOKUPSWITCH, RET, SIPUSH, TABLESWITCH,
    WIDE,
};
use crate::error::{Malformed, SkipReason};

/// The instruction that pushes a method's id.
#[derive(Clone, Copy)]
pub(crate) struct PushId {
    bytes: [u8; 3],
    length: u8,
}

impl PushId {
    /// Returns the shortest push of `id`; only ids above 32,767 need a constant pool entry.
    pub(crate) fn new(
        id: u32,
        constant: impl FnOnce(u32) -> Result<u16, SkipReason>,
    ) -> Result<Self, SkipReason> {
        let (bytes, length) = match id {
            0..=5 => ([ICONST_0 + id as u8, 0, 0], 1),
            6..=0x7F => ([BIPUSH, id as u8, 0], 2),
            0x80..=0x7FFF => ([SIPUSH, (id >> 8) as u8, id as u8], 3),
            _ => match constant(id)?.to_be_bytes() {
                [0, low] => ([LDC, low, 0], 2),
                [high, low] => ([LDC_W, high, low], 3),
            },
        };
        Ok(Self { bytes, length })
    }

    /// Appends the push.
    pub(crate) fn push(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.bytes.get(..usize::from(self.length)).unwrap_or_default());
    }

    /// Appends the push and a call of `method`.
    pub(crate) fn call(&self, method: u16, out: &mut Vec<u8>) {
        self.push(out);
        with_index(INVOKESTATIC, method, out);
    }
}

/// Appends an instruction with a constant pool index.
pub(crate) fn with_index(opcode: u8, index: u16, out: &mut Vec<u8>) {
    out.push(opcode);
    out.extend_from_slice(&index.to_be_bytes());
}

/// Appends the new code to `out`, and to `too_far` every `goto` that needs its wide form. If there are any, discard
/// the code and compute another layout.
pub(crate) fn emit(
    code: &[u8],
    layout: &Layout,
    insertions: &Insertions<'_>,
    out: &mut Vec<u8>,
    too_far: &mut Vec<u32>,
) -> Result<(), SkipReason> {
    let mut enters = insertions.enters.iter().copied().peekable();
    let mut marks = insertions.marks.iter().peekable();
    for instruction in opcodes::instructions(code) {
        let instruction = instruction?;
        let (pc, opcode) = (instruction.pc, instruction.opcode);
        if enters.next_if_eq(&pc).is_some() {
            out.extend_from_slice(insertions.enter);
        }
        out.extend_from_slice(insertions.leaving(&instruction));
        let bytes = code.get(pc as usize..instruction.next() as usize).unwrap_or_default();
        if let Some(mark) = marks.next_if(|mark| mark.pc == pc) {
            // Calls and monitor instructions have no positions and a fixed size.
            out.extend_from_slice(insertions.code_of(&mark.before));
            out.extend_from_slice(bytes);
            out.extend_from_slice(insertions.code_of(&mark.after));
            continue;
        }
        let moved = |offset: i32| -> Result<i32, Malformed> {
            let target = layout.before(opcodes::target(pc, offset, code.len())?)?;
            // Both are below 2^31: each byte of code adds at most an inserted call and padding.
            Ok(target as i32 - layout.instruction(pc)? as i32)
        };
        match opcode {
            opcode if opcodes::is_subroutine(opcode) => return Err(SkipReason::Subroutines),
            WIDE if code.get(pc as usize + 1) == Some(&RET) => return Err(SkipReason::Subroutines),
            opcode if opcodes::is_short_branch(opcode) => {
                let offset = moved(i32::from(opcodes::u2_at(code, pc + 1)? as i16))?;
                match i16::try_from(offset) {
                    _ if insertions.widens(pc) => {
                        out.push(GOTO_W);
                        out.extend_from_slice(&offset.to_be_bytes());
                    }
                    Ok(offset) => {
                        out.push(opcode);
                        out.extend_from_slice(&offset.to_be_bytes());
                    }
                    Err(_) if opcode == GOTO => too_far.push(pc),
                    Err(_) => return Err(SkipReason::JumpTooFar),
                }
            }
            GOTO_W => {
                out.push(opcode);
                out.extend_from_slice(&moved(opcodes::i4_at(code, pc + 1)?)?.to_be_bytes());
            }
            TABLESWITCH | LOOKUPSWITCH => {
                let (switch, _) = opcodes::switch_at(code, pc)?;
                out.push(opcode);
                let padding = opcodes::switch_padding(layout.instruction(pc)?);
                out.resize(out.len() + padding as usize, 0);
                out.extend_from_slice(&moved(switch.default)?.to_be_bytes());
                out.extend_from_slice(switch.head);
                for case in switch.cases.chunks_exact(switch.stride) {
                    let (key, offset) = case.split_last_chunk::<4>().unwrap_or((case, &[0; 4]));
                    out.extend_from_slice(key);
                    out.extend_from_slice(&moved(i32::from_be_bytes(*offset))?.to_be_bytes());
                }
            }
            _ => out.extend_from_slice(bytes),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::class::opcodes::{IFEQ, RETURN};

    #[test]
    fn ids_use_the_shortest_push() {
        let push = |id| {
            let push = PushId::new(id, |_| Ok(300)).unwrap();
            let mut out = Vec::new();
            push.call(0x0102, &mut out);
            assert_eq!(out.split_off(out.len() - 3), [INVOKESTATIC, 1, 2]);
            out
        };
        assert_eq!(push(1), [4]);
        assert_eq!(push(5), [8]);
        assert_eq!(push(6), [BIPUSH, 6]);
        assert_eq!(push(127), [BIPUSH, 127]);
        assert_eq!(push(128), [SIPUSH, 0, 128]);
        assert_eq!(push(32_767), [SIPUSH, 0x7F, 0xFF]);
        assert_eq!(push(32_768), [LDC_W, 1, 44]);
        assert_eq!(PushId::new(40_000, |_| Ok(255)).unwrap().length, 2);
        assert!(PushId::new(40_000, |_| Err(SkipReason::ConstantPoolFull)).is_err());
    }

    fn splice(code: &[u8], widened: &[u32]) -> Result<(Vec<u8>, Vec<u32>), SkipReason> {
        let push = PushId::new(7, |_| Ok(0))?;
        let (mut enter, mut exit) = (Vec::new(), Vec::new());
        push.call(1, &mut enter);
        push.call(2, &mut exit);
        let insertions =
            Insertions { enters: &[0], enter: &enter, exit: &exit, widened, ..Default::default() };
        let mut layout = Layout::default();
        layout.compute(code, &insertions)?;
        let (mut out, mut too_far) = (Vec::new(), Vec::new());
        emit(code, &layout, &insertions, &mut out, &mut too_far)?;
        Ok((out, too_far))
    }

    #[test]
    fn a_jump_back_to_the_start_does_not_call_enter_again() {
        // ifeq to itself, return
        let (out, _) = splice(&[IFEQ, 0, 0, RETURN], &[]).unwrap();
        let call = |method| [BIPUSH, 7, INVOKESTATIC, 0, method];
        assert_eq!(out, [&call(1)[..], &[IFEQ, 0, 0], &call(2), &[RETURN]].concat());
    }

    #[test]
    fn a_goto_out_of_reach_is_widened_and_an_if_is_refused() {
        let far = |opcode: u8| {
            let mut code = vec![opcode, 0x7F, 0xFF];
            code.resize(0x7FFF - 1, 0);
            code.extend([RETURN, RETURN]);
            code
        };
        let (_, too_far) = splice(&far(GOTO), &[]).unwrap();
        assert_eq!(too_far, [0]);
        let (out, too_far) = splice(&far(GOTO), &too_far).unwrap();
        assert!(too_far.is_empty());
        // Enter call, then goto_w over itself (2 bytes longer), the nops and the exit of the first return.
        assert_eq!(out[5..10], [&[GOTO_W][..], &(0x7FFF_i32 + 2 + 5).to_be_bytes()].concat());
        assert_eq!(splice(&far(IFEQ), &[]), Err(SkipReason::JumpTooFar));
    }

    #[test]
    fn jumps_out_of_the_code_or_into_an_instruction_are_refused() {
        assert!(matches!(splice(&[GOTO, 0, 9, RETURN], &[]), Err(SkipReason::Malformed(_))));
        assert!(matches!(splice(&[GOTO, 0, 1, RETURN], &[]), Err(SkipReason::Malformed(_))));
    }
}
