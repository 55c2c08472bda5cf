//! Directories, the JDK's tools, and runs with and without the agent.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use jvm_agent::{JdkClasses, Settings, Waits};
use trace_format::{Event, Item, MapId, Recording};

/// A fresh directory for one test.
pub(crate) fn directory(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("agent").join(name);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

pub(crate) fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Runs a program of the JDK, which must succeed.
pub(crate) fn tool(name: &str, arguments: &[&str]) {
    test_support::jdk::finish(test_support::jdk::tool(name).args(arguments));
}

/// Source files below `tests/java`.
pub(crate) fn sources(directory: &str) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/java").join(directory);
    let mut found = Vec::new();
    let mut pending = vec![root];
    while let Some(path) = pending.pop() {
        match path.is_dir() {
            true => pending.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path())),
            false => found.push(path.to_str().unwrap().to_owned()),
        }
    }
    found
}

/// Compiles the sources of a directory below `tests/java`.
pub(crate) fn compile(from: &str, to: &Path, flags: &[&str]) {
    let sources = sources(from);
    let sources = sources.iter().map(String::as_str);
    let mut arguments = vec!["-d", text(to)];
    arguments.extend(flags);
    tool("javac", &arguments.into_iter().chain(sources).collect::<Vec<_>>());
}

/// What a program printed and how it ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) code: Option<i32>,
}

/// The JVM of the tests.
pub(crate) fn java() -> Command {
    let mut java = Command::new(std::env::var_os("ANRSCOPE_TEST_JAVA").unwrap_or("java".into()));
    for variable in ["CLASSPATH", "JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS"] {
        java.env_remove(variable);
    }
    java
}

pub(crate) fn shown(command: &mut Command) -> Shown {
    let output = command.output().expect("java");
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Shown { stdout: text(output.stdout), stderr: text(output.stderr), code: output.status.code() }
}

/// Settings that record every call into `directory`.
pub(crate) fn settings(directory: &Path) -> Settings {
    let property = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    Settings {
        leaves_sigquit: false,
        map: directory.join("methodMapping.txt"),
        rules: None,
        waits: Waits::On,
        jdk: JdkClasses::default(),
        properties: vec![
            property("anrscope.dir", text(directory)),
            property("anrscope.resolution", "exact"),
            property("anrscope.max_overhead", "0"),
        ],
        client: None,
    }
}

/// `-agentpath` with these settings, which are written to `directory`.
pub(crate) fn agent(directory: &Path, settings: &Settings) -> String {
    // Cargo links the crate's library beside the test binary.
    let library = std::env::current_exe().unwrap().with_file_name("libjvm_agent.so");
    let file = directory.join("agent.settings");
    fs::write(&file, settings.text().unwrap()).unwrap();
    format!("-agentpath:{}={}", library.display(), file.display())
}

/// What was recorded: for each thread, how often each method was entered, by `class.method`.
pub(crate) type Calls = BTreeMap<String, BTreeMap<String, usize>>;

/// A method's name in the map.
pub(crate) fn names(map: &Path) -> BTreeMap<u32, String> {
    let text = fs::read_to_string(map).unwrap();
    let rows = text.lines().filter(|line| !line.starts_with('#')).map(|line| {
        let mut fields = line.splitn(3, ',');
        let id = fields.next().unwrap().parse().unwrap();
        let method = fields.nth(1).unwrap();
        let (class, rest) = method.split_once(' ').unwrap();
        (id, format!("{class}.{}", rest.split(' ').next().unwrap()))
    });
    let count = text.lines().filter(|line| !line.starts_with('#')).count();
    let names: BTreeMap<u32, String> = rows.collect();
    assert_eq!(names.len(), count, "an id is there twice");
    names
}

/// The one recording in a directory.
pub(crate) fn recording(directory: &Path) -> Recording<Vec<u8>> {
    let files = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let files: Vec<_> = files.filter(|path| path.extension().is_some_and(|end| end == "anrscope")).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    Recording::open(fs::read(&files[0]).unwrap()).unwrap()
}

/// The calls in the recording of a directory, named by the map there, whose id must be the recording's.
pub(crate) fn calls(directory: &Path) -> Calls {
    let map = directory.join("methodMapping.txt");
    let recording = recording(directory);
    let first = fs::read_to_string(&map).unwrap();
    let id = MapId::of_first_line(first.lines().next().unwrap());
    assert_eq!(id, Some(recording.header().map_id));
    let names = names(&map);
    let mut calls = Calls::new();
    for thread in recording.threads() {
        let of_thread = calls.entry(thread.name.clone().unwrap_or_default()).or_default();
        for item in recording.events(thread) {
            if let Item::Event { event: Event::Enter(id), .. } = item.unwrap() {
                let name = names.get(&id).unwrap_or_else(|| panic!("no name for {id}"));
                *of_thread.entry(name.clone()).or_insert(0) += 1;
            }
        }
    }
    calls
}

/// For each thread of the recording in a directory, how many more calls begin than end.
pub(crate) fn balance(directory: &Path) -> BTreeMap<String, i64> {
    let recording = recording(directory);
    let of_thread = |thread: &trace_format::Thread| {
        let steps = recording.events(thread).map(|item| match item.unwrap() {
            Item::Event { event: Event::Enter(_), .. } => 1,
            Item::Event { event: Event::Exit(_), .. } => -1,
            _ => 0,
        });
        (thread.name.clone().unwrap_or_default(), steps.sum())
    };
    recording.threads().iter().map(of_thread).collect()
}

/// Runs java with and without the agent; both must show the same. Returns what it was, and the calls.
#[track_caller]
pub(crate) fn same(directory: &Path, arguments: &[&str]) -> (Shown, Calls) {
    let plain = shown(java().args(arguments));
    let agent = agent(directory, &settings(directory));
    let traced = shown(java().arg(agent).args(arguments));
    assert_eq!(plain, traced, "java {arguments:?}");
    (plain, calls(directory))
}
