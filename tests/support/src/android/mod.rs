//! Compiles the fakes, the shims and the cases once, and runs cases.

pub mod lifetime;
pub mod marked;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use trace_format::section::SectionKind;
use trace_format::{Event, Item, Recording, Thread};

use crate::jdk;
use crate::temp_dir::remove_with_test;

/// A program of `android/tests/app` to run, in package `dev.anrscope`.
pub struct Case {
    class: &'static str,
    name: String,
    properties: Vec<String>,
    words: Vec<String>,
    status: Option<i32>,
    library: Option<PathBuf>,
    /// Directories of classes before those of the cases.
    classes: Vec<PathBuf>,
    environment: Vec<(String, PathBuf)>,
    /// The recorder gets no directory at the start, as on Android, where recording begins before it is
    /// known.
    in_memory_first: bool,
    lenient: bool,
    /// What the JVM must write to stderr.
    stderr: &'static str,
}

/// What a run left behind.
#[derive(Debug)]
pub struct Run {
    /// The program's stdout.
    pub printed: String,
    directory: PathBuf,
}

impl Case {
    pub fn new(class: &'static str) -> Self {
        Case {
            class,
            name: class.to_owned(),
            properties: Vec::new(),
            words: Vec::new(),
            status: Some(0),
            library: None,
            classes: Vec::new(),
            environment: Vec::new(),
            in_memory_first: false,
            lenient: false,
            stderr: "",
        }
    }

    pub fn environment(mut self, name: &str, directory: &Path) -> Self {
        self.environment.push((name.to_owned(), directory.to_owned()));
        self
    }

    /// As on Android, the recorder gets no directory at the start.
    pub fn in_memory_first(mut self) -> Self {
        self.in_memory_first = true;
        self
    }

    /// A directory with another name than the class, for a class that several tests run at once.
    pub fn named(mut self, name: &str) -> Self {
        self.name = format!("{}-{name}", self.class);
        self
    }

    /// The API level, 34 without it.
    pub fn sdk(self, level: u32) -> Self {
        self.property(&format!("android.host.sdk={level}"))
    }

    pub fn property(self, property: &str) -> Self {
        self.jvm(&format!("-D{property}"))
    }

    /// An option of the JVM.
    pub fn jvm(mut self, option: &str) -> Self {
        self.properties.push(option.to_owned());
        self
    }

    pub fn word(mut self, word: &str) -> Self {
        self.words.push(word.to_owned());
        self
    }

    /// A library other than the one of the tests' build.
    pub fn library(mut self, library: &Path) -> Self {
        self.library = Some(library.to_owned());
        self
    }

    /// A directory of more classes.
    pub fn classes(mut self, directory: &Path) -> Self {
        self.classes.push(directory.to_owned());
        self
    }

    /// The program is killed or kills itself: its exit status is not checked.
    pub fn dies(mut self) -> Self {
        self.status = None;
        self
    }

    /// The JVM's stderr is printed and not checked: when a library is being tested, a fault is a result.
    pub fn lenient(mut self) -> Self {
        self.lenient = true;
        self
    }

    /// The JVM writes this to stderr, and not nothing.
    pub fn stderr(mut self, text: &'static str) -> Self {
        self.stderr = text;
        self
    }

    /// The directory of the recordings, emptied by [`Case::run`], and removed at the end of a test that passed.
    pub fn directory(&self) -> PathBuf {
        base().join("runs").join(&self.name)
    }

    /// The command, with an empty directory for its recordings.
    pub fn command(&self) -> Command {
        let directory = self.directory();
        let _ = std::fs::remove_dir_all(&directory);
        std::fs::create_dir_all(&directory).unwrap();
        remove_with_test(directory);
        self.command_again()
    }

    /// The command, in the directory as it is: a later process of the same app.
    pub fn command_again(&self) -> Command {
        let built = crate::built();
        let library = self.library.clone().unwrap_or_else(|| built.join("deps/libtrace_runtime.so"));
        let here = here();
        let own = [classes().to_owned(), here.join("method-beat/classes")];
        let path = std::env::join_paths(self.classes.iter().chain(&own)).unwrap();
        let mut command = Command::new("java");
        // Small and quick to start: several run at once.
        command.args(["-Xshare:auto", "-XX:TieredStopAtLevel=1", "-Xmx256m", "-XX:+UseSerialGC"]);
        command.arg(format!("-Danrscope.lib={}", library.display()));
        // Main polls in native code as on Android; in Java where this crate's examples are not built
        // (`cargo test -p anrscope`).
        let native = built.join("examples/libnative_poll.so");
        if native.exists() {
            command.arg(format!("-Dandroid.host.native={}", native.display()));
        }
        // Access to hidden fields is refused.
        command.args([
            "-Dandroid.host.hiddenApi=enforced",
            "--add-opens=java.base/jdk.internal.reflect=ALL-UNNAMED",
        ]);
        if !self.in_memory_first {
            command.arg(format!("-Danrscope.dir={}", self.directory().display()));
        }
        command.envs(self.environment.iter().map(|(name, directory)| (name, directory)));
        command.arg("-Danrscope.name=com.example.app").arg("-Danrscope.mapId=1");
        command.args(&self.properties).arg("-cp").arg(path);
        command.arg(format!("dev.anrscope.{}", self.class)).args(&self.words);
        command
    }

    pub fn run(self) -> Run {
        let command = self.command();
        self.finish(command)
    }

    /// Runs it once more in the same directory.
    pub fn run_again(self) -> Run {
        let command = self.command_again();
        self.finish(command)
    }

    fn finish(self, mut command: Command) -> Run {
        let Output { status, stdout, stderr } =
            command.output().expect("java: run scripts/test, which installs a JDK");
        let printed = String::from_utf8(stdout).unwrap();
        let complaints = String::from_utf8_lossy(&stderr);
        if self.lenient {
            eprint!("{complaints}");
        } else if let Some(expected) = self.status {
            assert_eq!(status.code(), Some(expected), "{printed}\n{complaints}");
            // HotSpot prints its answer to a SIGQUIT to stdout.
            assert_eq!(complaints, self.stderr, "{printed}");
        } else {
            // Shown if the test fails.
            eprint!("{complaints}");
        }
        Run { printed, directory: self.directory() }
    }
}

impl Run {
    /// The files of the recordings, sorted by name, which begins with the time.
    pub fn files(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(&self.directory).unwrap().map(|entry| entry.unwrap().path());
        let mut files: Vec<_> = entries.filter(|p| p.extension().is_some_and(|x| x == "anrscope")).collect();
        files.sort();
        files
    }

    /// The only recording.
    pub fn recording(&self) -> Recording<Vec<u8>> {
        let files = self.files();
        assert_eq!(files.len(), 1, "{files:?}\n{}", self.printed);
        open(&files[0])
    }

    /// The printed lines that begin with this word, without it.
    pub fn lines<'a>(&'a self, word: &'a str) -> impl Iterator<Item = &'a str> {
        self.printed.lines().filter_map(move |line| line.strip_prefix(word)?.strip_prefix(' '))
    }

    /// The reports that the listener received, for a case that prints each as `issue JSON`.
    pub fn issues(&self) -> Vec<serde_json::Value> {
        self.lines("issue").map(|json| serde_json::from_str(json).expect(json)).collect()
    }
}

pub fn open(file: &Path) -> Recording<Vec<u8>> {
    let recording = Recording::open(std::fs::read(file).unwrap()).unwrap();
    assert_eq!(recording.faults(), (&[][..], 0));
    recording
}

/// All sections of a kind, in order.
pub fn sections(recording: &Recording<Vec<u8>>, kind: SectionKind) -> Vec<Vec<u8>> {
    let known = recording.sections().iter().filter(|section| section.kind == Some(kind));
    known.map(|section| recording.payload(section).unwrap().unwrap()).collect()
}

/// The reports in the recording.
pub fn recorded_issues(recording: &Recording<Vec<u8>>) -> Vec<serde_json::Value> {
    let sections = sections(recording, SectionKind::Issue);
    sections.iter().map(|payload| serde_json::from_slice(&payload[8..]).unwrap()).collect()
}

/// The recorded main thread.
pub fn main_thread(recording: &Recording<Vec<u8>>) -> &Thread {
    recording.threads().iter().find(|thread| thread.main).expect("main")
}

/// All events of a thread, with their times.
pub fn events(recording: &Recording<Vec<u8>>, thread: &Thread) -> Vec<(u64, Event)> {
    let items = recording.events(thread).map(|item| item.unwrap());
    items
        .map(|item| match item {
            Item::Event { time, event } => (time, event),
            other => panic!("{other:?} in {thread:?}"),
        })
        .collect()
}

/// The directory of the Java code; the tests of `cli` use this file as well.
fn here() -> PathBuf {
    crate::root().join("android")
}

static DIRECTORY: OnceLock<&str> = OnceLock::new();

/// Names the directory of this process's classes and runs, before it uses them. Without a name it has the name of the program's
/// file. A program of which several processes run at once, each for another purpose, names one for each purpose.
pub fn name_directory(name: &'static str) {
    DIRECTORY.set(name).expect("a process has one directory");
}

/// A directory of this test program: others run beside it, and each compiles its classes and names its runs.
fn base() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let name = DIRECTORY.get().map_or_else(|| own.file_stem().unwrap(), std::ffi::OsStr::new);
    crate::temporary().join("android-host").join(name)
}

/// The directory of the compiled classes.
pub fn classes() -> &'static Path {
    static CLASSES: OnceLock<PathBuf> = OnceLock::new();
    CLASSES.get_or_init(|| {
        let here = here();
        let mut sources = Vec::new();
        for directory in ["fakes", "tests/app", "aar/java", "debug/java", "../exporter/android/java"] {
            collect(&here.join(directory), &mut sources);
        }
        let classes = base().join("classes");
        let _ = std::fs::remove_dir_all(&classes);
        std::fs::create_dir_all(&classes).unwrap();
        let mut javac = jdk::tool("javac");
        javac
            .args(["-nowarn", "-Xlint:-options", "-proc:none", "-g", "-cp"])
            .arg(here.join("method-beat/classes"))
            .arg("-d")
            .arg(&classes)
            .args(&sources);
        jdk::finish(&mut javac);
        classes
    })
}

fn collect(directory: &Path, sources: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, sources);
        } else if path.extension().is_some_and(|x| x == "java") {
            sources.push(path);
        }
    }
}
