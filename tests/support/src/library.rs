//! The library that the program carries, as a traced run lays it out.

use std::path::{Path, PathBuf};

use crate::jdk;
use crate::program;
use crate::temp_dir::TempDir;

/// The path of the library, in a directory that is kept.
pub fn library(directory: &TempDir) -> PathBuf {
    let source = crate::root().join("cli/tests/end_to_end/java/Sleeper.java");
    let classes = crate::root().join("android/method-beat/classes");
    jdk::compile_with(&classes, &[source], directory.path());
    let kept = directory.name("kept");
    let shown =
        program::run(["jvm", "--quiet", "--keep", &kept, "--", "-cp", &directory.name(""), "Sleeper"]);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    Path::new(&kept).join("runtime/libanrscope.so")
}
