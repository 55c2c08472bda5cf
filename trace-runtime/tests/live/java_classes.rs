//! The checked-in class files (which let the build do without a JDK) match the checked-in source.

use std::path::{Path, PathBuf};

fn run(program: &str, arguments: &[&Path], options: &[&str]) -> Vec<u8> {
    let output = test_support::jdk::tool(program)
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

/// R8 removes the constructor of a class that is only created by its name.
#[test]
fn classes_that_are_loaded_by_name_keep_their_constructors() {
    let aar = Path::new(env!("CARGO_MANIFEST_DIR")).join("../android/aar");
    let rules = std::fs::read_to_string(aar.join("proguard.txt")).unwrap();
    let (_, kept) = rules.split_once("-keep class ").expect("the classes that are kept");
    let (kept, _) = kept.split_once('{').unwrap();
    let kept: Vec<&str> = kept.split([',', ' ', '\n']).filter(|name| !name.is_empty()).collect();
    let mut loaded = Vec::new();
    for entry in std::fs::read_dir(aar.join("java/dev/anrscope")).unwrap() {
        let source = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        for call in source
            .split("OptionalClasses.")
            .skip(1)
            .filter(|call| call.starts_with("run(\"") || call.starts_with("make(\""))
        {
            loaded.push(call.split('"').nth(1).unwrap().to_owned());
        }
    }
    assert!(loaded.len() > 3, "{loaded:?}");
    for name in loaded {
        assert!(
            kept.contains(&name.as_str()),
            "{name} is loaded by name: add it to android/aar/proguard.txt"
        );
    }
}
