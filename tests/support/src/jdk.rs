//! The machine's JDK, and the test programs compiled by it.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::temp_dir::{TempDir, copy};

/// A tool of the JDK. All but `java` end within a second or two, in which the JVM's second compiler takes as much time as they
/// do.
pub fn tool(name: &str) -> Command {
    let mut tool = match std::env::var_os("JAVA_HOME").filter(|home| !home.is_empty()) {
        Some(home) => Command::new(Path::new(&home).join("bin").join(name)),
        None => Command::new(name),
    };
    if name != "java" {
        tool.args(["-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC"]);
    }
    tool
}

/// `java` as the program finds it, in an environment that says nothing about Java.
pub fn java() -> Command {
    let mut java = tool("java");
    for variable in ["CLASSPATH", "JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS"] {
        java.env_remove(variable);
    }
    java
}

/// A program that runs; killed on drop.
#[derive(Debug)]
pub struct Running(pub Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs a command that a test needs, and returns what it prints.
#[track_caller]
pub fn finish(command: &mut Command) -> Vec<u8> {
    let output = command
        .output()
        .unwrap_or_else(|e| panic!("{command:?}: {e}: run scripts/test, which installs a JDK"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// Runs `javac` with these options, and has its classes in `directory`. A program that several tests of this process run is
/// compiled once; a class path counts by its name.
fn javac(options: &[&OsStr], sources: &[impl AsRef<OsStr>], directory: &Path) {
    type Classes = Arc<OnceLock<TempDir>>;
    static COMPILED: Mutex<BTreeMap<Vec<OsString>, Classes>> = Mutex::new(BTreeMap::new());
    let mut program: Vec<OsString> = options.iter().map(|&option| option.to_owned()).collect();
    for source in sources.iter().map(Path::new) {
        let name = source.file_name().expect("a file has a name");
        let text = std::fs::read_to_string(source).unwrap_or_else(|e| panic!("{}: {e}", source.display()));
        program.extend([name.to_owned(), text.into()]);
    }
    let classes = COMPILED.lock().unwrap_or_else(PoisonError::into_inner).entry(program).or_default().clone();
    let classes = classes.get_or_init(|| {
        let classes = TempDir::new();
        finish(tool("javac").args(options).arg("-d").arg(classes.path()).args(sources));
        classes
    });
    copy(classes.path(), directory);
}

/// Compiles test programs into `directory`.
pub fn compile(names: &[&str], class_path: &Path, directory: &Path) {
    let sources = crate::root().join("cli/tests/programs");
    let sources: Vec<_> = names.iter().map(|name| sources.join(name).with_extension("java")).collect();
    compile_with(class_path, &sources, directory);
}

/// Compiles source files into `directory`, with the classes of a class path.
pub fn compile_with(class_path: &Path, sources: &[impl AsRef<OsStr>], directory: &Path) {
    javac(&["-cp".as_ref(), class_path.as_os_str()], sources, directory);
}

/// Compiles source files into `directory`.
pub fn compile_files(sources: &[&str], directory: &Path) {
    javac(&[], sources, directory);
}

/// The same, for Java 8 and later.
pub fn compile_for_java_8(sources: &[impl AsRef<OsStr>], directory: &Path) {
    javac(&["-nowarn", "-Xlint:-options", "--release", "8"].map(OsStr::new), sources, directory);
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
