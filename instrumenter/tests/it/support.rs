//! Directories, javac, java and jars for the tests.

use std::fs;
use std::io::{Cursor, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use instrumenter::{Input, MapPaths, Options, Summary, instrument};
use zip::write::SimpleFileOptions;
use zip::{ZipArchive, ZipWriter};

/// A fresh directory for one test.
pub(crate) fn directory(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("instrumenter").join(name);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

pub(crate) fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/java")
}

/// Runs a program of the JDK and returns what it printed; the test fails if the program fails.
pub(crate) fn run(program: &str, arguments: &[&str]) -> String {
    let output = test_support::jdk::tool(program).args(arguments).output();
    let output = output.unwrap_or_else(|error| panic!("{program} (a JDK is needed on the path): {error}"));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {}\n{stderr}", output.status);
    String::from_utf8(output.stdout).unwrap()
}

pub(crate) fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Compiles sources (below `tests/java`) into `to`.
pub(crate) fn javac(to: &Path, flags: &[&str], files: &[&str]) {
    let files: Vec<PathBuf> = files.iter().map(|file| sources().join(file)).collect();
    let mut arguments = vec!["-nowarn", "-Xlint:-options", "-d", text(to)];
    arguments.extend(flags);
    arguments.extend(files.iter().map(|file| text(file)));
    run("javac", &arguments);
}

/// The fake runtime, with what it needs of Android.
const BEAT: [&str; 4] = [
    "dev/anrscope/MethodBeat.java",
    "com/tencent/matrix/trace/core/AppMethodBeat.java",
    "android/app/Activity.java",
    "focus/Log.java",
];

/// Returns the fake runtime, compiled once.
pub(crate) fn method_beat() -> &'static Path {
    static DIRECTORY: OnceLock<PathBuf> = OnceLock::new();
    DIRECTORY.get_or_init(|| {
        let to = directory("shared-beat");
        javac(&to, &[], &BEAT);
        to
    })
}

/// The counts of the fake runtime.
#[derive(Debug)]
pub(crate) struct Beat {
    pub(crate) enters: u64,
    pub(crate) exits: u64,
    pub(crate) open: u64,
    pub(crate) waits: u64,
    pub(crate) waits_open: u64,
    pub(crate) releases: u64,
    pub(crate) wrong: String,
}

impl Beat {
    pub(crate) fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path).unwrap();
        let field = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
            line.unwrap_or_else(|| panic!("no {name} in {text}")).to_owned()
        };
        let number = |name| field(name).parse().unwrap();
        Self {
            enters: number("enters"),
            exits: number("exits"),
            open: number("open"),
            waits: number("waits"),
            waits_open: number("waitsOpen"),
            releases: number("releases"),
            wrong: field("wrong"),
        }
    }

    #[track_caller]
    pub(crate) fn assert_balanced(&self, at_least: u64) {
        assert_eq!(self.wrong, "none", "{self:?}");
        assert_eq!((self.enters, self.open, self.waits_open), (self.exits, 0, 0), "{self:?}");
        assert!(self.enters >= at_least, "{self:?}");
    }
}

/// Returns a class path of directories and jars.
pub(crate) fn class_path(parts: &[&Path]) -> String {
    std::env::join_paths(parts).unwrap().into_string().unwrap()
}

/// Instruments one input, with the maps beside the output.
pub(crate) fn instrument_one(from: &Path, to: &Path, options: &Options) -> Summary {
    let maps = MapPaths::beside(to.with_extension("map.txt"));
    instrument(&[Input::new(from, to)], &maps, options, &|_| {}).unwrap()
}

/// Builds a jar of these entries, in order.
pub(crate) fn jar(path: &Path, entries: &[(&str, &[u8])]) {
    fs::write(path, jar_bytes(entries)).unwrap();
}

pub(crate) fn jar_bytes(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut jar = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in entries {
        jar.start_file(*name, SimpleFileOptions::default()).unwrap();
        jar.write_all(bytes).unwrap();
    }
    jar.finish().unwrap().into_inner()
}

/// Returns names and contents of a jar's entries, in order.
pub(crate) fn entries(bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut jar = ZipArchive::new(Cursor::new(bytes)).unwrap();
    (0..jar.len())
        .map(|index| {
            let mut file = jar.by_index(index).unwrap();
            let mut contents = Vec::new();
            file.read_to_end(&mut contents).unwrap();
            (file.name().unwrap().into_owned(), contents)
        })
        .collect()
}

/// Returns all files below `directory` with their contents, sorted.
pub(crate) fn files(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut pending = vec![directory.to_path_buf()];
    while let Some(here) = pending.pop() {
        for entry in fs::read_dir(here).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                pending.push(path);
            } else {
                found.push((path.strip_prefix(directory).unwrap().to_path_buf(), fs::read(&path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

/// Compiles the fixture classes into `to` with these flags.
pub(crate) fn compile_fixture(to: &Path, flags: &[&str]) {
    let names = ["Main", "Exits", "Switches", "Constructors", "Kinds", "Big", "Overflow"];
    let files: Vec<String> = names.iter().map(|name| format!("fixture/{name}.java")).collect();
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    javac(to, flags, &files);
}

/// Returns the fixture classes of Java 8 with debug information, compiled once. Do not write to them.
pub(crate) fn fixture() -> &'static Path {
    static DIRECTORY: OnceLock<PathBuf> = OnceLock::new();
    DIRECTORY.get_or_init(|| {
        let to = directory("shared-fixture");
        compile_fixture(&to, &["-g", "--release", "8"]);
        to
    })
}

/// Returns the one class that uses nothing newer than Java 5, compiled once for Java 8.
pub(crate) fn old_class() -> &'static [u8] {
    static CLASS: OnceLock<Vec<u8>> = OnceLock::new();
    CLASS.get_or_init(|| {
        let to = directory("shared-old");
        javac(&to, &["-g", "--release", "8"], &["fixture/Old.java"]);
        fs::read(to.join("fixture/Old.class")).unwrap()
    })
}
