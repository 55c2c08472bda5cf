//! What the first look at a class asks about waits.

use super::catalogue::Catalogue;
use crate::class::class_file::{ClassFile, Method, access};
use crate::class::opcodes::{self, MONITORENTER};
use crate::class::text;

/// Class file version from which `ldc` can push a class.
const CLASS_CONSTANTS_SINCE: u16 = 49;

/// Whether `method` takes a lock of which can be told.
pub(crate) fn is_locked(class: &ClassFile<'_>, method: &Method<'_>) -> bool {
    // The JVM does not look at the flag of a static initializer.
    method.access & access::SYNCHRONIZED != 0
        && method.name != b"<clinit>"
        && (method.access & access::STATIC == 0 || class.major >= CLASS_CONSTANTS_SINCE)
}

/// Whether there is a `monitorenter` in `code`.
pub(crate) fn has_monitors(code: &[u8]) -> bool {
    opcodes::instructions(code).map_while(Result::ok).any(|instruction| instruction.opcode == MONITORENTER)
}

/// The classes on whose supertypes it depends what is told of the waits in `class`, sorted: those whose
/// methods it calls, and its own if a lock's flag is in question.
pub(crate) fn asked(class: &ClassFile<'_>, catalogue: &Catalogue) -> Box<[Box<str>]> {
    let mut asked: Vec<&[u8]> = Vec::new();
    for index in 1..class.pool.count() {
        let Some([owner, name, descriptor]) =
            u16::try_from(index).ok().and_then(|index| class.pool.method(index).ok())
        else {
            continue;
        };
        if catalogue.asks_for_class(name, descriptor) {
            asked.push(owner);
            if owner == class.name {
                asked.extend(&class.supertypes);
            }
        }
    }
    if class.methods.iter().any(|method| is_locked(class, method)) {
        asked.extend(&class.supertypes);
    }
    let mut names: Vec<Box<str>> = asked.into_iter().map(|name| text::decode(name).into()).collect();
    names.sort_unstable();
    names.dedup();
    names.into()
}
