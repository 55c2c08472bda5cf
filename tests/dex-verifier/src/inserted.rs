//! The calls that tracing inserts: none of them may throw into the app.
//!
//! ```text
//!     invoke-static {v4, v0} we      handlers for two errors come first, and lead to n
//! n:  the app's next instruction
//! ```
//!
//! This is no rule of ART. The recorder throws nothing but `StackOverflowError` and `OutOfMemoryError`, and a call that records
//! something may lose its event in that case. So each such call must have handlers that drop these errors and continue
//! behind the call, with the registers as they were. What else is thrown there is the app's. `i` and `o` need none: `i` runs before the app's code in its method and
//! makes sure that `o` has stack.

use crate::code::Code;
use crate::file::DexFile;
use crate::instruction::Instruction;
use crate::opcodes::Effect;
use crate::report::{Finding, Inserted, Severity};
use crate::structure::Structure;

const CLASS: &[u8] = b"Ldev/anrscope/MethodBeat;";
const ERRORS: [&[u8]; 2] = [b"Ljava/lang/StackOverflowError;", b"Ljava/lang/OutOfMemoryError;"];
const INVOKE_STATIC: [u8; 2] = [0x71, 0x77];
/// Instructions on the way from a handler to where it continues: `move-exception` and a `goto`, or a few by other compilers.
const MAX_STEPS: usize = 4;

/// Counts the inserted calls of a method whose structure is right, and returns those that may throw into the app.
pub(crate) fn check(file: &DexFile<'_>, code: &Code, structure: &Structure) -> (Inserted, Vec<Finding>) {
    let (mut inserted, mut findings) = (Inserted::default(), Vec::new());
    let starts = (0..code.units.len() as u32).filter(|pc| structure.is_start(*pc));
    for pc in starts {
        let Some(insn) = Instruction::decode(&code.units, pc as usize) else { continue };
        if !INVOKE_STATIC.contains(&insn.op) {
            continue;
        }
        let method = file.methods.get(insn.b as usize);
        let Some(method) = method.filter(|method| file.descriptor(method.class) == Some(CLASS)) else {
            continue;
        };
        match file.string(method.name) {
            Some(b"i" | b"o") => inserted.ends += 1,
            Some(b"wb" | b"we" | b"wr" | b"wt" | b"c") if is_covered(file, code, pc, pc + insn.units) => {
                inserted.covered += 1;
            }
            Some(b"wb" | b"we" | b"wr" | b"wt" | b"c") => findings.push(Finding {
                severity: Severity::Inserted,
                pc: Some(pc),
                rule: "an inserted call does not lose its two errors, and these alone",
                detail: file.text(method.name),
            }),
            _ => {}
        }
    }
    (inserted, findings)
}

/// Returns whether the call at `pc` drops the errors that it throws, and continues at `next` either way.
fn is_covered(file: &DexFile<'_>, code: &Code, pc: u32, next: u32) -> bool {
    let handlers = code.handlers_at(pc);
    let mut expected = handlers.iter().zip(ERRORS);
    handlers.len() >= ERRORS.len()
        && expected.all(|(handler, error)| {
            let is_error = handler.catches.is_some_and(|kind| file.descriptor(kind) == Some(error));
            is_error && leads_to(code, handler.address, next)
        })
}

/// Returns whether a handler does nothing on the way from `at` to `next`.
fn leads_to(code: &Code, mut at: u32, next: u32) -> bool {
    for _ in 0..MAX_STEPS {
        if at == next {
            return true;
        }
        let Some(insn) = Instruction::decode(&code.units, at as usize) else { return false };
        at = match insn.effect {
            Effect::MoveException => at + insn.units,
            Effect::Nop if !insn.is_payload() => at + insn.units,
            Effect::Goto => (i64::from(at) + insn.literal) as u32,
            _ => return false,
        };
    }
    false
}
