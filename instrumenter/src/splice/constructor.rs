//! Finds where a constructor can be traced from: after its call of another constructor.
//!
//! Before that call the object is *uninitialized this*, and the verifier does not allow an exception handler of the
//! instrumenter to cover the code. The operand does not show which `invokespecial <init>` is that call (`super(new
//! Base())` has two with the same operand). So the code before it is followed: for each stack slot and local
//! variable, is it the uninitialized object or not? One visit per instruction is enough, because verified code has
//! the same answer on every path to it.

use super::flow::{Next, shuffle};
use super::layout::Prelude;
use super::stack_map;
use crate::class::class_file::ClassFile;
use crate::class::code::Code;
use crate::class::descriptor::{call_words, words_of};
use crate::class::opcodes::{
    self as op, ALOAD, ALOAD_0, ALOAD_3, ASTORE, ASTORE_3, ATHROW, GETFIELD, GETSTATIC, GOTO, GOTO_W, IINC,
    INVOKEDYNAMIC, INVOKESPECIAL, INVOKESTATIC, ISTORE, ISTORE_0, Instruction, LOOKUPSWITCH, MULTIANEWARRAY,
    POP, PUTFIELD, PUTSTATIC, RET, SWAP, TABLESWITCH, WIDE,
};
use crate::error::{Malformed, SkipReason};

/// Bound on the words of all pending states.
const MAX_PENDING: usize = 1 << 18;
/// Bound on the visited rows of the exception table, for all instructions together.
const MAX_ROWS: usize = 1 << 22;

/// The stack slots (words) and locals that hold the uninitialized object.
struct State {
    stack: Vec<bool>,
    locals: Vec<u16>,
}

impl State {
    fn pop(&mut self) -> Result<bool, Malformed> {
        self.stack.pop().ok_or(Malformed { offset: 0, what: "an empty stack is popped" })
    }

    fn pop_words(&mut self, count: usize) -> Result<(), Malformed> {
        (0..count).try_for_each(|_| self.pop().map(drop))
    }

    fn push_words(&mut self, count: usize) {
        self.stack.resize(self.stack.len() + count, false);
    }

    fn store(&mut self, local: u16, this: bool) {
        self.locals.retain(|&kept| kept != local);
        if this {
            self.locals.push(local);
        }
    }
}

/// Follows `code`, which must be a constructor's.
pub(crate) fn prelude(class: &ClassFile<'_>, code: &Code<'_>) -> Result<Prelude, SkipReason> {
    let mut found = Prelude { before_super: vec![false; code.bytes.len()], bodies: Vec::new() };
    let mut queued = vec![false; code.bytes.len()];
    // Local 0 is the object.
    let mut pending = vec![(0_u32, State { stack: Vec::new(), locals: vec![0] })];
    let mut pending_words = 1;
    let mut rows_read = 0;
    while let Some((mut pc, mut state)) = pending.pop() {
        pending_words -= state.stack.len() + state.locals.len();
        // The state is copied only for targets that are not queued yet.
        let mut queue = |target: u32, stack: &[bool], locals: &[u16]| {
            let Some(seen) = queued.get_mut(target as usize) else { return Ok(()) };
            if !core::mem::replace(seen, true) {
                pending_words += stack.len() + locals.len();
                if pending_words > MAX_PENDING {
                    return Err(SkipReason::ConstructorTooComplex);
                }
                pending.push((target, State { stack: stack.to_vec(), locals: locals.to_vec() }));
            }
            Ok(())
        };
        loop {
            match found.before_super.get_mut(pc as usize) {
                None => {
                    return Err(Malformed { offset: 0, what: "control runs off the end of the code" }.into());
                }
                Some(true) => break,
                Some(visited) => *visited = true,
            }
            let instruction = op::instruction_at(code.bytes, pc)?;
            // An exception does not change the locals; only a store could, and that cannot throw.
            rows_read += code.handlers.len();
            if rows_read > MAX_ROWS {
                return Err(SkipReason::ConstructorTooComplex);
            }
            for row in &code.handlers {
                if (u32::from(row.start)..u32::from(row.end)).contains(&pc) {
                    queue(u32::from(row.handler), &[false], &state.locals)?;
                }
            }
            let Some(next) = step(class, code.bytes, instruction, &mut state)? else {
                found.bodies.push(instruction.next());
                break;
            };
            for target in next.jumps {
                queue(target, &state.stack, &state.locals)?;
            }
            if !next.falls_through {
                break;
            }
            pc = instruction.next();
            if state.stack.len() > usize::from(code.max_stack) {
                return Err(Malformed { offset: 0, what: "the stack grows past max_stack" }.into());
            }
        }
    }
    found.bodies.sort_unstable();
    found.bodies.dedup();
    if found.bodies.is_empty() {
        return Err(SkipReason::NoSuperCall);
    }
    for (name, contents) in &code.attributes {
        if class.pool.is_text(*name, b"StackMapTable") {
            let mut dead = false;
            stack_map::frames_before_super(*contents, |pc| dead |= !found.contains(pc))?;
            if dead {
                return Err(SkipReason::UnreachableBeforeSuper);
            }
        }
    }
    Ok(found)
}

/// Applies an instruction to the state; `None` if it is the super or this call. A return is refused: no verified constructor
/// has one before that.
fn step(
    class: &ClassFile<'_>,
    code: &[u8],
    instruction: Instruction,
    state: &mut State,
) -> Result<Option<Next>, SkipReason> {
    let Instruction { pc, opcode, .. } = instruction;
    let operand = |at: u32| code.get((pc + at) as usize).copied().unwrap_or(0);
    let mut next = Next { jumps: Vec::new(), falls_through: true };
    match opcode {
        ALOAD => load(state, u16::from(operand(1))),
        ALOAD_0..=ALOAD_3 => load(state, u16::from(opcode - ALOAD_0)),
        ISTORE..=ASTORE => store(state, opcode - ISTORE, u16::from(operand(1)))?,
        ISTORE_0..=ASTORE_3 => {
            store(state, (opcode - ISTORE_0) / 4, u16::from((opcode - ISTORE_0) % 4))?;
        }
        WIDE => {
            let local = op::u2_at(code, pc + 2)?;
            match operand(1) {
                ALOAD => load(state, local),
                wide @ ISTORE..=ASTORE => store(state, wide - ISTORE, local)?,
                IINC => {}
                RET => return Err(SkipReason::Subroutines),
                // long and double are the odd ones: 22 and 24.
                wide => state.push_words(if wide % 2 == 0 { 2 } else { 1 }),
            }
        }
        POP..=SWAP => shuffle(&mut state.stack, opcode)?,
        GETSTATIC..=PUTFIELD => {
            let (_, descriptor) = class.pool.member(op::u2_at(code, pc + 1)?)?;
            let size = words_of(descriptor.first());
            match opcode {
                GETSTATIC => state.push_words(size),
                PUTSTATIC => state.pop_words(size)?,
                GETFIELD => {
                    state.pop()?;
                    state.push_words(size);
                }
                _ => state.pop_words(size + 1)?,
            }
        }
        op::INVOKEVIRTUAL..=INVOKEDYNAMIC => {
            let (name, descriptor) = class.pool.member(op::u2_at(code, pc + 1)?)?;
            let (arguments, result) = call_words(descriptor)?;
            state.pop_words(arguments)?;
            let on_object = !matches!(opcode, INVOKESTATIC | INVOKEDYNAMIC);
            let this = on_object && state.pop()?;
            if this && opcode == INVOKESPECIAL && name == b"<init>" {
                return Ok(None);
            }
            state.push_words(words_of(result.first()));
        }
        MULTIANEWARRAY => {
            state.pop_words(usize::from(operand(3)))?;
            state.push_words(1);
        }
        ATHROW => next.falls_through = false,
        GOTO | GOTO_W => next = Next { jumps: vec![op::target_at(code, pc)?], falls_through: false },
        TABLESWITCH | LOOKUPSWITCH => {
            state.pop()?;
            next = Next { jumps: op::switch_targets(code, pc)?, falls_through: false };
        }
        _ if op::is_subroutine(opcode) => return Err(SkipReason::Subroutines),
        _ if op::is_return(opcode) => {
            return Err(Malformed {
                offset: pc as usize,
                what: "a constructor returns before its super call",
            }
            .into());
        }
        _ => {
            let (popped, pushed) = effect(opcode);
            state.pop_words(popped)?;
            state.push_words(pushed);
            if op::is_short_branch(opcode) {
                next.jumps.push(op::target_at(code, pc)?);
            }
        }
    }
    Ok(Some(next))
}

fn load(state: &mut State, local: u16) {
    let this = state.locals.contains(&local);
    state.stack.push(this);
}

/// Stores a value; `kind` is the order of types in the instruction set: int, long, float, double, object.
fn store(state: &mut State, kind: u8, local: u16) -> Result<(), Malformed> {
    let this = state.pop()?;
    state.store(local, this && kind == 4);
    if kind == 1 || kind == 3 {
        state.pop()?;
        state.store(local.saturating_add(1), false);
    }
    Ok(())
}

/// Returns the stack words that `opcode` pops and pushes. Covers the opcodes with a fixed effect that cannot pass the
/// uninitialized object on.
fn effect(opcode: u8) -> (usize, usize) {
    match opcode {
        op::ACONST_NULL..=op::ICONST_5 | op::FCONST_0..=op::FCONST_2 | op::BIPUSH..=op::LDC_W => (0, 1),
        op::ILOAD | op::FLOAD | op::ILOAD_0..=op::ILOAD_3 | op::FLOAD_0..=op::FLOAD_3 | op::NEW => (0, 1),
        op::LCONST_0 | op::LCONST_1 | op::DCONST_0 | op::DCONST_1 | op::LDC2_W => (0, 2),
        op::LLOAD | op::DLOAD | op::LLOAD_0..=op::LLOAD_3 | op::DLOAD_0..=op::DLOAD_3 => (0, 2),
        op::LALOAD | op::DALOAD => (2, 2),
        op::IALOAD..=op::SALOAD => (2, 1),
        op::LASTORE | op::DASTORE => (4, 0),
        op::IASTORE..=op::SASTORE => (3, 0),
        op::LSHL | op::LSHR | op::LUSHR => (3, 2),
        // Arithmetic: int and float have even numbers, long and double odd ones.
        op::IADD..=op::DREM | op::ISHL..=op::LXOR if opcode.is_multiple_of(2) => (2, 1),
        op::IADD..=op::DREM | op::ISHL..=op::LXOR => (4, 2),
        op::LNEG | op::DNEG | op::L2D | op::D2L => (2, 2),
        op::I2L | op::I2D | op::F2L | op::F2D => (1, 2),
        op::L2I | op::L2F | op::D2I | op::D2F => (2, 1),
        op::INEG | op::FNEG | op::I2F | op::F2I | op::I2B..=op::I2S => (1, 1),
        op::NEWARRAY..=op::ARRAYLENGTH | op::CHECKCAST | op::INSTANCEOF => (1, 1),
        op::LCMP | op::DCMPL | op::DCMPG => (4, 1),
        op::FCMPL | op::FCMPG => (2, 1),
        op::IFEQ..=op::IFLE | op::IFNULL | op::IFNONNULL => (1, 0),
        op::MONITORENTER | op::MONITOREXIT => (1, 0),
        op::IF_ICMPEQ..=op::IF_ACMPNE => (2, 0),
        _ => (0, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_object_is_followed_through_stack_instructions() {
        let shuffled = |opcode: u8, stack: &[bool]| {
            let mut state = State { stack: stack.to_vec(), locals: Vec::new() };
            shuffle(&mut state.stack, opcode).map(|()| state.stack)
        };
        let (this, other) = (true, false);
        assert_eq!(shuffled(89, &[this]), Ok(vec![this, this]));
        assert_eq!(shuffled(90, &[other, this]), Ok(vec![this, other, this]));
        assert_eq!(shuffled(91, &[other, other, this]), Ok(vec![this, other, other, this]));
        assert_eq!(shuffled(92, &[this, other]), Ok(vec![this, other, this, other]));
        assert_eq!(shuffled(93, &[other, this, other]), Ok(vec![this, other, other, this, other]));
        assert_eq!(
            shuffled(94, &[other, other, this, other]),
            Ok(vec![this, other, other, other, this, other])
        );
        assert_eq!(shuffled(95, &[this, other]), Ok(vec![other, this]));
        assert!(shuffled(94, &[this]).is_err());
    }

    #[test]
    fn a_store_over_the_object_replaces_it() {
        let mut state = State { stack: vec![false, false], locals: vec![1] };
        store(&mut state, 1, 0).unwrap();
        assert!(state.locals.is_empty());
    }
}
