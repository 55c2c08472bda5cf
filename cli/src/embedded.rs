//! The runtime inside the program: the library, and the classes that instrumented code calls.
//!
//! The classes are compiled files in the repository, so that no JDK is needed to build this.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The library with the agent and the recorder, which Cargo links before the program (`build.rs`); empty after `cargo check` only.
static LIBRARY: &[u8] = include_bytes!(env!("ANRSCOPE_EMBEDDED_LIBRARY"));

/// The classes, by their path on the class path.
const CLASSES: &[(&str, &[u8])] = &[
    (
        "dev/anrscope/MethodBeat.class",
        include_bytes!("../../android/method-beat/classes/dev/anrscope/MethodBeat.class"),
    ),
    (
        "dev/anrscope/MethodBeat$Name.class",
        include_bytes!("../../android/method-beat/classes/dev/anrscope/MethodBeat$Name.class"),
    ),
    (
        "com/tencent/matrix/trace/core/AppMethodBeat.class",
        include_bytes!("../../android/method-beat/classes/com/tencent/matrix/trace/core/AppMethodBeat.class"),
    ),
];

/// Paths of the parts after [`unpack`].
#[derive(Debug)]
pub(crate) struct Paths {
    /// The library.
    pub(crate) library: PathBuf,
    /// A directory for the boot class path.
    pub(crate) boot_classes: PathBuf,
    /// A jar with no-op classes of the same names, for JVMs without the recorder.
    pub(crate) no_op_jar: PathBuf,
}

/// Writes all parts into `dir`/runtime and replaces those of an earlier run; `no_op_class` is the class file of the no-op jar.
///
/// # Errors
/// If they cannot be written.
pub(crate) fn unpack(dir: &Path, no_op_class: &[u8]) -> io::Result<Paths> {
    let library = unpack_library(dir)?;
    let boot_classes = dir.join("runtime");
    let paths = Paths { library, no_op_jar: boot_classes.join("untraced.jar"), boot_classes };
    for (name, bytes) in CLASSES {
        let path = paths.boot_classes.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, bytes)?;
    }
    remove(&paths.no_op_jar)?;
    let class = format!("{}.class", instrumenter::CALL_CLASS);
    fs::File::create_new(&paths.no_op_jar)?.write_all(&instrumenter::jar::jar_of(&class, no_op_class))?;
    Ok(paths)
}

/// Writes the library into `dir`/runtime, in place of an earlier run's, and returns its path.
///
/// # Errors
/// If it cannot be written.
pub(crate) fn unpack_library(dir: &Path) -> io::Result<PathBuf> {
    let bytes = library()?;
    let directory = dir.join("runtime");
    fs::create_dir_all(&directory)?;
    let library = directory.join(LIBRARY_NAME);
    // A library that a running JVM has mapped must not be overwritten: remove it and create another file.
    remove(&library)?;
    fs::write(&library, bytes)?;
    Ok(library)
}

/// The library's bytes.
///
/// # Errors
/// If this program was built without it.
pub(crate) fn library() -> io::Result<&'static [u8]> {
    if LIBRARY.is_empty() {
        let cure = "build it again after `cargo clean --release -p anrscope-jvm-agent`";
        return Err(io::Error::other(format!(
            "this program was built without the library for the JVM: {cure}"
        )));
    }
    Ok(LIBRARY)
}

/// The name of the library's file.
pub(crate) const LIBRARY_NAME: &str = "libanrscope.so";

/// The size of the library's file, bytes.
pub(crate) fn library_size() -> u64 {
    LIBRARY.len() as u64
}

/// A number that tells versions of the library apart.
pub(crate) fn library_number() -> u64 {
    let mut hash = trace_format::MapHash::default();
    hash.add(LIBRARY);
    hash.state()
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}
