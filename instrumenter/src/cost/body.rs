//! Measures the code of one method.

use super::{MAX_COST, known};
use crate::class::class_file::{ClassFile, Method, access};
use crate::class::code::Code;
use crate::class::constant_pool::ConstantPool;
use crate::class::opcodes::{
    self, ANEWARRAY, GETSTATIC, GOTO_W, ICONST_0, ICONST_5, ICONST_M1, INVOKEDYNAMIC, INVOKEINTERFACE,
    INVOKESPECIAL, INVOKESTATIC, INVOKEVIRTUAL, LDC, LDC_W, LDC2_W, LOOKUPSWITCH, MONITORENTER, MONITOREXIT,
    MULTIANEWARRAY, NEW, NEWARRAY, PUTSTATIC, RET, TABLESWITCH, WIDE,
};
use crate::class::text;
use crate::class_facts::body::{Body, Call, CallKind};
use crate::error::Malformed;
use crate::waits::Catalogue;

/// Array elements that are cleared in the time of one instruction.
pub(crate) const ELEMENTS_PER_INSTRUCTION: i32 = 16;
/// The cost of a call in [`known`], in instructions.
pub(crate) const KNOWN_CALL_COST: u16 = 4;

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
    let mut walk = Walk { class, code: code.bytes, waits, more: 0, calls: Vec::new(), targets: Vec::new() };
    let (mut count, mut constant) = (0_u16, None);
    for instruction in opcodes::instructions(code.bytes) {
        let opcodes::Instruction { pc, opcode, .. } = instruction.ok()?;
        count += 1;
        if count + walk.more > MAX_COST {
            return None;
        }
        let size = constant.take().filter(|_| !walk.targets.contains(&pc));
        constant = walk.step(pc, opcode, size)?;
    }
    Some(Body { instructions: count + walk.more, calls: walk.calls.into() })
}

struct Walk<'a> {
    class: &'a ClassFile<'a>,
    code: &'a [u8],
    waits: Option<&'a Catalogue>,
    /// The additional cost of array creations and calls of known methods.
    more: u16,
    calls: Vec<Call>,
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
            _ if opcodes::is_short_branch(opcode) => {
                self.jump(pc, i32::from(opcodes::u2_at(self.code, pc + 1).ok()?.cast_signed()))?;
            }
            GOTO_W => self.jump(pc, opcodes::i4_at(self.code, pc + 1).ok()?)?,
            TABLESWITCH | LOOKUPSWITCH => {
                let (switch, _) = opcodes::switch_at(self.code, pc).ok()?;
                self.jump(pc, switch.default)?;
                switch.offsets().try_for_each(|offset| self.jump(pc, offset))?;
            }
            MONITORENTER | MONITOREXIT | INVOKEINTERFACE | INVOKEDYNAMIC | MULTIANEWARRAY => return None,
            NEWARRAY | ANEWARRAY => {
                // At most 4,096, where the walk ends.
                self.more +=
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

    fn jump(&mut self, pc: u32, offset: i32) -> Option<()> {
        let target = opcodes::target(pc, offset, self.code.len()).ok().filter(|&target| target > pc)?;
        self.targets.push(target);
        Some(())
    }

    /// Measures an instruction that initializes the class that `class_of` finds for its operand.
    fn initializes(
        &mut self,
        pc: u32,
        class_of: impl FnOnce(&ConstantPool<'a>, u16) -> Result<&'a [u8], Malformed>,
    ) -> Option<()> {
        let index = opcodes::u2_at(self.code, pc + 1).ok()?;
        let class = class_of(&self.class.pool, index).ok()?;
        self.uses(class);
        Some(())
    }

    /// Adds the initialization of `class`, unless it is certainly initialized already.
    fn uses(&mut self, class: &[u8]) {
        if class == self.class.name || known::is_platform(class) {
            return;
        }
        let class: Box<str> = text::decode(class).into();
        if !self.calls.iter().any(|call| call.how == CallKind::Initialize && call.class == class) {
            let (name, descriptor) = ("<clinit>".into(), "()V".into());
            self.calls.push(Call { how: CallKind::Initialize, class, name, descriptor });
        }
    }

    /// Returns whether this is a super constructor call that may call an overridden method: that of a throwable calls
    /// `fillInStackTrace`.
    fn calls_back(&self, class: &[u8], name: &[u8]) -> bool {
        const QUIET: [&[u8]; 3] = [b"java/lang/Object", b"java/lang/Enum", b"java/lang/Record"];
        name == b"<init>" && self.class.super_class() == Some(class) && !QUIET.contains(&class)
    }

    fn call(&mut self, pc: u32, how: CallKind) -> Option<()> {
        let index = opcodes::u2_at(self.code, pc + 1).ok()?;
        let [class, name, descriptor] = self.class.pool.method(index).ok()?;
        if self.waits.is_some_and(|waits| waits.names(class, name, descriptor)) {
            return None;
        }
        if known::lists(class, name, descriptor) && !self.calls_back(class, name) {
            self.more += KNOWN_CALL_COST;
            return Some(());
        }
        // These are never inputs, and most calls that end here go to them.
        if known::is_platform(class) {
            return None;
        }
        if how == CallKind::Static {
            self.uses(class);
        }
        self.calls.push(Call {
            how,
            class: text::decode(class).into(),
            name: text::decode(name).into(),
            descriptor: text::decode(descriptor).into(),
        });
        Some(())
    }
}
