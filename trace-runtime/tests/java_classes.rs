//! The class files that are checked in (so that building needs no JDK) are those of the checked-in source.

use std::path::{Path, PathBuf};
use std::process::Command;

fn run(program: &str, arguments: &[&Path], options: &[&str]) -> Vec<u8> {
    let output = Command::new(program)
        .args(options)
        .args(arguments)
        .output()
        .unwrap_or_else(|e| panic!("{program}: {e}; run scripts/test, which installs a JDK"));
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

#[test]
fn checked_in_classes_are_what_javac_makes_of_the_source() {
    let java = Path::new(env!("CARGO_MANIFEST_DIR")).join("java");
    let out = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("java-classes");
    let _ = std::fs::remove_dir_all(&out);
    std::fs::create_dir_all(&out).unwrap();
    let folder = Path::new("dev/anrscope");
    let source = java.join(folder).join("MethodBeat.java");
    run("javac", &[&source], &["--release", "8", "-g", "-Xlint:-options", "-d", out.to_str().unwrap()]);

    let made: Vec<_> = std::fs::read_dir(out.join(folder)).unwrap().map(|e| e.unwrap().file_name()).collect();
    let kept: Vec<_> = std::fs::read_dir(java.join("classes").join(folder))
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    assert_eq!(made.len(), kept.len(), "{made:?} {kept:?}");
    for name in made {
        let (new, old) = (out.join(folder).join(&name), java.join("classes").join(folder).join(&name));
        if std::fs::read(&new).unwrap() == std::fs::read(&old).expect("a checked-in class") {
            continue;
        }
        // Another javac may number the constant pool otherwise: then the code must be the same.
        let code =
            |class: &Path| String::from_utf8(run("javap", &[class], &["-p", "-c", "-constants"])).unwrap();
        assert_eq!(
            code(&new),
            code(&old),
            "run: javac --release 8 -g -d trace-runtime/java/classes trace-runtime/java/dev/anrscope/*.java"
        );
    }
}
