//! Instrumented classes where the recorder cannot work: the program runs on.

use std::path::Path;
use std::process::Command;

use crate::end_to_end::{compile, recordings, runtime_classes};
use test_support::program;
use test_support::temp_dir::TempDir;

#[test]
fn the_program_runs_on_without_the_recorder() {
    let directory = TempDir::new();
    std::fs::create_dir(directory.path().join("classes")).unwrap();
    compile("DeepThrow", &directory.path().join("classes"));
    let (classes, kept, instrumented) =
        (directory.name("classes"), directory.name("kept"), directory.name("instrumented"));
    // Any traced run lays the library out.
    let shown = program::run(["jvm", "--quiet", "--keep", &kept, "--", "-cp", &classes, "DeepThrow"]);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    let shown = program::run(["instrument", "--waits", &classes, "--out", &instrumented]);
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
            .arg(&instrumented)
            .arg("DeepThrow")
            .current_dir(directory.path())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0), "{options:?}");
        let stderr = String::from_utf8_lossy(&output.stderr);
        // One line says why nothing is recorded, unless that is what was asked for. HotSpot may add a warning about a file that is
        // not a library.
        let own: Vec<_> = stderr.lines().filter(|line| line.starts_with("anrscope: ")).collect();
        let expected = match options {
            [_, "-Danrscope.off=true"] => None,
            [_, "-Danrscope.dir=/proc/nowhere"] => Some("anrscope: no recording file, in memory only"),
            _ => Some("anrscope: nothing is recorded: java.lang.UnsatisfiedLinkError: "),
        };
        assert_eq!(own.len(), usize::from(expected.is_some()), "{options:?}: {stderr}");
        assert!(expected.is_none_or(|expected| own[0].starts_with(expected)), "{options:?}: {stderr}");
        assert!(
            stderr.lines().count() == own.len() || stderr.contains("VM warning: You have loaded library"),
            "{options:?}: {stderr}"
        );
        assert_eq!(String::from_utf8_lossy(&output.stdout).lines().count(), 1_000, "{options:?}");
        assert!(recordings(directory.path()).is_empty(), "{options:?}");
    }
}
