//! `sun.misc.Unsafe` in a JVM that warns of it (Java 24 and later, JEP 498) and was started without the option that allows it.
//!
//! The recorder writes coarse events by it. Without it, every call goes through JNI and is recorded with its own clock reading: 4.1 million
//! events in three seconds of the Closure Compiler, instead of 52,000.

use std::ffi::CStr;

use crate::java::Java;

const OPTION: &CStr = c"Lsun/misc/Unsafe$MemoryAccessOption;";

/// Returns true if memory can be accessed without a line on the program's stderr. The JVM warns once, of the first access,
/// and keeps in a field that it has; this sets it (jdk.unsupported/share/classes/sun/misc/Unsafe.java, `beforeMemoryAccess`).
///
/// Not where each access is reported or refused; `None` before Java 24, which has no such field.
pub(crate) fn silenced(java: Java) -> Option<bool> {
    let (class, options) =
        (java.class(c"sun/misc/Unsafe")?, java.class(c"sun/misc/Unsafe$MemoryAccessOption")?);
    let option = java.static_field(class, c"MEMORY_ACCESS_OPTION", OPTION)?;
    let is = |name| java.static_field(options, name, OPTION).is_some_and(|value| java.is_same(option, value));
    Some(is(c"ALLOW") || is(c"WARN") && java.set_static_boolean(class, c"memoryAccessWarned"))
}
