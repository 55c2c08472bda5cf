//! The checked-in class files (which let the build do without a JDK) match the checked-in source.

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
fn checked_in_classes_equal_javacs_output() {
    let java = Path::new(env!("CARGO_MANIFEST_DIR")).join("../android/method-beat");
    let out = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("java-classes");
    let _ = std::fs::remove_dir_all(&out);
    std::fs::create_dir_all(&out).unwrap();
    let directories = ["dev/anrscope", "com/tencent/matrix/trace/core"].map(Path::new);
    let sources: Vec<PathBuf> =
        directories.iter().flat_map(|directory| files(&java.join(directory))).collect();
    let sources: Vec<&Path> = sources.iter().map(PathBuf::as_path).collect();
    let path = std::env::join_paths([java.join("stubs"), java.clone()]).unwrap();
    let flags = ["--release", "8", "-g", "-Xlint:-options", "-implicit:none"];
    let places = ["-sourcepath", path.to_str().unwrap(), "-d", out.to_str().unwrap()];
    run("javac", &sources, &[&flags[..], &places].concat());
    for directory in directories {
        compare(&out.join(directory), &java.join("classes").join(directory));
    }
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = std::fs::read_dir(directory).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    files
}

fn compare(new: &Path, old: &Path) {
    let name = |path: &PathBuf| path.file_name().unwrap().to_owned();
    let made: Vec<_> = files(new).iter().map(name).collect();
    let kept: Vec<_> = files(old).iter().map(name).collect();
    assert_eq!(made, kept);
    for name in made {
        let (new, old) = (new.join(&name), old.join(&name));
        if std::fs::read(&new).unwrap() == std::fs::read(&old).expect("a checked-in class") {
            continue;
        }
        // Another javac may number the constant pool differently: then the code must be the same.
        let code =
            |class: &Path| String::from_utf8(run("javap", &[class], &["-p", "-c", "-constants"])).unwrap();
        assert_eq!(
            code(&new),
            code(&old),
            "run, in android/method-beat: javac --release 8 -g -implicit:none -sourcepath stubs:. -d classes \
             dev/anrscope/*.java com/tencent/matrix/trace/core/*.java"
        );
    }
}
