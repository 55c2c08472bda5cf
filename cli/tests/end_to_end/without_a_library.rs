//! Instrumented classes where the recorder cannot work: the program runs on.

use std::path::Path;
use std::process::Command;

use crate::temp_dir::TempDir;
use crate::{compile, program, recordings, runtime_classes};

#[test]
fn the_program_runs_on_without_the_recorder() {
    let directory = TempDir::new();
    std::fs::create_dir(directory.path().join("classes")).unwrap();
    compile("DeepThrow", &directory.path().join("classes"));
    let kept = directory.name("kept");
    let shown = program::run([
        "jvm",
        "--quiet",
        "--keep",
        &kept,
        "--",
        "-cp",
        &directory.name("classes"),
        "DeepThrow",
    ]);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    let kept = Path::new(&kept);
    let broken = directory.file("broken.so", b"no library at all");
    let library = format!("-Danrscope.lib={}", kept.join("runtime/libanrscope.so").display());
    let cases: &[&[&str]] = &[
        &["-Danrscope.lib=/nonexistent/libanrscope.so"],
        &[&format!("-Danrscope.lib={broken}")],
        &["-Djava.library.path=/nonexistent"],
        &[&library, "-Danrscope.off=true"],
        // The library is there, but nothing can be written: it records in memory.
        &[&library, "-Danrscope.dir=/proc/nowhere"],
    ];
    for options in cases {
        let output = Command::new("java")
            .arg(format!("-Xbootclasspath/a:{}", runtime_classes().display()))
            .args(*options)
            .arg("-cp")
            .arg(kept.join("instrumented/classes"))
            .arg("DeepThrow")
            .current_dir(directory.path())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0), "{options:?}");
        let stderr = String::from_utf8_lossy(&output.stderr);
        // HotSpot warns about a file that is not a library; the recorder warns about a recording without a file.
        let nowhere = options.contains(&"-Danrscope.dir=/proc/nowhere");
        assert_eq!(stderr.contains("anrscope: no recording file, in memory only"), nowhere, "{stderr}");
        assert!(
            stderr.lines().count() == usize::from(nowhere)
                || stderr.contains("VM warning: You have loaded library"),
            "{options:?}: {stderr}"
        );
        assert_eq!(String::from_utf8_lossy(&output.stdout).lines().count(), 1_000, "{options:?}");
        assert!(recordings(directory.path()).is_empty(), "{options:?}");
    }
}
