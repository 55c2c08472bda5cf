//! The machine's JDK, and the test programs compiled by it.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

/// A tool of the JDK.
pub fn tool(name: &str) -> Command {
    match std::env::var_os("JAVA_HOME").filter(|home| !home.is_empty()) {
        Some(home) => Command::new(Path::new(&home).join("bin").join(name)),
        None => Command::new(name),
    }
}

/// `java` as the program finds it, in an environment that says nothing about Java.
pub fn java() -> Command {
    let mut java = tool("java");
    for variable in ["CLASSPATH", "JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS"] {
        java.env_remove(variable);
    }
    java
}

/// Runs a command that a test needs.
#[track_caller]
pub fn finish(command: &mut Command) {
    let output = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}: the tests need it"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Compiles test programs into `directory`.
pub fn compile(names: &[&str], class_path: &Path, directory: &Path) {
    let sources = crate::root().join("cli/tests/programs");
    let sources = names.iter().map(|name| sources.join(name).with_extension("java"));
    finish(tool("javac").arg("-cp").arg(class_path).arg("-d").arg(directory).args(sources));
}

/// Compiles source files into `directory`.
pub fn compile_files(sources: &[&str], directory: &Path) {
    finish(tool("javac").arg("-d").arg(directory).args(sources));
}

/// The same, for Java 8 and later.
pub fn compile_for_java_8(sources: &[impl AsRef<OsStr>], directory: &Path) {
    let options = ["-nowarn", "-Xlint:-options", "--release", "8", "-d"];
    finish(tool("javac").args(options).arg(directory).args(sources));
}

/// Signs a jar with a key that is made for it in `directory`.
pub fn sign(jar: &Path, directory: &Path) {
    let store = directory.join("keys");
    let key = ["-storepass", "secret", "-keypass", "secret", "-keystore"];
    let mut keytool = tool("keytool");
    keytool
        .args(["-genkeypair", "-alias", "test", "-keyalg", "RSA", "-dname", "CN=test"])
        .args(key)
        .arg(&store);
    finish(&mut keytool);
    finish(tool("jarsigner").args(key).arg(&store).arg(jar).arg("test"));
}

/// Packs `directory` into a jar with these lines in its manifest.
pub fn pack(directory: &Path, jar: &Path, manifest: &str) {
    let lines = directory.with_extension("manifest");
    std::fs::write(&lines, manifest).unwrap();
    finish(tool("jar").arg("cfm").arg(jar).arg(&lines).arg("-C").arg(directory).arg("."));
    std::fs::remove_file(lines).unwrap();
}
