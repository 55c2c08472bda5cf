//! Measures the code of one method.

use super::MAX_COST;
use super::calls::Calls;
use crate::class::class_file::{ClassFile, Method, access};
use crate::class::code::Code;
use crate::class::constant_pool::ConstantPool;
use crate::class::opcodes::{
    self, ANEWARRAY, GETSTATIC, GOTO_W, ICONST_0, ICONST_5, ICONST_M1, INVOKEDYNAMIC, INVOKEINTERFACE,
    INVOKESPECIAL, INVOKESTATIC, INVOKEVIRTUAL, LDC, LDC_W, LDC2_W, LOOKUPSWITCH, MONITORENTER, MONITOREXIT,
    MULTIANEWARRAY, NEW, NEWARRAY, PUTSTATIC, RET, TABLESWITCH, WIDE,
};
use crate::class_facts::body::{Body, CallKind};
use crate::error::Malformed;
use crate::waits::Catalogue;

/// Array elements that are cleared in the time of one instruction.
pub(crate) const ELEMENTS_PER_INSTRUCTION: i32 = 16;
/// Returns the cost of `code`, the code of `method`; `None` if it is unlimited or above [`MAX_COST`].
///
/// Calls of methods that `waits` lists, by name and descriptor, count as unlimited, because they may wait.
pub(crate) fn measure(
    class: &ClassFile<'_>,
    method: &Method<'_>,
    code: &Code<'_>,
    waits: Option<&Catalogue>,
) -> Option<Body> {
    // The JVM ignores the flag of a static initializer, and no compiler sets it.
    if method.access & access::SYNCHRONIZED != 0 {
        return None;
    }
    // A handler before the end of its range can form a loop.
    if code.handlers.iter().any(|row| row.handler < row.end) {
        return None;
    }
    let calls = Calls::of(class.name, class.super_class(), waits);
    let mut walk = Walk { class, code: code.bytes, calls, targets: Vec::new() };
    let (mut count, mut constant) = (0_u16, None);
    for instruction in opcodes::instructions(code.bytes) {
        let opcodes::Instruction { pc, opcode, .. } = instruction.ok()?;
        count += 1;
        if count + walk.calls.more > MAX_COST {
            return None;
        }
        let size = constant.take().filter(|_| !walk.targets.contains(&pc));
        constant = walk.step(pc, opcode, size)?;
    }
    Some(Body { instructions: count + walk.calls.more, calls: walk.calls.found.into() })
}

struct Walk<'a> {
    class: &'a ClassFile<'a>,
    code: &'a [u8],
    calls: Calls<'a>,
    /// Targets of jumps, where a constant on the stack is unknown.
    targets: Vec<u32>,
}

impl<'a> Walk<'a> {
    /// Measures one instruction. `size` is the constant on top of the stack, if known, and so is the result. Returns
    /// `None` if the cost is unlimited.
    fn step(&mut self, pc: u32, opcode: u8, size: Option<i32>) -> Option<Option<i32>> {
        match opcode {
            ICONST_M1..=ICONST_5 => return Some(Some(i32::from(opcode) - i32::from(ICONST_0))),
            opcodes::BIPUSH => {
                return Some(self.code.get(pc as usize + 1).map(|&byte| i32::from(byte.cast_signed())));
            }
            opcodes::SIPUSH => {
                let value = opcodes::u2_at(self.code, pc + 1).ok()?;
                return Some(Some(i32::from(value.cast_signed())));
            }
            _ if opcodes::is_subroutine(opcode) => return None,
            WIDE if self.code.get(pc as usize + 1) == Some(&RET) => return None,
            _ if opcode == GOTO_W || opcodes::is_short_branch(opcode) => {
                self.jump(pc, opcodes::target_at(self.code, pc).ok()?)?;
            }
            TABLESWITCH | LOOKUPSWITCH => {
                let targets = opcodes::switch_targets(self.code, pc).ok()?;
                targets.into_iter().try_for_each(|target| self.jump(pc, target))?;
            }
            MONITORENTER | MONITOREXIT | INVOKEINTERFACE | INVOKEDYNAMIC | MULTIANEWARRAY => return None,
            NEWARRAY | ANEWARRAY => {
                // At most 4,096, where the walk ends.
                self.calls.more +=
                    u16::try_from(size? / ELEMENTS_PER_INSTRUCTION).ok().filter(|&more| more <= MAX_COST)?;
            }
            LDC => {
                let index = u16::from(*self.code.get(pc as usize + 1)?);
                self.class.pool.is_plain(index).then_some(())?;
            }
            LDC_W | LDC2_W => {
                self.class.pool.is_plain(opcodes::u2_at(self.code, pc + 1).ok()?).then_some(())?;
            }
            GETSTATIC | PUTSTATIC => self.initializes(pc, |pool, index| pool.field_class(index))?,
            NEW => self.initializes(pc, |pool, index| pool.class_name(index))?,
            INVOKEVIRTUAL => self.call(pc, CallKind::Virtual)?,
            INVOKESPECIAL => self.call(pc, CallKind::Special)?,
            INVOKESTATIC => self.call(pc, CallKind::Static)?,
            _ => {}
        }
        Some(None)
    }

    fn jump(&mut self, pc: u32, target: u32) -> Option<()> {
        (target > pc).then(|| self.targets.push(target))
    }

    /// Measures an instruction that initializes the class that `class_of` finds for its operand.
    fn initializes(
        &mut self,
        pc: u32,
        class_of: impl FnOnce(&ConstantPool<'a>, u16) -> Result<&'a [u8], Malformed>,
    ) -> Option<()> {
        let index = opcodes::u2_at(self.code, pc + 1).ok()?;
        self.calls.uses(class_of(&self.class.pool, index).ok()?);
        Some(())
    }

    fn call(&mut self, pc: u32, how: CallKind) -> Option<()> {
        let index = opcodes::u2_at(self.code, pc + 1).ok()?;
        self.calls.call(how, self.class.pool.method(index).ok()?)
    }
}
