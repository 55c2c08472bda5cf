//! Finds where a constructor can be traced from: after its call of another constructor.
//!
//! Before that call the object is *uninitialized this*, and the verifier does not allow an exception handler of the
//! instrumenter to cover the code. The operand does not show which `invokespecial <init>` is that call (`super(new
//! Base())` has two with the same operand). So the code before it is followed ([`super::flow`]): for each stack slot and
//! local variable, is it the uninitialized object or not? One visit per instruction is enough, because verified code has
//! the same answer on every path to it.

use super::flow::{MAX_PENDING, State, Value, step};
use super::layout::Prelude;
use super::stack_map;
use crate::class::class_file::{ClassFile, Method};
use crate::class::code::Code;
use crate::class::constant_pool::Appended;
use crate::class::descriptor::call_words;
use crate::class::opcodes::{self as op, INVOKESPECIAL, Instruction};
use crate::error::{Malformed, SkipReason};

/// Bound on the visited rows of the exception table, for all instructions together.
const MAX_ROWS: usize = 1 << 22;

/// Follows `code`, the code of the constructor `method`.
pub(crate) fn prelude<'a>(
    class: &ClassFile<'a>,
    method: &Method<'a>,
    code: &Code<'a>,
    appended: &Appended,
) -> Result<Prelude, SkipReason> {
    let mut found = Prelude { before_super: vec![false; code.bytes.len()], bodies: Vec::new() };
    let mut queued = vec![false; code.bytes.len()];
    let first = State::first(class, method)?;
    let mut pending_words = first.locals.len();
    let mut pending = vec![(0_u32, first)];
    let mut rows_read = 0;
    while let Some((mut pc, mut state)) = pending.pop() {
        pending_words -= state.stack.len() + state.locals.len();
        // The state is copied only for targets that are not queued yet.
        let mut queue = |target: u32, stack: &[Value<'a>], locals: &[Value<'a>]| {
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
                    return Err(Malformed { at: 0, what: "control runs off the end of the code" }.into());
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
            for row in code.handlers.iter().filter(|row| row.covers(pc)) {
                queue(u32::from(row.handler), &[Value::Top], &state.locals)?;
            }
            if is_super_call(class, code.bytes, instruction, &state)? {
                found.bodies.push(instruction.next());
                break;
            }
            if op::is_return(instruction.opcode) {
                let what = "a constructor returns before its super call";
                return Err(Malformed { at: pc as usize, what }.into());
            }
            let next = step(class, appended, code.bytes, instruction, &mut state)?;
            for target in next.jumps {
                queue(target, &state.stack, &state.locals)?;
            }
            if !next.falls_through {
                break;
            }
            pc = instruction.next();
            if state.stack.len() > usize::from(code.max_stack) {
                return Err(Malformed { at: 0, what: "the stack grows past max_stack" }.into());
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

/// Returns true for the call of another constructor, on the uninitialized object.
fn is_super_call(
    class: &ClassFile<'_>,
    code: &[u8],
    instruction: Instruction,
    state: &State<'_>,
) -> Result<bool, Malformed> {
    if instruction.opcode != INVOKESPECIAL {
        return Ok(false);
    }
    let (name, descriptor) = class.pool.member(op::u2_at(code, instruction.pc + 1)?)?;
    let (arguments, _) = call_words(descriptor)?;
    let receiver = state.stack.iter().rev().nth(arguments);
    Ok(name == b"<init>" && receiver == Some(&Value::UninitializedThis))
}
