//! The scan of a class for waits.

use super::catalogue::Catalogue;
use crate::class::class_file::{ClassFile, Method, access};
use crate::class::opcodes::{self, MONITORENTER};
use crate::class::text;

/// The first class file version in which `ldc` can push a class.
const CLASS_CONSTANTS_SINCE: u16 = 49;

/// Returns whether `method` takes a lock that can be recorded.
pub(crate) fn is_locked(class: &ClassFile<'_>, method: &Method<'_>) -> bool {
    // The JVM ignores the flag of a static initializer.
    method.access & access::SYNCHRONIZED != 0
        && method.name != b"<clinit>"
        && (method.access & access::STATIC == 0 || class.major >= CLASS_CONSTANTS_SINCE)
}

/// Returns whether `code` contains a `monitorenter`.
pub(crate) fn has_monitors(code: &[u8]) -> bool {
    opcodes::instructions(code).map_while(Result::ok).any(|instruction| instruction.opcode == MONITORENTER)
}

/// Returns the classes whose super types decide which waits in `class` are recorded, sorted: the owners of the
/// methods that it calls, and its own super types if the flag of a lock matters.
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
