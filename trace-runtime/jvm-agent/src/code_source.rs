//! Where the classes of a loader come from: the jar or directory of their code source, in which their supertypes may be too.
//!
//! All is read from fields, since no Java code may run while a class is being defined. Their names are those of OpenJDK 8 to 25; on
//! another JVM nothing is found, and supertypes are known as soon as they are loaded.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;

use instrumenter::jar::class_path;
use jni::sys::{jlong, jobject};

use crate::environment::Environment;
use crate::java::Java;

/// Tag of a `CodeSource` that was seen.
const SEEN: jlong = 1;

/// The path of the code source of a protection domain, if it is a local file or directory and was not asked for before.
pub(crate) fn new_path(java: Java, jvmti: Environment, domain: jobject) -> Option<PathBuf> {
    if domain.is_null() {
        return None;
    }
    // One for each object and its class.
    let _frame = java.frame(16);
    let source =
        java.field(domain, c"codesource", c"Ljava/security/CodeSource;").filter(|it| !it.is_null())?;
    if jvmti.tag(source) == SEEN {
        return None;
    }
    jvmti.set_tag(source, SEEN);
    let url = java.field(source, c"location", c"Ljava/net/URL;").filter(|it| !it.is_null())?;
    let part = |name| java.text(java.field(url, name, c"Ljava/lang/String;")?);
    (part(c"protocol")? == "file").then_some(())?;
    let path = class_path::decode(&part(c"path")?);
    path.starts_with(b"/").then(|| OsString::from_vec(path).into())
}
