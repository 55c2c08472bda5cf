//! Finds classes that the JVM loaded from outside the instrumented class path.
//!
//! A class loader of the program can open jars that are on no class path; they run untraced, and the trace does not show it. The JVM's
//! unified logging (Java 9 and later) writes a line for each class that it loads, with its source. The log is complete, costs a few
//! microseconds per class, and touches no stream of the program. The alternatives are worse: /proc/PID/fd and maps only show what is
//! open at the moment of the check; an agent is visible to the program and can fail.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Prefix of the files' names; the pid follows, since a program may start a JVM with its own options.
const NAME: &str = "class-load-";

/// The log rotates at this size, keeping one file: a program may generate classes without end.
const ROTATED_AT: &str = "16M";

/// Characters with a meaning to the option's parser.
const SPECIAL: &[u8] = b"\"%,:";

/// The option that makes the JVM write the log into `dir`; `None` if an option cannot hold the path.
pub(super) fn option(dir: &Path) -> Option<OsString> {
    if dir.as_os_str().as_bytes().iter().any(|byte| SPECIAL.contains(byte)) {
        return None;
    }
    let mut option = OsString::from("-Xlog:class+load=info:file=\"");
    option.push(dir);
    option.push(format!("/{NAME}%p.log\":none:filecount=1,filesize={ROTATED_AT}"));
    Some(option)
}

/// The content of the logs.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Loaded {
    /// Whether any class came from the instrumented class path.
    pub(super) traced: bool,
    /// Jars and directories that classes came from without being instrumented, and how many classes.
    pub(super) untraced: BTreeMap<PathBuf, u64>,
}

/// Reads the logs in `dir` and removes them; `None` if there is no log. The instrumented classes are in `classes`; everything else in
/// `dir` belongs to the recorder.
pub(super) fn read(dir: &Path, classes: &Path) -> Option<Loaded> {
    // The JVM writes paths with links resolved.
    let canonical = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let (ours, classes) = (canonical(dir), canonical(classes));
    let logs: Vec<PathBuf> = fs::read_dir(dir)
        .ok()?
        .flatten()
        .filter(|entry| entry.file_name().as_bytes().starts_with(NAME.as_bytes()))
        .map(|entry| entry.path())
        .collect();
    if logs.is_empty() {
        return None;
    }
    let mut loaded = Loaded::default();
    for log in logs {
        if let Ok(file) = File::open(&log) {
            // The last line may be cut.
            BufReader::new(file)
                .split(b'\n')
                .map_while(Result::ok)
                .for_each(|line| loaded.add(&line, &ours, &classes));
        }
        // A log that cannot be removed is one file too many in anrscope's directory.
        let _ = fs::remove_file(log);
    }
    Some(loaded)
}

impl Loaded {
    /// Parses a line: `com.example.Main source: file:/lib/app.jar`.
    fn add(&mut self, line: &[u8], ours: &Path, classes: &Path) {
        let Ok(line) = std::str::from_utf8(line) else { return };
        let Some((_, source)) = line.split_once(" source: ") else { return };
        let Some(path) = place(source.trim_end()) else { return };
        if path.starts_with(classes) {
            self.traced = true;
        } else if !path.starts_with(ours) {
            *self.untraced.entry(path).or_default() += 1;
        }
    }
}

/// The jar or directory of a source; `None` if it is not a file: modules of the JDK, generated classes.
///
/// `file:/lib/app.jar`, `jar:file:/lib/app.jar!/BOOT-INF/lib/b.jar!/`, `jar:nested:/lib/app.jar/!BOOT-INF/lib/b.jar!/`.
fn place(source: &str) -> Option<PathBuf> {
    let path = source.strip_prefix("jar:").unwrap_or(source);
    let path = path.strip_prefix("file:").or_else(|| path.strip_prefix("nested:"))?;
    // A jar in a jar keeps its name after that of the outer one.
    let path = path.trim_end_matches("!/").replace("/!", "!").replace("!/", "!");
    let decoded = instrumenter::jar::class_path::decode(&path);
    Some(PathBuf::from(std::ffi::OsStr::from_bytes(&decoded)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn sources_are_read_from_what_the_jvm_logs() {
        let scratch = Scratch::new();
        let root = fs::canonicalize(scratch.path()).unwrap();
        let classes = root.join("instrumented");
        let log = "java.lang.Object source: jrt:/java.base\n\
            app.Main source: file:RUN/instrumented/app.jar\n\
            dev.anrscope.MethodBeat source: file:RUN/runtime/\n\
            app.Ext source: file:/lib/my%20ext.jar\n\
            app.Ext2 source: file:/lib/my%20ext.jar\n\
            b.In source: jar:file:/lib/app.jar!/BOOT-INF/lib/b.jar!/\n\
            b.Nested source: jar:nested:/lib/app.jar/!BOOT-INF/lib/c.jar!/\n\
            app.Made$$Lambda source: app.Main\n\
            x.Y source: __JVM_DefineClass__\n\
            no such line\nz source: file:/cut";
        scratch.file("class-load-7.log", log.replace("RUN", root.to_str().unwrap()).as_bytes());
        scratch.file("class-load-7.log.0", b"app.Old source: file:/lib/old/\n\xff source: file:/x\n");
        scratch.file("other.log", b"a source: file:/other.jar\n");
        let loaded = read(scratch.path(), &classes).unwrap();
        let untraced: Vec<(&str, u64)> =
            loaded.untraced.iter().map(|(path, n)| (path.to_str().unwrap(), *n)).collect();
        assert!(loaded.traced);
        assert_eq!(
            untraced,
            [
                ("/cut", 1),
                ("/lib/app.jar!BOOT-INF/lib/b.jar", 1),
                ("/lib/app.jar!BOOT-INF/lib/c.jar", 1),
                ("/lib/my ext.jar", 2),
                ("/lib/old/", 1),
            ]
        );
        assert_eq!(read(scratch.path(), &classes), None, "the logs are removed");
    }

    #[test]
    fn a_path_that_an_option_cannot_hold_gets_no_log() {
        assert!(option(Path::new("/tmp/a b")).is_some());
        for path in ["/tmp/100%p", "/tmp/a\"b", "/tmp/a,b"] {
            assert_eq!(option(Path::new(path)), None, "{path}");
        }
    }
}
