//! The classes that rewritten code calls: brought into the boot loader, and bound to the recorder in this library.
//!
//! The boot loader's classes are seen by every loader that asks its parents, by modules too: the JVM lets a module whose
//! class a hook has changed read the boot loader's unnamed module.

use std::ffi::{CStr, CString};

use jni::sys::{jclass, jvalue};
use trace_format::MapId;

use crate::java::{Global, Java};
use crate::unsafe_access;

/// The name of the class that is called.
pub(crate) const METHOD_BEAT: &CStr = c"dev/anrscope/MethodBeat";

/// The property which says that `sun.misc.Unsafe` prints no warning.
const ALLOWS_UNSAFE: &str = "anrscope.unsafe";

/// The classes by their internal names, each before those that use it.
pub const CLASSES: [(&CStr, &[u8]); 2] = [
    (
        c"dev/anrscope/MethodBeat$Name",
        include_bytes!("../../../android/method-beat/classes/dev/anrscope/MethodBeat$Name.class"),
    ),
    (METHOD_BEAT, include_bytes!("../../../android/method-beat/classes/dev/anrscope/MethodBeat.class")),
];

/// Why nothing is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// The recorder was switched off, or has reported itself why it does not run.
    Off,
    /// Something that this text says.
    Because(&'static str),
}

/// Brings the classes into the JVM and starts the recorder, with the calling thread as its main thread. Returns the class
/// that rewritten code calls.
pub(crate) fn start(java: Java, properties: &[(String, String)], map_id: MapId) -> Result<Global, Refused> {
    let because = Refused::Because;
    // Three for each class and for each property, and some.
    java.reserve(i32::try_from(properties.len() * 4 + 32).unwrap_or(i32::MAX));
    let [Some(_), Some(method_beat)] = CLASSES.map(|(name, bytes)| java.define(name, &without_lines(bytes)))
    else {
        return Err(because("the JVM does not take the class dev.anrscope.MethodBeat"));
    };
    if !java.register(method_beat, &trace_runtime::method_beat_natives()) {
        return Err(because("the JVM does not take the native methods of dev.anrscope.MethodBeat"));
    }
    let owned = |name: &str, value: String| (name.to_owned(), value);
    let mut own = vec![owned("anrscope.lib", String::new()), owned("anrscope.mapId", map_id.to_string())];
    if properties.iter().all(|(name, _)| name != ALLOWS_UNSAFE) && unsafe_access::silenced(java) == Some(true)
    {
        own.push(owned(ALLOWS_UNSAFE, "true".to_owned()));
    }
    let set = SystemProperties::set(java, own.iter().chain(properties));
    let set = set.ok_or(because("system properties cannot be set"))?;
    // This initialises the class, which reads the properties and starts the recorder. The program's class loader has to
    // find it before any class is changed: otherwise its calls would end the program.
    let found = java.class(METHOD_BEAT);
    let is_recording = java.call_static_boolean(method_beat, c"isRecording");
    set.restore(java);
    if !found.is_some_and(|found| java.is_same(found, method_beat)) {
        return Err(because("the program's class loader does not find dev.anrscope.MethodBeat"));
    }
    match is_recording {
        Some(true) => java.global(method_beat).ok_or(because("the JVM is out of memory")),
        Some(false) => Err(Refused::Off),
        None => Err(because("dev.anrscope.MethodBeat cannot be initialised")),
    }
}

/// A class file without line numbers, so that a debugger's "step" does not stop in it: it goes through methods that have none. The
/// attribute gets a name that no JVM knows, and an unknown attribute is skipped (JVMS 4.7.1).
fn without_lines(class: &[u8]) -> Vec<u8> {
    const ATTRIBUTE: &[u8] = b"LineNumberTable";
    let mut class = class.to_vec();
    if let Some(at) = class.windows(ATTRIBUTE.len()).position(|bytes| bytes == ATTRIBUTE)
        && let Some(first) = class.get_mut(at)
    {
        *first = b'l';
    }
    class
}

/// System properties that are set while the recorder reads them, so that the program does not see them.
struct SystemProperties {
    system: jclass,
    /// Name and former value.
    before: Vec<(CString, Option<jni::sys::jobject>)>,
}

impl SystemProperties {
    fn set<'a>(java: Java, properties: impl Iterator<Item = &'a (String, String)>) -> Option<Self> {
        let mut set = Self { system: java.class(c"java/lang/System")?, before: Vec::new() };
        for (name, value) in properties {
            let plain = CString::new(name.as_str()).ok()?;
            let (name, value) = (java.string(name)?, java.string(value)?);
            let get = c"(Ljava/lang/String;)Ljava/lang/String;";
            let before = java.call_static(set.system, c"getProperty", get, &[jvalue { l: name }]);
            set.put(java, name, value);
            set.before.push((plain, before));
        }
        Some(set)
    }

    fn put(&self, java: Java, name: jni::sys::jobject, value: jni::sys::jobject) {
        let descriptor = c"(Ljava/lang/String;Ljava/lang/String;)Ljava/lang/String;";
        // It returns the former value, which is null as a rule.
        java.call_static(self.system, c"setProperty", descriptor, &[jvalue { l: name }, jvalue { l: value }]);
    }

    fn restore(self, java: Java) {
        for (name, before) in self.before.iter().rev() {
            let Some(name) = java.string(&name.to_string_lossy()) else { return };
            match before {
                Some(value) => self.put(java, name, *value),
                None => {
                    let descriptor = c"(Ljava/lang/String;)Ljava/lang/String;";
                    java.call_static(self.system, c"clearProperty", descriptor, &[jvalue { l: name }]);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_classes_lose_their_line_numbers_and_nothing_else() {
        for (name, bytes) in CLASSES {
            let changed = without_lines(bytes);
            let different: Vec<usize> = (0..bytes.len()).filter(|at| changed[*at] != bytes[*at]).collect();
            let [at] = different[..] else { panic!("{name:?}: {different:?}") };
            // An entry of the constant pool: its tag and its length (JVMS 4.4.7).
            assert_eq!(
                (&changed[at - 3..at], &changed[at..at + 15]),
                (&[1, 0, 15][..], &b"lineNumberTable"[..])
            );
            assert!(!changed.windows(15).any(|bytes| bytes == b"LineNumberTable"), "{name:?}");
        }
    }
}
