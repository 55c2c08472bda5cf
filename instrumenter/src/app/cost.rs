//! Measures the code of a method in a dex file, as [`crate::cost::body`] measures that of class files.

use dex::Dex;
use dex::code::{
    Body as Instructions, CONST, CONST_4, Call as DexCall, Code, Facts, Instruction, Invoke, NEW_ARRAY,
    NEW_INSTANCE, Operand, SGET, SPUT_SHORT,
};

use super::names;
use crate::class_facts::ClassFacts;
use crate::class_facts::body::{Body, Call, CallKind};
use crate::cost::body::{ELEMENTS_PER_INSTRUCTION, KNOWN_CALL_COST};
use crate::cost::{MAX_COST, known};
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
    let mut walk = Walk { dex, class, waits, more: 0, calls: Vec::new() };
    let body = Instructions::read(code).ok()?;
    let mut before: Option<&Instruction> = None;
    for instruction in body.instructions() {
        walk.step(instruction, before)?;
        before = Some(instruction);
    }
    for call in &facts.calls {
        walk.call(call)?;
    }
    let instructions = instructions.checked_add(walk.more).filter(|&count| count <= MAX_COST)?;
    Some(Body { instructions, calls: walk.calls.into() })
}

struct Walk<'a> {
    dex: &'a Dex<'a>,
    class: &'a ClassFacts,
    waits: Option<&'a Catalogue>,
    /// The additional cost of array creations and calls of known methods.
    more: u16,
    calls: Vec<Call>,
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
                self.more = self.more.checked_add(more).filter(|&more| more <= MAX_COST)?;
            }
            _ => {}
        }
        Some(())
    }

    /// Adds the initialization of a class, unless it is certainly initialized already.
    fn uses(&mut self, kind: u32) {
        let class = names::class(self.dex, kind);
        if class == self.class.name_in_file() || known::is_platform(class.as_bytes()) {
            return;
        }
        let class: Box<str> = class.as_ref().into();
        if !self.calls.iter().any(|call| call.how == CallKind::Initialize && call.class == class) {
            let (name, descriptor) = ("<clinit>".into(), "()V".into());
            self.calls.push(Call { how: CallKind::Initialize, class, name, descriptor });
        }
    }

    /// Whether this is a super constructor call that may call an overridden method: see [`crate::cost::body`].
    fn calls_back(&self, class: &str, name: &str) -> bool {
        const QUIET: [&str; 3] = ["java/lang/Object", "java/lang/Enum", "java/lang/Record"];
        name == "<init>" && self.class.super_class() == Some(class) && !QUIET.contains(&class)
    }

    fn call(&mut self, call: &DexCall) -> Option<()> {
        let method = self.dex.methods.get(call.target as usize)?;
        let class = names::class(self.dex, method.class);
        let name = names::string(self.dex, method.name);
        let descriptor = names::method_descriptor(self.dex, method.proto);
        let bytes = (class.as_bytes(), name.as_bytes(), descriptor.as_bytes());
        if self.waits.is_some_and(|waits| waits.names(bytes.0, bytes.1, bytes.2)) {
            return None;
        }
        if known::lists(bytes.0, bytes.1, bytes.2) && !self.calls_back(&class, &name) {
            self.more = self.more.checked_add(KNOWN_CALL_COST)?;
            return Some(());
        }
        if known::is_platform(bytes.0) {
            return None;
        }
        let how = match call.how {
            Invoke::Static => CallKind::Static,
            Invoke::Direct | Invoke::Super => CallKind::Special,
            _ => CallKind::Virtual,
        };
        if how == CallKind::Static {
            self.uses(method.class);
        }
        self.calls.push(Call {
            how,
            class: class.as_ref().into(),
            name: name.as_ref().into(),
            descriptor: descriptor.as_str().into(),
        });
        Some(())
    }
}
