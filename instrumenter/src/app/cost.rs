//! Measures the code of a method in a dex file, as [`crate::cost::body`] measures that of class files.

use dex::Dex;
use dex::code::{
    Body as Instructions, CONST, CONST_4, Call as DexCall, Code, Facts, Instruction, Invoke, NEW_ARRAY,
    NEW_INSTANCE, Operand, SGET, SPUT_SHORT,
};

use super::names;
use crate::class_facts::ClassFacts;
use crate::class_facts::body::{Body, CallKind};
use crate::cost::MAX_COST;
use crate::cost::body::ELEMENTS_PER_INSTRUCTION;
use crate::cost::calls::Calls;
use crate::waits::Catalogue;

/// Class files have about twice as many instructions for the same source, because they move every operand to the stack.
const CLASS_FILE_INSTRUCTIONS: u32 = 2;

/// Returns the cost of code in instructions of class files; `None` if it is unlimited or above [`MAX_COST`].
///
/// Calls of methods that `waits` lists, by name and descriptor, count as unlimited, because they may wait.
pub(crate) fn measure(
    dex: &Dex<'_>,
    class: &ClassFacts,
    code: &Code<'_>,
    facts: &Facts,
    waits: Option<&Catalogue>,
) -> Option<Body> {
    let instructions = facts.instructions.checked_mul(CLASS_FILE_INSTRUCTIONS)?;
    let limited =
        |call: &DexCall| !matches!(call.how, Invoke::Interface | Invoke::Polymorphic | Invoke::Custom);
    if facts.has_loop || facts.has_locks || !facts.calls.iter().all(limited) {
        return None;
    }
    let instructions = u16::try_from(instructions).ok().filter(|&count| count <= MAX_COST)?;
    // A handler before the end of its range can form a loop.
    let loops = code.tries.iter().any(|range| {
        let end = range.start.saturating_add(range.length.into());
        code.handlers.get(range.handler).is_some_and(|handler| {
            let addresses = handler.typed.iter().map(|&(_, at)| at).chain(handler.catch_all);
            addresses.into_iter().any(|at| at < end)
        })
    });
    if loops {
        return None;
    }
    let calls = Calls::of(class.name_in_file().as_bytes(), class.super_class().map(str::as_bytes), waits);
    let mut walk = Walk { dex, calls };
    let body = Instructions::read(code).ok()?;
    let mut before: Option<&Instruction> = None;
    for instruction in body.instructions() {
        walk.step(instruction, before)?;
        before = Some(instruction);
    }
    for call in &facts.calls {
        walk.call(call)?;
    }
    let instructions = instructions.checked_add(walk.calls.more).filter(|&count| count <= MAX_COST)?;
    Some(Body { instructions, calls: walk.calls.found.into() })
}

struct Walk<'a> {
    dex: &'a Dex<'a>,
    calls: Calls<'a>,
}

impl Walk<'_> {
    /// Measures one instruction; `None` if its cost is unlimited.
    fn step(&mut self, instruction: &Instruction, before: Option<&Instruction>) -> Option<()> {
        match (instruction.op, instruction.operand) {
            (NEW_INSTANCE, Operand::Index(kind)) => self.uses(kind),
            (SGET..=SPUT_SHORT, Operand::Index(field)) => {
                self.uses(self.dex.fields.get(field as usize)?.class);
            }
            (NEW_ARRAY, _) => {
                let [_, size, ..] = instruction.registers;
                let constant = before
                    .filter(|before| (CONST_4..=CONST).contains(&before.op) && before.registers[0] == size);
                let Some(Operand::Literal(size)) = constant.map(|before| before.operand) else { return None };
                let more = u16::try_from(size / i64::from(ELEMENTS_PER_INSTRUCTION)).ok()?;
                self.calls.more = self.calls.more.checked_add(more).filter(|&more| more <= MAX_COST)?;
            }
            _ => {}
        }
        Some(())
    }

    /// Adds the initialization of a class.
    fn uses(&mut self, kind: u32) {
        self.calls.uses(names::class(self.dex, kind).as_bytes());
    }

    fn call(&mut self, call: &DexCall) -> Option<()> {
        let method = self.dex.methods.get(call.target as usize)?;
        let class = names::class(self.dex, method.class);
        let name = names::string(self.dex, method.name);
        let descriptor = names::method_descriptor(self.dex, method.proto);
        let how = match call.how {
            Invoke::Static => CallKind::Static,
            Invoke::Direct | Invoke::Super => CallKind::Special,
            _ => CallKind::Virtual,
        };
        self.calls.call(how, [class.as_bytes(), name.as_bytes(), descriptor.as_bytes()])
    }
}
