//! Test programs that run with and without anrscope, and what was recorded of them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use trace_format::{Event, Item, Recording};

use test_support::jdk::{compile, java, pack};
use test_support::program::{Shown, command};
use test_support::temp_dir::{TempDir, copy};

/// The test programs, compiled and packed in several ways.
///
/// ```text
/// classes/            Program, Greeter and a resource
/// libs/program.jar    Program    libs/greeter.jar  Greeter
/// app/app.jar         Program, with Class-Path "../my%20libs/greeter.jar resources/ missing.jar"
/// ```
pub(crate) struct Programs {
    pub(crate) directory: TempDir,
}

impl Programs {
    /// A copy of them for one test.
    pub(crate) fn build() -> Self {
        static BUILT: OnceLock<Programs> = OnceLock::new();
        let directory = TempDir::new();
        copy(BUILT.get_or_init(Self::compiled).directory.path(), directory.path());
        Self { directory }
    }

    fn compiled() -> Self {
        let directory = TempDir::new();
        let at = |name: &str| directory.path().join(name);
        for name in ["classes", "program", "greeter", "libs", "app/resources", "my libs", "tmp"] {
            fs::create_dir_all(at(name)).unwrap();
        }
        compile(&["Greeter"], Path::new(""), &at("greeter"));
        compile(&["Program"], &at("greeter"), &at("program"));
        compile(&["Greeter", "Program"], Path::new(""), &at("classes"));
        directory.file("classes/resource.txt", "out of the directory");
        directory.file("app/resources/resource.txt", "out of the Class-Path");
        pack(&at("program"), &at("libs/program.jar"), "");
        pack(&at("greeter"), &at("libs/greeter.jar"), "");
        // It leads back to the first: the JVM accepts a cycle.
        pack(&at("greeter"), &at("my libs/greeter.jar"), "Class-Path: ../app/app.jar\n");
        let manifest = "Main-Class: Program\nClass-Path: ../my%20libs/greeter.jar resources/ missing.jar\n";
        pack(&at("program"), &at("app/app.jar"), manifest);
        Self { directory }
    }

    pub(crate) fn name(&self, name: &str) -> String {
        self.directory.name(name)
    }

    /// `anrscope jvm`, with temporary files in the test's directory.
    pub(crate) fn traced(&self, options: &[&str]) -> Command {
        let mut command = command();
        command.env("TMPDIR", self.directory.path().join("tmp")).current_dir(self.directory.path());
        command.arg("jvm").args(options).arg("--");
        command
    }

    /// Runs with these options of anrscope and arguments of java.
    pub(crate) fn shown(&self, options: &[&str], arguments: &[&str]) -> Shown {
        Shown::from(self.traced(options).args(arguments).output().unwrap())
    }

    pub(crate) fn plain(&self) -> Command {
        let mut command = java();
        command.current_dir(self.directory.path());
        command
    }

    /// Asserts that no temporary files are left.
    #[track_caller]
    pub(crate) fn assert_tidy(&self) {
        let left: Vec<PathBuf> =
            fs::read_dir(self.directory.path().join("tmp")).unwrap().map(|e| e.unwrap().path()).collect();
        // The JVM's own counters.
        let left: Vec<_> =
            left.iter().filter(|path| !path.to_string_lossy().contains("hsperfdata")).collect();
        assert!(left.is_empty(), "{left:?}");
    }

    /// Runs `arguments` with and without anrscope, and asserts that the results are equal.
    #[track_caller]
    pub(crate) fn assert_same(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Shown {
        let plain =
            Shown::from(self.plain().args(arguments).envs(variables.iter().copied()).output().unwrap());
        let mut traced = self.traced(&["--quiet"]);
        let traced = traced.args(arguments).envs(variables.iter().copied()).output().unwrap();
        assert_eq!(plain, Shown::from(traced), "java {arguments:?}");
        self.assert_tidy();
        plain
    }
}

pub(crate) fn recording_in(directory: &Path) -> PathBuf {
    let mut found = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    found.find(|path| path.extension().is_some_and(|end| end == "anrscope")).expect("a recording")
}

/// Threads of the one recording in `directory` that have events: name and how many begins and ends.
pub(crate) fn recorded(directory: &Path) -> Vec<(String, usize, usize)> {
    let recording = Recording::open(fs::read(recording_in(directory)).unwrap()).unwrap();
    let threads = recording.threads().iter().map(|thread| {
        let (mut begins, mut ends) = (0, 0);
        for item in recording.events(thread) {
            match item.unwrap() {
                Item::Event { event: Event::Enter(_), .. } => begins += 1,
                Item::Event { event: Event::Exit(_), .. } => ends += 1,
                _ => {}
            }
        }
        (thread.name.clone().unwrap_or_default(), begins, ends)
    });
    threads.collect()
}

/// Names in a directory, sorted.
pub(crate) fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(directory).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}
