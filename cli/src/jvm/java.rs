//! Finds the machine's `java`, its version, and the options that the version needs.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};

/// A Java launcher.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Java {
    /// The program.
    pub(crate) path: PathBuf,
    /// Its feature version: 8, 11, 17...
    pub(crate) version: u32,
    /// Whether it is HotSpot, which alone has the logging and compiler options.
    pub(crate) hotspot: bool,
}

/// Splits the launcher off a command line, and returns it if it is named by its path. Other tools that run programs expect it in
/// front.
pub(crate) fn without_launcher(arguments: &[OsString]) -> (Option<PathBuf>, &[OsString]) {
    let Some((first, rest)) = arguments.split_first() else { return (None, arguments) };
    let path = Path::new(first);
    if first == "java" {
        (None, rest)
    } else if path.file_name().is_some_and(|name| name == "java") && executable(path) {
        (Some(path.to_owned()), rest)
    } else {
        (None, arguments)
    }
}

impl Java {
    /// Finds the launcher: the one that is `named`, else that of `JAVA_HOME` if set, else the first on the search path.
    pub(crate) fn find(named: Option<PathBuf>) -> anyhow::Result<Self> {
        let home = std::env::var_os("JAVA_HOME").filter(|home| !home.is_empty());
        let path = match (named, home) {
            (Some(path), _) => path,
            (None, Some(home)) => {
                let path = Path::new(&home).join("bin/java");
                if !executable(&path) {
                    bail!(
                        "{} is not a program: set JAVA_HOME to a Java installation, or unset it to use java \
                         from the search path",
                        path.display()
                    );
                }
                path
            }
            (None, None) => on_search_path(&std::env::var_os("PATH").unwrap_or_default())
                .context("no java on the search path: install a JDK or JRE, or set JAVA_HOME")?,
        };
        Self::by_release(&path).map_or_else(|| Self::by_printed_version(&path), Ok)
    }

    /// The launcher at `path`, by the text that states its version; a JVM other than HotSpot is named in it.
    fn new(path: &Path, version: u32, text: &str) -> Self {
        Self { path: path.to_owned(), version, hotspot: !text.to_ascii_lowercase().contains("openj9") }
    }

    /// The launcher at `path`, by the `release` file of the installation, which needs no JVM start. A launcher that is a version
    /// manager's script has no such file beside it.
    fn by_release(path: &Path) -> Option<Self> {
        let java = std::fs::canonicalize(path).ok()?;
        let home = java.parent()?.parent()?;
        // In Java 8 the launcher of a JDK may lie in jre/bin.
        let release = [home, home.parent()?]
            .iter()
            .filter(|home| home.join("release").is_file() && home.join("lib").is_dir())
            .find_map(|home| std::fs::read_to_string(home.join("release")).ok())?;
        let line = release.lines().find_map(|line| line.strip_prefix("JAVA_VERSION="))?;
        feature_version(line.trim().trim_matches('"')).map(|version| Self::new(path, version, &release))
    }

    /// The launcher at `path`, by the version that `java -version` prints.
    fn by_printed_version(path: &Path) -> anyhow::Result<Self> {
        let output = Command::new(path)
            .arg("-version")
            // These may load agents or print lines of their own.
            .env_remove("JDK_JAVA_OPTIONS")
            .env_remove("JAVA_TOOL_OPTIONS")
            .env_remove("_JAVA_OPTIONS")
            .stdin(Stdio::null())
            .output()
            .with_context(|| format!("cannot run {}", path.display()))?;
        let text = String::from_utf8_lossy(&output.stderr);
        let quoted = text.split('"').nth(1);
        quoted.and_then(feature_version).map(|version| Self::new(path, version, &text)).with_context(|| {
            format!("{} -version prints no version: set JAVA_HOME to another Java", path.display())
        })
    }

    /// Whether the first use of `sun.misc.Unsafe`, which writes coarse events, would warn on stderr. Then one of
    /// [`Self::options_of_calls`] prevents it, and the property `anrscope.unsafe` tells `MethodBeat` so.
    pub(crate) fn warns_of_unsafe(&self) -> bool {
        self.version >= 24
    }

    /// Options for the calls of the recorder in the program's code.
    pub(crate) fn options_of_calls(&self) -> Vec<OsString> {
        let mut options = Vec::new();
        if self.hotspot {
            // Recording calls are not inlined: compiled into each traced method they make the compilers' work half as much again.
            options.push("-XX:CompileCommand=quiet".into());
            options.extend(["begin", "end"].map(|method| {
                OsString::from(format!("-XX:CompileCommand=dontinline,dev/anrscope/MethodBeat.{method}"))
            }));
        }
        // Before 23 the option is unknown and stops the JVM (JEP 471).
        if self.warns_of_unsafe() {
            options.push("--sun-misc-unsafe-memory-access=allow".into());
        }
        options
    }
}

fn on_search_path(path: &std::ffi::OsStr) -> Option<PathBuf> {
    std::env::split_paths(path).map(|directory| directory.join("java")).find(|java| executable(java))
}

fn executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// 8 of `1.8.0_412`, 17 of `17.0.15`, 25 of `25-ea`.
fn feature_version(text: &str) -> Option<u32> {
    let mut numbers = text.split(|c: char| !c.is_ascii_digit());
    match numbers.next()?.parse().ok()? {
        1 => numbers.next()?.parse().ok(),
        version => Some(version),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn versions_of_both_schemes_are_read() {
        for (text, version) in
            [("1.8.0_412", Some(8)), ("9", Some(9)), ("17.0.15", Some(17)), ("25-ea", Some(25)), ("x", None)]
        {
            assert_eq!(feature_version(text), version, "{text}");
        }
    }

    #[test]
    fn options_fit_the_version() {
        let options = |version| Java { path: "java".into(), version, hotspot: true }.options_of_calls().len();
        assert_eq!([8, 11, 17, 23, 24, 25].map(options), [3, 3, 3, 3, 4, 4]);
    }

    #[test]
    fn a_launcher_that_is_a_script_is_asked() {
        let scratch = Scratch::new();
        let java = scratch.file("bin/java", b"#!/bin/sh\necho 'openjdk version \"11.0.2\" 2019' >&2\n");
        std::fs::set_permissions(&java, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(Java::by_release(&java), None);
        let printed = Java { path: java.clone(), version: 11, hotspot: true };
        assert_eq!(Java::by_printed_version(&java).unwrap(), printed);
        assert_eq!(on_search_path(scratch.path().join("bin").as_os_str()), Some(java.clone()));
        scratch.file("release", b"IMPLEMENTOR=\"x\"\nJAVA_VERSION=\"17.0.15\"\nJVM_VARIANT=\"Openj9\"\n");
        scratch.file("lib/x", b"");
        assert_eq!(Java::by_release(&java), Some(Java { path: java, version: 17, hotspot: false }));
    }

    #[test]
    fn a_launcher_in_front_is_no_word_of_javas() {
        let scratch = Scratch::new();
        let launcher = scratch.file("bin/java", b"");
        std::fs::set_permissions(&launcher, std::fs::Permissions::from_mode(0o755)).unwrap();
        let words = |line: &str| -> Vec<OsString> { line.split(' ').map(OsString::from).collect() };
        for (line, named, rest) in [
            ("java -jar x.jar", None, "-jar x.jar"),
            ("-jar java", None, "-jar java"),
            ("no/such/java Main", None, "no/such/java Main"),
            ("com.example.java x", None, "com.example.java x"),
            (&format!("{} -cp a Main", launcher.display()), Some(&launcher), "-cp a Main"),
        ] {
            let words = words(line);
            let (path, left) = without_launcher(&words);
            let left: Vec<_> = left.iter().map(|word| word.to_str().unwrap()).collect();
            assert_eq!((path.as_ref(), left.join(" ").as_str()), (named, rest), "{line}");
        }
        assert_eq!(without_launcher(&[]), (None, &[][..]));
    }
}
